"""The ``hotplace`` command. It imports the module of the command that is run, and no other.

When Python looks for garbage: seldom in a command, which ends soon; as usual in the daemon.

What a command imports stays until it ends. To look through all of it again and again, and once more at the end, takes
a fifth of the processor time of a command that reads the ledger.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from agent.cli.completion import VARIABLE, answer

if TYPE_CHECKING:
    import typer


USUAL = gc.get_threshold()
SELDOM = (200_000, *USUAL[1:])  # objects that are made before young ones are looked through: a few tens of megabytes


def collect_seldom() -> None:
    """For a command."""
    gc.set_threshold(*SELDOM)


def collect_as_usual() -> None:
    """For what runs on."""
    gc.set_threshold(*USUAL)


def collect_no_more() -> None:
    """At the end: the system takes back all memory at once."""
    gc.freeze()


def keep_interrupts() -> None:
    """Let no Ctrl-C be lost: where it meets a callback of the garbage collector Python prints it and goes on.

    It is sent once more, a moment later.
    """
    usual = sys.unraisablehook

    def hook(found: sys.UnraisableHookArgs) -> None:
        if not issubclass(found.exc_type, KeyboardInterrupt):
            usual(found)
            return
        again = threading.Timer(0.05, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
        again.daemon = True
        again.start()

    sys.unraisablehook = hook


def whole_app() -> typer.Typer:
    """The command line with every command's module imported: for reference pages and tests."""
    from agent.cli.app import app
    from agent.cli.commands import COMMANDS

    for listed in COMMANDS.values():
        import_module(f"agent.cli.{listed.module}")
    return app


def main() -> None:
    """Run the command line of this process; ends it with one of ``agent.terminal.errors.ExitCode``."""
    if VARIABLE in os.environ and answer(os.environ):
        return
    from agent.cli.commands import hold_reloads

    hold_reloads()
    keep_interrupts()
    _run()


def _run() -> None:
    """Everything but completed values, which a person waits for at each press of a key."""
    collect_seldom()  # before all else is imported, which makes most objects
    # Else pydantic reads the metadata of every installed package for plugins, which would run within ours.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")
    from agent.cli.app import app
    from connectors.kit.sessions import left_behind

    sys.stdout, sys.stderr = sys.stdout or _nowhere(), sys.stderr or _nowhere()
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


def _nowhere() -> TextIO:
    """In place of a stream that was closed before we began, which Python has as None: ``hotplace status >&-``."""
    return Path(os.devnull).open("w", encoding="utf-8")


def _end_at_once(end: SystemExit) -> None:
    """Leave without the libraries' leave: Db2's would wait for an attempt to connect that Ctrl-C has given up."""
    from agent.terminal.errors import ExitCode

    with suppress(OSError):  # the reader of the pipe has gone
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(end.code if isinstance(end.code, int) else ExitCode.INTERRUPTED)


def _never_fail_to_encode(stream: TextIO) -> None:
    """Show what the terminal's encoding lacks as an escape: a name with an umlaut is no reason to stop."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
