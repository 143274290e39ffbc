"""The figures at the top of the page: for who reads nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from agent.model.outcomes import OutcomeVerdict
from agent.report.content import Report, counted
from agent.report.figures import ReportFigures
from connectors.formatting import format_bytes, format_rate, format_ratio

_State = TypeVar("_State", bound=str)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One figure with its name."""

    title: str
    text: str
    alarming: bool = False


def summary_of(report: Report, figures: ReportFigures) -> list[Fact]:
    """What was done, what it brought, and how things are now, as far as that is known."""
    totals = report.totals
    return [
        Fact(title="proposals", text=_count(totals.proposals, totals.proposals_by_state)),
        Fact(title="moves", text=_count(totals.moves, report.states)),
        Fact(title="moved", text=report.moved),
        Fact(title="outcomes", text=report.outcomes, alarming=OutcomeVerdict.HURT in totals.outcomes_by_verdict),
        *_now(figures),
        Fact(title="audit chain", text=report.audit.sentence, alarming=not report.audit.ok),
    ]


def _count(number: int, by_state: Mapping[_State, int]) -> str:
    return f"{number}: {counted(by_state)}" if len(by_state) > 1 else counted(by_state)


def _now(figures: ReportFigures) -> Iterator[Fact]:
    """What sessions wait for most, and how full the fastest tier is."""
    waits = [each for each in figures.spent if each.kind != "other"]
    if waits and waits[0].sessions > 0:
        everything = sum(each.sessions for each in figures.spent)
        text = f"{waits[0].what}: {format_rate(waits[0].sessions)} of {format_rate(everything)} sessions"
        yield Fact(title="longest wait", text=text)
    if figures.fills and figures.tiers:
        tier, last = figures.tiers[0], figures.fills[-1]
        used, capacity = last.used_bytes.get(tier, 0), last.capacity_bytes.get(tier)
        full = f"{format_ratio(used / capacity)} of {format_bytes(capacity)}" if capacity else format_bytes(used)
        yield Fact(title=f"in use on {tier}", text=full)
