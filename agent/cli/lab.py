"""See for yourself: ``lab prove`` tries on your server what is claimed, ``lab record`` writes down what is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from agent.cli.app import app, command
from agent.cli.commands import HelpGroup
from agent.cli.session import Session, actor, interactive
from agent.model.answers.setup import ClaimsTried, ProofStatement, RecordingMade, StatementsToProve
from agent.model.proposals import DIGEST_SHOWN
from agent.model.units_of_measure import format_when, parse_seconds
from agent.studies.recordings import INTERRUPTED, Recorded, head_of, names_of, save_names, written_entry
from agent.studies.recordings import record as record_database
from agent.terminal.columns import Column
from agent.terminal.deciding import print_notes, print_summary
from agent.terminal.errors import CommandError, ExitCode
from agent.terminal.output import Output, plain_value
from agent.terminal.wording import count_of_moves, print_script, print_statements, short_digest
from connectors.kit.recorded_columns import HashedNames
from connectors.model.formatting import comment, format_bytes, written

if TYPE_CHECKING:
    from agent.model.proposals import Proposal
    from agent.studies.prove.claims import ProofPage
    from agent.studies.prove.script import Script
    from connectors.kit.proving import Proof

COLUMNS = (Column("claim"), Column("result"), Column("what was seen"))
KEY_NAME = "names.key"  # next to the ledger

lab = typer.Typer(no_args_is_help=True, epilog="Example: hotplace lab record --for 1h --output shop.recording")
app.add_typer(
    lab,
    name="lab",
    help="Try on a scratch schema of your own server what the connector claims, or record what it reads.",
    rich_help_panel=HelpGroup.SET_UP,
)


@command(
    HelpGroup.SET_UP,
    "hotplace lab prove --engine postgresql --schema scratch --slow hdd --fast ssd --output prove.md",
    of=lab,
)
def prove(
    session: Session,
    engine: Annotated[str, typer.Option("--engine", help="Engine of the database, to be sure that it is the one.")],
    schema: Annotated[str, typer.Option("--schema", help="An empty schema that the moving login owns.")],
    slow: Annotated[str, typer.Option("--slow", metavar="SPACE", help="Where everything is made.")],
    fast: Annotated[str, typer.Option("--fast", metavar="SPACE", help="Where it moves to, and back.")],
    throw_away: Annotated[
        str,
        typer.Option(
            "--throw-away",
            metavar="SPACE",
            help="An empty filegroup or tablespace of a database that is given away: its files move, too.",
            show_default=False,
        ),
    ] = "",
    files_to: Annotated[
        str,
        typer.Option(
            "--files-to", metavar="FOLDER", help="Where those files go, and come back from.", show_default=False
        ),
    ] = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Approve statements and moves without being asked.")] = False,
    digest: Annotated[
        str | None,
        typer.Option(help=f"With --yes: digest of the listed statements, {DIGEST_SHOWN} characters or more."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", metavar="FILE", help="Write the page there: Markdown, or JSON by .json.")
    ] = None,
    emulated: Annotated[
        bool, typer.Option("--emulated", help="Say on the page that the server is no real one.")
    ] = False,
    note: Annotated[str, typer.Option("--note", help="What a reader has to know of this run.")] = "",
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Ten minutes: known reads and waits, one table and one index there and back."),
    ] = False,
) -> ExitCode:
    """Try on a scratch schema of your own server what the connector claims, and write a page of what was seen."""
    from agent.studies.prove.claims import Result
    from agent.studies.prove.run import Order
    from agent.studies.prove.run import prove as run_proof
    from agent.studies.prove.script import script_of
    from connectors.kit.proving import Scratch

    proof = _proof(session, engine)
    if bool(throw_away) != bool(files_to):
        raise CommandError("--throw-away and --files-to go together", code=ExitCode.USAGE)
    scratch = Scratch(schema=schema, slow=slow, fast=fast, throw_away=throw_away, to_folder=files_to)
    script = script_of(proof, scratch, quick=quick)
    if session.config.dry_run:
        list_statements(session.out, script)
        session.out.note(f"nothing was sent: dry_run is on in {session.config_path}")
        session.out.document(_statements_to_prove(script))
        return ExitCode.OK
    if digest is not None and not (len(digest) >= DIGEST_SHOWN and script.digest.startswith(digest)):
        raise CommandError(
            f"the statements have the digest {short_digest(script.digest)}, not {digest}",
            code=ExitCode.REFUSED, advice="Look at them again with dry_run: true.",
        )  # fmt: skip
    if not yes and (not interactive() or session.out.as_json):
        raise CommandError(
            "lab prove asks before it makes or moves anything, and there is no terminal to ask on",
            code=ExitCode.REFUSED,
            advice=f"Look at the list with dry_run: true; then: --yes --digest {short_digest(script.digest)}",
        )
    who = actor()
    page = run_proof(
        Order(
            database=session.database, proof=proof, script=script, ledger=session.ledger, clock=session.clock,
            who=who.who, origin=who.origin, say=session.out.note, server="emulated" if emulated else "real", note=note,
            approve_script=lambda listed: _may_begin(session, listed, yes=yes),
            approve=lambda number, proposal: _may_move(session, number, proposal, yes=yes),
            tell=lambda made: tell(session, made, output),
        )
    )  # fmt: skip
    if page is None:
        raise CommandError("nothing was made: the statements were not approved", code=ExitCode.REFUSED)
    contradicted = any(each.result is Result.CONTRADICTED for each in page.findings)
    return ExitCode.CONTRADICTED if contradicted else ExitCode.OK


def _proof(session: Session, engine: str) -> Proof:
    database = session.database
    if database.engine != engine:
        raise CommandError(
            f"the database {database.name} is configured as {database.engine}, not {engine}", code=ExitCode.USAGE
        )
    proof = database.engine_record.proof
    if proof is None:
        raise CommandError(f"there are no cases to prove {engine} by", code=ExitCode.USAGE)
    return proof


def list_statements(out: Output, script: Script) -> None:
    """All that may be sent outside of moves, before anybody is asked."""
    out.heading(f"statements in {script.scratch.schema}, digest {short_digest(script.digest)}")
    for what, statement in script.statements():
        print_script(out, f"{comment(what)}\n{written(statement)}")
        out.line()


def _statements_to_prove(script: Script) -> StatementsToProve:
    return StatementsToProve(
        schema=script.scratch.schema,
        digest=script.digest,
        statements=tuple(ProofStatement(for_=what, sql=sql) for what, sql in script.statements()),
        dry_run=True,
    )


def _may_begin(session: Session, script: Script, *, yes: bool) -> bool:
    list_statements(session.out, script)
    count = sum(1 for _ in script.statements())
    return yes or session.out.ask(f"Send these {count} statements, digest {short_digest(script.digest)}?")


def _may_move(session: Session, number: int, proposal: Proposal, *, yes: bool) -> bool:
    out = session.out
    out.heading(f"proposal {number}, digest {short_digest(proposal.digest)}")
    print_summary(out, proposal, proposal.moves, number)
    print_notes(out, proposal.moves)
    print_statements(out, proposal.moves)
    return yes or out.ask(f"Carry out {count_of_moves(proposal.moves)}, {format_bytes(proposal.bytes_moved)} in all?")


def tell(session: Session, page: ProofPage, output: Path | None) -> None:
    """Write the page, and print what of it was not seen."""
    from agent.studies.prove.claims import Result, claims_tried, markdown_of

    found = claims_tried(page)
    if output is not None:
        output.write_text(_json(found) if output.suffix == ".json" else markdown_of(found), encoding="utf-8")
    out = session.out
    out.heading(f"{found.title}: {', '.join(f'{number} {result}' for result, number in found.counts.items())}")
    out.table(COLUMNS, [(each.code, each.result, each.evidence) for each in found.claims if each.result != Result.SEEN])
    if output is not None:
        out.line(f"the page is in {output}")
    out.document(found)


def _json(found: ClaimsTried) -> str:
    return json.dumps(plain_value(found), indent=1, ensure_ascii=False) + "\n"


@command(HelpGroup.SET_UP, "hotplace lab record --for 1h --output shop.recording", of=lab)
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
    made = _recording_made(database.name, recorded, key_file, known)
    _print_recorded(session.out, made)
    session.out.document(made)


def _print_recorded(out: Output, made: RecordingMade) -> None:
    names = "as they are" if made.names_file is None else f"pseudonyms; {made.key} and {made.names_file} stay here"
    out.facts(
        [
            ("recorded", f"{format_when(made.since)} to {format_when(made.until)}"),
            ("samples", f"{made.samples}, {made.failed_samples} failed"),
            ("queries", f"{made.queries}, {made.refused_queries} refused by the server"),
            ("file", f"{made.file}, {format_bytes(made.bytes)}"),
            ("names", names),
        ]
    )
    if made.ended == INTERRUPTED:
        out.line("Ended early by Ctrl-C; what was recorded until then is whole.")
    if left_out := sorted({*made.dropped_columns, *made.left_out_queries}):
        out.line(f"Not recorded, since no table lists it as it came: {', '.join(left_out)}")
    with_names = "" if made.names_file is None else f" --names {made.names_file}"
    out.line(f"next: hotplace simulate --recording {made.file}{with_names}")


def _recording_made(database: str, recorded: Recorded, key_file: Path | None, known: Path | None) -> RecordingMade:
    return RecordingMade(
        database=database,
        file=str(recorded.path),
        bytes=recorded.bytes,
        since=recorded.since,
        until=recorded.until,
        seconds=(recorded.until - recorded.since).total_seconds(),
        ended=recorded.ended,
        samples=recorded.last.samples,
        failed_samples=recorded.last.failed,
        queries=recorded.tally.queries,
        refused_queries=recorded.tally.errors,
        names="plain" if key_file is None else "hashed",
        key=None if key_file is None else str(key_file),
        names_file=None if known is None else str(known),
        dropped_columns=tuple(sorted(recorded.tally.dropped)),
        left_out_queries=tuple(sorted(recorded.tally.left_out)),
    )
