"""The documents that commands print with ``--json``, made within the daemon for whoever asks over HTTP.

The command's own function runs, with an output that keeps its document: what is served is what is printed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module

import typer

from agent.cli.commands import COMMANDS
from agent.cli.session import Options, Session
from agent.config import Config
from agent.ledger import Ledger
from agent.terminal.errors import CommandError
from agent.terminal.exit_codes import ExitCode
from agent.terminal.output import Output
from connectors.base import Clock

# Of documents that an option of a command asks for: its module and the function that the option leads to.
FUNCTIONS = {"audit": ("looking.history", "list_audit"), "pins": ("planning.pins", "list_pins")}


class _Kept(Output):
    """Output that keeps the document and prints nothing."""

    def __init__(self) -> None:
        super().__init__(as_json=True, no_color=True)
        self.kept: object = {}

    def document(self, answer: object) -> None:
        """Keep it."""
        self.kept = answer

    def note(self, text: str) -> None:
        """Say nothing: no person is at a terminal."""


class ServedDocuments:
    """Runs commands that read. Each call has a session of its own; the ledger is the daemon's."""

    def __init__(self, config: Callable[[], Config], ledger: Ledger, clock: Clock) -> None:
        """Wire it up; ``config`` is the one in use now."""
        self._config = config
        self._ledger = ledger
        self._clock = clock

    def __call__(self, command: str, given: Mapping[str, str | int]) -> object:
        """One document.

        Args:
            command: a name of the table of commands, or of ``FUNCTIONS``.
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


def _function(document: str) -> Callable[..., object]:
    """The function that prints a document, without the common options of its command."""
    name, called = FUNCTIONS.get(document) or (COMMANDS[document].module, document)
    function: Callable[..., object] = inspect.unwrap(getattr(import_module(f"agent.cli.{name}"), called))
    return function
