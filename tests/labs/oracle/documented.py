"""Which views and columns the documentation names for a release, by columns.json; nothing comes from a query."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

Version = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class View:
    """One view of a release: its columns with their documented types."""

    name: str
    columns: Mapping[str, str]
    licence: str  # "" or the option that reading it needs


@cache
def _documented() -> dict[str, dict[str, Any]]:
    loaded: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "columns.json").read_text())
    return loaded


def version_of(text: str) -> Version:
    """The first release that a remark names, (0,) where it names none: '12.2/18c' is (12, 2)."""
    if text.startswith("<="):
        return (0,)
    found = re.search(r"\d+(\.\d+)*", text)
    return tuple(map(int, found.group().split("."))) if found else (0,)


def _base(name: str) -> tuple[str, str, dict[str, str]]:
    """Documented name behind GV$ and CDB_, the flag its form needs, and the extra column."""
    if name.startswith("GV$"):
        return "V$" + name[3:], "gv", {"INST_ID": "NUMBER"}
    if name.startswith("CDB_"):
        return "DBA_" + name[4:], "cdb", {"CON_ID": "NUMBER"}
    return name, "", {}


@cache
def view(name: str, version: Version) -> View | None:
    """The view as that release has it, None where it has none of the name."""
    base, form, extra = _base(name)
    entry = _documented().get(base)
    if entry is None or (form and not entry[form]) or version_of(entry["since"]) > version:
        return None
    if form == "cdb" and version < (12, 1):
        return None
    later = {column for column, since in entry["not_before"].items() if version_of(since) > version}
    columns = {column: kind for column, kind in entry["columns"].items() if column not in later}
    return View(name, {**extra, **columns}, entry["license"] or "")
