"""How full tiers were when plans were made: by the hour for a week, then by the day, for people who look back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from agent.ledger import Ledger
from agent.ledger.state_names import TIER_FILL
from policies.model.plan import Situation

BY_THE_HOUR = timedelta(days=7)
KEPT = timedelta(days=90)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fill:
    """One look at all tiers."""

    at: datetime
    used_bytes: dict[str, int]  # by tier
    capacity_bytes: dict[str, int | None]  # None: of a space of the tier it is not known


def fill_of(at: datetime, situation: Situation) -> Fill:
    """How full each tier is; spaces that no tier names are left out."""
    used: dict[str, int] = {}
    capacity: dict[str, int | None] = {}
    for row, tier in enumerate(situation.tiers):
        within = [situation.spaces[space] for space in np.flatnonzero(situation.tier_of_space == row)]
        known = [space.capacity_bytes for space in within if space.capacity_bytes is not None]
        used[tier.name] = sum(space.used_bytes for space in within)
        capacity[tier.name] = sum(known) if len(known) == len(within) else None
    return Fill(at=at, used_bytes=used, capacity_bytes=capacity)


def record_fill(ledger: Ledger, database: str, fill: Fill) -> None:
    """Add a look to the stored ones; it replaces an earlier one of the same hour."""
    earlier = [each for each in recorded_fills(ledger, database) if each.at < fill.at and _hour(each) != _hour(fill)]
    ledger.state.save_document(database, TIER_FILL, [_document(each) for each in _thin_out([*earlier, fill])])


def recorded_fills(ledger: Ledger, database: str) -> list[Fill]:
    """All that is stored, the oldest first."""
    stored = ledger.state.load_document(database, TIER_FILL)
    return [] if stored is None else [_fill(plain) for plain in stored[1]]


def _hour(fill: Fill) -> datetime:
    return fill.at.replace(minute=0, second=0, microsecond=0)


def _thin_out(fills: Iterable[Fill]) -> list[Fill]:
    """By the hour in the last week, the last of each day before, and none older than ``KEPT``."""
    found = list(fills)
    now = found[-1].at
    of_day = {each.at.date(): each for each in found}
    return [
        each
        for each in found
        if now - each.at < BY_THE_HOUR or (now - each.at < KEPT and of_day[each.at.date()] is each)
    ]


def _document(fill: Fill) -> dict[str, Any]:
    return {"at": fill.at.isoformat(), "used_bytes": fill.used_bytes, "capacity_bytes": fill.capacity_bytes}


def _fill(plain: dict[str, Any]) -> Fill:
    at = datetime.fromisoformat(plain["at"])
    return Fill(at=at, used_bytes=plain["used_bytes"], capacity_bytes=plain["capacity_bytes"])
