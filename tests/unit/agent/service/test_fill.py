"""One fill on every surface: that of the volume, whatever is on it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from prometheus_client import CollectorRegistry

from agent.cli.live_screen import room_text
from agent.config.tiers import Storage
from agent.sampling.learned_state import fill_of
from agent.service.daemon import rooms_of
from agent.service.heard import daemon_status_of
from agent.service.metrics import AgentCollector
from agent.service.notifier import NoticeFacts, find_notices
from agent.service.snapshot import Snapshot, status_document
from connectors.model.observation import Space
from policies.placement.modes import capacity_and_used
from tests.unit.policies.situations import GIB, Site, Unit
from tests.unit.samples import MADE_AT

FULL = 1023 / 1024
SHARED = Space(name="fast", path="/ssd", used_bytes=5 * GIB, free_bytes=GIB, capacity_bytes=1024 * GIB)


def test_five_gigabytes_on_a_full_disk() -> None:
    """5 GiB are the space's own and 1 GiB of 1 TiB is free: everything that shows, measures or warns says 99.9 %."""
    situation = Site(room={"fast": GIB, "slow": GIB}).situation([Unit(key="u", space="fast")])
    situation = replace(situation, spaces=(SHARED, *situation.spaces[1:]))
    storage = Storage(tiers=situation.tiers, spaces=situation.spaces, tier_of_space=np.array([0, 1]))
    snapshot = Snapshot(database="shop", engine="simulated", storage=storage)

    registry = CollectorRegistry()
    registry.register(AgentCollector(lambda: [snapshot], top_units=0))
    labels = {"database": "shop", "space": "fast", "tier": storage.tiers[0].name}
    assert registry.get_sample_value("hotplace_space_fill_ratio", labels) == FULL

    (room, _) = daemon_status_of(status_document(snapshot, MADE_AT, 1)).spaces or ()
    assert room.fill_ratio == FULL
    assert room_text(room).endswith("99.9% full, 1.0 GiB free")
    (notice,) = find_notices(NoticeFacts(database="shop", now=MADE_AT, rooms=rooms_of(storage)))
    assert "99.9% full, 1.0 GiB are free" in notice.sentence
    fill, tier = fill_of(MADE_AT, situation), storage.tiers[0].name
    assert fill.used_bytes[tier] / (fill.capacity_bytes[tier] or 0) == FULL
    capacity, used = capacity_and_used(SHARED)
    assert used / capacity == FULL


@pytest.mark.parametrize(
    ("free", "capacity", "fill"),
    [
        (None, None, None),
        (None, 10 * GIB, 0.5),
        (5 * GIB, None, 0.5),
        (GIB, 10 * GIB, 0.9),
        (50 * GIB, 10 * GIB, 0.5),
        (0, 4 * GIB, 1.25),
    ],
)
def test_what_is_known_of_a_volume(free: int | None, capacity: int | None, fill: float | None) -> None:
    """Of two claims the smaller counts; what is not known has no fill, and never 0."""
    volume = replace(SHARED, free_bytes=free, capacity_bytes=capacity).volume
    assert (None if volume is None else volume.fill_ratio) == fill
