"""Templates of next and aged partitions, and what is due under them; each engine adds its statements. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from connectors.model import Bundle, Route, UnitKind
from connectors.rolling.ranges import Range, RangeTable
from connectors.route import Argument
from connectors.templates import (
    StatementTemplate,
    StatementText,
    TemplateKind,
    TemplateParameter,
    ValueKind,
    texts_of,
)

DAY = 86400
MOST_AT_ONCE = 100  # partitions: a mistake in a range must not make thousands
LONGEST_AGE = 100 * 366 * DAY
PARTITION, LOW, HIGH, LAST_ROW, TAG_NAME = "partition", "low", "high", "last_row", "tag"  # parameters
_TAG_PARAMETER = TemplateParameter(name=TAG_NAME, kind=ValueKind.WORD, least=8, most=8)
_AGE_FORMAT = "%Y-%m-%d %H:%M:%S"


def next_parameters(table: RangeTable, ahead_seconds: int) -> tuple[TemplateParameter, ...]:
    """Those of a template for partitions that begin within the time ahead; none for the name where there are no names.

    The table is one without ``RangeTable.refusal``.
    """
    last, high = table.ranges[-1], table.next_high
    assert high is not None, "refused before"
    longest = int((high - last.high).total_seconds()) + 31 * DAY  # months differ
    said = len(last.high.strftime(last.name_form))
    named = (TemplateParameter(name=PARTITION, kind=ValueKind.WORD, least=said, most=said),) if said else ()
    return (
        *named,
        TemplateParameter(name=LOW, kind=ValueKind.TIME, least=-366 * DAY, most=ahead_seconds),
        TemplateParameter(name=HIGH, kind=ValueKind.TIME, least=-366 * DAY, most=ahead_seconds + longest),
        _TAG_PARAMETER,
    )


def places_of(parameters: tuple[TemplateParameter, ...]) -> dict[str, str]:
    """What stands in the texts of a template for each parameter."""
    return {each.name: f"{{{each.name}}}" for each in parameters}


def name_with(last: Range, said: str) -> str:
    """The name of the last partition with that text where it says when its range begins."""
    assert last.low is not None, "it has a form of names"
    return last.name.replace(last.low.strftime(last.name_form), said)


def next_ranges(
    table: RangeTable, template: StatementTemplate, now: datetime
) -> Iterator[tuple[Range, dict[str, str]]]:
    """Partitions whose time has come by the template, in order, each with the values of its parameters.

    Whether or not the statements made of them still are the template's own.
    """
    until = now + timedelta(seconds=template.bounds(LOW).most)
    for _ in range(MOST_AT_ONCE):
        if table.refusal is not None or table.ranges[-1].high > until or not _can_be_named(table, template):
            return
        made, values = _next(table, template.space)
        yield made, values
        table = replace(table, ranges=(*table.ranges, made))


def _can_be_named(table: RangeTable, template: StatementTemplate) -> bool:
    named = any(each.name == PARTITION for each in template.parameters)
    return not named or bool(table.ranges[-1].name_form)


def _next(table: RangeTable, space: str) -> tuple[Range, dict[str, str]]:
    """The range behind the last one, and what a template is filled with."""
    last, high = table.ranges[-1], table.next_high
    assert high is not None, "refused before"
    values = {LOW: table.literal(last.high), HIGH: table.literal(high)}
    name, key = last.name, last.key
    if last.name_form and last.low is not None:
        before, values[PARTITION] = (at.strftime(last.name_form) for at in (last.low, last.high))
        name, key = (text.replace(before, values[PARTITION]) for text in (name, key))
    said = sorted(values.items())
    values[TAG_NAME] = hashlib.sha256(f"{table.key};{said};{space}".encode()).hexdigest()[:8]
    return replace(last, id=0, name=name, key=key, low=last.high, high=high, space=space, size_bytes=0), values


def bundle_to_make(made: Range) -> Bundle:
    """The bundle of a partition that is to be made: it has no units yet."""
    return Bundle(
        key=made.key, physical_ids=(), unit_keys=(), kind=UnitKind.TABLE_PARTITION, size_bytes=0, space=made.space
    )  # fmt: skip


def aged_template(
    route: Route, table: str, seconds: int, names: Mapping[str, str], tag: str, longest_name: int
) -> StatementTemplate:
    """The template of moves like one route of one partition, for those whose last row came so long ago.

    Args:
        route: that brings it to the space.
        table: key of the partitioned table.
        seconds: the least age.
        names: texts in the statements that name the partition, each with what stands in its place.
        tag: that begins the statements of the route, with the digits.
        longest_name: letters of a partition's name at most.
    """
    parameters = (
        TemplateParameter(name=PARTITION, kind=ValueKind.WORD, least=1, most=longest_name),
        TemplateParameter(name=LAST_ROW, kind=ValueKind.TIME, least=-LONGEST_AGE, most=-seconds),
        _TAG_PARAMETER,
    )
    digits = digits_of(tag)
    places = {**names, tag: tag.replace(digits, f"{{{TAG_NAME}}}")}
    texts = tuple(StatementText(role=each.role, sql=_with_places(each.sql, places)) for each in texts_of(route))
    return StatementTemplate(
        kind=TemplateKind.AGED_PARTITION, table=table, space=route.to_space, from_space=route.bundle.space,
        texts=texts, parameters=parameters,
    )  # fmt: skip


def _with_places(sql: str, places: Mapping[str, str]) -> str:
    for text, place in places.items():
        sql = sql.replace(text, place)
    return sql


def is_aged(partition: Range, template: StatementTemplate, now: datetime) -> bool:
    """Whether its last row came so long ago as the template says, and it is where the template takes it from."""
    until = now + timedelta(seconds=template.bounds(LAST_ROW).most)
    return partition.space == template.from_space and partition.high <= until


def aged_route(partition: Range, route: Route, tag: str) -> Route:
    """The route of an aged partition, with the arguments of its template."""
    values = {PARTITION: partition.name, LAST_ROW: partition.high.strftime(_AGE_FORMAT), TAG_NAME: digits_of(tag)}
    return replace(route, arguments=arguments_of(values))


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
