"""A stored decision gives the same verdicts when it is worked out again."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
from hypothesis import given, settings

from agent.ledger.measured.codec import decode_arrays, encode_arrays
from agent.planning.decisions import decision_arrays, decision_from_arrays
from connectors.model.observation import Role, RoleFigures
from policies.model.settings import TierLimits
from policies.placement.dispatch import plan_mode
from policies.placement.verdicts import explain_verdict, figures_of
from tests.examples import examples
from tests.property.strategies import Case, cases


@settings(deadline=None, max_examples=examples(60))
@given(cases())
def test_every_verdict_comes_out_again(case: Case) -> None:
    """Through the ledger's own bytes: the same moves, verdicts, sentences and numbers, to the bit."""
    situation = case.situation()
    count = len(situation.units)
    heat = replace(situation.heat, error=np.full(count, 0.25), expected=np.full(count, np.nan))
    limited = replace(situation.tiers[0], limits=TierLimits(io_per_second=1e6, raid=5, gib_year=2.5))
    log = RoleFigures(role=Role.LOG, name="wal", writes=7.0)
    situation = replace(
        situation, heat=heat, tiers=(limited, *situation.tiers[1:]), roles=(log,), copies_caused=np.full(count, 0.5)
    )
    stored = decode_arrays(encode_arrays(decision_arrays(situation, case.settings)))
    again, same_settings = decision_from_arrays(stored)
    assert same_settings == case.settings
    assert again.tiers == situation.tiers
    plan, later = (plan_mode(each, case.settings) for each in (situation, again))
    assert later.moves == plan.moves
    np.testing.assert_array_equal(later.verdict, plan.verdict)
    for row in range(count):
        assert explain_verdict(again, later, row, same_settings) == explain_verdict(situation, plan, row, case.settings)
        before, after = figures_of(situation, plan, row, case.settings), figures_of(again, later, row, same_settings)
        np.testing.assert_equal(asdict(after), asdict(before))  # NaN is equal to NaN here
