"""Rules of real servers that decide whether a move is safe, over IBM's real driver; numbers as in README.md."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.labs.db2.client import Db2
from tests.labs.db2.conftest import refused, rows

pytestmark = [pytest.mark.db2, pytest.mark.xdist_group("db2")]
SPACES = ("TS_SMS", "TS_OTHER_GROUP", "TS_SMALL")
HOME = "SELECT T.TBSPACE, T.INDEX_TBSPACE, T.LONG_TBSPACE FROM SYSCAT.TABLES AS T WHERE T.TABNAME = ? WITH UR"


def call(table: str, phase: str, homes: str = "'','',''", options: str = "") -> str:
    """One call of ADMIN_MOVE_TABLE."""
    return f"CALL SYSPROC.ADMIN_MOVE_TABLE('APP','{table}',{homes},'','','','','{options}','{phase}')"


def to(data: str, index: str = "", long: str = "") -> str:
    """Arguments three to five; those that are not given are the first."""
    return f"'{data}','{index or data}','{long or data}'"


@pytest.fixture(autouse=True)
def _spaces(db2: Db2) -> Iterator[None]:
    """A space that the system manages, one of another partition group, and one that may not grow."""
    db2.lab.create_sms("TS_SMS", "/db2/slow/sms")
    for name in SPACES[1:]:
        db2.lab.create_space(name, "FAST")
    db2.lab.alter_space("TS_OTHER_GROUP", partition_group="PG_HISTORY")
    db2.lab.alter_space("TS_SMALL", max_pages=512)
    before = db2.lab.behave(hadr_role="STANDARD", blocknonlogged="NO", swap_deadlocks=False)
    yield
    db2.lab.behave(**before)
    for name in SPACES:
        db2.lab.drop_space(name)


def test_emulated_server_rule_02_a_load_without_a_copy_is_lost_on_the_standby(
    db2: Db2, session: Any, table: str
) -> None:
    """COPY_USE_LOAD alone is NONRECOVERABLE: the rows are in no log. With COPY YES they are in a copy."""
    db2.lab.behave(hadr_role="PRIMARY")
    rows(session, call(table, "INIT", to("TS_FAST"), "COPY_USE_LOAD"))
    rows(session, call(table, "COPY"))
    assert db2.lab.unrecoverable() == [f"APP.{table}"]
    rows(session, call(table, "CANCEL"))


def test_emulated_server_rule_02_a_load_that_leaves_a_copy(db2: Db2, session: Any, table: str) -> None:
    """COPY YES TO a path leaves a copy of the load there, with blocknonlogged too."""
    db2.lab.behave(hadr_role="PRIMARY", blocknonlogged="YES")
    lost = db2.lab.unrecoverable()
    options = 'ALLOW_READ_ACCESS,COPY_USE_LOAD "COPY YES TO /backup/loads", KEEP'
    rows(session, call(table, "INIT", to("TS_FAST"), options))
    rows(session, call(table, "COPY"))
    assert db2.lab.unrecoverable() == lost
    assert db2.lab.status("APP", table) == "REPLAY"
    rows(session, call(table, "CANCEL"))


def test_emulated_server_rule_02_blocknonlogged_refuses_the_load(db2: Db2, session: Any, table: str) -> None:
    """The setting can be read, and COPY fails; what was begun can be cancelled."""
    db2.lab.behave(blocknonlogged="YES")
    query = "SELECT C.\"VALUE\" FROM TABLE(SYSPROC.DB_GET_CFG(-2)) AS C WHERE C.NAME = 'blocknonlogged' WITH UR"
    assert rows(session, query) == [("YES",)]
    rows(session, call(table, "INIT", to("TS_FAST"), "COPY_USE_LOAD"))
    assert "SQL2032N" in refused(session, call(table, "COPY"))
    assert db2.lab.status("APP", table) == "COPY"
    rows(session, call(table, "CANCEL"))


def test_emulated_server_rule_02_options_that_do_not_exist(session: Any, table: str) -> None:
    """A word that is no option, or load options after a comma, end in SQL2105N."""
    for options in ("COPY_USE_LOUD", "COPY_USE_LOAD,COPY YES TO /backup"):
        assert "SQL2105N" in refused(session, call(table, "INIT", to("TS_FAST"), options))


def test_emulated_server_rule_04_spaces_of_one_partition_group(db2: Db2, session: Any, table: str) -> None:
    """Data, indexes and LOBs are in spaces of one database partition group, which SYSCAT.TABLESPACES names."""
    query = "SELECT S.DBPGNAME FROM SYSCAT.TABLESPACES AS S WHERE S.TBSPACE = ? WITH UR"
    assert rows(session, query, "TS_OTHER_GROUP") == [("PG_HISTORY",)]
    assert rows(session, query, table) == [("IBMDEFAULTGROUP",)]
    for homes in (to("TS_OTHER_GROUP", table, table), to(table, "TS_OTHER_GROUP", table), to(table, table, SPACES[1])):
        assert "SQL2104N" in refused(session, call(table, "INIT", homes))
    assert db2.lab.status("APP", table) == ""


def test_emulated_server_rule_06_nothing_stays_behind_in_sms(db2: Db2, session: Any, table: str) -> None:
    """Out of SMS: indexes and LOBs cannot stay there (SQL0284N). Into SMS: they go along (SQL0285N)."""
    query = "SELECT S.TBSPACETYPE FROM SYSCAT.TABLESPACES AS S WHERE S.TBSPACE = ? WITH UR"
    assert rows(session, query, "TS_SMS") == [("S",)]
    assert "SQL0284N" in refused(session, call(table, "INIT", to("TS_FAST", "TS_SMS", "TS_FAST")))
    assert "SQL0284N" in refused(session, call(table, "INIT", to("TS_FAST", "TS_FAST", "TS_SMS")))
    assert "SQL0285N" in refused(session, call(table, "INIT", to("TS_SMS", "TS_FAST", "TS_SMS")))
    for phase, homes in (("INIT", to("TS_SMS")), ("COPY", "'','',''"), ("SWAP", "'','',''"), ("CLEANUP", "'','',''")):
        rows(session, call(table, phase, homes))
    assert rows(session, HOME, table) == [("TS_SMS",) * 3]


@pytest.mark.parametrize("why", ["lock", "deadlock"])
def test_emulated_server_rule_09_a_swap_that_failed_can_be_tried_again(
    db2: Db2, session: Any, table: str, why: str
) -> None:
    """After SQL0911N STATUS is REPLAY, what was copied is there, and the next SWAP ends the move."""
    rows(session, call(table, "INIT", to("TS_FAST")))
    rows(session, call(table, "COPY"))
    db2.lab.lock("APP", table, why == "lock")
    db2.lab.behave(swap_deadlocks=why == "deadlock")
    assert "SQL0911N" in refused(session, call(table, "SWAP"))
    assert db2.lab.status("APP", table) == "REPLAY"
    db2.lab.lock("APP", table, False)
    for phase in ("REPLAY", "SWAP", "CLEANUP"):
        rows(session, call(table, phase))
    assert rows(session, HOME, table) == [("TS_FAST",) * 3]


def test_emulated_server_rule_11_a_space_may_not_grow_beyond_its_limit(db2: Db2, session: Any, table: str) -> None:
    """TBSP_MAX_SIZE in bytes, -1 without a limit; beyond it COPY fails though the storage has room."""
    query = "SELECT S.TBSP_MAX_SIZE FROM TABLE(SYSPROC.MON_GET_TABLESPACE(?, -2)) AS S WITH UR"
    assert rows(session, query, "TS_SMALL") == [(512 * 4096,)]
    assert rows(session, query, "TS_FAST") == [(-1,)]
    rows(session, call(table, "INIT", to("TS_SMALL")))
    assert "SQL0289N" in refused(session, call(table, "COPY"))
    rows(session, call(table, "CANCEL"))
    db2.lab.alter_space("TS_SMALL", max_pages=4096)
    rows(session, call(table, "INIT", to("TS_SMALL")))
    rows(session, call(table, "COPY"))
    rows(session, call(table, "CANCEL"))
