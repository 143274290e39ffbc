"""What happens right now? ``top``: on a terminal the live screen of ``agent.cli.live``, else the same printed once."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated, Any

import typer

from agent.cli.app import command
from agent.cli.commands import Group
from agent.cli.daemon_state import daemon_of
from agent.cli.looking.under_way import under_way_document, under_way_of
from agent.cli.session import Session
from agent.config import DatabaseConfig
from agent.explanation.ranking import Ranking, ranking_from_arrays
from agent.ledger.state_names import RANKING
from agent.model.states import UNDER_WAY
from agent.model.units_of_measure import parse_seconds
from agent.terminal.columns import Column
from agent.terminal.errors import CommandError
from agent.terminal.exit_codes import ExitCode
from connectors.formatting import format_bytes, format_sessions

UNITS = 10
COLUMNS = (
    Column("unit", name=True), Column("tier"), Column("size", number=True), Column("sync/s", number=True, leaves=1),
    Column("benefit", number=True), Column("verdict"),
)  # fmt: skip


@command(Group.LOOK, "hotplace top --every 1s")
def top(
    session: Session,
    once: Annotated[bool, typer.Option("--once", help="Print it once and end.")] = False,
    every: Annotated[str, typer.Option(metavar="DURATION", help="How often to look.")] = "2s",
    limit: Annotated[int, typer.Option(min=1, help="Print this many units.")] = UNITS,
) -> None:
    """Show live what waits, what is proposed and what moves, and act on it by keys; q or Ctrl-C ends the display."""
    seconds = _seconds(every)
    if session.out.as_json or once or not session.out.terminal:
        documents = [_document(session, database, limit) for database in session.databases]
        for document in documents:
            _print(session, document)
        session.out.document({"at": session.clock.now(), "databases": documents})
        return
    from agent.cli.live.show import show  # draws, and is not needed for what is printed once

    with suppress(KeyboardInterrupt):
        show(session, seconds)


def _seconds(every: str) -> float:
    try:
        seconds = parse_seconds(every)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--every") from error
    if seconds < 0.1:
        raise CommandError(
            f"--every is at least 0.1s, not {every}",
            code=ExitCode.USAGE,
            advice="The daemon itself looks every second.",
        )
    return seconds


def _document(session: Session, database: DatabaseConfig, limit: int) -> dict[str, Any]:
    """Everything that is shown of one database; asks the ledger alone."""
    now = session.clock.now()
    daemon = daemon_of(session.ledger, database, now, within=session.within_daemon)
    under_way = under_way_of(session.ledger, database, now)
    rows = session.ledger.moves.rows(database=database.name, states=UNDER_WAY)
    stored = session.ledger.state.load_arrays(database.name, RANKING)
    ranking = None if stored is None else ranking_from_arrays(stored[1])
    return {
        "database": database.name,
        "daemon": {"state": daemon.word, "sentence": daemon.sentence, "last_cycle": daemon.status.get("last_cycle")},
        **under_way_document(under_way),
        "moves": [
            {
                "id": row.id, "unit": row.move.key, "to_space": row.move.to_space, "bytes": row.move.size_bytes,
                "state": row.state, "sentence": under_way.sentence(row), "line": under_way.line(row),
            }
            for row in rows
        ],
        "units": [] if ranking is None else [ranking.document(row) for row in range(min(limit, len(ranking)))],
        "lines": [] if ranking is None else _lines(ranking, limit),
    }  # fmt: skip


def _lines(ranking: Ranking, limit: int) -> list[tuple[str, ...]]:
    return [
        (
            ranking.key[row],
            ranking.tier_names[int(ranking.tier[row])] if ranking.tier[row] >= 0 else "not managed",
            format_bytes(int(ranking.size_bytes[row])),
            f"{ranking.sync_reads[row]:,.1f}",
            format_sessions(float(ranking.benefit_per_hour[row])),
            ranking.verdict_code(row),
        )
        for row in range(min(limit, len(ranking)))
    ]


def _print(session: Session, document: dict[str, Any]) -> None:
    out = session.out
    out.line(f"{document['database']}: {document['daemon']['sentence']}", style="bold")
    out.line(document["window"]["sentence"])
    for move in document["moves"]:
        out.line(move["line"])
    if not document["moves"]:
        out.line("nothing moves")
    out.table(COLUMNS, document.pop("lines"))
