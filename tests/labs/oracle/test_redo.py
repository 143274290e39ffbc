"""Emulated server over the plain driver: rule 13, standbys, archived redo, the recovery area; without any connector."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.labs.oracle.harness import AGENT, OWNER, OracleHarness, running_harness
from tests.labs.oracle.model import Quirks
from tests.labs.oracle.redo import GB

STATES = (
    "SELECT dest_id, type, archived_seq#, applied_seq#, gap_status, synchronized FROM v$archive_dest_status "
    "WHERE status <> 'INACTIVE' ORDER BY dest_id"
)
LAGS = "SELECT name, value, unit FROM v$dataguard_stats WHERE name LIKE '%lag' ORDER BY name"
AREA = "SELECT space_limit, space_used, space_reclaimable FROM v$recovery_file_dest"


@pytest.fixture
def lab() -> Iterator[OracleHarness]:
    """A primary of 19c that feeds two standbys."""
    with running_harness("redo", quirks=Quirks(standbys=2)) as running:
        yield running


def answer(lab: OracleHarness, query: str) -> list[tuple[Any, ...]]:
    """Rows of a query of the agent's."""
    with lab.session(AGENT) as session:
        return list(session.cursor().execute(query))


def test_a_primary_knows_logs_and_no_lags(lab: OracleHarness) -> None:
    """Rule 13a: V$DATAGUARD_STATS is empty there; what each standby received and applied is told by log sequence."""
    lab.database.set_destination(2, logs_not_received=5, logs_not_applied=2, gap_status="RESOLVABLE GAP")
    lab.database.set_destination(3, synchronous=True)
    assert answer(lab, LAGS) == []
    assert answer(lab, STATES) == [
        (1, "LOCAL", 99, 0, None, "NO"),
        (2, "PHYSICAL", 94, 92, "RESOLVABLE GAP", "NO"),
        (3, "PHYSICAL", 99, 99, "NO GAP", "YES"),
    ]
    modes = "SELECT dest_id, transmit_mode, affirm FROM v$archive_dest WHERE target = 'STANDBY' ORDER BY dest_id"
    assert answer(lab, modes) == [(2, "ASYNCHRONOUS", "NO"), (3, "PARALLELSYNC", "YES")]


def test_a_standby_tells_its_lags_as_intervals() -> None:
    """Rule 13b: text of days and a time of day; NULL as long as nothing is known."""
    with running_harness("standby", quirks=Quirks(role="PHYSICAL STANDBY")) as lab:
        lab.database.set_redo(transport_lag=5, apply_lag=90_061)
        unit = "day(2) to second(0) interval"
        assert answer(lab, LAGS) == [("apply lag", "+01 01:01:01", unit), ("transport lag", "+00 00:00:05", unit)]
        lab.database.set_redo(apply_lag=None)
        assert answer(lab, LAGS)[0][1] is None


def test_redo_fills_logs_and_the_recovery_area(lab: OracleHarness) -> None:
    """Rule 13c: full logs of 512 MB are archived into the area; the current one is not there yet."""
    before = answer(lab, AREA)
    lab.database.commit_transactions(5, redo_bytes=GB // 4)
    assert answer(lab, STATES)[0][2] == 101
    assert answer(lab, AREA) == [(before[0][0], before[0][1] + GB, 0)]
    current = "SELECT sequence#, bytes FROM v$log WHERE status = 'CURRENT'"
    assert answer(lab, current) == [(102, GB // 2)]
    usage = "SELECT percent_space_used FROM v$recovery_area_usage WHERE file_type = 'ARCHIVED LOG'"
    assert answer(lab, usage) == [(2.0,)]


def test_a_move_is_redo(lab: OracleHarness) -> None:
    """Rule 13c: what a logged move copies is written, archived, and has to reach the standbys."""
    lab.database.set_redo(log_bytes=4 << 20)
    lab.database.add_table(OWNER, "ORDERS", "SLOW", 16 << 20)
    before = answer(lab, AREA)[0][1]
    with lab.session(AGENT) as session:
        session.cursor().execute(f"ALTER TABLE {OWNER}.ORDERS MOVE TABLESPACE FAST")
    assert answer(lab, AREA)[0][1] - before == 16 << 20
    assert answer(lab, STATES)[1][2] == 99 + 4


def test_a_standby_falls_behind_while_a_move_runs(lab: OracleHarness) -> None:
    """Rule 13c: half of 16 MB of redo waits to be sent, two of four logs: a standby synchronous no longer."""
    lab.database.set_redo(log_bytes=4 << 20)
    lab.database.set_destination(2, unsent_share=0.5, synchronous=True)
    lab.database.add_table(OWNER, "ORDERS", "SLOW", 16 << 20)
    with lab.session(AGENT) as session:
        session.cursor().execute(f"ALTER TABLE {OWNER}.ORDERS MOVE TABLESPACE FAST")
    assert answer(lab, STATES)[1] == (2, "PHYSICAL", 101, 101, "NO GAP", "NO")
    lab.database.set_destination(2, unsent_share=0.0, unsent=0.0)
    assert answer(lab, STATES)[1] == (2, "PHYSICAL", 103, 103, "NO GAP", "YES")


def test_without_a_recovery_area_there_is_no_row(lab: OracleHarness) -> None:
    """Rule 13d: the archive goes into a folder, whose room no view tells."""
    lab.database.set_redo(area_limit=0)
    assert answer(lab, AREA) == []
    assert answer(lab, "SELECT destination FROM v$archive_dest WHERE dest_id = 1") == [("/u01/arch",)]
