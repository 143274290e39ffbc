"""What an engine can do before hotplace has a login there: make its logins, and find a way that lets them in."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from pydantic import SecretStr

PASSWORD_BYTES = 24  # of chance


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


class SetUp(Protocol):
    """How the logins of an engine are made. Passwords are in no argument of a program and in no log."""

    @property
    def advice(self) -> str:
        """What to do where the server refuses every way."""
        ...

    def script(self, wanted: Wanted, texts: Mapping[str, str], passwords: Mapping[str, SecretStr]) -> str:
        """One script, in one transaction, that makes the logins with their rights.

        Args:
            wanted: what is to be set up.
            texts: scripts of privileges, by the name of their file.
            passwords: by login; what is derived from them stands in the script, not they themselves.
        """
        ...

    def program(self, wanted: Wanted, administrator: str, *, asks: bool) -> tuple[str, ...]:
        """Program with its arguments that runs the script from its standard input, whole or not at all.

        Args:
            wanted: what is to be set up.
            administrator: who may make logins; on this machine also a user of the system.
            asks: it may ask for a password on the terminal.
        """
        ...

    def ways(self, wanted: Wanted, login: str, password: SecretStr) -> Sequence[Tried]:
        """Every way that was tried, up to the first that let the login in."""
        ...


def new_password() -> SecretStr:
    """A password that cannot be guessed."""
    return SecretStr(secrets.token_urlsafe(PASSWORD_BYTES))


def best_way(tried: Sequence[Tried]) -> Tried | None:
    """The way that let the login in, else the first that asked for its password; None where all refused."""
    for admission in (LoginAnswer.IN, LoginAnswer.ASKED):
        for each in tried:
            if each.admission is admission:
                return each
    return None
