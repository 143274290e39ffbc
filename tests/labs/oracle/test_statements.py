"""Emulated server over the plain driver: rule 12, what V$SQLSTATS remembers of statements, without any connector."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import oracledb
import pytest

from tests.labs.oracle.harness import AGENT, OWNER, PASSWORD, OracleHarness, running_harness
from tests.labs.oracle.model import Quirks, Segment

LOOK = "SELECT * FROM orders WHERE id = :1"
STATISTICS = (
    "SELECT sql_id, executions, elapsed_time, user_io_wait_time, disk_reads FROM v$sqlstats WHERE sql_text = :1"
)


@pytest.fixture
def lab() -> Iterator[OracleHarness]:
    """Enterprise Edition of 19c."""
    with running_harness("statements") as running:
        yield running


@pytest.fixture
def orders(lab: OracleHarness) -> Segment:
    """Of a table that 100 look-ups have read from storage, each for 5 ms."""
    segment = lab.database.add_table(OWNER, "ORDERS", "SLOW", 2**20).segments[0]
    lab.database.read_randomly(segment, 100, by=LOOK)
    return segment


def answer(lab: OracleHarness, query: str, *values: object, user: str = AGENT) -> list[tuple[Any, ...]]:
    """Rows of a query."""
    with lab.session(user) as session:
        return list(session.cursor().execute(query, values))


def test_counters_are_totals_in_microseconds(lab: OracleHarness, orders: Segment) -> None:
    """100 executions, each 5 ms of waiting and 50 microseconds of a processor; a faster disk shows in the same row."""
    ((name, *before),) = answer(lab, STATISTICS, LOOK)
    assert before == [100, 505_000, 500_000, 100]
    assert len(name) == 13
    lab.database.read_randomly(orders, 100, microseconds=200, by=LOOK)
    assert answer(lab, STATISTICS, LOOK) == [(name, 200, 530_000, 520_000, 200)]


def test_a_text_has_one_row_whatever_its_plans(lab: OracleHarness, orders: Segment) -> None:
    """PLAN_HASH_VALUE is that of the latest; the counters go on."""
    lab.database.run(LOOK, {"EXECUTIONS": 1, "ELAPSED_TIME": 90_000}, plan=2)
    query = "SELECT plan_hash_value, executions FROM v$sqlstats WHERE sql_text = :1"
    assert answer(lab, query, LOOK) == [(2, 101)]


def test_literals_make_texts_but_not_signatures(lab: OracleHarness) -> None:
    """Two texts, two SQL_IDs, one FORCE_MATCHING_SIGNATURE: who wants the statement adds up by it."""
    for value in (1, 2):
        lab.database.run(f"SELECT * FROM orders WHERE id = {value}", {"EXECUTIONS": 1, "ELAPSED_TIME": 10})
    query = (
        "SELECT COUNT(*), COUNT(DISTINCT sql_id), COUNT(DISTINCT exact_matching_signature), "
        "COUNT(DISTINCT force_matching_signature), SUM(executions) FROM v$sqlstats "
        "WHERE sql_text LIKE 'SELECT % FROM o%'"
    )
    assert answer(lab, query) == [(2, 2, 2, 1, 2)]


def test_what_ages_out_begins_anew(lab: OracleHarness, orders: Segment) -> None:
    """The row goes with its counters; when it comes again it counts from nothing. A restart empties all."""
    lab.database.age_out(LOOK)
    assert answer(lab, STATISTICS, LOOK) == []
    lab.database.read_randomly(orders, 3, by=LOOK)
    assert answer(lab, STATISTICS, LOOK)[0][1] == 3
    lab.database.restart()
    assert answer(lab, STATISTICS, LOOK) == []


def test_each_instance_has_its_own() -> None:
    """GV$SQLSTATS has a row an instance; V$SQLSTATS that of the session's."""
    with running_harness("statements of two", quirks=Quirks(instances=2)) as lab:
        for instance in (1, 2):
            lab.database.run(LOOK, {"EXECUTIONS": instance}, instance=instance)
        query = "SELECT inst_id, executions FROM gv$sqlstats ORDER BY inst_id"
        assert answer(lab, query) == [(1, 1), (2, 2)]
        assert answer(lab, "SELECT executions FROM v$sqlstats") == [(1,)]


def test_who_may_read_it(lab: OracleHarness, orders: Segment) -> None:
    """ORA-00942 without a right; SELECT on SYS.V_$SQLSTATS is enough, and no pack is asked for."""
    user = lab.database.add_user("NARROW", PASSWORD)
    with pytest.raises(oracledb.DatabaseError, match="ORA-00942"):
        answer(lab, STATISTICS, LOOK, user="NARROW")
    user.grants.add(("SELECT", "SYS.V_$SQLSTATS"))
    assert answer(lab, STATISTICS, LOOK, user="NARROW")[0][1] == 100
