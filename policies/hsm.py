"""Mode ``hsm``: hot up, cold down only where its room is needed, as groups each of which pays by itself.

A group is what gives way followed by what comes in its place. Pins come first and need not pay: somebody asked for
them. Then the solver says for all tiers at once who deserves which, and groups are built so that every one of them
saves more than it loses, passes the floor and pays back. What could not be done that way is asked anew without it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from connectors.model import F64, I64, Bools
from policies.asking import Question, question
from policies.board import Group
from policies.draft import Draft, by_density
from policies.offers import STAY
from policies.placement import bound, place
from policies.plan import MoveReason, Pin, Tier
from policies.schedule import scheduled

_ROUNDS = 4  # of asking the solver again with the moves and the room that are left


def pin_groups(draft: Draft, wanted: Bools) -> list[Group]:
    """What must never be on the fastest tier goes down, then what must be there comes up, cost what it may.

    Args:
        draft: is extended.
        wanted: bundles with ``Pin.MUST`` that may be moved.
    """
    bundles, board = draft.bundles, draft.board
    free = (bundles.cooling <= 0) & bundles.routable
    groups = []
    barred = free & (bundles.pin == Pin.NEVER) & (bundles.tier == 0) & draft.demote
    for bundle in by_density(draft, barred, bundles.saved(0)):
        hop = board.way_down(bundle, MoveReason.PIN)
        if hop is not None and draft.left > 0:
            board.do(hop)
            groups.append(draft.keep(draft.group([hop])))
    residents = draft.leavers() & (draft.tier() == 0)
    cold = _cold(draft, by_density(draft, residents, _loss(draft, 0))) if wanted.any() else {}
    for bundle in by_density(draft, wanted & (bundles.tier > 0), bundles.saved(0)):
        hops = board.way_up(bundle, 0, MoveReason.PIN, cold, draft.left)
        for hop in hops or ():
            board.do(hop)
        if hops:
            groups.append(draft.keep(draft.group(hops)))
    return groups


def best_groups(draft: Draft, tiers: Sequence[Tier], open_to: Sequence[Bools], asked: Question) -> list[Group]:
    """Groups that bring every tier nearer to what deserves it.

    Args:
        draft: is extended.
        tiers: fastest first.
        open_to: per tier but the slowest, the bundles that guards let come to it.
        asked: the question about the draft as it is.
    """
    groups: list[Group] = []
    allowed = [column.copy() for column in open_to]
    for again in range(_ROUNDS):
        placed = place(asked.offers)
        items = np.flatnonzero(placed.choice != STAY)
        found, refused = scheduled(draft, asked.bundle[items], asked.target[placed.choice[items], items])
        groups += found
        for column in allowed:
            column[refused] = False
        if not refused or draft.left < 1 or (again and not found):
            break
        asked = question(draft, tiers, allowed, among=asked.bundle[placed.near])
    return groups


def value_bound(asked: Question) -> tuple[float, bool]:
    """Microseconds per hour that no placement beats from the board as it stands, guards, pins and limits given.

    About wait alone: resident bonus, preference and move cost are left out, doubt too. Also whether it is the moves or
    bytes of one plan that hold it up: then there is more to gain in the next.
    """
    found = bound(replace(asked.offers, gain=asked.plain))
    return found.gain, bool(found.held_up[asked.by_plan].any())


def _loss(draft: Draft, tier: int) -> F64:
    """What each bundle would lose by going from that tier to the next slower one."""
    wait = draft.bundles.wait
    below = min(tier + 1, len(wait) - 1)
    return np.asarray(wait[below] - wait[tier], dtype=np.float64)


def _cold(draft: Draft, densest_first: Iterable[int] | I64) -> dict[int, list[int]]:
    """Bundles that may give way per space, the least regretted first."""
    cold: dict[int, list[int]] = defaultdict(list)
    for bundle in reversed(list(densest_first)):
        cold[int(draft.board.home[bundle])].append(int(bundle))
    return cold
