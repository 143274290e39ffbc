"""Holding, going on and giving up across processes: a daemon that executes, commands that ask."""

from __future__ import annotations

import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agent.ledger.ledger import Ledger
from agent.ledger.state_names import STATUS
from agent.model.clock import SystemClock
from agent.service.process import start_of
from tests.cli.site import SECONDS, Site, finish, simulated
from tests.virtual_clock import VirtualClock
from tests.waiting import wait_for

SLOW = 4  # virtual seconds per second: the first copy takes twenty seconds
SLOWER = 0.25  # eight minutes: longer than all the waiting of a test
PATIENTLY = ("--wait", f"{SECONDS:.0f}s")  # until the daemon has answered, however busy the machine is


@pytest.fixture
def slow_site(tmp_path: Path, request: pytest.FixtureRequest) -> Site:
    """Copies last long enough to be caught; the daemon plans nothing by itself."""
    values = simulated(tmp_path, speed=getattr(request, "param", SLOW))
    return Site(tmp_path, {**values, "plan_every": "1h", "policy": {"minimum_history": "0s", "regret": 0}})


@pytest.fixture
def proposal(slow_site: Site) -> int:
    """An approved proposal of which one group is left: a move that makes room, and the one that needs it."""
    number, digest = slow_site.propose()
    slow_site.good("approve", str(number), "--digest", digest)
    moves = slow_site.good("history", "--json").document["moves"]
    slow_site.good("cancel", *[str(move["id"]) for move in moves if move["ordinal"] > 2])
    return number


@pytest.fixture
def daemon(slow_site: Site, proposal: int) -> Iterator[subprocess.Popen[str]]:
    """A daemon that carries it out."""
    process = slow_site.start("run")
    yield process
    if process.poll() is None:
        process.terminate()
        finish(process)


def wait_until(what: str, holds: Callable[[], object]) -> None:
    """Look again until it holds."""
    wait_for(holds, what, SECONDS, every=0.25)


def move(site: Site) -> dict[str, Any]:
    """The first one."""
    found: list[dict[str, Any]] = site.good("history", "--json").document["moves"]
    return next(each for each in found if each["ordinal"] == 1)


def is_in(site: Site, *states: str) -> Callable[[], bool]:
    """Whether the move is in one of these states."""
    return lambda: move(site)["state"] in states


def test_a_move_is_held_survives_a_kill_and_goes_on(slow_site: Site, daemon: subprocess.Popen[str]) -> None:
    """It is held within seconds of pause, kill -9 changes nothing of that, resume brings it to its end."""
    wait_until("it runs", is_in(slow_site, "running"))
    number = str(move(slow_site)["id"])
    (asked,) = slow_site.good("pause", number, "--reason", "backup runs", "--json", *PATIENTLY).document["asked"]
    assert (asked["state"], asked["answer"]) == ("paused", "it is held")
    assert "backup runs" in asked["reason"]
    assert ", paused: held by" in slow_site.good("status").out
    daemon.send_signal(signal.SIGKILL)
    daemon.communicate(timeout=SECONDS)
    assert "no daemon runs" in slow_site.good("resume", number, "--wait", "1s").out
    again = slow_site.start("run")
    wait_until("it ended", is_in(slow_site, "placed", "settling", "kept"))
    again.terminate()
    assert finish(again).code == 0
    assert [step["state"] for step in move(slow_site)["statements"]] == ["paused", "done", "done"]
    assert slow_site.good("audit", "verify").code == 0


@pytest.mark.parametrize("slow_site", [SLOWER], indirect=True)
def test_progress_is_seen_from_outside(slow_site: Site, daemon: subprocess.Popen[str]) -> None:
    """status, show and top tell how far the copy of the daemon is; then cancel rolls it back."""
    wait_until("it runs", is_in(slow_site, "running"))
    running: dict[str, Any] = {}

    def known() -> bool:
        running.update(_running(slow_site) or {})
        return bool(running.get("left_seconds"))

    wait_until("it is known how far", known)
    assert 0 < running["done_ratio"] < 1
    assert running["total_bytes"] == move(slow_site)["bytes"]
    assert "left" in slow_site.good("status").out
    assert "left" in slow_site.good("show", str(move(slow_site)["proposal"])).out
    assert slow_site.good("top", "--once").out.count(move(slow_site)["unit"]) >= 1
    assert slow_site.good("top", "--json").document["databases"][0]["running"]["unit"] == move(slow_site)["unit"]
    asked, needs_room = slow_site.good("cancel", "--all", "--json", *PATIENTLY).document["asked"]
    assert needs_room["state"] == "cancelled"
    assert (asked["state"], asked["answer"]) == ("cancelled", "it was cancelled and rolled back")


def _running(site: Site) -> dict[str, Any] | None:
    found: dict[str, Any] | None = site.good("top", "--json").document["databases"][0]["running"]
    return found


def test_without_a_daemon_the_ask_is_kept(slow_site: Site, proposal: int) -> None:
    """An approved move is held or cancelled at once, nobody waits, and what means nothing is refused."""
    number = str(move(slow_site)["id"])
    assert "is asked to pause" in slow_site.good("pause", number).out
    assert slow_site.run("pause", number).code == 6
    slow_site.good("run", "--once")
    assert move(slow_site)["state"] == "approved"
    assert "held by" in slow_site.good("status", "--json").document["databases"][0]["waiting"][0]["why"]
    slow_site.good("resume", "--all")
    cancelled = slow_site.good("cancel", number).out
    assert "it had not begun; with it move 2 of its group; it is cancelled" in cancelled
    refused = slow_site.run("cancel", number)
    assert refused.code == 6
    assert "is cancelled" in refused.err
    assert "no move of shop can be asked" in slow_site.good("cancel", "--all").out


def test_a_daemon_that_is_late_is_still_one(slow_site: Site, proposal: int) -> None:
    """Silent for minutes, and its process is there: it will obey, and nobody is told to start another."""
    minutes_ago = VirtualClock(datetime.now(UTC) - timedelta(minutes=5))
    with subprocess.Popen(["sleep", "600"]) as process, Ledger.open(slow_site.ledger_path, minutes_ago) as ledger:
        try:
            ledger.state.save_document("shop", STATUS, {"pid": process.pid, "host": socket.gethostname()})
            assert "the daemon obeys as soon as it can" in slow_site.good("pause", str(move(slow_site)["id"])).out
        finally:
            process.kill()
    assert "no daemon runs" in slow_site.good("resume", "--all").out


def test_another_process_with_the_pid_of_a_daemon_is_none(slow_site: Site, proposal: int) -> None:
    """Pids are used again: nothing is promised in the name of a daemon that began at another time."""
    with subprocess.Popen(["sleep", "600"]) as process, Ledger.open(slow_site.ledger_path, SystemClock()) as ledger:
        try:
            status = {"pid": process.pid, "host": socket.gethostname(), "process": start_of(process.pid)}
            ledger.state.save_document("shop", STATUS, status)
            assert "no daemon runs" not in slow_site.good("pause", str(move(slow_site)["id"])).out
            ledger.state.save_document("shop", STATUS, {**status, "process": start_of(1)})
            assert "no daemon runs" in slow_site.good("resume", "--all").out
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["pause"], 2), (["pause", "1", "--all"], 2), (["cancel", "77"], 7), (["top", "--every", "soon"], 2)],
)
def test_wrong_use_is_explained(slow_site: Site, arguments: list[str], code: int) -> None:
    """Nothing named, both named, an unknown number, no duration."""
    assert slow_site.run(*arguments).code == code
