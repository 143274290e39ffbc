"""Is it true on my server? ``prove``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli.app import command
from agent.cli.commands import Group
from agent.cli.session import Session, actor, interactive
from agent.model.proposals import DIGEST_SHOWN
from agent.terminal.columns import Column
from agent.terminal.errors import CommandError
from agent.terminal.exit_codes import ExitCode
from agent.terminal.wording import count_of_moves, print_moves, print_statements, short_digest
from connectors.formatting import format_bytes

if TYPE_CHECKING:
    from agent.model.proposals import Proposal
    from agent.prove.page import Page
    from agent.prove.script import Script
    from connectors.proving.proof import Proof

COLUMNS = (Column("claim"), Column("result"), Column("what was seen"))


@command(Group.SET_UP, "hotplace prove --engine postgresql --schema scratch --slow hdd --fast ssd --output prove.md")
def prove(
    session: Session,
    engine: Annotated[str, typer.Option("--engine", help="Engine of the database, to be sure that it is the one.")],
    schema: Annotated[str, typer.Option("--schema", help="An empty schema that the moving login owns.")],
    slow: Annotated[str, typer.Option("--slow", metavar="SPACE", help="Where everything is made.")],
    fast: Annotated[str, typer.Option("--fast", metavar="SPACE", help="Where it moves to, and back.")],
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
) -> ExitCode:
    """Try on a scratch schema of your own server what the connector claims, and write a page of what was seen."""
    from agent.prove.claims import Result
    from agent.prove.run import Order
    from agent.prove.run import prove as run_proof
    from agent.prove.script import script_of
    from connectors.proving.proof import Scratch

    proof = _proof(session, engine)
    script = script_of(proof, Scratch(schema=schema, slow=slow, fast=fast))
    if session.config.dry_run:
        _list(session, script)
        session.out.note(f"nothing was sent: dry_run is on in {session.config_path}")
        session.out.document({**_script_document(script), "dry_run": True})
        return ExitCode.OK
    if digest is not None and not (len(digest) >= DIGEST_SHOWN and script.digest.startswith(digest)):
        raise CommandError(
            f"the statements have the digest {short_digest(script.digest)}, not {digest}",
            code=ExitCode.REFUSED, advice="Look at them again with dry_run: true.",
        )  # fmt: skip
    if not yes and (not interactive() or session.out.as_json):
        raise CommandError(
            "prove asks before it makes or moves anything, and there is no terminal to ask on",
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


def _list(session: Session, script: Script) -> None:
    out = session.out
    out.heading(f"statements in {script.scratch.schema}, digest {short_digest(script.digest)}")
    for what, statement in script.statements():
        out.line(f"-- {what}")
        for line in statement.splitlines():
            out.line(line)
        out.line()


def _script_document(script: Script) -> dict[str, object]:
    statements = [{"for": what, "sql": sql} for what, sql in script.statements()]
    return {"schema": script.scratch.schema, "digest": script.digest, "statements": statements}


def _may_begin(session: Session, script: Script, *, yes: bool) -> bool:
    _list(session, script)
    count = sum(1 for _ in script.statements())
    return yes or session.out.ask(f"Send these {count} statements, digest {short_digest(script.digest)}?")


def _may_move(session: Session, number: int, proposal: Proposal, *, yes: bool) -> bool:
    out = session.out
    out.heading(f"proposal {number}, digest {short_digest(proposal.digest)}")
    print_moves(out, proposal.moves)
    print_statements(out, proposal.moves)
    return yes or out.ask(f"Carry out {count_of_moves(proposal.moves)}, {format_bytes(proposal.bytes_moved)} in all?")


def tell(session: Session, page: Page, output: Path | None) -> None:
    """Write the page, and print what of it was not seen."""
    from agent.prove.claims import Result
    from agent.prove.page import count, document, markdown_of

    found = document(page)
    if output is not None:
        text = (
            json.dumps(found, indent=1, ensure_ascii=False) + "\n" if output.suffix == ".json" else markdown_of(found)
        )
        output.write_text(text, encoding="utf-8")
    out = session.out
    out.heading(f"{page.title}: {', '.join(f'{number} {result}' for result, number in count(page.findings).items())}")
    out.table(
        COLUMNS,
        [(each.claim.code, str(each.result), each.evidence) for each in page.findings if each.result != Result.SEEN],
    )
    if output is not None:
        out.line(f"the page is in {output}")
    out.document(found)
