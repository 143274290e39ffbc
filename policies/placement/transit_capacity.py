"""Transit constraints: added to the problem if the solver's answer has no feasible order of moves.

The problem states the final placement. On the way, a bundle that goes from one full tier to another occupies both. If
no feasible order exists, the remaining moves block each other: each needs space that only another can free. So each of
them needs what is free in its target tier now plus what the others release there. That is one more resource, consumed
by the bundle's size and released by those others. A bundle larger than all free bytes of the upper tiers together is
helped only by bundles that leave for the slowest tier.

Why not add these constraints from the start: there would be one per bundle, and most answers have a feasible order.
Besides, a variant without the largest blocked bundle is solved, since prices say little about one large item.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from connectors.model import F64, I64, Bools
from policies.placement.move_ordering import TargetPlace
from policies.placement.placement_problem import PlacementProblem
from policies.placement.plan_draft import PlanDraft
from policies.solver.offers import STAY, Offers

_PASSING = 4  # bundles that get a resource each


def with_transit_constraints(
    draft: PlanDraft,
    problem: PlacementProblem,
    offers: Offers,
    choice: I64,
    left: Sequence[TargetPlace],
    elsewhere: tuple[I64, I64],
) -> Offers:
    """The problem with transit constraints added.

    The largest bundles that were left over get a resource each, first those too large for all room that the answer
    frees. If the last answer would still be feasible, one of the left-over bundles has to stay. If none was left over,
    options that were chosen and not carried out are excluded.

    Args:
        draft: in the state in which the problem was built.
        problem: the problem.
        offers: of the problem, with the constraints added before.
        choice: the answer to them.
        left: targets of the answer that fit in no order.
        elsewhere: options and items of it that were not carried out.
    """
    size = draft.bundles.size[problem.bundle]
    chosen, gain = np.flatnonzero(choice != STAY), offers.gain.copy()
    if not left:
        gain[elsewhere] = -np.inf
    of = {bundle: item for item, bundle in enumerate(problem.bundle.tolist())}
    items = np.array([of[target.bundle] for target in left], dtype=np.int64)
    large = items[_too_large(draft, problem, choice)[choice[items], items]]
    passing = large if len(large) else items
    passing = passing[np.argsort(-size[passing], kind="stable")][:_PASSING]
    rows = [_passing(draft, problem, choice, items, int(item), alone=not len(large)) for item in passing]
    # The new resources are necessary and not sufficient. Where the last answer still satisfies them, solving again
    # would return it, so something has to exclude it.
    if len(items) and all(consumption[choice[chosen], chosen].sum() <= capacity for consumption, capacity in rows):
        rows.append(_not_all(problem, choice, items))
    return replace(
        offers,
        gain=gain,
        consumption=np.concatenate(
            (offers.consumption, np.array([consumption for consumption, _ in rows]).reshape(-1, *problem.target.shape))
        ),
        capacity=np.append(offers.capacity, [capacity for _, capacity in rows]),
    )


def excluding_largest(
    draft: PlanDraft, problem: PlacementProblem, offers: Offers, choice: I64, left: Sequence[TargetPlace]
) -> Offers:
    """The problem in which the largest bundle that was left over does not go to its target."""
    size, gain = draft.bundles.size[problem.bundle], offers.gain.copy()
    items = np.flatnonzero(np.isin(problem.bundle, [target.bundle for target in left]))
    largest = items[int(size[items].argmax())]
    gain[choice[largest], largest] = -np.inf
    return replace(offers, gain=gain)


def _not_all(problem: PlacementProblem, choice: I64, left: I64) -> tuple[F64, float]:
    """Consumption and capacity of a resource that all left-over bundles together would exceed by one."""
    consumption = np.zeros(problem.target.shape)
    consumption[choice[left], left] = 1.0
    return consumption, len(left) - 1.0


def _too_large(draft: PlanDraft, problem: PlacementProblem, choice: I64) -> Bools:
    """Options between the upper tiers of bundles larger than all free bytes there after the answer's demotions."""
    upper, size = draft.state.exchanging, draft.bundles.size[problem.bundle]
    items = np.flatnonzero(choice != STAY)
    gone = items[problem.target[choice[items], items] >= upper]
    between = (problem.target < upper) & (draft.place()[problem.bundle] < upper)
    free = sum(draft.state.free_bytes(place) for place in range(upper)) + int(size[gone].sum())
    return np.asarray(between & (size > free), dtype=np.bool_)


def _passing(
    draft: PlanDraft, problem: PlacementProblem, choice: I64, left: I64, item: int, *, alone: bool
) -> tuple[F64, float]:
    """Consumption and capacity of the resource that one bundle's transit needs.

    Args:
        draft: in the state in which the problem was built.
        problem: the problem.
        choice: the answer.
        left: items that were left over.
        item: one of them.
        alone: the bundle needs free bytes of its target place only, otherwise of all places of the upper tiers.
    """
    upper, size = draft.state.exchanging, draft.bundles.size[problem.bundle].astype(np.float64)
    option = int(choice[item])
    place = int(problem.target[option, item])
    if alone:
        gives = np.broadcast_to(draft.place()[problem.bundle] == place, problem.target.shape).copy()
        # What is itself stuck releases nothing: two blocked bundles would otherwise count on each other's room.
        gives[choice[left], left] = False
        capacity = draft.state.free_bytes(place)
    else:
        gives, capacity = problem.target >= upper, sum(draft.state.free_bytes(each) for each in range(upper))
    consumption = np.where(gives, -size, 0.0)
    consumption[option, item] = size[item]
    return consumption, float(capacity)
