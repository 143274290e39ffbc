"""An answer of the solver carried out in one order for all (``passage``), cut into groups as short as can be.

A group ends as soon as it pays; who leaves for the slowest tier does it directly before somebody needs the room. What
is left at the end and does not pay is not done.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from policies.model.density import compute_density
from policies.model.plan import MoveReason
from policies.placement.move_ordering import TargetTier, hop_to, relocate_in_order, with_detours
from policies.placement.placement_state import Group, Relocation
from policies.placement.plan_draft import PlanDraft


def swap_groups(draft: PlanDraft, aims: Sequence[TargetTier]) -> list[Group]:
    """Groups that bring bundles to tiers, as many of them as pay; none where no order was found.

    Args:
        draft: is extended.
        aims: the answer.
    """
    order = with_detours(draft.board, aims)
    return [] if order is None else _Cut(draft, order).groups()


@dataclass(slots=True)
class _Cut:
    """An order, and what of it has been carried out."""

    draft: PlanDraft
    order: Sequence[TargetTier]
    leaving: list[TargetTier] = field(default_factory=list)  # for the slowest tier, the least regretted first

    def groups(self) -> list[Group]:
        """Groups that pay, kept in the draft; what is left at the end and does not pay is not done."""
        draft, board = self.draft, self.draft.board
        slowest = board.tiers - 1
        leaving = [aim for aim in self.order if aim.tier == slowest]
        loss = np.array([self._loss(aim) for aim in leaving])
        size = board.size[[aim.bundle for aim in leaving]]
        self.leaving = [leaving[at] for at in np.argsort(compute_density(loss, size), kind="stable").tolist()]
        groups: list[Group] = []
        hops: list[Relocation] = []
        balance = draft.start_balance()
        for aim in (aim for aim in self.order if aim.tier != slowest):
            more = self._way(aim)
            if not draft.affords([*hops, *more]):
                board.undo(more)
                break
            hops += more
            for hop in more:
                balance.add(hop)
            if hops and hops[-1].reason is MoveReason.PROMOTE and balance.pays():
                groups.append(draft.keep(draft.group(hops)))
                hops, balance = [], draft.start_balance()
        board.undo(hops)
        return groups

    def _loss(self, aim: TargetTier) -> float:
        wait, board = self.draft.bundles.wait, self.draft.board
        return float(wait[aim.tier, aim.bundle] - wait[board.tier_of[int(board.home[aim.bundle])], aim.bundle])

    def _way(self, aim: TargetTier) -> list[Relocation]:
        """The hop of one, behind those that have to leave for it; done on the board. Empty where it finds no room."""
        board = self.draft.board
        hops: list[Relocation] = []
        hop = hop_to(board, aim)
        for other in self.leaving if hop is None else ():
            if board.tier_of[int(board.home[other.bundle])] != aim.tier:
                continue
            hops += relocate_in_order(board, [other])
            hop = hop_to(board, aim)
            if hop is not None:
                break
        if hop is None:
            board.undo(hops)
            return []
        hops = self._prune(hops, aim)
        away = {each.bundle for each in hops}
        self.leaving = [other for other in self.leaving if other.bundle not in away]
        hop = hop_to(board, aim)
        assert hop is not None
        board.do(hop)
        return [*hops, hop]

    def _prune(self, hops: list[Relocation], aim: TargetTier) -> list[Relocation]:
        """The hops without those that turn out not to be needed, the most regretted looked at first."""
        board, kept = self.draft.board, []
        for hop in reversed(hops):
            board.undo([hop])
            if hop_to(board, aim) is None:
                board.do(hop)
                kept.append(hop)
        return kept[::-1]
