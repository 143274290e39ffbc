"""The numbers behind one verdict, and verdicts of earlier proposals, recomputed from what the ledger stored."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict

from agent.answers.units import FiguresShown, VerdictExplained
from agent.cli.session import Session
from agent.explanation.decisions import replay_decision
from agent.explanation.explanation_archive import ArchivedExplanation, load_archived_explanation
from agent.ledger.state_names import decision_of_proposal
from agent.model.units_of_measure import format_when
from agent.terminal.errors import CommandError
from agent.terminal.exit_codes import ExitCode
from connectors.formatting import format_bytes, format_ratio, format_seconds, format_sessions, format_wait
from policies.explanation.figures import Figures, figures_of
from policies.explanation.verdicts import explain

SUGGESTED = 5
SEARCHED = 5000  # top keys among which a similar one is looked for


def explain_stored(session: Session, unit: str, proposal: int) -> None:
    """Show the verdict that a unit had when a proposal was made.

    Covers every unit while the inputs of the plan are kept, and later the units that it moves and the hottest others.

    Raises:
        CommandError: nothing is stored for that proposal, or it did not contain the unit.
    """
    decision = replay_decision(session.ledger, session.database.name, decision_of_proposal(proposal))
    if decision is not None:
        row = row_of(decision.situation.units.key, unit)
        key, at = decision.situation.units.key[row], decision.made_at
        numbers = figures_of(decision.situation, decision.plan, row, decision.settings)
        sentence = explain(decision.situation, decision.plan, row, decision.settings)
        how = f"recomputed from the stored inputs of proposal {proposal}"
    else:
        archived = _archived_explanation(session, proposal)
        row = row_of(archived.keys, unit)
        key, at = archived.keys[row], archived.at
        numbers, sentence = archived.figures[row], archived.sentences[row]
        how = f"as stored with proposal {proposal}; only its main units are still kept"
    explained = VerdictExplained(
        database=session.database.name,
        proposal=proposal,
        decided_at=at,
        unit=key,
        verdict=numbers.verdict.code,
        why=sentence,
        numbers=figures_shown(numbers),
    )
    session.out.line(explained.unit, style="bold")
    session.out.line(f"{explained.verdict}: {explained.why}")
    session.out.line(f"{how}, {format_when(explained.decided_at)}")
    session.out.line()
    session.out.facts(number_lines(numbers, estimate=estimate_of(session)))
    session.out.document(explained)


def _archived_explanation(session: Session, proposal: int) -> ArchivedExplanation:
    found = load_archived_explanation(session.ledger, session.database.name, proposal)
    if found is None:
        raise CommandError(
            f"the inputs of proposal {proposal} are not stored",
            code=ExitCode.NOT_FOUND,
            advice="Only plans are explained later, not an undo or a container's move; see hotplace proposals --past.",
        )
    return found


def estimate_of(session: Session) -> str:
    """Why waits of the units of this database are estimates; "" where they are measured."""
    return session.database.engine_record.estimated_waits(session.database.connection)


def number_lines(numbers: Figures, *, estimate: str = "") -> list[tuple[str, str]]:
    """The numbers for people, one line each; ``estimate`` says why the wait is one."""
    together, floor = format_bytes(numbers.bundle_bytes), format_wait(numbers.floor_per_hour)
    saves, sure = format_wait(numbers.saves_per_hour), format_sessions(numbers.surely_saves_per_hour)
    now, fast = format_wait(numbers.wait_now_per_hour), format_sessions(numbers.wait_fast_per_hour)
    copying, cost = format_seconds(numbers.copy_seconds), format_seconds(numbers.cost_seconds)
    lines = [
        ("wait", f"{now} where it is, {fast} when fast" + (f" (estimate: {estimate})" if estimate else "")),
        ("saves", f"{saves}, at least {sure}; less than {floor} is not worth a move"),
        ("demand errs by", format_ratio(numbers.demand_error_ratio)),
        ("move", f"{together}, {copying} of copying, costs {cost} of session time"),
        *_of_route(numbers),
        ("payback", f"{_duration(numbers.payback_seconds)} of at most {format_seconds(numbers.payback_limit_seconds)}"),
        (
            "history",
            f"{format_seconds(numbers.observed_seconds)} of at least {format_seconds(numbers.minimum_history_seconds)}",
        ),
    ]
    if numbers.hotter_ratio > 1:
        lines.append(("other horizon", f"{numbers.hotter_ratio:.3g} times as hot"))
    if math.isfinite(numbers.expected_index):
        lines.append(("season", f"promises {format_wait(numbers.expected_index * 3600)} on a usual disk"))
    if numbers.cooling_seconds > 0:
        lines.append(("cools down for", format_seconds(numbers.cooling_seconds)))
    return lines


def _of_route(numbers: Figures) -> list[tuple[str, str]]:
    """The part of the cost that is the route's, where one was asked for."""
    parts = {"log": numbers.log_seconds, "locks": numbers.blocked_seconds, "afterwards": numbers.follow_up_seconds}
    listed = ", ".join(f"{format_seconds(seconds)} {what}" for what, seconds in parts.items() if seconds > 0)
    return [("of that", f"{listed} (estimated)")] if listed else []


def figures_shown(numbers: Figures) -> FiguresShown:
    """The numbers as answers have them."""
    return FiguresShown(**{name: value for name, value in asdict(numbers).items() if name != "verdict"})


def _duration(seconds: float) -> str:
    return format_seconds(seconds) if math.isfinite(seconds) else "never"


def similar_keys(keys: Sequence[str], text: str) -> list[str]:
    """A few keys that ``text`` may stand for."""
    plain = text.replace('"', "").casefold()
    holding = [key for key in keys if plain in key.replace('"', "").casefold()]
    near = difflib.get_close_matches(text, list(keys[:SEARCHED]), n=SUGGESTED)
    return (holding or near)[:SUGGESTED]


def _meanings(text: str) -> tuple[Callable[[str], bool], ...]:
    """Ways to read ``text`` as a key, the narrowest first."""
    plain = text.replace('"', "")
    folded, last = plain.casefold(), f".{plain.casefold()}"
    return (
        lambda key: key == text,
        lambda key: key.replace('"', "") == plain,
        lambda key: key.replace('"', "").casefold() == folded,
        lambda key: key.replace('"', "").casefold().endswith(last),
    )


def row_of(keys: Sequence[str], unit: str) -> int:
    """Row of the unit of that key; quotes, case and what stands before its name may be left out where that is clear."""
    rows: list[int] = []
    for meant in _meanings(unit):
        rows = [row for row, key in enumerate(keys) if meant(key)]
        if len(rows) == 1:
            return rows[0]
        # A wider way of reading would only add to those that are meant.
        if rows:
            break
    similar = [keys[row] for row in rows] or similar_keys(keys, unit)
    raise CommandError(
        f"several units could be meant by {unit!r}" if rows else f"no unit has the key {unit!r}",
        code=ExitCode.NOT_FOUND,
        advice=f"Did you mean: {', '.join(similar)}" if similar else "`hotplace units --all` lists them.",
    )
