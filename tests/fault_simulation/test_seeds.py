"""The first seeds break no promise; more with ``make fault-simulation`` and ``make soak``."""

from __future__ import annotations

import os
from collections import Counter

import pytest

from tests.fault_simulation.oracles import APPROVED, AUDIT, COST, HEAT, ONE_AGENT, TRUE_STATES
from tests.fault_simulation.runs import repeat_command, run, run_seed, shrunk
from tests.fault_simulation.script import draw
from tests.frozen.faults import items_of
from tests.frozen.kept import Frozen, differences

SEEDS = int(os.environ.get("HOTPLACE_FROZEN_SEEDS", "30"))
PARTS = 10
OFTEN = (APPROVED, AUDIT, COST, HEAT, ONE_AGENT, TRUE_STATES)  # asked in every few runs


@pytest.mark.parametrize("part", range(PARTS))
def test_no_promise_is_broken(part: int) -> None:
    """Whatever fails, whoever acts: every oracle holds, those asked often were, and all comes to what it came to."""
    checked: Counter[str] = Counter()
    for seed in range(part * SEEDS // PARTS, (part + 1) * SEEDS // PARTS):
        report = run_seed(seed)
        checked.update(report.checked)
        if report.violations:
            numbers, smallest = shrunk(report)
            sentences = "\n".join(f"{each.oracle}: {each.sentence}" for each in smallest.violations)
            pytest.fail(f"{sentences}\nrepeat it: {repeat_command(seed, numbers)}")
        told = differences("faults", Frozen({}, dict(items_of(seed, report))), partly=True)
        assert not told, told
    assert all(checked[oracle] for oracle in OFTEN), checked


@pytest.mark.parametrize(("seed", "events"), [(1097, (0, 1, 4, 8)), (1760, (1, 2, 3, 7)), (1403, (9, 18, 21))])
def test_a_forger_writes_while_facts_are_read(seed: int, events: tuple[int, ...]) -> None:
    """What was to begin has ended, what comes before it has not, or what is held is said to be another move's."""
    report = run(draw(seed, forgers=True).keep(list(events)))
    assert report.forged
    assert report.violations == []


def test_a_seed_repeats_itself() -> None:
    """Word by word: the same faults at the same calls, the same statements at the same times."""
    first, second = run_seed(13), run_seed(13)
    assert len(first.story) > 10
    assert (first.story, first.moves, first.checked) == (second.story, second.moves, second.checked)
