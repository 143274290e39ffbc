"""What an assessment says, and what none may say.

``broken`` looks for figures that contradict each other, before any is printed: a wait that is more than sessions
waited, a bound on the wrong side of its figure, parts that do not add up to their whole, an object in two spaces. What
rests on such a figure is withheld, and the section of the file that it comes from is named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import isclose, isfinite, isnan

import numpy as np

from connectors.kit.assessment import Observation, WaitKind
from connectors.model.formatting import format_sessions
from policies.evidence.prices import HOUR
from policies.model.plan import Plan
from policies.model.settings import Tier
from policies.placement.sizing import Sizing

SLACK_RATIO = 1e-6  # of sums of many figures
SLACK_SECONDS = 1e-6


class Part(StrEnum):
    """A part of an assessment; what is below it rests on it."""

    KINDS = "waits by kind"
    SPACES = "spaces"
    UNITS = "objects"
    CURVE = "sizing curve"


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """Figures that contradict each other, and the part that is withheld for it."""

    part: Part
    section: str  # of the file, "" where it has no name
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceWaits:
    """One space: how long its reads take and what they cost sessions in an hour."""

    name: str
    reads: float  # calls a second, as the files count them; NaN where they do not
    read_seconds: float  # a read of one block, NaN where the files do not say
    wait_per_hour: float
    by_kind: Mapping[str, float]  # the same by kind of wait, {} where it is not timed by kind
    saves_per_hour: float  # were all of it on fast storage
    size_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitWaits:
    """One unit; low and high bound its wait where the files leave open how its reads were done."""

    key: str
    space: str
    wait_per_hour: float
    low_per_hour: float
    high_per_hour: float
    saves_per_hour: float
    size_bytes: int | None
    by_kind: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What so many bytes of fast storage would bring, at today's latencies."""

    size_bytes: int
    usable_bytes: int  # without the head-room that a plan keeps free
    plan: Plan
    low_per_hour: float
    high_per_hour: float

    @property
    def saves_per_hour(self) -> float:
        """Seconds an hour."""
        return self.plan.wait_saved_per_hour


@dataclass(frozen=True, slots=True, kw_only=True)
class AssessmentResult:
    """All that the command shows."""

    observation: Observation
    tiers: tuple[Tier, Tier]  # fast, present
    wait_per_hour: float  # of all units together
    measured_wait_per_hour: float  # that sessions waited for reads, by the engine; NaN: it timed none
    ceiling_ratio: float  # of the sessions' time that reads are, NaN
    spaces: tuple[SpaceWaits, ...]  # those that cost most first
    units: tuple[UnitWaits, ...]
    sizing: Sizing | None  # None: no size is known
    sized_ratio: float  # of the wait, whose units have a known size
    offer: Offer | None
    withheld: tuple[Broken, ...] = ()  # what the figures contradict: what rests on it is empty


def broken(found: AssessmentResult) -> tuple[Broken, ...]:
    """What the figures of an assessment contradict; () where they agree."""
    sections = found.observation.sections
    return tuple(
        Broken(part=part, section=sections.get(key, ""), sentence=sentence)
        for part, key, look in (
            (Part.KINDS, "waits", _of_kinds),
            (Part.SPACES, "spaces", _of_spaces),
            (Part.UNITS, "units", _of_units),
            (Part.CURVE, "units", _of_curve),
        )
        for sentence in look(found)
    )


def most_per_hour(found: AssessmentResult) -> float:
    """The wait that nothing may exceed: the measured one; endless where the engine timed none."""
    measured = found.measured_wait_per_hour
    return float("inf") if isnan(measured) else measured


def exceeds(part: float, whole: float) -> bool:
    """Whether a figure is more than another one, by more than rounding."""
    return not part <= whole * (1 + SLACK_RATIO) + SLACK_SECONDS


def _of_kinds(found: AssessmentResult) -> Iterator[str]:
    hours, measured = found.observation.demand.seconds / HOUR, found.measured_wait_per_hour
    kinds = [kind for kind in found.observation.kinds if kind.of_units]
    for kind in kinds:
        yield from _of_kind(kind)
    whole = sum(kind.seconds for kind in kinds) / hours
    if kinds and not isnan(measured) and not isclose(whole, measured, rel_tol=SLACK_RATIO, abs_tol=SLACK_SECONDS):
        yield f"they add up to {format_sessions(whole)} waiting sessions, the whole is {format_sessions(measured)}"


def _of_kind(kind: WaitKind) -> Iterator[str]:
    if not (kind.seconds >= 0 and kind.waits >= 0 and isfinite(kind.seconds)):
        yield f"{kind.name}: {kind.seconds} s is no time"
    if kind.by_unit is None or kind.least is None or kind.most is None:
        return
    total = float(kind.by_unit.sum())
    if not isclose(total, kind.seconds, rel_tol=SLACK_RATIO, abs_tol=SLACK_SECONDS):
        yield f"{kind.name}: its objects add up to {total:.6g} s, the event took {kind.seconds:.6g} s"
    slack = SLACK_RATIO * kind.seconds + SLACK_SECONDS
    ordered = (kind.least >= 0) & (kind.least <= kind.by_unit + slack) & (kind.by_unit <= kind.most + slack)
    if not bool(np.all(ordered & (kind.most <= kind.seconds + slack))):
        yield f"{kind.name}: a bound of an object is outside of the {kind.seconds:.6g} s that the event took"


def _of_spaces(found: AssessmentResult) -> Iterator[str]:
    whole, units, most = sum(each.wait_per_hour for each in found.spaces), found.wait_per_hour, most_per_hour(found)
    if not isclose(whole, units, rel_tol=SLACK_RATIO, abs_tol=SLACK_SECONDS):
        yield f"they add up to {format_sessions(whole)} waiting sessions, the objects to {format_sessions(units)}"
    if exceeds(whole, most):
        yield f"{format_sessions(whole)} waiting sessions are more than the {format_sessions(most)} that were measured"
    printed = found.observation.space_reads or {}
    for space in found.spaces:
        if space.name in printed and not isclose(space.reads, printed[space.name], rel_tol=SLACK_RATIO):
            yield f"{space.name}: {space.reads:.6g} reads/s, the file has {printed[space.name]:.6g}"
        if not 0 <= space.saves_per_hour <= space.wait_per_hour * (1 + SLACK_RATIO) + SLACK_SECONDS:
            yield f"{space.name}: saves {format_sessions(space.saves_per_hour)}, and waits for less"


def _of_units(found: AssessmentResult) -> Iterator[str]:
    most = most_per_hour(found)
    for unit in found.units:
        if exceeds(unit.low_per_hour, unit.wait_per_hour) or exceeds(unit.wait_per_hour, unit.high_per_hour):
            yield (
                f"{unit.key}: {format_sessions(unit.wait_per_hour)} is not between "
                f"{format_sessions(unit.low_per_hour)} and {format_sessions(unit.high_per_hour)}"
            )
        if exceeds(unit.high_per_hour, most):
            yield (
                f"{unit.key}: up to {format_sessions(unit.high_per_hour)} waiting sessions, where "
                f"{format_sessions(most)} were measured in all"
            )
        if not 0 <= unit.saves_per_hour <= unit.wait_per_hour * (1 + SLACK_RATIO) + SLACK_SECONDS:
            yield f"{unit.key}: saves {format_sessions(unit.saves_per_hour)}, and waits for less"
    twice = [key for key, times in Counter((unit.key, unit.space) for unit in found.units).items() if times > 1]
    if twice:
        yield f"{twice[0][0]} is counted {len(twice) + 1} times"


def _of_curve(found: AssessmentResult) -> Iterator[str]:
    if found.sizing is None:
        return
    if exceeds(found.sizing.all_fast_per_hour, most_per_hour(found)):
        yield (
            f"fast storage for all saves {format_sessions(found.sizing.all_fast_per_hour)} waiting sessions, where "
            f"{format_sessions(most_per_hour(found))} were measured"
        )
