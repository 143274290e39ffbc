"""Samples, catalogs and tables made by hand for the tests of pure parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np

from connectors.kit.settings import SecretSource
from connectors.model.moves import Bundle, UnitKind
from connectors.model.observation import Catalog, Interval, Space, SpaceFigures, UnitTable
from connectors.sqlserver.definition import (
    CLUSTERED,
    HEAP,
    NONCLUSTERED,
    DataSpace,
    Definition,
    IndexColumn,
    IndexDefinition,
    Owner,
    Partition,
    TableColumn,
)
from connectors.sqlserver.keys import Name
from connectors.sqlserver.sampler import COUNTERS
from connectors.sqlserver.settings import SqlserverSettings

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
OWNER = Owner(77, "U", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, None, 0, "FULL", "READ_WRITE")
ID = TableColumn("id", "int", 4, 10, 0, None, 0, 0)
NOTE = TableColumn("note", "nvarchar", -1, 0, 0, "Latin1_General_CI_AS", 1, 0)
HDD, SSD = DataSpace(1, "HDD", False, False, 1), DataSpace(2, "SSD", False, False, 1)
NAME = Name("dbo", "orders")
PAGES = Partition(1, "PAGE", 0, 1, 1000, None, 0)


def settings(**values: object) -> SqlserverSettings:
    """Valid settings, with those changed."""
    given: dict[str, object] = {"database": "app", "user": "u", "password": SecretSource(env="SECRET")}
    return SqlserverSettings.model_validate(given | values)


def key(name: str, ordinal: int = 1, *, descending: int = 0) -> IndexColumn:
    """A key column."""
    return IndexColumn(name, ordinal, 0, descending, 0, 0)


def index(kind: int = CLUSTERED, name: str | None = "pk", **values: object) -> IndexDefinition:
    """An index with a key, options at their defaults, one partition in HDD."""
    index_id = {HEAP: 0, CLUSTERED: 1}.get(kind, 2 if kind == NONCLUSTERED else 1)
    plain = IndexDefinition(
        index_id, name, kind, 0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, None, None, 0, 0, 0, 0, (key("id"),), (PAGES,)
    )
    return replace(plain, **values)  # type: ignore[arg-type]  # fields by name


def table(*indexes: IndexDefinition, name: Name = NAME, **values: object) -> Definition:
    """A table with those indexes."""
    plain = Definition(name=name, owner=OWNER, indexes=indexes, columns=(ID,), spaces={1: HDD, 2: SSD})
    return replace(plain, **values)  # type: ignore[arg-type]  # fields by name


def bundle(unit: str = NAME.key, *others: str, size: int = 1000 * 8192, space: str = "HDD") -> Bundle:
    """Units that move together."""
    keys = (unit, *others)
    ids = tuple(range(len(keys)))
    return Bundle(key=unit, physical_ids=ids, unit_keys=keys, kind=UnitKind.TABLE, size_bytes=size, space=space)


def catalog(*pages: int, homes: tuple[int, ...]) -> Catalog:
    """Units 10, 11, ... of so many pages, in spaces HDD (0) and SSD (1)."""
    count = len(pages)
    ids = np.arange(10, 10 + count, dtype=np.int64)
    units = UnitTable(
        physical_id=ids,
        key=tuple(f"[dbo].[t{number}]" for number in ids),
        kind=np.zeros(count, dtype=np.int8),
        size_bytes=np.array(pages, dtype=np.int64) * 8192,
        space=np.array(homes, dtype=np.int32),
        bundle=ids,
        parent=np.full(count, -1, dtype=np.int64),
    )
    spaces = tuple(Space(name=n, path="", used_bytes=0, free_bytes=None, capacity_bytes=None) for n in ("HDD", "SSD"))
    return Catalog(taken_at=NOON, spaces=spaces, units=units)


def interval(
    deltas: Mapping[str, tuple[float, ...]],
    *,
    units: int,
    files: tuple[float, float, float] | None = None,
    database: Mapping[str, float] | None = None,
) -> Interval:
    """Ten seconds of units 10, 11, ...; counters that are not named did not move.

    Args:
        deltas: by counter.
        units: how many.
        files: reads, bytes and stalled seconds of filegroup HDD.
        database: figures beside those of the files.
    """
    figures = dict(database or {})
    spaces = None
    if files is not None:
        figures["read_bytes/HDD"] = files[1]
        one = np.array([files[0]]), np.array([files[2]]), np.array([5.0]), np.array([0.1])
        spaces = SpaceFigures(name=("HDD",), reads=one[0], read_seconds=one[1], writes=one[2], write_seconds=one[3])
    return Interval(
        started_at=NOON,
        ended_at=NOON + timedelta(seconds=10),
        seconds=10.0,
        physical_id=np.arange(10, 10 + units, dtype=np.int64),
        deltas={name: np.array(deltas.get(name, (0.0,) * units), dtype=np.float64) for name in COUNTERS},
        restarted=np.zeros(units, dtype=np.bool_),
        database=figures,
        spaces=spaces,
    )
