"""Statements that are signed once and sent again and again, as those which make the next partition of a table.

A template holds every text that a route made from it may send, letter by letter but for named parameters, and the
bounds of each parameter. The connector fills it (``contract.FillsTemplates``); a person signs it in a standing rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from connectors.model.formatting import format_seconds
from connectors.model.moves import Route, Step

# Only what cannot end a quoted name or a text literal on any engine, whatever stands around it in the template.
_WORD = re.compile(r"[A-Za-z0-9_]+")
_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,18}")
_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,7})?)?([+-][0-9]{2}(:[0-9]{2})?)?)?"
)
_NAME = re.compile(r"[a-z][a-z_]*")


class TemplateKind(StrEnum):
    """What the statements of a template do to one partition of its table."""

    NEXT_PARTITION = "next partition"  # make it, empty, in the template's space
    AGED_PARTITION = "aged partition"  # bring it to the template's space
    CLOSED_PART = "closed part"  # give the part without an end one, and make the next in the template's space


class ValueKind(StrEnum):
    """What a parameter's value is, and what its bounds count."""

    WORD = "word"  # letters, digits and underscores; bounds: how many
    NUMBER = "number"  # an integer; bounds: its value
    TIME = "time"  # a date, or date and time, UTC without a zone; bounds: seconds from the approval, before it negative


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateParameter:
    """One named place in the texts, or a fact that the connector reads and no text shows, as the age of a partition.

    Raises:
        ValueError: of the constructor, where no value could keep the bounds or the name is none.
    """

    name: str  # stands as {name} in the texts
    kind: ValueKind
    least: int
    most: int

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name) or self.least > self.most:
            raise ValueError(f"a parameter {self.name!r} from {self.least} to {self.most} has no value")

    @property
    def words(self) -> str:
        """The bounds, for the document that is signed."""
        match self.kind:
            case ValueKind.WORD:
                return f"a word of {self.least} to {self.most} letters, digits and underscores"
            case ValueKind.NUMBER:
                return f"a number from {self.least} to {self.most}"
            case ValueKind.TIME:
                return f"a time from {_when(self.least)} to {_when(self.most)}"

    def find_refusal(self, value: str, at: datetime) -> str:
        """Why a value is none of this parameter's at an instant; "" where it is."""
        measured = self._measure(value, at)
        if measured is not None and self.least <= measured <= self.most:
            return ""
        return f"{self.name} is {value!r}, it allows {self.words}"

    def _measure(self, value: str, at: datetime) -> float | None:
        """What the bounds are compared with; None: it is no value of that kind."""
        match self.kind:
            case ValueKind.WORD:
                return len(value) if _WORD.fullmatch(value) else None
            case ValueKind.NUMBER:
                return int(value) if _NUMBER.fullmatch(value) else None
            case ValueKind.TIME:
                return _seconds_from(at, value) if _TIME.fullmatch(value) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementText:
    """One text that a route may send, and as what."""

    role: str  # "step 1", "undo 1 pause"; the same for the variants of one statement
    sql: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementTemplate:
    """The statements of one kind of change to the partitions of one table.

    Raises:
        ValueError: of the constructor, where it has no step or two parameters of one name.
    """

    kind: TemplateKind
    table: str  # key of the partitioned table
    space: str  # where the partition is afterwards
    from_space: str = ""  # where it is before; "": nowhere, it is made
    texts: tuple[StatementText, ...]  # of ``texts_of`` a route that is made of it, with {name} for each parameter
    parameters: tuple[TemplateParameter, ...]

    def __post_init__(self) -> None:
        names = [parameter.name for parameter in self.parameters]
        if len(set(names)) < len(names):
            raise ValueError(f"two parameters have one name: {', '.join(names)}")
        if not any(text.role == "step 1" for text in self.texts):
            raise ValueError(f"a template for the {self.kind} of {self.table} has no statement")

    @property
    def name(self) -> str:
        """What it is for, in a few words; no two templates that are open at a time have the same."""
        return f"{self.kind} of {self.table}{self.from_space and f' from {self.from_space}'} to {self.space}"

    def bounds(self, name: str) -> TemplateParameter:
        """The parameter of that name.

        Raises:
            KeyError: there is none.
        """
        return {parameter.name: parameter for parameter in self.parameters}[name]

    def filled(self, values: Mapping[str, str]) -> tuple[StatementText, ...]:
        """The texts with those values in the places of the parameters. Braces of other names stay as they are."""
        known = {parameter.name for parameter in self.parameters} & values.keys()
        # All places in one pass: a value that looks like a place is not filled in its turn.
        places = re.compile("|".join(rf"\{{{name}\}}" for name in sorted(known)) or r"(?!)")
        return tuple(
            StatementText(role=text.role, sql=places.sub(lambda found: values[found[0][1:-1]], text.sql))
            for text in self.texts
        )

    def find_refusal(self, route: Route, at: datetime) -> str:
        """Why a route is not made of this template within its bounds, judged at an instant; "" where it is."""
        values = {argument.name: argument.value for argument in route.arguments}
        if len(values) < len(route.arguments) or values.keys() != {each.name for each in self.parameters}:
            return f"it has values for {', '.join(values) or 'nothing'}, which are not the parameters of the template"
        refused = (each.find_refusal(values[each.name], at) for each in self.parameters)
        if why := next(filter(None, refused), ""):
            return why
        if route.to_space != self.space:
            return f"it goes to {route.to_space}, the template is for {self.space}"
        return "" if self.filled(values) == texts_of(route) else "its statements are not those of the template"


def texts_of(route: Route) -> tuple[StatementText, ...]:
    """Every text that a route may send, in a fixed order, each with its role."""
    return tuple(StatementText(role=role, sql=sql) for role, sql in _texts(route))


def _texts(route: Route) -> Iterator[tuple[str, str]]:
    yield from (("before", sql) for sql in route.prologue)
    yield from (("before, patient", sql) for sql in route.patient_prologue)
    for part, steps in (("step", route.steps), ("undo", route.undo_steps), ("tidy", route.tidy_steps)):
        for ordinal, step in enumerate(steps, start=1):
            yield from _texts_of_step(f"{part} {ordinal}", step)


def _texts_of_step(role: str, step: Step) -> Iterator[tuple[str, str]]:
    yield from ((role, sql) for sql in step.statements)
    others = (("back", step.undo_sql), ("pause", step.pause_sql), ("resume", step.resume_sql))
    yield from ((f"{role} {what}", sql) for what, sql in others if sql)


def _seconds_from(at: datetime, value: str) -> float | None:
    """Seconds from an instant to the one in a text; None where the calendar has no such day or hour."""
    try:
        named = datetime.fromisoformat(value)
    except ValueError:
        return None
    return ((named if named.tzinfo else named.replace(tzinfo=UTC)) - at).total_seconds()


def _when(seconds: int) -> str:
    if not seconds:
        return "the approval"
    return f"{format_seconds(abs(seconds))} ({abs(seconds)} s) {'after' if seconds > 0 else 'before'} the approval"
