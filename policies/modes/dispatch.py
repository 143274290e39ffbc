"""The balancer's modes behind one door: what is asked for, and the plan that answers it.

Every mode keeps what ``balancer`` promises of room, pins, cool-downs, limits and determinism at every prefix of its
plan. Only ``hsm`` in its subtypes ``calc`` and ``hdd`` promises that each group saves wait; the others do what they
are named for, and say what that costs.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import inf

import numpy as np

from connectors.model import Bools
from policies.benefit.bundles import Bundles, bundles_of
from policies.explanation.plan_figures import nothing, plan_of
from policies.model.plan import LeftBehind, Pin, Plan, PolicySettings, Situation, Verdict
from policies.model.relocation import Group
from policies.modes.clear import clear_groups
from policies.modes.drain import drain_groups, left_behind
from policies.modes.level import Weight, fill, level_groups, read_load
from policies.placement.balancer import make_plan, new_draft, reasons_of, within_limits
from policies.placement.granularity import single_where_possible, whole_where_possible
from policies.placement.group_order import tables_first
from policies.placement.hsm import pin_groups
from policies.placement.plan_draft import PlanDraft


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
        case Usage():
            count = len(situation.spaces)
            loads = [(row, read_load(bundles, situation.tiers[row].speed, count)) for row in rows]
            return _level_tiers(draft, loads, bundles.observed >= settings.minimum_history_seconds)
        case Capacity():
            everything = np.ones(len(bundles), dtype=np.bool_)
            return _level_tiers(draft, [(row, fill(situation, bundles)) for row in rows], everything)


def _tables_first(situation: Situation, draft: PlanDraft, groups: list[Group]) -> list[Group]:
    state = new_draft(situation, draft.bundles, draft.settings).state
    return tables_first(groups, draft.bundles, situation.units, state)


def _level_tiers(draft: PlanDraft, weights: list[tuple[int, Weight]], known: Bools) -> list[Group]:
    """Groups of each tier in turn; a pin does not keep a bundle from another space of its tier."""
    free = (draft.bundles.cooling <= 0) & draft.bundles.routable & known
    return [group for tier, weight in weights for group in level_groups(draft, tier, weight, free)]


def _left_behind(
    situation: Situation, bundles: Bundles, settings: PolicySettings, groups: list[Group], space: int
) -> tuple[LeftBehind, ...]:
    state = new_draft(situation, bundles, settings).state
    return left_behind(situation, bundles, state, groups, space)
