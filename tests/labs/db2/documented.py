"""The emulated catalog's shape: views, functions and columns as Db2's documentation gives them, by version.

``documented.json`` and ``catalog_views.json`` were collected from public sources and know nothing of the connector;
what both lack does not exist in the lab either. Types that no source states are given here, by the name of the column.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_HERE = Path(__file__).parent
_TYPE = re.compile(
    r"(VARCHAR\(\d+\)|CHAR\(\d+\)|DECIMAL\(\d+,\d+\)|BIGINT|INTEGER|SMALLINT|TIMESTAMP|DATE|DOUBLE|REAL|CLOB)"
)
_FUNCTION = re.compile(r"(?:MON|ADMIN)_GET_|SYSPROC\.DB_GET_|ENV_GET_SYSTEM_|AUTH_LIST_|DB_MEMBERS$")
_PROCEDURES = ("SYSPROC.ADMIN_MOVE_TABLE", "SYSPROC.ADMIN_MOVE_TABLE_UTIL")
NEWEST = (12, 1)
_SINCE = re.compile(r"(\d+)\.(\d+)")
# Columns that came after the view they are in; see "added_later" of documented.json.
_LATER = (
    (re.compile(r"(^|_)COL_"), (10, 5)),
    (re.compile(r"CACHING_?TIER|TIER_WRITE|COMPACTION|LOB_PREFETCH|TENANT_ID|EXT_TABLE"), (12, 1)),
    (re.compile(r"^STORAGE_GROUP_|^TBSP_DATATAG$|^SG(NAME|ID)$|^DATATAG$|_XDA_GBP_|^OBJECT_|^TEMPORALTYPE$"), (10, 1)),
    (re.compile(r"^CONTROL$"), (10, 1)),
    (re.compile(r"^(TRUSTED|EVENT(UPDATE|DELETE|INSERT))$"), (10, 5)),
    (re.compile(r"^PERIOD(NAME|POLICY)$"), (10, 1)),
    (re.compile(r"^(PLANID|STMTID|SEMANTIC_ENV_ID)$"), (11, 1)),
    (re.compile(r"^(COORD_STMT_EXEC_TIME|NUM_COORD_EXEC.*)$"), (10, 1)),
    (re.compile(r"^TABLEORG$|^TAB_ORGANIZATION$|^VIEW(SCHEMA|NAME)$"), (10, 5)),
)
_UNSEEN = (
    (re.compile(r"^(MEMBER|COORD_MEMBER|DBPARTITIONNUM)$"), "SMALLINT"),
    (re.compile(r"_TIME$"), "TIMESTAMP"),
    (
        re.compile(r"^(?!FS_ID).*(_ID|HANDLE|NUM|PAGES|SIZE|PRIORITY|_MEMBERS|_DBPARTITIONS|_PERCENT)$"),
        "BIGINT",
    ),
    (re.compile(r"^NUM_"), "BIGINT"),
)


@dataclass(frozen=True, slots=True)
class View:
    """One view, or function that gives rows."""

    name: str  # with its schema where the documentation gives one; functions without
    columns: dict[str, str]  # name -> type
    arguments: tuple[str, ...]  # of a function
    since: tuple[int, int]
    function: bool

    @property
    def table(self) -> str:
        """Its name inside Derby."""
        return self.name.replace(".", "_")

    @property
    def plain(self) -> str:
        """Without its schema."""
        return self.name.rpartition(".")[2]


def _type_of(column: str, said: str) -> str:
    """As Derby is to store it: IBM's driver loses its connection over how Derby describes a CHAR, so VARCHAR it is."""
    stated = _TYPE.search(said)
    if stated and "FOR BIT DATA" in said:
        return f"{stated[1]} FOR BIT DATA"
    if stated:
        return stated[1] if stated[1].startswith("VAR") else stated[1].replace("CHAR", "VARCHAR")
    return next((kind for pattern, kind in _UNSEEN if pattern.search(column)), "VARCHAR(256)")


def _since(said: str, otherwise: tuple[int, int]) -> tuple[int, int]:
    found = _SINCE.search(said)
    return (int(found[1]), int(found[2])) if found and not said.startswith("<") else otherwise


def _existed(column: str, version: tuple[int, ...]) -> bool:
    return all(version >= since for pattern, since in _LATER if pattern.search(column))


@cache
def views(version: tuple[int, ...]) -> dict[str, View]:
    """Everything on Db2 for Linux, UNIX and Windows of that version, by plain name in upper case with its schema.

    Args:
        version: such as (11, 5).
    """
    described = json.loads((_HERE / "documented.json").read_text())["views"]
    for name, more in json.loads((_HERE / "catalog_views.json").read_text())["views"].items():
        told = described.setdefault(name, {**more, "columns": {}})
        told["columns"] |= more["columns"]
    found = {}
    for name, told in described.items():
        since = _since(told["since"], (9, 7))
        if told.get("platform", "luw") != "luw" or name in _PROCEDURES or version < since:
            continue
        columns = {c: _type_of(c, said) for c, said in told["columns"].items() if _existed(c, version)}
        arguments = tuple(argument.split()[0].upper() for argument in told.get("args", ()))
        found[name] = View(name, columns or {"ID": "INTEGER"}, arguments, since, bool(_FUNCTION.match(name)))
    return found
