"""Loads the queries, one file each, as the server's version takes them."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

NEWEST = 99  # Managed Instance and Azure SQL Database report version 12 and are newer than any
_GATED = re.compile(
    r"^(?P<indent> *)(?P<select>SELECT )?(?P<now>.+?) AS (?P<name>\w+)(?P<comma>,?) --@(?P<since>\d+) (?P<before>.+)$"
)


@cache
def query(name: str, major: int = NEWEST) -> str:
    """The text of ``sql/<name>.sql`` without its head.

    Args:
        name: of the file.
        major: version of the server; expressions that it does not know are replaced by what stands in for them.

    Raises:
        FileNotFoundError: there is no such query.
    """
    text = (files("connectors.sqlserver") / "sql" / f"{name}.sql").read_text(encoding="utf-8")
    lines = [_for_version(line, major) for line in text.splitlines() if not line.startswith("--")]
    return "\n".join(lines).strip()


@cache
def query_names() -> frozenset[str]:
    """Every query there is."""
    folder = files("connectors.sqlserver") / "sql"
    return frozenset(entry.name.removesuffix(".sql") for entry in folder.iterdir() if entry.name.endswith(".sql"))


def _for_version(line: str, major: int) -> str:
    gate = _GATED.match(line)
    if gate is None:
        return line
    chosen = gate["now"] if major >= int(gate["since"]) else gate["before"]
    return f"{gate['indent']}{gate['select'] or ''}{chosen} AS {gate['name']}{gate['comma']}"
