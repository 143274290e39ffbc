"""Advice and pins under the last plan, as the ledger keeps them.

Advice other than moves, stored in the ledger with the last plan.

What has become of each pin: its state under the last plan, kept in the ledger for everybody who looks later.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from agent.ledger.ledger import Ledger
from agent.ledger.state_names import ADVICE
from agent.model.answers.kind import mapping_of
from agent.model.answers.units import AdviceShown

if TYPE_CHECKING:
    from agent.planning.planner import Planning
    from policies.evidence.splitting import SplitAnswer
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
    from policies.placement.advice import (
        advice_of,  # a report reads stored advice, without arrays
        advice_of_splits,
    )

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


UNMATCHED = "unmatched"


@dataclass(frozen=True, slots=True, kw_only=True)
class PinReport:
    """One pin, and how far it is fulfilled."""

    pattern: str
    pin: str  # must, prefer, never
    state: str  # PinState.code, or ``unmatched`` where it governs no unit
    units: int  # that it governs
    satisfied: int
    why: str  # what stands in the way; "" where nothing does


def pin_reports(planning: Planning) -> tuple[PinReport, ...]:
    """The state of every pin under a plan, in the order of the pins."""
    if not planning.pins:
        return ()
    # Here, since reports that are stored are read without any of it.
    import numpy as np

    from agent.planning.situation import governing_pins
    from policies.placement.modes import pin_view

    situation = planning.situation
    view = pin_view(situation, planning.plan, planning.settings) if situation.tiers else None
    governing = governing_pins(situation.units.key, planning.pins)
    reports = []
    for at, wish in enumerate(planning.pins):
        rows = np.flatnonzero(governing == at)
        summary = view.summary(rows) if view is not None and len(rows) else None
        reports.append(
            PinReport(
                pattern=wish.pattern,
                pin=wish.pin.name.lower(),
                state=UNMATCHED if summary is None else summary.state.code,
                units=len(rows),
                satisfied=0 if summary is None else summary.satisfied,
                why="no unit is governed by it" if summary is None else summary.why,
            )
        )
    return tuple(reports)


def reports_document(reports: Iterable[PinReport]) -> list[dict[str, Any]]:
    """Reports as JSON values."""
    return [asdict(report) for report in reports]


def reports_from_document(document: Iterable[dict[str, Any]]) -> tuple[PinReport, ...]:
    """Inverse of ``reports_document``."""
    return tuple(PinReport(**report) for report in document)
