"""Taking the lease: the session that got the lock is kept, every other one is closed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from connectors.base import LeaseHeld, PrivilegeMissing
from connectors.sessions.leases import take_lease


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
