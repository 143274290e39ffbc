"""Price and number of drives of a storage tier: the arithmetic behind a price list.

``PhysicalIO = (total * read share - hits) + total * write share * factor``: every host write costs two I/Os on mirrored
drives (RAID 1), four with one parity (RAID 5: read data and parity, write both), six with two (RAID 6).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

GIB = 2**30
WRITE_FACTORS = {1: 2, 5: 4, 6: 6}  # RAID level -> drive I/Os per host write


@dataclass(frozen=True, slots=True, kw_only=True)
class TierPrice:
    """Price and drive properties of one tier; None where not configured."""

    gib_year: float | None = None  # per GiB and year, in whatever currency
    drive_iops: float | None = None  # I/Os per second that one drive is trusted with
    raid: int = 5  # a key of WRITE_FACTORS
    io_year: float | None = None  # per I/O a second that reaches the drives, and year
    written_bytes_per_day: float | None = None  # that the tier as it is endures for as long as its price is reckoned

    def __post_init__(self) -> None:
        if self.gib_year is not None and not 0 <= self.gib_year < float("inf"):
            raise ValueError(f"a price per GiB and year of {self.gib_year} is none")
        if self.drive_iops is not None and not 0 < self.drive_iops < float("inf"):
            raise ValueError(f"a drive of {self.drive_iops} IOPS is none")
        if self.raid not in WRITE_FACTORS:
            raise ValueError(f"RAID {self.raid} is not one of {', '.join(map(str, WRITE_FACTORS))}")


def physical_io(reads: float, writes: float, raid: int) -> float:
    """I/Os per second that reach the drives behind a RAID group.

    Args:
        reads: host reads per second that no cache before the drives answers.
        writes: host writes per second.
        raid: a key of ``WRITE_FACTORS``.
    """
    return reads + writes * WRITE_FACTORS[raid]


def drives(iops: float, drive_iops: float) -> int:
    """Whole drives that serve so many I/Os per second, none for none; room for bytes is another question."""
    return ceil(round(iops / drive_iops, 9))  # rounded: a share of 80 % must not cost a drive by its last binary digit


def drives_for(reads: float, writes: float, price: TierPrice) -> int | None:
    """Drives of a tier that serve host reads and writes per second; None where ``drive_iops`` is not configured."""
    if price.drive_iops is None:
        return None
    return drives(physical_io(reads, writes, price.raid), price.drive_iops)


def cost_per_year(size_bytes: float, price: TierPrice, head_room_ratio: float = 0.0) -> float | None:
    """Yearly price of storage in which ``size_bytes`` may be filled and head-room stays free; None without a price."""
    return None if price.gib_year is None else size_bytes / (1.0 - head_room_ratio) / GIB * price.gib_year


def io_cost_per_year(reads: float, writes: float, price: TierPrice) -> float:
    """Yearly price of serving host reads and writes per second; 0 where I/Os cost nothing by themselves."""
    return 0.0 if price.io_year is None else physical_io(reads, writes, price.raid) * price.io_year


def wear_ratio(written_per_day: float, size_bytes: float, present_bytes: float, price: TierPrice) -> float | None:
    """Bytes written in a day over what a tier of a size endures; None where not configured, inf for an endurance of 0.

    Endurance goes by drive writes, so a tier of twice the size endures twice the bytes. Storage that is worn out in
    half the time has to be bought twice.

    Args:
        written_per_day: bytes.
        size_bytes: of the tier in question.
        present_bytes: of the tier for which endurance was said.
        price: says the endurance.
    """
    if price.written_bytes_per_day is None or present_bytes <= 0:
        return None
    endured = price.written_bytes_per_day * size_bytes / present_bytes
    if written_per_day <= 0:
        return 0.0
    return written_per_day / endured if endured > 0 else float("inf")


def price_per(cost: float, worth: float) -> float:
    """The price of one unit of work, for example a price over transactions per second; inf where no work is done."""
    return cost / worth if worth > 0 else float("inf")
