"""The bench's own proof of how good plans can be, against every answer there is."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.bench.policy_instances import Program
from tests.bench.policy_proof import proven_bound


def small(seed: int, units: int, options: int) -> Program:
    """Units that come, leave or pass, one of them nearly as large as all the room, with room and a budget of bytes."""
    random = np.random.default_rng(seed)
    size = random.lognormal(0.0, 1.5, units)
    size[0] = 0.4 * size.sum()
    unit = np.tile(np.arange(units), options)
    comes = np.where(random.random(units * options) < 0.5, 1.0, -1.0)
    gain = comes * random.random(units * options) * 100 * size[unit]
    room = np.array([random.random() * 0.1, 0.4]) * size.sum()
    way = random.integers(0, 3, units * options)
    return Program(
        gain=gain,
        use=np.array([comes * size[unit], size[unit]]),
        room=room,
        unit=unit,
        leaves=np.where(way == 0, size[unit], 0.0),
        passes=np.where(way == 1, size[unit], 0.0),
        free=float(room[0]),
    )


def best_of_all(asked: Program, options: int) -> float:
    """The best of every choice of one option or none of each unit."""
    units, best = len(asked.gain) // options, 0.0
    for choice in product(range(options + 1), repeat=units):
        taken = [option * units + at for at, option in enumerate(choice) if option < options]
        passing = asked.passes[taken].max(initial=0.0) <= asked.free + asked.leaves[taken].sum() + 1e-9
        if passing and np.all(asked.use[:, taken].sum(axis=1) <= asked.room + 1e-9):
            best = max(best, float(asked.gain[taken].sum()))
    return best


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(1, 2))
def test_the_proof_is_the_optimum(seed: int, units: int, options: int) -> None:
    """From any value below it the proof ends at the optimum, and from the optimum it ends there."""
    asked = small(seed, units, options)
    best = best_of_all(asked, options)
    for value in (0.0, best / 2, best):
        assert abs(proven_bound(asked, value, near=1e-6) - best) <= 1e-5 * max(best, 1.0)


def test_without_time_the_relaxation_is_the_bound() -> None:
    """A proof that is stopped at once promises no more than the relaxation does."""
    asked = small(1, 6, 1)
    assert proven_bound(asked, 0.0, seconds=0.0) >= best_of_all(asked, 1)
