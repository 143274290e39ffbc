"""Aged data partitions go down with their table spaces: their template, and what is due under it.

A data partition that has a table space of its own is brought to another storage group by ``ALTER TABLESPACE ... USING
STOGROUP``, while everybody works on: IBM's way for data that cools (topic c0058994, "multi-temperature storage"). Only
the name of the table space differs from one partition to the next. One that shares its table space stays: no statement
moves it alone, ADMIN_MOVE_TABLE writes the whole table, and its rows are not seen between DETACH and the SET INTEGRITY
that follows ATTACH; what is detached is no table before a task of the server has made it one (topics c0056417, "Data
partition detach phases"; r0000888, ALTER TABLE; r0000998, SET INTEGRITY).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from connectors.containers import ByHand
from connectors.db2.reading.catalog import Homes
from connectors.db2.reading.names import identifier
from connectors.db2.reading.storage import Storage, TableSpace
from connectors.db2.reading.tables import packages_of
from connectors.db2.reading.time_ranges import home_of, range_of, read_partitions, table_named
from connectors.db2.routes.aging_by_hand import by_hand
from connectors.db2.routes.space_move import Instance, space_route
from connectors.db2.routes.target_placement import landing_in
from connectors.db2.session.sessions import ReadSession, Row
from connectors.db2.settings import Db2Settings
from connectors.model import Bundle, Catalog, NoRoute, Route, UnitKind, UnitTable
from connectors.rolling import filling
from connectors.rolling.filling import is_aged
from connectors.rolling.ranges import Range
from connectors.templates import StatementTemplate, TemplateParameter, ValueKind

TABLE_SPACE = "table_space"  # parameter: that the partition has for its own
_TAG = "/* hotplace move"
_LONGEST_NAME = 128
_ALONE = (
    "Db2 has no statement that moves a data partition: ADMIN_MOVE_TABLE writes the whole table, and between DETACH and "
    "SET INTEGRITY its rows would not be seen. A partition goes to another storage group with its table space, where "
    "it has one of its own"
)
_NOT_BY_SPACE = NoRoute(code="not_by_table_space", setting="move_by", sentence=f"{_ALONE}: set move_by: table_space")


@dataclass(frozen=True, slots=True)
class _Aging:
    """A data partition with its table space; ``partition.space`` is what that is in."""

    partition: Range
    home: TableSpace
    bundle: Bundle | None  # None: the table space holds something else, too
    row: Row  # of ``sql/partition_ranges.sql``


class AgedPartitions:
    """Answers for one connector."""

    def __init__(
        self, session: ReadSession, settings: Db2Settings, server: Instance,
        read: Callable[[], tuple[Catalog, Homes, Storage]],
    ) -> None:  # fmt: skip
        """``read``: the catalog as it is now."""
        self._session = session
        self._settings = settings
        self._server = server
        self._read = read

    def template(self, table: str, to_space: str, seconds: int) -> StatementTemplate | ByHand | NoRoute:
        """See ``FillsTemplates.template``: by the youngest partition elsewhere, since those that follow age there.

        By hand where that one shares its table space: the statements for the oldest that does.

        Raises:
            ConnectorError: a subclass that says what may be done.
        """
        if self._settings.move_by != "table_space":
            return _NOT_BY_SPACE
        found, storage = self._partitions(table)
        if not found:
            return NoRoute(code="not_by_time", sentence=f"{table} has no data partition that is a range of times")
        example = next((each for each in reversed(found) if each.partition.space != to_space), None)
        if example is None:
            return NoRoute(code="already_there", sentence=f"all partitions of {table} are in {to_space}")
        if example.bundle is None:
            oldest = next(each for each in found if each.partition.space != to_space and each.bundle is None)
            return self._by_hand(oldest, storage, table, to_space)
        route = self._way(example, storage, to_space)
        return route if isinstance(route, NoRoute) else _template(route, example, table, seconds)

    def routes_due(self, template: StatementTemplate, now: datetime) -> tuple[Route, ...]:
        """See ``FillsTemplates.routes_due``: the oldest first; what shares its table space is not among them.

        Raises:
            ConnectorError: a subclass that says what may be done.
        """
        if self._settings.move_by != "table_space":
            return ()
        found, storage = self._partitions(template.table)
        return tuple(self._due(found, storage, template, now))[: filling.MOST_AT_ONCE]

    def _due(
        self, found: tuple[_Aging, ...], storage: Storage, template: StatementTemplate, now: datetime
    ) -> Iterator[Route]:
        for each in found:
            if is_aged(each.partition, template, now):
                route = self._way(each, storage, template.space)
                if isinstance(route, Route):
                    values = {TABLE_SPACE: each.home.name, **filling.name_and_age(each.partition)}
                    yield filling.aged_route(route, _tag_of(route), values)

    def _way(self, aged: _Aging, storage: Storage, to_space: str) -> Route | NoRoute:
        """To another storage group, with its table space."""
        key, home = aged.partition.key, aged.home
        if aged.bundle is None:
            return NoRoute(code="shared_table_space", sentence=_shares(aged))
        if not home.automatic:
            sentence = f"{home.name} of {key} has containers of its own: only automatic storage has storage groups"
            return NoRoute(code="not_automatic", sentence=sentence)
        packages = packages_of(self._session, home.name)
        return space_route(storage, home, aged.bundle, to_space, self._settings, self._server, packages)

    def _by_hand(self, aged: _Aging, storage: Storage, table: str, to_space: str) -> ByHand | NoRoute:
        """What a person does about one that shares its table space."""
        key, target = table_named(table), landing_in(storage, to_space, aged.home, self._settings)
        assert key is not None, "it has partitions"
        return target if isinstance(target, NoRoute) else by_hand(key, aged.row, target, _shares(aged))

    def _partitions(self, table: str) -> tuple[tuple[_Aging, ...], Storage]:
        """Those of the table that are ranges of times, in order."""
        catalog, homes, storage = self._read()
        key = table_named(table)
        rows = [] if key is None else read_partitions(self._session, key)
        row_of = {name: row for row, name in enumerate(catalog.units.key)}
        found = []
        for row in rows:
            home, partition = home_of(row, storage), None if key is None else range_of(key, row, storage)
            if home is not None and partition is not None:
                own = replace(partition, space=storage.home_of(home))
                found.append(_Aging(own, home, _bundle(own, home, catalog.units, row_of, homes), row))
        return tuple(found), storage


def _shares(aged: _Aging) -> str:
    return f"{aged.partition.key} shares table space {aged.home.name}, all of which would move. {_ALONE}"


def _bundle(
    partition: Range, home: TableSpace, units: UnitTable, row_of: Mapping[str, int], homes: Homes
) -> Bundle | None:
    """All that is in the table space; None where something of it is not of that partition."""
    rows, own = np.flatnonzero(homes.space == home.number), row_of.get(partition.key)
    if own is None or not np.all((rows == own) | (units.parent[rows] == units.physical_id[own])):
        return None
    return Bundle(
        key=partition.key,
        physical_ids=tuple(units.physical_id[rows].tolist()),
        unit_keys=tuple(units.key[row] for row in rows.tolist()),
        kind=UnitKind.TABLE_PARTITION,
        size_bytes=int(units.size_bytes[rows].sum()),
        space=partition.space,
    )


def _template(route: Route, example: _Aging, table: str, seconds: int) -> StatementTemplate:
    """The template of moves like this one."""
    own, place = (f"ALTER TABLESPACE {identifier(name)} " for name in (example.home.name, f"{{{TABLE_SPACE}}}"))
    parameters = (
        TemplateParameter(name=TABLE_SPACE, kind=ValueKind.WORD, least=1, most=_LONGEST_NAME),
        filling.partition_word(_LONGEST_NAME),
    )
    return filling.aged_template(route, table, seconds, {own: place}, _tag_of(route), parameters)


def _tag_of(route: Route) -> str:
    """What of the comment behind every statement is this move's own."""
    return f"{_TAG} {route.steps[0].sql.rpartition(f'{_TAG} ')[2].partition(' ')[0]}"
