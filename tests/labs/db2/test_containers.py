"""Containers of the emulated server, over IBM's real driver: swapped, converted, and left half-way."""

from __future__ import annotations

from typing import Any

import pytest

from tests.labs.db2.client import Db2
from tests.labs.db2.conftest import refused, rows

pytestmark = [pytest.mark.db2, pytest.mark.xdist_group("db2")]
REBALANCES = "SELECT R.REBALANCER_STATUS FROM TABLE(SYSPROC.MON_GET_REBALANCE_STATUS('', -2)) AS R WITH UR"


def test_emulated_server_swaps_containers_in_two_passes(db2: Db2, session: Any) -> None:
    """ADD and DROP of a DMS space: both sets of files until the rebalance ends, then the new ones; undone likewise."""
    db2.lab.create_dms("DMS", {"/db2/slow/a": 400, "/db2/slow/b": 400})
    db2.lab.create_table("APP", "INDMS", "INDMS_PK", "DMS", 500)
    mode = "SELECT T.TBSP_REBALANCER_MODE, T.TBSP_USING_AUTO_STORAGE FROM TABLE(MON_GET_TABLESPACE('DMS', -2)) AS T"
    before = db2.lab.behave(extents_per_second=0.01)
    swap = "ALTER TABLESPACE DMS ADD (FILE '/db2/fast/a' 400, FILE '/db2/fast/b' 400) DROP (FILE '/db2/slow/a', {})"
    try:
        assert "SQL0298N" in refused(session, swap.format("FILE '/db2/slow/c'"))
        assert "SQL20170N" in refused(session, "ALTER TABLESPACE DMS DROP (FILE '/db2/slow/a')")
        assert "SQL0294N" in refused(session, "ALTER TABLESPACE DMS ADD (FILE '/db2/slow/a' 100)")
        assert "SQL0968C" in refused(session, "ALTER TABLESPACE DMS ADD (FILE '/db2/fast/x' 1000000)")
        assert "SQL0104N" in refused(session, "ALTER TABLESPACE DMS ADD (DISK '/db2/fast/x' 10)")
        rows(session, swap.format("FILE '/db2/slow/b'"))
        assert rows(session, mode) == [("FWD_REBAL_OF_2PASS", 0)]
        assert sorted(db2.lab.containers("DMS")) == ["/db2/fast/a", "/db2/fast/b", "/db2/slow/a", "/db2/slow/b"]
        db2.lab.behave(extents_per_second=1e9)
        assert sorted(db2.lab.containers("DMS")) == ["/db2/fast/a", "/db2/fast/b"]
        assert rows(session, mode) == [("NO_REBAL", 0)]
    finally:
        db2.lab.behave(**before)
        db2.lab.drop_table("APP", "INDMS")
        db2.lab.drop_space("DMS")


def test_emulated_server_converts_to_automatic_storage(db2: Db2, session: Any) -> None:
    """A hybrid until REBALANCE, whose old files then go; afterwards nothing adds a file any more."""
    db2.lab.create_dms("DMS", {"/db2/slow/a": 700})
    seen = (
        "SELECT T.TBSP_USING_AUTO_STORAGE, T.AUTO_STORAGE_HYBRID, T.STORAGE_GROUP_NAME"
        " FROM TABLE(MON_GET_TABLESPACE('DMS', -2)) AS T WITH UR"
    )
    try:
        assert rows(session, seen) == [(0, 0, None)]
        rows(session, "ALTER TABLESPACE DMS MANAGED BY AUTOMATIC STORAGE USING STOGROUP FAST")
        assert rows(session, seen) == [(1, 1, "FAST")]
        assert sorted(db2.lab.containers("DMS")) == ["/db2/fast", "/db2/slow/a"]
        rows(session, "ALTER TABLESPACE DMS REBALANCE")
        assert db2.lab.containers("DMS") == ["/db2/fast"]
        assert rows(session, seen) == [(1, 0, "FAST")]
        assert "SQL20318N" in refused(session, "ALTER TABLESPACE DMS ADD (FILE '/db2/slow/a' 100)")
    finally:
        db2.lab.drop_space("DMS")


def test_emulated_server_a_rebalance_may_fail(db2: Db2, session: Any, table: str) -> None:
    """It ends half-way without a row that says so: old and new containers stay, REBALANCE begins it anew."""
    before = db2.lab.behave(rebalance_fails=True)
    try:
        rows(session, f"ALTER TABLESPACE {table} USING STOGROUP FAST")
        assert rows(session, REBALANCES) == []
        assert db2.lab.containers(table) == ["/db2/fast", "/db2/slow"]
    finally:
        db2.lab.behave(**before)
    rows(session, f"ALTER TABLESPACE {table} REBALANCE")
    assert db2.lab.containers(table) == ["/db2/fast"]
