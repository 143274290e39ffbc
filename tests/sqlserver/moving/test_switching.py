"""One partition by SPLIT, or by copy and SWITCH: its statements, and what refuses it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from connectors.model.moves import Locked, NoRoute, Route
from connectors.sqlserver.ddl import ServerFeatures
from connectors.sqlserver.definition import (
    CLUSTERED_COLUMNSTORE,
    HEAP,
    NONCLUSTERED,
    Definition,
    Hindrances,
    IndexColumn,
    Partition,
    PartitionScheme,
    TableColumn,
    literal,
)
from connectors.sqlserver.routes import routes_of, tag_of
from tests.sqlserver.made import ID, NAME, NOTE, OWNER, PAGES, bundle, index, key, settings, table
from tests.sqlserver.test_routes import PARTED, SCHEME, parted

STANDARD = ServerFeatures(major=16, edition=2)
DAY = TableColumn("day", "date", 3, 10, 0, None, 1, 0)
KEYS = (replace(NAME, partition=2).key, replace(NAME, index="ix", partition=2).key)
KNOWN = PartitionScheme(("2020-01-01", "2021-01-01"), shared=False)


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "x")


def days(number: int = 2, *, partitions: tuple[Partition, ...] = PARTED.partitions, **values: Any) -> Definition:
    """A table partitioned by day, 2020 in partition 2, with a primary key and an aligned index."""
    primary = replace(PARTED, primary_key=1, unique=1, partitions=partitions)
    second = index(
        NONCLUSTERED,
        "ix",
        space_id=SCHEME.number,
        columns=(key("id"), IndexColumn("day", 0, 1, 0, 0, 0)),
        partitions=partitions,
    )
    plain = replace(parted(number, primary), indexes=(primary, second), columns=(ID, DAY), partitioning=KNOWN)
    return replace(plain, **values)


def emptied(*numbers: int) -> tuple[Partition, ...]:
    """The partitions, of which those have no rows."""
    return tuple(replace(p, rows=int(p.number not in numbers)) for p in PARTED.partitions)


def ask(
    definition: Definition, *keys: str, server: ServerFeatures = STANDARD, **wishes: object
) -> tuple[Route, ...] | NoRoute:
    """Routes to SSD where partitions are switched."""
    wanted = settings(**{"partitions": "switched", **wishes})
    return routes_of(definition, bundle(*(keys or KEYS)), "SSD", server, wanted)


def said(definition: Definition, *keys: str) -> str:
    """Why there is none."""
    found = ask(definition, *keys)
    assert isinstance(found, NoRoute)
    return found.sentence


def bare(route: Route) -> list[str]:
    """Statements without tags, and with N for the number of the move."""
    return [step.sql.partition("*/ ")[2].replace(tag_of(route).split()[-1], "N") for step in route.steps]


STORED = (
    "COALESCE((SELECT SUM(s.row_count) FROM sys.dm_db_partition_stats AS s WHERE s.object_id = "
    "OBJECT_ID(N'[dbo].[hotplace_N_{}]') AND s.index_id <= 1), -{})"
)
EXCHANGE = (
    "SET XACT_ABORT ON; BEGIN TRANSACTION; INSERT INTO [dbo].[hotplace_N_new] WITH (TABLOCK) ([id], [day]) "
    "SELECT [id], [day] FROM [dbo].[orders] WITH (TABLOCK, HOLDLOCK) WHERE $PARTITION.[pf]([day]) = 2; "
    "DECLARE @hotplace_rows bigint = ROWCOUNT_BIG(); "
    "EXEC sys.sp_addextendedproperty @name = N'hotplace_rows', @value = @hotplace_rows, @level0type = N'SCHEMA', "
    "@level0name = N'dbo', @level1type = N'TABLE', @level1name = N'hotplace_N_old'; "
    "ALTER TABLE [dbo].[orders] SWITCH PARTITION 2 TO [dbo].[hotplace_N_old] WITH (WAIT_AT_LOW_PRIORITY (MAX_DURATION "
    "= 1 MINUTES, ABORT_AFTER_WAIT = SELF)); "
    "ALTER PARTITION FUNCTION [pf]() MERGE RANGE (N'2020-01-01'); ALTER PARTITION SCHEME [ps] NEXT USED [SSD]; "
    "ALTER PARTITION FUNCTION [pf]() SPLIT RANGE (N'2020-01-01'); "
    f"IF {STORED.format('old', 1)} <> {STORED.format('new', 2)} THROW 51000, N'hotplace: the storage does not count as "
    "many rows in the copy as in the partition: a security policy may hide some, or sys.dm_db_partition_stats is not "
    "exact (DBCC UPDATEUSAGE)', 1; "
    "ALTER TABLE [dbo].[hotplace_N_new] SWITCH TO [dbo].[orders] PARTITION 2; COMMIT TRANSACTION"
)
NOTED = (
    "(SELECT CONVERT(bigint, p.value) FROM sys.extended_properties AS p WHERE p.class = 1 AND p.major_id = "
    "OBJECT_ID(N'[dbo].[hotplace_N_old]') AND p.minor_id = 0 AND p.name = N'hotplace_rows')"
)
DROP_OLD = (
    "SET XACT_ABORT ON; BEGIN TRANSACTION; IF (SELECT COUNT_BIG(*) FROM [dbo].[hotplace_N_old] WITH (TABLOCKX, "
    f"HOLDLOCK)) NOT IN (0, COALESCE({NOTED}, 0)) THROW 51000, N'hotplace: hotplace_N_old has not as many rows as were "
    "copied: rows are missing where the copy is', 1; DROP TABLE [dbo].[hotplace_N_old]; COMMIT TRANSACTION"
)
SWITCH_BACK = (
    "SET XACT_ABORT ON; BEGIN TRANSACTION; ALTER TABLE [dbo].[hotplace_N_new] DROP CONSTRAINT [hotplace_N_new_range]; "
    "ALTER TABLE [dbo].[hotplace_N_old] WITH CHECK ADD CONSTRAINT [hotplace_N_old_range] CHECK ([day] IS NOT NULL AND "
    "[day] >= N'2020-01-01' AND [day] < N'2021-01-01'); "
    "IF (SELECT COUNT_BIG(*) FROM [dbo].[orders] WITH (TABLOCK, HOLDLOCK) WHERE $PARTITION.[pf]([day]) = 2) <> "
    f"COALESCE({NOTED}, -1) THROW 51000, N'hotplace: rows were written since the copy took its place: they would be "
    "lost', 1; "
    "IF EXISTS (SELECT [id], [day] FROM [dbo].[orders] WHERE $PARTITION.[pf]([day]) = 2 EXCEPT SELECT [id], [day] FROM "
    "[dbo].[hotplace_N_old]) THROW 51000, N'hotplace: rows were written since the copy took its place: they would be "
    "lost', 1; "
    "ALTER TABLE [dbo].[orders] SWITCH PARTITION 2 TO [dbo].[hotplace_N_new] WITH (WAIT_AT_LOW_PRIORITY (MAX_DURATION "
    "= 1 MINUTES, ABORT_AFTER_WAIT = SELF)); "
    "ALTER PARTITION FUNCTION [pf]() MERGE RANGE (N'2020-01-01'); ALTER PARTITION SCHEME [ps] NEXT USED [HDD]; "
    "ALTER PARTITION FUNCTION [pf]() SPLIT RANGE (N'2020-01-01'); "
    f"IF {STORED.format('new', 2)} <> COALESCE({NOTED}, -1) THROW 51000, N'hotplace: rows were written since the copy "
    "took its place: they would be lost', 1; "
    "ALTER TABLE [dbo].[hotplace_N_old] SWITCH TO [dbo].[orders] PARTITION 2; TRUNCATE TABLE [dbo].[hotplace_N_new]; "
    "COMMIT TRANSACTION"
)


def test_a_filled_partition_is_copied_and_switched() -> None:
    """Two empty tables of its shape, one transaction that copies and exchanges, and the tables go again."""
    found = ask(days())
    assert isinstance(found, tuple)
    (route,) = found
    statements = bare(route)
    assert statements[0] == (
        "CREATE TABLE [dbo].[hotplace_N_new] ([id] int NOT NULL, [day] date NULL, CONSTRAINT [hotplace_N_new_range] "
        "CHECK ([day] IS NOT NULL AND [day] >= N'2020-01-01' AND [day] < N'2021-01-01')) ON [SSD]"
    )
    assert statements[1] == (
        "ALTER TABLE [dbo].[hotplace_N_new] ADD CONSTRAINT [hotplace_N_new_1] PRIMARY KEY CLUSTERED ([id] ASC, [day] "
        "ASC) WITH (PAD_INDEX = OFF, STATISTICS_NORECOMPUTE = OFF, IGNORE_DUP_KEY = OFF, ALLOW_ROW_LOCKS = ON, "
        "ALLOW_PAGE_LOCKS = ON, FILLFACTOR = 100, OPTIMIZE_FOR_SEQUENTIAL_KEY = OFF, DATA_COMPRESSION = PAGE) ON [SSD]"
    )
    assert statements[2].startswith("CREATE NONCLUSTERED INDEX [hotplace_N_new_2] ON [dbo].[hotplace_N_new] ([id] ASC)")
    assert statements[3] == "CREATE TABLE [dbo].[hotplace_N_old] ([id] int NOT NULL, [day] date NULL) ON [HDD]"
    assert statements[6] == EXCHANGE
    assert statements[7:] == [DROP_OLD, DROP_OLD.replace("_old", "_new")]
    number = tag_of(route).split()[-1]
    tidy = [step.sql.partition("*/ ")[2].replace(number, "N") for step in route.tidy_steps]
    assert tidy[:3] == [SWITCH_BACK, *statements[7:]]
    assert [step.replace("_back_", "_") for step in tidy[4:]] == tidy[1:3], "the way back has tables of its own"
    assert not route.online
    assert "reads go on, writes wait" in route.locks
    assert route.locked is Locked.WRITES
    assert route.rewrites == ""  # so that a plan may have several partitions of one index, and a swap of two


def test_before_2014_the_first_switch_cannot_be_patient() -> None:
    """WAIT_AT_LOW_PRIORITY of SWITCH came with 2014; the lock time-out is all there is before."""
    old, new = (ask(days(), server=ServerFeatures(major=major, edition=3)) for major in (11, 12))
    assert isinstance(old, tuple)
    assert isinstance(new, tuple)
    assert "LOW_PRIORITY" not in bare(old[0])[6]
    assert "LOW_PRIORITY" in bare(new[0])[6]


def test_next_used_is_put_back() -> None:
    """What the scheme had for its next partition it has again; SPLIT uses it up."""
    scheme = replace(SCHEME, destinations={**SCHEME.destinations, 4: 1})
    definition = days()
    found = ask(replace(definition, spaces={**definition.spaces, scheme.number: scheme}))
    assert isinstance(found, tuple)
    assert "SPLIT RANGE (N'2020-01-01'); ALTER PARTITION SCHEME [ps] NEXT USED [HDD]; IF" in bare(found[0])[6]


@pytest.mark.parametrize("partitions", ["each", "switched"])
def test_an_empty_partition_is_a_matter_of_the_catalog(partitions: str) -> None:
    """MERGE and SPLIT in one transaction that looks once more for rows, however partitions are to move."""
    found = ask(days(partitions=emptied(2)), KEYS[0], partitions=partitions)
    assert isinstance(found, tuple)
    (route,) = found
    expected = (
        "SET XACT_ABORT ON; BEGIN TRANSACTION; IF EXISTS (SELECT 1 FROM [dbo].[orders] WITH (TABLOCKX, HOLDLOCK) WHERE "
        "$PARTITION.[pf]([day]) = 2) OR COALESCE((SELECT SUM(s.row_count) FROM sys.dm_db_partition_stats AS s WHERE "
        "s.object_id = OBJECT_ID(N'[dbo].[orders]') AND s.index_id <= 1 AND s.partition_number = 2), 1) <> 0 "
        "THROW 51000, N'hotplace: the partition is not empty any more', 1; "
        "ALTER PARTITION FUNCTION [pf]() MERGE RANGE (N'2020-01-01'); ALTER PARTITION SCHEME [ps] NEXT USED [SSD]; "
        "ALTER PARTITION FUNCTION [pf]() SPLIT RANGE (N'2020-01-01'); COMMIT TRANSACTION"
    )
    assert bare(route) == [expected]
    assert (route.online, route.locked) == (True, Locked.BRIEFLY)
    assert not route.tidy_steps


def test_left_ranges_have_their_upper_boundary() -> None:
    """LEFT: partition 1 ends with boundary 1, is taken away and comes back by it, and holds what is NULL."""
    definition = days(1)
    left = replace(definition, spaces={**definition.spaces, SCHEME.number: replace(SCHEME, on_right=False)})
    found = ask(left, *(replace(NAME, index=i, partition=1).key for i in (None, "ix")))
    assert isinstance(found, tuple)
    assert "CHECK ([day] <= N'2020-01-01')" in bare(found[0])[0]
    assert "MERGE RANGE (N'2020-01-01')" in bare(found[0])[6]


REFUSALS = [
    ({"partitioning": replace(KNOWN, shared=True)}, "another table or scheme uses [pf]"),
    ({"partitioning": replace(KNOWN, boundaries=("2020-01-01",))}, "boundaries of type date"),
    ({"partitioning": None}, "cannot be seen"),
    ({"columns": (ID, replace(DAY, type_name="uniqueidentifier"))}, "boundaries of type uniqueidentifier"),
    ({"partitioning": replace(KNOWN, hindrances=("its changes are tracked (4900)",))}, "4900"),
    ({"owner": replace(OWNER, temporal_type=2)}, "13546"),
    ({"owner": replace(OWNER, fulltext_indexes=1)}, "full-text index"),
    ({"columns": (ID, DAY, NOTE)}, "large objects"),
    ({"columns": (ID, DAY, replace(ID, name="v", type_name="timestamp"))}, "hotplace does not write"),
]


@pytest.mark.parametrize(("values", "words"), REFUSALS, ids=[words for _, words in REFUSALS])
def test_what_speaks_against_it(values: dict[str, Any], words: str) -> None:
    """Each of them is told; nothing of it is tried on the server."""
    assert words in said(days(**values))


def test_indexes_that_speak_against_it() -> None:
    """One that is not partitioned, a columnstore, another compression beside, a key without the partitioning column."""
    plain = days()
    strange = index(NONCLUSTERED, "loose", index_id=3)
    assert "7733" in said(replace(plain, indexes=(*plain.indexes, strange)))
    store = index(CLUSTERED_COLUMNSTORE, "cci", columns=PARTED.columns, partitions=PARTED.partitions, space_id=65601)
    assert "35346" in said(replace(plain, indexes=(store, plain.indexes[1])))
    beside = (replace(PARTED.partitions[0], compression="ROW"), *PARTED.partitions[1:])
    assert "11406" in said(days(partitions=beside))
    keyless = replace(plain.indexes[0], columns=(key("id"), IndexColumn("day", 0, 1, 0, 0, 0)))
    assert "4947" in said(replace(plain, indexes=(keyless, plain.indexes[1])))
    assert "all its indexes go along" in said(plain, KEYS[0], replace(NAME, index="other", partition=2).key)


def test_the_outermost_partition_has_no_boundary_of_its_own() -> None:
    """RIGHT: the first; LEFT: the last. It is moved by building the index anew, if at all."""
    first = tuple(replace(NAME, index=i, partition=1).key for i in (None, "ix"))
    assert "no boundary of its own" in said(days(1), *first)
    definition = days(3, partitions=tuple(replace(p, compression="PAGE") for p in PARTED.partitions))
    left = replace(definition, spaces={**definition.spaces, SCHEME.number: replace(SCHEME, on_right=False)})
    assert "no boundary" in said(left, *(replace(NAME, index=i, partition=3).key for i in (None, "ix")))


def test_where_it_cannot_be_switched_the_index_is_built_anew() -> None:
    """A bundle of one index has its rebuild behind the SWITCH, or alone; where offline is excluded there is none."""
    alone = replace(days(), indexes=days().indexes[:1])
    names = [[r.name for r in f] for f in (ask(alone, KEYS[0]),) if isinstance(f, tuple)]
    assert names == [["copy and SWITCH of one partition", "rebuild on a second partition scheme offline"]]
    refused = ask(replace(alone, owner=replace(OWNER, temporal_type=2)), KEYS[0])
    assert isinstance(refused, tuple)
    assert [r.name for r in refused] == ["rebuild on a second partition scheme offline"]
    assert isinstance(ask(days(), offline_moves=False), NoRoute)


def test_a_partitioned_heap_moves_by_switch() -> None:
    """Which no rebuild can do; the tables are heaps, compressed as the partition is."""
    heap = replace(PARTED, kind=HEAP, name=None, index_id=0, columns=(IndexColumn("day", 0, 1, 0, 0, 0),))
    found = ask(replace(days(), indexes=(heap,)), KEYS[0])
    assert isinstance(found, tuple)
    assert [s for s in bare(found[0]) if s.startswith("CREATE")][1] == (
        "CREATE TABLE [dbo].[hotplace_N_old] ([id] int NOT NULL, [day] date NULL) ON [HDD] "
        "WITH (DATA_COMPRESSION = PAGE)"
    )


@pytest.mark.parametrize(
    ("kind", "value", "written"),
    [
        ("int", "-5", "-5"),
        ("decimal", "1.50", "1.50"),
        ("int", "1); DROP", None),
        ("date", "2020-01-01", "N'2020-01-01'"),
        ("varchar", "it's", "'it''s'"),
        ("nvarchar", "it's", "N'it''s'"),
        ("varbinary", "0x01", None),
        ("float", "1.5", None),
    ],
)
def test_boundaries_as_literals(kind: str, value: str, written: str | None) -> None:
    """By type, quoted; a type whose text would have to be converted is left alone."""
    assert literal(kind, value) == written


def test_hindrances_in_words() -> None:
    """Each column of the query is one sentence; none where there is nothing."""
    assert list(Hindrances(0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0).sentences()) == []
    assert len(list(Hindrances(1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1).sentences())) == 12


def test_partitions_made_by_hand_have_rows() -> None:
    """Unless a test says otherwise; and nobody has looked at their function."""
    assert PAGES.rows == 1
    assert table(index()).partitioning is None
