"""What the solver is told about exchanges once an answer could not be carried out: a unit needs room to pass.

Offers say what is there in the end. On the way a unit that goes from one full tier to another is in both. Where no
order was found, nobody of those that are left over finds room for as long as none of them goes. So each needs what is
free where it goes to now, and what others free there: one more resource, of which its size is taken and to which those
others give back. Who is larger than all that is free on these tiers together is helped only by those that leave for the
slowest. Beside that it is asked what there is without the largest: prices say little about one large unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from connectors.model import F64, I64, Bools
from policies.placement.move_ordering import TargetTier
from policies.placement.placement_problem import PlacementProblem
from policies.placement.plan_draft import PlanDraft
from policies.solver.offers import STAY, Offers

_PASSING = 4  # units that get a resource each


def with_transit_constraints(
    draft: PlanDraft,
    asked: PlacementProblem,
    offers: Offers,
    choice: I64,
    left: Sequence[TargetTier],
    elsewhere: tuple[I64, I64],
) -> Offers:
    """The offers of a question as they are put again.

    The largest units that were left over get a resource each, those first that are too large for all room that the
    answer gives. Where that leaves the answer as good as it was, one of them has to stay. Where nobody was left over,
    options are barred that were chosen and not done.

    Args:
        draft: as it was when the question was asked.
        asked: the question.
        offers: of the question, with what was told before.
        choice: the answer to them.
        left: those of the answer that found no room in any order.
        elsewhere: options and items of it that were not done.
    """
    size = draft.bundles.size[asked.bundle]
    chosen, gain = np.flatnonzero(choice != STAY), offers.gain.copy()
    if not left:
        gain[elsewhere] = -np.inf
    of = {bundle: item for item, bundle in enumerate(asked.bundle.tolist())}
    items = np.array([of[aim.bundle] for aim in left], dtype=np.int64)
    large = items[_too_large(draft, asked, choice)[choice[items], items]]
    passing = large if len(large) else items
    passing = passing[np.argsort(-size[passing], kind="stable")][:_PASSING]
    rows = [_passing(draft, asked, choice, items, int(item), alone=not len(large)) for item in passing]
    if len(items) and all(use[choice[chosen], chosen].sum() <= room for use, room in rows):
        rows.append(_not_all(asked, choice, items))
    return replace(
        offers,
        gain=gain,
        use=np.concatenate((offers.use, np.array([use for use, _ in rows]).reshape(-1, *asked.target.shape))),
        room=np.append(offers.room, [room for _, room in rows]),
    )


def without_largest(
    draft: PlanDraft, asked: PlacementProblem, offers: Offers, choice: I64, left: Sequence[TargetTier]
) -> Offers:
    """The offers as they are put again: the largest unit that was left over does not go where it was to."""
    size, gain = draft.bundles.size[asked.bundle], offers.gain.copy()
    items = np.flatnonzero(np.isin(asked.bundle, [aim.bundle for aim in left]))
    largest = items[int(size[items].argmax())]
    gain[choice[largest], largest] = -np.inf
    return replace(offers, gain=gain)


def _not_all(asked: PlacementProblem, choice: I64, left: I64) -> tuple[F64, float]:
    """The same for a resource of which all that were left over would take one too many."""
    use = np.zeros(asked.target.shape)
    use[choice[left], left] = 1.0
    return use, len(left) - 1.0


def _too_large(draft: PlanDraft, asked: PlacementProblem, choice: I64) -> Bools:
    """Options between the upper tiers of what is larger than all that is free there once an answer's falls are done."""
    slowest, size = draft.board.tiers - 1, draft.bundles.size[asked.bundle]
    items = np.flatnonzero(choice != STAY)
    gone = items[asked.target[choice[items], items] == slowest]
    between = (asked.target < slowest) & (draft.tier()[asked.bundle] < slowest)
    free = sum(draft.board.free_bytes(tier) for tier in range(slowest)) + int(size[gone].sum())
    return np.asarray(between & (size > free), dtype=np.bool_)


def _passing(
    draft: PlanDraft, asked: PlacementProblem, choice: I64, left: I64, item: int, *, alone: bool
) -> tuple[F64, float]:
    """What each option takes of the room in which one item is to pass, and how much there is now.

    Args:
        draft: as it was when the question was asked.
        asked: the question.
        choice: the answer.
        left: items that were left over.
        item: one of them.
        alone: the room of the tier where it goes to is what it needs, otherwise all of the upper tiers.
    """
    slowest, size = draft.board.tiers - 1, draft.bundles.size[asked.bundle].astype(np.float64)
    option = int(choice[item])
    tier = int(asked.target[option, item])
    if alone:
        gives = np.broadcast_to(draft.tier()[asked.bundle] == tier, asked.target.shape).copy()
        gives[choice[left], left] = False
        room = draft.board.free_bytes(tier)
    else:
        gives, room = asked.target == slowest, sum(draft.board.free_bytes(each) for each in range(slowest))
    use = np.where(gives, -size, 0.0)
    use[option, item] = size[item]
    return use, float(room)
