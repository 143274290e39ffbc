"""Documented views and columns by version, from catalog.json; never from the queries of a connector."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.labs.sql.catalog import CatalogFile

MAJORS = {"2005": 9, "2008": 10, "2012": 11, "2014": 12, "2016": 13, "2017": 14, "2019": 15, "2022": 16, "2025": 17}
NEVER = 99  # documented for another product only
_DUCKDB = {
    "bit": "BOOLEAN",
    "tinyint": "UTINYINT",
    "smallint": "SMALLINT",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "real": "FLOAT",
    "float": "DOUBLE",
    "datetime": "TIMESTAMP",
    "datetime2": "TIMESTAMP",
    "datetimeoffset": "TIMESTAMP",  # of UTC, and told as datetime2: DuckDB wants a library of its own for zones
    "varbinary": "BLOB",
    "binary": "BLOB",
}


def major_of(since: str) -> int:
    """Major version of '2016+', '2016 SP1' and the like; NEVER for a text that names no version."""
    found = re.match(r"\d{4}", since)
    return MAJORS[found[0]] if found else NEVER


@dataclass(frozen=True, slots=True)
class View:
    """A catalog view or DMV.

    Attributes:
        columns: name -> T-SQL type.
        arguments: of a function, True where NULL means all.
    """

    name: str
    columns: dict[str, str]
    arguments: dict[str, bool]
    permission: str

    def needs_state(self) -> bool:
        """Whether VIEW SERVER STATE or VIEW DATABASE STATE is what opens it."""
        return not self.permission.startswith("public") and " STATE" in self.permission

    def database_right_will_do(self) -> bool:
        """Whether the database's own right is enough."""
        return "VIEW DATABASE STATE" in self.permission


def duckdb_type(sql_type: str) -> str:
    """The type that stands for it."""
    if sql_type.startswith(("decimal", "numeric")):
        return sql_type.upper()
    return _DUCKDB.get(sql_type.partition("(")[0], "VARCHAR")


_FILE = CatalogFile(Path(__file__).parent / "catalog.json", lambda since: (major_of(since),))


@cache
def documented(name: str, major: int) -> View | None:
    """The view of that lower-case name, as that version has it; None where it has none."""
    entry = _FILE.entry(name, (major,))
    if entry is None:
        return None
    return View(
        name=name,
        columns=_FILE.columns(entry, (major,)),
        arguments={a["name"]: a.get("null", "").startswith("all") for a in entry["args"]},
        permission=entry["permission"],
    )


@cache
def variant_columns() -> frozenset[str]:
    """Names of columns that any view documents as sql_variant."""
    return frozenset(column for column, kind in _FILE.every_column() if kind == "sql_variant")


@cache
def floating_columns() -> frozenset[str]:
    """Names of columns that any view documents as real, float or decimal: dividing by one is not integer division."""
    kinds = ("real", "float", "decimal", "numeric")
    return frozenset(column for column, kind in _FILE.every_column() if kind.startswith(kinds))
