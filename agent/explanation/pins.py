"""What has become of each pin: its state under the last plan, kept in the ledger for everybody who looks later."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agent.planning.planner import Planning

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
    from policies.modes.preference import pin_view

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
