"""Mode ``preference``: how far each pin is fulfilled, and what stands in the way. Its moves are ``hsm.pin_groups``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from math import ceil

import numpy as np

from connectors.formatting import format_bytes, format_seconds
from connectors.model import I8, I64, Bools
from policies.benefit.bundles import Bundles, bundles_of
from policies.model.plan import Pin, Plan, PolicySettings, Situation
from policies.placement.granularity import single_where_possible
from policies.storage.capacity import room_bytes

NONE = np.int8(-1)  # not pinned


class PinState(IntEnum):
    """How far a pin is fulfilled, the best first."""

    SATISFIED = 0
    PLANNED = 1  # a move of the plan fulfils it
    PARTLY = 2  # of some of the units that it matches
    LEFT_TO_HEAT = 3  # preferred: its heat counts more, but decides
    RESTING = 4  # moved not long ago
    WAITING_FOR_ROOM = 5
    IMPOSSIBLE = 6

    @property
    def code(self) -> str:
        """The state as one word in JSON."""
        return self.name.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class PinSummary:
    """One pin over all units that it governs."""

    state: PinState
    units: int  # that it governs, at least one
    satisfied: int
    why: str  # of one of its units that are worst off; "" where all are satisfied


@dataclass(frozen=True, slots=True, kw_only=True)
class PinView:
    """The state of every pin under a plan."""

    situation: Situation
    bundles: Bundles
    state: I8  # (n,) PinState of each unit, NONE where it is not pinned

    def summary(self, rows: I64) -> PinSummary:
        """The pin that governs the units in these rows, at least one."""
        states, key = self.state[rows], self.situation.units.key
        satisfied = int((states == PinState.SATISFIED).sum())
        worst = PinState(int(states.max()))
        # By key: the reason shown must not depend on the order in which a catalog lists its units.
        first = min((int(row) for row in rows[states == worst]), key=lambda row: key[row])
        return PinSummary(
            state=PinState.PARTLY if 0 < satisfied < len(rows) else worst,
            units=len(rows),
            satisfied=satisfied,
            why="" if worst is PinState.SATISFIED else self.sentence(first),
        )

    def sentence(self, row: int) -> str:
        """The state of one pinned unit, and what stands in the way."""
        key = self.situation.units.key[row]
        match PinState(int(self.state[row])):
            case PinState.SATISFIED:
                return f"{key} is where its pin wants it."
            case PinState.PLANNED:
                return f"{key} gets there by a move of the plan."
            case PinState.LEFT_TO_HEAT:
                return f"{key} is preferred: its heat counts more, and decides."
            case PinState.RESTING:
                cooling = float(self.bundles.cooling[self.bundles.of_row[row]])
                rest = f"it rests for another {format_seconds(cooling)}"
                return f"{key} was moved, or a move of it failed, not long ago; {rest}."
            case PinState.WAITING_FOR_ROOM:
                needs = f"{format_bytes(self._size(row))} {self._where(row)}"
                return f"{key} needs {needs}; it waits for room or a later plan."
            case _:
                return f"{key} {self._obstacle(row)}."

    def _size(self, row: int) -> int:
        return int(self.bundles.size[self.bundles.of_row[row]])

    def _where(self, row: int) -> str:
        fast = self.situation.tiers[0].name
        return f"off {fast}" if self.situation.pin[row] == Pin.NEVER else f"on {fast}"

    def _obstacle(self, row: int) -> str:
        situation, bundle = self.situation, int(self.bundles.of_row[row])
        if self.bundles.tier[bundle] < 0:
            return f"is in {situation.spaces[int(self.bundles.space[bundle])].name}, for which no tier is configured"
        if self.bundles.pin[bundle] == Pin.NEVER and situation.pin[row] != Pin.NEVER:
            return f"moves together with a unit that is pinned off {situation.tiers[0].name}"
        if not self.bundles.routable[bundle]:
            return f"cannot be moved: {situation.no_route[situation.units.key[int(self.bundles.lead[bundle])]]}"
        return f"needs {format_bytes(self._size(row))}, more than any space {self._where(row)} is known to hold"


def pin_view(situation: Situation, plan: Plan, settings: PolicySettings) -> PinView:
    """How far each pin is fulfilled, and what the plan does about it."""
    judged = single_where_possible(situation)
    bundles = bundles_of(judged, settings)
    situation = replace(judged, pin=situation.pin)  # who shares a way with others still has a pin of its own
    of_row, pin = bundles.of_row, situation.pin
    fast = situation.tier_of_space[situation.units.space] == 0
    moved = np.zeros(len(pin), dtype=np.bool_)
    moved[[row for move in plan.moves for row in move.rows]] = True
    cases: list[tuple[Bools, PinState]] = [
        # The order decides: `np.select` takes the first that holds, and a unit that is where it should be is satisfied
        # even if no route would lead it there again.
        (fast == (pin != Pin.NEVER), PinState.SATISFIED),
        (moved & (plan.chosen == (pin != Pin.NEVER)), PinState.PLANNED),
        (_impossible(situation, bundles, settings)[of_row], PinState.IMPOSSIBLE),
        ((bundles.pin == Pin.NEVER)[of_row] & (pin != Pin.NEVER), PinState.IMPOSSIBLE),
        (pin == Pin.PREFER, PinState.LEFT_TO_HEAT),
        (bundles.cooling[of_row] > 0, PinState.RESTING),
    ]
    words = [np.int8(word) for _, word in cases]
    state = np.select([case for case, _ in cases], words, np.int8(PinState.WAITING_FOR_ROOM))
    return PinView(situation=situation, bundles=bundles, state=np.where(pin == Pin.NONE, NONE, state).astype(np.int8))


def _impossible(situation: Situation, bundles: Bundles, settings: PolicySettings) -> Bools:
    """Bundles that no tier is known for, that have no route, or that no space there could hold even when empty."""
    fast = _largest(situation, settings, [row for row, tier in enumerate(situation.tier_of_space) if tier == 0])
    slow = _largest(situation, settings, [row for row, tier in enumerate(situation.tier_of_space) if tier > 0])
    too_large = bundles.size > np.where(bundles.pin == Pin.NEVER, slow, fast)
    return np.asarray((bundles.tier < 0) | ~bundles.routable | too_large, dtype=np.bool_)


def _largest(situation: Situation, settings: PolicySettings, spaces: list[int]) -> int:
    """Bytes that the largest of some spaces can hold, -1 where none is known."""
    sizes = [-1]
    for space in (situation.spaces[row] for row in spaces):
        free = room_bytes(space, 0.0)
        if free is not None:
            capacity = space.capacity_bytes if space.capacity_bytes is not None else space.used_bytes + free
            sizes.append(capacity - ceil(capacity * settings.head_room_ratio))
    return max(sizes)
