"""The whole of hotplace over an Oracle database that is emulated: command line, ledger, moves, a kill in the middle."""

from __future__ import annotations

import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.cli.site import Site, finish
from tests.labs.oracle.harness import (
    AGENT,
    LOOKER,
    OWNER,
    PASSWORD,
    SLOW_SECONDS_PER_GB,
    OracleHarness,
    running_harness,
)

MIB = 1 << 20
WAIT_SECONDS = 60.0
INTERVALS_BEFORE = 12  # before a move: enough for a verdict, however slow the machine is
MICROSECONDS = {"SLOW": 6000, "FAST": 300}  # that a random read takes there


@pytest.fixture
def lab() -> Iterator[OracleHarness]:
    """A 19c lab with a partitioned table, and a table with an index and a LOB."""
    with running_harness("oracle 19 (emulated server)") as running:
        sales = running.database.add_table(OWNER, "SALES", "SLOW", 8 * MIB, partitions=("P1", "P2"))
        running.database.add_index(sales, "SALES_IX", "SLOW", MIB, local=True)
        mails = running.database.add_table(OWNER, "MAILS", "SLOW", 4 * MIB)
        running.database.add_index(mails, "MAILS_PK", "SLOW", MIB, unique=True)
        running.database.add_lob(mails, "BODY", "SLOW", 4 * MIB)
        yield running


@pytest.fixture
def site(lab: OracleHarness, tmp_path: Path) -> Site:
    """A configuration that pins one partition and one table to the fast tier."""
    database = {
        "name": "orders",
        "engine": "oracle",
        "connection": _connection(lab, AGENT, tmp_path),
        "tiers": [{"name": "ssd", "spaces": ["/ssd"]}, {"name": "hdd", "spaces": ["SLOW"]}],
        "sample_every": "0.2s",
        "settle": "0.2s",
        "maximum_stall": "10min",
        "pins": [
            {"unit": "APP.SALES PARTITION P1", "pin": "must"},
            {"unit": "APP.MAILS", "pin": "must"},
            {"unit": "APP.MAILS LOB*", "pin": "must"},
        ],
        "policy": {"minimum_history": "0s"},
    }
    return Site(tmp_path, database)


def _connection(lab: OracleHarness, user: str, folder: Path) -> dict[str, Any]:
    """The part of the configuration that says where the server is and who logs in."""
    secret = folder / "password"
    secret.write_text(PASSWORD)
    return {
        "host": "127.0.0.1",
        "port": lab.server.port,
        "service": "orclpdb1",
        "user": user,
        "password": {"file": str(secret)},
        "online_lock_timeout": "2s",
    }


@pytest.fixture
def workload(lab: OracleHarness) -> Iterator[None]:
    """Sessions that look up rows of one partition and of the mails, as fast as where they are allows."""
    done = threading.Event()

    def work() -> None:
        while not done.wait(0.05):
            for segment in (lab.database.table(OWNER, name).segments[0] for name in ("SALES", "MAILS")):
                lab.database.read_randomly(segment, 40, microseconds=MICROSECONDS[segment.tablespace])
            lab.database.commit_transactions(10)

    worker = threading.Thread(target=work)
    worker.start()
    yield
    done.set()
    worker.join()


def _wait_for(
    what: str, happened: Callable[[], object], every_seconds: float = 0.05, seconds: float = WAIT_SECONDS
) -> None:
    until = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < until, f"never: {what}"
        time.sleep(every_seconds)


def _states(site: Site, number: int) -> set[str]:
    moves = site.good("history", "--json").document["moves"]
    return {move["state"] for move in moves if move["proposal"] == number}


def _intervals(site: Site) -> int:
    """How many were sampled and stored, of the daemon's own samples."""
    with closing(sqlite3.connect(f"file:{site.ledger_path}?mode=ro", uri=True)) as ledger:
        (count,) = ledger.execute("SELECT count(*) FROM work").fetchone()
    return int(count)


def _verdicts(site: Site) -> set[str]:
    return {row["verdict"] for row in site.good("outcomes", "--json").document["outcomes"]}


def _homes(lab: OracleHarness) -> dict[str, str]:
    """Where the tables, the pinned partition and the LOB are by the server's own book-keeping."""
    sales, mails = (lab.database.table(OWNER, name) for name in ("SALES", "MAILS"))
    return {
        "P1": sales.segments[0].tablespace,
        "P2": sales.segments[1].tablespace,
        "MAILS": mails.segments[0].tablespace,
        "BODY": mails.lobs[0].segments[0].tablespace,
    }


def _usable(lab: OracleHarness) -> bool:
    return not any(i.unusable for name in ("SALES", "MAILS") for i in lab.database.table(OWNER, name).indexes)


def test_a_life(site: Site, lab: OracleHarness) -> None:
    """Emulated server: planned, approved, moved with indexes and LOB; everything ends usable."""
    number, digest = site.propose()
    script = site.good("show", str(number), "--sql").out
    assert 'MOVE PARTITION "P1" TABLESPACE "FAST" UPDATE INDEXES ONLINE' in script
    assert _homes(lab) == dict.fromkeys(("P1", "P2", "MAILS", "BODY"), "SLOW")
    site.good("approve", str(number), "--digest", digest)
    done = site.good("run", "--once", "--json").document
    assert {row["state"] for row in done["moves"]} == {"placed"}
    assert _homes(lab) == {"P1": "FAST", "P2": "SLOW", "MAILS": "FAST", "BODY": "FAST"}
    assert _usable(lab)
    site.good("audit", "verify")


def test_a_kill_in_the_middle(site: Site, lab: OracleHarness) -> None:
    """Emulated server: the agent dies while the server copies; started again it lets that end, and finishes."""
    number, digest = site.propose()
    site.good("approve", str(number), "--digest", digest)
    lab.database.long_operations.clear()
    lab.database.seconds_per_gb = SLOW_SECONDS_PER_GB / 4
    process = site.start("run", "--once")
    until = time.monotonic() + WAIT_SECONDS
    while not lab.database.long_operations:
        assert time.monotonic() < until, "no move began"
        assert process.poll() is None, finish(process)
        time.sleep(0.05)
    process.kill()
    finish(process)
    lab.database.seconds_per_gb = 0.0
    until = time.monotonic() + WAIT_SECONDS
    while _homes(lab)["MAILS"] != "FAST" or _homes(lab)["P1"] != "FAST":
        done = site.run("run", "--once", "--json")
        assert time.monotonic() < until, done
        time.sleep(0.5)
    assert _homes(lab) == {"P1": "FAST", "P2": "SLOW", "MAILS": "FAST", "BODY": "FAST"}
    assert _usable(lab)
    site.good("audit", "verify")


@pytest.mark.parametrize("text", ["GV_$SEGSTAT", "DBA_LOB_PARTITIONS"])
def test_one_interrupt_ends_a_long_statement(site: Site, lab: OracleHarness, text: str) -> None:
    """Emulated server: a sample or a catalog that does not end is cancelled, and the command ends with 130."""
    site.database["connection"]["statement_timeout"] = "1h"
    site.write()
    lab.database.stop_at = text
    process = site.start("run", "--once")
    _wait_for("the statement", lab.database.stopped.is_set)
    process.send_signal(signal.SIGINT)
    done = finish(process)
    assert (done.code, done.err.splitlines()[-1]) == (130, "error: interrupted"), done
    _wait_for("an end of all sessions", lambda: not lab.database.sessions)


@pytest.mark.usefixtures("workload")
def test_a_whole_life(site: Site, lab: OracleHarness, tmp_path: Path) -> None:
    """Emulated server: sampled by one login, planned by what waits, approved, killed while it copies, reconciled.

    Moved by another login, online by partition and as a table that leaves its idle LOB behind; measured as helped;
    taken back by an undo that is approved like any other proposal. Every index is usable wherever that stops.
    """
    del site.database["pins"]
    site.database.update(
        connection=_connection(lab, LOOKER, tmp_path),
        move_connection=_connection(lab, AGENT, tmp_path),
        settle="5s",
        maximum_stall="10min",
    )
    site.write()
    found = site.good("plan", "--observe", "1", "--propose", "--json").document
    assert {move["unit"] for move in found["moves"]} == {"APP.SALES PARTITION P1", "APP.MAILS"}
    number = found["proposal"]["id"]

    lab.database.seconds_per_gb = SLOW_SECONDS_PER_GB / 4
    agent = site.start("run")
    _wait_for("some samples", lambda: _intervals(site) >= INTERVALS_BEFORE, seconds=3 * WAIT_SECONDS)
    site.good("approve", str(number), "--digest", found["proposal"]["digest"])
    _wait_for("a copy", lambda: lab.database.long_operations)
    agent.kill()
    finish(agent)
    lab.database.seconds_per_gb = 0.0

    agent = site.start("run")
    # A whole command each time.
    _wait_for("an outcome", lambda: _states(site, number) == {"kept"}, every_seconds=0.5, seconds=3 * WAIT_SECONDS)
    assert _verdicts(site) == {"helped"}
    agent.send_signal(signal.SIGTERM)
    assert finish(agent).code == 0
    assert _homes(lab) == {"P1": "FAST", "P2": "SLOW", "MAILS": "FAST", "BODY": "SLOW"}
    assert _usable(lab)
    back = site.good("undo", "--proposal", str(number), "--json").document
    site.good("approve", str(back["proposal"]), "--digest", back["digest"])
    site.good("run", "--once")
    site.good("run", "--once")
    assert _states(site, number) == {"undone"}
    assert _homes(lab) == dict.fromkeys(("P1", "P2", "MAILS", "BODY"), "SLOW")
    assert _usable(lab)
    site.good("audit", "verify")


def test_the_doctor_is_content(site: Site) -> None:
    """Emulated server: a login with every right on a sound server; nothing is missing."""
    done = site.run("doctor", "--json")
    assert done.code == 0, done
    assert "19.22" in done.out
