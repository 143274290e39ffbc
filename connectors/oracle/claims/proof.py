"""How Oracle is proved: the texts of this folder with the scratch schema's names in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files

from connectors.oracle.reading.names import plain
from connectors.oracle.session.queries import probe
from connectors.proving.files import read_all_questions, read_cases, without_head
from connectors.proving.proof import Case, Scratch

PACKAGE = "connectors.oracle.claims"
LICENSED = frozenset({"ado", "awr", "awr_container"})  # of packs and options: not asked, not even for no row
CONTAINERS, CLOUDS = (12, 1), (18,)  # since which release there are such views
OF_CONTAINERS = frozenset(
    {"container", "epoch_container", "epoch_one_container", "system_container", "roles_container", "units"}
)
BIND = re.compile(r"'[^']*'|:(\w+)")


def cases(scratch: Scratch) -> tuple[Case, ...]:
    """Every case, for that schema and these tablespaces."""
    return read_cases(PACKAGE, _names(scratch))


def questions(scratch: Scratch) -> Mapping[str, str]:
    """See ``connectors.proving.proof.Proof``. Without their heads, which Oracle would keep in its cursor cache."""
    spaces = {"slow": literal(scratch.slow), "fast": literal(scratch.fast)}
    return read_all_questions(PACKAGE, _names(scratch), spaces, without_head)


def queries() -> Mapping[str, str]:
    """Each query of the connector that needs no licence as one that gives no row, its binds NULL; no PL/SQL."""
    folder = files("connectors.oracle") / "sql"
    names = sorted(each.name.removesuffix(".sql") for each in folder.iterdir() if each.name.endswith(".sql"))
    texts = {name: describing(probe(name)) for name in names if name not in LICENSED}
    return {name: text for name, text in texts.items() if "BEGIN" not in text}


def of_other_versions(version: tuple[int, ...]) -> frozenset[str]:
    """Queries that servers of other releases are asked.

    >>> sorted(of_other_versions((12, 2)))
    ['cloud']
    """
    before_containers = OF_CONTAINERS if version < CONTAINERS else frozenset()
    return before_containers | (frozenset({"cloud"}) if version < CLOUDS else frozenset())


def describing(query: str) -> str:
    """The query with each bind NULL.

    >>> describing("SELECT ':a' FROM T WHERE K = :key")
    "SELECT ':a' FROM T WHERE K = NULL"
    """
    return BIND.sub(lambda found: "NULL" if found[1] else found[0], query)


def literal(text: str) -> str:
    """A string of SQL.

    >>> literal("it's")
    "'it''s'"
    """
    doubled = text.replace("'", "''")
    return f"'{doubled}'"


def _names(scratch: Scratch) -> dict[str, str]:
    """Names as the keys of units have them; ``owner`` as DBMS_STATS takes it, which reads quotes."""
    return {
        "schema": plain(scratch.schema),
        "slow": plain(scratch.slow),
        "fast": plain(scratch.fast),
        "literal": literal(scratch.schema),
        "key": literal(plain(scratch.schema)),
        "owner": literal(plain(scratch.schema)),
    }
