"""From a plan's draft to the solver's problem: which bundle may go where, what that gains, and what it consumes.

Resources are the room of every place (``places``), the moves, bytes and copying time that one plan may use, and, where
a tier has load limits, the I/Os its drives can serve and the bytes that may be written to it. Numbers are whole and
items in canonical order, so the problem does not depend on the order in which an engine lists its units.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import inf

import numpy as np

from connectors.model.observation import F64, I64, Bools
from policies.model.columns import row_chunks
from policies.placement.plan_draft import PlanDraft
from policies.placement.solver.offers import STAY, Offers

ANYWHERE = 400  # bundles, the largest ones, that may go to each space of a tier
_FEW_GAIN = 200  # bundles that gain, up to which they may too
_GOLDEN = (5**0.5 - 1) / 2
EQUALS = 0.01  # share of its gain that a wholly uncertain unit loses: a tie breaker in favour of the more certain one


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementProblem:
    """The solver's problem, and what its items and options stand for."""

    offers: Offers
    plain: F64  # (o, n) wait that each option saves, less what its move costs: no bonus or uncertainty
    bundle: I64  # (n,) of each item
    home: I64  # (n,) place of each bundle; its options lead to all other places
    by_plan: Bools  # (k,) resources that are limits of the plan, not of a tier

    def options_to(self, place: I64) -> I64:
        """The option of each item that leads to some place, STAY for its present one. Shape ``(n,)``."""
        return np.where(place == self.home, STAY, place - (place > self.home))

    def place_of(self, option: I64, item: I64 | slice) -> I64:
        """The place that some options of some items lead to."""
        return np.asarray(option + (option >= self.home[item]), dtype=np.int64)


def build_problem(draft: PlanDraft, open_to: Sequence[Bools], *, all_rows: bool = False) -> PlacementProblem:
    """The problem of improving the draft's present state.

    Args:
        draft: not changed.
        open_to: per tier but the slowest, the bundles that guards let come to it.
        all_rows: include resources that these bundles alone cannot use up, and room that these bundles alone cannot
            make, since others may.
    """
    tier, freedom = draft.tier(), _freedom(draft, open_to)
    movable = freedom.rises | freedom.falls | freedom.changes
    listed = np.flatnonzero(movable)
    # Of two granularities of one plan, what cannot leave in this one may leave in the other.
    largest = _largest(draft, np.arange(len(tier)) if all_rows else listed)
    # By the difference between the slowest and the fastest tier, per byte: an order that the input's has no part in.
    stake = (draft.bundles.wait[-1, listed] - draft.bundles.wait[0, listed]) * np.where(tier[listed] == 0, 2.0, 1.0)
    order = draft.density_order(listed, stake)
    bundle = listed[order]
    # Ordered afterwards: read in the order of density, columns of a million bundles take a quarter second more.
    gain, plain = (each.take(order, axis=1) for each in _gains(draft, listed, freedom, largest))
    home = draft.place()[bundle]
    target = _targets(home, len(draft.state.places))
    if len(draft.state.places) > draft.state.tiers:
        _spread(draft, bundle, target, largest, gain)
    rows = [*_place_resources(draft, bundle, all_rows=all_rows)]
    by_plan = len(rows)
    rows += _plan_resources(draft, bundle, all_rows=all_rows)
    return PlacementProblem(
        offers=Offers(
            gain=gain,
            consumption=_consumption(rows, home, target),
            capacity=np.array([row.capacity for row in rows], dtype=np.float64),
        ),
        plain=plain,
        bundle=bundle,
        home=home,
        by_plan=np.arange(len(rows)) >= by_plan,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Freedom:
    """Which bundles may go up, down and to other spaces of their tier. Columns by bundle."""

    open_to: Sequence[Bools]
    rises: Bools
    falls: Bools
    changes: Bools  # place within the tier


def _freedom(draft: PlanDraft, open_to: Sequence[Bools]) -> _Freedom:
    state, tier = draft.state, draft.tier()
    rises = np.zeros(len(tier), dtype=np.bool_)
    for row, allowed in enumerate(open_to):
        rises |= allowed & (tier > row) & ~draft.moved
    several = [sum(place.tier == row for place in state.places) > 1 for row in range(state.tiers)]
    changes = np.zeros(len(tier), dtype=np.bool_)
    if any(several):
        changes |= draft.changers() & np.array([*several, False])[tier]  # what is not managed reads the last
    return _Freedom(open_to=open_to, rises=rises, falls=draft.leavers() & (tier < state.tiers - 1), changes=changes)


def _targets(home: I64, places: int) -> I64:
    """The places that the options of bundles in those places lead to: every other one. Shape ``(places - 1, n)``."""
    option = np.arange(max(0, places - 1), dtype=np.int64)[:, np.newaxis]
    return np.asarray(option + (option >= home), dtype=np.int64)


def _gains(draft: PlanDraft, bundle: I64, freedom: _Freedom, largest: F64) -> tuple[F64, F64]:
    """Gain of each option, ``-inf`` if there is none, and the same without bonus or uncertainty. Shapes ``(o, n)``."""
    place = draft.place()
    gain, plain = np.empty((2, max(0, len(largest) - 1), len(bundle)))
    for some in row_chunks(len(bundle)):
        gain[:, some], plain[:, some] = _gains_of(draft, bundle[some], place, freedom, largest)
    return gain, plain


def _gains_of(draft: PlanDraft, bundle: I64, place: I64, freedom: _Freedom, largest: F64) -> tuple[F64, F64]:
    """The same for one chunk of bundles."""
    bundles, settings, home = draft.bundles, draft.settings, place[bundle]
    tier_of = np.array([place.tier for place in draft.state.places], dtype=np.int64)
    several = len(tier_of) > draft.state.tiers
    wait, certain = bundles.wait.take(bundle, axis=1), bundles.certain.take(bundle, axis=1)
    needed_bytes = bundles.size[bundle] + bundles.transient[bundle]
    favour, upkeep = draft.preference(bundle), bundles.cost[bundle] * draft.per_hour
    at_home, may_fall, may_change = tier_of[home], freedom.falls[bundle], freedom.changes[bundle]
    here = np.take_along_axis(wait, at_home[np.newaxis], axis=0)[0]
    gain, plain = np.empty((2, max(0, len(tier_of) - 1), len(bundle)))
    for option in range(len(gain)):
        further = option >= home  # options skip the home place: from there on they lead to the place of the next number
        above, below = tier_of[option], tier_of[option + 1]
        saved = here - np.where(further, wait[below], wait[above])
        reached = needed_bytes <= np.where(further, largest[option + 1], largest[option])
        rises = ~further & (at_home > above) & freedom.open_to[min(above, len(freedom.open_to) - 1)][bundle]
        rises &= (saved > 0) & reached
        falls = further & (at_home < below) & may_fall & reached
        sure = 1.0 - EQUALS * (1.0 - np.where(further, certain[below], certain[above]))
        lost = np.minimum(saved, 0.0)
        # The mean, and uncertainty as a tie breaker only. The guards have already asked the lower end; subtracting it
        # here as well would keep worse residents in place only because they are better known.
        up = saved * favour * sure - upkeep
        down = lost * favour * settings.resident_bonus - upkeep
        # Whole microseconds are exact in float64 in any order of adding. With fractions, the order in which an engine
        # lists its units could decide between near ties.
        gain[option] = np.rint(np.where(rises & (up > 0), up, np.where(falls, down, -np.inf)))
        plain[option] = np.rint(np.where(rises, saved - upkeep, np.where(falls, lost - upkeep, -np.inf)))
        if several:
            gain[option] -= falls  # a microsecond: of equals a change within the tier comes first
            changes = may_change & (at_home == np.where(further, below, above)) & reached
            np.copyto(gain[option], np.rint(-upkeep), where=changes)
            np.copyto(plain[option], np.rint(-upkeep), where=changes)
        barred = _out_of_reach(draft, bundle, np.where(option >= home, option + 1, option))
        if barred is not None:
            gain[option, barred] = plain[option, barred] = -np.inf
    return gain, plain


def _out_of_reach(draft: PlanDraft, bundle: I64, place: I64) -> Bools | None:
    """Which bundles may not go to these places, of another domain than their own; None: there is one domain only."""
    of_place = _domain_of_places(draft)
    if of_place is None or draft.state.domain is None:
        return None
    return np.asarray(draft.state.domain[draft.state.home[bundle]] != of_place[place], dtype=np.bool_)


def _domain_of_places(draft: PlanDraft) -> I64 | None:
    """Domain of each place, -1 of one without spaces; None where there is one only, or a place may hold several."""
    domain, places = draft.state.domain, draft.state.places
    if domain is None or any(len(set(domain[list(place.spaces)].tolist())) > 1 for place in places):
        return None
    return np.array([domain[place.spaces[0]] if place.spaces else -1 for place in places], dtype=np.int64)


def _largest(draft: PlanDraft, bundle: I64) -> F64:
    """Bytes of the largest bundle that a space of each place could hold once all of these have left. ``(places,)``."""
    state, freed = draft.state, draft.bundles.freed[bundle].astype(np.float64)
    # Of what may leave only: room that pinned and resting bundles hold never becomes free for this plan.
    held = np.bincount(state.home[bundle], weights=freed, minlength=len(state.room))
    most = [max((state.room[at] + held[at] for at in place.spaces), default=-1.0) for place in state.places]
    return np.array(most, dtype=np.float64)


def _spread(draft: PlanDraft, bundle: I64, target: I64, largest: F64, gain: F64) -> None:
    """Bar most bundles from all but one place of each tier, drawn by the sizes of the places.

    Free are the largest, and all that gain where few do: then one demotion pays only for several of them together.
    Which of several spaces a small bundle goes to hardly matters, and options that are all alike only slow down the
    solver: prices cannot tell them apart.
    """
    if len(bundle) <= ANYWHERE:
        return
    small = np.ones(len(bundle), dtype=np.bool_)
    small[np.argsort(-draft.bundles.size[bundle], kind="stable")[:ANYWHERE]] = False
    gains = (gain > 0).any(axis=0)
    if np.count_nonzero(gains) <= _FEW_GAIN:
        small &= ~gains
    # A fixed low-discrepancy sequence instead of random numbers: the same situation must give the same plan.
    draw = (np.arange(len(bundle)) * _GOLDEN) % 1.0  # evenly spread over neighbours in canonical order
    domain, of_place = draft.state.domain, _domain_of_places(draft)
    of_bundle = np.zeros(len(bundle), np.int64) if domain is None else domain[draft.state.home[bundle]]
    of_place = np.zeros(len(draft.state.places), np.int64) if of_place is None else of_place
    for tier, among in product(range(draft.state.tiers), np.unique(of_place).tolist()):
        places = np.array(
            [row for row, place in enumerate(draft.state.places) if place.tier == tier and of_place[row] == among],
            dtype=np.int64,
        )
        if len(places) > 1:
            few = small & (of_bundle == among)
            shares = np.cumsum(np.maximum(largest[places], 1.0))
            own = places[np.searchsorted(shares, draw * shares[-1], side="right")]
            barred = few & np.isin(target, places) & (target != own)
            gain[barred | (few & np.isin(target, places) & (draft.tier()[bundle] == tier))] = -np.inf


@dataclass(frozen=True, slots=True)
class _Resource:
    """Something that could run out. Columns by item."""

    capacity: float
    taken: F64 | float  # by an option that leads to one of the places, or by any option
    released: F64 | float = 0.0  # by an option that leads away from one of them
    places: tuple[int, ...] = ()


def _place_resources(draft: PlanDraft, bundle: I64, *, all_rows: bool) -> Iterator[_Resource]:
    """Room of the places and load limits of the tiers."""
    state, size = draft.state, draft.bundles.size[bundle].astype(np.float64)
    leaves = draft.bundles.freed[bundle].astype(np.float64)
    known = np.array([state.is_room_known(space) for space in range(len(state.room))], dtype=np.bool_)
    freed = leaves if known.all() else np.where(known[state.home[bundle]], leaves, 0.0)
    total = float(size.sum())
    for row in range(len(state.places)):
        capacity = state.capacity_left(row)
        if all_rows or total > capacity:
            yield _Resource(capacity, size, freed, (row,))
    for load in state.loads:
        places = tuple(row for row, place in enumerate(state.places) if place.tier == load.tier)
        yield _Resource(load.room, load.taken[bundle], load.freed[bundle], places)


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
        if not row.places:
            own[:] = row.taken
        for place in row.places:
            np.copyto(own, row.taken, where=target == place)
        for place in row.places:
            own -= np.where(home == place, row.released, 0.0)
    return consumption
