"""Every event that hotplace logs, read from the calls themselves."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.docs.reference.blocks import table

ROOT = Path(__file__).resolve().parents[3]
ROOMS = ("agent", "connectors", "policies")
LEVELS = ("debug", "info", "warning", "error", "exception")
LOGGED_AS = {"exception": "error"}
CALL = "log."  # what every file that logs has in it


class Event(NamedTuple):
    """One call that logs."""

    name: str
    level: str
    fields: tuple[str, ...]
    place: str


class NoConstant(Exception):
    """The name of an event is put together as it is logged: no program could look for it."""


def events() -> list[Event]:
    """Every event, by name.

    Raises:
        NoConstant: an event's name is not written out where it is logged.
    """
    return sorted(
        found
        for room in ROOMS
        for path in sorted((ROOT / room).rglob("*.py"))
        if CALL in (text := path.read_text(encoding="utf-8"))
        for found in _events_in(text, str(path.relative_to(ROOT)))
    )


def blocks() -> dict[str, str]:
    """A table of all events, one row for each name and level."""
    rows: dict[tuple[str, str], set[str]] = {}
    for event in events():
        rows.setdefault((event.name, LOGGED_AS.get(event.level, event.level)), set()).update(event.fields)
    cells = [
        (f"`{name}`", level, ", ".join(f"`{field}`" for field in sorted(fields)))
        for (name, level), fields in rows.items()
    ]
    return {"events": table(("event", "level", "fields"), cells)}


def _events_in(text: str, place: str) -> Iterator[Event]:
    for node in ast.walk(ast.parse(text)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in LEVELS):
            continue
        if not (isinstance(node.func.value, ast.Name) and node.func.value.id == "log"):
            continue
        name = node.args[0] if node.args else None
        if not (isinstance(name, ast.Constant) and isinstance(name.value, str)):
            raise NoConstant(f"{place}:{node.lineno}")
        traceback = ("exception",) if node.func.attr == "exception" else ()
        yield Event(name.value, node.func.attr, (*_fields(node), *traceback), place)


def _fields(call: ast.Call) -> Iterator[str]:
    """Names of the fields, those of the standard library's ``extra`` too where they are written out."""
    for keyword in call.keywords:
        if keyword.arg != "extra":
            yield from () if keyword.arg is None else (keyword.arg,)
            continue
        for value in keyword.value.values if isinstance(keyword.value, ast.Dict) else ():
            if isinstance(value, ast.Dict):
                yield from (str(key.value) for key in value.keys if isinstance(key, ast.Constant))
