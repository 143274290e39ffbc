"""The whole of hotplace over an Oracle database that is emulated: command line, ledger, moves, a kill in the middle."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.site import Site, finish
from tests.labs.oracle.harness import AGENT, OWNER, PASSWORD, SLOW_SECONDS_PER_GB, OracleHarness, running_harness

MIB = 1 << 20
WAIT_SECONDS = 60.0


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
    secret = tmp_path / "password"
    secret.write_text(PASSWORD)
    connection: dict[str, Any] = {
        "host": "127.0.0.1",
        "port": lab.server.port,
        "service": "orclpdb1",
        "user": AGENT,
        "password": {"file": str(secret)},
        "online_lock_timeout": "2s",
    }
    database = {
        "name": "orders",
        "engine": "oracle",
        "connection": connection,
        "tiers": [{"name": "ssd", "spaces": ["FAST"]}, {"name": "hdd", "spaces": ["SLOW"]}],
        "sample_every": "0.2s",
        "settle": "0.2s",
        "pins": [{"unit": "APP.SALES PARTITION P1", "pin": "must"}, {"unit": "APP.MAILS", "pin": "must"}],
        "policy": {"minimum_history": "0s"},
    }
    return Site(tmp_path, database)


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
    while _homes(lab)["MAILS"] != "FAST" or _homes(lab)["P1"] != "FAST":
        done = site.run("run", "--once", "--json")
        assert time.monotonic() < until, done
        time.sleep(0.5)
    assert _homes(lab) == {"P1": "FAST", "P2": "SLOW", "MAILS": "FAST", "BODY": "FAST"}
    assert _usable(lab)
    site.good("audit", "verify")


def test_the_doctor_is_content(site: Site) -> None:
    """Emulated server: a login with every right on a sound server; nothing is missing."""
    done = site.run("doctor", "--json")
    assert done.code == 0, done
    assert "19.22" in done.out
