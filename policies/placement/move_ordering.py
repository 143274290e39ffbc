"""An order in which all of an answer finds room, where swap after swap leads nowhere.

Units of two full tiers that change places need the bytes that are free there: one goes over, and the room that it
leaves lets the next come back. Each may wait for another, and which goes first decides whether all get there. So those
that leave for the slowest tier are thought away, an order is searched for the exchange with all the room that this
gives, largest first, and whoever comes up from the slowest tier comes last. Where there is no such order, the least
regretted of those that go down a little go all the way down instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from policies.model.plan import MoveReason
from policies.placement.placement_state import PlacementState, Relocation

_LOOKS = 4000  # at who could go next, in one search for an order
_DETOURS = 24  # that are tried


@dataclass(frozen=True, slots=True)
class TargetTier:
    """A bundle and the tier it is to go to."""

    bundle: int
    tier: int


def find_stuck(board: PlacementState, aims: Sequence[TargetTier]) -> list[TargetTier]:
    """Those of an answer that find no room in any order that was tried, the fewest bytes of them; the board stays."""
    return _Search(board, _parts(board, aims)).left


def with_detours(board: PlacementState, aims: Sequence[TargetTier]) -> list[TargetTier] | None:
    """An order in which everybody finds room, with as few detours to the slowest tier as it takes; None: none found.

    Of equals those go first that come first. The board stays.
    """
    slowest = board.tiers - 1
    order = _find_order(board, aims)
    if order is not None:
        return order
    falling = [aim for aim in aims if board.tier_of[int(board.home[aim.bundle])] < aim.tier < slowest]
    falling.sort(key=lambda aim: (_regret(board, aim), board.size[aim.bundle]))
    down: list[int] = []
    for aim in falling[:_DETOURS]:
        down.append(aim.bundle)
        order = _find_order(board, _sent_down(aims, down, slowest))
        if order is not None:
            break
    for bundle in down[-2::-1] if order is not None else ():
        without = [other for other in down if other != bundle]
        shorter = _find_order(board, _sent_down(aims, without, slowest))
        if shorter is not None:
            down, order = without, shorter
    return order


def _sent_down(aims: Iterable[TargetTier], down: Sequence[int], slowest: int) -> list[TargetTier]:
    return [TargetTier(aim.bundle, slowest) if aim.bundle in down else aim for aim in aims]


def _regret(board: PlacementState, aim: TargetTier) -> float:
    """What is lost by going to the slowest tier instead."""
    return float(board.wait[board.tiers - 1, aim.bundle] - board.wait[aim.tier, aim.bundle])


@dataclass(frozen=True, slots=True)
class _Parts:
    """An answer by what finds room when."""

    first: list[TargetTier]  # who leaves for the slowest tier
    between: list[TargetTier]  # who changes places
    last: list[TargetTier]  # who comes up from the slowest tier


def _parts(board: PlacementState, aims: Iterable[TargetTier]) -> _Parts:
    parts = _Parts([], [], [])
    for aim in aims:
        if aim.tier == board.tiers - 1:
            parts.first.append(aim)
        elif board.tier_of[int(board.home[aim.bundle])] == board.tiers - 1:
            parts.last.append(aim)
        else:
            parts.between.append(aim)
    return parts


def _find_order(board: PlacementState, aims: Iterable[TargetTier]) -> list[TargetTier] | None:
    """An order in which everybody finds room once those that leave for the slowest tier have; the board stays."""
    parts = _parts(board, aims)
    search = _Search(board, parts)
    return None if search.left else [*parts.first, *search.order, *parts.last]


def relocate_in_order(board: PlacementState, aims: Iterable[TargetTier]) -> list[Relocation]:
    """Hops of those that find room one after the other, done on the board."""
    hops = []
    for aim in aims:
        hop = hop_to(board, aim)
        if hop is not None:
            board.do(hop)
            hops.append(hop)
    return hops


def hop_to(board: PlacementState, aim: TargetTier) -> Relocation | None:
    """The hop to where a bundle is to go, None where there is no room now."""
    space, home = board.seat(aim.bundle, aim.tier), int(board.home[aim.bundle])
    rises = aim.tier < board.tier_of[home]
    return None if space is None else Relocation(aim.bundle, home, space, _reason(rises=rises))


def _reason(*, rises: bool) -> MoveReason:
    return MoveReason.PROMOTE if rises else MoveReason.MAKE_ROOM


class _Search:
    """Depth first through the orders of an exchange; who has been seen to be left over together is so for good.

    The board is as it was once the search is made.
    """

    def __init__(self, board: PlacementState, parts: _Parts) -> None:
        self.order: list[TargetTier] = []
        self.left = sorted(parts.between, key=lambda aim: -int(board.size[aim.bundle]))
        self._board, self._dead = board, set[int]()
        first = relocate_in_order(board, parts.first)
        free = sum(board.free_bytes(tier) for tier in range(board.tiers - 1))
        doomed = any(int(board.size[aim.bundle]) > free for aim in parts.between)
        self._looks = 2 * len(self.left) + (0 if doomed else _LOOKS)
        self._go(list(self.left))
        if len(first) < len(parts.first):
            self.left = self.left or parts.first
        board.undo(first)

    def _go(self, waiting: list[TargetTier]) -> None:
        path: list[tuple[int, TargetTier, Relocation]] = []
        bit = {aim.bundle: 1 << at for at, aim in enumerate(waiting)}
        mask, at = (1 << len(waiting)) - 1, 0
        while self.left:
            step = self._next(waiting, at, mask, bit)
            if step is not None:
                at, aim, hop = step
                self._board.do(hop)
                path.append((at, waiting.pop(at), hop))
                mask, at = mask ^ bit[aim.bundle], 0
                if waiting:
                    continue
            if self._weight(waiting) < self._weight(self.left):
                self.left, self.order = list(waiting), [each for _, each, _ in path]
            self._dead.add(mask)
            if not path or self._looks < 1:
                break
            at, aim, hop = path.pop()
            self._board.undo([hop])
            waiting.insert(at, aim)
            mask, at = mask ^ bit[aim.bundle], at + 1
        self._board.undo(hop for _, _, hop in path)

    def _next(
        self, waiting: list[TargetTier], start: int, mask: int, bit: dict[int, int]
    ) -> tuple[int, TargetTier, Relocation] | None:
        """The next one that finds room now: its position, where it is to go, and how."""
        for at in range(start, len(waiting)):
            aim = waiting[at]
            if self._looks < 1 or mask ^ bit[aim.bundle] in self._dead:
                continue
            self._looks -= 1
            hop = hop_to(self._board, aim)
            if hop is not None:
                return at, aim, hop
        return None

    def _weight(self, aims: Sequence[TargetTier]) -> tuple[int, int]:
        return sum(int(self._board.size[aim.bundle]) for aim in aims), len(aims)
