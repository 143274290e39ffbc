"""A driver that answers with rows made by hand, in the shape of documented columns: no Db2 for i or z/OS is here."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from agent.model.clock import SystemClock
from connectors.db2.plan_only.connector import PlanOnlyConnector
from connectors.db2.plan_only.session import PlanSession
from connectors.db2.sessions import Platform
from connectors.db2.settings import Db2Settings

GIB = 2**30
Rows = Mapping[str, Sequence[Mapping[str, Any]]]
Row = dict[str, Any]


class Double:
    """A DB-API connection with canned rows by source; a source that is absent does not exist."""

    def __init__(self, rows: Rows) -> None:
        self.rows = dict(rows)
        self.sent: list[str] = []
        self.description: Sequence[Sequence[Any]] | None = None
        self._found: list[tuple[Any, ...]] = []

    def cursor(self) -> Double:
        """Itself."""
        return self

    def execute(self, operation: str) -> None:
        """Find the rows that a statement asks for, by its own list of columns."""
        import ibm_db_dbi

        self.sent.append(operation)
        source = re.search(r"FROM (\S+) AS", operation)
        assert source is not None
        if source[1] not in self.rows:
            raise ibm_db_dbi.Error(f"SQL0204N {source[1]} SQLSTATE=42704 SQLCODE=-204")
        rows = self.rows[source[1]]
        columns = sorted({column for row in rows for column in row})
        self.description = [(column,) for column in columns]
        asked = re.findall(r"\b[A-Z]\.([A-Z_]+)|AS ([A-Z_]+)(?=,|$)", operation.partition("\n  FROM")[0], re.MULTILINE)
        found = [tuple(row.get(one or other) for one, other in asked) for row in rows]
        self._found = list(dict.fromkeys(found)) if operation.startswith("SELECT DISTINCT") else found

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Those."""
        return self._found

    def close(self) -> None:
        """Of a cursor, or all of it."""


def settings(platform: str, **more: Any) -> Db2Settings:
    """Of that platform."""
    return Db2Settings.model_validate({"platform": platform, "host": "h", "dbname": "DB", "user": "u", **more})


def connector_over(platform: Platform, double: Double, **more: Any) -> PlanOnlyConnector:
    """One that reads those rows."""
    of = settings(platform, **more)
    name, version = ("DB2/400 SQL", "07.05") if platform is Platform.I else ("DB2", "12.01")
    return PlanOnlyConnector(of, SystemClock(), PlanSession(of, platform, lambda _: (double, name, version)))


def reads(of: tuple[int, ...] | None, *, physical: bool = True) -> Row:
    """Counters of a unit.

    Args:
        of: sequential and random reads, then physical ones where they are fewer: what memory had; None: no counters.
        physical: whether the view counts physical reads.
    """
    if of is None:
        return {"LOGICAL_READS": None, "PHYSICAL_READS": None, "SEQUENTIAL_READS": None, "RANDOM_READS": None}
    sequential, random = of[:2]
    every = sequential + random
    missed = of[2] if len(of) > 2 else every
    return {
        "LOGICAL_READS": 2 * every, "PHYSICAL_READS": missed if physical else None, "SEQUENTIAL_READS": sequential,
        "RANDOM_READS": random,
    }  # fmt: skip


def of_table(name: str, of: tuple[int, ...] | None) -> Row:
    """A row of SYSPARTITIONSTAT: a table of one member."""
    return {
        "TABLE_SCHEMA": "SHOP", "TABLE_NAME": name, "TABLE_PARTITION": name, "SYSTEM_TABLE_SCHEMA": "SHOP",
        "SYSTEM_TABLE_NAME": name, "SYSTEM_TABLE_MEMBER": name, **reads(of),
    }  # fmt: skip


def of_index(name: str, of: tuple[int, ...] | None, *, member: str | None = "", physical: bool = True) -> Row:
    """A row of SYSPARTITIONINDEXSTAT: an index over ORDERS, with a member of its own name unless another is given."""
    return {
        "INDEX_SCHEMA": "SHOP", "INDEX_NAME": name, "INDEX_MEMBER": name if member == "" else member,
        "INDEX_TYPE": "INDEX", "TABLE_SCHEMA": "SHOP", "TABLE_NAME": "ORDERS", "TABLE_PARTITION": "ORDERS",
        **reads(of, physical=physical),
    }  # fmt: skip


def on_disk(row: Row) -> Row:
    """The same object in a view of disk units: 1 GiB of it on a hard disk of 100 GiB."""
    return {
        **row, "ASP_NUMBER": 1, "UNIT_NUMBER": 2, "UNIT_TYPE": 0, "UNIT_SPACE_USED": GIB,
        "UNIT_MEDIA_CAPACITY": 100 * GIB, "UNIT_SPACE_AVAILABLE": 40 * GIB,
    }  # fmt: skip


def many_tables(number: int) -> Double:
    """So many tables with an index each."""
    tables = [of_table(f"T{n}", (3 * n, n)) for n in range(number)]
    indexes = [of_index(f"T{n}_IX", (0, n)) for n in range(number)]
    return Double(
        {
            "QSYS2.SYSPARTITIONDISK": [on_disk(row) for row in tables],
            "QSYS2.SYSPARTITIONSTAT": tables,
            "QSYS2.SYSPARTITIONINDEXDISK": [on_disk(row) for row in indexes],
            "QSYS2.SYSPARTITIONINDEXSTAT": indexes,
        }
    )
