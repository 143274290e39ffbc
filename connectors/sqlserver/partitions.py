"""Tables partitioned by time: what is due, templates and routes of next and aged partitions.

``PartitionedTable`` is a table whose partition function has dates or times as boundaries, as the catalog shows it.

Next partitions (``next_template``, ``next_routes``) are made by ``ALTER PARTITION SCHEME ... NEXT USED`` and ``ALTER
PARTITION FUNCTION ... SPLIT RANGE`` in one transaction. It first checks that the last partition is empty; then the
split changes the catalog only. SPLIT of a range with rows rewrites them while the table is locked (sql-docs, ALTER
PARTITION FUNCTION: "always keep empty partitions at both ends"). The new partition is the side that holds the new
boundary: with RANGE RIGHT it begins there, with RANGE LEFT it ends there.

Aged partitions (``aged_template``, ``aged_route``) are copied and exchanged as module ``switching`` says. From one
partition to the next, only the partition number, its two boundaries and the digits in table names differ. CHECK holds
the copy to those boundaries, and SWITCH refuses a table whose CHECK allows more than the range of that number (4982).
So the server itself compares the two.

``PartitionCalendar`` answers what the calendar asks of a table: a template to be signed, and what is due under one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import islice, pairwise

import numpy as np

from connectors.kit import rolling
from connectors.kit.rolling import (
    HIGH,
    LAST_ROW,
    LOW,
    MOST_AT_ONCE,
    TAG_NAME,
    Range,
    RangeTable,
    first_reason,
    instant_of,
    is_aged,
)
from connectors.kit.templates import StatementTemplate, TemplateKind, TemplateParameter, ValueKind
from connectors.model.formatting import format_seconds
from connectors.model.moves import Bundle, NoRoute, Route, UnitKind
from connectors.sqlserver import switch_ddl
from connectors.sqlserver.catalog import PAGE
from connectors.sqlserver.ddl import quoted_table
from connectors.sqlserver.definition import DataSpace, Definition, find, knowing, scheme_of
from connectors.sqlserver.keys import Name, name_of, quote, unit_ids
from connectors.sqlserver.move_methods import PREFIX, MethodStatement
from connectors.sqlserver.operations import splitting_range
from connectors.sqlserver.routes import TAG, tag_steps
from connectors.sqlserver.sessions import ReadSession, lock_timeout_statement
from connectors.sqlserver.settings import SqlserverSettings
from connectors.sqlserver.switching import unit_name

_PLAIN = re.compile(r"(\w+)\.(\w+)")
_WHOLE_SECONDS = "%Y-%m-%dT%H:%M:%S"  # style 126, and what every language reads the same
_FORMATS = {"date": "%Y-%m-%d", **dict.fromkeys(("datetime", "datetime2", "smalldatetime"), _WHOLE_SECONDS)}


_WHOLE = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.0+)?)?")
_BY_A_PERSON = "A person splits it in a quiet hour; from then on --ahead keeps the last one empty"


@dataclass(frozen=True, kw_only=True)
class PartitionedTable(RangeTable):
    """With what SQL Server needs to split the next partition off.

    The last partition of a function has no end. With RANGE RIGHT it is the last of ``ranges``, as long as the one
    before it: the next one begins where it would end.
    """

    scheme: DataSpace
    function: str
    column: str
    next_used: str  # filegroup that was NEXT USED before; "": none
    definition: Definition  # of the table's first partition

    @property
    def filled(self) -> tuple[tuple[int, Range], ...]:
        """Partitions with rows between two boundaries, with their numbers.

        Not the last one: it has no end and may still get rows, whatever its age.
        """
        index = self.definition.index
        rows = {} if index is None else {part.number: part.rows for part in index.partitions}
        closed = (each for each in enumerate(self.ranges, start=1) if each[0] < self.scheme.fanout)
        return tuple((number, each) for number, each in closed if each.low is not None and rows.get(number))

    def partition_key(self, number: int) -> str:
        """The key of a partition of the table."""
        return Name(self.schema, self.name, partition=number).key


def table_named(key: str) -> Name | None:
    """The table of a key, which may be without brackets; None where it is the key of no table."""
    plain = _PLAIN.fullmatch(key)
    try:
        name = Name(plain[1], plain[2]) if plain else name_of(key)
    except ValueError:
        return None
    return name if name == Name(name.schema, name.table) else None


def read_time_ranges(session: ReadSession, name: Name, to_space: str) -> PartitionedTable | str:
    """The partitioned table of that name, for which partitions are to be made in a filegroup; or why it is none.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    definition = knowing(session, find(session, replace(name, partition=1)))
    scheme = None if definition is None else scheme_of(definition)
    known = None if definition is None else definition.partitioning
    if definition is None or scheme is None or known is None or definition.index is None or scheme.function is None:
        return f"there is no partitioned table {name.key}"
    column = next((each.name for each in definition.index.columns if each.partition_ordinal > 0), "")
    kind = next((each.type_name for each in definition.columns if each.name == column), "")
    form = _FORMATS.get(kind, "")
    why_not = _why_not(name.key, kind, form, known.boundaries)
    if why_not:
        return why_not
    next_used = "" if scheme.next_used is None else definition.spaces[scheme.next_used].name
    table = PartitionedTable(
        key=name.key, schema=name.schema, name=name.table, time_format=form,
        ranges=_ranges(definition, scheme, name, known.boundaries), why_not="",
        why_no_more=_why_no_more(definition, scheme, name.key, to_space), scheme=scheme, function=scheme.function,
        column=column, next_used=next_used, definition=definition,
    )  # fmt: skip
    return _with_last(table) if scheme.on_right else table


def _why_not(key: str, kind: str, form: str, boundaries: tuple[str, ...]) -> str:
    if not form:
        return f"{key}: its boundaries are of {kind or 'an unknown type'}, not of dates or times"
    odd = next((each for each in boundaries if not _WHOLE.fullmatch(each)), "")
    return f"{key}: the boundary {odd} is no whole second" if odd else ""


def _ranges(definition: Definition, scheme: DataSpace, name: Name, boundaries: tuple[str, ...]) -> tuple[Range, ...]:
    """Those with an end."""
    sizes = {} if definition.index is None else {p.number: p.row_pages * 8192 for p in definition.index.partitions}
    return tuple(
        Range(
            id=0, schema=name.schema, name="", key=replace(name, partition=number).key,
            low=instant_of(low) if low else None, high=instant_of(high),
            space=definition.spaces[scheme.destinations[number]].name, size_bytes=sizes.get(number, 0),
        )
        for number, (low, high) in enumerate(pairwise(("", *boundaries)), start=1)
    )  # fmt: skip


def _with_last(table: PartitionedTable) -> PartitionedTable:
    """With the last partition as long as those before it; unchanged where these have no common length."""
    high = table.next_high
    if high is None:
        return table
    last = replace(table.ranges[-1], key=table.partition_key(table.scheme.fanout), low=table.ranges[-1].high, high=high)
    return replace(table, ranges=(*table.ranges, last))


def _why_no_more(definition: Definition, scheme: DataSpace, key: str, to_space: str) -> str:
    target, known, owner = definition.space_named(to_space), definition.partitioning, definition.owner
    aligned = [index for index in definition.indexes if index.space_id == scheme.number]
    rows = sum(p.rows for index in aligned for p in index.partitions if p.number == scheme.fanout)
    return first_reason(
        key,
        (owner.updateability != "READ_WRITE", f"the database is {owner.updateability} here"),
        (target is None, f"there is no filegroup {to_space}"),
        (target is not None and bool(target.read_only or not target.files), f"{to_space} is read-only or has no file"),
        (
            known is not None and known.shared,
            f"another table or scheme uses {scheme.function}, and would get a partition, too",
        ),
        (
            bool(owner.is_published or owner.is_merge_published),
            "it is published, and its subscribers' functions would stay as they are",
        ),
        (
            rows > 0,
            f"its last partition, {scheme.fanout}, has rows: SPLIT would write them, the table shut. {_BY_A_PERSON}",
        ),
    )


MOST_PARTITIONS = 15000
LAST = "last"  # parameter: the number of the partition that is seen to be empty
_LAST = TemplateParameter(name=LAST, kind=ValueKind.NUMBER, least=1, most=MOST_PARTITIONS)


def next_template(
    table: PartitionedTable, to_space: str, ahead_seconds: int, settings: SqlserverSettings
) -> StatementTemplate | NoRoute:
    """The template that makes partitions which begin within the time ahead, or why there is none."""
    refusal = table.refusal or _refusal_of_time(table, ahead_seconds)
    if refusal is not None:
        return refusal
    return rolling.next_template(table, to_space, ahead_seconds, partial(_split, table, settings), (_LAST,))


def _refusal_of_time(table: PartitionedTable, ahead_seconds: int) -> NoRoute | None:
    """With RANGE RIGHT the last partition must be split before its own rows come, a whole range earlier."""
    last = table.ranges[-1]
    if not table.scheme.on_right or last.low is None or ahead_seconds > (last.high - last.low).total_seconds():
        return None
    long = format_seconds((last.high - last.low).total_seconds())
    sentence = f"{table.key}: its last partition must be split while it is empty: give --ahead more than {long}"
    return NoRoute(code="too_late", sentence=sentence)


def next_routes(
    table: PartitionedTable, template: StatementTemplate, now: datetime, settings: SqlserverSettings
) -> Iterator[Route]:
    """Partitions whose time has come by the template, in order, whether or not their statements still are its own."""
    fanout = table.scheme.fanout
    for last, (made, values) in enumerate(rolling.next_ranges(table, template, now), start=fanout):
        key = table.partition_key(last + 1 if table.scheme.on_right else last)
        yield _split(table, settings, replace(made, key=key), {**values, LAST: str(last)})


def _split(table: PartitionedTable, settings: SqlserverSettings, made: Range, values: Mapping[str, str]) -> Route:
    """The route that makes a range."""
    boundary = values[LOW if table.scheme.on_right else HIGH]
    scheme = table.scheme.name
    # SPLIT uses NEXT USED up: what the site has set is put back, else its own next SPLIT would fail (7707).
    kept = (switch_ddl.next_used(scheme, table.next_used),) if table.next_used else ()
    split = (switch_ddl.next_used(scheme, made.space), switch_ddl.split(table.function, f"N'{boundary}'"), *kept)
    last = values[LAST]
    sent = MethodStatement(
        switch_ddl.empty(Name(table.schema, table.name), last, rows_of(table, last), "; ".join(split)),
        f"make {made.key} in {made.space}",
        splitting_range(table.function, scheme, boundary),
    )
    return rolling.making_route(
        made,
        values,
        name="NEXT USED and SPLIT of the empty last partition",
        prologue=(lock_timeout_statement(settings.lock_timeout),),
        steps=tag_steps(values[TAG_NAME], "step", (sent,), settings.move_timeout),
        locks=f"Sch-M on {table.key} for a moment, behind which others queue; no row is written",
        lock_seconds=settings.lock_timeout,
        notes=("indexes on the same partition scheme get their partition in the same filegroup",),
    )


def rows_of(table: PartitionedTable, number: str) -> str:
    """What is true of the rows of a partition alone."""
    return f"$PARTITION.{quote(table.function)}({quote(table.column)}) = {number}"


NUMBER = "number"  # parameter: that of the partition that is exchanged


def aged_template(table: PartitionedTable, number: int, route: Route, seconds: int) -> StatementTemplate:
    """The template of exchanges like the route of one partition, for those whose last row came so long ago.

    Args:
        table: whose partitions.
        number: of the partition that the route is of.
        route: the example.
        seconds: the least age.
    """
    low, high = _boundaries(table, number)
    tag = rolling.tag_of(route, TAG)
    rows, quoted = rows_of(table, ""), quoted_table(Name(table.schema, table.name))
    names = {
        f"N'{low}'": f"N'{{{LOW}}}'",
        f"N'{high}'": f"N'{{{LAST_ROW}}}'",
        f"{rows}{number}": f"{rows}{{{NUMBER}}}",
        f"{quoted} SWITCH PARTITION {number} TO": f"{quoted} SWITCH PARTITION {{{NUMBER}}} TO",
        f"SWITCH TO {quoted} PARTITION {number};": f"SWITCH TO {quoted} PARTITION {{{NUMBER}}};",
        f"{PREFIX}{rolling.digits_of(tag)}": f"{PREFIX}{{{TAG_NAME}}}",
    }
    own = (
        TemplateParameter(name=NUMBER, kind=ValueKind.NUMBER, least=2, most=MOST_PARTITIONS),
        rolling.aged_time(LOW, seconds),
    )
    return rolling.aged_template(route, table.key, seconds, names, tag, own)


def aged_route(table: PartitionedTable, number: int, route: Route) -> Route:
    """The route of an aged partition, with the arguments of its template."""
    low, high = _boundaries(table, number)
    return rolling.aged_route(route, rolling.tag_of(route, TAG), {NUMBER: str(number), LOW: low, LAST_ROW: high})


def bundle_of(table: PartitionedTable, number: int) -> Bundle:
    """One partition with those of all indexes on the same scheme, as ``partitions: switched`` has them."""
    own = [index for index in table.definition.indexes if index.space_id == table.scheme.number]
    keys = tuple(Name(table.schema, table.name, unit_name(index), number).key for index in own)
    owner, indexes = table.definition.owner.object_id, [index.index_id for index in own]
    ids = unit_ids(np.array([owner]), np.array(indexes), np.array([number]), np.array([0]))
    pages = sum(part.row_pages for index in own for part in index.partitions if part.number == number)
    return Bundle(
        key=table.partition_key(number),
        physical_ids=tuple(ids.tolist()),
        unit_keys=keys,
        kind=UnitKind.TABLE_PARTITION,
        size_bytes=pages * PAGE,
        space=table.ranges[number - 1].space,
    )


def _boundaries(table: PartitionedTable, number: int) -> tuple[str, str]:
    """Those of a closed partition, as the catalog spells them."""
    known = table.definition.partitioning
    assert known is not None, "read with the ranges"
    return known.boundaries[number - 2], known.boundaries[number - 1]


Exchange = Callable[[Definition, Bundle, str], Route | NoRoute]  # of a partition of a table as it was read
_BY_FILES = NoRoute(
    code="by_filegroup", setting="move_by",
    sentence="move_by: filegroup moves files, and no partition is made or moved by that",
)  # fmt: skip
# Otherwise a filled partition moves by a rebuild of its whole index on a second scheme, and nothing of that stays the
# same from one time to the next.
_ONE_BY_ONE = NoRoute(
    code="not_switched", setting="partitions",
    sentence="aged partitions are exchanged one by one, with their indexes: set partitions: switched",
)  # fmt: skip
_IN_PLACE = NoRoute(
    code="not_offline", setting="offline_moves",
    sentence="writes wait while an aged partition is copied, which offline_moves: false excludes",
)  # fmt: skip


class PartitionCalendar:
    """Answers for one connector."""

    def __init__(self, session: ReadSession, settings: SqlserverSettings, exchange: Exchange) -> None:
        self._session = session
        self._settings = settings
        self._exchange = exchange

    def template(self, kind: TemplateKind, table: str, to_space: str, seconds: int) -> StatementTemplate | NoRoute:
        """See ``FillsTemplates.template``.

        Raises:
            ConnectorError: a subclass that says what may be done.
        """
        against = self._against(kind)
        if against is not None:
            return against
        found = self._read(table, to_space)
        if isinstance(found, str):
            return NoRoute(code="not_by_time", sentence=found)
        if kind is TemplateKind.NEXT_PARTITION:
            return next_template(found, to_space, seconds, self._settings)
        return self._aged_template(found, to_space, seconds)

    def routes_due(self, template: StatementTemplate, now: datetime) -> tuple[Route, ...]:
        """See ``FillsTemplates.routes_due``.

        Raises:
            ConnectorError: a subclass that says what may be done.
        """
        found = self._read(template.table, template.space)
        if isinstance(found, str) or self._against(template.kind) is not None:
            return ()
        if template.kind is TemplateKind.NEXT_PARTITION:
            return tuple(next_routes(found, template, now, self._settings))
        return tuple(islice(self._aged_routes(found, template, now), MOST_AT_ONCE))

    def _against(self, kind: TemplateKind) -> NoRoute | None:
        """What the settings exclude."""
        if self._settings.move_by == "filegroup":
            return _BY_FILES
        if kind is TemplateKind.NEXT_PARTITION:
            return None
        if self._settings.partitions != "switched":
            return _ONE_BY_ONE
        return None if self._settings.offline_moves else _IN_PLACE

    def _aged_template(self, found: PartitionedTable, to_space: str, seconds: int) -> StatementTemplate | NoRoute:
        """By the youngest partition with rows elsewhere: those that follow it will age where it is."""
        if not found.filled:
            sentence = f"no partition of {found.key} between two boundaries has rows"
            return NoRoute(code="no_aged_partition", sentence=sentence)
        example = next((number for number, each in reversed(found.filled) if each.space != to_space), None)
        if example is None:
            return NoRoute(code="already_there", sentence=f"all partitions of {found.key} with rows are in {to_space}")
        route = self._way(found, example, to_space)
        return route if isinstance(route, NoRoute) else aged_template(found, example, route, seconds)

    def _aged_routes(self, found: PartitionedTable, template: StatementTemplate, now: datetime) -> Iterator[Route]:
        """The oldest first, whether or not their statements still are those of the template."""
        for number, partition in found.filled:
            if is_aged(partition, template, now):
                route = self._way(found, number, template.space)
                if isinstance(route, Route):
                    yield aged_route(found, number, route)

    def _way(self, found: PartitionedTable, number: int, to_space: str) -> Route | NoRoute:
        """The exchange of one partition."""
        bundle = bundle_of(found, number)
        return self._exchange(replace(found.definition, name=name_of(bundle.key)), bundle, to_space)

    def _read(self, table: str, to_space: str) -> PartitionedTable | str:
        name = table_named(table)
        if name is None:
            return f"there is no partitioned table {table}"
        return read_time_ranges(self._session, name, to_space)
