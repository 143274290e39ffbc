"""An answer of the solver as one order in which everything fits, where swap after swap leads nowhere.

Units of two full tiers that change places need the bytes that are free there: one goes over, and the room that it
leaves lets the next come back. Each may wait for another, and which goes first decides whether all get there. So those
that leave for the slowest tier are thought away, an order is searched for the exchange with all the room that this
gives, largest first, and whoever comes up from the slowest tier comes last. Where there is no such order, the least
regretted of those that go down a little go all the way down instead.

Then the order is cut into groups, each as short as it can be and still pay; who leaves for the slowest tier does it
directly before somebody needs the room.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from policies.board import Board, Group, Hop
from policies.draft import Balance, Draft
from policies.plan import MoveReason

_LOOKS = 400  # at who could go next, in one search for an order


@dataclass(frozen=True, slots=True)
class Aim:
    """A bundle and the tier it is to go to."""

    bundle: int
    tier: int


def exchanged(draft: Draft, aims: Sequence[Aim]) -> list[Group]:
    """Groups that bring bundles to tiers, as many of them as pay; none where no order was found.

    Args:
        draft: is extended.
        aims: the answer.
    """
    order = _with_detours(draft.board, aims)
    return [] if order is None else _Cut(draft, order).groups()


def _with_detours(board: Board, aims: Sequence[Aim]) -> list[Aim] | None:
    """An order in which everybody finds room, with as few detours to the slowest tier as it takes."""
    slowest = board.tiers - 1
    order = _ordered(board, aims)
    if order is not None:
        return order
    falling = [aim for aim in aims if board.tier_of[int(board.home[aim.bundle])] < aim.tier < slowest]
    falling.sort(key=lambda aim: (_regret(board, aim), board.size[aim.bundle], aim.bundle))
    down: list[Aim] = []
    for aim in falling:
        down.append(aim)
        order = _ordered(board, _sent_down(aims, down, slowest))
        if order is not None:
            break
    for aim in down[-2::-1] if order is not None else ():
        without = [other for other in down if other != aim]
        other_order = _ordered(board, _sent_down(aims, without, slowest))
        if other_order is not None:
            down, order = without, other_order
    return order


def _sent_down(aims: Iterable[Aim], down: Sequence[Aim], slowest: int) -> list[Aim]:
    return [Aim(aim.bundle, slowest) if aim in down else aim for aim in aims]


def _regret(board: Board, aim: Aim) -> float:
    """What is lost by going to the slowest tier instead."""
    return float(board.wait[board.tiers - 1, aim.bundle] - board.wait[aim.tier, aim.bundle])


def _ordered(board: Board, aims: Sequence[Aim]) -> list[Aim] | None:
    """An order in which everybody finds room once those that leave for the slowest tier have; the board stays."""
    slowest = board.tiers - 1
    first = [aim for aim in aims if aim.tier == slowest]
    last = [aim for aim in aims if board.tier_of[int(board.home[aim.bundle])] == slowest]
    between = [aim for aim in aims if aim not in first and aim not in last]
    done = _gone(board, first)
    order = None if len(done) < len(first) else _Search(board, between).order()
    board.undo(done)
    return None if order is None else [*first, *order, *last]


def _gone(board: Board, aims: Iterable[Aim]) -> list[Hop]:
    """Hops of those that find room one after the other, done on the board."""
    hops = []
    for aim in aims:
        hop = hop_to(board, aim)
        if hop is not None:
            board.do(hop)
            hops.append(hop)
    return hops


def hop_to(board: Board, aim: Aim) -> Hop | None:
    """The hop to where a bundle is to go, None where there is no room now."""
    space, home = board.seat(aim.bundle, aim.tier), int(board.home[aim.bundle])
    rises = aim.tier < board.tier_of[home]
    return None if space is None else Hop(aim.bundle, home, space, _reason(rises=rises))


def _reason(*, rises: bool) -> MoveReason:
    return MoveReason.PROMOTE if rises else MoveReason.MAKE_ROOM


class _Search:
    """Depth first through the orders of an exchange; who has been seen to be left over together is so for good."""

    def __init__(self, board: Board, aims: Iterable[Aim]) -> None:
        self.board = board
        self.aims = sorted(aims, key=lambda aim: (-int(board.size[aim.bundle]), aim.bundle))
        self.dead: set[int] = set()
        self.looks = _LOOKS

    def order(self) -> list[Aim] | None:
        """An order, None where none was found; the board stays as it is."""
        free = [max(0, room) for space, room in enumerate(self.board.room) if self._within(space)]
        if any(int(self.board.size[aim.bundle]) > sum(free) for aim in self.aims):
            return None
        return self._from((1 << len(self.aims)) - 1)

    def _within(self, space: int) -> bool:
        return self.board.known(space) and self.board.tier_of[space] < self.board.tiers - 1

    def _from(self, waiting: int) -> list[Aim] | None:
        if not waiting:
            return []
        if waiting in self.dead or self.looks < 1:
            return None
        self.looks -= 1
        for at, aim in enumerate(self.aims):
            hop = hop_to(self.board, aim) if waiting >> at & 1 else None
            if hop is None:
                continue
            self.board.do(hop)
            rest = self._from(waiting ^ (1 << at))
            self.board.undo([hop])
            if rest is not None:
                return [aim, *rest]
        self.dead.add(waiting)
        return None


@dataclass(slots=True)
class _Cut:
    """An order, and what of it has been carried out."""

    draft: Draft
    order: Sequence[Aim]
    leaving: list[Aim] = field(default_factory=list)  # for the slowest tier, the least regretted first

    def groups(self) -> list[Group]:
        """Groups that pay, kept in the draft; what is left at the end and does not pay is not done."""
        draft, board = self.draft, self.draft.board
        slowest = board.tiers - 1
        self.leaving = [aim for aim in self.order if aim.tier == slowest]
        self.leaving.sort(key=lambda aim: (self._lost(aim) / max(1, int(board.size[aim.bundle])), aim.bundle))
        groups: list[Group] = []
        hops: list[Hop] = []
        balance = Balance(draft)
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
                hops, balance = [], Balance(draft)
        board.undo(hops)
        return groups

    def _lost(self, aim: Aim) -> float:
        wait, board = self.draft.bundles.wait, self.draft.board
        return float(wait[aim.tier, aim.bundle] - wait[board.tier_of[int(board.home[aim.bundle])], aim.bundle])

    def _way(self, aim: Aim) -> list[Hop]:
        """The hop of one, behind those that have to leave for it; done on the board. Empty where it finds no room."""
        board = self.draft.board
        hops: list[Hop] = []
        left: list[Aim] = []
        hop = hop_to(board, aim)
        for other in self.leaving if hop is None else ():
            if board.tier_of[int(board.home[other.bundle])] != aim.tier:
                continue
            hops += _gone(board, [other])
            left.append(other)
            hop = hop_to(board, aim)
            if hop is not None:
                break
        if hop is None:
            board.undo(hops)
            return []
        hops = self._needed(hops, aim)
        gone = {each.bundle for each in hops}
        self.leaving = [other for other in self.leaving if other.bundle not in gone]
        hop = hop_to(board, aim)
        assert hop is not None
        board.do(hop)
        return [*hops, hop]

    def _needed(self, hops: list[Hop], aim: Aim) -> list[Hop]:
        """The hops without those that turn out not to be needed, the most regretted looked at first."""
        board, kept = self.draft.board, []
        for hop in reversed(hops):
            board.undo([hop])
            if hop_to(board, aim) is None:
                board.do(hop)
                kept.append(hop)
        return kept[::-1]
