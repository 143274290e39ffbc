"""``fleet demo``: a fleet on this machine, from empty folders to the report."""

from __future__ import annotations

import time

from agent.cli.session import Session
from agent.cli.setting_up.demo import require_answer
from agent.demo.fleet.programs import require_ssh_keygen
from agent.demo.fleet.site import site
from agent.demo.fleet.story import fleet_story
from agent.terminal.exit_codes import ExitCode
from connectors.formatting import format_seconds


def show_demo(session: Session, *, yes: bool, slow_disk: bool) -> ExitCode:
    """Tell the story, and print how long it took."""
    require_answer(yes=yes)
    require_ssh_keygen()
    out, started = session.out, time.monotonic()
    out.note("starting four private PostgreSQL servers and building the schemas")
    with site(slow_disk=slow_disk) as built:
        out.line(built.storage_sentence)
        out.line(f"commands run in {built.folder}")
        with fleet_story(built, out, lambda question: yes or out.ask(question)) as story:
            ending = story.tell()
    seconds = time.monotonic() - started
    out.line()
    out.line(f"the demo took {format_seconds(seconds)}")
    out.document({**ending.document, "seconds": seconds})
    if not ending.approved:
        return ExitCode.REFUSED
    return ExitCode.OK if ending.good else ExitCode.MOVE_FAILED
