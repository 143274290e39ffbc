"""What an engine can do before hotplace has a login there: make its logins, and find a way that lets them in."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

from pydantic import SecretStr

from connectors.kit.contract import (
    AuthenticationFailed,
    CannotConnect,
    Clock,
    Connector,
    ConnectorError,
    DriverMissing,
    HotplaceError,
)
from connectors.kit.settings import SecretSource

PASSWORD_BYTES = 21  # of chance; 28 characters, as Oracle takes 30 bytes
KINDS_OF_CHARACTERS = ("[A-Z]", "[a-z]", "[0-9]", "[-_]")  # of each one at least: policies of passwords ask for them


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be set up on one server."""

    host: str = ""  # "": this machine
    port: int = 0  # 0: the engine's usual one
    databases: tuple[str, ...]
    watcher: str  # login that watches
    mover: str = ""  # login that moves; "": none
    owners: tuple[str, ...] = ()  # of the objects that it may move
    spaces: tuple[str, ...] = ()  # that it may move them to, the slow ones too
    certificate: str = ""  # path of the certificate that signed the server's; "": none is given
    replaces: bool = False  # logins that exist get a new password

    @property
    def logins(self) -> tuple[str, ...]:
        """Every login, the one that watches first."""
        return (self.watcher, self.mover) if self.mover else (self.watcher,)


class LoginAnswer(StrEnum):
    """What the server did with a login."""

    IN = "in"  # it was let in
    ASKED = "asked"  # its password was asked for, and is not the right one, or there is no such login yet
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """A way to a server, and what came of it."""

    settings: Mapping[str, Any]  # of `connection:`, without user and password
    admission: LoginAnswer
    how: str  # in words: by which authentication, encrypted or not; where it was refused, the server's words


class NotPlain(HotplaceError):
    """A name that would need quotes, which the script of this engine has none for."""


class SetUp(Protocol):
    """How the logins of an engine are made. Passwords are in no argument of a program and in no log."""

    @property
    def advice(self) -> str:
        """What to do where the server refuses every way."""
        ...

    @property
    def administrator(self) -> str:
        """Who usually may make logins."""
        ...

    @property
    def needs_host(self) -> bool:
        """Whether the host must be named: such a server is on another machine, as a rule."""
        ...

    @property
    def makes_logins(self) -> bool:
        """Whether the script makes the logins; False: they are users of the server's system, made there."""
        ...

    @property
    def before_it_runs(self) -> str:
        """What a person has to know of the script; "": nothing."""
        ...

    def script(self, wanted: Wanted, texts: Mapping[str, str], passwords: Mapping[str, SecretStr]) -> str:
        """One script that makes the logins with their rights.

        Args:
            wanted: what is to be set up.
            texts: scripts of privileges, by the name of their file.
            passwords: by login.

        Raises:
            NotPlain: a name cannot be put into it.
        """
        ...

    def command(self, wanted: Wanted, administrator: str, script: str) -> str:
        """What a person types to run the script of that path."""
        ...

    def ways(self, wanted: Wanted, login: str, password: SecretSource, clock: Clock) -> Sequence[Tried]:
        """Every way that was tried, up to the first that let the login in."""
        ...


@runtime_checkable
class RunsScript(Protocol):
    """A set-up whose script a client runs whole or not at all; of any other engine a person runs it."""

    def program(self, wanted: Wanted, administrator: str, *, asks: bool) -> tuple[str, ...]:
        """Program with its arguments that runs the script from its standard input, whole or not at all.

        Args:
            wanted: what is to be set up.
            administrator: who may make logins; on this machine also a user of the system.
            asks: it may ask for a password on the terminal.
        """
        ...


def try_ways(candidates: Iterable[tuple[Mapping[str, Any], str]], connect: Callable[..., Connector]) -> list[Tried]:
    """Try ways to a server through an engine's own connector, up to the first that lets the login in.

    Args:
        candidates: settings of each way without user and password, and in words how it lets in; the safest first.
        connect: makes a connector of such settings.
    """
    tried = []
    for settings, how in candidates:
        tried.append(_try(settings, how, connect))
        if tried[-1].admission is LoginAnswer.IN:
            break
    return tried


def _try(settings: Mapping[str, Any], how: str, connect: Callable[..., Connector]) -> Tried:
    try:
        connector = connect(settings)
        try:
            connector.identify()
        finally:
            connector.close()
    except AuthenticationFailed as error:
        return Tried(settings=settings, admission=LoginAnswer.ASKED, how=str(error))
    except (CannotConnect, DriverMissing) as error:
        said = f"{error} ({error.advice})" if error.advice else str(error)
        return Tried(settings=settings, admission=LoginAnswer.REFUSED, how=said)
    except ConnectorError:  # it was let in, and lacks a right: doctor says which
        pass
    return Tried(settings=settings, admission=LoginAnswer.IN, how=how)


def require_plain(names: Iterable[str], pattern: re.Pattern[str]) -> None:
    """Refuse names that a script has no quotes for.

    Raises:
        NotPlain: one of them; it is named.
    """
    for name in names:
        if not pattern.fullmatch(name):
            raise NotPlain(
                f"the name {name!r} would need quotes, which the scripts of this engine have none for",
                advice="Edit the scripts of `hotplace deploy privileges` for such a name, and run them by hand.",
            )


def new_password() -> SecretStr:
    """A password that cannot be guessed, with characters of each kind that a policy may ask for."""
    while True:
        made = secrets.token_urlsafe(PASSWORD_BYTES)
        if all(re.search(kind, made) for kind in KINDS_OF_CHARACTERS):
            return SecretStr(made)


def best_way(tried: Sequence[Tried]) -> Tried | None:
    """The way that let the login in, else the first that asked for its password; None where all refused."""
    for admission in (LoginAnswer.IN, LoginAnswer.ASKED):
        for each in tried:
            if each.admission is admission:
                return each
    return None
