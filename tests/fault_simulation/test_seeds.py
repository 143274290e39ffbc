"""The first seeds break no promise; more with ``make fault-simulation`` and ``make soak``."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.fault_simulation.oracles import APPROVED, AUDIT, COST, HEAT, ONE_AGENT, TRUE_STATES
from tests.fault_simulation.runs import repeat_command, run_seed, shrunk

SEEDS, PARTS = 100, 10
OFTEN = (APPROVED, AUDIT, COST, HEAT, ONE_AGENT, TRUE_STATES)  # asked in every few runs


@pytest.mark.parametrize("part", range(PARTS))
def test_no_promise_is_broken(part: int) -> None:
    """Whatever fails, whoever acts: every oracle holds, and those that are asked often were."""
    checked: Counter[str] = Counter()
    for seed in range(part * SEEDS // PARTS, (part + 1) * SEEDS // PARTS):
        report = run_seed(seed)
        checked.update(report.checked)
        if report.violations:
            numbers, smallest = shrunk(report)
            sentences = "\n".join(f"{each.oracle}: {each.sentence}" for each in smallest.violations)
            pytest.fail(f"{sentences}\nrepeat it: {repeat_command(seed, numbers)}")
    assert all(checked[oracle] for oracle in OFTEN), checked


def test_a_seed_repeats_itself() -> None:
    """Word by word: the same faults at the same calls, the same statements at the same times."""
    first, second = run_seed(13), run_seed(13)
    assert len(first.story) > 10
    assert (first.story, first.moves, first.checked) == (second.story, second.moves, second.checked)
