"""The one place that knows python-oracledb from its predecessor cx_Oracle, and thin mode from thick.

Everything else uses what both have: ``connect``, cursors, ``cancel``, the session's names. cx_Oracle needs Oracle's
client libraries always, python-oracledb in thick mode only. Thin mode reaches 12.1 and later; 11.2 needs thick mode
with client 19 or older, and a python-oracledb before 4 is what its makers test with that.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType, TracebackType
from typing import Any, Protocol, Self, cast

from connectors.base import DriverMissing
from connectors.installing import install_command
from connectors.oracle.settings import OracleSettings

MODERN, LEGACY = "oracledb", "cx_Oracle"
NO_CALL_LIMIT = "DPI-1050"
_CODE = re.compile(r"\b((?:ORA|DPY|DPI|TNS)-\d{4,5})\b")
_THICK_ADVICE = "Install Oracle Instant Client, name its folder in client_library, or use driver: thin."


class Cursor(Protocol):
    """What is used of a cursor (PEP 249)."""

    arraysize: int

    def execute(self, statement: str, values: Mapping[str, object] | None = None, /) -> object:
        """Send one statement, values bound by name."""
        ...

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Every row that is left."""
        ...

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Connection(Protocol):
    """What is used of a connection, and both drivers have."""

    autocommit: bool
    module: str
    action: str
    client_identifier: str

    def cursor(self) -> Cursor:
        """A new cursor."""
        ...

    def rollback(self) -> None:
        """End the transaction."""
        ...

    def cancel(self) -> None:
        """Break the running call; safe from another thread."""
        ...

    def ping(self) -> None:
        """One round trip."""
        ...

    def close(self) -> None:
        """End the session."""
        ...


@dataclass(frozen=True, slots=True)
class Driver:
    """A loaded driver module."""

    module: Any
    thin: bool

    @property
    def error(self) -> type[Exception]:
        """Root of what the driver raises."""
        kind: type[Exception] = self.module.Error
        return kind

    def connect(self, settings: OracleSettings) -> Connection:
        """A new connection; raises what the driver raises, whose cause may hold the arguments."""
        arguments = settings.connect_arguments()
        if self.thin:
            arguments |= settings.network_arguments()
        else:
            arguments["dsn"] = settings.descriptor()
            if settings.authentication != "password" and self.module.__name__ != LEGACY:
                arguments["externalauth"] = True  # of tokens too; cx_Oracle concludes it from there being no user
        return cast(Connection, self.module.connect(**arguments))

    def limit_calls(self, connection: Connection, seconds: float) -> None:
        """Let no round trip last longer; 0 lifts the limit. Set it again for each use: drivers have lost it.

        A client library before 18 cannot (DPI-1050); a mover's own deadline holds there all the same.
        """
        # python-oracledb in thin mode takes the process down where it has dropped the connection after a silent call.
        # What is sent next over a dropped one fails as it should; cx_Oracle has no such question.
        is_healthy = getattr(connection, "is_healthy", None)
        if is_healthy is not None and not is_healthy():
            return
        name = "call_timeout" if hasattr(connection, "call_timeout") else "callTimeout"
        try:
            setattr(connection, name, round(seconds * 1000))
        except self.error as error:
            if code_of(error) != NO_CALL_LIMIT:
                raise


def load_driver(settings: OracleSettings) -> Driver:
    """python-oracledb, or cx_Oracle where only that is installed.

    Raises:
        DriverMissing: there is neither, or thick mode cannot be entered.
    """
    for name in (MODERN, LEGACY):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        if name == LEGACY and settings.authentication == "token":
            raise DriverMissing("cx_Oracle knows no tokens", advice=f"Run: {install_command('oracle')}")
        if name == MODERN and settings.driver == "thick":
            _enter_thick_mode(module, settings)
        return Driver(module=module, thin=name == MODERN and settings.driver == "thin")
    raise DriverMissing(
        "the Oracle driver python-oracledb is not installed", advice=f"Run: {install_command('oracle')}"
    )


def _enter_thick_mode(module: ModuleType, settings: OracleSettings) -> None:
    """Once for the whole process and before its first connection; a second time is harmless."""
    options = {"lib_dir": settings.client_library, "config_dir": settings.config_dir}
    try:
        module.init_oracle_client(**{name: str(value) for name, value in options.items() if value is not None})
    except module.Error as error:
        raise DriverMissing(
            f"thick mode cannot be entered: {words_of(error)}", advice=_THICK_ADVICE, native_code=code_of(error)
        ) from None


def code_of(error: BaseException) -> str:
    """``ORA-00054``, ``DPY-4011`` ...; "" where the driver gives none. Never taken from the text of a message.

    python-oracledb has it as ``full_code``; cx_Oracle has a number, and its own errors only begin their text with one.
    """
    details = error.args[0] if error.args else None
    full = getattr(details, "full_code", "")
    if full:
        return str(full)
    number = getattr(details, "code", 0)
    if number:
        return f"ORA-{int(number):05d}"
    begins = _CODE.match(str(getattr(details, "message", "") or details))
    return begins[1] if begins else ""


def words_of(error: BaseException) -> str:
    """The first line of what the server or driver said."""
    details = error.args[0] if error.args else error
    text = str(getattr(details, "message", "") or details)
    return text.splitlines()[0].strip() if text.strip() else type(error).__name__
