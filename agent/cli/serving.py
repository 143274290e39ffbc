"""The documents that commands print with ``--json``, made within the daemon for whoever asks over HTTP.

The command's own function runs, with an output that keeps its document: what is served is what is printed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import typer

from agent.cli.commands import COMMANDS
from agent.cli.session import Options, Session
from agent.config import Config
from agent.ledger import Ledger
from agent.terminal.errors import CommandError
from agent.terminal.exit_codes import ExitCode
from agent.terminal.output import Output
from connectors.base import Clock

FUNCTIONS = {"audit": "list_"}  # of commands whose function has another name


class _Kept(Output):
    """Output that keeps the document and prints nothing."""

    def __init__(self) -> None:
        super().__init__(as_json=True, no_color=True)
        self.kept: Mapping[str, Any] = {}

    def document(self, document: Mapping[str, Any]) -> None:
        """Keep it."""
        self.kept = document

    def note(self, text: str) -> None:
        """Say nothing: no person is at a terminal."""


class ServedDocuments:
    """Runs commands that read. Each call has a session of its own; the ledger is the daemon's."""

    def __init__(self, config: Callable[[], Config], ledger: Ledger, clock: Clock) -> None:
        """Wire it up; ``config`` is the one in use now."""
        self._config = config
        self._ledger = ledger
        self._clock = clock

    def __call__(self, command: str, given: Mapping[str, str | int]) -> Mapping[str, Any]:
        """The document of one command.

        Args:
            command: a name of the table of commands.
            given: arguments of its function, and ``database``.

        Raises:
            HotplaceError: as the command itself would.
        """
        arguments = dict(given)
        database = arguments.pop("database", None)
        session = Session(Options(database=None if database is None else str(database), as_json=True))
        session.out = out = _Kept()
        session.within_daemon = True
        session.config, session.clock = self._config(), self._clock
        session.ledger = session.existing_ledger = self._ledger
        try:
            _function(command)(session, **arguments)
        except typer.BadParameter as error:
            raise CommandError(error.message, code=ExitCode.USAGE) from error
        return out.kept


def _function(command: str) -> Callable[..., object]:
    """The function behind a command, without its common options."""
    module = import_module(f"agent.cli.{COMMANDS[command].module}")
    function: Callable[..., object] = inspect.unwrap(getattr(module, FUNCTIONS.get(command, command)))
    return function
