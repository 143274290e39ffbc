"""Templates of statements: what may be put into their places, and that nothing else may differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.kit.templates import (
    StatementTemplate,
    StatementText,
    TemplateKind,
    TemplateParameter,
    ValueKind,
    texts_of,
)
from connectors.model.moves import Argument, Route, Step
from tests.over import over
from tests.unit.samples import a_route

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = 86400
PARAMETERS = (
    TemplateParameter(name="partition", kind=ValueKind.WORD, least=1, most=20),
    TemplateParameter(name="border", kind=ValueKind.TIME, least=-3650 * DAY, most=-30 * DAY),
    TemplateParameter(name="number", kind=ValueKind.NUMBER, least=-5, most=10**18),
)
VALUES = {"partition": "p2026_01", "border": "2026-01-30", "number": "7"}
SQL = 'ALTER TABLE "public"."{partition}" SET TABLESPACE slow /* {number}, {other} */'
TEMPLATE = StatementTemplate(
    kind=TemplateKind.AGED_PARTITION, table="public.orders", space="slow", parameters=PARAMETERS,
    texts=(
        StatementText(role="before", sql="SET lock_timeout = '500ms'"), StatementText(role="step 1", sql=SQL),
        StatementText(role="step 1 back", sql='ALTER TABLE "public"."{partition}" SET TABLESPACE fast'),
    ),
)  # fmt: skip


def a_filling(**changes: str) -> Route:
    """A route made of the template, with other values where given."""
    values = {**VALUES, **changes}
    filled = TEMPLATE.filled(values)
    step = Step(sql=filled[1].sql, undo_sql=filled[2].sql, purpose="age")
    route = replace(a_route("public.p2026_01", to_space="slow"), steps=(step,), undo_steps=())
    return replace(route, arguments=tuple(Argument(name=name, value=value) for name, value in values.items()))


def test_what_is_made_of_it_fits() -> None:
    """Every text is the template's with the values in their places; what is no parameter stays."""
    route = a_filling()
    assert TEMPLATE.find_refusal(route, NOW) == ""
    assert route.steps[0].sql == 'ALTER TABLE "public"."p2026_01" SET TABLESPACE slow /* 7, {other} */'


OTHERS: list[tuple[Callable[[Route], Route], str]] = [
    (lambda route: replace(route, prologue=()), "not those of the template"),
    (lambda route: replace(route, prologue=(*route.prologue, "SET x = 1")), "not those"),
    (lambda route: replace(route, patient_prologue=("SET x = 1",)), "not those"),
    (lambda route: replace(route, steps=(*route.steps, Step(sql="DROP TABLE a", purpose="x"))), "not those"),
    (lambda route: replace(route, steps=(replace(route.steps[0], variants=("DROP TABLE a",)),)), "not those"),
    (lambda route: replace(route, steps=(replace(route.steps[0], pause_sql="a", resume_sql="b"),)), "not those"),
    (lambda route: replace(route, undo_steps=route.steps), "not those"),
    (lambda route: replace(route, tidy_steps=route.steps), "not those"),
    (lambda route: replace(route, to_space="fast"), "the template is for slow"),
    (lambda route: replace(route, arguments=route.arguments[1:]), "are not the parameters"),
    (lambda route: replace(route, arguments=(*route.arguments, route.arguments[0])), "are not the parameters"),
    (
        lambda route: replace(route, arguments=(Argument(name="partition", value="q"), *route.arguments[1:])),
        "not those",
    ),
]


@pytest.mark.parametrize("number", range(len(OTHERS)))
def test_whatever_else_differs_is_refused(number: int) -> None:
    """A statement more or less, in any role, another target, another value than the statements have."""
    change, why = OTHERS[number]
    assert why in TEMPLATE.find_refusal(change(a_filling()), NOW)


BOUNDS = [
    ("partition", "", False), ("partition", "a" * 20, True), ("partition", "a" * 21, False),
    ("partition", 'a"; DROP TABLE b; --', False), ("partition", "a\n", False), ("partition", "ä", False),
    ("partition", "a b", False),
    ("border", "2026-01-30 12:00", True), ("border", "2026-01-30 12:00:01", False), ("border", "2026-02-30", False),
    ("border", "2026-01-30 14:00+02", True), ("border", "2026-01-30 12:00-01:00", False), ("border", "today", False),
    ("border", "2026-01-30'", False), ("border", "1999-01-30", False), ("border", "2026-01-30\n", False),
    ("number", "-5", True), ("number", "-6", False), ("number", str(10**18), True), ("number", str(10**18 + 1), False),
    ("number", "007", False), ("number", "1e3", False), ("number", "\uff11", False), ("number", "-0", False),
]  # fmt: skip


@over(("name", "value", "fits"), BOUNDS)
def test_bounds_of_values(name: str, value: str, fits: bool) -> None:
    """Each bound may be reached and not passed; what could end a quoted text is no value of any kind."""
    why = TEMPLATE.find_refusal(a_filling(**{name: value}), NOW)
    assert (why == "") is fits
    assert fits or name in why


@given(st.sampled_from(sorted(VALUES)), st.text(max_size=12))
def test_no_value_brings_more_than_itself(name: str, value: str) -> None:
    """Whatever is taken has no quote, no space at its end, no bracket, comment or line feed in it."""
    if not TEMPLATE.find_refusal(a_filling(**{name: value}), NOW):
        assert value.isascii()
        assert not set(value) & set("\"'[]`;/*\\\n\r\t\0$")
        assert "--" not in value


def test_a_value_is_not_filled_in_its_turn() -> None:
    """One that looks like a place stays as it is, and is refused for what it is."""
    filled = TEMPLATE.filled({**VALUES, "partition": "{number}"})
    assert "{number}" in filled[1].sql
    assert "partition is '{number}'" in TEMPLATE.find_refusal(a_filling(partition="{number}"), NOW)


def test_texts_of_a_route_are_all_it_may_send() -> None:
    """In each role, the variants of a step with its own text."""
    step = Step(sql="a", purpose="x", undo_sql="b", pause_sql="c", resume_sql="d", variants=("e",))
    route = replace(a_route(), patient_prologue=("p",), steps=(step,), undo_steps=(step,), tidy_steps=(step,))
    texts = [(text.role, text.sql) for text in texts_of(route)]
    assert texts[:2] == [("before", "SET lock_timeout = '500ms'"), ("before, patient", "p")]
    assert texts[2:7] == [
        ("step 1", "a"), ("step 1", "e"), ("step 1 back", "b"), ("step 1 pause", "c"), ("step 1 resume", "d"),
    ]  # fmt: skip
    assert {role.split()[0] for role, _ in texts[2:]} == {"step", "undo", "tidy"}


def test_a_template_that_is_none_is_refused() -> None:
    """Without a statement, with one name twice, with bounds that no value keeps."""
    with pytest.raises(ValueError, match="has no statement"):
        replace(TEMPLATE, texts=TEMPLATE.texts[:1])
    with pytest.raises(ValueError, match="have one name"):
        replace(TEMPLATE, parameters=PARAMETERS + PARAMETERS[:1])
    with pytest.raises(ValueError, match="has no value"):
        replace(PARAMETERS[0], least=2, most=1)
    with pytest.raises(ValueError, match="has no value"):
        replace(PARAMETERS[0], name="a}b")
