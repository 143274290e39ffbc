"""Does it work? ``demo``; for several databases ``demo --fleet``."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli.app import command
from agent.cli.commands import HelpGroup
from agent.cli.options import refuse
from agent.cli.session import Session, actor, interactive
from agent.terminal.errors import CommandError, ExitCode
from agent.terminal.output import Output
from connectors.model.formatting import format_seconds

if TYPE_CHECKING:  # it brings arrays and drivers
    from agent.demo.story import Ending


@command(HelpGroup.SET_UP, "hotplace demo --yes --json")
def demo(
    session: Session,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Approve the moves without being asked.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the cluster and say how to go on.")] = False,
    slow_disk: Annotated[
        bool, typer.Option("--slow-disk/--no-slow-disk", help="Give the hdd tablespace a real disk's service time.")
    ] = True,
    fleet: Annotated[
        bool, typer.Option("--fleet", help="Three databases with agents, a standby, one ledger and two people.")
    ] = False,
) -> ExitCode:
    """Run the main job on a private PostgreSQL, from an empty folder to a measured outcome."""
    require_answer(yes=yes)
    if fleet:
        refuse({"--keep": keep}, "it takes no --fleet")
        return _show_fleet(session, yes=yes, slow_disk=slow_disk)
    from agent.demo.stage import company, stage  # the driver and the embedded server come with an extra
    from agent.demo.story import DemoStory, print_event

    out = session.out
    started = time.monotonic()
    out.note("starting a private PostgreSQL and building the schema")
    with stage(slow_disk=slow_disk) as built:
        out.line(built.storage_sentence)
        with company(built, lambda event: print_event(out, event)) as players:
            story = DemoStory(built, players, out, approve=lambda question: yes or out.ask(question), who=actor().who)
            ending = story.tell()
        built.server.keep = keep
        if keep:
            _how_to_go_on(out, built.config_path, built.server.data, built.folder)
    return _end(out, ending, time.monotonic() - started)


def _show_fleet(session: Session, *, yes: bool, slow_disk: bool) -> ExitCode:
    """A fleet on this machine, from empty folders to the report; ``yes`` signs as both people."""
    from agent.demo.fleet_site import require_ssh_keygen, site
    from agent.demo.fleet_story import fleet_story

    require_ssh_keygen()
    out, started = session.out, time.monotonic()
    out.note("starting four private PostgreSQL servers and building the schemas")
    with site(slow_disk=slow_disk) as built:
        out.line(built.storage_sentence)
        out.line(f"commands run in {built.folder}")
        with fleet_story(built, out, lambda question: yes or out.ask(question)) as story:
            ending = story.tell()
    return _end(out, ending, time.monotonic() - started)


def _end(out: Output, ending: Ending, seconds: float) -> ExitCode:
    """Print how long it took and the document, and say by the exit code whether it went well."""
    out.line()
    out.line(f"the demo took {format_seconds(seconds)}")
    out.document(replace(ending.found, seconds=seconds))
    if not ending.approved:
        return ExitCode.REFUSED
    return ExitCode.OK if ending.good else ExitCode.MOVE_FAILED


def require_answer(*, yes: bool) -> None:
    """Check that the user who runs a demo agrees that it moves things, or can be asked.

    Raises:
        CommandError: there is no terminal to ask on.
    """
    if not yes and not interactive():
        raise CommandError(
            "the demo asks before it moves anything, and there is no terminal to ask on",
            code=ExitCode.REFUSED, advice="Run it on a terminal, or with --yes.",
        )  # fmt: skip


def _how_to_go_on(out: Output, config: Path, data: Path, folder: Path) -> None:
    program = Path(sys.executable).with_name("hotplace")
    out.heading("the cluster is kept; go on with")
    for arguments in ("status", "units", "plan --observe 10", "run", "history"):
        out.line(f"  {program} --config {config} {arguments}")
    out.line("and when you are done")
    out.line(f"  kill -QUIT $(head -n 1 {data / 'postmaster.pid'}); rm -rf {folder}")
