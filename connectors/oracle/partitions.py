"""Tables partitioned by time: what is due, templates and routes of next and aged partitions.

``PartitionedTable`` is a table partitioned by ranges of dates, as the dictionary shows it.

Next partitions (``next_template``, ``next_routes``) are made by ``ALTER TABLE ... ADD PARTITION``, which puts one
behind the last and leaves indexes usable (VLDB and Partitioning Guide, "Adding a Partition to a Range-Partitioned
Table"). Pieces of local indexes are made where those indexes have a default, else with the partition ("Adding Index
Partitions"). The statement waits for its lock as long as DDL_LOCK_TIMEOUT says.

Aged partitions (``aged_template``, ``aged_route``) move by the route of a single partition.

``PartitionCalendar`` answers what the calendar asks of a table: a template to be signed, and what is due under one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from connectors.kit import rolling
from connectors.kit.rolling import (
    HIGH,
    PARTITION,
    TAG_NAME,
    Range,
    RangeTable,
    aged_bundle,
    first_reason,
    instant_of,
    is_aged,
)
from connectors.kit.templates import StatementTemplate, TemplateKind, texts_of
from connectors.model.moves import Bundle, NoRoute, Route
from connectors.oracle import operations
from connectors.oracle.facts import SpaceFacts, quota_left
from connectors.oracle.names import key_of, names_of, plain, quote
from connectors.oracle.operations import TAG, Statement, adding_partition
from connectors.oracle.sessions import ReadSession, Row, Server, query
from connectors.oracle.settings import OracleSettings

RANGE, NO_SUBPARTITIONS = "RANGE", "NONE"  # of DBA_PART_TABLES
MAXVALUE = "MAXVALUE"
# As HIGH_VALUE has them: of a DATE in any session's format the first, of a TIMESTAMP the second.
DATE, TIMESTAMP = "TO_DATE(", "TIMESTAMP"
_BOUND = re.compile(r"(TO_DATE\(|TIMESTAMP) ?' ?(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.0+)?'.*")


@dataclass(frozen=True, kw_only=True)
class PartitionedTable(RangeTable):
    """With what Oracle needs to make a partition of it."""

    bound: str  # DATE or TIMESTAMP
    elsewhere: tuple[str, ...]  # local indexes whose pieces have another default, each with the tablespace


@dataclass(frozen=True, slots=True)
class Partitioning:
    """The row of ``sql/part_table.sql``, in its order."""

    kind: str
    subpartitions: str
    columns: int
    interval: str | None
    iot_type: str | None
    lobs: int
    children: int  # tables that are partitioned by reference to it


def read_partitions(session: ReadSession, key: str, to_space: str) -> PartitionedTable | None:
    """The partitioned table of that key whose partitions are to go to a tablespace; None where there is none.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    found = names_of(key)
    names = {"owner": found[0], "name": found[1]} if found else {}
    rows = session.rows(query("part_table"), names, doing=f"looking up how {key} is partitioned") if found else []
    if not found or not rows:
        return None
    owner, name = found
    how, key = Partitioning(*rows[0]), key_of(owner, name)
    bounds = sorted(session.rows(query("part_bounds"), names, doing=f"reading the bounds of {key}"), key=lambda r: r[2])
    units = session.rows(query("part_units"), names, doing=f"reading the partitions of {key}")
    ranges = _ranges(owner, name, bounds, {part: (number, size) for part, number, size in units})
    kinds = {at[1] for row in bounds if (at := _BOUND.fullmatch(str(row[3])))}
    why_not = _why_not(key, how, ranges, kinds)
    why_no_more = why_not or _why_no_more(key, how, to_space, bounds)
    return PartitionedTable(
        key=key, schema=owner, name=name, time_format="%Y-%m-%d %H:%M:%S", ranges=ranges, why_not=why_not,
        why_no_more=why_no_more or _why_not_there(session, owner, key, ranges[-1].space, to_space),
        bound=min(kinds, default=""), elsewhere=_elsewhere(session, names, to_space),
    )  # fmt: skip


def _ranges(owner: str, table: str, bounds: list[Row], units: dict[str, tuple[int, int | None]]) -> tuple[Range, ...]:
    """Those that end at a time; each begins where the one before it ends."""
    found = []
    for before, (name, space, _, bound) in pairwise([(None, None, 0, ""), *bounds]):
        high, low = _BOUND.fullmatch(str(bound)), _BOUND.fullmatch(str(before[3]))
        if high is not None:
            number, size = units.get(name, (0, None))
            found.append(Range(
                id=number, schema=owner, name=name, key=key_of(owner, table, part_word="PARTITION", part=name),
                low=instant_of(low[2]) if low else None, high=instant_of(high[2]), space=space or "",
                size_bytes=size or 0,
            ))  # fmt: skip
    return tuple(found)


def _why_not(key: str, how: Partitioning, ranges: tuple[Range, ...], kinds: set[str]) -> str:
    return first_reason(
        key,
        (how.kind != RANGE or how.columns != 1, "it is not partitioned by ranges of one column"),
        (how.subpartitions != NO_SUBPARTITIONS, "its partitions have subpartitions, which lie anywhere"),
        (how.iot_type is not None, "it is index-organised: its partitions are those of its index"),
        (how.lobs > 0, "it has LOB columns, whose segments have tablespaces of their own"),
        (not ranges or len(kinds) != 1, "its ranges are not of dates or times"),
    )


def _why_no_more(key: str, how: Partitioning, to_space: str, bounds: list[Row]) -> str:
    own = f"ALTER TABLE {key} SET STORE IN ({plain(to_space)})"
    indexes = f"ALTER INDEX ... MODIFY DEFAULT ATTRIBUTES TABLESPACE {plain(to_space)} for its local indexes"
    return first_reason(
        key,
        (
            how.interval is not None,
            f"the server makes its next partitions, by intervals (ORA-14760); where: {own}, and {indexes}",
        ),
        (
            str(bounds[-1][3]).strip() == MAXVALUE,
            "its last partition ends at MAXVALUE (ORA-14074), so the next rows have a place: a person splits it",
        ),
        (how.children > 0, "tables are partitioned by reference to it, and would get a partition each"),
    )


def _why_not_there(session: ReadSession, owner: str, key: str, last_space: str, to_space: str) -> str:
    """Why no partition can be made in that tablespace."""
    values = {"source": last_space, "target": to_space}
    rows = session.rows(query("two_spaces"), values, doing="comparing spaces")
    spaces = {row[0]: SpaceFacts(*row) for row in rows}
    target, source = spaces.get(to_space), spaces.get(last_space)
    if target is None or source is None:
        return f"{key}: there is no tablespace {to_space}"
    usable = target.contents == "PERMANENT" and target.status == "ONLINE"
    return first_reason(
        key,
        (not usable, f"{to_space} is {target.status}, for {target.contents} data"),
        (target.block_size != source.block_size, f"{to_space} has blocks of {target.block_size} bytes (ORA-14519)"),
        (source.encrypted == "YES" and target.encrypted != "YES", f"{to_space} is not encrypted, {last_space} is"),
        (
            quota_left(session, owner, to_space) == 0,
            f"{owner} has no quota in {to_space} (ORA-01950): ALTER USER ... QUOTA ... ON ...",
        ),
    )


def _elsewhere(session: ReadSession, names: dict[str, str], to_space: str) -> tuple[str, ...]:
    rows = session.rows(query("local_indexes"), names, doing="looking up local indexes")
    return tuple(f"{key_of(owner, name)} in {space}" for owner, name, space in rows if space not in (None, to_space))


_NAMED = (rolling.partition_word(128),)  # letters since 12.2; 30 before


def _addition(table: PartitionedTable, settings: OracleSettings, made: Range, values: Mapping[str, str]) -> Route:
    """The route that makes a range."""
    elsewhere = ", ".join(table.elsewhere)
    sent = Statement(
        f"ALTER TABLE {quote(table.schema, table.name)} ADD PARTITION {quote(made.name)} VALUES LESS THAN "
        f"({_bound(table.bound, values[HIGH])}) TABLESPACE {quote(made.space)}",
        adding_partition(table.schema, table.name, made.name),
    )
    purpose, tag = f"make {made.key} in {made.space}", f"{TAG} {values[TAG_NAME]} "
    return rolling.making_route(
        made,
        values,
        name="add partition",
        prologue=operations.prologue(settings),
        steps=(operations.step(tag, "step", 1, sent, purpose, settings.move_timeout),),
        locks=f"exclusive DDL lock on {table.key} for a moment; it waits for open transactions, others queue meanwhile",
        lock_seconds=settings.lock_timeout,
        notes=(f"pieces of local indexes are made where these have their default: {elsewhere}",) if elsewhere else (),
    )


next_template, next_routes = rolling.made_by(_addition)


def _bound(kind: str, at: str) -> str:
    """Whatever the formats and the calendar of the session are."""
    if kind == DATE:
        return f"TO_DATE('{at}', 'SYYYY-MM-DD HH24:MI:SS', 'NLS_CALENDAR=GREGORIAN')"
    return f"TIMESTAMP '{at}'"


def aged_template(partition: Range, route: Route, table: str, seconds: int) -> StatementTemplate | NoRoute:
    """The template of moves like one route of one partition, for those whose last row came so long ago.

    Args:
        partition: which the route brings to its space.
        route: the example.
        table: key of the partitioned table.
        seconds: the least age.
    """
    own, place = (f"PARTITION {quote(name)}" for name in (partition.name, f"{{{PARTITION}}}"))
    if named := next((text.sql for text in texts_of(route) if _names_another(text.sql, own)), ""):
        sentence = f"a piece of a local index is not named after {partition.key}, so no template names it: {named}"
        return NoRoute(code="piece_name", sentence=sentence)
    return rolling.aged_template(route, table, seconds, {own: place}, rolling.tag_of(route, TAG), _NAMED)


def _names_another(statement: str, own: str) -> bool:
    return " PARTITION " in statement and own not in statement


def aged_route(partition: Range, route: Route) -> Route:
    """The route of an aged partition, with the arguments of its template."""
    return rolling.aged_route(route, rolling.tag_of(route, TAG), rolling.name_and_age(partition))


Ways = Callable[[Bundle, str], tuple[Route, ...] | NoRoute]  # ``Connector.routes``


class PartitionCalendar:
    """Answers for one connector."""

    def __init__(self, session: ReadSession, server: Server, settings: OracleSettings, ways: Ways) -> None:
        self._session = session
        self._server = server
        self._settings = settings
        self._ways = ways

    def template(self, kind: TemplateKind, table: str, to_space: str, seconds: int) -> StatementTemplate | NoRoute:
        """See ``FillsTemplates.template``.

        Raises:
            ConnectorError: a subclass that says what may be done.
        """
        if self._settings.move_by == "tablespace":
            sentence = "move_by: tablespace moves data files, and no partition is made or moved by that"
            return NoRoute(code="by_tablespace", sentence=sentence, setting="move_by")
        if not self._server.writable:
            sentence = f"the database is {self._server.role}, {self._server.open_mode}: no DDL here"
            return NoRoute(code="standby", sentence=sentence)
        found = read_partitions(self._session, table, to_space)
        if found is None:
            return NoRoute(code="no_table", sentence=f"there is no partitioned table {table}")
        if found.why_not:
            return NoRoute(code="not_by_time", sentence=found.why_not)
        if kind is TemplateKind.NEXT_PARTITION:
            return next_template(found, to_space, seconds, self._settings)
        return self._aged_template(found, to_space, seconds)

    def routes_due(self, template: StatementTemplate, now: datetime) -> tuple[Route, ...]:
        """See ``FillsTemplates.routes_due``.

        Raises:
            ConnectorError: a subclass that says what may be done.
        """
        found = read_partitions(self._session, template.table, template.space)
        if found is None or found.why_not or not self._server.writable:
            return ()
        if template.kind is TemplateKind.NEXT_PARTITION:
            return tuple(next_routes(found, template, now, self._settings))
        return tuple(self._aged_routes(found, template, now))

    def _aged_template(self, found: PartitionedTable, to_space: str, seconds: int) -> StatementTemplate | NoRoute:
        """By the youngest partition with rows elsewhere: those that follow it will age where it is."""
        elsewhere = (each for each in reversed(found.ranges) if each.space != to_space and each.size_bytes)
        example = next(elsewhere, None)
        if example is None:
            return NoRoute(code="already_there", sentence=f"all partitions of {found.key} with rows are in {to_space}")
        route = self._way(example, to_space)
        return route if isinstance(route, NoRoute) else aged_template(example, route, found.key, seconds)

    def _aged_routes(self, found: PartitionedTable, template: StatementTemplate, now: datetime) -> Iterator[Route]:
        """The oldest first, whether or not their statements still are those of the template.

        A partition without a segment has no row to move.
        """
        for partition in found.ranges:
            if partition.size_bytes and is_aged(partition, template, now):
                route = self._way(partition, template.space)
                if isinstance(route, Route):
                    yield aged_route(partition, route)

    def _way(self, partition: Range, to_space: str) -> Route | NoRoute:
        """The kindest way of one partition there."""
        answer = self._ways(aged_bundle(partition), to_space)
        return answer if isinstance(answer, NoRoute) else answer[0]
