"""Rules 12 to 17: what the owner of a scratch schema may make and fill, which locks that takes, what catalogs show."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import pytds
import pytest

from tests.labs.sqlserver.conftest import Ask, connect
from tests.labs.sqlserver.lab import Lab, wait_until
from tests.labs.sqlserver.world import PROVER, add_scheme, add_scratch, add_table

NumberOf = Callable[..., int]
ROWS = "SELECT TOP (1000) ROW_NUMBER() OVER (ORDER BY (SELECT NULL)), N'x' FROM sys.all_columns AS a"
SPACES = (
    "SELECT t.name, a.type_desc, d.name, SUM(a.total_pages) FROM sys.tables AS t "
    "JOIN sys.partitions AS p ON p.object_id = t.object_id AND p.index_id < 2 "
    "JOIN sys.allocation_units AS a ON a.container_id = p.partition_id "
    "JOIN sys.data_spaces AS d ON d.data_space_id = a.data_space_id GROUP BY t.name, a.type_desc, d.name ORDER BY 2, 3"
)
LIMIT = "SET LOCK_TIMEOUT 20; "
READ = "SELECT COUNT_BIG(*) AS n FROM scratch.t"
WRITE = "UPDATE scratch.t SET filler = filler WHERE id = 1"
LOCKS = "SELECT request_mode FROM sys.dm_tran_locks WHERE resource_type = 'OBJECT'"


@pytest.fixture(autouse=True)
def scratch(lab: Lab) -> None:
    """CREATE SCHEMA scratch AUTHORIZATION prover."""
    add_scratch(lab.shop)


def test_where_large_values_go(ask: Ask, number_of: NumberOf) -> None:
    """TEXTIMAGE_ON, else the default filegroup, wherever the table is; without a large column 1709."""
    columns = "(id int NOT NULL, body varchar(max) NULL)"
    ask(f"CREATE TABLE scratch.named {columns} ON ssd TEXTIMAGE_ON hdd", account=PROVER)
    ask(f"INSERT INTO scratch.named (id, body) {ROWS}", account=PROVER)
    assert ask(SPACES) == [("named", "IN_ROW_DATA", "ssd", 4), ("named", "LOB_DATA", "hdd", 1000)]
    ask("DROP TABLE scratch.named", account=PROVER)
    ask(f"CREATE TABLE scratch.unnamed {columns} ON ssd", account=PROVER)
    assert [row[2] for row in ask(SPACES)] == ["ssd", "PRIMARY"]
    assert number_of("CREATE TABLE scratch.none (id int NOT NULL) ON ssd TEXTIMAGE_ON hdd", account=PROVER) == 1709


def test_partitions_of_a_table_and_its_keys(ask: Ask, number_of: NumberOf) -> None:
    """Rows spread over them; a unique index without the partitioning column is 1908."""
    ask("CREATE PARTITION FUNCTION f (int) AS RANGE RIGHT FOR VALUES (100, 200)", account=PROVER)
    ask("CREATE PARTITION SCHEME s AS PARTITION f TO (hdd, ssd, hdd)", account=PROVER)
    ask("CREATE TABLE scratch.days (id int NOT NULL, day int NOT NULL) ON s (day)", account=PROVER)
    ask(f"INSERT INTO scratch.days (id, day) {ROWS}", account=PROVER)
    key = "ALTER TABLE scratch.days ADD CONSTRAINT pk_days PRIMARY KEY CLUSTERED ({}) ON s (day)"
    assert number_of(key.format("id"), account=PROVER) == 1908
    ask(key.format("day, id"), account=PROVER)
    parts = "SELECT partition_number, rows FROM sys.partitions WHERE index_id = 1 ORDER BY 1"
    assert ask(parts) == [(1, 334), (2, 333), (3, 333)]
    keys = "SELECT k.name, k.type FROM sys.objects AS k JOIN sys.objects AS t ON t.object_id = k.parent_object_id"
    assert ask(keys) == [("pk_days", "PK")]


def test_what_an_owner_of_a_schema_may(lab: Lab, ask: Ask, number_of: NumberOf) -> None:
    """In it everything, elsewhere nothing."""
    add_table(lab.shop, "theirs", pages=8)
    add_table(lab.shop, "t", schema="scratch", pages=8)
    assert number_of("CREATE TABLE dbo.other (id int NOT NULL) ON hdd", account=PROVER) == 262
    assert number_of("DROP TABLE dbo.theirs", account=PROVER) == 3701
    assert number_of("CREATE INDEX i ON dbo.theirs (id) ON ssd", account=PROVER) == 1088
    assert number_of("CREATE INDEX i ON scratch.t (id) ON ssd", account=PROVER) == 0
    assert ask(READ, account=PROVER) == [(64,)]
    assert number_of("SELECT COUNT_BIG(*) AS n FROM scratch.gone", account=PROVER) == 208
    roles = "SELECT IS_SRVROLEMEMBER('sysadmin') AS a, IS_SRVROLEMEMBER('none') AS b, IS_ROLEMEMBER('db_owner') AS c"
    assert ask(roles, account=PROVER) == [(0, None, 0)]
    assert ask(roles)[0][0] == 1
    owned = "SELECT name FROM sys.schemas WHERE principal_id = DATABASE_PRINCIPAL_ID()"
    assert ask(owned, account=PROVER) == [("scratch",)]


def test_a_policy_of_the_owner_hides_rows(lab: Lab, ask: Ask, number_of: NumberOf) -> None:
    """Rule 41: function, policy, rows that are hidden; then all of it goes, the function last."""
    add_table(lab.shop, "t", schema="scratch", pages=9)
    for statement in (
        "CREATE FUNCTION scratch.f (@id int) RETURNS TABLE WITH SCHEMABINDING AS RETURN SELECT 1 AS ok WHERE @id <> 3",
        "CREATE SECURITY POLICY scratch.p ADD FILTER PREDICATE scratch.f(id) ON scratch.t WITH (STATE = ON)",
    ):
        assert number_of(statement, account=replace(PROVER, name="plain", database_rights=frozenset())) != 0
        ask(statement, account=PROVER)
    assert ask(READ, account=PROVER) == [(48,)]
    assert number_of("DROP FUNCTION scratch.f", account=PROVER) == 3729
    assert number_of("DROP TABLE scratch.t", account=PROVER) == 3729
    for statement in ("DROP SECURITY POLICY scratch.p", "DROP TABLE scratch.t", "DROP FUNCTION scratch.f"):
        ask(statement, account=PROVER)


def test_a_single_partition_is_emptied(lab: Lab, ask: Ask) -> None:
    """Rule 41: TRUNCATE of partition 2 alone."""
    add_scheme(lab.shop, "s", [100, 200], ["hdd", "hdd", "hdd"])
    table = add_table(lab.shop, "t", schema="scratch", space="s", pages=10, column="id")
    ask("TRUNCATE TABLE scratch.t WITH (PARTITIONS (2))", account=PROVER)
    assert [partition.rows for partition in table.base.partitions] == [80, 0, 80]


def test_rows_are_known_by_what_wrote_them(ask: Ask) -> None:
    """A rebuild and an update to itself keep count and checksum, another INSERT changes both."""
    ask("CREATE TABLE scratch.t (id int NOT NULL, filler nvarchar(20) NULL) ON hdd", account=PROVER)
    ask(f"INSERT INTO scratch.t (id, filler) {ROWS}", account=PROVER)
    sums = "SELECT CHECKSUM_AGG(CHECKSUM(id, filler)) AS c FROM scratch.t"
    before = ask(sums, account=PROVER)
    ask("CREATE CLUSTERED INDEX c ON scratch.t (id) ON ssd", account=PROVER)
    ask(WRITE, account=PROVER)
    assert ask(sums, account=PROVER) == before
    assert ask(f"{READ} WHERE id = 1001", account=PROVER) == [(0,)]
    ask(f"INSERT INTO scratch.t (id, filler) {ROWS}", account=PROVER)
    assert ask(sums, account=PROVER) != before
    assert ask(READ, account=PROVER) == [(2000,)]


def test_readers_writers_and_what_they_keep(lab: Lab, ask: Ask, number_of: NumberOf) -> None:
    """A reader under HOLDLOCK lets write and not rebuild offline; a writer lets read."""
    add_table(lab.shop, "t", schema="scratch", pages=8, heap=True)
    offline = f"{LIMIT}CREATE CLUSTERED INDEX c ON scratch.t (id) ON ssd"
    with connect(lab, PROVER) as other, other.cursor() as cursor:
        cursor.execute(f"BEGIN TRANSACTION; {READ} WITH (HOLDLOCK)")
        assert ask(LOCKS) == [("IS",)]
        assert number_of(LIMIT + WRITE, account=PROVER) == 0
        assert number_of(offline, account=PROVER) == 1222
        cursor.execute("IF @@TRANCOUNT > 0 ROLLBACK TRAN")
        cursor.execute(f"BEGIN TRANSACTION; {WRITE}")
        assert ask(LOCKS) == [("IX",)]
        assert number_of(LIMIT + READ, account=PROVER) == 0
        cursor.execute("IF @@TRANCOUNT > 0 ROLLBACK TRAN")
    assert ask(LOCKS) == []
    assert number_of(offline, account=PROVER) == 0


BUILDS = (  # statement, what it holds, numbers of a read and a write meanwhile
    ("CREATE UNIQUE CLUSTERED INDEX pk_t ON scratch.t (id) WITH (DROP_EXISTING = ON) ON ssd", "Sch-M", 1222, 1222),
    ("CREATE INDEX ix_t ON scratch.t (id) WITH (DROP_EXISTING = ON) ON ssd", "S", 0, 1222),
    ("CREATE INDEX ix_t ON scratch.t (id) WITH (DROP_EXISTING = ON, ONLINE = ON) ON ssd", "IS", 0, 0),
)


@pytest.mark.parametrize(("build", "mode", "reads", "writes"), BUILDS, ids=[mode for _, mode, *_ in BUILDS])
def test_locks_of_builds(
    lab: Lab, ask: Ask, number_of: NumberOf, build: str, mode: str, reads: int, writes: int
) -> None:
    """What a build holds while it copies, and whom it keeps waiting."""
    table = add_table(lab.shop, "t", schema="scratch", pages=8)

    def run() -> None:
        with suppress(pytds.Error), connect(lab) as session, session.cursor() as cursor:
            cursor.execute(build)

    building = threading.Thread(target=run)
    with lab.slow():
        building.start()
        wait_until(lambda: bool(table.lock_holders), "it copies")
        assert ask(LOCKS) == [(mode,)]
        assert number_of(LIMIT + READ, account=PROVER) == reads
        assert number_of(LIMIT + WRITE, account=PROVER) == writes
        lab.running(build).cut.set()
        building.join()
    wait_until(lambda: not table.lock_holders, "its session has given up the lock")


def test_a_batch_is_described_and_not_run(lab: Lab, ask: Ask, number_of: NumberOf) -> None:
    """Columns of its first result, for whatever its parameters are; an unknown column is 207."""
    describe = "EXEC sys.sp_describe_first_result_set @tsql = N'{}', @params = N'@P1 nvarchar(4000)'"
    query = (
        "SELECT o.name AS n, CONVERT(int, @P1) AS p FROM sys.objects AS o WHERE o.name = CONVERT(nvarchar(128), @P1)"
    )
    assert ask(describe.format(query)) == [(1, "n"), (2, "p")]
    assert number_of(describe.format("SELECT o.nonsense FROM sys.objects AS o")) == 207
    lock = "EXEC @a = sys.sp_getapplock @Resource = N'x', @LockMode = N'Exclusive'"
    batch = f"DECLARE @a int; {lock}; SELECT @a AS a".replace("'", "''")
    assert ask(describe.format(batch)) == [(1, "a")]
    assert lab.instance.app_locks == {}


def test_what_hangs_on_a_table(lab: Lab, ask: Ask) -> None:
    """Rights and extended properties stand in the catalog."""
    add_table(lab.shop, "t", schema="scratch", pages=8)
    ask("GRANT SELECT ON scratch.t TO [public]", account=PROVER)
    place = "@level0type = N'SCHEMA', @level0name = N'scratch', @level1type = N'TABLE', @level1name = N't'"
    ask(f"EXEC sys.sp_addextendedproperty @name = N'a', @value = N'b', {place}", account=PROVER)
    index = "@level2type = N'INDEX', @level2name = N'ix_t'"
    ask(f"EXEC sys.sp_addextendedproperty @name = N'c', @value = N'd', {place}, {index}", account=PROVER)
    assert ask("SELECT class, name FROM sys.extended_properties ORDER BY 1") == [(1, "a"), (7, "c")]
    assert ask("SELECT permission_name FROM sys.database_permissions WHERE class = 1") == [("SELECT",)]
