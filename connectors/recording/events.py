"""What a recording holds, one event after the other."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from connectors.recording.tap import Row, Values


class Work(StrEnum):
    """What the agent begins to do with the connector; everything up to the next mark belongs to it."""

    SAMPLE = "sample"
    PLAN = "plan"
    NONE = "none"  # the work before this mark was given up: what it has asked does not count


@dataclass(frozen=True, slots=True)
class Moment:
    """An instant by both clocks, in microseconds: since 1970 and since some fixed moment."""

    wall: int
    steady: int


@dataclass(frozen=True, slots=True)
class Mark:
    """Some work begins."""

    at: Moment
    work: Work


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A query and how it ended: with rows, or with an error of the connector's contract."""

    at: Moment
    until: Moment
    query: str
    values: Values
    rows: tuple[Row, ...] = ()
    error: str = ""  # the name of the error's class; "": it was answered
    native_code: str = ""


@dataclass(frozen=True, slots=True)
class End:
    """The recording is whole."""

    at: Moment
    why: str


Event: TypeAlias = Mark | Asked | End
