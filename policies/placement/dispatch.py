"""The balancer's modes behind one door, when a plan would move something, and the spaces after it.

``plan_mode`` makes the plan of the mode asked for. At every prefix of its plan each mode keeps what ``balancer``
promises about room, pins, cool-downs, limits and determinism. Only ``Hsm`` in its subtypes ``calc`` and ``hdd``
promises that each group saves wait. The others do what their names say, and state what that costs.

``moves_after`` says when a plan would first have a move if demand stayed the same and sampling went on. Policies are
pure, so it takes the situation forward in time and plans again. Cool-downs have passed by then, and units have been
watched for longer, so their mean errs less: by the square root of the time watched, as far back as the long horizon
remembers. Read times stay as sure as they are, since how soon they improve depends on the load.

``spaces_after`` gives bytes, fill and read load of each space before and after the moves. Mode ``capacity`` evens out
fill, mode ``usage`` read time. Bytes and reads only change their place. Read time also changes in sum where a unit
changes tier. It is counted at each tier's present speed, ignoring that queues grow or shrink with the load.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from math import inf

import numpy as np

from connectors.model.formatting import format_seconds
from connectors.model.observation import F64, I64, Bools, Signal
from policies.evidence.bundles import Bundles, bundles_of
from policies.model.moves import Group
from policies.model.plan import HeatView, Plan, Situation, UndrainedBundle, Verdict
from policies.model.settings import Pin, PolicySettings
from policies.placement.balancer import make_plan, new_draft, pin_groups, reasons_of, within_limits
from policies.placement.granularity import single_where_possible, whole_where_possible
from policies.placement.modes import (
    Weight,
    capacity_and_used,
    clear_groups,
    drain_groups,
    fill,
    left_behind,
    level_groups,
    read_load,
    read_seconds,
    why_level,
)
from policies.placement.plan_draft import PlanDraft
from policies.placement.plan_figures import nothing, plan_of
from policies.placement.schedule import tables_first


class HsmSubtype(StrEnum):
    """Which way units may go in mode ``hsm``."""

    CALC = "calc"  # hot up, and cold down where its room is needed
    SSD = "ssd"  # only clear cold from the fastest tier
    HDD = "hdd"  # only bring hot from slower tiers into free room


@dataclass(frozen=True, slots=True, kw_only=True)
class Hsm:
    """Each unit where its heat deserves to be."""

    subtype: HsmSubtype = HsmSubtype.CALC
    free_ratio: float = 0.2  # subtype ssd: share of each space of the fastest tier that is to be free


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Even read load among the spaces of a tier."""

    tier: str | None = None  # None: of every tier


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """Even fill among the spaces of a tier."""

    tier: str | None = None  # None: of every tier


@dataclass(frozen=True, slots=True, kw_only=True)
class Preference:
    """Pins, and nothing else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain:
    """A space empty, so that it can be removed."""

    space: str


Mode = Hsm | Usage | Capacity | Preference | Drain


class UnknownName(LookupError):
    """A mode names a tier or space that does not exist; the message lists those that do."""


def plan_mode(
    situation: Situation, settings: PolicySettings, mode: Mode | None = None, *, time_limit_seconds: float = inf
) -> Plan:
    """The plan of a mode. The same situation gives the same plan, in whatever order its units are listed.

    Args:
        situation: what the plan is made from.
        settings: limits and weights.
        mode: default ``Hsm()``.
        time_limit_seconds: the plan is cut to the longest prefix of whole groups whose copying takes no longer.

    Raises:
        UnknownName: the mode names a tier or space that does not exist.
    """
    mode = mode or Hsm()
    if isinstance(mode, Hsm) and mode.subtype is not HsmSubtype.SSD:
        demote = mode.subtype is HsmSubtype.CALC
        return make_plan(situation, settings, demote=demote, time_limit_seconds=time_limit_seconds)
    rows = _rows(situation, mode)
    if not situation.tiers:
        return nothing(situation)
    single = single_where_possible(situation)
    plan = _plan_one_way(single, settings, mode, rows, time_limit_seconds)
    if not isinstance(mode, Drain) or (whole := whole_where_possible(situation)) is single:
        return plan
    # Neither way is better throughout: a table space that goes whole is one move, but one resting unit, or too little
    # room in any one place, keeps all of it where most of its units could have left.
    other = _plan_one_way(whole, settings, mode, rows, time_limit_seconds)
    return min(other, plan, key=lambda each: sum(left.size_bytes for left in each.left_behind))  # of equals the whole


def _plan_one_way(situation: Situation, settings: PolicySettings, mode: Mode, rows: list[int], seconds: float) -> Plan:
    """The plan of a mode with every group going one way."""
    bundles = bundles_of(situation, settings)
    draft = new_draft(situation, bundles, settings)
    groups = within_limits(_groups(situation, draft, mode, rows), settings, seconds)
    staying = np.full(len(bundles), Verdict.NOT_ASKED, dtype=np.int8)
    staying[bundles.tier < 0] = Verdict.NOT_MANAGED
    left = _left_behind(situation, bundles, settings, groups, rows[0]) if isinstance(mode, Drain) else ()
    return plan_of(situation, bundles, settings, groups, staying, left_behind=left)


def _rows(situation: Situation, mode: Mode) -> list[int]:
    """Rows of the tiers or of the space that a mode is about; empty for modes that name none."""
    match mode:
        case Usage(tier=name) | Capacity(tier=name):
            tiers = [tier.name for tier in situation.tiers]
            return list(range(len(tiers))) if name is None else [_row(name, tiers, "tier")]
        case Drain(space=name):
            return [_row(name, [space.name for space in situation.spaces], "space")]
        case _:
            return []


def _row(name: str, names: list[str], what: str) -> int:
    if name not in names:
        raise UnknownName(f"no {what} is named {name!r}; there are {', '.join(names) or 'none'}")
    return names.index(name)


def _groups(situation: Situation, draft: PlanDraft, mode: Mode, rows: list[int]) -> list[Group]:
    bundles, settings = draft.bundles, draft.settings
    match mode:
        case Hsm(free_ratio=free_ratio):
            return clear_groups(draft, situation, free_ratio)
        case Preference():
            promoted = reasons_of(situation, bundles, settings)[0] == Verdict.PROMOTE
            return _tables_first(situation, draft, pin_groups(draft, (bundles.pin == Pin.MUST) & promoted))
        case Drain():
            other = new_draft(situation, bundles, settings)
            return _tables_first(situation, draft, drain_groups((draft, other), rows[0]))
        case Usage() | Capacity():
            weights, free = _to_level(situation, bundles, settings, mode, rows)
            return [group for tier, weight in weights for group in level_groups(draft, tier, weight, free)]


def _tables_first(situation: Situation, draft: PlanDraft, groups: list[Group]) -> list[Group]:
    state = new_draft(situation, draft.bundles, draft.settings).state
    return tables_first(groups, draft.bundles, situation.units, state)


def _to_level(
    situation: Situation, bundles: Bundles, settings: PolicySettings, mode: Usage | Capacity, rows: list[int]
) -> tuple[list[tuple[int, Weight]], Bools]:
    """What is evened out in each tier, and the bundles that may move: a pin does not keep one from another space."""
    free = (bundles.cooling <= 0) & bundles.routable
    if isinstance(mode, Capacity):
        return [(row, fill(situation, bundles)) for row in rows], np.asarray(free, dtype=np.bool_)
    count = len(situation.spaces)
    loads = [(row, read_load(bundles, situation.tiers[row].speed, count)) for row in rows]
    return loads, np.asarray(free & (bundles.observed >= settings.minimum_history_seconds), dtype=np.bool_)


WITHIN_A_TIER = "it moves units between the spaces of one tier; `hotplace plan` moves them between tiers"


def why_nothing(situation: Situation, settings: PolicySettings, mode: Mode) -> tuple[str, ...]:
    """Why a plan of this mode has no move; empty where verdicts, pins or what a drain leaves say it.

    Args:
        situation: that the plan was made of.
        settings: that it was made with.
        mode: of the plan, whose names exist.
    """
    if isinstance(mode, Hsm):
        return tuple(_as_slow(situation))
    if not isinstance(mode, Usage | Capacity):
        return ()
    situation = single_where_possible(situation)
    bundles = bundles_of(situation, settings)
    draft = new_draft(situation, bundles, settings)
    weights, free = _to_level(situation, bundles, settings, mode, _rows(situation, mode))
    why = (why_level(draft, row, situation.tiers[row].name, weight, free) for row, weight in weights)
    return (WITHIN_A_TIER, *why)


ALIKE = 0.95  # of a read time, and more: no faster


def _as_slow(situation: Situation) -> Iterator[str]:
    """That the fastest tier reads no faster than the slowest, as where both are on one device."""
    if len(situation.tiers) < 2:
        return
    fast, slow = situation.tiers[0], situation.tiers[-1]
    seconds = fast.speed.random_read_seconds, slow.speed.random_read_seconds
    if seconds[0] >= ALIKE * seconds[1]:
        times = f"{format_seconds(seconds[0])} on {fast.name} and {format_seconds(seconds[1])} on {slow.name}"
        yield (
            f"a read takes {times}, as far as is known: nothing is gained by moving there. Both may be on one device; "
            f"if {fast.name} is faster, say so with random_read of that tier"
        )


def _left_behind(
    situation: Situation, bundles: Bundles, settings: PolicySettings, groups: list[Group], space: int
) -> tuple[UndrainedBundle, ...]:
    state = new_draft(situation, bundles, settings).state
    return left_behind(situation, bundles, state, groups, space)


FINE_RATIO = 0.02  # of the time found; and no finer than ...
FINE_SECONDS = 10.0


def moves_after(situation: Situation, settings: PolicySettings) -> float | None:
    """Seconds until a plan has a move; None where the same alone brings none.

    Args:
        situation: as it is now.
        settings: with which plans are made.
    """
    latest = settings.long_half_life_seconds + max(settings.cool_down_seconds, settings.minimum_history_seconds)
    longest = float(situation.heat.observed_seconds.max(initial=0.0))
    earliest = max(0.0, settings.minimum_history_seconds - longest)
    if _moves(situation, settings, earliest):
        return earliest
    if not _moves(situation, settings, latest):
        return None
    return _between(situation, settings, earliest, latest)


def _between(situation: Situation, settings: PolicySettings, without: float, with_moves: float) -> float:
    """The time from which on there are moves, between one without and one with: halved as often as it takes."""
    # Once a plan has moves, later ones are taken to have some too: cool-downs only pass, and errors only narrow.
    while with_moves - without > max(FINE_SECONDS, FINE_RATIO * with_moves):
        # Halved on a logarithmic scale: the answer may be minutes or days, and each look is a whole plan.
        middle = math.sqrt(max(without, FINE_SECONDS) * with_moves)
        if _moves(situation, settings, middle):
            with_moves = middle
        else:
            without = middle
    return with_moves


def _moves(situation: Situation, settings: PolicySettings, seconds: float) -> bool:
    """Whether a plan has moves so much later."""
    return bool(plan_mode(later(situation, settings, seconds), settings).moves)


def later(situation: Situation, settings: PolicySettings, seconds: float) -> Situation:
    """The situation so much later, the same demand having been watched meanwhile."""
    return replace(
        situation,
        heat=_with_time_passed(situation.heat, settings, seconds),
        cooling_seconds=np.maximum(situation.cooling_seconds - seconds, 0.0),
    )


def _with_time_passed(heat: HeatView, settings: PolicySettings, seconds: float) -> HeatView:
    """Heat after so many seconds of unchanged demand."""
    observed = heat.observed_seconds + seconds
    if heat.error is None:
        return replace(heat, observed_seconds=observed)
    memory = settings.long_half_life_seconds / math.log(2.0)
    then, now = np.minimum(observed, memory), np.minimum(heat.observed_seconds, memory)
    narrower = np.sqrt(np.divide(now, then, out=np.ones(len(observed)), where=then > 0))
    return replace(heat, observed_seconds=observed, error=heat.error * narrower)


_READS = [Signal.SYNC_READ, Signal.PREFETCHED_READ, Signal.DIRECT_READ]  # those that reach storage


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """Load of each space, one row per space."""

    used_bytes: I64
    fill_ratio: F64  # used share of the capacity, NaN: not known
    reads_per_second: F64  # synchronous, prefetched and direct ones
    read_seconds_per_second: F64  # time that these take at the speed of the space's tier


@dataclass(frozen=True, slots=True, kw_only=True)
class SpacesAfter:
    """Every managed space, those of the fastest tier first, by name within a tier."""

    space: tuple[str, ...]
    tier: tuple[str, ...]
    before: Carried
    after: Carried

    def __len__(self) -> int:
        return len(self.space)


def spaces_after(situation: Situation, plan: Plan) -> SpacesAfter:
    """Each managed space before the plan and once all its moves are done.

    Args:
        situation: what the plan was made from.
        plan: of that situation.
    """
    tier, names = situation.tier_of_space, [space.name for space in situation.spaces]
    rows = np.array(
        sorted(np.flatnonzero(tier >= 0).tolist(), key=lambda row: (int(tier[row]), names[row])), dtype=np.int64
    )
    home = _home(situation)
    return SpacesAfter(
        space=tuple(names[row] for row in rows),
        tier=tuple(situation.tiers[at].name for at in tier[rows]),
        before=_carry(situation, rows, home),
        after=_carry(situation, rows, _home_after(home, plan, names)),
    )


def _home(situation: Situation) -> I64:
    """Row of each unit's space."""
    return situation.units.space.astype(np.int64)


def _home_after(home: I64, plan: Plan, names: list[str]) -> I64:
    """Row of each unit's space once the plan has run."""
    row_of = {name: row for row, name in enumerate(names)}
    home = home.copy()
    for move in plan.moves:
        home[list(move.rows)] = row_of[move.to_space]
    return home


def _carry(situation: Situation, rows: I64, home: I64) -> Carried:
    """Load of the given spaces with every unit at the given home."""
    spaces, rates = [situation.spaces[row] for row in rows], situation.heat.rates
    size, count = situation.units.size_bytes.astype(np.float64), len(situation.spaces)
    # As a change of what the engine counts as used: the sum of a space's units lacks what in it is no unit.
    come = (_sum_by_space(size, home, count) - _sum_by_space(size, _home(situation), count))[rows]
    capacity, used = np.array([capacity_and_used(space) for space in spaces], dtype=np.float64).reshape(-1, 2).T
    known = np.isfinite(capacity) & (capacity > 0)
    read_time = np.zeros(count)
    for row, tier in enumerate(situation.tiers):
        here = situation.tier_of_space == row
        read_time[here] = _sum_by_space(read_seconds(rates, tier.speed), home, count)[here]
    return Carried(
        used_bytes=np.array([space.used_bytes for space in spaces], dtype=np.int64) + come.astype(np.int64),
        fill_ratio=np.divide(used + come, capacity, out=np.full(len(rows), np.nan), where=known),
        reads_per_second=_sum_by_space(rates[_READS].sum(axis=0), home, count)[rows],
        read_seconds_per_second=read_time[rows],
    )


def _sum_by_space(of_unit: F64, home: I64, spaces: int) -> F64:
    """A column of units by space; whole bytes stay exact. Shape ``(spaces,)``."""
    return np.asarray(np.bincount(home, weights=of_unit, minlength=spaces), dtype=np.float64)
