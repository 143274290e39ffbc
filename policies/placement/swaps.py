"""An answer carried out in one feasible order for all (``move_ordering``), cut into groups as short as possible.

A group ends as soon as it pays. Bundles that leave for the slowest tier do so directly before their room is needed. A
last group that does not pay is not carried out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from policies.model.density import compute_density
from policies.model.plan import MoveReason
from policies.placement.move_ordering import TargetPlace, relocate_in_order, relocation_to, with_detours, with_helpers
from policies.placement.placement_state import Group, Relocation
from policies.placement.plan_draft import PlanDraft


def swap_groups(draft: PlanDraft, targets: Sequence[TargetPlace], helpers: Sequence[TargetPlace] = ()) -> list[Group]:
    """Groups that bring bundles to their target places, as many as pay; none if no feasible order was found.

    Args:
        draft: is extended.
        targets: the answer.
        helpers: moves outside of the answer that may open a way, the least loss first.
    """
    order = with_detours(draft.state, targets) or with_helpers(draft.state, targets, helpers)
    return [] if order is None else _Cut(draft, order).groups()


@dataclass(slots=True)
class _Cut:
    """An order, and how much of it has been carried out."""

    draft: PlanDraft
    order: Sequence[TargetPlace]
    leaving: list[TargetPlace] = field(default_factory=list)  # for the slowest tier, the least loss per byte first

    def groups(self) -> list[Group]:
        """Groups that pay, kept in the draft; a last one that does not pay is undone."""
        draft, state = self.draft, self.draft.state
        leaving = [target for target in self.order if target.place >= state.exchanging]
        loss = np.array([self._loss(target) for target in leaving])
        size = state.size[[target.bundle for target in leaving]]
        self.leaving = [leaving[at] for at in np.argsort(compute_density(loss, size), kind="stable").tolist()]
        groups: list[Group] = []
        relocations: list[Relocation] = []
        balance = draft.start_balance()
        for target in (target for target in self.order if target.place < state.exchanging):
            more = self._way(target)
            # Ends here instead of passing over it: what follows in this order may need the room that this one would
            # have left.
            if not draft.affords([*relocations, *more]):
                state.undo(more)
                break
            relocations += more
            for relocation in more:
                balance.add(relocation)
            # A group may not end with a demotion, though the balance may already pay before it: it would make room for
            # what the next group may never bring.
            if relocations and relocations[-1].reason is MoveReason.PROMOTE and balance.pays():
                groups.append(draft.keep(draft.group(relocations)))
                relocations, balance = [], draft.start_balance()
        state.undo(relocations)
        return groups

    def _loss(self, target: TargetPlace) -> float:
        wait, state = self.draft.bundles.wait, self.draft.state
        return float(
            wait[state.places[target.place].tier, target.bundle]
            - wait[state.tier_of_bundle(target.bundle), target.bundle]
        )

    def _way(self, target: TargetPlace) -> list[Relocation]:
        """One relocation, preceded by the demotions that it needs; applied to the state. Empty if it finds no room."""
        state = self.draft.state
        relocations: list[Relocation] = []
        relocation = relocation_to(state, target)
        for other in self.leaving if relocation is None else ():
            if state.place_of_bundle(other.bundle) != target.place:
                continue
            relocations += relocate_in_order(state, [other])
            relocation = relocation_to(state, target)
            if relocation is not None:
                break
        if relocation is None:
            state.undo(relocations)
            return []
        relocations = state.without_needless(relocations, lambda: relocation_to(state, target) is not None)
        away = {each.bundle for each in relocations}
        self.leaving = [other for other in self.leaving if other.bundle not in away]
        relocation = relocation_to(state, target)
        assert relocation is not None
        state.apply(relocation)
        return [*relocations, relocation]
