"""Rules 8 and 10: columnstore's grammar, read-only filegroups, fill factors, editions, whose session a backup is in."""

from __future__ import annotations

from collections.abc import Callable

import pytds
import pytest

from tests.labs.sqlserver.conftest import Ask, connect
from tests.labs.sqlserver.lab import Lab, running_lab
from tests.labs.sqlserver.objects import CLUSTERED_COLUMNSTORE, NONCLUSTERED_COLUMNSTORE
from tests.labs.sqlserver.storage import PAGE, Volume
from tests.labs.sqlserver.world import SLOW, add_table, new_index

NumberOf = Callable[..., int]
STORE = "CREATE {}COLUMNSTORE INDEX {} ON dbo.facts{} WITH (DROP_EXISTING = ON, ONLINE = ON{}) ON ssd"
LOW = " (WAIT_AT_LOW_PRIORITY (MAX_DURATION = 1 MINUTES, ABORT_AFTER_WAIT = SELF))"
ROWS = "CREATE INDEX ix_orders ON dbo.orders (id) WITH (DROP_EXISTING = ON{}) ON ssd"


def number(lab: Lab, sql: str) -> int:
    """The native number of the error that it ends with; 0 where it ends well."""
    try:
        with connect(lab) as session, session.cursor() as cursor:
            cursor.execute(sql)
    except pytds.DatabaseError as error:
        return int(error.number)
    return 0


def test_columnstore_has_no_low_priority(lab: Lab, number_of: NumberOf) -> None:
    """ONLINE = ON alone is in their grammar, clustered or not; with WAIT_AT_LOW_PRIORITY it is 102."""
    facts = add_table(lab.shop, "facts")
    facts.indexes = {
        1: new_index(lab.shop, 1, "cci", CLUSTERED_COLUMNSTORE, SLOW, 80),
        2: new_index(lab.shop, 2, "ncci", NONCLUSTERED_COLUMNSTORE, SLOW, 80),
    }
    for kind, name, columns in (("CLUSTERED ", "cci", ""), ("NONCLUSTERED ", "ncci", " (id)")):
        assert number_of(STORE.format(kind, name, columns, LOW)) == 102
        assert number_of(STORE.format(kind, name, columns, "")) == 0


def test_nothing_leaves_a_read_only_filegroup(lab: Lab, number_of: NumberOf) -> None:
    """1924 for the source as for the target."""
    add_table(lab.shop, "orders")
    group = lab.shop.storage.filegroup_named(SLOW)
    assert group is not None
    group.read_only = True
    assert number_of(ROWS.format("")) == 1924
    group.read_only = False
    assert number_of(ROWS.format("")) == 0


def test_what_is_not_said_of_the_fill_factor_is_the_servers(lab: Lab, ask: Ask) -> None:
    """'fill factor (%)' of the server is taken where FILLFACTOR is not stated; 100 fills pages as 0 does."""
    orders = add_table(lab.shop, "orders")
    lab.instance.default_fill_factor = 80
    ask(ROWS.format(""))
    assert orders.indexes[2].options.fill_factor == 80
    ask(ROWS.format(", FILLFACTOR = 100"))
    assert orders.indexes[2].options.fill_factor == 100


@pytest.mark.parametrize(("major", "edition", "expected"), [(11, 2, 7736), (12, 2, 7736), (13, 2, 0), (12, 3, 0)])
def test_partitioning_was_enterprises(major: int, edition: int, expected: int) -> None:
    """Before 2016 SP1 no other edition makes a partition function."""
    with running_lab(major=major, engine_edition=edition) as lab:
        assert number(lab, "CREATE PARTITION FUNCTION f (int) AS RANGE RIGHT FOR VALUES (NULL)") == expected


@pytest.mark.parametrize(("major", "expected"), [(13, 35352), (14, 0)])
def test_a_nonclustered_columnstore_keeps_its_table_offline(major: int, expected: int) -> None:
    """2016: rows of such a table are not built online; offline they are."""
    with running_lab(major=major) as lab:
        orders = add_table(lab.shop, "orders")
        orders.indexes[3] = new_index(lab.shop, 3, "ncci", NONCLUSTERED_COLUMNSTORE, SLOW, 80)
        assert number(lab, ROWS.format(", ONLINE = ON")) == expected
        assert number(lab, ROWS.format("")) == 0


def test_azure_sql_database_has_one_filegroup() -> None:
    """PRIMARY alone; no view of volumes, none of other databases' files: 208."""
    with running_lab(engine_edition=5) as lab:
        assert [group.name for group in lab.shop.storage.filegroups.values()] == ["PRIMARY"]
        assert number(lab, "SELECT name FROM sys.master_files") == 208
        assert number(lab, "SELECT v.file_id FROM sys.dm_os_volume_stats(DB_ID(), 1) AS v") == 208


def test_a_sort_in_tempdb_needs_room_there(lab: Lab, ask: Ask, number_of: NumberOf) -> None:
    """1105 names tempdb; without SORT_IN_TEMPDB the same build ends well; its volume can be asked for."""
    add_table(lab.shop, "orders")
    lab.instance.tempdb_volume = Volume("T:\\", 2**30, 100 * PAGE, seeks=False)
    assert ask("SELECT v.available_bytes FROM sys.dm_os_volume_stats(2, 1) AS v") == [(100 * PAGE,)]
    assert number_of(ROWS.format(", SORT_IN_TEMPDB = ON")) == 1105
    assert number_of(ROWS.format("")) == 0


def test_a_backup_may_run_from_master(lab: Lab, ask: Ask) -> None:
    """dm_exec_requests has the database of the session, not the one that is backed up."""
    lab.instance.requests_elsewhere.append("BACKUP DATABASE")
    asked = "SELECT r.database_id, r.command FROM sys.dm_exec_requests AS r WHERE r.command LIKE 'BACKUP%'"
    assert ask(asked) == [(1, "BACKUP DATABASE")]
