"""From a plan's draft to the solver's problem: which bundle may go where, what that gains, and what it consumes.

Resources are the room of every tier, the moves, bytes and copying time that one plan may use, and, where a tier has
load limits, the I/Os its drives can serve and the bytes that may be written to it. Numbers are whole and items in
canonical order, so the problem does not depend on the order in which an engine lists its units.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from connectors.model import F64, I64, Bools
from policies.model.chunks import row_chunks
from policies.model.density import KeysOf, densest_first
from policies.model.plan import Tier
from policies.placement.plan_draft import PlanDraft
from policies.solver.offers import Offers

EQUALS = 0.01  # share of its gain that a wholly uncertain unit loses: a tie breaker in favour of the more certain one


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementProblem:
    """The solver's problem, and what its items and options stand for."""

    offers: Offers
    plain: F64  # (o, n) gain of each option in waits alone: no bonus, cost or uncertainty
    bundle: I64  # (n,) of each item
    target: I64  # (o, n) tier that each option leads to
    by_plan: Bools  # (k,) resources that are limits of the plan, not of a tier


def build_problem(
    draft: PlanDraft,
    tiers: Sequence[Tier],
    open_to: Sequence[Bools],
    *,
    among: I64 | None = None,
    all_rows: bool = False,
) -> PlacementProblem:
    """The problem of improving the draft's present state.

    Args:
        draft: not changed.
        tiers: fastest first.
        open_to: per tier but the slowest, the bundles that guards let come to it.
        among: bundles that the problem is restricted to, None: all.
        all_rows: include resources that these bundles alone cannot use up, and room that these bundles alone cannot
            make, since others may.
    """
    tier, leaving = draft.tier(), draft.leavers()
    leaving &= tier < len(tiers) - 1
    coming = np.zeros(len(tier), dtype=np.bool_)
    for row, allowed in enumerate(open_to):
        coming |= allowed & (tier > row) & ~draft.moved
    movable = coming | leaving
    listed = np.flatnonzero(movable) if among is None else np.sort(among[movable[among]])
    # Of two granularities of one plan, what cannot leave in this one may leave in the other.
    largest = _largest(draft, np.arange(len(tier)) if all_rows else listed)
    gain, plain = _gains(draft, listed, tier, open_to, leaving, largest)
    order = _order(draft, listed, tier)
    bundle = listed[order]
    home = tier[bundle]
    target = _targets(home, len(tiers))
    rows = [*_tier_resources(draft, tiers, bundle, all_rows=all_rows)]
    by_plan = len(rows)
    rows += _plan_resources(draft, bundle, all_rows=all_rows)
    return PlacementProblem(
        offers=Offers(
            gain=gain.take(order, axis=1),
            consumption=_consumption(rows, home, target),
            capacity=np.array([row.capacity for row in rows], dtype=np.float64),
        ),
        plain=plain.take(order, axis=1),
        bundle=bundle,
        target=target,
        by_plan=np.arange(len(rows)) >= by_plan,
    )


def _targets(home: I64, tiers: int) -> I64:
    """The tiers that the options of bundles on those tiers lead to: every other one. Shape ``(tiers - 1, n)``."""
    option = np.arange(max(0, tiers - 1), dtype=np.int64)[:, np.newaxis]
    return np.asarray(option + (option >= home), dtype=np.int64)


def _order(draft: PlanDraft, bundle: I64, tier: I64) -> I64:
    """Positions by the difference between the slowest and the fastest tier, per byte; ties by size and key."""
    stake = (draft.bundles.wait[-1, bundle] - draft.bundles.wait[0, bundle]) * np.where(tier[bundle] == 0, 2.0, 1.0)
    return densest_first(stake, draft.bundles.size[bundle], KeysOf(draft.keys, bundle))


def _gains(
    draft: PlanDraft, bundle: I64, tier: I64, open_to: Sequence[Bools], leaving: Bools, largest: F64
) -> tuple[F64, F64]:
    """Gain of each option, ``-inf`` where it does not exist, and the same in waits alone. Shapes ``(o, n)``."""
    gain, plain = np.empty((2, max(0, len(largest) - 1), len(bundle)))
    for some in row_chunks(len(bundle)):
        gain[:, some], plain[:, some] = _gains_of(draft, bundle[some], tier, open_to, leaving, largest)
    return gain, plain


def _gains_of(
    draft: PlanDraft, bundle: I64, tier: I64, open_to: Sequence[Bools], leaving: Bools, largest: F64
) -> tuple[F64, F64]:
    """The same for one chunk of bundles."""
    bundles, settings, home, may_go = draft.bundles, draft.settings, tier[bundle], leaving[bundle]
    wait, certain = bundles.wait.take(bundle, axis=1), bundles.certain.take(bundle, axis=1)
    needed_bytes = bundles.size[bundle] + bundles.transient[bundle]
    favour, upkeep = draft.preference(bundle), bundles.cost[bundle] * draft.per_hour
    here = np.take_along_axis(wait, home[np.newaxis], axis=0)[0]
    gain, plain = np.empty((2, max(0, len(wait) - 1), len(bundle)))
    for option in range(len(gain)):
        further = option >= home  # options skip the home tier: from there on they lead to the tier of the next number
        saved = here - np.where(further, wait[option + 1], wait[option])
        reached = needed_bytes <= np.where(further, largest[option + 1], largest[option])
        rises = ~further & open_to[option][bundle] & (saved > 0) & reached
        falls = further & may_go & reached
        sure = 1.0 - EQUALS * (1.0 - np.where(further, certain[option + 1], certain[option]))
        lost = np.minimum(saved, 0.0)
        up = saved * favour * sure - upkeep
        down = lost * favour * settings.resident_bonus - upkeep
        gain[option] = np.rint(np.where(rises & (up > 0), up, np.where(falls, down, -np.inf)))
        plain[option] = np.rint(np.where(rises, saved, np.where(falls, lost, -np.inf)))
    return gain, plain


def _largest(draft: PlanDraft, bundle: I64) -> F64:
    """Bytes of the largest bundle that some space of each tier could hold once all of these have left. ``(tiers,)``."""
    state, size = draft.state, draft.bundles.size[bundle].astype(np.float64)
    held = np.bincount(state.home[bundle], weights=size, minlength=len(state.room))
    most = [max((state.room[at] + held[at] for at in state.spaces(tier)), default=-1.0) for tier in range(state.tiers)]
    return np.array(most, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class _Resource:
    """Something that could run out. Columns by item."""

    capacity: float
    taken: F64 | float  # by an option that leads to the tier, or by any option
    released: F64 | float = 0.0  # by an option that leads away from the tier
    tier: int | None = None


def _tier_resources(draft: PlanDraft, tiers: Sequence[Tier], bundle: I64, *, all_rows: bool) -> Iterator[_Resource]:
    """Room and load limits of the tiers."""
    size = draft.bundles.size[bundle].astype(np.float64)
    known = np.array([draft.state.is_room_known(space) for space in range(len(draft.state.room))], dtype=np.bool_)
    freed = size if known.all() else np.where(known[draft.state.home[bundle]], size, 0.0)
    total = float(size.sum())
    for row in range(len(tiers)):
        capacity = draft.state.capacity_left(row)
        if all_rows or total > capacity:
            yield _Resource(capacity, size, freed, row)
        for load in draft.state.loads:
            if load.tier == row:
                yield _Resource(load.room, load.taken[bundle], load.freed[bundle], row)


def _plan_resources(draft: PlanDraft, bundle: I64, *, all_rows: bool) -> Iterator[_Resource]:
    """Limits of one plan: moves, bytes and time to copy."""
    size = draft.bundles.size[bundle].astype(np.float64)
    if all_rows or len(bundle) > draft.left:
        yield _Resource(float(draft.left), 1.0)
    if draft.left_bytes < inf and (all_rows or size.sum() > draft.left_bytes):
        yield _Resource(draft.left_bytes, size)
    copying = draft.bundles.copying[bundle]
    if draft.left_copying < inf and (all_rows or copying.sum() > draft.left_copying):
        yield _Resource(draft.left_copying, copying)


def _consumption(rows: Sequence[_Resource], home: I64, target: I64) -> F64:
    """Consumption less release of each option, by resource. Shape ``(k, o, n)``."""
    consumption = np.zeros((len(rows), *target.shape))
    for row, own in zip(rows, consumption, strict=True):
        if row.tier is None:
            own[:] = row.taken
        else:
            np.copyto(own, row.taken, where=target == row.tier)
            own -= np.where(home == row.tier, row.released, 0.0)
    return consumption
