"""How do I begin, is everything in place, and would anyone hear of it? ``init``, ``doctor``, ``notify test``."""

from __future__ import annotations

import os
import shlex
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from agent.cli.app import app, command
from agent.cli.commands import HelpGroup
from agent.cli.session import Session
from agent.config.models import NoticeConfig, NoticeEvent
from agent.config.sample import sample, short_sample
from agent.ledger.errors import LedgerError
from agent.model.answers.setup import (
    ChannelsTried,
    ChannelTried,
    Checkup,
    ConfigurationWritten,
    DatabaseChecked,
    FindingShown,
)
from agent.service.channels import Notice, send
from agent.service.doctor import examine, examine_machine
from agent.terminal.columns import Column
from agent.terminal.errors import CommandError, ExitCode, exists_already, not_written
from agent.terminal.output import Output
from connectors.kit.contract import HotplaceError
from connectors.kit.findings import Finding, Severity
from connectors.kit.registry import engine_names

WORST_FIRST = (Severity.ERROR, Severity.WARNING, Severity.INFO, Severity.OK)
LEDGER_ONLY = "ledger"  # in place of a database, where none is configured
MARKS = {Severity.OK: "ok", Severity.INFO: "info", Severity.WARNING: "WARNING", Severity.ERROR: "ERROR"}


@command(HelpGroup.SET_UP, "hotplace init --engine postgresql --output hotplace.yaml")
def init(
    session: Session,
    engine: Annotated[
        str, typer.Option(help=f"Kind of database: {', '.join(engine_names())}.", metavar="ENGINE")
    ] = "postgresql",
    output: Annotated[Path, typer.Option(help="File to write.")] = Path("hotplace.yaml"),
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file if it exists.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Every key, with its default and what it is for.")] = False,
) -> None:
    """Write a configuration to start from, readable by you only; `hotplace setup` asks and fills it in."""
    text = sample(engine) if full else short_sample(engine)
    write_private(output, text, force=force)
    written = ConfigurationWritten(path=str(output.absolute()), engine=engine, mode="0600")
    session.out.line(f"{output} written for {written.engine}, mode {written.mode}")
    session.out.line(f"next: say in it which spaces are fast and which slow, then: hotplace --config {output} doctor")
    session.out.line(
        "only one kind of storage yet? leave the other tier without spaces; hotplace sizing takes it as planned"
    )
    session.out.document(written)


def write_private(path: Path, text: str, *, force: bool) -> None:
    """Write the whole file or nothing, mode 0600, never over an existing one unless forced."""
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        try:
            if force:
                Path(temporary).replace(path)
            else:
                os.link(temporary, path)
        finally:
            Path(temporary).unlink(missing_ok=True)
    except FileExistsError as error:
        raise exists_already([path]) from error
    except OSError as error:
        advice = "Name a file in a folder that exists and that you may write to with --output."
        raise not_written(path, error, advice) from error


@command(HelpGroup.SET_UP, "hotplace doctor")
def doctor(
    session: Session,
    bundle: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write an archive (.tar.gz) for support, without secrets.")
    ] = None,
    log: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="With --bundle: a log of the daemon, where the system's log has none."),
    ] = None,
    has_room: Annotated[
        list[str] | None,
        typer.Option(metavar="SPACE", help="Where a move found no room you have made some: moves may go there again."),
    ] = None,
) -> ExitCode:
    """Check connection, privileges, settings, tiers and room, each with what mends it."""
    checkup = check(session, bundle, log or [])
    for space in has_room or ():
        _believe_room(session, space, checkup)
    session.out.document(checkup)
    return ExitCode.OK if checkup.ok else ExitCode.NOT_ALLOWED


def check(session: Session, bundle: Path | None = None, logs: Sequence[Path] = ()) -> Checkup:
    """Examine every database, print what was found, and write the archive for support where one is wanted."""
    found, seconds = {}, {}
    for database in session.databases:
        began = time.monotonic()
        found[database.name] = examine(session.config, database, session.clock)
        seconds[database.name] = time.monotonic() - began
    if not session.databases:  # where people only decide
        found[LEDGER_ONLY] = examine_machine(session.config)
    checkup = Checkup(
        ok=all(finding.severity is not Severity.ERROR for findings in found.values() for finding in findings),
        databases=tuple(DatabaseChecked(database=name, findings=_show_findings(each)) for name, each in found.items()),
        bundle=None if bundle is None else str(bundle.absolute()),
    )
    for checked in checkup.databases:
        engines = [each.engine for each in session.databases if each.name == checked.database]
        name = f"{checked.database} ({engines[0]})" if engines else checked.database
        session.out.heading(f"{name}: {_summary(checked.findings)}")
        _print_findings(session.out, checked.findings)
    session.out.line()
    ready = "ready: hotplace run" if session.databases else "ready: hotplace proposals --all"
    session.out.line(ready if checkup.ok else "something has to be mended first")
    if bundle is not None:
        _write_bundle(session, bundle, found, seconds, logs)
    return checkup


def _believe_room(session: Session, space: str, checkup: Checkup) -> None:
    """Let moves go to a space again that was found full, unless the trial of this checkup found no room there either.

    Raises:
        CommandError: it was not found full, or still is.
    """
    from agent.planning.full_spaces import forget_full

    for checked in checkup.databases:
        refused = (each for each in checked.findings if each.code == "move_refused")
        if found := next((each for each in refused if each.values.get("space") == space), None):
            raise CommandError(f"{space} is still not used: {found.sentence}", code=ExitCode.REFUSED)
    named = [each.name for each in session.databases]
    if not [name for name in named if forget_full(session.ledger, name, space)]:
        raise CommandError(f"no move has found {space} full", code=ExitCode.REFUSED, advice="See: hotplace status.")
    session.out.line(f"{space} counts as having room: moves may go there from the next plan on")


def _write_bundle(
    session: Session,
    path: Path,
    found: Mapping[str, Sequence[Finding]],
    seconds: Mapping[str, float],
    logs: Sequence[Path],
) -> None:
    """Write the archive for support; without a ledger it has less in it.

    Raises:
        CommandError: the file exists, or cannot be written.
    """
    from agent.service.support import make_bundle

    try:
        ledger = session.existing_ledger
    except LedgerError:
        # A bundle is made to find out what is wrong, perhaps with the ledger: the rest of it goes without.
        ledger = None
    made = make_bundle(session.config, ledger, found, seconds, logs)
    try:
        made.write(path)
    except FileExistsError as error:
        raise CommandError(f"{path} exists already", code=ExitCode.REFUSED, advice="Name another file.") from error
    except OSError as error:
        raise not_written(path, error, "Name a file in a folder that you may write to.") from error
    session.out.line(f"{path} written, mode 0600: {', '.join(sorted(made.members))}; read it before you send it")
    for name, why in made.absent.items():
        session.out.line(f"without {name}: {why}")


def _summary(findings: Sequence[FindingShown]) -> str:
    """How many findings of each severity, the worst first."""
    counts = Counter(finding.severity for finding in findings)
    return ", ".join(f"{counts[severity]} {MARKS[severity]}" for severity in WORST_FIRST if counts[severity])


def _print_findings(out: Output, findings: Sequence[FindingShown]) -> None:
    """What is wrong comes first; what mends it stands below."""
    findings = sorted(findings, key=lambda finding: WORST_FIRST.index(finding.severity))
    out.table(
        (Column(""), Column("check"), Column("finding")), [(MARKS[f.severity], f.code, f.sentence) for f in findings]
    )
    remedies = dict.fromkeys(
        (f.code, f.remedy, f.gives_away) for f in findings if f.remedy and f.severity is not Severity.OK
    )
    for code, remedy, gives_away in remedies:
        out.line(f"{code}: {remedy}")
        if gives_away:
            out.line(f"  this gives away: {gives_away}")


def _show_findings(findings: Sequence[Finding]) -> tuple[FindingShown, ...]:
    return tuple(
        FindingShown(
            severity=finding.severity,
            code=finding.code,
            sentence=finding.sentence,
            remedy=finding.remedy or None,
            remedy_kind=finding.mends.kind if finding.remedy else None,
            gives_away=finding.mends.gives or None,
            values=finding.values,
        )
        for finding in findings
    )


notify = typer.Typer(no_args_is_help=True, epilog="Example: hotplace notify test")
app.add_typer(
    notify,
    name="notify",
    help="Try the channels of notices: webhooks, mail, programs.",
    rich_help_panel=HelpGroup.SET_UP,
)


@command(HelpGroup.SET_UP, "hotplace notify test --channel on-call", name="test", of=notify)
def send_trial(
    session: Session,
    channel: Annotated[str, typer.Option(metavar="NAME", help="This channel only.", show_default=False)] = "",
) -> ExitCode:
    """Send one message over each channel of the configuration, and say which were taken."""
    notice = _trial(session)
    tried = [ChannelTried(channel=each.name, problem=_try(each, notice)) for each in _chosen(session, channel)]
    for each in tried:
        session.out.line(f"{each.channel}: {each.problem or 'taken'}", style="bold red" if each.problem else "")
    session.out.document(ChannelsTried(channels=tuple(tried)))
    return ExitCode.NOT_SENT if any(each.problem for each in tried) else ExitCode.OK


def _chosen(session: Session, name: str) -> list[NoticeConfig]:
    """The channels to try.

    Raises:
        CommandError: none is configured, or none of that name.
    """
    channels = session.config.notices
    chosen = [each for each in channels if name in {"", each.name}]
    if not chosen:
        known = ", ".join(each.name for each in channels)
        raise CommandError(
            f"no channel is named {name!r}; configured: {known}" if known else "no channel for notices is configured",
            code=ExitCode.CONFIGURATION,
            advice=f"Add it under notices in {session.config_path}; `hotplace init --full` shows how.",
        )
    return chosen


def _trial(session: Session) -> Notice:
    database = next((each.name for each in session.config.databases), "DATABASE")
    return Notice(
        key="test", event=NoticeEvent.PROPOSAL, database=database, at=session.clock.now(),
        sentence="this is a test of hotplace's notices: a real one names the database and what happened",
        command=f"hotplace status --database {shlex.quote(database)}",
    )  # fmt: skip


def _try(channel: NoticeConfig, notice: Notice) -> str | None:
    """What went wrong; None where it was taken."""
    try:
        send(channel, [notice])
    except HotplaceError as error:
        return str(error)
    return None
