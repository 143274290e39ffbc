"""How a pool of fast storage is best shared by the databases of a ledger, and where its next bytes belong. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from policies.model.settings import GIB
from policies.placement.pool import PoolPlan, SizeCurve, share_pool


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolMember:
    """A database whose agent has stored what sizes of its fastest tier would save."""

    curve: SizeCurve
    tier: str
    present_bytes: int
    present_known: bool

    @property
    def present(self) -> int:
        """Where the curve has the present size, or the largest size below it."""
        return max(0, int(np.searchsorted(self.curve.bytes, self.present_bytes, side="right")) - 1)

    def from_present(self) -> SizeCurve:
        """The curve without what is smaller than it has now."""
        return SizeCurve(self.curve.name, self.curve.bytes[self.present :], self.curve.saved[self.present :])


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolShare:
    """What one database gets."""

    member: PoolMember
    bytes: int
    saved_per_hour: float  # wait seconds, on it
    saved_now_per_hour: float  # the same with its present size put to the best use


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPool:
    """The best use of a pool."""

    budget_bytes: int
    shares: tuple[PoolShare, ...]  # what gains most first
    plan: PoolPlan

    @property
    def next_gib_per_hour(self) -> float:
        """Wait seconds per hour that another GiB saves at most, wherever it goes."""
        return self.plan.price * GIB

    @property
    def gained_per_hour(self) -> float:
        """Wait seconds per hour beyond what the present sizes save."""
        return sum(share.saved_per_hour - share.saved_now_per_hour for share in self.shares)


def members_of(documents: Mapping[str, Any], patterns: Sequence[str]) -> list[PoolMember]:
    """The databases that patterns name and whose curve is known, by name.

    Args:
        documents: under ``SIZING_CURVE``, by database.
        patterns: of names, as of files.
    """
    named = {name: each for name, each in documents.items() if any(fnmatchcase(name, p) for p in patterns)}
    return [_member(name, each) for name, each in sorted(named.items()) if each]


def share_budget(members: Sequence[PoolMember], budget: int) -> SharedPool:
    """Share a budget as if nothing were placed yet.

    Raises:
        PoolTooSmall: it does not hold what is pinned to the fastest tiers.
    """
    return _share(members, [member.curve for member in members], budget)


def share_more(members: Sequence[PoolMember], more: int) -> SharedPool:
    """Share so many bytes beyond what each has now, which it keeps."""
    curves = [member.from_present() for member in members]
    return _share(members, curves, more + sum(int(curve.bytes[0]) for curve in curves))


def _share(members: Sequence[PoolMember], curves: Sequence[SizeCurve], budget: int) -> SharedPool:
    plan = share_pool(curves, budget)
    shares = [
        PoolShare(
            member=member,
            bytes=int(curve.bytes[at]),
            saved_per_hour=float(curve.saved[at]),
            saved_now_per_hour=float(member.curve.saved[member.present]),
        )
        for member, curve, at in zip(members, curves, plan.chosen, strict=True)
    ]
    shares.sort(key=lambda share: (share.saved_now_per_hour - share.saved_per_hour, share.member.curve.name))
    return SharedPool(budget_bytes=budget, shares=tuple(shares), plan=plan)


def _member(name: str, document: Mapping[str, Any]) -> PoolMember:
    sizes, saved = zip(*document["points"], strict=True)
    curve = SizeCurve(name, np.array(sizes, dtype=np.int64), np.maximum.accumulate(np.array(saved, dtype=np.float64)))
    return PoolMember(
        curve=curve, tier=document["tier"], present_bytes=document["present_bytes"],
        present_known=document["present_known"],
    )  # fmt: skip
