"""More fast storage is never worth less, beyond what is decided exactly too."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.model.observation import F64
from policies.placement.balancer import make_plan
from tests.bench.policy_instances import TAILS, Instance, instance
from tests.examples import examples

MISSED = 1e-3  # of what is possible: a search may find that much less


def with_more(of: Instance, more: F64) -> Instance:
    """The same instance with more bytes free in its limited tiers."""
    spaces = tuple(
        replace(space, free_bytes=(space.free_bytes or 0) + extra, capacity_bytes=(space.capacity_bytes or 0) + extra)
        for space, extra in zip(of.situation.spaces, [*more.astype(np.int64).tolist(), 0], strict=True)
    )
    return replace(of, situation=replace(of.situation, spaces=spaces), capacity=of.capacity + more)


@settings(deadline=None, max_examples=examples(25))
@given(
    st.integers(15, 1500),
    st.sampled_from(sorted(TAILS)),
    st.integers(0, 2**32 - 1),
    st.sampled_from([2, 3]),
    st.tuples(*[st.sampled_from([0.0, 0.001, 0.01, 0.1, 0.5])] * 2),
)
def test_more_room_never_saves_less(units: int, tail: str, seed: int, tiers: int, more: tuple[float, float]) -> None:
    """With pins, copy costs and a budget of bytes, on two tiers and three: what a plan brings does not fall."""
    of = instance(units, TAILS[tail], seed, tiers)
    roomier = with_more(of, np.floor(of.capacity * np.array(more[: tiers - 1])))
    value, then = (each.value(make_plan(each.situation, each.settings)) for each in (of, roomier))
    assert then >= value * (1 - MISSED) - 1e-9
