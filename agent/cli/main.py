"""The ``hotplace`` command: the modules of commands that a command line names, or all of them for the help.

Whoever watches a database for months need not hold what draws reports and demonstrations in memory.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import TextIO

import typer

from agent.cli.app import app as frame
from agent.terminal.exit_codes import ExitCode
from connectors.interruptible import left_behind

# Commands of each module of this package. Importing a module registers them; this is the order of the help.
COMMANDS = {
    "setting_up.demo": ("demo",),
    "setting_up.init": ("init", "doctor"),
    "setting_up.deploy": ("deploy",),
    "moving.run": ("run", "status"),
    "looking.units": ("units", "explain"),
    "planning.plan": ("plan",),
    "looking.top": ("top",),
    "planning.balance": ("balance",),
    "planning.sizing": ("sizing",),
    "planning.simulate": ("simulate",),
    "storage.containers": ("containers",),
    "deciding.proposals": ("proposals", "show"),
    "deciding.approve": ("approve", "reject", "strike"),
    "deciding.undo": ("undo",),
    "moving.requests": ("pause", "resume", "cancel"),
    "planning.pins": ("pin", "unpin", "pins"),
    "storage.closing": ("close", "reopen"),
    "planning.trace": ("trace", "check"),
    "looking.history": ("history", "outcomes", "audit"),
    "deciding.report": ("report",),
}


def whole_app() -> typer.Typer:
    """The command line with every command."""
    return app_for(())


def app_for(arguments: Sequence[str]) -> typer.Typer:
    """The command line with the commands that some arguments may mean; with all where they name none."""
    named = [module for module, commands in COMMANDS.items() if set(commands) & set(arguments)]
    for module in named or COMMANDS:
        import_module(f"agent.cli.{module}")
    return frame


def main() -> None:
    """Run the command line of this process; ends it with one of ``agent.terminal.exit_codes.ExitCode``."""
    for stream in (sys.stdout, sys.stderr):
        _never_fail_to_encode(stream)
    try:
        app_for(sys.argv[1:])()
    except SystemExit as end:
        if left_behind():
            _end_at_once(end)
        raise


def _end_at_once(end: SystemExit) -> None:
    """Leave without the libraries' leave: Db2's would wait for an attempt to connect that Ctrl-C has given up."""
    with suppress(OSError):  # nobody reads any more
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(end.code if isinstance(end.code, int) else ExitCode.INTERRUPTED)


def _never_fail_to_encode(stream: TextIO) -> None:
    """Show what the terminal's encoding lacks as an escape: a name with an umlaut is no reason to stop."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
