"""A reading session that opens at first use and replaces a connection that died while it was idle.

Only for reading: a query that ran twice does no harm. A statement that changes something is never repeated here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Generic, TypeVar

from connectors.base import CannotConnect, ConnectorError
from connectors.recording.tap import Row, Tap, Values
from connectors.sessions.interruptible import AGAIN_SECONDS, interruptible

Connection = TypeVar("Connection")
DriverError = TypeVar("DriverError", bound=Exception)
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenConnection:
    """The connection broke, and with it the query that ran over it."""

    native_code: str  # "" where the driver gives none
    words: str = ""  # of the driver, for the message; "" where they add nothing


class RetryingSession(ABC, Generic[Connection, DriverError]):
    """What the reading sessions of all engines share; an engine says how to connect and how to read its errors."""

    _server_log: ClassVar[str] = "the server's log"  # where to look when a connection breaks twice
    _cancel_again_seconds: ClassVar[float | None] = AGAIN_SECONDS  # see ``interruptible``
    _tap: Tap | None = None

    def __init__(self, address: str, driver_error: type[DriverError], tap: Tap | None = None) -> None:
        """Open nothing yet.

        Args:
            address: of the server, for messages.
            driver_error: what the driver raises.
            tap: hears of every query, or answers it.
        """
        self._tap = tap
        self._address = address
        self._driver_error = driver_error
        self._connection: Connection | None = None
        self._closed = False

    def close(self) -> None:
        """End it for good."""
        self._closed = True
        self._drop()

    @abstractmethod
    def _connect(self) -> Connection:
        """A new connection.

        Raises:
            CannotConnect: or what else connecting raises.
        """

    @abstractmethod
    def _disconnect(self, connection: Connection) -> None:
        """Close a connection, which may be broken already."""

    @abstractmethod
    def _cancel(self, connection: Connection) -> None:
        """Have the server end what runs over the connection; called after Ctrl-C."""

    @abstractmethod
    def _explain(self, error: DriverError, doing: str) -> ConnectorError | BrokenConnection:
        """What an error of the driver means: the connection broke, or the server refused the query.

        Args:
            error: as the driver raised it; the connection is still there.
            doing: what the query is for; begins the message.
        """

    def _is_usable(self, connection: Connection) -> bool:  # noqa: ARG002  # others look at it
        """Whether the driver has not seen the connection end; True where only the next query shows it."""
        return True

    def _open(self) -> Connection:
        if self._closed:
            raise CannotConnect("this connector was closed", advice="Open a new one.")
        if self._connection is None or not self._is_usable(self._connection):
            self._connection = self._connect()
        return self._connection

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            self._disconnect(connection)

    def _tapped(self, name: str, values: Values, ask: Callable[[], list[Row]], doing: str) -> list[Row]:
        """What the tap makes of a query; what the server answers where there is no tap."""
        return ask() if self._tap is None else self._tap.answer(name, values, ask, doing=doing)

    def _with_retry(self, read: Callable[[Connection], Result], doing: str) -> Result:
        """Read, and once more over a new connection when the old one turns out to be broken.

        Raises:
            ConnectorError: the server refused the query, or the new connection broke too.
        """
        # Exactly one more try: the first failure may be a connection that died while idle, which says nothing about the
        # server now. A fresh connection that breaks too is an outage, and when to try again is the caller's decision.
        for last in (False, True):
            connection = self._open()
            try:
                # not left to a driver that handles Ctrl-C: its connection may stay busy between two of its steps
                return interruptible(
                    partial(read, connection),
                    partial(self._cancel, connection),
                    again_seconds=self._cancel_again_seconds,
                )
            except self._driver_error as error:
                meaning = self._explain(error, doing)
                if isinstance(meaning, ConnectorError):
                    raise meaning from error
                self._drop()
                if last:
                    raise self._broke_twice(meaning, doing) from error
        raise AssertionError("the loop above always returns or raises")

    def _broke_twice(self, broken: BrokenConnection, doing: str) -> CannotConnect:
        words = f" ({broken.words})" if broken.words else ""
        return CannotConnect(
            f"{doing}: the session with {self._address} broke twice{words}",
            advice=f"Look at {self._server_log}.",
            native_code=broken.native_code,
        )
