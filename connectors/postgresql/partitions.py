"""Tables partitioned by time: what is due, next and aged partitions, and the end of an open part.

``PartitionedTable`` is a table partitioned by time, as the catalog shows it: its ranges in order, and the place of each
partition.

Next partitions (``next_template``, ``next_routes``) are made by ``CREATE TABLE ... PARTITION OF``, which takes ACCESS
EXCLUSIVE on the partitioned table for a moment (the manual, CREATE TABLE). ATTACH PARTITION locks less, but needs two
statements and could leave a table behind. ``default_tablespace`` puts the indexes of the partition in the same
tablespace, unless the table's own indexes name another one. What ``ALTER DEFAULT PRIVILEGES`` gives on it is taken away
in the same transaction.

Aged partitions (``aged_template``, ``aged_route``) move by the route of a single partition.

Closing an open part (``find_closable`` to ``close_routes``) checks the catalog as it is now, and gives a route, a
template and what is due. ``template_of`` and ``routes_due`` answer what the calendar asks of a table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from psycopg import sql

from connectors.kit import rolling
from connectors.kit.rolling import (
    DAY,
    HIGH,
    LOW,
    OPENED,
    PARTITION,
    TAG_NAME,
    Range,
    RangeTable,
    aged_bundle,
    arguments_of,
    closing_template,
    first_reason,
    instant_of,
    is_aged,
    next_end,
    seconds_of,
)
from connectors.kit.templates import StatementTemplate, TemplateKind, texts_of
from connectors.model.formatting import format_seconds
from connectors.model.moves import NoRoute, Route, Step
from connectors.postgresql.catalog import find_relation
from connectors.postgresql.close import (
    BY_PRIMARY_KEY,
    Closable,
    closable_part,
    refuse_border,
    route_of_closing,
    values_of_closing,
)
from connectors.postgresql.replication import Replication, read_replication
from connectors.postgresql.routes import TAG, prologue_of, routes_of
from connectors.postgresql.sessions import ReadSession, query
from connectors.postgresql.settings import PostgresqlSettings
from connectors.postgresql.split import ahead_needed
from connectors.postgresql.split_block import OWN_NAMES, as_one, text
from connectors.postgresql.split_statements import privileges_of_part
from connectors.postgresql.split_table import (
    BorderValue,
    lies_behind,
    read_asked_border,
    read_border,
    read_open_part,
    read_present_share,
)

RANGE, TABLE = "r", "r"  # pg_partitioned_table.partstrat; pg_class.relkind
# As pg_get_expr prints it, with DateStyle ISO: the texts are literals of the column's type.
_BOUND = re.compile(r"FOR VALUES FROM \((?:'([^']+)'|MINVALUE)\) TO \('([^']+)'\)")
_NO_END = "TO (MAXVALUE)"
_WITHOUT_END = (
    "its last partition {} has no end, as a split leaves it: `hotplace rules propose --table --close` gives it one and "
    "makes the next without an end, again and again (Split a table: Partitions after it)"
)
FORMATS = {
    "date": "%Y-%m-%d",
    "timestamp without time zone": "%Y-%m-%d %H:%M:%S",
    "timestamp with time zone": "%Y-%m-%d %H:%M:%S+00",
}

_IDENTITY = (
    "partitions of it have a REPLICA IDENTITY of their own, which new ones would not get: with a publication, UPDATE "
    "and DELETE of their rows would fail"
)


@dataclass(frozen=True, kw_only=True)
class PartitionedTable(RangeTable):
    """With what PostgreSQL needs to make a partition of it."""

    owner: str


def read_partitions(session: ReadSession, key: str, space: str) -> PartitionedTable | None:
    """The partitioned table of that key whose partitions are to go to a space; None where there is none.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    rows = session.rows(query("partitions"), {"key": key, "space": space}, doing=f"looking up the partitions of {key}")
    if not rows:
        return None
    schema, name, owner, strategy, columns, kind, has_default, may_create = rows[0][:8]
    identities = {row[16] for row in rows if row[16] is not None}
    found = [_range(row[8:16]) for row in rows if row[8] is not None]
    endless = next((str(row[10]) for row in rows if str(row[13]).endswith(_NO_END)), "")
    ranges = sorted((each for each in found if each is not None), key=lambda each: each.high)
    why_not = first_reason(
        key,
        (strategy != RANGE or columns != 1, "it is not partitioned by ranges of one column"),
        (kind not in FORMATS, f"its ranges are of {kind or 'an expression'}, not of dates or times"),
        (may_create is None, f"there is no tablespace {space}"),
        (not ranges, "no partition of it is a table with an end"),
    )
    why_no_more = first_reason(
        key,
        (has_default, "it has a default partition, which would be scanned under a lock for each new one"),
        (bool(endless), _WITHOUT_END.format(endless)),
        (len(ranges) < len(found), "not all of its partitions are tables with an end"),
        (bool(identities - {BY_PRIMARY_KEY}), _IDENTITY),
        (
            may_create is False,
            f"its owner {owner} may not create in {space}: it needs CREATE on that tablespace, to fill it",
        ),
    )
    return PartitionedTable(
        key=key, schema=schema, name=name, owner=owner, time_format=FORMATS.get(kind, ""), ranges=tuple(ranges),
        why_not=why_not, why_no_more=why_not or why_no_more,
    )  # fmt: skip


def _range(row: tuple[object, ...]) -> Range | None:
    """One partition; None where it does not end at a time, or it is partitioned in its turn."""
    oid, schema, name, key, kind, bound, space, size = row
    low, high = _bounds_of(str(bound))
    if high is None or kind != TABLE:
        return None
    return Range(
        id=int(str(oid)), schema=str(schema), name=str(name), key=str(key), low=low, high=high, space=str(space),
        size_bytes=int(str(size or 0)),
    )  # fmt: skip


# By pg_class.relkind: the words for it, which ALTER has as well.
_HOLDERS = {
    "r": ("a", "table"), "p": ("a", "table"), "v": ("a", "view"), "m": ("a", "materialized view"),
    "i": ("an", "index"), "I": ("an", "index"), "S": ("a", "sequence"), "f": ("a", "foreign table"), "c": ("a", "type"),
}  # fmt: skip


def find_holders(session: ReadSession, made: Iterable[tuple[str, datetime | None, datetime | None]]) -> dict[str, str]:
    """What has the names of partitions that are to be made, unless it is that partition: by key, a sentence's part.

    Args:
        session: reads.
        made: the key of each, and where its range begins and ends.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    ranges = {key: bounds for key, *bounds in made}
    found = session.rows(query("names_held"), {"keys": list(ranges)}, doing="looking at names of next partitions")
    held = {}
    for key, kind, bound in found:
        if bound is not None and _bounds_of(bound) == ranges[key]:
            continue
        article, what = _HOLDERS[kind]
        attached = ", or attach it if it was made to be this partition" if kind == TABLE and bound is None else ""
        held[key] = (
            f"the name {key} belongs to {article} {what}: ALTER {what.upper()} ... RENAME TO, or drop it{attached}"
        )
    return held


def _bounds_of(bound: str) -> list[datetime | None]:
    """Where a range begins and ends; two None where it is no plain one."""
    found = _BOUND.fullmatch(bound)
    try:
        return [None if text is None else instant_of(text) for text in (found.groups() if found else (None, None))]
    except ValueError:  # infinity, or another DateStyle
        return [None, None]


_NAMED = (rolling.partition_word(63),)
_PRIVILEGES = (
    "it belongs to the owner of the table; others have on it what they have on the table, or nothing if that has row "
    "security: grants on single partitions and default privileges are not repeated"
)


def _creation(table: PartitionedTable, settings: PostgresqlSettings, made: Range, values: Mapping[str, str]) -> Route:
    """The route that makes a range: what comes before it, and the one step.

    In one transaction, so that no one has on it what the owner's default privileges give.
    """
    part, whole = sql.Identifier(made.schema, made.name), sql.Identifier(table.schema, table.name)
    creation = text(
        "CREATE TABLE {} PARTITION OF {} FOR VALUES FROM ({}) TO ({}) TABLESPACE {}",
        part, whole, sql.Literal(values[LOW]), sql.Literal(values[HIGH]), sql.Identifier(made.space),
    )  # fmt: skip
    statement = as_one([OWN_NAMES, creation, *privileges_of_part(part, table.owner, like=whole)])
    step = f"{TAG} {values[TAG_NAME]} step 1 */ {statement}"
    return rolling.making_route(
        made,
        values,
        name="create partition",
        prologue=(
            sql.SQL("SET ROLE {}").format(sql.Identifier(table.owner)).as_string(None),
            sql.SQL("SET default_tablespace = {}").format(sql.Literal(made.space)).as_string(None),
            *prologue_of(settings.lock_timeout, settings.move_timeout),
        ),
        steps=(Step(sql=step, purpose=f"make {made.key} in {made.space}"),),
        locks=f"ACCESS EXCLUSIVE on the table ({table.key}) for a moment; SHARE ROW EXCLUSIVE on tables that its "
        "foreign keys name, if it has any: their readers go on; others queue while it waits for either",
        lock_seconds=settings.lock_timeout,
        notes=(_PRIVILEGES,),
    )


next_template, next_routes = rolling.made_by(_creation)


def aged_template(partition: Range, route: Route, table: str, seconds: int) -> StatementTemplate:
    """The template of moves like one route of one partition, for those whose last row came so long ago.

    Args:
        partition: which the route brings to its space.
        route: the example.
        table: key of the partitioned table.
        seconds: the least age.
    """
    own, place = (
        sql.Identifier(partition.schema, name).as_string(None) for name in (partition.name, f"{{{PARTITION}}}")
    )
    return rolling.aged_template(route, table, seconds, {own: place}, rolling.tag_of(route, TAG), _NAMED)


def aged_route(partition: Range, route: Route) -> Route:
    """The route of an aged partition, with the arguments of its template."""
    return rolling.aged_route(route, rolling.tag_of(route, TAG), rolling.name_and_age(partition))


def find_closable(session: ReadSession, table: str, to_space: str) -> Closable | NoRoute:
    """The open part of a table, behind which one can be made in a space; or why not, whatever the border.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    found = read_open_part(session, table)
    relation = None if found is None or found.part is None else find_relation(session, found.by.key, to_space)
    return closable_part(found, relation, to_space)


def refuse_now(session: ReadSession, found: Closable, border: BorderValue) -> NoRoute | None:
    """Why the part is not closed at that border; None where it may be. Reads no row.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    behind = lies_behind(session, found.column, found.by.low, border.text)
    # Of the part's own column: the whole may have no statistics, autovacuum gathers those of parts.
    column = next((each for each in found.part.columns if each.name == found.column.name), found.column)
    present = read_present_share(session, found.part, column, border.text)
    return refuse_border(found, border, present, behind=behind)


_PLACES = {name: f"{{{name}}}" for name in (PARTITION, OPENED, LOW, HIGH, TAG_NAME)}


def route_close(
    session: ReadSession, settings: PostgresqlSettings, table: str, border: str, to_space: str
) -> Route | NoRoute:
    """See ``ClosesParts.route_close``.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    found = find_closable(session, table, to_space)
    if isinstance(found, NoRoute):
        return found
    value = read_asked_border(session, found.column, border)
    if isinstance(value, NoRoute):
        return value
    refusal = refuse_now(session, found, value)
    return refusal or route_of_closing(found, values_of_closing(found, value.text), to_space, settings)


def close_template(
    session: ReadSession, settings: PostgresqlSettings, table: str, to_space: str, seconds: int
) -> StatementTemplate | NoRoute:
    """The template of closing a part each so many seconds, or why there is none.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    found = _closable_by_times(session, table, to_space, seconds)
    if isinstance(found, NoRoute):
        return found
    closable, _ = found
    return closing_template(table, to_space, seconds, texts_of(route_of_closing(closable, _PLACES, to_space, settings)))


def close_routes(
    session: ReadSession, settings: PostgresqlSettings, template: StatementTemplate, now: datetime
) -> tuple[Route, ...]:
    """The closing that is due, if one is, whether or not its statements still are those of the template.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    seconds = seconds_of(template)
    known = _closable_by_times(session, template.table, template.space, seconds)
    if isinstance(known, NoRoute):
        return ()
    found, low = known
    end = next_end(low, seconds, now, ahead_needed(found.table))
    if end is None:
        return ()
    begins, ends = (at.astimezone(UTC).strftime(FORMATS[found.column.type]) for at in (low, end))
    if refuse_now(session, found, read_border(session, found.column, ends)):
        return ()
    values = values_of_closing(found, ends, begins)
    route = route_of_closing(found, values, template.space, settings)
    return (replace(route, arguments=arguments_of(values)),)


def open_range(session: ReadSession, table: str) -> Range | None:
    """The open part as a range that ends where it begins, as an example of what will age; None: there is none."""
    found = read_open_part(session, table)
    if found is None or found.part is None or not found.by.low:
        return None
    begins, by = instant_of(found.by.low), found.by
    return Range(
        id=found.part.oid, schema=by.schema, name=by.name, key=by.key, low=None, high=begins, space=by.space,
        size_bytes=found.part.heap_bytes,
    )  # fmt: skip


def _closable_by_times(
    session: ReadSession, table: str, to_space: str, seconds: int
) -> tuple[Closable, datetime] | NoRoute:
    """The open part and when it begins; why none can be closed each so many seconds."""
    found = find_closable(session, table, to_space)
    if isinstance(found, NoRoute):
        return found
    low = _beginning(found, seconds)
    return low if isinstance(low, NoRoute) else (found, low)


def _beginning(found: Closable, seconds: int) -> datetime | NoRoute:
    """Where the part begins; why no calendar can close it: no times, no whole ones, or no time to read it."""
    kind = found.column.type
    if kind not in FORMATS:
        return NoRoute(code="not_by_time", sentence=f"its ranges are of {kind}, not of dates or times")
    try:
        low = instant_of(found.by.low)
    except ValueError:  # infinity, or another DateStyle
        return NoRoute(code="no_beginning", sentence=f"its open part begins at {found.by.low}, which is no plain time")
    least = DAY if kind == "date" else 1
    if low.microsecond or seconds < least or seconds % least:
        what = "days" if least == DAY else "seconds"
        return NoRoute(code="no_whole_ranges", sentence=f"its ranges begin and end with whole {what}")
    if ahead_needed(found.table) > seconds:
        needed = format_seconds(ahead_needed(found.table))
        return NoRoute(code="too_short", sentence=f"to close its open part may take {needed}: make parts longer")
    return low


def template_of(
    session: ReadSession, settings: PostgresqlSettings, kind: TemplateKind, table: str, to_space: str, seconds: int,
    now: datetime,
) -> StatementTemplate | NoRoute:  # fmt: skip
    """See ``FillsTemplates.template``.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    if kind is TemplateKind.CLOSED_PART:
        return close_template(session, settings, table, to_space, seconds)
    found = read_partitions(session, table, to_space)
    if found is None:
        return NoRoute(code="no_table", sentence=f"there is no partitioned table {table}")
    if found.why_not:
        return NoRoute(code="not_by_time", sentence=found.why_not)
    if kind is TemplateKind.NEXT_PARTITION:
        answer = next_template(found, to_space, seconds, settings)
        if isinstance(answer, NoRoute):
            return answer
        held = _holders_of_next(session, found, answer, now)
        return NoRoute(code="name_held", sentence="; ".join(held.values())) if held else answer
    return _aged_template(session, settings, found, to_space, seconds)


def routes_due(
    session: ReadSession, settings: PostgresqlSettings, template: StatementTemplate, now: datetime
) -> tuple[Route, ...]:
    """See ``FillsTemplates.routes_due``.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    if template.kind is TemplateKind.CLOSED_PART:
        return close_routes(session, settings, template, now)
    found = read_partitions(session, template.table, template.space)
    if found is None or found.why_not:
        return ()
    if template.kind is TemplateKind.NEXT_PARTITION:
        held = _holders_of_next(session, found, template, now)
        return tuple(each for each in next_routes(found, template, now, settings) if each.bundle.key not in held)
    return tuple(_aged_routes(session, settings, found, template, now))


def _holders_of_next(
    session: ReadSession, found: PartitionedTable, template: StatementTemplate, now: datetime
) -> dict[str, str]:
    """What has the names of partitions that are due: those behind them are made, each for itself."""
    due = [made for made, _ in rolling.next_ranges(found, template, now)]
    return find_holders(session, ((each.key, each.low, each.high) for each in due)) if due else {}


def _aged_template(
    session: ReadSession, settings: PostgresqlSettings, found: PartitionedTable, to_space: str, seconds: int
) -> StatementTemplate | NoRoute:
    """By the youngest partition elsewhere: those that follow it will age where it is."""
    last = open_range(session, found.key)
    ranges = (*found.ranges, *(() if last is None else (last,)))
    example = next((each for each in reversed(ranges) if each.space != to_space), None)
    if example is None:
        return NoRoute(code="already_there", sentence=f"all partitions of {found.key} are in {to_space}")
    route = _way(session, settings, example, to_space, read_replication(session))
    if isinstance(route, NoRoute):
        return route
    return aged_template(example, route, found.key, seconds)


def _aged_routes(
    session: ReadSession, settings: PostgresqlSettings, found: PartitionedTable, template: StatementTemplate,
    now: datetime,
) -> Iterator[Route]:  # fmt: skip
    """The oldest first, whether or not their statements still are those of the template."""
    replication = read_replication(session)
    for partition in found.ranges:
        if is_aged(partition, template, now):
            route = _way(session, settings, partition, template.space, replication)
            if isinstance(route, Route):
                yield aged_route(partition, route)


def _way(
    session: ReadSession, settings: PostgresqlSettings, partition: Range, to_space: str, replication: Replication
) -> Route | NoRoute:
    """The kindest way of one partition there."""
    relation = find_relation(session, partition.key, to_space)
    answer = routes_of(relation, aged_bundle(partition), to_space, settings, replication)
    return answer if isinstance(answer, NoRoute) else answer[0]
