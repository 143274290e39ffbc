"""Tables partitioned by time: their ranges, templates, and what is due under them.

A table that is partitioned by ranges of times: its ranges, in order, and where each partition is. Pure.

Templates of next and aged partitions, and what is due under them; each engine adds its statements. Pure.

The calendar of parts that are closed: when one gets its end, where that lies, and the template of it. Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from itertools import pairwise
from math import ceil
from typing import TypeVar

from connectors.kit.templates import (
    StatementTemplate,
    StatementText,
    TemplateKind,
    TemplateParameter,
    ValueKind,
    texts_of,
)
from connectors.model.moves import Argument, Bundle, Locked, NoRoute, Route, Step, UnitKind

# How names say when a range begins: as pg_partman writes them, versions 4 and 5, and as people do, those of the manuals
# among them (measurement_y2006m02). Longer ones first: a year and month are the beginning of a day, too.
_NAMES = (
    "%Y_%m_%d_%H_%M_%S", "%Y_%m_%d_%H%M%S", "%Y%m%d_%H%M%S", "%Y%m%d%H%M%S", "%Y_%m_%d_%H_%M", "%Y_%m_%d_%H%M",
    "%Y%m%d_%H%M", "%Y%m%d%H%M", "%Y_%m_%d_%H", "%Y%m%d_%H", "%Y%m%d%H", "%Y_%m_%d", "%Y-%m-%d", "%Y%m%d", "%Gw%V",
    "%G_w%V", "%Y_%m", "%Y-%m", "%Y%m", "%Ym%m", "%Yq%q", "%Y_q%q", "%Y-q%q", "%YQ%q", "%Y_Q%q", "%Y-Q%q", "%Y",
)  # fmt: skip


def text_at(at: datetime, form: str) -> str:
    """An instant in a form of ``strftime``, which has no quarters: here ``%q`` is that of the year.

    >>> text_at(datetime(2026, 11, 29), "%Yq%q")
    '2026q4'
    """
    return at.strftime(form.replace("%q", str((at.month + 2) // 3)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """One partition and the times of its rows."""

    id: int  # the engine's, that units have; 0 of one that is to be made
    schema: str
    name: str  # "" where partitions have none
    key: str
    low: datetime | None  # None: it has no beginning
    high: datetime  # the first instant that is not in it
    space: str
    size_bytes: int

    def says(self, form: str) -> str:
        """The text by which its name says when it begins in a form of ``text_at``; "" if it does not, or twice."""
        text = "" if self.low is None else text_at(self.low, form)
        return text if text and self.name.count(text) == self.key.count(text) == 1 else ""

    def named_for(self, low: datetime, form: str) -> str:
        """Its name with another beginning in place of its own."""
        said = self.says(form)
        return self.name.replace(said, text_at(low, form)) if said else ""


@dataclass(frozen=True, kw_only=True)
class RangeTable:
    """A partitioned table and as many of its partitions as are ranges of one column of times."""

    key: str
    schema: str
    name: str
    time_format: str  # of ``strftime``: a time as a text of the column's type
    ranges: tuple[Range, ...]  # by their times
    why_not: str  # why it cannot be served by the calendar, one sentence without a full stop; "": it can
    why_no_more: str  # why it gets no further partition; "": it does

    def literal(self, at: datetime) -> str:
        """An instant as a text of the column's type."""
        return at.astimezone(UTC).strftime(self.time_format)

    @cached_property
    def name_form(self) -> str:
        """How names of partitions say when they begin, for ``text_at``; "" where they do not.

        The form that makes the last name of the one before it, and another name for the next: of
        ``p20300101_150000`` the day alone would give each hour of it one name.
        """
        *others, last = self.ranges
        before = others[-1] if others and others[-1].low is not None else None

        def fits(form: str) -> bool:
            if not last.says(form) or last.named_for(last.high, form) == last.name:
                return False
            return before is None or before.low is None or last.named_for(before.low, form) == before.name

        return next(filter(fits, _NAMES), "")

    @cached_property
    def next_high(self) -> datetime | None:
        """Where the range behind the last one ends, as long as those before it are; None: they have no common length.

        So many calendar months count as of one length: a quarter has 90 to 92 days, a year 365 or 366.
        """
        bounds = [(each.low, each.high) for each in self.ranges[-2:] if each.low is not None]
        if not bounds:
            return None
        months = {_months_between(*each) for each in bounds}
        if len(months) == 1 and (count := months.pop()):
            return _months_after(bounds[-1][1], count)
        widths = {high - low for low, high in bounds}
        return bounds[-1][1] + widths.pop() if len(widths) == 1 else None

    @property
    def refusal(self) -> NoRoute | None:
        """Why no template can be made that adds partitions; None where one can."""
        if self.why_no_more:
            return NoRoute(code="no_next_partition", sentence=self.why_no_more)
        if self.next_high is not None:
            return None
        if not self.ranges or self.ranges[-1].low is None:
            sentence = f"{self.key} has no partition with a beginning and an end, after which the next one is made"
        else:
            sentence = f"the last two ranges of {self.key} are of different lengths{self._elsewhere}"
        return NoRoute(code="no_common_length", sentence=sentence)

    @property
    def _elsewhere(self) -> str:
        """What to know of ranges that begin at no midnight of the zone in which months are counted."""
        low = self.ranges[-1].low
        if low is None or (low.hour, low.minute) == (0, 0):
            return ""
        return f": months and days are counted in UTC, where the last one begins at {low:%F %T}"


def refusal_of_name(table: RangeTable) -> NoRoute | None:
    """Why the next partition cannot be named after the last one; None where it can, or needs none."""
    last = table.ranges[-1]
    if not last.name or table.name_form:
        return None
    why = f"the name {last.name} does not say that its rows begin at {last.low:%F %T} UTC"
    if any(map(last.says, _NAMES)):
        before = "" if len(table.ranges) == 1 else f", as {table.ranges[-2].name} says when its own begin"
        why += f" in a form that gives the next partition a name of its own{before}"
    return NoRoute(code="no_name", sentence=f"{table.key}: {why}")


def first_reason(key: str, *reasons: tuple[bool, str]) -> str:
    """The first sentence that applies, about that key; "" where none does."""
    return next((f"{key}: {why}" for applies, why in reasons if applies), "")


def instant_of(text: str) -> datetime:
    """A literal as an instant; those without a zone count as UTC.

    Raises:
        ValueError: it is none.
    """
    at = datetime.fromisoformat(text)
    return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)


def _months_between(low: datetime, high: datetime) -> int:
    """How many whole calendar months; 0 where it is no whole number of them."""
    begins = (at.replace(day=1, hour=0, minute=0, second=0, microsecond=0) == at for at in (low, high))
    return 12 * (high.year - low.year) + high.month - low.month if all(begins) else 0


def _months_after(at: datetime, months: int) -> datetime:
    """An instant at which a month begins, so many months later."""
    years, month = divmod(at.month - 1 + months, 12)
    return at.replace(year=at.year + years, month=month + 1)


DAY = 86400
LENGTHS_AHEAD = 2  # that the end of a part may lie ahead: the next end is too near where the part has yet to be read
MOST_AT_ONCE = 100  # partitions: a mistake in a range must not make thousands
LONGEST_AGE = 100 * 366 * DAY
PARTITION, LOW, HIGH, LAST_ROW, TAG_NAME = "partition", "low", "high", "last_row", "tag"  # parameters
OPENED = "opened"  # another: the part behind one that is closed
TAG_PARAMETER = TemplateParameter(name=TAG_NAME, kind=ValueKind.WORD, least=8, most=8)
Making = Callable[[Range, Mapping[str, str]], Route]  # the route that makes a range, filled with those values
_AGE_FORMAT = "%Y-%m-%d %H:%M:%S"


def next_template(
    table: RangeTable, to_space: str, ahead_seconds: int, making: Making, more: tuple[TemplateParameter, ...] = ()
) -> StatementTemplate | NoRoute:
    """The template that makes partitions which begin within the time ahead, or why there is none.

    Args:
        table: whose partitions.
        to_space: where they are made.
        ahead_seconds: from now.
        making: the engine's route that makes a range, here with the places of parameters for values.
        more: parameters that only this engine has.
    """
    refusal = table.refusal or refusal_of_name(table)
    if refusal is not None:
        return refusal
    parameters = (*_next_parameters(table, ahead_seconds), *more)
    places = {each.name: f"{{{each.name}}}" for each in parameters}
    last = table.ranges[-1]
    named = _name_with(table, places.get(PARTITION, ""))
    example = making(replace(last, name=named, space=to_space), places)
    return StatementTemplate(
        kind=TemplateKind.NEXT_PARTITION, table=table.key, space=to_space, texts=texts_of(example),
        parameters=parameters,
    )  # fmt: skip


def next_routes(table: RangeTable, template: StatementTemplate, now: datetime, making: Making) -> Iterator[Route]:
    """Partitions whose time has come by the template, in order, whether or not their statements still are its own."""
    for made, values in next_ranges(table, template, now):
        yield making(made, values)


_Table = TypeVar("_Table", bound=RangeTable)
_Settings = TypeVar("_Settings")


def made_by(
    creation: Callable[[_Table, _Settings, Range, Mapping[str, str]], Route],
) -> tuple[
    Callable[[_Table, str, int, _Settings], StatementTemplate | NoRoute],
    Callable[[_Table, StatementTemplate, datetime, _Settings], Iterator[Route]],
]:
    """``next_template`` and ``next_routes`` of an engine, by its route that makes a range of a table."""

    def template(table: _Table, to_space: str, ahead_seconds: int, settings: _Settings) -> StatementTemplate | NoRoute:
        return next_template(table, to_space, ahead_seconds, partial(creation, table, settings))

    def routes(table: _Table, template: StatementTemplate, now: datetime, settings: _Settings) -> Iterator[Route]:
        return next_routes(table, template, now, partial(creation, table, settings))

    return template, routes


def _next_parameters(table: RangeTable, ahead_seconds: int) -> tuple[TemplateParameter, ...]:
    """Those of every engine; none for the name where partitions have no names."""
    last, high = table.ranges[-1], table.next_high
    assert high is not None, "refused before"
    longest = int((high - last.high).total_seconds()) + 31 * DAY  # months differ
    said = len(text_at(last.high, table.name_form)) if last.name else 0
    named = (TemplateParameter(name=PARTITION, kind=ValueKind.WORD, least=said, most=said),) if said else ()
    return (
        *named,
        TemplateParameter(name=LOW, kind=ValueKind.TIME, least=-366 * DAY, most=ahead_seconds),
        TemplateParameter(name=HIGH, kind=ValueKind.TIME, least=-366 * DAY, most=ahead_seconds + longest),
        TAG_PARAMETER,
    )


def _name_with(table: RangeTable, said: str) -> str:
    """The name of the last partition with that text where it says when its range begins."""
    last = table.ranges[-1]
    return last.name.replace(last.says(table.name_form), said) if said and table.name_form else ""


def seconds_of(template: StatementTemplate) -> int:
    """What it was asked for with: how far ahead partitions are made, how old they are, how long a closed part is."""
    match template.kind:
        case TemplateKind.NEXT_PARTITION:
            return template.bounds(LOW).most
        case TemplateKind.AGED_PARTITION:
            return -template.bounds(LAST_ROW).most
        case TemplateKind.CLOSED_PART:
            return template.bounds(HIGH).most // LENGTHS_AHEAD


def next_ranges(
    table: RangeTable, template: StatementTemplate, now: datetime
) -> Iterator[tuple[Range, dict[str, str]]]:
    """Partitions whose time has come by the template, in order, each with the values of its parameters.

    One that is missing before a later one comes first, while its rows may still come: its creation has failed once.
    Whether or not the statements made of them still are the template's own.
    """
    until = now + timedelta(seconds=template.bounds(LOW).most)
    for _ in range(MOST_AT_ONCE):
        before = _before_next(table, template, now)
        if before.refusal is not None or before.ranges[-1].high > until or not _can_be_named(before, template):
            return
        made, values = _next(before, template.space)
        yield made, values
        table = replace(table, ranges=(*before.ranges, made, *table.ranges[len(before.ranges) :]))


def _before_next(table: _Table, template: StatementTemplate, now: datetime) -> _Table:
    """The table up to the first gap that rows may still come to and that a range fits into; all of it without one."""
    for at, (each, after) in enumerate(pairwise(table.ranges), start=1):
        if after.low is None or each.high == after.low or after.low <= now:
            continue
        before = replace(table, ranges=table.ranges[:at])
        high = before.next_high if before.refusal is None and _can_be_named(before, template) else None
        if high is not None and high <= after.low:
            return before
    return table


def _can_be_named(table: RangeTable, template: StatementTemplate) -> bool:
    named = any(each.name == PARTITION for each in template.parameters)
    return not named or bool(table.name_form)


def _next(table: RangeTable, space: str) -> tuple[Range, dict[str, str]]:
    """The range behind the last one, and what a template is filled with."""
    last, high = table.ranges[-1], table.next_high
    assert high is not None, "refused before"
    values = {LOW: table.literal(last.high), HIGH: table.literal(high)}
    name, key = last.name, last.key
    if last.name and table.name_form:
        before, values[PARTITION] = last.says(table.name_form), text_at(last.high, table.name_form)
        name, key = (text.replace(before, values[PARTITION]) for text in (name, key))
    said = sorted(values.items())
    values[TAG_NAME] = hashlib.sha256(f"{table.key};{said};{space}".encode()).hexdigest()[:8]
    return replace(last, id=0, name=name, key=key, low=last.high, high=high, space=space, size_bytes=0), values


def making_route(
    made: Range, values: Mapping[str, str], *, name: str, prologue: tuple[str, ...], steps: tuple[Step, ...],
    locks: str, lock_seconds: float, notes: tuple[str, ...],
) -> Route:  # fmt: skip
    """The route that makes a range: nothing is copied, it has no units yet, and no undo, since it may hold rows.

    Args:
        made: the range, with its space.
        values: of the parameters of its template.
        name: the engine's word for it.
        prologue: what comes before.
        steps: the statements.
        locks: in the engine's words.
        lock_seconds: how long others queue at most while it waits for its lock.
        notes: what else a person should know.
    """
    return Route(
        name=name,
        bundle=Bundle(
            key=made.key, physical_ids=(), unit_keys=(), kind=UnitKind.TABLE_PARTITION, size_bytes=0, space=made.space
        ),
        to_space=made.space,
        prologue=prologue,
        steps=steps,
        undo_steps=(),
        online=False,
        locks=locks,
        locked=Locked.BRIEFLY,
        lock_seconds=lock_seconds,
        log_bytes=0,
        transient_bytes=0,
        notes=notes,
        arguments=arguments_of(values),
    )  # fmt: skip


def aged_template(
    route: Route, table: str, seconds: int, names: Mapping[str, str], tag: str, own: tuple[TemplateParameter, ...]
) -> StatementTemplate:
    """The template of moves like one route of one partition, for those whose last row came so long ago.

    Args:
        route: that brings it to the space.
        table: key of the partitioned table.
        seconds: the least age.
        names: texts in the statements that name the partition, each with what stands in its place.
        tag: that begins the statements of the route, with the digits.
        own: parameters that say which partition it is.
    """
    parameters = (*own, aged_time(LAST_ROW, seconds), TAG_PARAMETER)
    digits = digits_of(tag)
    places = {**names, tag: tag.replace(digits, f"{{{TAG_NAME}}}")}
    texts = tuple(StatementText(role=each.role, sql=_with_places(each.sql, places)) for each in texts_of(route))
    return StatementTemplate(
        kind=TemplateKind.AGED_PARTITION, table=table, space=route.to_space, from_space=route.bundle.space,
        texts=texts, parameters=parameters,
    )  # fmt: skip


def partition_word(longest: int) -> TemplateParameter:
    """The name of a partition of so many letters at most."""
    return TemplateParameter(name=PARTITION, kind=ValueKind.WORD, least=1, most=longest)


def aged_time(name: str, seconds: int) -> TemplateParameter:
    """A time at least so many seconds ago."""
    return TemplateParameter(name=name, kind=ValueKind.TIME, least=-LONGEST_AGE, most=-seconds)


def _with_places(sql: str, places: Mapping[str, str]) -> str:
    for text, place in places.items():
        sql = sql.replace(text, place)
    return sql


def is_aged(partition: Range, template: StatementTemplate, now: datetime) -> bool:
    """Whether its last row came so long ago as the template says, and it is where the template takes it from."""
    until = now + timedelta(seconds=template.bounds(LAST_ROW).most)
    return partition.space == template.from_space and partition.high <= until


def aged_route(route: Route, tag: str, values: Mapping[str, str]) -> Route:
    """The route of an aged partition, with those values of its template and its tag."""
    return replace(route, arguments=arguments_of({**values, TAG_NAME: digits_of(tag)}))


def name_and_age(partition: Range) -> dict[str, str]:
    """Which partition it is, where its name says that, and when its last row came."""
    return {PARTITION: partition.name, LAST_ROW: partition.high.strftime(_AGE_FORMAT)}


def aged_bundle(partition: Range) -> Bundle:
    """The bundle of one partition, whose indexes move on their own."""
    return Bundle(
        key=partition.key, physical_ids=(partition.id,), unit_keys=(partition.key,), kind=UnitKind.TABLE_PARTITION,
        size_bytes=partition.size_bytes, space=partition.space, table_ids=(partition.id,),
    )  # fmt: skip


def arguments_of(values: Mapping[str, str]) -> tuple[Argument, ...]:
    """The values of parameters, as a route has them."""
    return tuple(Argument(name=name, value=value) for name, value in values.items())


def value_of(route: Route, name: str) -> str:
    """The value of a parameter that a route was made with.

    Raises:
        KeyError: it has none of that name.
    """
    return {argument.name: argument.value for argument in route.arguments}[name]


def tag_of(route: Route, head: str) -> str:
    """The beginning of every statement of a route: the head, eight digits and a space."""
    return f"{head} {route.steps[0].sql.removeprefix(f'{head} ').partition(' ')[0]} "


def digits_of(tag: str) -> str:
    """The digits of a tag."""
    return tag.split()[-1]


_LONGEST_NAME = 63  # bytes; only PostgreSQL closes parts


def next_end(low: datetime, seconds: int, now: datetime, needed_seconds: float) -> datetime | None:
    """Where the part that begins at an instant is to end; None while its rows are still to come.

    Then it is closed as soon as its first rows may have come, while it is small and its end far. Ends are whole lengths
    behind the beginning; those that are too near, as after days without an agent, are passed over.

    >>> day = datetime(2030, 1, 1), 86400
    >>> next_end(*day, datetime(2030, 1, 1, 5), 60.0), next_end(*day, datetime(2030, 1, 9, 23, 59, 30), 60.0)
    (datetime.datetime(2030, 1, 2, 0, 0), datetime.datetime(2030, 1, 11, 0, 0))
    """
    if now < low:
        return None
    lengths = ceil(((now - low).total_seconds() + needed_seconds) / seconds)
    return low + timedelta(seconds=max(1, lengths) * seconds)


def closing_template(table: str, to_space: str, seconds: int, texts: Iterable[StatementText]) -> StatementTemplate:
    """The template of closings by the calendar.

    Args:
        table: its key.
        to_space: where next parts are made.
        seconds: how long a part is.
        texts: of a route that was made of places.
    """
    words = (
        TemplateParameter(name=name, kind=ValueKind.WORD, least=1, most=_LONGEST_NAME) for name in (PARTITION, OPENED)
    )
    return StatementTemplate(
        kind=TemplateKind.CLOSED_PART, table=table, space=to_space, texts=tuple(texts),
        parameters=(
            *words,
            TemplateParameter(name=LOW, kind=ValueKind.TIME, least=-LONGEST_AGE, most=0),
            TemplateParameter(name=HIGH, kind=ValueKind.TIME, least=0, most=LENGTHS_AHEAD * seconds),
            TAG_PARAMETER,
        ),
    )  # fmt: skip
