"""A route of every form that Oracle has, made from tables and files that stand still."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from connectors.model.moves import NoRoute, Route
from connectors.oracle import file_moves
from connectors.oracle.catalog import DataFile
from connectors.oracle.routes import routes_of
from connectors.oracle.settings import OracleSettings
from tests.oracle.made import MIB, SETTINGS, bundle, entry, facts, index, server, standard

FOUR = SETTINGS.model_copy(update={"parallel": 4})
PART = entry(name="IX REBUILD", part="P1", type="INDEX PARTITION")
PIECE = index(name="IX REBUILD", part="P1", piece="PARTITION", degree="8")
FILES = [
    DataFile(number, "SLOW", f"/hdd/oradata/slow{number}.dbf", 100 * MIB, "ONLINE", "ONLINE") for number in (7, 12)
]


def every_route() -> dict[str, Route]:
    """By a name for each form; where there are several ways, numbered."""
    whole: dict[str, Any] = {"lead": entry(name="ORDERS_PK", type="INDEX"), "index_type": "NORMAL"}
    several = {
        "table": _routes({}),
        "table of 11.2": _routes({"indexes": (index(), replace(PIECE, degree="1"))}, number=(11, 2)),
        "index": _routes(whole, "APP.ORDERS_PK INDEX"),
        "index of Standard Edition": _routes(whole, "APP.ORDERS_PK INDEX", **standard()),
        "parallel index": _routes({**whole, "indexes": (index(degree="8"),)}, "APP.ORDERS_PK INDEX", FOUR),
        "parallel index partition": _routes(
            {"lead": PART, "index_type": "NORMAL", "indexes": (PIECE,)}, 'APP."IX REBUILD" INDEX PARTITION P1', FOUR
        ),
        "files": file_moves.routes_of(FILES, bundle(), "/ssd/oradata", ("/ssd/oradata",), server(), SETTINGS),
    }
    found: dict[str, Route] = {}
    for name, routes in several.items():
        assert not isinstance(routes, NoRoute), routes
        found |= {f"{name} {at}": route for at, route in enumerate(routes)}
    return found


def _routes(
    changes: dict[str, Any], key: str = "APP.ORDERS", settings: OracleSettings = SETTINGS, **of: Any
) -> tuple[Route, ...] | NoRoute:
    return routes_of(facts(**changes), bundle(key), "FAST", server(**of), settings)
