"""What follows a try that has failed, and how long what was put off is left alone."""

from __future__ import annotations

from itertools import product

import pytest

from agent.moving.leftovers import LONGEST_PAUSE_SECONDS, Next, Pauses, next_after
from connectors.kit.contract import ConnectorError, LockNotObtained, TimedOut
from tests.virtual_clock import VirtualClock

MOST = 5


@pytest.mark.parametrize(("tries", "in_the_way", "first"), [*product((1, MOST, 50), (False, True), (False, True))])
def test_waiting_for_a_lock_never_fails_what_has_not_begun(tries: int, in_the_way: bool, first: bool) -> None:
    """However often: what is at its source waits for another time, at once if somebody is known to be in the way."""
    follows = next_after(LockNotObtained(""), tries, MOST, at_source=True, in_the_way=in_the_way, first=first)
    assert follows is (Next.AGAIN if first and not in_the_way and tries < MOST else Next.LATER)


@pytest.mark.parametrize(
    ("error", "at_source", "in_the_way", "tries", "follows"),
    [
        (TimedOut(""), True, False, MOST - 1, Next.AGAIN),
        (TimedOut(""), True, True, MOST - 1, Next.LATER),
        (TimedOut(""), True, True, MOST, Next.GIVE_UP),
        (TimedOut(""), False, False, MOST, Next.GIVE_UP),
    ],
)
def test_other_faults_are_counted(
    error: ConnectorError, at_source: bool, in_the_way: bool, tries: int, follows: Next
) -> None:
    """What times out is not tried for ever, and what has half arrived cannot wait like what never began."""
    assert next_after(error, tries, MOST, at_source=at_source, in_the_way=in_the_way, first=True) is follows


@pytest.mark.parametrize(("tries", "in_the_way", "first"), [*product((1, MOST, 50), (False, True), (False, True))])
def test_what_is_halfway_waits_for_its_lock_until_its_approval_ends(tries: int, in_the_way: bool, first: bool) -> None:
    """It cannot wait like what never began, so it is tried again for as long as it was approved for."""

    def follows(*, expired: bool) -> Next:
        return next_after(
            LockNotObtained(""), tries, MOST, at_source=False, in_the_way=in_the_way, first=first, expired=expired
        )

    assert follows(expired=False) is Next.AGAIN
    assert follows(expired=True) is (Next.GIVE_UP if tries >= MOST else Next.AGAIN)


def test_pauses_grow_and_end() -> None:
    """1 s, 2 s, 4 s ... a minute; the reason is told as long as it lasts, and forgotten with the move."""
    clock = VirtualClock()
    pauses = Pauses(clock)
    assert not pauses.was_put_off(7)
    assert pauses.count_fault(7) == 1
    assert not pauses.was_put_off(7), "a fault alone puts nothing off"
    lasted = []
    for _ in range(9):
        pauses.put_off(7, "a dump")
        began = clock.monotonic()
        while pauses.why(7) == "a dump":
            clock.sleep(0.5)
        lasted.append(clock.monotonic() - began)
    assert lasted[:4] == [1.0, 2.0, 4.0, 8.0]
    assert lasted[-1] == LONGEST_PAUSE_SECONDS
    assert pauses.was_put_off(7)
    assert pauses.count_fault(7) == 2
    pauses.forget(7)
    assert not pauses.was_put_off(7)
    assert pauses.why(8) == ""
