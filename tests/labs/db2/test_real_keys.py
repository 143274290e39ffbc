"""Rules of real servers about foreign keys and a move around them, over IBM's real driver; numbers as in README.md."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.labs.db2.client import Db2
from tests.labs.db2.conftest import connect, end, refused, rows
from tests.labs.db2.server import LOOKER

pytestmark = [pytest.mark.db2, pytest.mark.xdist_group("db2")]
KEYS = (
    "SELECT R.TABNAME, R.REFTABNAME, R.REFKEYNAME, R.COLCOUNT, R.DELETERULE, R.UPDATERULE FROM SYSCAT.REFERENCES AS R "
    "WHERE R.CONSTNAME = ? WITH UR"
)
COUNTS = "SELECT T.PARENTS, T.CHILDREN, T.SELFREFS FROM SYSCAT.TABLES AS T WHERE T.TABNAME = ? WITH UR"
ADD = (
    'ALTER TABLE APP.{}_LINES ADD CONSTRAINT "Of Order" FOREIGN KEY (PARENT_ID) REFERENCES APP.{} (C0) '
    "ON DELETE CASCADE"
)
DROP = 'ALTER TABLE APP.{}_LINES DROP CONSTRAINT "Of Order"'


@pytest.fixture
def lines(db2: Db2, table: str) -> Iterator[str]:
    """A table that refers to ``table``."""
    name = f"{table}_LINES"
    db2.lab.create_table("APP", name, f"{name}_PK", table, 64)
    db2.lab.add_foreign_key(name, table, "Of Order", on_delete="C")
    yield name
    db2.lab.drop_table("APP", name)


def move(table: str, phase: str = "MOVE") -> str:
    """To the fast storage."""
    spaces = "'TS_FAST','TS_FAST','TS_FAST'"
    return f"CALL SYSPROC.ADMIN_MOVE_TABLE('APP','{table}',{spaces},'','','','','','{phase}')"


def test_emulated_server_rule_12_the_catalog_tells_foreign_keys(session: Any, table: str, lines: str) -> None:
    """Both tables, the parent's key, the rules; columns and whether it is enforced stand in views of their own."""
    assert rows(session, KEYS, "Of Order") == [(lines, table, f"{table}_PK", 1, "C", "A")]
    assert (rows(session, COUNTS, lines), rows(session, COUNTS, table)) == ([(1, 0, 0)], [(0, 1, 0)])
    query = "SELECT K.COLNAME, K.COLSEQ FROM SYSCAT.KEYCOLUSE AS K WHERE K.CONSTNAME = ? WITH UR"
    assert rows(session, query, "Of Order") == [("PARENT_ID", 1)]
    query = "SELECT C.TYPE, C.ENFORCED, C.ENABLEQUERYOPT FROM SYSCAT.TABCONST AS C WHERE C.CONSTNAME = ? WITH UR"
    assert rows(session, query, "Of Order") == [("F", "Y", "Y")]
    query = "SELECT C.COLNO FROM SYSCAT.COLUMNS AS C WHERE C.TABNAME = ? AND C.COLNAME = 'PARENT_ID' WITH UR"
    assert rows(session, query, lines) == [(1,)]


def test_emulated_server_rule_12_informational_keys_say_so(db2: Db2, session: Any, table: str, lines: str) -> None:
    """NOT ENFORCED NOT TRUSTED is a key that ADMIN_MOVE_TABLE meets too."""
    rows(session, DROP.format(table))
    rows(session, f"{ADD.format(table, table)} NOT ENFORCED NOT TRUSTED DISABLE QUERY OPTIMIZATION")
    query = (
        "SELECT C.ENFORCED, C.TRUSTED, C.ENABLEQUERYOPT FROM SYSCAT.TABCONST AS C WHERE C.TABNAME = ? AND C.TYPE = 'F'"
    )
    assert rows(session, f"{query} WITH UR", lines) == [("N", "N", "N")]
    assert "SQL2104N" in refused(session, move(lines, "INIT"))


def test_emulated_server_rule_12_neither_end_of_a_key_moves(db2: Db2, session: Any, table: str, lines: str) -> None:
    """INIT refuses parent and child; dropped, moved and added again they are as they were, in another space."""
    before = rows(session, KEYS, "Of Order")
    for end_of_key in (table, lines):
        assert "SQL2104N" in refused(session, move(end_of_key, "INIT"))
    rows(session, DROP.format(table))
    assert rows(session, KEYS, "Of Order") == []
    rows(session, move(lines))
    rows(session, ADD.format(table, table))
    assert (db2.lab.home("APP", lines)[0], rows(session, KEYS, "Of Order")) == ("TS_FAST", before)


def test_emulated_server_rule_12_a_table_that_refers_to_itself(db2: Db2, session: Any, table: str) -> None:
    """One key, counted on both sides and as a reference to itself."""
    db2.lab.add_foreign_key(table, table, "Manager")
    assert rows(session, COUNTS, table) == [(1, 1, 1)]
    assert "SQL2104N" in refused(session, move(table, "INIT"))


def test_emulated_server_rule_12_a_server_that_takes_keys_along(db2: Db2, session: Any, table: str, lines: str) -> None:
    """Whether some version does is not known, so the lab plays both: here the key is there after the move."""
    before = db2.lab.behave(moves_keys=True)
    rows(session, move(lines))
    db2.lab.behave(**before)
    assert rows(session, KEYS, "Of Order") == [(lines, table, f"{table}_PK", 1, "C", "A")]


def test_emulated_server_rule_12_what_was_written_without_the_key_keeps_it_out(
    db2: Db2, session: Any, table: str, lines: str
) -> None:
    """Rows without a parent: SQL0667N, and nothing was added; NOT ENFORCED checks nothing."""
    rows(session, DROP.format(table))
    db2.lab.alter_table("APP", lines, orphans=1)
    assert "SQL0667N" in refused(session, ADD.format(table, table))
    assert rows(session, KEYS, "Of Order") == []
    rows(session, f"{ADD.format(table, table)} NOT ENFORCED")
    db2.lab.alter_table("APP", lines, orphans=0)
    rows(session, DROP.format(table))
    rows(session, ADD.format(table, table))


def test_emulated_server_rule_12_both_tables_are_locked(db2: Db2, session: Any, table: str, lines: str) -> None:
    """Who reads the parent keeps the key from being dropped: SQL0911N, reason 68; it can be tried again."""
    db2.lab.lock("APP", table, True)
    try:
        assert "SQL0911N" in refused(session, DROP.format(table))
    finally:
        db2.lab.lock("APP", table, False)
    rows(session, DROP.format(table))


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("ALTER TABLE APP.{}_LINES DROP FOREIGN KEY NOTHING", "SQL0204N"),
        (ADD, "SQL0601N"),
        ("ALTER TABLE APP.{}_LINES ADD FOREIGN KEY (PARENT_ID) REFERENCES APP.{} (OTHER)", "SQL0573N"),
        ("ALTER TABLE APP.NOTHING{} ADD FOREIGN KEY (PARENT_ID) REFERENCES APP.{} (C0)", "SQL0204N"),
        ("ALTER TABLE APP.{}_LINES ADD FOREIGN KEY PARENT_ID", "SQL0104N"),
    ],
)
def test_emulated_server_rule_12_what_it_refuses(
    session: Any, table: str, lines: str, statement: str, code: str
) -> None:
    """By its number, and the key stays."""
    assert code in refused(session, statement.format(table, table))
    assert len(rows(session, KEYS, "Of Order")) == 1


def test_emulated_server_rule_12_needs_rights_on_the_table(db2: Db2, table: str, lines: str) -> None:
    """Who may only read alters nothing."""
    connection = connect(db2, LOOKER.name, LOOKER.password)
    assert "SQL0551N" in refused(connection, DROP.format(table))
    end(connection)
