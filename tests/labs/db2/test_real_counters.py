"""Rules of real servers about counters, over IBM's real driver; numbers as in README.md."""

from __future__ import annotations

from typing import Any

import pytest

from tests.labs.db2.client import Db2
from tests.labs.db2.conftest import rows

pytestmark = [pytest.mark.db2, pytest.mark.xdist_group("db2")]
BY_KIND = ", ".join(f"T.POOL_{kind}_P_READS, T.POOL_ASYNC_{kind}_READS" for kind in ("DATA", "INDEX"))
TIMES = "T.POOL_READ_TIME, T.POOL_ASYNC_READ_TIME, T.PREFETCH_WAIT_TIME, T.PREFETCH_WAITS"


def of_space(session: Any, space: str, columns: str) -> tuple[Any, ...]:
    """Columns of MON_GET_TABLESPACE."""
    return rows(session, f"SELECT {columns} FROM TABLE(SYSPROC.MON_GET_TABLESPACE(?, -2)) AS T WITH UR", space)[0]


def test_emulated_server_rule_01_agents_and_prefetchers_by_kind(db2: Db2, session: Any, table: str) -> None:
    """1,000 look-ups and a scan of 640 pages: agents read 1,000 data and 1,000 index pages, 8 ms each."""
    db2.lab.read_randomly("APP", table, 1_000)
    db2.lab.scan("APP", table)
    assert of_space(session, table, BY_KIND) == (1_640, 640, 1_000, 0)
    read, prefetched, *_ = of_space(session, table, TIMES)
    assert read - prefetched == 2_000 * 8


def test_emulated_server_rule_01_objects_do_not_tell_them_apart(db2: Db2, session: Any, table: str) -> None:
    """A table has the sum of both and its scans, an index its own reads and scans."""
    db2.lab.read_randomly("APP", table, 1_000)
    db2.lab.scan("APP", table)
    query = "SELECT T.OBJECT_DATA_P_READS, T.TABLE_SCANS FROM TABLE(SYSPROC.MON_GET_TABLE('APP', ?, -2)) AS T WITH UR"
    assert rows(session, query, table) == [(1_640, 1)]
    query = "SELECT T.OBJECT_INDEX_P_READS, T.INDEX_SCANS FROM TABLE(SYSPROC.MON_GET_INDEX('APP', ?, -2)) AS T WITH UR"
    assert rows(session, query, table) == [(1_000, 1_000)]


def test_emulated_server_rule_03_waits_for_prefetchers_have_a_time_of_their_own(
    db2: Db2, session: Any, table: str
) -> None:
    """A scan that waits 500 ms for prefetchers: told by the space, and in neither time of reading."""
    db2.lab.scan("APP", table)
    before = of_space(session, table, TIMES)
    db2.lab.scan("APP", table, 0, 500)
    after = of_space(session, table, TIMES)
    assert [now - then for now, then in zip(after, before, strict=True)] == [320, 320, 500, 50]


def test_emulated_server_rule_11_direct_reads_of_a_space_only(db2: Db2, session: Any, table: str) -> None:
    """What a backup reads is in the space's DIRECT_READS, not in the table's."""
    db2.lab.count({"DIRECT_READS": 1_024, "DIRECT_READ_REQS": 1, "DIRECT_READ_TIME": 12}, space=table)
    assert of_space(session, table, "T.DIRECT_READS, T.DIRECT_READ_REQS, T.DIRECT_READ_TIME") == (1_024, 1, 12)
    query = "SELECT T.DIRECT_READS FROM TABLE(SYSPROC.MON_GET_TABLE('APP', ?, -2)) AS T WITH UR"
    assert rows(session, query, table) == [(0,)]
