"""Sessions with a server: Ctrl-C, leases, lost connections, and how much others wait for the log.

``interruptible`` and ``abandonable`` keep Ctrl-C working while a driver waits for its server. Python calls a signal
handler between two instructions of the main thread, and a driver's call is one instruction: a statement of a minute
would delay Ctrl-C by a minute. So another thread makes the call, and the main thread waits where it hears signals. A
statement is cancelled and its end awaited; an attempt to connect cannot be cancelled and is left behind.

``take_lease`` and ``take_public_lease`` let one agent at a time act on a database, by a lock of a session of its own.
Most servers let any user lock by any name. A holder that is no session of the agent's own login is therefore no agent:
it is named, and acting goes on. Two agents of that login are kept apart by a mark that only their sessions can bear.

``RetryingSession`` opens at first use and replaces a connection that died while it was idle. It is for reading only,
where a query that runs twice does no harm; statements that change something are never repeated here.

``of_followers``, ``of_log`` and ``worst`` judge how much others wait for what moves write to the log: followers that
lag behind, and log space that runs out.
"""

from __future__ import annotations

import signal
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import ClassVar, Generic, TypeVar

from connectors.kit.contract import CannotConnect, ConnectorError, Crowding, LeaseHeld, Row, Tap, Values
from connectors.model.formatting import format_bytes, format_ratio

Result = TypeVar("Result")
Limits = TypeVar("Limits")
_ABANDONABLE = "abandonable"  # a thread's name
MOST_LEFT_BEHIND = 8  # each holds a thread and a connection until its server says something
AGAIN_SECONDS = 0.25  # a cancel that comes before its statement hits nothing


def interruptible(
    work: Callable[[], Result], cancel: Callable[[], None], *, again_seconds: float | None = AGAIN_SECONDS
) -> Result:
    """Do the work so that Ctrl-C cancels it; in another thread than the main one, where none arrives, just do it.

    Args:
        work: what a driver does; nothing else uses its session meanwhile.
        cancel: makes the work end soon. Called from the main thread while the work goes on, or has just ended.
        again_seconds: until it is called again; None: once for each Ctrl-C.

    Raises:
        KeyboardInterrupt: once the work has ended, so that nothing uses its session any more.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    doing: Future[Result] = Future()
    try:
        threading.Thread(target=_do, args=(work, doing), name="interruptible").start()
        return doing.result()
    except KeyboardInterrupt:
        ended = False
        while not ended:
            with suppress(KeyboardInterrupt):  # once more: it is on its way
                ended = doing.cancel() or doing.done()  # what has not begun never will
                if not ended:
                    cancel()
                    wait([doing], timeout=again_seconds)
        raise


@contextmanager
def interrupts_noted() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C was pressed within this block; the main thread gets its KeyboardInterrupt as ever.

    A KeyboardInterrupt that is raised in a callback of C code (of SQLite, of the collector of garbage) is printed and
    dropped by Python. Work that goes on for hours has to look whether one was.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    noted: list[int] = []  # not an Event, whose lock a second signal would wait for

    def note(number: int, frame: FrameType | None) -> None:
        noted.append(number)
        signal.default_int_handler(number, frame)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(noted)
    finally:
        signal.signal(signal.SIGINT, before)


class TakesTooLong(Exception):
    """What was to be done in time was left behind."""


def abandonable(
    work: Callable[[], Result], discard: Callable[[Result], None], *, seconds: float | None = None
) -> Result:
    """Do the work so that Ctrl-C, or a time limit, leaves it behind.

    Args:
        work: what cannot be cancelled and need not be waited for: an attempt to connect.
        discard: gets the late result, in another thread; a late error is dropped.
        seconds: that it may take, for a driver that has no time limit of its own; None: another thread than the main
            one, where no Ctrl-C arrives, just does it.

    Raises:
        KeyboardInterrupt: at once.
        TakesTooLong: at the limit, or because as much as may be left behind still goes on.
    """
    if seconds is None and threading.current_thread() is not threading.main_thread():
        return work()
    if seconds is not None and sum(map(_is_left, threading.enumerate())) >= MOST_LEFT_BEHIND:
        raise TakesTooLong(f"{MOST_LEFT_BEHIND} earlier attempts are still waiting for an answer")
    doing: Future[Result] = Future()
    try:
        threading.Thread(target=_do, args=(work, doing), name=_ABANDONABLE, daemon=True).start()
        if not wait([doing], timeout=seconds).done:
            doing.add_done_callback(lambda late: _discard(late, discard))
            raise TakesTooLong(f"no answer within {seconds:g} s")
        return doing.result()
    except KeyboardInterrupt:
        doing.add_done_callback(lambda late: _discard(late, discard))
        raise


def left_behind() -> bool:
    """Whether something that was left behind still goes on: some drivers let the process end only after it."""
    return any(map(_is_left, threading.enumerate()))


def _is_left(thread: threading.Thread) -> bool:
    return thread.name == _ABANDONABLE


def _discard(late: Future[Result], discard: Callable[[Result], None]) -> None:
    if late.exception() is None:
        discard(late.result())


def _do(work: Callable[[], Result], doing: Future[Result]) -> None:
    if not doing.set_running_or_notify_cancel():
        return
    try:
        doing.set_result(work())
    except BaseException as error:  # noqa: BLE001 (handed on to the waiting thread)
        doing.set_exception(error)


Connection = TypeVar("Connection")
STOP_THE_OTHER = "Stop the other agent, or let it act and only watch from here."


@dataclass(frozen=True, slots=True)
class Holder:
    """A session that has the lock, or acts without it."""

    words: str  # who it is: name, process, from where, as which user; "": this login may not know
    own: bool  # of the login that asks, so that it is an agent; True too where that cannot be known


@dataclass(frozen=True, slots=True)
class Taken(Generic[Connection]):
    """A lease."""

    connection: Connection
    stranger: str = ""  # who has the lock and is no agent; "": this session has it


def take_lease(
    open_session: Callable[[], Connection],
    try_take: Callable[[Connection], bool],
    find_holder: Callable[[Connection], str],
    close: Callable[[Connection], None],
) -> Connection:
    """A session that holds the lease, by a lock that only agents may take.

    Args:
        open_session: opens the session that is to hold it.
        try_take: whether the session got the lock, without waiting long for it.
        find_holder: who has it, as far as the server tells; "" where it does not.
        close: ends the session; called whenever the lease was not taken.

    Raises:
        LeaseHeld: another agent has it.
        ConnectorError: what ``open_session``, ``try_take`` and ``find_holder`` raise.
    """
    taken = take_public_lease(
        open_session, try_take, lambda session: [Holder(find_holder(session), own=True)], close, lambda *_: ()
    )
    return taken.connection


def take_public_lease(
    open_session: Callable[[], Connection],
    try_take: Callable[[Connection], bool],
    find_holders: Callable[[Connection], Sequence[Holder]],
    close: Callable[[Connection], None],
    act_without: Callable[[Connection, bool], Sequence[Holder]],
) -> Taken[Connection]:
    """A session that holds the lease, by a lock that every user may take.

    Args:
        open_session: as ``take_lease``.
        try_take: as ``take_lease``.
        find_holders: who has it, as far as the server tells.
        close: as ``take_lease``.
        act_without: marks the session as one that acts without the lock, if asked to; returns others of its login that
            are marked.

    Raises:
        LeaseHeld: another agent has it, or acts without.
        ConnectorError: what the functions raise.
    """
    connection = open_session()
    try:
        strangers = [] if try_take(connection) else _strangers(find_holders(connection))
        # First marked and then looked for others: of two that do so at once, neither can miss the other.
        _insist_on_none(act_without(connection, bool(strangers)))
    except BaseException:  # an interrupt too: no session may be left behind with the lease
        close(connection)
        raise
    return Taken(connection, strangers[0].words if strangers else "")


def _strangers(holders: Sequence[Holder]) -> list[Holder]:
    """Who has the lock and is no agent, at least one.

    Raises:
        LeaseHeld: an agent has it, or someone who cannot be identified.
    """
    if not holders or any(holder.own for holder in holders):
        raise _lease_held_by([holder for holder in holders if holder.own])
    return list(holders)


def _insist_on_none(others: Sequence[Holder]) -> None:
    if others:
        raise _lease_held_by(others)


def _lease_held_by(holders: Sequence[Holder]) -> LeaseHeld:
    words = next((holder.words for holder in holders if holder.words), "")
    if not words:
        return LeaseHeld("another agent holds the lease of this database", advice=STOP_THE_OTHER)
    return LeaseHeld(f"another agent acts on this database: {words}", advice=STOP_THE_OTHER)


DriverError = TypeVar("DriverError", bound=Exception)


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


MIB = 1024 * 1024


def of_followers(who: str, behind_bytes: float, hold_mib: int, abort_mib: int) -> Crowding:
    """Log that has not reached who follows, against ``replica_queue_mib`` and ``replica_queue_abort_mib``."""
    said = f"{who} is {format_bytes(behind_bytes)} of log behind"
    return Crowding(
        hold=f"{said} (replica_queue_mib: {hold_mib})" if behind_bytes > hold_mib * MIB else "",
        abort=f"{said} (replica_queue_abort_mib: {abort_mib})" if behind_bytes > abort_mib * MIB else "",
    )


def of_log(what: str, used_ratio: float, hold_percent: int, abort_percent: int) -> Crowding:
    """Room for the log that is taken, against ``log_used_percent`` and ``log_used_abort_percent``; NaN: not known."""
    said = f"{what} is {format_ratio(used_ratio)} full"
    return Crowding(
        hold=f"{said} (log_used_percent: {hold_percent})" if used_ratio * 100 > hold_percent else "",
        abort=f"{said} (log_used_abort_percent: {abort_percent})" if used_ratio * 100 > abort_percent else "",
    )


def worst(*found: Crowding) -> Crowding:
    """Both reasons, each the first that there is."""
    return Crowding(
        hold=next((each.hold for each in found if each.hold), ""),
        abort=next((each.abort for each in found if each.abort), ""),
    )


def insist_on_order(settings: Limits) -> Limits:
    """The settings, if both second limits lie at or above the first ones.

    Raises:
        ValueError: what was given up would begin again at once.
    """
    for lower, upper in (
        ("replica_queue_mib", "replica_queue_abort_mib"),
        ("log_used_percent", "log_used_abort_percent"),
    ):
        first, second = getattr(settings, lower), getattr(settings, upper)
        if second < first:
            raise ValueError(
                f"{upper} ({second}) is below {lower} ({first}): a move would be given up before it is held"
            )
    return settings
