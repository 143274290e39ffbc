"""Loads the queries, one file each."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def query(name: str) -> str:
    """The text of ``sql/<name>.sql`` without its head of comment lines, which Oracle would keep in its cursor cache."""
    text = (files("connectors.oracle") / "sql" / f"{name}.sql").read_text(encoding="utf-8")
    return "\n".join(line for line in text.splitlines() if not line.startswith("--"))


@cache
def of_one_instance(name: str) -> str:
    """The same query over V$ views: what the instance of the session itself counts."""
    return query(name).replace("GV$", "V$")


def probe(name: str) -> str:
    """The same query asking for no row: it is parsed, and privileges are checked, at no cost."""
    return "\n".join(("SELECT COUNT(*) FROM (", query(name), ") WHERE 1 = 0"))
