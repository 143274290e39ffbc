"""``fleet status``: a line for each database that needs a person, and one for all others together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from agent.cli.fleet.pages import document_rows, first_rows, say_rest, selection_of
from agent.cli.session import Session
from agent.fleet.reading import read_standings
from agent.fleet.standing import Heartbeat, Need, Standing, count_heartbeats
from agent.model.units_of_measure import format_when
from agent.terminal.columns import Column
from connectors.formatting import format_bytes, format_sessions, format_wait

COLUMNS = (
    Column("database", name=True), Column("engine", leaves=3), Column("agent"), Column("heard of", leaves=4),
    Column("proposals", number=True, leaves=2), Column("save", number=True), Column("moves", number=True, leaves=1),
    Column("fastest tier free", number=True, leaves=5), Column("needs"),
)  # fmt: skip


def show_status(session: Session, engine: str, state: Heartbeat | None, limit: int | None) -> None:
    """Print the list, or the document."""
    now = session.clock.now()
    found = read_standings(session.ledger, selection_of(session, engine), now)
    found = [each for each in found if state in {None, each.heartbeat}]
    _print(session, found, limit)
    session.out.document(
        {
            "at": now,
            "totals": _totals(found),
            "databases": [_document(each) for each in document_rows(found, limit)],
        }
    )


def _print(session: Session, found: Sequence[Standing], limit: int | None) -> None:
    if not found:
        session.out.line("the ledger knows no such database; each is known once its agent has sampled it")
        return
    session.out.line(_headline(found), style="bold")
    urgent = [each for each in found if each.needs is not Need.NOTHING]
    rows = first_rows(found if limit is not None else urgent, limit)
    if rows:
        session.out.table(COLUMNS, [_cells(each) for each in rows])
    if limit is None:
        say_rest(session, len(urgent), len(rows), "that need a person")
        if rest := len(found) - len(urgent):
            session.out.line(f"{rest} need nothing; --limit {len(found)} shows all")


def _headline(found: Sequence[Standing]) -> str:
    totals = _totals(found)
    return (
        f"{totals['databases']} databases: {totals['heard']} heard of, {totals['silent']} silent, "
        f"{totals['never']} never watched; {totals['undecided_proposals']} proposals wait, worth "
        f"{format_wait(totals['undecided_wait_saved_per_hour_seconds'])}; {totals['running_moves']} moves run"
    )


def _totals(found: Sequence[Standing]) -> dict[str, Any]:
    beats = count_heartbeats(found)
    return {
        "databases": len(found),
        **{beat.value: beats[beat] for beat in Heartbeat},
        "need_a_person": sum(each.needs is not Need.NOTHING for each in found),
        "undecided_proposals": sum(each.undecided for each in found),
        "undecided_wait_saved_per_hour_seconds": math.fsum(each.undecided_saved_per_hour for each in found),
        "waiting_moves": sum(each.waiting_moves for each in found),
        "running_moves": sum(each.running_moves for each in found),
    }


def _cells(each: Standing) -> tuple[str, ...]:
    fastest = next(iter(each.tiers.values()), None)
    return (
        each.database, each.engine, each.heartbeat.value,
        "" if each.heard_at is None else format_when(each.heard_at),
        str(each.undecided or ""), format_sessions(each.undecided_saved_per_hour) if each.undecided else "",
        str(each.waiting_moves + each.running_moves or ""),
        "" if fastest is None else format_bytes(fastest[1]), each.why,
    )  # fmt: skip


def _document(each: Standing) -> dict[str, Any]:
    return {
        "database": each.database,
        "engine": each.engine or None,
        "agent": each.heartbeat,
        "heard_of_at": each.heard_at,
        "needs": each.needs.name.lower(),
        "why": each.why or None,
        "undecided_proposals": each.undecided,
        "undecided_wait_saved_per_hour_seconds": each.undecided_saved_per_hour,
        "waiting_moves": each.waiting_moves,
        "running_moves": each.running_moves,
        "tiers": [{"tier": name, "used_bytes": used, "free_bytes": free} for name, (used, free) in each.tiers.items()],
    }
