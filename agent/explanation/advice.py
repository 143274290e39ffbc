"""Advice other than moves, stored in the ledger with the last plan."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from agent.answers.kind import mapping_of
from agent.answers.units import AdviceShown
from agent.ledger import Ledger
from agent.ledger.state_names import ADVICE

if TYPE_CHECKING:
    from agent.planning.planner import Planning
    from policies.benefit.splitting import SplitAnswer
    from policies.model.plan import Advice


def advice_on(
    planning: Planning, splits: SplitAnswer | None = None, *, with_values: bool = False
) -> tuple[Advice, ...]:
    """The advice that comes with a planning, other than its moves.

    Args:
        planning: just made.
        splits: what splits of its units would bring; None: nothing is said of them.
        with_values: say borders by their values, which are user data: for who asks, never for what is stored.
    """
    from policies.explanation.advice import advice_of  # a report reads stored advice, without arrays
    from policies.explanation.splits import advice_of_splits

    advice = advice_of(planning.situation, planning.plan, planning.settings)
    if splits is None or not planning.situation.tiers:
        return advice
    return (*advice, *advice_of_splits(splits, planning.situation.tiers[0].name, with_values=with_values))


def stored_advice(ledger: Ledger, database: str) -> tuple[AdviceShown, ...]:
    """That of the last plan; empty where there is none."""
    stored = ledger.state.load_document(database, ADVICE)
    return () if stored is None else tuple(AdviceShown(**each) for each in stored[1])


def store_advice(ledger: Ledger, database: str, advice: Iterable[Advice]) -> None:
    """Keep it as that of the last plan."""
    ledger.state.save_document(database, ADVICE, [mapping_of(each) for each in advice_shown(advice)])


def advice_shown(advice: Iterable[Advice]) -> tuple[AdviceShown, ...]:
    """Advice as answers have it."""
    return tuple(
        AdviceShown(
            code=each.code.value,
            subject=each.subject,
            sentence=each.sentence,
            wait_saved_per_hour_seconds=each.saves_per_hour,
        )
        for each in advice
    )
