"""What every command has: the common options, the configuration, the ledger, a clock and its output."""

from __future__ import annotations

import os
import shlex
import socket
import sys
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from agent.terminal.output import Output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent.config.models import Config, DatabaseConfig
    from agent.ledger.ledger import Ledger
    from agent.service.heard import DaemonState
    from agent.service.watch import Watch
    from connectors.kit.contract import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options that every command takes, before its name or after it."""

    config: Path | None = None
    database: str | None = None
    as_json: bool = False
    debug: bool = False
    no_color: bool = False
    wide: bool = False


@dataclass(frozen=True, slots=True)
class Actor:
    """Who gives an order, and from where: for the audit chain."""

    who: str
    origin: str


class Session:
    """One command's run. Configuration and ledger are opened on first use and closed at the end."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.out = Output(as_json=options.as_json, no_color=options.no_color, wide=options.wide)
        self.only_reads = False  # the command makes no ledger where there is none: it reads an empty one
        self.within_daemon = False  # what asks is the daemon itself, not a command next to it
        self._open = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    @cached_property
    def clock(self) -> Clock:
        """The time of this machine."""
        from agent.model.clock import SystemClock

        return SystemClock()

    @cached_property
    def config_path(self) -> Path:
        """The configuration file.

        Raises:
            ConfigError: there is none.
        """
        from agent.config.files import find_config

        return find_config(self.options.config)

    @cached_property
    def config(self) -> Config:
        """The whole configuration.

        Raises:
            ConfigError: it is missing or wrong.
        """
        from agent.config.files import load

        return load(self.config_path)

    @cached_property
    def database(self) -> DatabaseConfig:
        """The database that --database names, or the only one.

        Raises:
            ConfigError: it is not configured, or there are several to choose from.
        """
        found = self.config.database(self.options.database)
        for name in ("ledger", "existing_ledger"):
            if name in self.__dict__:
                refuse_unseen(self.__dict__[name], [found.name])
        return found

    @cached_property
    def databases(self) -> tuple[DatabaseConfig, ...]:
        """The database that --database names, or all.

        Raises:
            ConfigError: it is not configured.
        """
        return (self.database,) if self.options.database else self.config.databases

    @cached_property
    def ledger(self) -> Ledger:
        """The durable record.

        Raises:
            LedgerError: it is damaged, busy or cannot be opened.
        """
        return self._open_ledger(create=True) if self._may_create() else self._empty_ledger()

    @cached_property
    def existing_ledger(self) -> Ledger:
        """The durable record, for commands whose answer would be worthless from a new one.

        Raises:
            LedgerError: there is none, or it is damaged, busy or cannot be opened.
        """
        return self._open_ledger(create=False)

    def _may_create(self) -> bool:
        """Whether the command may make a ledger, or need not."""
        from agent.ledger.store.opening import anchor_file_of

        place = self.config.ledger
        if not self.only_reads or not isinstance(place.place, Path):
            return True
        path = place.place.expanduser()
        return not (_is_missing(path) and _is_missing(anchor_file_of(path, place.anchors).path))

    def _empty_ledger(self) -> Ledger:
        """One that ends with the command: root's look at a service that never ran leaves no file behind."""
        from tempfile import TemporaryDirectory

        from agent.ledger.ledger import Ledger

        folder = self._open.enter_context(TemporaryDirectory(prefix="hotplace-"))
        ledger = Ledger.open(Path(folder) / "ledger.db", self.clock)
        self._open.callback(ledger.close)
        return ledger

    def _open_ledger(self, *, create: bool) -> Ledger:
        from agent.ledger.chain.signed import ApprovalRule
        from agent.ledger.ledger import Ledger

        config = self.config
        place, rule = config.ledger, ApprovalRule.of(config.signers, config.approvals, automatic=config.automatic)
        ledger = Ledger.open(place.place, self.clock, create=create, anchors=place.anchors, rule=rule)
        self._open.callback(ledger.close)
        if "database" in self.__dict__:
            refuse_unseen(ledger, [self.database.name])
        elif "databases" in self.__dict__:
            refuse_unseen(ledger, [database.name for database in self.databases])
        return ledger

    def of(self, database: DatabaseConfig, out: Output) -> Session:
        """The same run for one of its databases, printing elsewhere; closed with this one."""
        part = Session(replace(self.options, database=database.name))
        part.out, part.config_path, part.config = out, self.config_path, self.config
        part.ledger, part.clock = self.ledger, self.clock
        return part

    def watch(self, *, asks_mover: bool = False) -> Watch:
        """The database with nothing that could write: a dry run. The caller closes it.

        Args:
            asks_mover: with ``dry_run: false`` the account that moves is asked too, what it may and what it sees.

        While a daemon watches the database nothing of what this one learns or plans takes the place of what that knows.
        """
        from agent.config.models import Level
        from agent.service.watch import Watch

        return Watch(
            self.database, self.ledger, self.clock, level=Level.PROPOSE,
            dry_run=self.config.dry_run or not asks_mover, asked_by=actor().who,
            may_store=lambda: not self.daemon().alive,
        )  # fmt: skip

    def daemon(self) -> DaemonState:
        """What the ledger tells of the daemon of the database."""
        from agent.service.heard import daemon_of

        return daemon_of(self.ledger, self.database, self.clock.now())


def unseen(ledger: Ledger, databases: Sequence[str]) -> tuple[str, ...]:
    """Which of these databases the login may not see, where the ledger is divided among teams."""
    owned = ledger.owned_databases() if ledger.is_shared else None
    return () if owned is None else tuple(name for name in databases if name not in owned)


def refuse_unseen(ledger: Ledger, databases: Sequence[str]) -> None:
    """Refuse to tell of databases that the login may not see: an empty answer would be taken for a fact.

    Raises:
        CommandError: it may see none of them.
    """
    if not databases or len(unseen(ledger, databases)) < len(databases):
        return
    from agent.terminal.errors import CommandError, ExitCode

    names = ", ".join(databases)
    raise CommandError(
        f"this login may not see {names}: nothing is known of it here ({ledger.name})",
        code=ExitCode.NOT_ALLOWED,
        advice="Make it a member of the team that owns it: "
        f"hotplace ledger grants --team TEAM={shlex.quote(databases[0])}",
    )


def actor() -> Actor:
    """The user of the operating system, the one behind sudo included, and the terminal or process."""
    from agent.ledger.ledger import user_name

    user, behind = user_name(), os.environ.get("SUDO_USER")
    who = f"{user} (sudo by {behind})" if behind and behind != user else user
    return Actor(who=who, origin=f"{socket.gethostname()} {_terminal() or f'pid {os.getpid()}'}")


def _is_missing(path: Path) -> bool:
    """Whether there is no such file; not where the folder must not be looked into: opening it says so."""
    try:
        path.lstat()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False


def interactive() -> bool:
    """Whether a person can be asked."""
    return sys.stdin.isatty()


def _terminal() -> str:
    try:
        return os.ttyname(sys.stdin.fileno())
    except (OSError, ValueError):  # not a terminal, or no descriptor at all
        return ""
