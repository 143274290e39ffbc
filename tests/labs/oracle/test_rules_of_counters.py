"""Emulated server over the plain driver: what the README numbers about counters, without any connector."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.labs.oracle.harness import AGENT, OWNER, OracleHarness, running_harness
from tests.labs.oracle.model import LoadSession, Segment

MB = 2**20


@pytest.fixture
def lab() -> Iterator[OracleHarness]:
    """Enterprise Edition of 19c."""
    with running_harness("rules of counters") as running:
        yield running


def answer(lab: OracleHarness, query: str) -> list[tuple[object, ...]]:
    """Rows of a query of the agent's."""
    with lab.session(AGENT) as session:
        return list(session.cursor().execute(query))


def counted(lab: OracleHarness, segment: Segment) -> dict[object, object]:
    """Statistics of a segment that are not 0."""
    rows = answer(lab, f"SELECT statistic_name, value FROM v$segstat WHERE obj# = {segment.object_id} AND value > 0")
    return {row[0]: row[1] for row in rows}


def waits(lab: OracleHarness, event: str) -> tuple[object, ...]:
    """How often and how long (microseconds) anything, and sessions alone, waited for it."""
    columns = "total_waits, time_waited_micro, total_waits_fg, time_waited_micro_fg"
    return answer(lab, f"SELECT {columns} FROM v$system_event WHERE event = '{event}'")[0]


def of_the_slow_file(lab: OracleHarness, columns: str) -> list[tuple[object, ...]]:
    """What V$FILESTAT counts of the tablespace SLOW."""
    return answer(
        lab, f"SELECT {columns} FROM v$filestat f JOIN v$datafile d ON d.file# = f.file# WHERE d.name LIKE '%slow%'"
    )


def test_a_lob_is_read_directly_block_by_block(lab: OracleHarness) -> None:
    """Rule 5: requests equal blocks, all of them direct, and each was waited for."""
    table = lab.database.add_table(OWNER, "MAILS", "SLOW", MB)
    body = lab.database.add_lob(table, "BODY", "SLOW", MB).segments[0]
    lab.database.read_lob(body, 80, microseconds=6000)
    assert counted(lab, body) == {
        "logical reads": 80,
        "physical reads": 80,
        "physical reads direct": 80,
        "physical read requests": 80,
    }
    assert waits(lab, "direct path read") == (80, 480_000, 80, 480_000)
    assert of_the_slow_file(lab, "phyrds, singleblkrds") == [(80, 0)]
    assert answer(lab, "SELECT cache FROM dba_lobs WHERE column_name = 'BODY'") == [("NO",)]


def test_a_cluster_has_a_segment_and_its_tables_have_none(lab: OracleHarness) -> None:
    """Rule 8: a row of V$SEGSTAT under the cluster's own object, of type CLUSTER."""
    cluster = lab.database.add_cluster(OWNER, "CLU", "SLOW", MB, ("ONE", "TWO"))
    lab.database.read_randomly(cluster, 7)
    assert answer(lab, "SELECT segment_name, segment_type FROM dba_segments") == [("CLU", "CLUSTER")]
    assert answer(lab, "SELECT cluster_name FROM dba_clusters") == [("CLU",)]
    tables = "SELECT table_name FROM dba_tables WHERE cluster_name = 'CLU' ORDER BY 1"
    assert answer(lab, tables) == [("ONE",), ("TWO",)]
    named = (
        "SELECT o.object_type, s.value FROM v$segstat s JOIN dba_objects o ON o.object_id = s.obj# "
        "WHERE s.statistic_name = 'physical reads' AND s.value > 0"
    )
    assert answer(lab, named) == [("CLUSTER", 7)]


def test_a_nested_table_is_a_table_with_a_segment_of_another_type(lab: OracleHarness) -> None:
    """Rule 8: NESTED TABLE in DBA_SEGMENTS, TABLE in DBA_OBJECTS, its parent in DBA_NESTED_TABLES."""
    notes = lab.database.add_table(OWNER, "NOTES", "SLOW", MB)
    nested = lab.database.add_nested_table(notes, "NOTES_NT", "SLOW", MB)
    lab.database.read_randomly(nested.segments[0], 3)
    types = (
        "SELECT s.segment_type, o.object_type FROM dba_segments s JOIN dba_objects o ON o.object_name = s.segment_name "
        "WHERE s.segment_name = 'NOTES_NT'"
    )
    assert answer(lab, types) == [("NESTED TABLE", "TABLE")]
    assert answer(lab, "SELECT parent_table_name FROM dba_nested_tables") == [("NOTES",)]
    assert counted(lab, nested.segments[0])["physical reads"] == 3


def test_a_lob_index_counts_its_own_reads(lab: OracleHarness) -> None:
    """Rule 8: LOBINDEX in DBA_SEGMENTS, INDEX in DBA_OBJECTS, named by DBA_LOBS."""
    notes = lab.database.add_table(OWNER, "NOTES", "SLOW", MB)
    index = lab.database.add_lob(notes, "BODY", "SLOW", MB).indexes[0]
    lab.database.read_randomly(index, 9)
    query = (
        "SELECT l.column_name, s.segment_type, o.object_type, c.value FROM dba_lobs l "
        "JOIN dba_segments s ON s.segment_name = l.index_name JOIN dba_objects o ON o.object_name = l.index_name "
        "JOIN v$segstat c ON c.obj# = o.object_id WHERE c.statistic_name = 'physical reads'"
    )
    assert answer(lab, query) == [("BODY", "LOBINDEX", "INDEX", 9)]


def test_background_reads_are_in_no_column_of_sessions(lab: OracleHarness) -> None:
    """Rule 9f: TIME_WAITED_MICRO has them, TIME_WAITED_MICRO_FG has not; the file counts both."""
    table = lab.database.add_table(OWNER, "CARDS", "SLOW", MB)
    lab.database.read_randomly(table.segments[0], 10, microseconds=6000)
    lab.database.read_behind("SLOW", 90, microseconds=6000)
    assert waits(lab, "db file sequential read") == (100, 600_000, 10, 60_000)
    assert of_the_slow_file(lab, "singleblkrds") == [(100,)]


def test_a_session_tells_what_it_does_and_since_when(lab: OracleHarness) -> None:
    """Rule 16: in a call by whole seconds, in a wait by microseconds."""
    lab.database.load_sessions = [
        LoadSession(active=True, event="db file sequential read", seconds=1.7, transaction=True),
        LoadSession(seconds=0.25, program="oracle@host (P003)"),
    ]
    columns = "status, event, last_call_et, wait_time_micro, CASE WHEN taddr IS NULL THEN 0 ELSE 1 END, program"
    assert answer(lab, f"SELECT {columns} FROM v$session WHERE username = 'SHOP' ORDER BY sid") == [
        ("ACTIVE", "db file sequential read", 1, 1_700_000, 1, "till@desk"),
        ("INACTIVE", "SQL*Net message from client", 0, 250_000, 0, "oracle@host (P003)"),
    ]
    lab.database.statistics[0]["CPU used by this session"] += 250
    assert answer(lab, "SELECT value FROM v$sysstat WHERE name = 'CPU used by this session'") == [(250,)]
