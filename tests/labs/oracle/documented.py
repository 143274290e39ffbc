"""Which views and columns the documentation names for a release, by columns.json; nothing comes from a query."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.labs.sql.catalog import CatalogFile, Release


@dataclass(frozen=True, slots=True)
class View:
    """One view of a release: its columns with their documented types."""

    name: str
    columns: Mapping[str, str]
    licence: str  # "" or the option that reading it needs


def version_of(text: str) -> Release:
    """The first release that a remark names, (0,) where it names none: '12.2/18c' is (12, 2)."""
    if text.startswith("<="):
        return (0,)
    found = re.search(r"\d+(\.\d+)*", text)
    return tuple(map(int, found.group().split("."))) if found else (0,)


_FILE = CatalogFile(Path(__file__).parent / "columns.json", version_of)


def _base(name: str) -> tuple[str, str, dict[str, str]]:
    """Documented name behind GV$ and CDB_, the flag its form needs, and the extra column."""
    if name.startswith("GV$"):
        return "V$" + name[3:], "gv", {"INST_ID": "NUMBER"}
    if name.startswith("CDB_"):
        return "DBA_" + name[4:], "cdb", {"CON_ID": "NUMBER"}
    return name, "", {}


@cache
def view(name: str, version: Release) -> View | None:
    """The view as that release has it, None where it has none of the name."""
    base, form, extra = _base(name)
    entry = _FILE.entry(base, version)
    if entry is None or (form and not entry[form]) or (form == "cdb" and version < (12, 1)):
        return None
    return View(name, {**extra, **_FILE.columns(entry, version)}, entry["license"] or "")
