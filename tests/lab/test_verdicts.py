"""Verdicts with the load changed in mid-move: what counts as right; with ``make soak`` on real servers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent.demo.slow_disk import available
from agent.model.outcomes import OutcomeVerdict
from tests.bench.lab import verdicts
from tests.bench.lab.pace import QUICK
from tests.bench.lab.rig import MAJOR
from tests.labs.postgresql import installations
from tests.unit.samples import an_outcome


@pytest.mark.parametrize(
    ("plain", "verdict"),
    [(0.06, OutcomeVerdict.HURT), (0.04, OutcomeVerdict.NEUTRAL), (-0.04, OutcomeVerdict.NEUTRAL),
     (-0.06, OutcomeVerdict.HELPED)],
)  # fmt: skip
def test_the_plain_verdict_has_the_margin_of_the_other(plain: float, verdict: OutcomeVerdict) -> None:
    """Five percent more or less wait per transaction, whatever the work was."""
    judged = an_outcome(OutcomeVerdict.HELPED)
    outcome = replace(judged, wait_per_transaction_before=0.01, wait_per_transaction_after=0.01 * (1 + plain))
    found = verdicts.Found(case=verdicts.CASES[0], outcome=outcome, true_change=-0.5)
    assert found.plain_verdict is verdict
    assert found.plain_right is (verdict is OutcomeVerdict.HELPED)


@pytest.mark.postgresql
@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.skipif(MAJOR not in installations(), reason=f"no PostgreSQL {MAJOR} here: make setup")
@pytest.mark.skipif(not available()[0], reason=available()[1])
def test_verdicts_are_right_where_a_plain_comparison_is_wrong() -> None:
    """A good move, one without effect and a bad one, each with another load from its first statement on."""
    found = verdicts.run(QUICK)
    assert all(each.right for each in found), found
    assert sum(each.plain_right for each in found) <= 1, found
