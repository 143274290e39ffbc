"""SWITCH, SPLIT, MERGE and NEXT USED on the emulated server: what they do, what they refuse and by which number."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.labs.sqlserver.conftest import Ask
from tests.labs.sqlserver.lab import Lab
from tests.labs.sqlserver.objects import ColumnOf, PartitionScheme, Table
from tests.labs.sqlserver.storage import IN_ROW
from tests.labs.sqlserver.world import FAST, MOVER, SLOW, add_scheme, add_table, new_index

NumberOf = Callable[..., int]
COLUMNS = "[id] int NOT NULL, [filler] varchar(1000) COLLATE Latin1_General_CI_AS NULL"
RANGE = "[id] >= 10 AND [id] < 20"
COPY = "INSERT INTO dbo.copy WITH (TABLOCK) ([id], [filler]) SELECT [id], [filler] FROM dbo.days"
WITH = "WITH (TABLOCK, HOLDLOCK) WHERE $PARTITION.f_ps(id) = 2"
IN = "ALTER TABLE dbo.copy SWITCH TO dbo.days PARTITION 2"
OUT = "ALTER TABLE dbo.days SWITCH PARTITION 2 TO dbo.copy"
MERGE, SPLIT = "ALTER PARTITION FUNCTION f_ps() MERGE RANGE (10)", "ALTER PARTITION FUNCTION f_ps() SPLIT RANGE (10)"


@pytest.fixture
def scheme(lab: Lab) -> PartitionScheme:
    """RANGE RIGHT FOR VALUES (10, 20), all on the slow disk."""
    return add_scheme(lab.shop, "ps", [10, 20], [SLOW, SLOW, SLOW])


@pytest.fixture
def days(lab: Lab, scheme: PartitionScheme) -> Table:
    """100 pages in each partition of the rows, and 12 in each of the index."""
    return add_table(lab.shop, "days", space="ps", pages=100, column="id")


def copy_table(ask: Ask, space: str = SLOW, *, columns: str = COLUMNS, check: str = RANGE, index: bool = True) -> None:
    """The empty table ``copy``, shaped as the table."""
    limits = f", CONSTRAINT r CHECK ({check})" if check else ""
    ask(f"CREATE TABLE dbo.copy ({columns}{limits}) ON [{space}]")
    ask(f"ALTER TABLE dbo.copy ADD CONSTRAINT pk_copy PRIMARY KEY CLUSTERED (id ASC) ON [{space}]")
    if index:
        ask(f"CREATE INDEX ix_copy ON dbo.copy (id ASC) ON [{space}]")


def rows(table: Table) -> list[int]:
    """Of each partition."""
    return [partition.rows for partition in table.base.partitions]


def homes(lab: Lab, table: Table) -> list[str]:
    """Of each partition."""
    groups = lab.shop.storage.filegroups
    return [groups[partition.units[IN_ROW].filegroup].name for partition in table.base.partitions]


def test_out_and_in_again(days: Table, ask: Ask) -> None:
    """The pages change hands, and come back."""
    copy_table(ask)
    ask(OUT)
    assert rows(days) == [800, 0, 800]
    ask(IN)
    assert rows(days) == [800, 800, 800]


MIDNIGHTS = [f"2026-01-{day:02}T00:00:00" for day in (1, 2)]


@pytest.mark.parametrize(
    ("kind", "length", "scale", "column", "check", "number"),
    [
        ("datetime2", 6, 0, "datetime2(0)", "[id] >= N'{}' AND [id] < N'{}'", 0),
        ("datetime2", 8, 7, "datetime2", "[id] >= N'{}' AND [id] < N'{}'", 0),
        ("datetime2", 7, 3, "datetime2(3)", "[id] >= N'{}' AND [id] < N'{}'", 0),
        ("datetime2", 6, 0, "datetime2(1)", "[id] >= N'{}' AND [id] < N'{}'", 4944),
        ("date", 3, 0, "date", "[id] >= N'{}' AND [id] < N'{}'", 0),
        ("datetime", 8, 0, "smalldatetime", "[id] >= N'{}' AND [id] < N'{}'", 4944),
        ("datetime2", 6, 0, "datetime2(0)", "[id] >= N'{}' AND [id] <= N'{}'", 4982),
    ],
)
def test_times(
    days: Table, scheme: PartitionScheme, ask: Ask, number_of: NumberOf,
    kind: str, length: int, scale: int, column: str, check: str, number: int,
) -> None:  # fmt: skip
    """Types of times have their lengths, and their ranges are compared as they are written."""
    scheme.function.boundaries[:] = MIDNIGHTS
    days.columns[0] = ColumnOf(1, "id", kind, length, nullable=False, scale=scale)
    columns = COLUMNS.replace("int", column)
    for index in days.indexes.values():
        index.partitions[1].rows = 0
    copy_table(ask, columns=columns, check=check.format(*MIDNIGHTS))
    assert number_of(IN) == number


@pytest.mark.parametrize(
    ("shape", "number"),
    [
        ({"check": ""}, 4982),
        ({"check": "[id] >= 10"}, 4982),
        ({"check": "[id] >= 10 AND [id] <= 20"}, 4982),
        ({"check": "[id] > 10 AND [id] < 15"}, 0),
        ({"index": False}, 4947),
        ({"columns": "[id] int NOT NULL, [filler] varchar(1000) NOT NULL"}, 4985),
        ({"columns": "[id] int NOT NULL, [other] varchar(1000) NULL"}, 4942),
        ({"columns": "[id] int NOT NULL, [filler] varchar(99) NULL"}, 4944),
        ({"columns": "[id] int NOT NULL"}, 4943),
        ({"space": FAST}, 4939),
    ],
)
def test_what_does_not_match_is_not_switched_in(
    days: Table, ask: Ask, number_of: NumberOf, shape: dict[str, str], number: int
) -> None:
    """CHECK within the range, the same columns, the same indexes, the same filegroup; nothing has changed after it."""
    for index in days.indexes.values():
        index.partitions[1].rows = 0
    copy_table(ask, **shape)  # type: ignore[arg-type]  # fields by name
    assert number_of(IN) == number
    assert rows(days) == [800, 0, 800]


@pytest.mark.parametrize(
    ("mark", "number"),
    [
        ("change_tracked", 4900),
        ("fulltext", 4918),
        ("temporal_type", 13546),
        ("referenced", 4967),
    ],
)
def test_what_the_table_has_that_switch_refuses(
    days: Table, ask: Ask, number_of: NumberOf, mark: str, number: int
) -> None:
    """Each by its own number; without it the same statement is taken."""
    copy_table(ask)
    setattr(days, mark, 1)
    assert number_of(OUT) == number
    setattr(days, mark, 0)
    assert number_of(OUT) == 0


def test_a_change_feed_refuses_switch(lab: Lab, days: Table, ask: Ask, number_of: NumberOf) -> None:
    """Rule 31: of every table of the database, since no column says of which."""
    copy_table(ask)
    lab.shop.change_feed = True
    assert number_of(OUT) == 22750
    lab.shop.change_feed = False
    assert number_of(OUT) == 0


def test_other_refusals(lab: Lab, days: Table, ask: Ask, number_of: NumberOf) -> None:
    """A target with rows, a partition that is not there, compression, an index that is not partitioned."""
    copy_table(ask)
    assert number_of("ALTER TABLE dbo.days SWITCH PARTITION 2 TO dbo.days PARTITION 2") == 4955
    assert number_of("ALTER TABLE dbo.days SWITCH TO dbo.copy") == 4911
    assert number_of("ALTER TABLE dbo.days SWITCH PARTITION 9 TO dbo.copy") == 4950
    days.base.partitions[1].compression = "PAGE"
    assert number_of(OUT) == 11406
    days.base.partitions[1].compression = "NONE"
    assert number_of(OUT) == 0
    assert number_of("ALTER TABLE dbo.days SWITCH PARTITION 3 TO dbo.copy") == 4905
    assert number_of("ALTER TABLE dbo.copy SWITCH TO dbo.days PARTITION 3") == 4904
    days.indexes[3] = new_index(lab.shop, 3, "plain", 2, SLOW, 8, keys=(("filler", False),))
    assert number_of(IN) == 7733


def test_split_puts_the_boundarys_side_on_next_used(
    lab: Lab, scheme: PartitionScheme, days: Table, ask: Ask, number_of: NumberOf
) -> None:
    """RIGHT: partition 2 goes with its filegroup, its rows beside 1's, and comes back in the fast one."""
    assert number_of("ALTER PARTITION FUNCTION f_ps() MERGE RANGE (11)") == 7715
    assert number_of(SPLIT) == 7721
    ask(MERGE)
    assert rows(days) == [1600, 800]
    assert number_of(SPLIT) == 7707  # nothing is NEXT USED
    ask("ALTER PARTITION SCHEME ps NEXT USED [ssd]")
    ask(SPLIT)
    assert (rows(days), homes(lab, days)) == ([800, 800, 800], [SLOW, FAST, SLOW])
    assert [p.number for p in days.base.partitions] == [1, 2, 3]
    assert lab.instance.rows_moved == 2 * (800 + 96)  # of the table and of its index, there and back
    assert scheme.next_used is None


def test_left_ranges_keep_their_boundary_on_the_left(lab: Lab, scheme: PartitionScheme, ask: Ask) -> None:
    """LEFT: boundary 10 is partition 1's own, which MERGE takes away into 2."""
    scheme.function.right = False
    days = add_table(lab.shop, "days", space="ps", pages=100, column="id")
    for index in days.indexes.values():
        index.partitions[0].rows = 0
    ask(f"{MERGE}; ALTER PARTITION SCHEME ps NEXT USED ssd; {SPLIT}")
    assert (rows(days), homes(lab, days)) == ([0, 800, 800], [FAST, SLOW, SLOW])
    assert lab.instance.rows_moved == 0


def test_a_copy_is_taken_back_with_its_transaction(lab: Lab, days: Table, ask: Ask, number_of: NumberOf) -> None:
    """Without COMMIT nothing has happened: the error of a later statement gives back rows, pages, places and locks."""
    copy_table(ask, FAST)
    used = [file.used for file in lab.shop.storage.files.values()]
    late = f"SET XACT_ABORT ON; BEGIN TRANSACTION; {COPY} {WITH}; ALTER PARTITION SCHEME ps NEXT USED ssd; {OUT}"
    assert number_of(late) == 4905  # the copy has rows
    assert rows(days) == [800, 800, 800]
    assert [file.used for file in lab.shop.storage.files.values()] == used
    assert lab.shop.table_named("dbo", "copy").base.partitions[0].rows == 0  # type: ignore[union-attr]  # a table
    assert not days.lock_holders
    assert next(iter(lab.shop.schemes.values())).next_used is None


def test_whoever_copies_needs_to_read(days: Table, ask: Ask, number_of: NumberOf) -> None:
    """ALTER does not hold SELECT and INSERT."""
    copy_table(ask)
    assert number_of(f"{COPY} {WITH}", account=MOVER) == 229
    assert number_of(f"{COPY} {WITH}") == 0
