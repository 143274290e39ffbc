"""From a draft to the solver's question: who may go where, what that brings, and what it takes of everything scarce.

Scarce are the room of every tier, the moves, bytes and copying time that one plan may take, and, where a tier has such
limits, the I/Os that its drives serve and the bytes that may be written to it. Numbers are whole and items in canonical
order, so the question is the same in whatever order an engine lists its units.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from connectors.model import F64, I64, Bools
from policies.model.chunks import parts
from policies.model.density import KeysOf, densest_first
from policies.model.plan import Tier
from policies.placement.plan_draft import PlanDraft
from policies.solver.offers import Offers

EQUALS = 0.01  # of its gain that a wholly doubtful unit loses: of equals the surer one gets the room


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementProblem:
    """Offers, and what their items and options stand for."""

    offers: Offers
    plain: F64  # (o, n) gain of each option in waits alone: no resident bonus, preference, cost or doubt
    bundle: I64  # (n,) of each item
    target: I64  # (o, n) tier that each option leads to
    by_plan: Bools  # (k,) resources that are limits of the plan, not of a tier


def question(
    draft: PlanDraft,
    tiers: Sequence[Tier],
    open_to: Sequence[Bools],
    *,
    among: I64 | None = None,
    all_rows: bool = False,
) -> PlacementProblem:
    """What may be done from the board as it stands.

    Args:
        draft: not changed.
        tiers: fastest first.
        open_to: per tier but the slowest, the bundles that guards let come to it.
        among: bundles that are asked about, None: all.
        all_rows: tell of resources too that these bundles cannot use up, as others beside them may.
    """
    tier, leaving = draft.tier(), draft.leavers()
    leaving &= tier < len(tiers) - 1
    coming = np.zeros(len(tier), dtype=np.bool_)
    for row, allowed in enumerate(open_to):
        coming |= allowed & (tier > row) & ~draft.moved
    asked = coming | leaving
    listed = np.flatnonzero(asked) if among is None else np.sort(among[asked[among]])
    gain, plain = _gains(draft, listed, tier, open_to, leaving)
    order = _order(draft, listed, tier)
    bundle = listed[order]
    home = tier[bundle]
    target = _targets(home, len(tiers))
    rows = [*_rooms(draft, tiers, bundle, all_rows=all_rows)]
    by_plan = len(rows)
    rows += _limits(draft, bundle, all_rows=all_rows)
    return PlacementProblem(
        offers=Offers(
            gain=gain.take(order, axis=1),
            use=_uses(rows, home, target),
            room=np.array([row.room for row in rows], dtype=np.float64),
        ),
        plain=plain.take(order, axis=1),
        bundle=bundle,
        target=target,
        by_plan=np.arange(len(rows)) >= by_plan,
    )


def _targets(home: I64, tiers: int) -> I64:
    """Where the options of bundles lead that are on those tiers: to every other one. Shape ``(tiers - 1, n)``."""
    option = np.arange(max(0, tiers - 1), dtype=np.int64)[:, np.newaxis]
    return np.asarray(option + (option >= home), dtype=np.int64)


def _order(draft: PlanDraft, bundle: I64, tier: I64) -> I64:
    """Positions by what all tiers differ in for a bundle, per byte; then by size and name."""
    stake = (draft.bundles.wait[-1, bundle] - draft.bundles.wait[0, bundle]) * np.where(tier[bundle] == 0, 2.0, 1.0)
    return densest_first(stake, draft.bundles.size[bundle], KeysOf(draft.keys, bundle))


def _gains(draft: PlanDraft, bundle: I64, tier: I64, open_to: Sequence[Bools], leaving: Bools) -> tuple[F64, F64]:
    """Gain of each option, ``-inf`` where there is no such option, and the same in waits alone. Shapes ``(o, n)``."""
    largest = _largest(draft, bundle)
    gain, plain = np.empty((2, max(0, len(largest) - 1), len(bundle)))
    for some in parts(len(bundle)):
        gain[:, some], plain[:, some] = _gains_of(draft, bundle[some], tier, open_to, leaving, largest)
    return gain, plain


def _gains_of(
    draft: PlanDraft, bundle: I64, tier: I64, open_to: Sequence[Bools], leaving: Bools, largest: F64
) -> tuple[F64, F64]:
    """The same of a few bundles."""
    bundles, settings, home, may_go = draft.bundles, draft.settings, tier[bundle], leaving[bundle]
    wait, certain = bundles.wait.take(bundle, axis=1), bundles.certain.take(bundle, axis=1)
    needed = bundles.size[bundle] + bundles.transient[bundle]
    favour, upkeep = draft.preference(bundle), bundles.cost[bundle] * draft.per_hour
    here = np.take_along_axis(wait, home[np.newaxis], axis=0)[0]
    gain, plain = np.empty((2, max(0, len(wait) - 1), len(bundle)))
    for option in range(len(gain)):
        further = option >= home  # whether the option leads to the tier after the one of its number
        saved = here - np.where(further, wait[option + 1], wait[option])
        reached = needed <= np.where(further, largest[option + 1], largest[option])
        rises = ~further & open_to[option][bundle] & (saved > 0) & reached
        falls = further & may_go & reached
        sure = 1.0 - EQUALS * (1.0 - np.where(further, certain[option + 1], certain[option]))
        lost = np.minimum(saved, 0.0)
        up = saved * favour * sure - upkeep
        down = lost * favour * settings.resident_bonus - upkeep * draft.turnover_multiplier
        gain[option] = np.rint(np.where(rises & (up > 0), up, np.where(falls, down, -np.inf)))
        plain[option] = np.rint(np.where(rises, saved, np.where(falls, lost, -np.inf)))
    return gain, plain


def _largest(draft: PlanDraft, bundle: I64) -> F64:
    """Bytes that some space of each tier holds once all of these that may leave it have. Shape ``(tiers,)``."""
    board, size = draft.board, draft.bundles.size[bundle].astype(np.float64)
    held = np.bincount(board.home[bundle], weights=size, minlength=len(board.room))
    most = [max((board.room[at] + held[at] for at in board.spaces(tier)), default=-1.0) for tier in range(board.tiers)]
    return np.array(most, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class _Row:
    """Something that could run out. Columns by item."""

    room: float  # of which there is so much
    taken: F64 | float  # by an option that leads to the tier, or by any option
    given: F64 | float = 0.0  # back by an option that leads away from the tier
    tier: int | None = None


def _rooms(draft: PlanDraft, tiers: Sequence[Tier], bundle: I64, *, all_rows: bool) -> Iterator[_Row]:
    """What tiers could run out of."""
    size = draft.bundles.size[bundle].astype(np.float64)
    known = np.array([draft.board.is_room_known(space) for space in range(len(draft.board.room))], dtype=np.bool_)
    freed = size if known.all() else np.where(known[draft.board.home[bundle]], size, 0.0)
    total = float(size.sum())
    for row in range(len(tiers)):
        room = draft.board.capacity_left(row)
        if all_rows or total > room:
            yield _Row(room, size, freed, row)
        for strain in draft.board.strains:
            if strain.tier == row:
                yield _Row(strain.room, strain.taken[bundle], strain.freed[bundle], row)


def _limits(draft: PlanDraft, bundle: I64, *, all_rows: bool) -> Iterator[_Row]:
    """What one plan could run out of: moves, bytes and time to copy."""
    size = draft.bundles.size[bundle].astype(np.float64)
    if all_rows or len(bundle) > draft.left:
        yield _Row(float(draft.left), 1.0)
    if draft.left_bytes < inf and (all_rows or size.sum() > draft.left_bytes):
        yield _Row(draft.left_bytes, size)
    copying = draft.bundles.copying[bundle]
    if draft.left_copying < inf and (all_rows or copying.sum() > draft.left_copying):
        yield _Row(draft.left_copying, copying)


def _uses(rows: Sequence[_Row], home: I64, target: I64) -> F64:
    """What each option uses of each of them, less what it gives back. Shape ``(k, o, n)``."""
    use = np.zeros((len(rows), *target.shape))
    for row, own in zip(rows, use, strict=True):
        if row.tier is None:
            own[:] = row.taken
        else:
            np.copyto(own, row.taken, where=target == row.tier)
            own -= np.where(home == row.tier, row.given, 0.0)
    return use
