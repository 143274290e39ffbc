"""Loads the queries, one file each, and fits them to the columns that a server has."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_SOURCE = re.compile(r"\bFROM\s+(TABLE\(.+\)|[\w.]+)\s+AS\s+(\w+)")
_SOURCES = re.compile(r"\b(?:FROM|JOIN)\s+(TABLE\(.+?\)\)|[A-Z]\w*\.\w+)\s+AS\s+\w+")
_OPTIONAL = re.compile(r"(?P<before>.*?)(?P<alias>\w+)\.(?P<column>\w+)(?P<comma>,?)\s*-- since [\d.]+, (?P<type>.+)")


@dataclass(frozen=True, slots=True)
class Query:
    """One statement with the columns that not every version has."""

    name: str
    text: str  # without its header
    source: str  # what follows FROM; "" where it reads nothing
    optional: frozenset[str]

    def fit(self, columns: frozenset[str]) -> str:
        """The statement with typed NULLs for the optional columns that are not among ``columns``; no comments."""
        return "\n".join(_fit_line(line, columns) for line in self.text.splitlines())

    @property
    def sources(self) -> tuple[str, ...]:
        """Everything that it reads."""
        return tuple(found[1] for found in _SOURCES.finditer(self.text))

    @property
    def probe(self) -> str:
        """Asks for the names of all columns and for no row."""
        return f"SELECT * FROM {self.source} AS T WHERE 1 = 0"  # noqa: S608  # the source is a line of our own file


@cache
def query(name: str, package: str = "connectors.db2") -> Query:
    """The query of ``sql/<name>.sql`` in that package."""
    whole = (files(package) / "sql" / f"{name}.sql").read_text(encoding="utf-8")
    text = "\n".join(line for line in whole.splitlines() if not line.startswith("--"))
    source = _SOURCE.search(text)
    optional = frozenset(found["column"] for found in map(_OPTIONAL.fullmatch, text.splitlines()) if found)
    return Query(name, text, source[1] if source else "", optional)


def fit(wanted: Query, columns_of: Callable[[Query], frozenset[str]]) -> str:
    """The statement as this server understands it; asks for its columns only where any are optional."""
    return wanted.fit(columns_of(wanted) if wanted.optional else frozenset())


def _fit_line(line: str, columns: frozenset[str]) -> str:
    found = _OPTIONAL.fullmatch(line)
    if found is None:
        return line
    name = found["column"]
    value = f"{found['alias']}.{name}" if name in columns else f"CAST(NULL AS {found['type']}) AS {name}"
    return f"{found['before']}{value}{found['comma']}"
