"""Counters of single statements (emulated server): Query Store in its states, by version, over plans and flushes."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from connectors.kit.findings import Severity
from connectors.kit.statements import ReadsStatements, StatementCounters
from connectors.sqlserver.connector import SqlserverConnector
from tests.labs.sqlserver.lab import Lab, running_lab
from tests.labs.sqlserver.statements_kept import Run
from tests.labs.sqlserver.world import add_table
from tests.labs.tds.drivers import OdbcDriver
from tests.sqlserver.connected import connected

pytestmark = pytest.mark.by_turns
LOOK = 'SELECT * FROM dbo.orders WHERE id = 17 AND name = "Mrs Robinson"'


def looked_up(lab: Lab) -> None:
    """100 look-ups of 5 ms reading and a little more each, with Query Store on."""
    lab.shop.statements.switch("READ_WRITE")
    lab.shop.statements.run(LOOK, Run(executions=100, elapsed=505_000, waited=500_000, pages=100))


def figures(connector: SqlserverConnector) -> tuple[float, ...]:
    """Of the one look-up: executions, seconds, wait, reads."""
    found = counters(connector)
    texts = connector.statement_texts(found.ids)
    (row,) = [at for at, id_ in enumerate(found.ids) if texts.get(id_, "").startswith("SELECT * FROM dbo.orders")]
    return tuple(float(each[row]) for each in (found.executions, found.seconds, found.read_wait, found.reads))


def counters(connector: SqlserverConnector) -> StatementCounters:
    """There are some."""
    assert isinstance(connector, ReadsStatements)
    found = connector.read_statements(1000)
    assert found is not None
    return found


def test_what_a_statement_took(lab: Lab, driver: OdbcDriver, tmp_path: Path) -> None:
    """Over a flush, another plan and the next interval all its executions count once, whatever the rows are."""
    looked_up(lab)
    with connected(lab, driver, tmp_path) as connector:
        assert figures(connector) == pytest.approx((100, 0.505, 0.5, 100))
        before = counters(connector)
        lab.shop.statements.flush()
        lab.shop.statements.run(LOOK, Run(executions=10, elapsed=3_000, waited=2_000, pages=10))
        lab.shop.statements.run(LOOK, Run(executions=1, elapsed=90_000, waited=80_000, pages=7), plan=2)
        lab.shop.statements.next_interval()
        lab.shop.statements.run(LOOK, Run(executions=9, elapsed=2_000, waited=1_000, pages=9))
        assert figures(connector) == pytest.approx((120, 0.6, 0.583, 126))
        assert (before.epoch, len(before.epoch)) == (counters(connector).epoch, 10)


def test_no_text_holds_what_a_user_entered(lab: Lab, driver: OdbcDriver, tmp_path: Path) -> None:
    """Double quotes may enclose texts here, so what stands in them goes, too."""
    looked_up(lab)
    with connected(lab, driver, tmp_path) as connector:
        texts = connector.statement_texts([*counters(connector).ids, "0x0000000000000000"])
    assert list(texts.values()) == ["SELECT * FROM dbo.orders WHERE id = ? AND name = ?"]


@pytest.mark.parametrize("state", ["OFF", "READ_ONLY"])
def test_a_store_that_does_not_write_tells_nothing(lab: Lab, driver: OdbcDriver, tmp_path: Path, state: str) -> None:
    """What it had stays readable, and says nothing of now; the doctor says how to switch it on, and what for."""
    looked_up(lab)
    lab.shop.statements.switch(state)
    with connected(lab, driver, tmp_path) as connector:
        assert connector.read_statements(1000) is None
        (finding,) = [each for each in connector.doctor() if each.code == "statements_unseen"]
    assert (finding.severity, state in finding.sentence) == (Severity.INFO, True)
    assert "QUERY_STORE = ON" in finding.remedy


@pytest.mark.parametrize(("major", "known", "timed"), [(11, False, False), (13, True, False), (14, True, True)])
def test_by_version(major: int, known: bool, timed: bool, driver: OdbcDriver, tmp_path: Path) -> None:
    """None before 2016; since then the time of an execution, and since 2017 what it waits for reads."""
    with running_lab(major=major) as lab:
        add_table(lab.shop, "orders", pages=80)
        looked_up(lab)
        with connected(lab, driver, tmp_path) as connector:
            found = connector.read_statements(1000)
            assert (found is not None) == known
            if found is not None:
                assert found.seconds.sum() == pytest.approx(0.505)
                assert math.isnan(found.read_wait.sum()) != timed
            assert ("statements" in {each.code for each in connector.doctor()}) == known
