"""Ctrl-C while a driver waits for its server.

Python calls the handler of a signal between two instructions of the main thread, and a driver's call is one of them: a
statement that runs for a minute would hold Ctrl-C up for a minute. So the main thread has another one make the call,
and waits for it where a signal is heard. A statement is cancelled, and its end is waited for; an attempt to connect,
which nothing cancels, is left behind.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TypeVar

Result = TypeVar("Result")
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
