"""SAP BW on IBM i (the seed of the project): all data on SSD +17 % throughput, a quarter of the SSDs +12 %.

Predicted is the response time, which was published besides: -15 %. That a quarter of the capacity brings 12 % is not:
how skewed the catalogue is was not printed, and the exponent of ``warehouse`` is fitted to that very pair. What the
tests below hold is true for any exponent: whole objects lose nothing against extents, queues that become shorter save
more, and the guards that ship cost little.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from connectors.model.observation import DatabaseDemand
from policies.model.settings import PolicySettings, TierLimits, TierSpeed
from policies.placement.forecast import forecast
from tests.bench.policies.published import ALL_SSD, LOADS, SEEDS, SHIPPED, played, share_reached
from tests.unit.policies.situations import HDD, Site, Unit
from tests.workloads.situation import UNGUARDED
from tests.workloads.warehouse import SKEW, share_of_saving

SKEWS = (0.12, SKEW, 0.4)
PUBLISHED_RESPONSE = -0.15  # of the response time, with all data on SSD; read from a chart


@pytest.mark.parametrize("sessions", [1.0, 40.0, 400.0])
def test_row_2_throughput_gives_the_response_time(sessions: float) -> None:
    """Published: +17 % steps an hour, and 15 % less response time. Ours, of the former alone: 14.5 % less.

    The benchmark's users ask again as soon as they are answered: what an all-SSD placement brings in throughput, each
    of as many sessions sees in response time. How many they are and how much of a step is I/O makes no difference.
    """
    removed = 1 - 1 / ALL_SSD
    at_once = TierSpeed(random_read_seconds=1e-9, sequential_read_seconds=1e-9, write_seconds=1e-9)
    database = DatabaseDemand(
        reads=1000.0, read_wait=removed * sessions, transactions=25.0, active=sessions, population=sessions
    )
    site = Site(database=database, tiers=(("ssd", at_once, ("fast",)), ("hdd", HDD, ("slow",))))
    found = site.situation([Unit(key="all", sync=1000.0)])
    endless = replace(found.tiers[0], limits=TierLimits(io_per_second=1e12))
    said = forecast(replace(found, tiers=(endless, found.tiers[1])), PolicySettings(), np.array([0]))
    assert said.latency / said.present_latency - 1 == pytest.approx(PUBLISHED_RESPONSE, abs=0.01)


@pytest.mark.parametrize("skew", SKEWS)
def test_whole_objects_lose_nothing_against_extents(skew: float) -> None:
    """Of a catalogue of any skew, 400 whole objects reach what extents would, to a hundredth, at any size."""
    for capacity in (0.1, 0.2, 0.25):
        bound = float(share_of_saving(capacity, skew))
        for seed in SEEDS:
            assert share_reached(seed, capacity, UNGUARDED, skew)[0] == pytest.approx(bound, rel=0.01)


@pytest.mark.parametrize("skew", SKEWS)
@pytest.mark.parametrize("reads_per_second", LOADS[::2])
def test_shorter_queues_save_more(skew: float, reads_per_second: float) -> None:
    """By simulated drives, with a quarter of the SSDs: more of the time is saved than at unchanged latencies."""
    found = played(1, reads_per_second, skew)
    assert found.share_of_saving > share_reached(1, 0.25, skew=skew)[0]
    assert 1 < found.a_quarter < found.all_ssd


@pytest.mark.parametrize("skew", SKEWS)
def test_the_guards_that_ship_cost_little(skew: float) -> None:
    """85 % of the sessions' time is computing, which no copy holds up: 4 points at most, where heat is most uneven."""
    for seed in SEEDS:
        assert share_reached(seed, 0.25, UNGUARDED, skew)[0] <= share_reached(seed, 0.25, skew=skew)[0] + 0.04


def test_a_quarter_would_stay_behind_were_every_session_held_up() -> None:
    """The counter-example: charge every session, computing or not, for 20,000 s of copying, and pay-back refuses."""
    everybody = replace(SHIPPED, foreground_slow_down=182 / 27)
    assert share_reached(1, 0.25, everybody)[0] < share_reached(1, 0.25)[0] - 0.03
