"""Storage groups that are made and dropped on the emulated server, over IBM's real driver: rule 25."""

from __future__ import annotations

from typing import Any

import pytest

from tests.labs.db2.client import Db2
from tests.labs.db2.conftest import connect, end, refused, rows
from tests.labs.db2.server import LOOKER

pytestmark = [pytest.mark.db2, pytest.mark.xdist_group("db2")]
GROUPS = "SELECT SGNAME FROM SYSCAT.STOGROUPS WHERE SGNAME = 'NEW' WITH UR"


def test_emulated_server_makes_and_drops_a_storage_group(db2: Db2, session: Any) -> None:
    """Taken names, names of the server, and a path that is not there; a group that a table space uses stays."""
    rows(session, "CREATE STOGROUP NEW ON '/ssd/new'")
    assert rows(session, GROUPS) == [("NEW",)]
    assert "SQL0601N" in refused(session, "CREATE STOGROUP NEW ON '/ssd/other'")
    assert "SQL0707N" in refused(session, "CREATE STOGROUP SYSNEW ON '/ssd/other'")
    assert "SQL0298N" in refused(session, "CREATE STOGROUP OTHER ON '/ssd/missing'")
    db2.lab.create_space("TS_NEW", "NEW")
    assert "SQL0478N" in refused(session, "DROP STOGROUP NEW RESTRICT")
    db2.lab.drop_space("TS_NEW")
    rows(session, "DROP STOGROUP NEW RESTRICT")
    assert rows(session, GROUPS) == []


def test_emulated_server_refuses_who_may_not(db2: Db2) -> None:
    """SQL0552N without SYSADM or SYSCTRL."""
    looker = connect(db2, LOOKER.name, LOOKER.password)
    assert "SQL0552N" in refused(looker, "CREATE STOGROUP NEW ON '/ssd/new'")
    assert "SQL0552N" in refused(looker, "DROP STOGROUP FAST RESTRICT")
    end(looker)
