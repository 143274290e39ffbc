"""The lease on SQL Server: an application lock that no other user of the database can take."""

from __future__ import annotations

from pathlib import Path

import pyodbc
import pytest

from connectors.kit.contract import LeaseHeld
from tests.labs.sqlserver.lab import Lab
from tests.labs.sqlserver.world import MOVER, READER, STRANGER, add_table
from tests.labs.tds.drivers import OdbcDriver
from tests.sqlserver.connected import connected

TAKE = "DECLARE @a int; EXEC @a = sys.sp_getapplock @Resource = N'hotplace', @LockMode = N'Exclusive', "
SESSION = "@LockOwner = N'Session', @LockTimeout = 0"


def test_a_user_without_rights_keeps_no_agent_from_acting(lab: Lab, driver: OdbcDriver, tmp_path: Path) -> None:
    """A lock of public by that name is another lock, and the mover's own is not his to take."""
    add_table(lab.shop, "orders", pages=10)
    with pyodbc.connect(lab.string(driver, STRANGER), autocommit=True) as stranger:
        taken = stranger.execute(f"{TAKE}{SESSION}; SELECT @a AS a").fetchone()
        refused = stranger.execute(f"{TAKE}{SESSION}, @DbPrincipal = N'{MOVER.name}'; SELECT @a AS a").fetchone()
        assert (tuple(taken or ()), tuple(refused or ())) == ((0,), (-999,))
        with connected(lab, driver, tmp_path) as first, connected(lab, driver, tmp_path) as second:
            lease = first.acquire_lease("one")
            assert lease.is_held()
            with pytest.raises(LeaseHeld, match=r"hotplace lease one \(session \d+, from .*\), login mover"):
                second.acquire_lease("two")
            lease.release()
            assert not lease.is_held()
            second.acquire_lease("two").release()


def test_agents_of_other_users_do_not_know_each_other(lab: Lab, driver: OdbcDriver, tmp_path: Path) -> None:
    """The lock is one of the login: all agents of a database use the same."""
    with connected(lab, driver, tmp_path) as mover, connected(lab, driver, tmp_path, READER) as reader:
        leases = [each.acquire_lease("one") for each in (mover, reader)]
        assert [lease.is_held() for lease in leases] == [True, True]
        for lease in leases:
            lease.release()
