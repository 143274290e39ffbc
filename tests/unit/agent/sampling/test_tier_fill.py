"""How full tiers were: one look an hour, then one a day, and none for ever."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from pathlib import Path

from agent.ledger.ledger import Ledger
from agent.sampling.learned_state import BY_THE_HOUR, KEPT, Fill, fill_of, record_fill, recorded_fills
from tests.ledger.clock import StillClock
from tests.unit.policies.situations import GIB, Site, Unit
from tests.unit.samples import MADE_AT

HOUR = timedelta(hours=1)


def test_a_tier_is_all_its_spaces() -> None:
    """Bytes and capacity add up by tier; capacity only where that of each space is known; other spaces are left out."""
    site = Site(room={"a": GIB, "b": 2 * GIB, "c": None, "elsewhere": 5 * GIB})
    tiers = [("ssd", site.tiers[0][1], ("a", "b")), ("hdd", site.tiers[1][1], ("c",))]
    units = [Unit(key=key, space=key, size=GIB) for key in ("a", "b", "c", "elsewhere")]
    found = fill_of(MADE_AT, Site(room=site.room, tiers=tiers).situation(units))
    assert found.used_bytes == {"ssd": 2 * GIB, "hdd": GIB}
    assert found.capacity_bytes == {"ssd": 5 * GIB, "hdd": None}


def test_what_is_kept_has_an_end(tmp_path: Path) -> None:
    """By the hour for a week, by the day for three months; a look of the same hour replaces the one before."""
    clock = StillClock()
    with Ledger.open(tmp_path / "ledger.db", clock) as ledger:
        days = [MADE_AT + timedelta(days=day, hours=hour) for day in range(100) for hour in (0, 6)]
        hours = [days[-1] + at * HOUR for at in range(1, 24 * 8)]
        for number, at in enumerate((*days, *hours, hours[-1] + timedelta(minutes=20))):
            look = Fill(at=at, used_bytes={"ssd": number}, capacity_bytes={"ssd": None})
            record_fill(ledger, "shop", look)
        kept = recorded_fills(ledger, "shop")
        assert recorded_fills(ledger, "other") == []
    assert kept[-1] == look
    recent = [each for each in kept if look.at - each.at < BY_THE_HOUR]
    assert len(recent) == BY_THE_HOUR // HOUR
    assert {later.at - sooner.at for sooner, later in pairwise(recent[:-1])} == {HOUR}
    assert {each.at - before.at for before, each in pairwise(kept[: -len(recent) - 2])} == {timedelta(days=1)}
    assert KEPT - timedelta(days=2) < look.at - kept[0].at < KEPT
