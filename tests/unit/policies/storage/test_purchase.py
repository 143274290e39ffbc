"""The published arithmetic of drives and prices, to the digit."""

from __future__ import annotations

import math

import pytest

from policies.model.settings import (
    GIB,
    TierPrice,
    cost_per_year,
    drives,
    drives_for,
    io_cost_per_year,
    physical_io,
    price_per,
    wear_ratio,
)

READS, WRITES = 11_700 * 0.8, 11_700 * 0.2  # the published case, host I/Os per second


@pytest.mark.parametrize(("raid", "back_end"), [(1, 14_040), (5, 18_720), (6, 23_400)])
def test_back_end_io_of_the_published_case(raid: int, back_end: float) -> None:
    """11,700 host I/Os, 80/20, are 14,040 on RAID 1, 18,720 on RAID 5 and 23,400 on RAID 6."""
    assert physical_io(READS, WRITES, raid) == pytest.approx(back_end, abs=1e-6)


def test_drives_at_180_a_second() -> None:
    """14,040 I/Os take exactly 78 drives of 180 IOPS."""
    assert drives(physical_io(READS, WRITES, 1), 180) == 78


@pytest.mark.parametrize(("drive_iops", "exact", "whole"), [(335, 34.0, 34), (360, 31.6, 32)])
def test_drives_behind_a_cache(drive_iops: float, exact: float, whole: int) -> None:
    """The published 11,390 (without 310 of the log, a quarter of the reads hits) take 34 drives of 335 IOPS."""
    reads, writes = (11_700 - 310) * 0.8, (11_700 - 310) * 0.2
    behind = physical_io(0.75 * reads, writes, 1)
    assert behind == pytest.approx(11_390)
    assert round(behind / drive_iops, 1) == exact
    assert drives(behind, drive_iops) == whole


def test_price_per_transaction() -> None:
    """3,199 for 1,366 a second is 2.342 each (printed as 2.234): 76 % less than 9.79, and 13,524 is 4.2 times 3,199."""
    assert price_per(3_199, 1_366) == pytest.approx(2.342, abs=5e-4)
    assert 1 - price_per(3_199, 1_366) / 9.79 == pytest.approx(0.76, abs=5e-3)
    assert price_per(13_524, 3_199) == pytest.approx(4.2, abs=0.05)
    assert math.isinf(price_per(1.0, 0.0))


def test_cost_of_a_year_counts_head_room() -> None:
    """90 GiB to fill with 10 % head-room are 100 GiB to pay."""
    assert cost_per_year(90 * GIB, TierPrice(gib_year=2.5), 0.1) == pytest.approx(250.0)
    assert cost_per_year(90 * GIB, TierPrice()) is None


def test_drives_for_reads_and_writes() -> None:
    """Writes count by the factor of the RAID level; without a drive's rate nobody can say."""
    assert drives_for(9_360, 2_340, TierPrice(drive_iops=180, raid=1)) == 78
    assert drives_for(0, 0, TierPrice(drive_iops=180)) == 0
    assert drives_for(9_360, 2_340, TierPrice()) is None


@pytest.mark.parametrize("wrong", [{"gib_year": -1.0}, {"gib_year": math.nan}, {"drive_iops": 0.0}, {"raid": 3}])
def test_prices_that_are_none(wrong: dict[str, float]) -> None:
    """Negative prices, drives that do nothing and other RAID levels are refused."""
    with pytest.raises(ValueError):
        TierPrice(**wrong)  # type: ignore[arg-type]  # some values are wrong on purpose


def test_io_that_costs_by_itself() -> None:
    """100 reads and 50 writes a second on RAID 1 are 200 I/Os; at 0.5 each a year's price is 100."""
    assert io_cost_per_year(100, 50, TierPrice(io_year=0.5, raid=1)) == pytest.approx(100.0)
    assert io_cost_per_year(100, 50, TierPrice()) == 0.0


def test_wear_is_what_is_written_over_what_is_endured() -> None:
    """Flash that endures 100 GB a day and is written 50 is half worn; of twice the size, a quarter."""
    price = TierPrice(written_bytes_per_day=100e9)
    assert wear_ratio(50e9, 1e12, 1e12, price) == pytest.approx(0.5)
    assert wear_ratio(50e9, 2e12, 1e12, price) == pytest.approx(0.25)
    assert wear_ratio(1.0, 0.0, 1e12, price) == math.inf
    assert wear_ratio(0.0, 0.0, 1e12, price) == 0.0
    assert wear_ratio(50e9, 1e12, 1e12, TierPrice()) is None
