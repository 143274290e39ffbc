"""The closed network next to exact solutions: closed forms, a convolution, and the figures of another program."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.evidence.queueing import Network, Processors, Stations, stations_of
from policies.model.settings import Tier, TierSpeed
from tests.workloads.exact_network import ExactStation, solve

# Sessions, seconds between two transactions, (seconds, servers) of each station, and throughput of the exact Markov
# chain as LINE 3.0.8 solves it (line-solver on PyPI, SolverCTMC; Casale, "Integrated performance evaluation of extended
# queueing network models with LINE", Winter Simulation Conference 2020).
BY_LINE = (
    (8, 0.004, ((0.0054, 1),), 185.18),
    (8, 0.060, ((0.0054, 1),), 113.44),
    (8, 0.004, ((0.0054, 1), (0.0005, 2)), 185.18),
    (16, 0.010, ((0.0015, 1), (0.0004, 4)), 665.78),
    (20, 0.020, ((0.0040, 1), (0.0030, 2)), 250.0),
    (8, 0.004, ((0.0002, 1), (0.0003, 2)), 1740.9),
)


def one_tier(sessions: float, elsewhere: float, seconds: float) -> Network:
    """A network of one disk."""
    return Network(sessions=sessions, elsewhere=elsewhere, demand=np.array([[seconds]]), stations=disks(1))


def disks(count: int) -> Stations:
    """So many tiers of one disk each."""
    speed = TierSpeed(random_read_seconds=0.0055, sequential_read_seconds=0.00005, write_seconds=0.0055)
    return stations_of([Tier(name=f"t{at}", speed=speed, spaces=(f"s{at}",)) for at in range(count)])


@pytest.mark.parametrize(("sessions", "think", "stations", "rate"), BY_LINE)
def test_another_program_finds_the_same(
    sessions: int, think: float, stations: tuple[tuple[float, int], ...], rate: float
) -> None:
    """The convolution to the last figure printed; mean value analysis, which is approximate, within a twentieth."""
    exact = solve([ExactStation(seconds=seconds, servers=count) for seconds, count in stations], think, sessions)
    assert exact.rate == pytest.approx(rate, rel=1e-4)
    network = one_tier(sessions, think, stations[0][0])
    if len(stations) > 1:
        seconds, count = stations[1]
        network = replace(network, processors=Processors(count, seconds))
    assert float(network.solve()[0][0]) == pytest.approx(rate, rel=0.05)


@given(st.integers(1, 60), st.floats(0.0005, 0.5), st.floats(0.0005, 0.05))
def test_the_machine_repairman(sessions: int, think: float, service: float) -> None:
    """M/M/1//N has a closed form: ``p0 = 1 / sum of N! / (N - n)! (S / Z)^n`` and ``X = (1 - p0) / S``."""
    terms = [1.0]
    for at in range(sessions):
        terms.append(terms[-1] * (sessions - at) * service / think)
    rate = (1 - terms[0] / sum(terms)) / service
    found = float(one_tier(sessions, think, service).solve()[0][0])
    assert found == pytest.approx(rate, rel=0.12)
    assert found <= min(sessions / (think + service), 1 / service) * (1 + 1e-9)  # asymptotic bounds


@given(st.integers(1, 200), st.integers(1, 8), st.floats(0.0005, 0.05))
def test_a_balanced_network(sessions: int, tiers: int, service: float) -> None:
    """Stations with equal demands and sessions that do not think: ``X = N / (D (N + K - 1))``, which AMVA finds too."""
    network = Network(sessions=sessions, elsewhere=0.0, demand=np.full((tiers, 1), service), stations=disks(tiers))
    exact = sessions / (service * (sessions + tiers - 1))
    assert float(network.solve()[0][0]) == pytest.approx(exact, rel=1e-6)


def test_work_that_comes_with_transactions_bounds_them() -> None:
    """Two thirds of a millisecond of writes a transaction: with 1 ms of reads there are 600 a second at most."""
    network = replace(one_tier(200, 0.01, 0.001), growing=np.array([[2 / 3000]]))
    rate = network.solve()[0]
    assert float(rate[0]) == pytest.approx(600, rel=0.02)
    assert float(network.used_at(rate)[0, 0]) == pytest.approx(1.0, abs=0.01)
    own_pace = replace(one_tier(200, 0.01, 0.001), taken=np.array([[0.4]]))
    assert float(own_pace.solve()[0][0]) == pytest.approx(600, rel=0.02)


def test_a_tier_that_serves_everybody_at_once_is_never_busy() -> None:
    """Infinitely many servers."""
    stations = Stations(np.array([inf]), np.array([1.0]), np.array([1.0]))
    network = Network(sessions=8.0, elsewhere=0.004, demand=np.array([[0.001]]), stations=stations)
    assert float(network.solve()[0][0]) == pytest.approx(8 / 0.005)
    assert float(network.used_at(1600.0)[0, 0]) == 0.0
