"""Rules of real servers about routines, extents and blocks of rows, over IBM's real driver; numbers as in README.md."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.labs.db2.client import Db2
from tests.labs.db2.conftest import connect, end, refused, rows
from tests.labs.db2.server import BLIND

pytestmark = [pytest.mark.db2, pytest.mark.xdist_group("db2")]
TABLES = "SELECT T.TABNAME FROM TABLE(SYSPROC.MON_GET_TABLE('', '', -2)) AS T WITH UR"
GRANT = "GRANT EXECUTE ON {} TO USER BLIND"
ELEVEN = ", ".join(["VARCHAR(128)"] * 5 + ["VARCHAR(32672)"] * 5 + ["VARCHAR(128)"])


@pytest.fixture
def blind(db2: Db2) -> Iterator[Any]:
    """A session of a user who may not execute MON_GET_TABLE."""
    connection = connect(db2, BLIND.name, BLIND.password)
    yield connection
    end(connection)


def test_emulated_server_rule_05_a_function_without_execute_is_not_found(session: Any, blind: Any) -> None:
    """SQL0440N, not SQL0551N, though the catalog has it and the name is right; after the GRANT it answers."""
    assert "SQL0440N" in refused(blind, TABLES)
    query = "SELECT R.ROUTINETYPE FROM SYSCAT.ROUTINES AS R WHERE R.ROUTINENAME = ? WITH UR"
    assert rows(blind, query, "MON_GET_TABLE") == [("F",)]
    assert rows(blind, query, "MON_GET_NOTHING") == []
    rows(session, GRANT.format("FUNCTION SYSPROC.MON_GET_TABLE"))
    assert rows(blind, TABLES)


@pytest.mark.parametrize(
    ("routine", "code"),
    [
        ("PROCEDURE SYSPROC.ADMIN_MOVE_TABLE", "SQL0476N"),
        ("PROCEDURE SYSPROC.ADMIN_MOVE_TABLE(VARCHAR(128))", "SQL0204N"),
        ("FUNCTION SYSPROC.MON_GET_NOTHING", "SQL0204N"),
        ("FUNCTION SYSPROC", "SQL0104N"),
    ],
)
def test_emulated_server_rule_05_what_has_several_forms_needs_a_signature(
    session: Any, blind: Any, routine: str, code: str
) -> None:
    """ADMIN_MOVE_TABLE has two forms: a GRANT names the types of one."""
    assert code in refused(session, GRANT.format(routine))
    rows(session, GRANT.format(f"PROCEDURE SYSPROC.ADMIN_MOVE_TABLE({ELEVEN})"))
    assert "SQL0552N" in refused(blind, GRANT.format("FUNCTION SYSPROC.MON_GET_TABLE"))


def test_emulated_server_rule_07_objects_take_whole_extents(db2: Db2, session: Any, table: str) -> None:
    """Ten tables of one page with an index of one: 20 objects, each an extent of pages and one of its map."""
    query = "SELECT S.TBSP_USED_PAGES FROM TABLE(SYSPROC.MON_GET_TABLESPACE(?, -2)) AS S WITH UR"
    ((before,),) = rows(session, query, table)
    for number in range(10):
        db2.lab.create_table("APP", f"SMALL{number}", f"SMALL{number}_PK", table, 1)
    try:
        assert rows(session, query, table) == [(before + 20 * 2 * 32,)]
        told = "SELECT SUM(T.DATA_OBJECT_L_PAGES + T.INDEX_OBJECT_L_PAGES) FROM TABLE(SYSPROC.MON_GET_TABLE"
        assert rows(session, f"{told}('APP', '', -2)) AS T WHERE T.TABNAME LIKE 'SMALL%' WITH UR") == [(20,)]
    finally:
        for number in range(10):
            db2.lab.drop_table("APP", f"SMALL{number}")


def test_emulated_server_rule_08_a_line_cut_between_blocks_is_a_plain_exception(db2: Db2, session: Any) -> None:
    """The first rows are there; fetching on raises Exception itself, which is no error of ibm_db_dbi."""
    import ibm_db_dbi

    rows(session, "CREATE TABLE APP_BLOCKS (N INTEGER, C VARCHAR(300))")
    values = ", ".join(f"({n}, CAST('{n % 10}' AS VARCHAR(300)))" for n in range(45))
    rows(session, f"INSERT INTO APP_BLOCKS VALUES {values}")
    cursor = session.cursor()
    cursor.execute(f"SELECT '{'x' * 299}' || A.C FROM APP_BLOCKS AS A, APP_BLOCKS AS B")
    before = db2.lab.behave(cut_between_blocks=True)
    try:
        assert len(cursor.fetchmany(10)) == 10
        with pytest.raises(Exception, match=r"\S") as caught:
            _fetch_all(cursor)
    finally:
        db2.lab.behave(**before)
    assert not isinstance(caught.value, ibm_db_dbi.Error)
    assert type(caught.value) is Exception


def _fetch_all(cursor: Any) -> None:
    while cursor.fetchmany(100):
        pass
