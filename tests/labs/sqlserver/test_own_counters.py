"""Rules 36 to 40: what a session counts of its own reads and waits, and what is in memory after a flush."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.labs.sqlserver.conftest import Ask
from tests.labs.sqlserver.lab import Lab
from tests.labs.sqlserver.world import PROVER, STRANGER, add_scratch

NumberOf = Callable[..., int]
OWN = "SELECT s.reads, s.logical_reads FROM sys.dm_exec_sessions AS s WHERE s.session_id = @@SPID"
WAITED = (
    "SELECT waiting_tasks_count, wait_time_ms FROM sys.dm_exec_session_wait_stats "
    "WHERE session_id = @@SPID AND wait_type = 'PAGEIOLATCH_SH'"
)
OF_OBJECTS = (
    "SELECT i.name, SUM(o.page_io_latch_wait_count), SUM(o.page_io_latch_wait_in_ms) "
    "FROM sys.dm_db_index_operational_stats(DB_ID(), NULL, NULL, NULL) AS o "
    "JOIN sys.indexes AS i ON i.object_id = o.object_id AND i.index_id = o.index_id GROUP BY i.name ORDER BY i.name"
)
KEYS = (
    "(SELECT a.n + 4 * b.n AS n FROM (VALUES (0), (1), (2), (3)) AS a (n) CROSS JOIN (VALUES (0), (1)) AS b (n)) AS g"
)
SEEK = "SELECT SUM(LEN(t.filler)) AS n FROM {keys} JOIN scratch.t AS t WITH (FORCESEEK, INDEX({index})) ON t.id = {key}"
SCAN = "SELECT SUM(LEN(t.filler)) AS n FROM scratch.t AS t WITH (INDEX(0)) OPTION (MAXDOP 1)"
FLUSH = "EXEC dbo.hotplace_flush"


def seek(index: str, key: str = "1 + g.n * 20") -> str:
    """Eight look-ups through an index."""
    return SEEK.format(keys=KEYS, index=index, key=key)


@pytest.fixture
def prover(lab: Lab, ask: Ask) -> Callable[[str], list[tuple[Any, ...]]]:
    """The owner of a scratch schema with a heap of 100 pages, two rows on each, and two indexes; nothing in memory."""
    add_scratch(lab.shop)
    lab.instance.flushers = {PROVER.name}
    ask("CREATE TABLE scratch.t (id int NOT NULL, filler varchar(8000) NOT NULL) ON hdd", account=PROVER)
    rows = "SELECT TOP (200) ROW_NUMBER() OVER (ORDER BY (SELECT NULL)), 'f' FROM sys.all_columns AS a"
    ask(f"INSERT INTO scratch.t (id, filler) {rows}", account=PROVER)
    ask("CREATE UNIQUE INDEX narrow ON scratch.t (id) ON hdd", account=PROVER)
    ask("CREATE UNIQUE INDEX wide ON scratch.t (id) INCLUDE (filler) ON hdd", account=PROVER)
    ask(FLUSH, account=PROVER)
    return lambda sql: ask(sql, account=PROVER)


def test_a_session_counts_its_own_reads_and_waits(ask: Ask, prover: Callable[[str], list[tuple[Any, ...]]]) -> None:
    """Eight look-ups that miss: 8 ms each of the seeking disk, in the session's figures and in the objects'."""
    assert (prover(OWN), prover(WAITED)) == ([(0, 0)], [])
    assert prover(seek("wide")) == [(8,)]
    ((waits, milliseconds),) = prover(WAITED)
    assert prover(OWN)[0][0] == waits > 8  # pages above the leaves, too
    assert (milliseconds, prover(OF_OBJECTS)) == (8 * waits, [("wide", waits, milliseconds)])
    assert ask(WAITED) == []  # another session has its own
    prover(seek("wide"))
    assert prover(WAITED) == [(waits, milliseconds)]  # all of it is in memory
    prover(FLUSH)
    prover(seek("wide"))
    assert prover(WAITED) == [(2 * waits, 2 * milliseconds)]


def test_an_index_that_lacks_the_column_leads_to_the_rows(prover: Callable[[str], list[tuple[Any, ...]]]) -> None:
    """Through the narrow index both it and the heap are read; what is not found reads no row."""
    prover(seek("narrow", "-1 - g.n"))
    assert {row[1] for row in prover(OF_OBJECTS)} == {0}
    prover(seek("narrow"))
    found = {str(name): waits for name, waits, _ in prover(OF_OBJECTS)}
    assert found["None"] == 8
    assert sum(found.values()) == prover(OWN)[0][0]


def test_a_scan_reads_ahead(prover: Callable[[str], list[tuple[Any, ...]]]) -> None:
    """100 pages in two pieces: two waits, and every page among the session's reads."""
    prover(SCAN)
    assert (prover(WAITED), prover(OWN)[0]) == ([(2, 8)], (100, 100))


def test_a_pool_that_fills_reads_extents(lab: Lab, prover: Callable[[str], list[tuple[Any, ...]]]) -> None:
    """Each page that is missing brings in seven more, for which nobody waits."""
    lab.instance.ramps_up = True
    prover(seek("wide"))
    ((waits, _),) = prover(WAITED)
    assert prover(OWN)[0][0] == 8 * waits


def test_who_may_flush(lab: Lab, number_of: NumberOf, prover: Callable[[str], list[tuple[Any, ...]]]) -> None:
    """Whom the DBA lets; where it is not installed there is none."""
    assert number_of(FLUSH, account=STRANGER) == 229
    lab.instance.flushers = set()
    assert number_of(FLUSH, account=PROVER) == 2812
    assert number_of(seek("none"), account=PROVER) == 308
    assert prover(OWN)
