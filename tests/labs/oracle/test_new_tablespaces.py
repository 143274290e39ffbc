"""Emulated server over the plain driver: tablespaces that are made and dropped, rules 16a and 16b, no connector."""

from __future__ import annotations

from collections.abc import Iterator

import oracledb
import pytest

from tests.labs.oracle.harness import PASSWORD, OracleHarness, running_harness
from tests.labs.oracle.model import UNLIMITED
from tests.labs.oracle.test_adding import ask, refused

CREATE = "CREATE TABLESPACE {} DATAFILE '{}' SIZE 8388608 AUTOEXTEND ON NEXT 8388608 MAXSIZE UNLIMITED"
FILES = "SELECT file_name FROM dba_data_files WHERE tablespace_name = 'NEW'"


@pytest.fixture(scope="module")
def lab() -> Iterator[OracleHarness]:
    """With somebody who may make tablespaces, and somebody who may not."""
    with running_harness("new tablespaces") as running:
        rights = {"CREATE TABLE", "CREATE TABLESPACE", "DROP TABLESPACE", "SELECT ANY DICTIONARY"}
        running.database.add_user("MAKER", PASSWORD, privileges=rights, quotas={"NEW": UNLIMITED})
        running.database.add_user("OTHER", PASSWORD, privileges={"CREATE TABLE"})
        yield running


@pytest.fixture
def maker(lab: OracleHarness) -> Iterator[oracledb.Cursor]:
    """Their session."""
    with lab.session("MAKER") as session:
        yield session.cursor()


def test_made_and_dropped(maker: oracledb.Cursor) -> None:
    """One file; names and paths are taken once."""
    maker.execute(CREATE.format("new", "/ssd/new.dbf"))
    assert ask(maker, FILES) == [("/ssd/new.dbf",)]
    assert refused(maker, CREATE.format("new", "/ssd/new2.dbf")) == 1543
    assert refused(maker, CREATE.format("other", "/ssd/new.dbf")) == 1119
    maker.execute("DROP TABLESPACE new")
    assert ask(maker, FILES) == []


def test_in_a_disk_group_the_server_names_the_file(maker: oracledb.Cursor) -> None:
    """Below the group."""
    maker.execute(CREATE.format("new", "+FAST"))
    ((path,),) = ask(maker, FILES)
    assert path.startswith("+FAST/")
    maker.execute("DROP TABLESPACE new")


def test_one_that_holds_something_stays(lab: OracleHarness, maker: oracledb.Cursor) -> None:
    """1549 without INCLUDING CONTENTS."""
    maker.execute(CREATE.format("new", "/ssd/new.dbf"))
    lab.database.add_table("MAKER", "HELD", "NEW", 1 << 20)
    assert refused(maker, "DROP TABLESPACE new") == 1549
    lab.database.drop_table("MAKER", "HELD")
    maker.execute("DROP TABLESPACE new")


def test_without_the_privileges(lab: OracleHarness) -> None:
    """1031."""
    with lab.session("OTHER") as session:
        assert refused(session.cursor(), CREATE.format("new", "/ssd/new.dbf")) == 1031
        assert refused(session.cursor(), "DROP TABLESPACE fast") == 1031
