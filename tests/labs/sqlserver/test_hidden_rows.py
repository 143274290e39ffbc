"""Rows that a security predicate hides, and who counts them: rules 22 to 26, asked with python-tds."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from tests.labs.sqlserver.conftest import Ask
from tests.labs.sqlserver.lab import Lab
from tests.labs.sqlserver.objects import Table
from tests.labs.sqlserver.test_partitions import COPY, IN, OUT, WITH, copy_table, days, rows, scheme
from tests.labs.sqlserver.world import STRANGER, WITHOUT_DEFINITIONS

__all__ = ["days", "scheme"]  # fixtures
NumberOf = Callable[..., int]
COUNT = "SELECT COUNT_BIG(*) AS n FROM shop.days"
STORED = "(SELECT SUM(s.row_count) FROM sys.dm_db_partition_stats AS s WHERE s.object_id = OBJECT_ID(N'[dbo].[{}]'))"
NOTE = (
    "EXEC sys.sp_addextendedproperty @name = N'rows', @value = {}, @level0type = N'SCHEMA', @level0name = N'dbo', "
    "@level1type = N'TABLE', @level1name = N'days'"
)


def hide(table: Table, rows: int = 700) -> None:
    """CREATE SECURITY POLICY tenants ADD FILTER PREDICATE ... ON dbo.days, whose function is true of other rows."""
    table.predicates = ("tenants",)
    table.base.partitions[1].hidden = rows


def test_everybody_reads_the_other_rows_only(days: Table, ask: Ask) -> None:
    """The administrator too, by COUNT and by the SELECT of an INSERT; the storage counts all (rules 22, 23)."""
    hide(days)
    copy_table(ask)
    ask(f"{COPY} {WITH}")
    copied = ask(
        "SELECT p.row_count FROM sys.dm_db_partition_stats AS p WHERE p.object_id = OBJECT_ID(N'[dbo].[copy]')"
    )
    assert copied[0] == (100,)
    stored = ask(f"SELECT {STORED.format('days')} AS n")
    assert stored == [(sum(p.rows for index in days.indexes.values() for p in index.partitions),)]


def test_switch_takes_all_rows_along(days: Table, ask: Ask) -> None:
    """No predicate is evaluated: behind it a table without one has rows that nobody saw (rule 22)."""
    hide(days)
    copy_table(ask)
    ask(OUT)
    assert ask("SELECT p.rows FROM sys.partitions AS p WHERE p.object_id = OBJECT_ID(N'[dbo].[copy]')")[0] == (800,)
    ask(IN)
    assert rows(days) == [800, 800, 800]


def test_predicates_are_seen_by_who_sees_definitions(days: Table, lab: Lab, ask: Ask, number_of: NumberOf) -> None:
    """sys.security_predicates is there since 2016 and empty for others; its table cannot be dropped (rule 24)."""
    hide(days)
    seen = "SELECT r.target_object_id, r.predicate_type_desc FROM sys.security_predicates AS r"
    assert ask(seen) == [(days.object_id, "FILTER")]
    assert ask(seen, account=WITHOUT_DEFINITIONS) == []
    assert number_of("DROP TABLE dbo.days") == 3729


def test_counts_of_the_storage_want_a_right(days: Table, number_of: NumberOf) -> None:
    """VIEW DATABASE STATE; who sees no definitions gets no rows, and so no sum (rule 23)."""
    refuse = f"IF {STORED.format('days')} <> -1 THROW 51000, N'x', 1"
    assert number_of(refuse) == 51000
    assert number_of(refuse, account=WITHOUT_DEFINITIONS) == 0, "NULL is unlike nothing"
    assert number_of(refuse, account=STRANGER) in (262, 297, 300)


def test_row_count_is_that_of_the_statement_before(days: Table, ask: Ask, number_of: NumberOf) -> None:
    """ROWCOUNT_BIG() behind an INSERT is what it wrote; a property keeps it; it goes with a rollback (rule 25)."""
    copy_table(ask)
    noted = f"DECLARE @n bigint = ROWCOUNT_BIG(); {NOTE.format('@n')}"
    ask(f"SET XACT_ABORT ON; BEGIN TRANSACTION; {COPY} {WITH}; {noted}; COMMIT TRANSACTION")
    assert days.properties == {"rows": "800"}
    assert number_of(NOTE.format(1)) == 15233
    days.properties.clear()
    number_of(f"SET XACT_ABORT ON; BEGIN TRANSACTION; {NOTE.format(1)}; IF 1 = 1 THROW 51000, N'no', 1")
    assert days.properties == {}


def test_truncate_drop_and_constraints_are_taken_back(days: Table, ask: Ask, number_of: NumberOf) -> None:
    """DDL is part of its transaction: THROW under XACT_ABORT leaves everything as it was (rule 26)."""
    copy_table(ask)
    ask(f"{COPY} {WITH}")
    end = (
        "IF EXISTS (SELECT 1 FROM dbo.days WITH (TABLOCK, HOLDLOCK) WHERE $PARTITION.f_ps(id) = 2) THROW 51000, N'x', 1"
    )
    for change in (
        "TRUNCATE TABLE dbo.copy",
        "DROP TABLE dbo.copy",
        "ALTER TABLE dbo.copy DROP CONSTRAINT r",
    ):
        assert number_of(f"SET XACT_ABORT ON; BEGIN TRANSACTION; {change}; {end}") == 51000, change
        assert ask("SELECT p.rows FROM sys.partitions AS p WHERE p.object_id = OBJECT_ID(N'[dbo].[copy]')")[0] == (800,)
    assert number_of("ALTER TABLE dbo.copy DROP CONSTRAINT other") == 3728
    ask("ALTER TABLE dbo.copy DROP CONSTRAINT r")
    for index in days.indexes.values():
        index.partitions[1].rows = 0
    assert number_of(IN) == 4982, "without its CHECK"
    ask("ALTER TABLE dbo.copy WITH CHECK ADD CONSTRAINT r CHECK ([id] >= 10 AND [id] < 20)")
    ask(IN)


@pytest.mark.parametrize(("version", "number"), [(0, 0), (1, 51000)])
def test_except_tells_rows_that_differ(days: Table, ask: Ask, number_of: NumberOf, version: int, number: int) -> None:
    """Of the same columns: what one has and the other lacks (rule 26)."""
    copy_table(ask)
    ask(f"{COPY} {WITH}")
    days.base.partitions[1].version += version
    differs = "SELECT [id] FROM dbo.days WHERE $PARTITION.f_ps(id) = 2 EXCEPT SELECT [id] FROM dbo.copy"
    assert number_of(f"IF EXISTS ({differs}) THROW 51000, N'x', 1") == number


def test_the_time_of_the_server(lab: Lab, ask: Ask, days: Table, number_of: NumberOf) -> None:
    """SYSUTCDATETIME() goes on; kept as text in ISO 8601 it reads back as a time (rule 25)."""
    until = "DECLARE @t nvarchar(30) = CONVERT(nvarchar(30), DATEADD(second, 60, SYSUTCDATETIME()), 126)"
    ask(f"{until}; {NOTE.format('@t')}")
    kept = "(SELECT CONVERT(datetime2, p.value) FROM sys.extended_properties AS p WHERE p.name = N'rows')"
    early = f"IF {kept} > SYSUTCDATETIME() THROW 51000, N'x', 1"
    assert number_of(early) == 51000
    lab.instance.later = timedelta(seconds=61)
    assert number_of(early) == 0
