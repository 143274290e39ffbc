"""What does the connector read here? ``record``: into a file that can be replayed elsewhere, without user data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from agent.cli.app import command
from agent.cli.commands import Group
from agent.cli.session import Session
from agent.model.units_of_measure import format_when, parse_seconds
from agent.terminal.output import Output
from agent.what_if.recorded_names import save_names
from agent.what_if.recorded_settings import head_of, names_of, written_entry
from agent.what_if.recording import INTERRUPTED, Recorded
from agent.what_if.recording import record as record_database
from connectors.formatting import format_bytes
from connectors.recording.names import HashedNames

KEY_NAME = "names.key"  # next to the ledger


@command(Group.LOOK, "hotplace record --for 1h --output shop.recording")
def record(
    session: Session,
    output: Annotated[
        Path, typer.Option("--output", metavar="FILE", help="The new file; only you can read it.", show_default=False)
    ],
    lasts: Annotated[str, typer.Option("--for", metavar="DURATION", help="How long to watch.")] = "1h",
    plain_names: Annotated[
        bool, typer.Option("--plain-names", help="Write names as they are, not pseudonyms in their place.")
    ] = False,
    key: Annotated[
        Path | None,
        typer.Option(
            "--key",
            metavar="FILE",
            help=f"Secret key of the pseudonyms, made where it is missing; else {KEY_NAME} next to the ledger.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write down for a while what the connector reads, without user data, for `hotplace simulate --recording`."""
    try:
        seconds = parse_seconds(lasts)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--for") from error
    database = session.database
    key_file = None if plain_names else key or session.config.ledger.folder / KEY_NAME
    names = names_of(database, key_file)
    head = head_of(written_entry(session.config_path, database.name), names)
    columns = (TextColumn("recording"), BarColumn(), TimeRemainingColumn())
    console = session.out.progress_console
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("recording", total=seconds)
        recorded = record_database(
            database, head, output, names, session.clock, seconds=seconds,
            progress=lambda passed: progress.advance(task, passed),
        )  # fmt: skip
    known = save_names(key_file, names.known) if key_file is not None and isinstance(names, HashedNames) else None
    _print(session.out, recorded, key_file, known)
    session.out.document({"database": database.name, **_document(recorded, key_file, known)})


def _print(out: Output, recorded: Recorded, key_file: Path | None, known: Path | None) -> None:
    tally = recorded.tally
    out.facts(
        [
            ("recorded", f"{format_when(recorded.since)} to {format_when(recorded.until)}"),
            ("samples", f"{recorded.last.samples}, {recorded.last.failed} failed"),
            ("queries", f"{tally.queries}, {tally.errors} refused by the server"),
            ("file", f"{recorded.path}, {format_bytes(recorded.bytes)}"),
            ("names", "as they are" if known is None else f"pseudonyms; {key_file} and {known} stay here"),
        ]
    )
    if recorded.ended == INTERRUPTED:
        out.line("Ended early by Ctrl-C; what was recorded until then is whole.")
    if tally.dropped or tally.left_out:
        out.line(
            f"Not recorded, since no table lists it as it came: {', '.join(sorted(tally.dropped | tally.left_out))}"
        )
    out.line(f"next: hotplace simulate --recording {recorded.path}" + ("" if known is None else f" --names {known}"))


def _document(recorded: Recorded, key_file: Path | None, known: Path | None) -> dict[str, Any]:
    return {
        "file": str(recorded.path),
        "bytes": recorded.bytes,
        "since": recorded.since,
        "until": recorded.until,
        "seconds": (recorded.until - recorded.since).total_seconds(),
        "ended": recorded.ended,
        "samples": recorded.last.samples,
        "failed_samples": recorded.last.failed,
        "queries": recorded.tally.queries,
        "refused_queries": recorded.tally.errors,
        "names": "plain" if key_file is None else "hashed",
        "key": None if key_file is None else str(key_file),
        "names_file": None if known is None else str(known),
        "dropped_columns": sorted(recorded.tally.dropped),
        "left_out_queries": sorted(recorded.tally.left_out),
    }
