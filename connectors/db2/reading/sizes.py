"""Exact sizes of the few units that a plan names."""

from __future__ import annotations

import numpy as np

from connectors.db2.reading.names import Part, parse_key
from connectors.db2.reading.tables import TableFacts
from connectors.db2.routes.statements import Homes
from connectors.db2.routes.table_room import rebuilt_in_place
from connectors.db2.session.sessions import ReadSession
from connectors.model import I64, NO_PARENT, Catalog, UnitKind

KILOBYTE = 1024
GONE = -1
LOAD = "LOAD"


def exact_sizes(session: ReadSession, catalog: Catalog, physical_ids: I64, *, shared: bool) -> I64:
    """Bytes of each unit now, -1 where it is gone; the catalog's estimate while a table is being loaded.

    The indexes of a table share one object, whose size is divided as the catalog's estimate is.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    rows = catalog.units.rows_of(physical_ids)
    asked: dict[tuple[str, str], dict[int, dict[Part, int]]] = {}
    busy = loading(session)
    return np.array(
        [GONE if row < 0 else _size(session, catalog, int(row), asked, busy, shared=shared) for row in rows],
        dtype=np.int64,
    )


def loading(session: ReadSession) -> frozenset[tuple[str, str]]:
    """Tables that a LOAD works on: ADMIN_GET_TAB_INFO would wait for it.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    rows = session.optional_rows("utilities", doing="looking for a LOAD") or []
    return frozenset((str(row[4]), str(row[5])) for row in rows if str(row[2]).upper() == LOAD)


def _size(
    session: ReadSession,
    catalog: Catalog,
    row: int,
    asked: dict[tuple[str, str], dict[int, dict[Part, int]]],
    busy: frozenset[tuple[str, str]],
    *,
    shared: bool,
) -> int:
    """Bytes of the unit in that row of the catalog."""
    units = catalog.units
    key = parse_key(units.key[row])
    if key.part is Part.INDEX:
        found = session.rows("index", (key.schema, key.name), doing=f"sizing {key}")
        if not found:
            return GONE
        table = (str(found[0][0]), str(found[0][1]))
    else:
        table = (key.schema, key.name)
    if table in busy:
        return int(units.size_bytes[row])
    if table not in asked:
        asked[table] = table_sizes(session, *table, shared=shared)
    sizes = asked[table]
    if not sizes:
        return GONE
    if key.partition is not None:
        number = _partition_number(session, table, key.partition)
        return sizes.get(number, {}).get(key.part, GONE) if key.part is not Part.INDEX else int(units.size_bytes[row])
    total = sum(part[key.part] for part in sizes.values())
    return total if key.part is not Part.INDEX else _share(catalog, row, total)


def table_sizes(session: ReadSession, schema: str, name: str, *, shared: bool) -> dict[int, dict[Part, int]]:
    """Bytes by partition and part; empty where there is no such table.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    found: dict[int, dict[Part, int]] = {}
    for _, partition, data, index, long, lob, xml, col in session.rows(
        "object_sizes", (schema, name), doing=f"sizing {schema}.{name}"
    ):
        here = {
            Part.TABLE: (int(data or 0) + int(col or 0)) * KILOBYTE,
            Part.INDEX: int(index or 0) * KILOBYTE,
            Part.LOB: (int(long or 0) + int(lob or 0) + int(xml or 0)) * KILOBYTE,
        }
        before = found.get(max(0, int(partition or 0)))
        if before is None:
            found[max(0, int(partition or 0))] = here
        else:
            for part, size in here.items():
                before[part] = max(before[part], size) if shared else before[part] + size
    return found


def read_rebuilt_in_place(session: ReadSession, table: TableFacts, after: Homes, *, shared: bool) -> dict[str, int]:
    """Bytes of a table that are rebuilt where they are, see ``rebuilt_in_place``; empty while a LOAD hides its sizes.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    return rebuilt_in_place(table, after, part_sizes(session, table, shared=shared))


def part_sizes(session: ReadSession, table: TableFacts, *, shared: bool) -> dict[Part, int]:
    """Bytes of rows, indexes and LOBs; empty while a LOAD hides them.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    if (table.schema, table.name) in loading(session):
        return {}
    sizes = table_sizes(session, table.schema, table.name, shared=shared)
    return {part: sum(each[part] for each in sizes.values()) for part in Part}


def _partition_number(session: ReadSession, table: tuple[str, str], name: str) -> int:
    rows = session.rows("table_partitions", table, doing="looking up a partition")
    return next((int(row[0]) for row in rows if row[1] == name), GONE)


def _share(catalog: Catalog, row: int, total: int) -> int:
    """The part of an index in all indexes of its table, by the catalog's estimates."""
    units = catalog.units
    parent = int(units.parent[row])
    if parent == NO_PARENT:
        return int(units.size_bytes[row])
    siblings = (units.parent == parent) & (units.kind == UnitKind.INDEX)
    all_of_them = int(units.size_bytes[siblings].sum())
    return total * int(units.size_bytes[row]) // all_of_them if all_of_them else total
