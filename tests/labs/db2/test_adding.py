"""Rules about data partitions that are added, over IBM's real driver: rule 19 of the README, no connector."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.labs.db2.client import Db2
from tests.labs.db2.conftest import connect, end, refused, rows
from tests.labs.db2.server import LOOKER, TS_FAST, TS_SLOW

pytestmark = [pytest.mark.db2, pytest.mark.xdist_group("db2")]
ADD = "ALTER TABLE APP.LOG ADD PARTITION {} STARTING ('{}') INCLUSIVE ENDING ('{}') EXCLUSIVE IN \"{}\""
PARTS = [("P1", TS_SLOW, "'2026-01-01'", "'2026-01-02'"), ("P2", TS_SLOW, "'2026-01-02'", "'2026-01-03'")]


@pytest.fixture
def days(db2: Db2) -> Iterator[None]:
    """APP.LOG with two of them."""
    db2.lab.create_ranges("APP", "LOG", PARTS)
    yield
    db2.lab.drop_table("APP", "LOG")


@pytest.mark.usefixtures("days")
def test_it_is_there_at_the_commit(db2: Db2, session: Any) -> None:
    """Where it is said, its indexes with it, or where those are said; the catalog has its bounds."""
    session.set_autocommit(False)
    rows(session, ADD.format("P3", "2026-01-03", "2026-01-04", TS_FAST))
    assert len(db2.lab.parts("APP", "LOG")) == 2
    session.commit()
    rows(session, ADD.format("P4", "2026-01-04", "2026-01-05", TS_FAST) + f" INDEX IN {TS_SLOW}")
    session.commit()
    assert db2.lab.parts("APP", "LOG")[2:] == [
        ("P3", TS_FAST, TS_FAST, ("'2026-01-03'", "'2026-01-04'")),
        ("P4", TS_FAST, TS_SLOW, ("'2026-01-04'", "'2026-01-05'")),
    ]
    query = "SELECT P.LOWVALUE, P.LOWINCLUSIVE, P.HIGHVALUE, P.HIGHINCLUSIVE FROM SYSCAT.DATAPARTITIONS AS P"
    found = rows(session, f"{query} WHERE P.TABNAME = 'LOG' AND P.DATAPARTITIONNAME = 'P3' WITH UR")
    assert found == [("'2026-01-03'", "Y", "'2026-01-04'", "N")]


@pytest.mark.usefixtures("days")
def test_what_is_refused(db2: Db2, session: Any) -> None:
    """An overlap, a name in use, no such table space or one of another kind, no right, a lock."""
    assert "SQL0636N" in refused(session, ADD.format("P3", "2026-01-02", "2026-01-04", TS_FAST))
    assert "SQL0601N" in refused(session, ADD.format("P2", "2026-01-03", "2026-01-04", TS_FAST))
    assert "SQL0204N" in refused(session, ADD.format("P3", "2026-01-03", "2026-01-04", "NOWHERE"))
    good = ADD.format("P3", "2026-01-03", "2026-01-04", TS_FAST)
    other = connect(db2, LOOKER.name, LOOKER.password)
    assert "SQL0551N" in refused(other, good)
    end(other)
    db2.lab.alter_space(TS_FAST, partition_group="OTHERS")
    assert "SQL1860N" in refused(session, good)
    db2.lab.alter_space(TS_FAST, partition_group="IBMDEFAULTGROUP")
    db2.lab.lock("APP", "LOG", True)
    assert "SQL0911N" in refused(session, good)
    db2.lab.lock("APP", "LOG", False)
    assert len(db2.lab.parts("APP", "LOG")) == 2
