"""SAP BW on IBM i (the seed of the project): all data on SSD +17 %; a quarter of the SSDs, placed by heat, +12 %.

Of the published pair follows: 1 - 1/1.17 = 14.5 % of a step is I/O that SSD removes, and 1 - 1/1.12 = 10.7 %, that is
73.7 % of it, goes with a quarter of the capacity. The best share f of the bytes then saves f ** 0.22 of it.

That share is one at unchanged latencies. Where the machine itself is simulated, what stays on the disks waits in
shorter queues, and more is saved.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from policies.evidence.prices import ceiling_ratio
from tests.bench.policies.published import LOADS, SEEDS, SHIPPED, database_of, played, share_reached
from tests.workloads.situation import UNGUARDED
from tests.workloads.warehouse import share_of_saving, warehouse


def test_row_2_the_io_share_follows_from_all_ssd() -> None:
    """Published: +17 %, so at least 14.5 % of a step is I/O. Ours: ceiling 15.1 %, all-SSD forecast 1.17."""
    units = warehouse(1)
    assert ceiling_ratio(database_of(units)) == pytest.approx(0.145, abs=0.01)
    share, faster = share_reached(1, 1.0, UNGUARDED)
    assert share == pytest.approx(1.0, abs=0.001)
    assert faster == pytest.approx(1.17, abs=0.001)


def test_row_3_a_quarter_of_the_capacity_brings_three_quarters_of_the_saving() -> None:
    """Published: 0.737 and +12 % by extents. Ours, by whole objects on the same skew: 0.737, and +12 %.

    No placement on that curve brings more; 400 whole objects lose less than a thousandth against extents.
    """
    bound = float(share_of_saving(0.25))
    reached = [share_reached(seed, 0.25) for seed in SEEDS]
    assert bound == pytest.approx(0.737, abs=0.001)
    for share, faster in reached:
        assert 0.999 * bound <= share <= 1.001 * bound
        assert round(faster, 2) >= 1.12


@pytest.mark.parametrize("reads_per_second", LOADS)
@pytest.mark.parametrize("seed", [1, 2])
def test_row_3_at_work_a_quarter_brings_74_percent(seed: int, reads_per_second: float) -> None:
    """Published: +17 % and +12 %. Ours, by simulated drives: +17 %, at least +12 %, and 74 % of the time saved."""
    found = played(seed, reads_per_second)
    assert found.all_ssd == pytest.approx(1.17, abs=0.005)
    assert round(found.a_quarter, 2) >= 1.12
    assert found.share_of_saving >= 0.74


@pytest.mark.parametrize(("capacity", "published"), [(0.1, 0.60), (0.2, 0.70)])
def test_row_3_the_curve_at_other_sizes(capacity: float, published: float) -> None:
    """Of the same fit: a tenth of the bytes brings 60 %, a fifth 70 %. Ours: within half a point at every seed."""
    for seed in SEEDS:
        assert share_reached(seed, capacity)[0] == pytest.approx(published, abs=0.005)


def test_row_3_without_guards_is_the_same() -> None:
    """The guards that ship cost nothing here: 85 % of the sessions' time is computing, which no copy holds up."""
    for seed in SEEDS:
        assert share_reached(seed, 0.25, UNGUARDED)[0] <= share_reached(seed, 0.25)[0] + 1e-3


def test_a_quarter_would_stay_behind_were_every_session_held_up() -> None:
    """The counter-example: charge every session, computing or not, for 20,000 s of copying, and pay-back refuses."""
    everybody = replace(SHIPPED, foreground_slow_down=182 / 27)
    assert share_reached(1, 0.25, everybody)[0] < 0.70
