"""SAP BW on IBM i (the seed of the project): all data on SSD +17 %; a quarter of the SSDs, placed by heat, +12 %.

Of the published pair follows: 1 - 1/1.17 = 14.5 % of a step is I/O that SSD removes, and 1 - 1/1.12 = 10.7 %, that is
73.7 % of it, goes with a quarter of the capacity. The best share f of the bytes then saves f ** 0.22 of it.
"""

from __future__ import annotations

import pytest

from policies.benefit import ceiling_ratio
from policies.plan import PolicySettings
from tests.bench.policies.published import SEEDS, database_of, share_reached
from tests.workloads.warehouse import share_of_saving, warehouse


def test_row_2_the_io_share_follows_from_all_ssd() -> None:
    """Published: +17 %, so at least 14.5 % of a step is I/O. Ours: ceiling 15.1 %, all-SSD forecast 1.17."""
    units = warehouse(1)
    assert ceiling_ratio(database_of(units)) == pytest.approx(0.145, abs=0.01)
    share, faster = share_reached(1, 1.0)
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


@pytest.mark.parametrize(("capacity", "published"), [(0.1, 0.60), (0.2, 0.70)])
def test_row_3_the_curve_at_other_sizes(capacity: float, published: float) -> None:
    """Of the same fit: a tenth of the bytes brings 60 %, a fifth 70 %. Ours: within half a point at every seed."""
    for seed in SEEDS:
        assert share_reached(seed, capacity)[0] == pytest.approx(published, abs=0.005)


def test_row_3_holds_with_the_guards_that_ship() -> None:
    """With default guards, at the 500 MB/s that such an array copies and moves not limited to fifty: the same +12 %."""
    settings = PolicySettings(maximum_moves=1000, copy_bytes_per_second=500e6)
    for seed in SEEDS:
        share, faster = share_reached(seed, 0.25, settings)
        assert share >= 0.73
        assert round(faster, 2) >= 1.12
