"""What of each query may be recorded: a table for each engine, ``recorded.toml`` in its folder. All else is left out.

A column is recorded as what the table says it is, and a value that is something else is dropped. So is the whole answer
of a query that the table does not list.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from enum import StrEnum
from functools import cache
from importlib.resources import files
from ipaddress import ip_address
from typing import Any

from connectors.recording.names import Names
from connectors.recording.tap import Row, Values

_NUMERAL = re.compile(r"\s*[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?\s*")
SOME_TEXT = "?"  # in the place of a text that is never recorded
ELSEWHERE = "192.0.2.1"  # an address of documentation (RFC 5737), in the place of a server's own
HERE = "127.0.0.1"


class Kind(StrEnum):
    """What a column or a parameter holds."""

    NUMBER = "number"  # sizes, counters, seconds, ids, truth values
    TIME = "time"
    WORD = "word"  # of the engine's own vocabulary: a state, a version, a statistic
    NAME = "name"  # one identifier
    NAMES = "names"  # identifiers and numbers in lists
    KEY = "key"  # identifiers joined by dots
    PATH = "path"  # a file, a folder, a disk group
    ADDRESS = "address"  # of a machine: only whether it is this one
    TEXT = "text"  # definitions, borders, values: only whether there is one


@dataclass(frozen=True, slots=True)
class Column:
    """One column or parameter."""

    name: str
    kind: Kind


class Refused(ValueError):
    """A value is not of the kind that the table says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """What may be recorded of one engine."""

    queries: Mapping[str, tuple[Column, ...]]
    parameters: Mapping[str, tuple[Column, ...]] = field(default_factory=dict)
    not_recorded: Mapping[str, str] = field(default_factory=dict)  # query -> why not
    settings: Mapping[str, Kind] = field(default_factory=dict)  # of the connection
    stand_ins: Mapping[str, Any] = field(default_factory=dict)  # settings that cannot be missing
    vendor: frozenset[str] = frozenset()  # names that are the engine's own
    vendor_patterns: tuple[str, ...] = ()  # regular expressions of names that the engine makes up

    def rows(self, query: str, rows: Sequence[Row], names: Names) -> tuple[list[Row], frozenset[str]]:
        """The rows as they may be recorded, and the columns in which a value was dropped.

        Raises:
            Refused: there are more or fewer columns than the table has; nothing of it may be recorded.
        """
        columns, dropped = self.queries[query], set()
        kept = []
        for row in rows:
            # A wrong number of columns refuses all of it: shifted by one, names would be recorded as words.
            if len(row) != len(columns):
                raise Refused(f"{query} has {len(row)} columns, and its table {len(columns)}")
            values = []
            for column, value in zip(columns, row, strict=True):
                try:
                    values.append(_keep(column.kind, value, names))
                except Refused:
                    values.append(None)
                    dropped.add(f"{query}.{column.name}")
            kept.append(tuple(values))
        return kept, frozenset(dropped)

    def column_names(self) -> dict[str, list[str]]:
        """The columns of each query in their order, for the head of a recording: a later version may have others."""
        return {query: [column.name for column in columns] for query, columns in self.queries.items()}

    def adapt(self, query: str, rows: Sequence[Row], names: Sequence[str]) -> list[Row]:
        """Rows that were recorded with those columns as this version has them: by name, None where there was none."""
        wanted = [column.name for column in self.queries.get(query, ())]
        if wanted == list(names) or not wanted:
            return list(rows)
        places = [names.index(name) if name in names else -1 for name in wanted]
        return [tuple(None if place < 0 else row[place] for place in places) for row in rows]

    def values(self, query: str, values: Values, names: Names) -> Values:
        """Parameters as they may be recorded.

        Raises:
            Refused: the table does not list them, or as something else.
        """
        columns = self.parameters.get(query, ())
        if len(columns) != len(values):
            raise Refused(f"{query} has {len(values)} parameters, and its table {len(columns)}")
        return tuple(_keep(column.kind, value, names) for column, value in zip(columns, values, strict=True))

    def connection(self, settings: Mapping[str, Any], names: Names) -> dict[str, Any]:
        """Of the settings of a connection those that may be recorded."""
        kept = {
            key: _keep_all(self.settings[key], value, names) for key, value in settings.items() if key in self.settings
        }
        return {**self.stand_ins, **kept}


@cache
def table_of(engine: str) -> Table | None:
    """The table of an engine; None: it cannot be recorded."""
    try:
        text = (files(f"connectors.{engine}") / "recorded.toml").read_text(encoding="utf-8")
    except (ModuleNotFoundError, FileNotFoundError):
        return None
    found = tomllib.loads(text)
    return Table(
        queries={name: _columns(listed) for name, listed in found["queries"].items()},
        parameters={name: _columns(listed) for name, listed in found.get("parameters", {}).items()},
        not_recorded=found.get("not_recorded", {}),
        settings={name: Kind(kind) for name, kind in found.get("settings", {}).items()},
        stand_ins=found.get("stand_ins", {}),
        vendor=frozenset(found.get("vendor", ())),
        vendor_patterns=tuple(found.get("vendor_patterns", ())),
    )


def _columns(listed: str) -> tuple[Column, ...]:
    """``number: reads writes; name: space`` would lose the order: each column is written as ``name:kind``."""
    pairs = (entry.rpartition(":") for entry in listed.split())
    return tuple(Column(name, Kind(kind)) for name, _, kind in pairs)


def _keep(kind: Kind, value: Any, names: Names) -> Any:  # noqa: ANN401  # whatever a driver gives
    """One value as it may be recorded.

    Raises:
        Refused: it is not of that kind.
    """
    if value is None:
        return None
    match kind:
        case Kind.NUMBER if isinstance(value, list):
            return [_keep(kind, item, names) for item in value]
        case Kind.NUMBER if isinstance(value, bool | int | float | Decimal) or _is_numeral(value):
            return value
        case Kind.TIME if isinstance(value, date | timedelta):
            return value
        case Kind.WORD if isinstance(value, str | bool | int | float | Decimal):
            return value
        case Kind.NAMES if isinstance(value, list | tuple):
            return [_keep(kind, item, names) for item in value]
        case Kind.NAMES if isinstance(value, int | float | Decimal):
            return value
        case Kind.NAME | Kind.NAMES if isinstance(value, str):
            return names.name(value)
        case Kind.KEY if isinstance(value, str):
            return names.key(value)
        case Kind.PATH if isinstance(value, str):
            return names.path(value)
        case Kind.ADDRESS if isinstance(value, str):
            # Whether the server is this machine decides how a replay reads its room; which other machine it is decides
            # nothing.
            return value and (HERE if _is_loopback(value) else ELSEWHERE)
        case Kind.TEXT:
            return SOME_TEXT if value != "" else ""
    raise Refused(f"a {type(value).__name__} is no {kind}")


def _keep_all(kind: Kind, value: Any, names: Names) -> Any:  # noqa: ANN401  # whatever YAML holds
    """The same of each value of a list or mapping, whose keys are names."""
    if isinstance(value, Mapping):
        return {names.name(str(key)): _keep_all(kind, item, names) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_keep_all(kind, item, names) for item in value]
    return _keep(kind, value, names)


def _is_numeral(value: object) -> bool:
    return isinstance(value, str) and _NUMERAL.fullmatch(value) is not None


def _is_loopback(text: str) -> bool:
    try:
        return ip_address(text).is_loopback
    except ValueError:
        return False
