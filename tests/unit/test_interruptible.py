"""Ctrl-C while another thread makes a call that hears nothing."""

from __future__ import annotations

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from connectors.kit import sessions as interruptible_module
from connectors.kit.sessions import TakesTooLong, abandonable, interruptible, interrupts_noted, left_behind

SECONDS = 30.0  # that a call lasts at most if nobody cancels it


def test_what_it_comes_to_is_handed_on() -> None:
    """A result, or the error that it raised; nothing is cancelled."""
    assert interruptible(lambda: 7, pytest.fail) == 7
    with pytest.raises(ValueError, match="gone"):
        interruptible(lambda: int("gone"), pytest.fail)


def test_one_interrupt_cancels_what_runs() -> None:
    """KeyboardInterrupt only once the call has ended; a cancel that came too early is sent again, and so is Ctrl-C."""
    cancelled, ended = threading.Event(), threading.Event()
    tries: list[int] = []

    def call() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        assert cancelled.wait(SECONDS)
        ended.set()

    def cancel() -> None:
        tries.append(len(tries))
        if len(tries) == 1:
            os.kill(os.getpid(), signal.SIGINT)  # somebody is impatient
        if len(tries) == 3:
            cancelled.set()

    with pytest.raises(KeyboardInterrupt):
        interruptible(call, cancel, again_seconds=0.01)
    assert ended.is_set()
    assert tries[:3] == [0, 1, 2]  # one more where the call that was cancelled is slow to wake up


def test_in_another_thread_it_is_just_done() -> None:
    """No signal arrives there: no thread is made for it."""
    found: list[threading.Thread] = []

    def elsewhere() -> None:
        found.append(interruptible(threading.current_thread, pytest.fail))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert found == [thread]


def test_what_comes_of_connecting_is_handed_on() -> None:
    """A result, or the error that it raised; nothing is discarded or left behind."""
    assert abandonable(lambda: 7, print) == 7
    with pytest.raises(ValueError, match="gone"):
        abandonable(lambda: int("gone"), print)
    assert not left_behind()


@pytest.mark.parametrize("late", ["7", "gone"])
def test_one_interrupt_leaves_an_attempt_behind(late: str) -> None:
    """KeyboardInterrupt while the call goes on; its result is discarded once there is one, its error is nobody's."""
    let_go = threading.Event()
    discarded: list[int] = []

    def call() -> int:
        os.kill(os.getpid(), signal.SIGINT)
        assert let_go.wait(SECONDS)
        return int(late)

    with pytest.raises(KeyboardInterrupt):
        abandonable(call, discarded.append)
    assert left_behind()
    (thread,) = (each for each in threading.enumerate() if each.name == "abandonable")
    let_go.set()
    thread.join()
    assert not left_behind()
    assert discarded == ([7] if late == "7" else [])


def test_connecting_in_another_thread_is_just_done() -> None:
    """The daemon's workers connect where they are."""
    found: list[threading.Thread] = []

    def elsewhere() -> None:
        found.append(abandonable(threading.current_thread, print))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert found == [thread]


def test_a_limit_leaves_an_attempt_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its late result is discarded; where as many as may be still go on, no further one begins."""
    monkeypatch.setattr(interruptible_module, "MOST_LEFT_BEHIND", 1)
    let_go = threading.Event()
    discarded: list[bool] = []
    with pytest.raises(TakesTooLong, match="within"):
        abandonable(lambda: let_go.wait(SECONDS), discarded.append, seconds=0.01)
    with pytest.raises(TakesTooLong, match="still waiting"):
        abandonable(lambda: True, discarded.append, seconds=SECONDS)
    (thread,) = (each for each in threading.enumerate() if each.name == "abandonable")
    let_go.set()
    thread.join()
    assert discarded == [True]
    assert abandonable(lambda: 7, print, seconds=SECONDS) == 7


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_that_c_code_drops_is_noted() -> None:
    """Raised in the finalizer of an object it is lost, and the block still knows of it; afterwards all is as before."""

    class Dropping:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with interrupts_noted() as noted:
        assert not noted()
        Dropping()
        assert noted()
    assert signal.getsignal(signal.SIGINT) is before


def test_an_interrupt_is_raised_as_ever() -> None:
    """In the main thread; in another one nothing is noted."""
    with pytest.raises(KeyboardInterrupt), interrupts_noted():
        signal.raise_signal(signal.SIGINT)
    with ThreadPoolExecutor() as pool:
        assert pool.submit(_noted_elsewhere).result() is False


def _noted_elsewhere() -> bool:
    with interrupts_noted() as noted:
        return noted()
