"""GRANTs of the privilege scripts of Db2, made of the queries' headers: ``python -m tests.deploy.grants`` writes them.

Each query says in its header what it reads and by which privilege. A line that begins a block in a script names the
block, ``-- end`` ends it; what stands between is written here, so that a query that reads one object more grants it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path

PRIVILEGES = Path(__file__).parents[2] / "deploy" / "privileges"
LUW, PLAN_ONLY = "connectors.db2", "connectors.db2.plan_only"
# Blocks of each script: what its line says -> package, beginning of an object's name, its GRANT.
BLOCKS = {
    "db2-observe.sql": {
        "functions that the queries read": (LUW, "", "GRANT EXECUTE ON FUNCTION SYSPROC.{} TO USER HOTPLACE;"),
        "views that the queries read": (LUW, "SYS", "GRANT SELECT ON {} TO USER HOTPLACE;"),
    },
    "db2-i-observe.sql": {"views that the queries read": (PLAN_ONLY, "QSYS2.", "GRANT SELECT ON {} TO HOTPLACE;")},
    "db2-zos-observe.sql": {
        "tables that the queries read": (PLAN_ONLY, "SYSIBM.", "GRANT SELECT ON TABLE {} TO HOTPLACE;")
    },
}
MADE_LATER = frozenset({"SYSTOOLS.ADMIN_MOVE_TABLE"})  # granted in db2-move.sql, which makes it
_READS = re.compile(r"\bReads: (.+?)\. (?:Since|Privilege):")
_NAME = re.compile(r"\b(?:\w+\.\w+|(?:MON|ADMIN|ENV)_GET_\w+|AUTH_LIST_\w+|DB_(?:GET_CFG|MEMBERS))\b")
_BLOCK = re.compile(r"^-- begin (?P<name>[^\n]+)\n(?P<body>.*?)^-- end\n", re.MULTILINE | re.DOTALL)


def headers(package: str) -> dict[str, str]:
    """What each query of a package says of itself, on one line."""
    found = {}
    for path in (files(package) / "sql").iterdir():
        if path.name.endswith(".sql"):
            lines = path.read_text(encoding="utf-8").splitlines()
            told = " ".join(line.removeprefix("--").strip() for line in lines if line.startswith("--"))
            found[path.name.removesuffix(".sql")] = told
    return found


def objects_of(header: str) -> frozenset[str]:
    """Functions (without their schema), views and tables that a header names.

    >>> sorted(objects_of("One pool. Reads: SYSCAT.TABLES (all), MON_GET_TABLE. Since: 9.7. Cost: none."))
    ['MON_GET_TABLE', 'SYSCAT.TABLES']
    """
    said = _READS.search(header)
    return frozenset(_NAME.findall(said[1])) if said else frozenset()


def grants(package: str, beginning: str, form: str) -> Iterable[str]:
    """GRANTs of the objects whose names begin so; "": of functions."""
    every = {name for header in headers(package).values() for name in objects_of(header)} - MADE_LATER
    wanted = (name for name in every if (name.startswith(beginning) if beginning else "." not in name))
    return (form.format(name) for name in sorted(wanted))


def filled(script: str, text: str) -> str:
    """The script with its blocks as the queries have them.

    Raises:
        ValueError: a block is not there.
    """
    blocks = BLOCKS[script]
    missing = blocks.keys() - {block["name"] for block in _BLOCK.finditer(text)}
    if missing:
        raise ValueError(f"{script} has no block of {', '.join(sorted(missing))}")
    return _BLOCK.sub(
        lambda block: (
            f"-- begin {block['name']}\n" + "".join(f"{line}\n" for line in grants(*blocks[block["name"]])) + "-- end\n"
        ),
        text,
    )


def main() -> None:
    """Write what has changed and name those scripts."""
    for script in BLOCKS:
        path = PRIVILEGES / script
        before = path.read_text(encoding="utf-8")
        after = filled(script, before)
        if after != before:
            path.write_text(after, encoding="utf-8")
            sys.stdout.write(f"{script} written\n")


if __name__ == "__main__":
    main()
