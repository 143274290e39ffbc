"""What was forecast of the moves that were carried out, where some of a proposal were not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from agent.explanation.decisions import decision_from_arrays
from agent.ledger import Ledger
from agent.ledger.state_names import decision_of_proposal
from agent.model.proposals import Proposal, ProposedMove, WorkForecast
from agent.planning.situation import rows_of_keys
from policies.model.plan import Situation
from policies.sizing.forecast import forecast


def forecast_of_moves(
    ledger: Ledger, number: int, proposal: Proposal, done: Sequence[ProposedMove]
) -> WorkForecast | None:
    """The forecast of some moves of a proposal, worked out again from what the ledger keeps of its plan.

    Args:
        ledger: asked for what the proposal was made from.
        number: of the proposal.
        proposal: as it was stored.
        done: the moves of it that were carried out.

    Returns:
        The proposal's own forecast where all of them were; one that says why not where the plan is not kept; None where
        the proposal has none.
    """
    whole = proposal.forecast
    if whole is None or whole.why_not or len(done) == len(proposal.moves):
        return whole
    stored = ledger.state.load_arrays(proposal.database, decision_of_proposal(number))
    if stored is None:
        return _unknown(whole, f"{len(done)} of {len(proposal.moves)} moves ran, and their plan is not kept")
    # Worked out again and not scaled: throughput is not linear in the moves, since each one that is left out keeps a
    # queue as long as it was.
    situation, settings = decision_from_arrays(stored[1])
    return WorkForecast.of(forecast(situation, settings, _tiers(situation, done)), whole.work, settings.certainty)


def _tiers(situation: Situation, done: Sequence[ProposedMove]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Tier of each unit with those moves done. Shape ``(n,)``."""
    tier = situation.tier_of_space[situation.units.space].astype(np.int64)
    tier_of = {each.name: row for row, each in enumerate(situation.tiers)}
    goes = {key: tier_of[move.to_tier] for move in done for key in move.route.bundle.unit_keys}
    for key, at in rows_of_keys(situation.units.key, goes.keys()).items():
        tier[at] = goes[key]
    return tier


def _unknown(whole: WorkForecast, why_not: str) -> WorkForecast:
    return replace(
        whole, per_second=None, per_second_low=None, per_second_high=None, latency=None, latency_low=None,
        latency_high=None, read_wait=None, why_not=why_not, limit="",
    )  # fmt: skip
