"""No prefix of a plan puts more on a tier than it bears: I/Os of its drives, bytes written to it in a day."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.model.observation import F64, I64
from policies.evidence.capacity import drive_io, written_per_day
from policies.model.moves import MoveReason
from policies.model.plan import Situation
from policies.model.settings import TierLimits
from policies.placement.balancer import make_plan
from policies.placement.placement_state import PLANNED_IO
from tests.examples import examples
from tests.property.strategies import TWO, Case, cases
from tests.unit.policies.situations import BARE, MIB, Site, Unit

LOAD = st.sampled_from([0.5, 1.0, 1.25, 2.0, None])  # of what a tier bears now
ROUNDING = np.array([1e-4, 20.0])  # I/Os per second, bytes: columns are in whole millionths and bytes


@st.composite
def busy(draw: st.DrawFn) -> Case:
    """Everybody is busy and bytes are no matter, so it is strain that somebody has to leave for."""
    units = [
        Unit(
            key=f"u{at}",
            size=draw(st.integers(1, 4)) * MIB,
            sync=float(draw(st.integers(1, 99))),
            writes=draw(st.sampled_from([0.0, 0.05])),
            space=draw(st.sampled_from(["fast", "slow"])),
        )
        for at in range(draw(st.integers(2, 8)))
    ]
    return Case(Site(room={"fast": 10**9, "slow": 10**15}, tiers=TWO), tuple(units), BARE)


@settings(deadline=None, max_examples=examples(200))
@given(busy() | busy() | cases(), st.lists(st.tuples(LOAD, LOAD, st.sampled_from([0, 8])), min_size=3, max_size=3))
def test_no_prefix_passes_a_limit(case: Case, shares: list[tuple[float | None, float | None, int]]) -> None:
    """Whoever comes finds a tier that bears him then, whoever is still to leave. Only pins strain it, as was asked."""
    situation = case.situation()
    home = situation.tier_of_space[situation.units.space].astype(np.int64)
    tiers = []
    for row, (tier, (of_io, of_bytes, used)) in enumerate(zip(situation.tiers, shares, strict=False)):
        io, own = _borne(situation, case, home, np.zeros(3), row)
        limits = TierLimits(
            io_per_second=None if of_io is None else io * of_io / 0.8 + 1e-3,
            written_bytes_per_day=None if of_bytes is None else own * of_bytes + 100 * MIB,
            copied_bytes=float(used * MIB),
        )
        tiers.append(replace(tier, limits=limits))
    situation = replace(situation, tiers=tuple(tiers))
    plan = make_plan(situation, case.settings)
    assert plan.wait_saved_per_hour <= plan.bound_per_hour + 1e-3
    names = [space.name for space in situation.spaces]
    copied = np.array([tier.limits.copied_bytes for tier in tiers])
    for move in plan.moves:
        target = int(situation.tier_of_space[names.index(move.to_space)])
        before = _borne(situation, case, home, copied, target)
        home[list(move.rows)] = target
        copied[target] += move.size_bytes
        if move.reason is not MoveReason.PIN:
            after = _borne(situation, case, home, copied, target)
            limit = np.array([_limit(tiers[target].limits), tiers[target].limits.written_bytes_per_day or np.inf])
            assert np.all(after <= np.maximum(before, limit) + ROUNDING), f"{move.key} is too much for {move.to_tier}"


def _limit(limits: TierLimits) -> float:
    return np.inf if limits.io_per_second is None else limits.io_per_second * PLANNED_IO


def _borne(situation: Situation, case: Case, home: I64, copied: F64, tier: int) -> F64:
    """I/Os per second of a tier's drives, and bytes written to it in a day."""
    here, rates = home == tier, situation.heat.rates
    own = np.rint(written_per_day(rates, case.settings.block_bytes))[here].sum()
    return np.array([drive_io(rates, situation.tiers[tier].limits)[here].sum(), own + copied[tier]])
