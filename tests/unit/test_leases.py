"""Taking the lease: the session that got the lock is kept, every other one is closed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from connectors.kit.contract import LeaseHeld, PrivilegeMissing
from connectors.kit.sessions import Holder, Taken, take_lease, take_public_lease


def take(try_take: Callable[[str], bool], holder: str, closed: list[str]) -> str:
    """Take the lease over a session named ``session``."""
    return take_lease(lambda: "session", try_take, lambda _: holder, closed.append)


def test_the_session_that_got_the_lock_is_returned_open() -> None:
    """It holds the lease for as long as it lives."""
    closed: list[str] = []
    assert (take(lambda _: True, "", closed), closed) == ("session", [])


@pytest.mark.parametrize(
    ("holder", "message"),
    [("agent-1 (pid 7)", "another agent acts on this database: agent-1 \\(pid 7\\)"), ("", "another agent holds")],
)
def test_a_held_lease_names_its_holder(holder: str, message: str) -> None:
    """As far as the server tells who it is; the session is closed."""
    closed: list[str] = []
    with pytest.raises(LeaseHeld, match=message):
        take(lambda _: False, holder, closed)
    assert closed == ["session"]


def test_a_refusal_closes_the_session() -> None:
    """What the engine raises while it takes the lock is passed on."""

    def refuse(_: str) -> bool:
        raise PrivilegeMissing("no EXECUTE")

    closed: list[str] = []
    with pytest.raises(PrivilegeMissing, match="no EXECUTE"):
        take(refuse, "", closed)
    assert closed == ["session"]


AGENT, STRANGER = Holder("agent-1 (pid 7), role mover", own=True), Holder("a session (pid 8), role guest", own=False)


def take_public(holders: list[Holder] | None, marked: list[Holder], asked: list[bool], closed: list[str]) -> Taken[str]:
    """Take a lock that every user may take; None: it is free."""

    def act_without(_: str, without: bool) -> list[Holder]:  # as the engines have it
        asked.append(without)
        return marked

    return take_public_lease(
        lambda: "session", lambda _: holders is None, lambda _: holders or [], closed.append, act_without
    )


@pytest.mark.parametrize(
    ("holders", "stranger", "without"), [(None, "", False), ([STRANGER], "a session (pid 8), role guest", True)]
)
def test_a_stranger_is_named_and_keeps_nobody_from_acting(
    holders: list[Holder] | None,
    stranger: str,
    without: bool,  # a parameter
) -> None:
    """The session is marked before others are looked for, where it acts without the lock."""
    asked: list[bool] = []
    closed: list[str] = []
    assert take_public(holders, [], asked, closed) == Taken("session", stranger)
    assert (asked, closed) == ([without], [])


@pytest.mark.parametrize(
    ("holders", "marked"),
    [([AGENT], []), ([STRANGER, AGENT], []), ([], []), ([STRANGER], [AGENT]), (None, [AGENT])],
)
def test_an_agent_is_never_taken_for_a_stranger(holders: list[Holder] | None, marked: list[Holder]) -> None:
    """By the lock, by its mark, with the lock or without; nor is whoever cannot be known."""
    closed: list[str] = []
    with pytest.raises(LeaseHeld, match="another agent"):
        take_public(holders, marked, [], closed)
    assert closed == ["session"]
