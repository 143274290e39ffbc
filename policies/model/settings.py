"""What a decision is given before it looks at anything: pins, tiers, prices, and every number that shapes it.

Price and number of drives of a storage tier: the arithmetic behind a price list.

``PhysicalIO = (total * read share - hits) + total * write share * factor``: every host write costs two I/Os on mirrored
drives (RAID 1), four with one parity (RAID 5: read data and parity, write both), six with two (RAID 6).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from math import ceil
from typing import Self

QUEUED_SECONDS = 0.001  # a slower random read is a disk's: it queues, however many disks there are
PREFERENCE = 1.5  # times as much counts the benefit of a unit that is pinned with prefer
THERE_AND_BACK = 2.0  # copies of a move and of the one that reverses it


class Pin(IntEnum):
    """Media preference of a unit (IBM i: media preference)."""

    NONE = 0
    MUST = 1  # belongs on the fastest tier, whatever its heat
    PREFER = 2  # its benefit counts more
    NEVER = 3  # never on the fastest tier


@dataclass(frozen=True, slots=True, kw_only=True)
class Servers:
    """How many requests a tier serves at a time, and how that is known."""

    count: float = 1.0
    least: float = 1.0  # ends of what is possible, ``count`` between them
    most: float = 1.0
    source: str = "assumed"  # "configured", "measured", "interval" (latencies leave that much possible) or "assumed"
    striped: bool | None = None  # each disk has a queue of its own; False: one queue for all; None: not known

    def __post_init__(self) -> None:
        if not 0 < self.least <= self.count <= self.most:
            raise ValueError(f"{self.count} servers, {self.least} to {self.most}: expected more than 0, in this order")


ONE_SERVER = Servers()


@dataclass(frozen=True, slots=True, kw_only=True)
class TierSpeed:
    """Seconds that one I/O of a class takes on a tier, as a session sees it."""

    random_read_seconds: float
    sequential_read_seconds: float  # per block, within a run
    write_seconds: float
    measured: bool = False  # fitted to counters; False: configured
    error_ratio: float = 0.0  # standard error of the read times, as a share of them
    idle_read_seconds: float = 0.0  # of a random read that finds no queue; 0: not known
    read_ahead_bytes: int = 2**20  # that a sequential reader gets at one turn, among others
    # -- where it is configured: the random read times that measured waits leave possible; 0 and 0: they say nothing
    least_read_seconds: float = 0.0
    most_read_seconds: float = 0.0
    servers: Servers = ONE_SERVER
    by_default: bool = False  # True: a data sheet's figures, which no configuration names
    estimated: bool = False  # True: no longer these, as what was seen of waits moved them without settling them

    @property
    def source(self) -> str:
        """Where the read times come from, in one word: the same in every command, document and metric."""
        if self.measured:
            return "measured"
        if self.estimated:
            return "estimated"
        return "default" if self.by_default else "configured"

    @property
    def is_queued(self) -> bool:
        """Whether requests for it may wait for one another: a random read takes a disk's time, the queue left out.

        A read of a fast device that takes long has waited in its queue, which serves many at a time.
        """
        return min(self.random_read_seconds, self.idle_read_seconds or self.random_read_seconds) > QUEUED_SECONDS

    def __post_init__(self) -> None:
        for name in (
            "random_read_seconds",
            "sequential_read_seconds",
            "write_seconds",
            "error_ratio",
            "idle_read_seconds",
            "least_read_seconds",
            "most_read_seconds",
        ):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} is {getattr(self, name)}, expected 0 or more")
        if self.read_ahead_bytes < 1:
            raise ValueError(f"read_ahead_bytes is {self.read_ahead_bytes}, expected 1 or more")

    def scale(self, share: float) -> Self:
        """With shorter read times, and the ends of what is possible with them."""
        return replace(
            self,
            random_read_seconds=self.random_read_seconds * share,
            sequential_read_seconds=self.sequential_read_seconds * share,
            least_read_seconds=self.least_read_seconds * share,
            most_read_seconds=self.most_read_seconds * share,
            estimated=self.estimated or (share < 1.0 and not self.measured),
        )

    def cap(self, below: TierSpeed | None) -> Self:
        """No slower than the tier below it; the time is within the ends of what is possible all the same."""
        if below is None:
            return self
        random = min(self.random_read_seconds, below.random_read_seconds)
        return replace(
            self,
            random_read_seconds=random,
            sequential_read_seconds=min(self.sequential_read_seconds, below.sequential_read_seconds),
            least_read_seconds=min(self.least_read_seconds, random),
            estimated=self.estimated or (random < self.random_read_seconds and not self.measured),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TierLimits:
    """Limits of a tier other than bytes; None where not configured. ``limits`` turns these into room for units."""

    io_per_second: float | None = None  # I/Os that its drives serve in all, behind the RAID factor
    bytes_per_second: float | None = None  # that its volume or controller carries in all, reads and writes
    raid: int | None = None  # a key of ``WRITE_FACTORS``; None: a host write is one drive I/O
    written_bytes_per_day: float | None = None  # endurance budget: own writes and promotions
    copied_bytes: float = 0.0  # of that budget, used by copies of the last 24 hours
    gib_year: float | None = None  # price
    io_year: float | None = None  # price of one I/O per second


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """A class of storage."""

    name: str
    speed: TierSpeed
    spaces: tuple[str, ...]  # names of spaces, at least one
    limits: TierLimits = TierLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyFactor:
    """How many times as long as predicted copies of one kind take."""

    route: str  # its name; "": of all kinds, as are the tiers then
    from_tier: str
    to_tier: str
    factor: float


@dataclass(frozen=True, slots=True)
class TaughtCopy:
    """One finished move: its kind, what it was predicted to take, factors aside, and what it took."""

    kind: tuple[str, str, str]  # route, tier it left, tier it came to
    predicted_seconds: float
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySettings:
    """Every number that shapes a decision, with its default. Configuration mirrors this."""

    half_life_seconds: float = 6 * 3600.0  # of recent work and of what is known of tiers; heat chooses among horizons
    minimum_history_seconds: float = 1800.0  # a unit observed for less is not moved
    head_room_ratio: float = 0.10  # of a space's capacity, never filled
    minimum_wait_saved_per_hour: float = 1.0  # seconds per hour; below it a move is not worth proposing
    payback_limit_seconds: float = 24 * 3600.0
    resident_bonus: float = 1.05  # a unit on the fast tier counts this much more against one that wants its room
    turnover_per_week: float | None = None  # share of the fast tier that may give way in a week, for wear; None: all
    cool_down_seconds: float = 24 * 3600.0
    copy_bytes_per_second: float = 50e6  # that the server itself gets through, log included, were devices no limit
    prefetched_wait_share: float = 0.3  # share of a prefetched read's time that sessions wait for
    write_wait_share: float = 0.0  # share of an asynchronous write's time that sessions wait for
    horizon_seconds: float = 24 * 3600.0  # a move's gain is counted over this long against its copy and the one back
    maximum_moves: int = 50
    # -- what one plan may copy; None: no limit
    maximum_bytes: int | None = None
    maximum_copy_seconds: float | None = None  # by the limits of a window: no key of its own
    # -- the model
    long_half_life_seconds: float = 24 * 3600.0  # of how demand varies, and of heat that no horizon was chosen for
    log_bytes_per_second: float = 50e6  # that the log's device takes at least; what is measured may be more
    foreground_slow_down: float = 1.0  # share of waiting sessions' work that stands still while a move copies, at first
    regret_ratio: float = 1.0  # with no lifetime known, a unit is moved once it has cost this many times the move
    ram_gib_year: float | None = None  # price of memory; None: not configured, so it is never found cheaper
    block_bytes: int = 8192  # that one read or write of a signal moves, for budgets in bytes
    certainty: float = 0.9  # share of outcomes that an interval is to hold; moves are decided on its lower end
    taught_copies: tuple[TaughtCopy, ...] = ()  # finished moves, from which the interval of the next one's time is made
    copy_factors: tuple[CopyFactor, ...] = ()  # what moves have taught; the one without a route is that of all


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
