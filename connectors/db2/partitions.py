"""Tables partitioned by time: what is due, templates and routes of next and aged partitions.

``PartitionedTable`` is a table partitioned by ranges of dates or timestamps, as the catalog shows it.

Next partitions (``next_template``, ``next_routes``) are made by ``ALTER TABLE ... ADD PARTITION``, together with their
partitioned indexes and large objects, unless INDEX IN or LONG IN say otherwise (topic t0021566, "Adding data partitions
to partitioned tables"). ``template_of`` and ``routes_due`` answer what the calendar asks of a table.

``by_hand`` writes a script that takes one partition to another table space by DETACH, move and ATTACH, and
``route_by_hand`` is the route of it, which a plan weighs. No rule may do this: the rows are invisible from DETACH to
the end of SET INTEGRITY, and the detached part is no table until a task of the server has made it one (topics c0056417,
"Data partition detach phases"; r0000888, ALTER TABLE; r0000998, SET INTEGRITY).

``AgedPartitions`` moves a partition with its own table space, by ``ALTER TABLESPACE ... USING STOGROUP``, while
everybody works on: IBM's way for data that cools (topic c0058994, "multi-temperature storage"). Only the name of the
table space differs from one partition to the next. A partition that shares its table space stays, because no statement
moves it alone: ADMIN_MOVE_TABLE would rewrite the whole table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np

from connectors.db2.catalog import Homes
from connectors.db2.names import Key, Part, identifier, literal, parse_key
from connectors.db2.operations import ADD_PARTITION, TableHomes, move_table
from connectors.db2.sessions import ReadSession, Row
from connectors.db2.settings import Db2Settings
from connectors.db2.sizes import CopyRoom, log_bytes
from connectors.db2.space_move import Instance, space_route
from connectors.db2.storage import ServerStorage, TableSpace
from connectors.db2.table_move import landing_in, lock_timeout
from connectors.db2.tables import packages_of
from connectors.kit import rolling
from connectors.kit.clients import CLP
from connectors.kit.rolling import HIGH, LOW, TAG_NAME, Range, RangeTable, first_reason, instant_of, is_aged
from connectors.kit.templates import StatementTemplate, TemplateParameter, ValueKind
from connectors.model.formatting import comment
from connectors.model.moves import BY_HAND, Bundle, ByHand, Locked, NoRoute, Operation, Route, Step, UnitKind
from connectors.model.observation import Catalog, UnitTable

DATE, TIMESTAMP = "%Y-%m-%d", "%Y-%m-%d %H:%M:%S"  # both are string representations that Db2 takes in any territory
_DATE = re.compile(r"'(\d{4}-\d\d-\d\d)'")
_TIMESTAMP = re.compile(r"'(\d{4}-\d\d-\d\d)[- ](\d\d)[.:](\d\d)[.:](\d\d)(?:\.0+)?'")
NORMAL, INCLUSIVE = "NORMAL", "Y"
_DAY = timedelta(days=1)


@dataclass(frozen=True, kw_only=True)
class PartitionedTable(RangeTable):
    """With the table space that its next partition is made in."""

    landing: str


def table_named(text: str) -> Key | None:
    """The table of a key; None where it is the key of none."""
    try:
        key = parse_key(text)
    except ValueError:
        return None
    return key if key == Key(Part.TABLE, key.schema, key.name) else None


def table_of(key: Key, rows: Sequence[Row], storage: ServerStorage, landing: TableSpace) -> PartitionedTable | str:
    """The partitioned table with these partitions, for which more are to be made in a table space; or why it is none.

    Args:
        key: of the table.
        rows: of ``read_partitions``.
        storage: as it is now.
        landing: where the next partition goes.
    """
    kinds = {kind for row in rows for value in (row[5], row[7]) if (kind := _kind_of(str(value or "")))}
    ranges = tuple(found for row in rows if (found := range_of(key, row, storage)) is not None)
    if len(kinds) != 1 or not ranges:
        return f"{key}: no data partition of it is a range of one column of dates or timestamps"
    return PartitionedTable(
        key=str(key), schema=key.schema, name=key.name, time_format=kinds.pop(), ranges=ranges, why_not="",
        why_no_more=_why_no_more(str(key), rows, ranges, home_of(rows[-1], storage), landing), landing=landing.name,
    )  # fmt: skip


def read_partitions(session: ReadSession, key: Key) -> list[Row]:
    """The rows of ``sql/partition_ranges.sql``, in order of their ranges.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    rows = session.rows("partition_ranges", (key.schema, key.name), doing=f"looking up the partitions of {key}")
    return sorted(rows, key=lambda row: int(row[3]))


def home_of(row: Row, storage: ServerStorage) -> TableSpace | None:
    """The table space of a partition; None of one that has been detached."""
    return None if row[1] is None else storage.spaces.get(int(row[1]))


def range_of(key: Key, row: Row, storage: ServerStorage) -> Range | None:
    """One partition; None where its bounds are no two times."""
    name, _, _, _, low_inclusive, low, high_inclusive, high = row
    begin, end = (_time_of(str(value or "")) for value in (low, high))
    if begin is None or end is None:
        return None
    days = _kind_of(str(low)) == DATE  # of days: one that is included is one before the next
    if not days and (low_inclusive != INCLUSIVE or high_inclusive == INCLUSIVE):
        return None
    home = home_of(row, storage)
    return Range(
        id=0, schema=key.schema, name=str(name), key=str(Key(Part.TABLE, key.schema, key.name, str(name))),
        low=begin if low_inclusive == INCLUSIVE else begin + _DAY,
        high=end + _DAY if high_inclusive == INCLUSIVE else end,
        space="" if home is None else home.name, size_bytes=0,
    )  # fmt: skip


def _kind_of(value: str) -> str:
    return DATE if _DATE.fullmatch(value) else TIMESTAMP if _TIMESTAMP.fullmatch(value) else ""


def _time_of(value: str) -> datetime | None:
    if day := _DATE.fullmatch(value):
        return instant_of(day[1])
    found = _TIMESTAMP.fullmatch(value)
    return instant_of(f"{found[1]} {found[2]}:{found[3]}:{found[4]}") if found else None


def _why_no_more(
    key: str, rows: Sequence[Row], ranges: Sequence[Range], home: TableSpace | None, landing: TableSpace
) -> str:
    busy = next((f"{row[0]} is {row[2]}" for row in rows if str(row[2] or "").strip()), "")
    unlike = home is None or not is_alike(home, landing)
    return first_reason(
        key,
        (bool(busy), f"a data partition is being attached or detached: {busy}"),
        (
            len(ranges) < len(rows),
            "a data partition has no end, or bounds that are no half-open range: the next rows have a place, or a gap",
        ),
        (not landing.permanent or landing.state != NORMAL, f"{landing.name} takes no tables: {landing.state}"),
        (
            unlike,
            f"{landing.name} has other pages, extents, containers or database partitions than the last one (SQL1860N)",
        ),
    )


def _addition(table: PartitionedTable, settings: Db2Settings, made: Range, values: Mapping[str, str]) -> Route:
    """The route that makes a range."""
    sql = (
        f"ALTER TABLE {identifier(table.schema)}.{identifier(table.name)} ADD PARTITION {identifier(made.name)} "
        f"STARTING ({literal(values[LOW])}) INCLUSIVE ENDING ({literal(values[HIGH])}) EXCLUSIVE "
        f"IN {identifier(table.landing)}"
    )
    step = Step(
        sql=f"{sql} /* hotplace move {values[TAG_NAME]} step 1 */",
        purpose=f"make {made.key} in {table.landing}",
        timeout_seconds=settings.move_timeout,
        operation=Operation(ADD_PARTITION, {"schema": table.schema, "table": table.name, "partition": made.name}),
    )
    return rolling.making_route(
        made,
        values,
        name="add partition",
        prologue=(lock_timeout(settings),),
        steps=(step,),
        locks=f"exclusive on {table.key} for a moment; it waits for open transactions, others queue meanwhile",
        lock_seconds=settings.lock_timeout,
        notes=(
            f"it goes to table space {table.landing}, with its partitioned indexes; the others stay where they are",
        ),
    )


next_template, next_routes = rolling.made_by(_addition)


def template_of(
    session: ReadSession, settings: Db2Settings, storage: ServerStorage, table: str, to_space: str, seconds: int
) -> StatementTemplate | NoRoute:
    """See ``FillsTemplates.template``.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    found = _read(session, settings, storage, table, to_space)
    return found if isinstance(found, NoRoute) else next_template(found, to_space, seconds, settings)


def routes_due(
    session: ReadSession, settings: Db2Settings, storage: ServerStorage, template: StatementTemplate, now: datetime
) -> tuple[Route, ...]:
    """See ``FillsTemplates.routes_due``.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    found = _read(session, settings, storage, template.table, template.space)
    if isinstance(found, NoRoute):
        return ()
    return tuple(next_routes(found, template, now, settings))


def _read(
    session: ReadSession, settings: Db2Settings, storage: ServerStorage, table: str, to_space: str
) -> PartitionedTable | NoRoute:
    key = table_named(table)
    rows = [] if key is None else read_partitions(session, key)
    if key is None or not rows:
        return NoRoute(code="no_table", sentence=f"there is no partitioned table {table}")
    landing = _landing(settings, storage, to_space, home_of(rows[-1], storage))
    if isinstance(landing, NoRoute):
        return landing
    answer = table_of(key, rows, storage, landing)
    return NoRoute(code="not_by_time", sentence=answer) if isinstance(answer, str) else answer


def _landing(
    settings: Db2Settings, storage: ServerStorage, to_space: str, last: TableSpace | None
) -> TableSpace | NoRoute:
    """The table space of the next partition: the target itself, or one of the storage group that is the target."""
    if settings.by_group:
        return landing_in(storage, to_space, last, settings)
    found = storage.space_named(to_space)
    return NoRoute(code="no_space", sentence=f"there is no table space {to_space}") if found is None else found


DETACHED = (
    "VALUES CASE WHEN EXISTS (SELECT 1 FROM SYSCAT.DATAPARTITIONS WHERE STATUS <> '' AND TABSCHEMA = {schema} "
    "AND TABNAME = {table}) THEN RAISE_ERROR('75001', 'still being detached: wait, and run the rest from here') "
    "ELSE 0 END"
)
LOCKS = "none, but nobody sees the rows of the partition from DETACH to the end of SET INTEGRITY"
NO_STATEMENT = "Db2 has no statement that moves one data partition; a person takes it out, moves it and puts it back"


def by_hand(table: Key, row: Row, there: TableHomes, because: str, back: TableHomes | None = None) -> ByHand:
    """The statements.

    Args:
        table: whose partition it is.
        row: of ``sql/partition_ranges.sql``, with its bounds.
        there: the table spaces that it goes to.
        because: why hotplace does not do it.
        back: those that it comes from; None: no way back is written.
    """
    return ByHand(
        statements=_statements(table, row, there), because=because, run_with=CLP.run_with,
        undo=() if back is None else _statements(table, row, back),
    )  # fmt: skip


def _statements(table: Key, row: Row, homes: TableHomes) -> tuple[str, ...]:
    name, part = f"{identifier(table.schema)}.{identifier(table.name)}", identifier(str(row[0]))
    alone = f"{table.name}_{row[0]}"
    detached = f"{identifier(table.schema)}.{identifier(alone)}"
    sent = CLP.statement
    return (
        comment("in a quiet hour: from DETACH to the end of SET INTEGRITY nobody sees the rows of this partition;"),
        comment("tables that refer to it, and materialized query tables over it, need SET INTEGRITY too:"),
        sent(f"ALTER TABLE {name} DETACH PARTITION {part} INTO {detached}"),
        comment(
            "a task of the server ends the DETACH. Until it has, this fails with SQLSTATE 75001 and the file stops:"
        ),
        comment("run it again from this statement on"),
        sent(DETACHED.format(schema=literal(table.schema), table=literal(table.name))),
        sent(move_table(table.schema, alone, homes, "", "MOVE")),
        sent(f"ALTER TABLE {name} ATTACH PARTITION {part} {_bounds(row)} FROM {detached}"),
        sent(f"SET INTEGRITY FOR {name} ALLOW WRITE ACCESS IMMEDIATE CHECKED"),
        comment("next partitions with table spaces of their own move by hotplace, and go down by rule"),
    )


def route_by_hand(
    bundle: Bundle, row: Row | None, target: TableSpace, source: TableSpace, now: TableHomes, along_bytes: int
) -> Route | NoRoute:
    """The route of one data partition, for a person, or why there is none.

    Args:
        bundle: the partition, perhaps with its LOB object.
        row: of ``sql/partition_ranges.sql``; None: it is gone.
        target: the table space that it goes to.
        source: the one of its rows.
        now: the table spaces of its rows, of its pieces of partitioned indexes, and of its LOBs.
        along_bytes: of those pieces, where they share the table space of the rows, since they go along then.
    """
    key = parse_key(bundle.key)
    for applies, code, sentence in _against(bundle, row, target, source):
        if applies:
            return NoRoute(code=code, sentence=sentence)
    assert row is not None, "a partition that is gone is refused above"
    lobs = now.lob == now.data or any(parse_key(unit).part is Part.LOB for unit in bundle.unit_keys)
    there = TableHomes(
        target.name, target.name if now.index == now.data else now.index, target.name if lobs else now.lob
    )
    hand = by_hand(Key(Part.TABLE, key.schema, key.name), row, there, NO_STATEMENT, now)
    return Route(
        name=BY_HAND, bundle=bundle, to_space=target.name, prologue=(), steps=(), undo_steps=(), online=False,
        locks=LOCKS, locked=Locked.ALL, log_bytes=log_bytes(bundle, CopyRoom()), transient_bytes=along_bytes,
        notes=(
            *(("its pieces of partitioned indexes go along",) if along_bytes else ()),
            "its counters restart at zero",
        ),
        by_hand=hand,
    )  # fmt: skip


def along_with(units: UnitTable, homes: Homes, partition: int) -> dict[UnitKind, tuple[int, int]]:
    """Of what belongs to a data partition, by kind: the number of its table space, and its bytes."""
    rows = np.flatnonzero(units.parent == partition)
    found: dict[UnitKind, tuple[int, int]] = {}
    for row in rows.tolist():
        kind = UnitKind(int(units.kind[row]))
        _, before = found.get(kind, (0, 0))
        found[kind] = int(homes.space[row]), before + int(units.size_bytes[row])
    return found


def _against(
    bundle: Bundle, row: Row | None, target: TableSpace, source: TableSpace
) -> Iterator[tuple[bool, str, str]]:
    parts = {parse_key(unit).part for unit in bundle.unit_keys}
    yield Part.TABLE not in parts, "partitioned", f"{bundle.key} goes with the rows of its data partition only"
    yield row is None, "gone", f"{bundle.key} no longer exists"
    if row is not None:
        state, bounds = str(row[2] or "").strip(), (row[5], row[7])
        yield bool(state), "busy", f"{bundle.key} is being attached or detached ({state})"
        yield (
            not all(str(each or "").strip() for each in bounds),
            "no_bounds",
            f"the range of {bundle.key} is not known",
        )
    yield target == source, "already_there", f"{bundle.key} is already in {target.name}"
    other = f"{target.name} has other pages, extents, containers or database partitions than {source.name} (SQL1860N)"
    yield not is_alike(source, target), "unlike_spaces", other


def is_alike(one: TableSpace, other: TableSpace) -> bool:
    """Whether both may hold partitions of one table."""
    return (one.page_bytes, one.extent_pages, one.managed, one.partition_group) == (
        other.page_bytes, other.extent_pages, other.managed, other.partition_group,
    )  # fmt: skip


def _bounds(row: Row) -> str:
    """As the catalog spells them."""
    *_, low_inclusive, low, high_inclusive, high = row
    kinds = ("INCLUSIVE" if each == INCLUSIVE else "EXCLUSIVE" for each in (low_inclusive, high_inclusive))
    return f"STARTING ({low}) {next(kinds)} ENDING ({high}) {next(kinds)}"


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
        read: Callable[[], tuple[Catalog, Homes, ServerStorage]],
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
        return tuple(self._due(found, storage, template, now))[: rolling.MOST_AT_ONCE]

    def _due(
        self, found: tuple[_Aging, ...], storage: ServerStorage, template: StatementTemplate, now: datetime
    ) -> Iterator[Route]:
        for each in found:
            if is_aged(each.partition, template, now):
                route = self._way(each, storage, template.space)
                if isinstance(route, Route):
                    values = {TABLE_SPACE: each.home.name, **rolling.name_and_age(each.partition)}
                    yield rolling.aged_route(route, _tag_of(route), values)

    def _way(self, aged: _Aging, storage: ServerStorage, to_space: str) -> Route | NoRoute:
        """To another storage group, with its table space."""
        key, home = aged.partition.key, aged.home
        if aged.bundle is None:
            return NoRoute(code="shared_table_space", sentence=_shares(aged))
        if not home.automatic:
            sentence = f"{home.name} of {key} has containers of its own: only automatic storage has storage groups"
            return NoRoute(code="not_automatic", sentence=sentence)
        packages = packages_of(self._session, home.name)
        return space_route(storage, home, aged.bundle, to_space, self._settings, self._server, packages)

    def _by_hand(self, aged: _Aging, storage: ServerStorage, table: str, to_space: str) -> ByHand | NoRoute:
        """What a person does about one that shares its table space."""
        key, target = table_named(table), landing_in(storage, to_space, aged.home, self._settings)
        assert key is not None, "it has partitions"
        if isinstance(target, NoRoute):
            return target
        return by_hand(key, aged.row, TableHomes(target.name, target.name, target.name), _shares(aged))

    def _partitions(self, table: str) -> tuple[tuple[_Aging, ...], ServerStorage]:
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
                alone = bundle_alone(own.key, own.space, home, catalog.units, row_of, homes)
                found.append(_Aging(own, home, alone, row))
        return tuple(found), storage


def _shares(aged: _Aging) -> str:
    return f"{aged.partition.key} shares table space {aged.home.name}, all of which would move. {_ALONE}"


def bundle_alone(
    key: str, space: str, home: TableSpace, units: UnitTable, row_of: Mapping[str, int], homes: Homes
) -> Bundle | None:
    """All that is in the table space of a data partition; None where something of it is not of that partition.

    Args:
        key: of the partition.
        space: that its table space is in.
        home: its table space.
        units: of the catalog, with their homes.
        row_of: row of each key.
        homes: the table space of each unit.
    """
    rows, own = np.flatnonzero(homes.space == home.number), row_of.get(key)
    if own is None or not np.all((rows == own) | (units.parent[rows] == units.physical_id[own])):
        return None
    return Bundle(
        key=key,
        physical_ids=tuple(units.physical_id[rows].tolist()),
        unit_keys=tuple(units.key[row] for row in rows.tolist()),
        kind=UnitKind.TABLE_PARTITION,
        size_bytes=int(units.size_bytes[rows].sum()),
        space=space,
    )


def _template(route: Route, example: _Aging, table: str, seconds: int) -> StatementTemplate:
    """The template of moves like this one."""
    own, place = (f"ALTER TABLESPACE {identifier(name)} " for name in (example.home.name, f"{{{TABLE_SPACE}}}"))
    parameters = (
        TemplateParameter(name=TABLE_SPACE, kind=ValueKind.WORD, least=1, most=_LONGEST_NAME),
        rolling.partition_word(_LONGEST_NAME),
    )
    return rolling.aged_template(route, table, seconds, {own: place}, _tag_of(route), parameters)


def _tag_of(route: Route) -> str:
    """What of the comment behind every statement is this move's own."""
    return f"{_TAG} {route.steps[0].sql.rpartition(f'{_TAG} ')[2].partition(' ')[0]}"
