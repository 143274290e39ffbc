"""Rules about tables that statements make, over IBM's real driver: rows and keys are Derby's, places the world's."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.labs.db2.client import Db2, wait_until
from tests.labs.db2.conftest import connect, end, refused, rows
from tests.labs.db2.server import LOOKER, PROVER

pytestmark = [pytest.mark.db2, pytest.mark.xdist_group("db2")]
MAKE = (
    "CREATE TABLE S.T (ID INTEGER NOT NULL, GRP INTEGER DEFAULT 3 CONSTRAINT T_GRP CHECK (GRP >= 0), "
    "NOTE VARCHAR(100), TWICE INTEGER GENERATED ALWAYS AS (ID * 2)) IN TS_SLOW INDEX IN TS_FAST"
)
FILL = (
    "INSERT INTO S.T (ID, NOTE) SELECT A.N + 10 * B.N, REPEAT('x', 100) FROM (VALUES 0, 1, 2) AS A(N), "
    "(VALUES 0, 1) AS B(N)"
)
MOVE = "CALL SYSPROC.ADMIN_MOVE_TABLE('S','T','TS_FAST','TS_FAST','TS_FAST','','','','','','{}')"


@pytest.fixture
def owner(db2: Db2) -> Iterator[Any]:
    """A session of a login that owns the schema S, and no more."""
    db2.lab.create_schema("S", PROVER.authid)
    db2.lab.grant(PROVER.authid, "SQLADM", "CREATETAB")
    connection = connect(db2, PROVER.name, PROVER.password)
    yield connection
    end(connection)
    db2.lab.drop_schema("S")
    db2.lab.grant(PROVER.authid)


def make(owner: Any) -> None:
    """A table of six rows with a key."""
    for statement in (MAKE, FILL, "CREATE UNIQUE INDEX S.T_ID ON S.T (ID)"):
        rows(owner, statement)


def test_emulated_server_rows_are_kept_and_checked(owner: Any) -> None:
    """Defaults and columns that are worked out are Derby's doing, as are checks and unique keys."""
    make(owner)
    assert rows(owner, "SELECT ID, GRP, TWICE FROM S.T WHERE ID = 11") == [(11, 3, 22)]
    assert "SQL0545N" in refused(owner, "INSERT INTO S.T (ID, GRP) VALUES (7, -1)")
    assert "SQL0803N" in refused(owner, "INSERT INTO S.T (ID) VALUES (11)")


def test_emulated_server_the_catalog_tells_what_was_made(owner: Any) -> None:
    """Places, columns, checks, keys; statistics once they are collected."""
    make(owner)
    rows(owner, "ALTER TABLE S.T ADD CONSTRAINT T_ID PRIMARY KEY (ID)")
    query = "SELECT B.TBSPACE, B.INDEX_TBSPACE, B.OWNER, B.CARD FROM SYSCAT.TABLES AS B WHERE B.TABSCHEMA = 'S' WITH UR"
    assert rows(owner, query) == [("TS_SLOW", "TS_FAST", "PROVER", -1)]
    rows(owner, "CALL SYSPROC.ADMIN_CMD('RUNSTATS ON TABLE S.T WITH DISTRIBUTION AND INDEXES ALL')")
    assert rows(owner, query)[0][3] == 6
    query = "SELECT C.COLNAME, C.TYPENAME, C.GENERATED FROM SYSCAT.COLUMNS AS C WHERE C.TABSCHEMA = 'S' WITH UR"
    assert ("TWICE", "INTEGER", "A") in rows(owner, query)
    assert rows(owner, "SELECT K.TEXT FROM SYSCAT.CHECKS AS K WHERE K.TABSCHEMA = 'S'") == [("GRP >= 0",)]
    query = "SELECT I.UNIQUERULE FROM SYSCAT.INDEXES AS I WHERE I.TABSCHEMA = 'S' WITH UR"
    assert rows(owner, query) == [("P",)]


@pytest.mark.parametrize(
    ("clause", "kinds"),
    [
        ("ORGANIZE BY DIMENSIONS (ID)", {"DIM"}),
        ("ORGANIZE BY DIMENSIONS (ID, GRP)", {"DIM", "BLOK"}),
        ("ORGANIZE BY COLUMN", {"CPMA"}),
        ("ORGANIZE BY INSERT TIME", set()),
    ],
)
def test_emulated_server_indexes_of_the_server_have_new_names_after_a_move(
    db2: Db2, owner: Any, clause: str, kinds: set[str]
) -> None:
    """A copy is a table of its own, and what the server makes for it has names of that moment."""
    rows(owner, f"CREATE TABLE S.T (ID INTEGER NOT NULL, GRP INTEGER NOT NULL) IN TS_SLOW {clause}")
    query = "SELECT I.INDEXTYPE, I.INDNAME FROM SYSCAT.INDEXES AS I WHERE I.TABNAME = 'T' AND I.INDSCHEMA = 'SYSIBM'"
    before = rows(owner, query)
    assert {kind.strip() for kind, _ in before} == kinds
    rows(owner, MOVE.format("MOVE"))
    after = rows(owner, query)
    assert (len(after), {name for _, name in before} & {name for _, name in after}) == (len(before), set())


def test_emulated_server_what_it_does_not_make(db2: Db2, owner: Any) -> None:
    """A table in a space that is not there, a table in another's schema: SQL0204N, SQL0552N."""
    assert "SQL0204N" in refused(owner, "CREATE TABLE S.X (ID INTEGER) IN NOTHING")
    stranger = connect(db2, LOOKER.name, LOOKER.password)
    try:
        assert "SQL0552N" in refused(stranger, MAKE)
    finally:
        end(stranger)
    assert db2.lab.tables("S") == []


def test_emulated_server_reads_are_counted(owner: Any) -> None:
    """A comparison with a value of a key is a look-up, a loop as many, everything else a scan."""
    make(owner)
    rows(owner, "SELECT NOTE FROM S.T WHERE ID = 11")
    rows(owner, "BEGIN DECLARE I INT DEFAULT 0; WHILE I < 20 DO SELECT ID INTO J FROM S.T WHERE ID = I; END WHILE; END")
    rows(owner, "SELECT SUM(ID) FROM S.T")
    query = "SELECT M.ROWS_READ, M.TABLE_SCANS FROM TABLE(SYSPROC.MON_GET_TABLE('S', 'T', -2)) AS M"
    assert rows(owner, query) == [(1 + 20 + 6, 1)]


def test_emulated_server_a_swap_waits_for_who_has_written(db2: Db2, owner: Any) -> None:
    """IX of a transaction keeps the exclusive lock away (SQL0911N 68) and is in MON_GET_LOCKS until it ends."""
    make(owner)
    for phase in ("INIT", "COPY", "REPLAY"):
        rows(owner, MOVE.format(phase))
    other = connect(db2, PROVER.name, PROVER.password)
    try:
        other.set_autocommit(False)
        rows(other, "UPDATE S.T SET NOTE = '' WHERE ID = 1")
        query = "SELECT L.LOCK_MODE FROM TABLE(SYSPROC.MON_GET_LOCKS('', -2)) AS L WHERE L.LOCK_OBJECT_TYPE = 'TABLE'"
        assert rows(owner, query) == [("IX",)]
        assert "SQL0911N" in refused(owner, MOVE.format("SWAP"))
        other.rollback()
        rows(owner, MOVE.format("SWAP"))
    finally:
        end(other)


def test_emulated_server_who_writes_waits_for_a_swap(db2: Db2, owner: Any) -> None:
    """Its exclusive lock is seen by others as long as it is held."""
    make(owner)
    for phase in ("INIT", "COPY", "REPLAY"):
        rows(owner, MOVE.format(phase))
    before = db2.lab.behave(locked_seconds=0.5)
    mover, seen = connect(db2, PROVER.name, PROVER.password), []
    query = "SELECT L.LOCK_MODE FROM TABLE(SYSPROC.MON_GET_LOCKS('', -2)) AS L"

    def look() -> bool:
        seen.extend(rows(owner, query))
        return ("X",) in seen

    swap = threading.Thread(target=lambda: rows(mover, MOVE.format("SWAP")))
    swap.start()
    try:
        wait_until(look, "the exclusive lock is seen")
        rows(owner, "UPDATE S.T SET NOTE = '' WHERE ID = 1")
        assert db2.lab.status("S", "T") == "CLEANUP"  # the write came after it
    finally:
        swap.join()
        db2.lab.behave(**before)
        end(mover)


def test_emulated_server_an_uncommitted_read_waits_for_no_lock(db2: Db2, owner: Any) -> None:
    """WITH UR takes an IN lock, with which an exclusive one agrees; without it a reader waits: SQL0911N."""
    other = connect(db2)
    try:
        other.set_autocommit(False)
        rows(other, "LOCK TABLE HOTPLACE.LEASE IN EXCLUSIVE MODE")
        assert rows(owner, "SELECT COUNT(*) FROM HOTPLACE.LEASE AS L WITH UR") == [(0,)]
        with pytest.raises(Exception, match=r"SQL0911N|40XL1"):
            rows(owner, "SELECT COUNT(*) FROM HOTPLACE.LEASE AS L")
    finally:
        other.rollback()
        end(other)
