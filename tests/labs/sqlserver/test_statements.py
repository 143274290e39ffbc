"""Rule 18: what Query Store and the plan cache remember of statements."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.labs.sqlserver.conftest import Ask
from tests.labs.sqlserver.instance import Account
from tests.labs.sqlserver.lab import Lab, running_lab
from tests.labs.sqlserver.statements_kept import Run
from tests.labs.sqlserver.test_small_rules import number
from tests.labs.sqlserver.world import add_table

LOOK, OTHER = "SELECT * FROM dbo.orders WHERE id = @1", "SELECT COUNT(*) FROM dbo.orders"
STORED = (
    "SELECT t.query_sql_text, SUM(s.count_executions), SUM(s.avg_duration * s.count_executions) "
    "FROM sys.query_store_runtime_stats AS s JOIN sys.query_store_plan AS p ON p.plan_id = s.plan_id "
    "JOIN sys.query_store_query AS q ON q.query_id = p.query_id "
    "JOIN sys.query_store_query_text AS t ON t.query_text_id = q.query_text_id "
    "WHERE s.execution_type = 0 GROUP BY t.query_sql_text ORDER BY t.query_sql_text"
)
CACHED = (
    "SELECT t.text, s.execution_count, s.total_elapsed_time, s.total_physical_reads "
    "FROM sys.dm_exec_query_stats AS s CROSS APPLY sys.dm_exec_sql_text(s.sql_handle) AS t ORDER BY t.text"
)
ALLOWED = {
    "server": Account("server", "right", server_rights=frozenset({"VIEW SERVER STATE"})),
    "database": Account("database", "right", database_rights=frozenset({"VIEW DATABASE STATE"})),
    "nothing": Account("nothing", "right"),
}


@pytest.fixture(autouse=True)
def _load(lab: Lab) -> None:
    """100 look-ups that take 8.05 ms each, and a scan of 80 pages in two pieces of 4 ms."""
    lab.shop.statements.switch("READ_WRITE")
    partition = add_table(lab.shop, "orders", pages=80).base.partitions[0]
    lab.instance.read_randomly(lab.shop, partition, 100, by=LOOK)
    lab.instance.scan(lab.shop, partition, by=OTHER)


def test_query_store_has_averages_of_microseconds(ask: Ask) -> None:
    """Times executions they are the whole; texts, queries and plans are views of their own."""
    assert ask(STORED) == [(LOOK, 100, 805_000.0), (OTHER, 1, 8_000.0)]
    ((pages, waited),) = ask(
        "SELECT s.avg_physical_io_reads, w.total_query_wait_time_ms FROM sys.query_store_runtime_stats AS s "
        "JOIN sys.query_store_wait_stats AS w ON w.plan_id = s.plan_id WHERE s.count_executions = 100 "
        "AND w.runtime_stats_interval_id = s.runtime_stats_interval_id AND w.wait_category_desc = 'Buffer IO'"
    )
    assert (pages, waited) == (1.0, 800)


def test_the_plan_cache_has_totals(ask: Ask) -> None:
    """The same executions, added up since the plan came into the cache."""
    assert ask(CACHED) == [(LOOK, 100, 805_000, 100), (OTHER, 1, 8_000, 80)]


def test_an_interval_may_have_two_rows(lab: Lab, ask: Ask) -> None:
    """Before and after a flush: who takes one of them for the interval counts too little; the next has its own."""
    store = lab.shop.statements
    store.flush()
    store.run(LOOK, Run(executions=10, elapsed=1_000))
    rows = "SELECT s.runtime_stats_interval_id, s.count_executions FROM sys.query_store_runtime_stats AS s "
    rows += "JOIN sys.query_store_plan AS p ON p.plan_id = s.plan_id WHERE p.query_id = 1 ORDER BY s.runtime_stats_id"
    assert ask(rows) == [(1, 100), (1, 10)]
    store.next_interval()
    store.run(LOOK, Run(executions=5, elapsed=500))
    assert ask(rows)[2:] == [(2, 5)]
    times = ask("SELECT i.start_time, i.end_time FROM sys.query_store_runtime_stats_interval AS i ORDER BY 1")
    assert times[0][1] == times[1][0]


def test_a_new_plan_is_another_row(lab: Lab, ask: Ask) -> None:
    """The same query by another plan: a plan_id and a row of the cache of its own, with the same query_hash."""
    lab.shop.statements.run(LOOK, Run(executions=1, elapsed=90_000), plan=2)
    assert ask("SELECT COUNT(*) FROM sys.query_store_plan AS p WHERE p.query_id = 1") == [(2,)]
    found = ask("SELECT s.query_hash, s.query_plan_hash FROM sys.dm_exec_query_stats AS s WHERE s.total_rows <> 80")
    by_query = [row[0] for row in found]
    assert len({row[1] for row in found}) == len(found)
    assert max(by_query.count(one) for one in by_query) == 2


def test_what_leaves_the_cache_begins_anew(lab: Lab, ask: Ask) -> None:
    """Counters fall, and creation_time is later; Query Store goes on. A restart empties the cache."""
    lab.shop.statements.evict(LOOK)
    assert [row[0] for row in ask(CACHED)] == [OTHER]
    lab.shop.statements.run(LOOK, Run(executions=1, elapsed=8_000))
    assert ask(CACHED)[0][1] == 1
    assert ask(STORED)[0][1] == 101
    lab.instance.restart()
    assert ask(CACHED) == []
    assert len(ask(STORED)) == 2


@pytest.mark.parametrize("actual", ["OFF", "READ_ONLY"])
def test_a_store_that_does_not_write_keeps_what_it_had(lab: Lab, ask: Ask, actual: str) -> None:
    """Wanted READ_WRITE, and full: actual_state and readonly_reason say so; only the cache goes on."""
    lab.shop.statements.switch("OFF" if actual == "OFF" else "READ_WRITE", actual)
    lab.shop.statements.run(LOOK, Run(executions=7, elapsed=700))
    assert ask(STORED)[0][1] == 100
    assert ask(CACHED)[0][1] == 107
    options = "SELECT o.actual_state_desc, o.readonly_reason FROM sys.database_query_store_options AS o"
    assert ask(options) == [(actual, 0 if actual == "OFF" else 65536)]


@pytest.mark.parametrize(("who", "store", "cache"), [("server", 0, 0), ("database", 0, 297), ("nothing", 297, 297)])
def test_rights(lab: Lab, number_of: Callable[..., int], who: str, store: int, cache: int) -> None:
    """Query Store opens to VIEW DATABASE STATE, the plan cache to VIEW SERVER STATE only; 297 comes last."""
    account = ALLOWED[who]
    lab.instance.accounts[account.name] = account
    assert number_of(STORED, account=account) == store
    assert number_of(CACHED, account=account) == cache


def test_before_2016_there_is_no_store() -> None:
    """208: the views came with 2016, their waits with 2017."""
    with running_lab(major=12) as old:
        assert number(old, "SELECT 1 FROM sys.query_store_query") == 208
    with running_lab(major=13) as old:
        assert number(old, "SELECT 1 FROM sys.query_store_wait_stats") == 208
        assert number(old, "SELECT 1 FROM sys.query_store_query") == 0
