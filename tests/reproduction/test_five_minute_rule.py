"""The published break-even intervals of 1987, 1997 and 2008, from the prices that were published with them."""

from __future__ import annotations

import numpy as np
import pytest

from connectors.model.observation import SIGNALS, Signal
from policies.model.settings import GIB
from policies.placement.break_even import LevelPrice, break_even_seconds, page_intervals

MB = 2**20
MB_A_GIB = GIB / MB


def ram(price_of_a_megabyte: float) -> LevelPrice:
    """Main memory."""
    return LevelPrice(name="ram", gib=price_of_a_megabyte * MB_A_GIB)


@pytest.mark.parametrize(
    ("record_bytes", "published", "seconds"),
    [(1000, 400, 400), (100, 3600, 4000), (4000, 120, 100)],
)
def test_gray_and_putzolu_1987(record_bytes: int, published: float, seconds: float) -> None:
    """A disc access per second costs $2,000, a megabyte $5,000: 400 s, one hour for 100 bytes, two minutes for 4 KB.

    They count in thousands, and round the latter two.
    """
    above = LevelPrice(name="ram", gib=5.0 * GIB / 1000)
    found = break_even_seconds(record_bytes, above, LevelPrice(name="disc", access=2_000.0))
    assert found == pytest.approx(seconds, rel=1e-9)
    assert found == pytest.approx(published, rel=0.2)


def test_gray_and_graefe_1997() -> None:
    """$15 a megabyte, $2,000 a drive of 64 accesses a second, pages of 8 KB: 266 s."""
    disk = LevelPrice.of_drive("disk", gib=2_000 / 9, drive_gib=9, drive_iops=64)
    assert int(break_even_seconds(8192, ram(15.0), disk)) == 266


# Graefe 2008, tables 1 and 3: latency in seconds, MB a second, price and capacity of a drive; RAM at $3 for 64 MB.
SATA, FLASH, CHEAP_FLASH = (0.012, 300, 80.0, 250), (0.0001, 66, 999.0, 32), (0.0001, 66, 400.0, 32)
PUBLISHED = [
    (1, 20_978, 2_513, 32_253, 1_006, 80_553),
    (4, 5_248, 876, 8_070, 351, 20_155),
    (16, 1_316, 467, 2_024, 187, 5_056),
]


def drive(name: str, of: tuple[float, float, float, float], page_kb: int) -> LevelPrice:
    """A drive that serves as many pages a second as its latency and bandwidth allow."""
    latency, bandwidth, price, capacity = of
    return LevelPrice.of_drive(
        name, gib=price / capacity, drive_gib=capacity, drive_iops=1 / (latency + page_kb / (bandwidth * 1000))
    )


@pytest.mark.parametrize(("page_kb", "ram_sata", "ram_flash", "flash_sata", "ram_cheap", "cheap_sata"), PUBLISHED)
def test_graefe_2008(
    page_kb: int, ram_sata: float, ram_flash: float, flash_sata: float, ram_cheap: float, cheap_sata: float
) -> None:
    """Three levels, three intervals, for dear and for cheap flash and three sizes of a page, to 1 in 1,000."""
    memory = ram(3 / 64)
    sata, flash, cheap = (
        drive(name, of, page_kb) for name, of in (("sata", SATA), ("flash", FLASH), ("$400", CHEAP_FLASH))
    )  # fmt: skip
    pairs = [(memory, sata), (memory, flash), (flash, sata), (memory, cheap), (cheap, sata)]
    found = [break_even_seconds(page_kb * 1024, *pair) for pair in pairs]
    assert found == pytest.approx([ram_sata, ram_flash, flash_sata, ram_cheap, cheap_sata], rel=1e-3)


def test_a_block_within_a_run_is_no_access() -> None:
    """A disk reads a hundred in the time of one access: a scanned table is read as rarely as that lets it."""
    rates = np.zeros((SIGNALS, 2))
    rates[Signal.SYNC_READ, 0] = rates[Signal.PREFETCHED_READ, 1] = 10.0
    found = page_intervals(rates, np.array([8192 * 100] * 2, dtype=np.int64), 8192, 0.01)
    assert found.tolist() == pytest.approx([10.0, 1000.0])
