"""What a plan draft weighs: what moves cost, both ways, and the room of its tiers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from policies.evidence.bundles import bundles_of
from policies.model.moves import MoveReason, Relocation
from policies.model.settings import PolicySettings
from policies.placement.balancer import new_draft
from policies.placement.plan_draft import Balance, PlanDraft
from tests.property.strategies import FOUR_SPACES
from tests.unit.policies.situations import MIB, Site, Unit


def _draft() -> PlanDraft:
    situation = Site(room={"fast": 100 * MIB, "slow": 10**15}).situation(
        [Unit(key="cold", size=8 * MIB, sync=0.1, space="fast"), Unit(key="hot", size=8 * MIB, sync=50.0, space="slow")]
    )
    settings = PolicySettings()
    return new_draft(situation, bundles_of(situation, settings), settings)


def test_a_balance_counts_the_copy_there_and_the_one_back() -> None:
    """Over a horizon of six hours each move is charged a third of its cost an hour, whichever way it goes."""
    draft = _draft()
    draft.settings = replace(draft.settings, horizon_seconds=6 * 3600.0)
    down, up = Relocation(0, 0, 1, MoveReason.MAKE_ROOM), Relocation(1, 1, 0, MoveReason.PROMOTE)
    balance = Balance(draft)
    nets = []
    for relocation in (down, up):
        balance.add(relocation)
        nets.append(balance.net)
    saved = [
        draft.state.saving_of(each) * (draft.settings.resident_bonus if each is down else 1.0) for each in (down, up)
    ]
    cost = draft.bundles.cost[[0, 1]].tolist()
    assert min(cost) > 0
    assert nets == pytest.approx([saved[0] - cost[0] / 3, sum(saved) - sum(cost) / 3])


def test_free_bytes_of_a_tier_leave_out_overfull_spaces() -> None:
    """A space past its head-room offers nothing, and takes nothing from the free bytes of the other spaces."""
    site = Site(room={"fast": 40 * MIB, "fast2": 24 * MIB, "slow": 10**15, "slow2": 0}, tiers=FOUR_SPACES)
    situation, settings = site.situation([Unit(key="u", size=8 * MIB, space="fast")]), PolicySettings(head_room_ratio=0)
    state = new_draft(situation, bundles_of(situation, settings), settings).state
    assert state.free_bytes(0) == 64 * MIB
    state.room[1] = -8 * MIB
    assert state.free_bytes(0) == 40 * MIB
    assert state.capacity_left(0) == 40 * MIB


def test_the_only_space_of_a_tier_may_be_overdrawn() -> None:
    """The solver sees a negative capacity where a tier's one space is past its head-room, so it may repay it."""
    state = _draft().state
    state.room[0] = -8 * MIB
    assert state.free_bytes(0) == 0
    assert state.capacity_left(0) == -8 * MIB
