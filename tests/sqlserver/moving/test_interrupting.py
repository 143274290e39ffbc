"""Ctrl-C while a statement runs: a command in a process of its own, before an emulated server."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.cli.site import Site, finish
from tests.labs.sqlserver.lab import Lab, wait_until
from tests.labs.sqlserver.objects import Table
from tests.labs.sqlserver.world import FAST, MOVER, READER, SLOW, add_table
from tests.labs.tds.drivers import OdbcDriver
from tests.sqlserver.moving.test_life import building, connection, home_of

SECONDS_OF_A_BUILD = 600.0  # longer than any test waits for a command


@pytest.fixture
def orders(lab: Lab) -> Table:
    """A table on the slow disk."""
    return add_table(lab.shop, "orders", pages=2000)


@pytest.fixture
def site(tmp_path: Path, lab: Lab, driver: OdbcDriver, orders: Table) -> Site:
    """A site whose statements may run far longer than any test waits for a command."""
    return Site(
        tmp_path,
        {
            "name": "shop",
            "engine": "sqlserver",
            "connection": connection(lab, driver, tmp_path, READER) | {"statement_timeout": "1h"},
            "move_connection": connection(lab, driver, tmp_path, MOVER),
            "pins": [{"unit": "[[]dbo[]].[[]orders[]]", "pin": "must"}],
            "tiers": [{"name": "ssd", "spaces": [FAST]}, {"name": "hdd", "spaces": [SLOW]}],
            "sample_every": "0.2s",
            "policy": {"minimum_history": "0s"},
        },
    )


@pytest.mark.parametrize("text", ["sys.dm_db_index_operational_stats", "sys.partitions AS p"])
def test_one_interrupt_ends_a_long_statement(site: Site, lab: Lab, text: str) -> None:
    """A sample or a catalog that does not end: it is cancelled, the command ends with 130, and no session stays."""
    with lab.stopped_at(text):
        process = site.start("run", "--once")
        wait_until(lab.instance.stopped.is_set, "the statement runs")
        process.send_signal(signal.SIGINT)
        done = finish(process)
        assert (done.code, done.err.splitlines()[-1]) == (130, "error: interrupted"), done
        wait_until(lambda: not lab.instance.sessions, "the server noticed")


@pytest.mark.by_turns
def test_one_interrupt_ends_a_move(site: Site, lab: Lab, orders: Table) -> None:
    """The build is cancelled and rolled back, and the move stays approved for the next run."""
    number, digest = site.propose()
    site.good("approve", str(number), "--digest", digest)
    with lab.slow(SECONDS_OF_A_BUILD):
        process = site.start("run", "--once")
        wait_until(lambda: building(lab), "it builds")
        process.send_signal(signal.SIGINT)
        done = finish(process)
    assert (done.code, done.err.splitlines()[-1]) == (130, "error: interrupted"), done
    assert [move["state"] for move in site.good("history", "--json").document["moves"]] == ["approved"]
    assert home_of(lab, orders) == SLOW
    site.good("audit", "verify")
