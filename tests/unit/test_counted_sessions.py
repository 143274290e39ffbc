"""Sessions in use where the engine counts what each has done, and those of them that wait for reads."""

from __future__ import annotations

from dataclasses import replace

import pytest

from connectors.kit.population import CountedSessions, SessionCounters, SessionLook, ShareOfServer, kind_looks

TILL = SessionCounters(name="1", kind="till", thinking=0.0, working=0.0, reading=0.0, done=0.0)


def after(
    seconds: float, each: SessionCounters, *, thinks: float, works: float, reads: float, of: float = 0.0
) -> SessionCounters:
    """What it has done after so many seconds of a till's life; ``of``: transactions a second."""
    return replace(each, thinking=thinks * seconds, working=works * seconds, reading=reads * seconds, done=of * seconds)


def at(seconds: float) -> list[SessionCounters]:
    """Four tills with a pause of 60 ms, a monitor that asks twice a minute, and a connection that nobody uses."""
    tills = [after(seconds, replace(TILL, name=f"t{n}"), thinks=0.6, works=0.4, reads=0.3, of=10.0) for n in range(4)]
    monitor = after(seconds, replace(TILL, name="m", kind="monitor"), thinks=0.999, works=0.001, reads=0.0, of=1 / 30)
    return [*tills, monitor, replace(TILL, name="unused", kind="till")]


def figures(found: CountedSessions, seconds: float) -> dict[str, float]:
    """One more sample."""
    counted = {"transactions": (40 + 1 / 30) * seconds, "active_seconds": 1.601 * seconds}
    return found.total(at(seconds), counted, 100.0 + seconds)


def test_who_asks_seldom_takes_no_part() -> None:
    """Four sessions come round 40 times a second; the monitor's pause is hundreds of rounds."""
    found = CountedSessions()
    first, last = figures(found, 60.0), {}
    for seconds in (120.0, 180.0, 240.0):
        last = figures(found, seconds)
    assert first == {"population_seconds": 0.0}, "so much of it was before anybody looked"
    assert last["population_seconds"] == pytest.approx(4 * 180.0)
    assert last["readers_seconds"] == pytest.approx(4 * 180.0)
    assert last["readers_active_seconds"] == pytest.approx(1.6 * 180.0)
    assert last["readers_transactions"] == pytest.approx(40 * 180.0)


def test_a_handle_that_is_given_again_is_another_session() -> None:
    """Counters that are smaller than before belong to another name: nothing is taken away."""
    found = CountedSessions()
    figures(found, 600.0)
    counted = {"transactions": 24_100.0, "active_seconds": 970.0}
    new = after(5.0, replace(TILL, name="new"), thinks=0.6, works=0.4, reads=0.3, of=10.0)
    assert found.total([new], counted, 710.0)["population_seconds"] == pytest.approx(10.0)


def test_an_hour_of_idleness_that_comes_at_once_is_no_pause_of_the_load() -> None:
    """A connection that was idle for an hour asks once: it is not in use."""
    found = CountedSessions()
    figures(found, 60.0)
    woken = replace(TILL, name="unused", thinking=3600.0, working=0.1, done=1.0)
    counted = {"transactions": 4804.0, "active_seconds": 192.0}
    assert found.total([*at(120.0)[:-1], woken], counted, 220.0)["population_seconds"] == pytest.approx(4 * 60.0)


def test_what_one_database_has_of_a_server() -> None:
    """Alone it is everything; among others it is known once twenty were seen at work."""
    alone = ShareOfServer()
    assert [alone.total(each, 0.0, 0.0, alone=True) for each in (5.0, 9.0)] == [0.0, 4.0]
    shared = ShareOfServer()
    found = [shared.total(10.0 * n, 2.0, 6.0, alone=False) for n in range(4)]
    assert [each == each for each in found] == [False, False, True, True]
    assert found[3] - found[2] == pytest.approx(2.5)


def test_a_forgotten_transaction_is_in_no_ones_use() -> None:
    """Idle in a transaction for a moment is part of it; for a minute, the session takes no part."""
    idle = SessionLook(kind="k", working=False, reading=False, transaction=True, began=1.0, changed=0.5)
    (look,) = kind_looks([idle, replace(idle, changed=61.0), replace(idle, transaction=False)])
    assert (look.working, look.inside, look.between) == (0.0, 1.0, (1.0, 1.0, 1.0))
    assert (look.inside_seconds, look.between_seconds) == (1.0, (0.5, 0.5, 0.5))
