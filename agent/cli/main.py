"""The ``hotplace`` command. It imports the module of the command that is run, and no other."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, TextIO

from agent.cli.completion.answer import VARIABLE, answer

if TYPE_CHECKING:
    import typer


def whole_app() -> typer.Typer:
    """The command line with every command's module imported: for reference pages and tests."""
    from agent.cli.app import app
    from agent.cli.commands import COMMANDS

    for listed in COMMANDS.values():
        import_module(f"agent.cli.{listed.module}")
    return app


def main() -> None:
    """Run the command line of this process; ends it with one of ``agent.terminal.exit_codes.ExitCode``."""
    if VARIABLE in os.environ and answer(os.environ):
        return
    _run()


def _run() -> None:
    """Everything but completed values, which a person waits for at each press of a key."""
    from agent.cli.garbage import collect_no_more, collect_seldom

    collect_seldom()  # before all else is imported, which makes most objects
    # Else pydantic reads the metadata of every installed package for plugins, which would run within ours.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")
    from agent.cli.app import app
    from connectors.sessions.interruptible import left_behind

    for stream in (sys.stdout, sys.stderr):
        _never_fail_to_encode(stream)
    try:
        app()
    except SystemExit as end:
        if left_behind():
            _end_at_once(end)
        raise
    finally:
        collect_no_more()


def _end_at_once(end: SystemExit) -> None:
    """Leave without the libraries' leave: Db2's would wait for an attempt to connect that Ctrl-C has given up."""
    from agent.terminal.exit_codes import ExitCode

    with suppress(OSError):  # the reader of the pipe has gone
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(end.code if isinstance(end.code, int) else ExitCode.INTERRUPTED)


def _never_fail_to_encode(stream: TextIO) -> None:
    """Show what the terminal's encoding lacks as an escape: a name with an umlaut is no reason to stop."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
