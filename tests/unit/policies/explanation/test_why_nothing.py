"""Why a plan has no move, where no verdict says it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from policies.model.settings import PolicySettings
from policies.placement.dispatch import Hsm, why_nothing
from tests.unit.policies.explanation.test_advice import site_with


@pytest.mark.parametrize(("ratio", "said"), [(1.0, True), (0.97, True), (0.5, False)])
def test_storage_that_is_no_faster_is_named(ratio: float, said: bool) -> None:
    """Both tiers with their read times, and the key that says otherwise; nothing where the first one is faster."""
    situation = site_with()
    fast, *others = situation.tiers
    seconds = situation.tiers[-1].speed.random_read_seconds
    fast = replace(fast, speed=replace(fast.speed, random_read_seconds=ratio * seconds))
    found = why_nothing(replace(situation, tiers=(fast, *others)), PolicySettings(), Hsm())
    assert bool(found) is said
    for sentence in found:
        assert f"on {fast.name} and " in sentence
        assert "random_read" in sentence
