"""Loads the queries, one file each."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_VIEW = re.compile(r"\b(?:FROM|JOIN)\s+SYS\.([A-Z][A-Z0-9_$]*)\s+[A-Z]\b")
_STRING = re.compile(r"'[^']*'")


@cache
def query(name: str) -> str:
    """The text of ``sql/<name>.sql`` without its head of comment lines, which Oracle would keep in its cursor cache."""
    text = (files("connectors.oracle") / "sql" / f"{name}.sql").read_text(encoding="utf-8")
    return "\n".join(line for line in text.splitlines() if not line.startswith("--"))


@cache
def of_one_instance(name: str) -> str:
    """The same query over V$ views: what the instance of the session itself counts."""
    return query(name).replace("SYS.GV_$", "SYS.V_$")


@cache
def name_of(statement: str) -> str:
    """The name of the query of that text, "" of none; asked of one instance it has the same name."""
    folder = files("connectors.oracle") / "sql"
    names = [entry.name.removesuffix(".sql") for entry in folder.iterdir() if entry.name.endswith(".sql")]
    return next((name for name in names if statement in {query(name), of_one_instance(name)}), "")


def views_of(name: str) -> tuple[str, ...]:
    """The views that a query reads, in order of first use, as people call them: V$BH of SYS.V_$BH.

    Queries name each with its owner: by the bare name a table of the session's own schema, or a public synonym that
    somebody has made, could be found in its place.
    """
    found = _VIEW.findall(_STRING.sub("", query(name)))
    return tuple(dict.fromkeys(re.sub(r"^(G?V)_\$", r"\1$", view) for view in found))


def probe_view(view: str) -> str:
    """A query of nothing but that view, asking for no row; the name is one of ``views_of``."""
    return " ".join(("SELECT COUNT(*) FROM", granted_on(view), "WHERE 1 = 0"))


def granted_on(view: str) -> str:
    """What a grant for that view names: ``SYS.GV_$SEGSTAT`` of GV$SEGSTAT, which is only a synonym (ORA-02030)."""
    return "SYS." + re.sub(r"^(G?V)\$", r"\1_$", view)


def probe(name: str) -> str:
    """The same query asking for no row: it is parsed, and privileges are checked, at no cost."""
    return "\n".join(("SELECT COUNT(*) FROM (", query(name), ") WHERE 1 = 0"))
