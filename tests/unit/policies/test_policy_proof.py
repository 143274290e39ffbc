"""The bench's own proof of how good plans can be, against every answer there is."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from connectors.model.observation import I64
from tests.bench.policy_cuts import Row, cuts
from tests.bench.policy_instances import Program
from tests.bench.policy_proof import proven_bound
from tests.bench.policy_relaxation import Decided, Relaxation
from tests.examples import examples


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


def answers(asked: Program, options: int) -> list[I64]:
    """What every answer takes: one option or none of each unit, within all that is scarce."""
    units, found = len(asked.gain) // options, []
    for choice in product(range(options + 1), repeat=units):
        taken = np.array([option * units + at for at, option in enumerate(choice) if option < options], dtype=np.int64)
        passing = asked.passes[taken].max(initial=0.0) <= asked.free + asked.leaves[taken].sum() + 1e-9
        if passing and np.all(asked.use[:, taken].sum(axis=1) <= asked.room + 1e-9):
            found.append(taken)
    return found


def best_of_all(asked: Program, options: int) -> float:
    """The best of every answer."""
    return max(float(asked.gain[taken].sum()) for taken in answers(asked, options))


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(1, 2))
@example(22015, 6, 1)  # what is decided exceeds the room by so little that it must be very dear
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


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(1, 2))
def test_no_cut_cuts_away_an_answer(seed: int, units: int, options: int) -> None:
    """Whatever parts of units are cut away, and of cuts again, every whole answer is left, and the parts are not."""
    asked, random = small(seed, units, options), np.random.default_rng(seed)
    every = [np.isin(np.arange(units * options), taken) for taken in answers(asked, options)]
    order = np.argsort(asked.unit, kind="stable")
    asked, rows = asked.only(order), list[Row]()
    for _ in range(4):
        taken = random.dirichlet(np.full(options + 1, 0.3), units)[:, :options].ravel()
        added = cuts(asked, taken, rows, 20)
        assert all(row.left @ taken > row.right for row in added)
        rows += added
    assert all(row.left @ answer[order] <= row.right + 1e-9 for row in rows for answer in every)


def test_cuts_close_most_of_what_the_relaxation_leaves_open() -> None:
    """Of what the relaxation promises above the optimum, cuts take away more than half, and never too much."""
    opened, left = 0.0, 0.0
    for seed in range(20):
        asked = small(seed, 6, 2)
        best, relaxation = best_of_all(asked, 2), Relaxation(asked, 0.0)
        before = relaxation.solved(Decided(), 0.0).bound
        relaxation.tighten(0.0, np.inf)
        after = relaxation.solved(Decided(), 0.0).bound
        assert best * (1 - 1e-7) <= after <= before * (1 + 1e-9)
        opened, left = opened + before - best, left + after - best
    assert left < 0.5 * opened
