"""SAP BW on IBM i (the seed of the project): all data on SSD +17 %; a quarter of the SSDs, placed by heat, +12 %.

Of the published pair follows: 1 - 1/1.17 = 14.5 % of a step is I/O that SSD removes, and 1 - 1/1.12 = 10.7 %, that is
73.7 % of it, goes with a quarter of the capacity. The hottest share f of the bytes then holds f ** 0.22 of the wait.
"""

from __future__ import annotations

import pytest

from connectors.model import DatabaseDemand
from policies.balancer import make_plan
from policies.benefit import HOUR, ceiling_ratio, speedup, wait_per_hour
from policies.plan import PolicySettings
from tests.unit.policies.situations import HDD, SSD
from tests.workloads.catalogue import Catalogue
from tests.workloads.situation import UNGUARDED, at_rest
from tests.workloads.warehouse import share_of_wait, warehouse

IO_REMOVED = 1 - 1 / 1.17
SEEDS = range(1, 9)


def database_of(units: Catalogue) -> DatabaseDemand:
    """Sessions whose I/O wait is the share of their time that makes SSD worth 17 %."""
    on_ssd, on_hdd = wait_per_hour(units.rates, [SSD, HDD], PolicySettings()).sum(axis=1) / HOUR
    active = (on_hdd - on_ssd) / IO_REMOVED
    return DatabaseDemand(read_wait=float(on_hdd), active=float(active))


def share_reached(seed: int, capacity_share: float, settings: PolicySettings = UNGUARDED) -> tuple[float, float]:
    """Share of the all-SSD time saving that a plan reaches, and the throughput it promises."""
    units = warehouse(seed)
    on_ssd, on_hdd = wait_per_hour(units.rates, [SSD, HDD], PolicySettings()).sum(axis=1)
    database = database_of(units)
    usable = units.size_bytes.sum() * capacity_share
    plan = make_plan(at_rest(units, usable / (1 - settings.head_room_ratio) + 2, (SSD, HDD), database), settings)
    assert sum(move.size_bytes for move in plan.moves) <= usable + 2
    saved = plan.wait_saved_per_hour
    return saved / float(on_hdd - on_ssd), speedup(database.active, saved / HOUR)


def test_row_2_the_io_share_follows_from_all_ssd() -> None:
    """Published: +17 %, so at least 14.5 % of a step is I/O. Ours: ceiling 15.1 %, all-SSD forecast 1.17."""
    units = warehouse(1)
    assert ceiling_ratio(database_of(units)) == pytest.approx(0.145, abs=0.01)
    share, faster = share_reached(1, 1.0)
    assert share == pytest.approx(1.0, abs=0.001)
    assert faster == pytest.approx(1.17, abs=0.001)


def test_row_3_a_quarter_of_the_capacity_brings_three_quarters_of_the_saving() -> None:
    """Published: 0.737 and +12 % by extents. Ours, by whole objects on the same skew: 0.73 to 0.74, and +12 %.

    The fitted curve itself ends at 0.737 there, wherever objects are cut; the loss is that of granularity.
    """
    bound = float(share_of_wait(0.25))
    reached = [share_reached(seed, 0.25) for seed in SEEDS]
    assert bound == pytest.approx(0.737, abs=0.001)
    for share, faster in reached:
        assert share >= 0.99 * bound
        assert round(faster, 2) >= 1.12


@pytest.mark.parametrize(("capacity", "published"), [(0.1, 0.60), (0.2, 0.70)])
def test_row_3_the_curve_at_other_sizes(capacity: float, published: float) -> None:
    """Of the same fit: a tenth of the bytes brings 60 %, a fifth 70 %. Ours: within 2 points at every seed."""
    for seed in SEEDS:
        assert share_reached(seed, capacity)[0] == pytest.approx(published, abs=0.02)


def test_row_3_holds_with_the_guards_that_ship() -> None:
    """With default guards, at the 500 MB/s that such an array copies and moves not limited to fifty: the same +12 %."""
    settings = PolicySettings(maximum_moves=1000, copy_bytes_per_second=500e6)
    for seed in SEEDS:
        share, faster = share_reached(seed, 0.25, settings)
        assert share >= 0.72
        assert round(faster, 2) >= 1.12
