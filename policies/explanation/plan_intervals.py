"""Confidence intervals of a plan's figures: wait saved per hour, and as a share of all wait."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from connectors.model import UnitKind
from policies.benefit.bundles import MICRO, Bundles
from policies.model.confidence import ConfidenceInterval, Placed, Shift, plan_interval, ratio_interval
from policies.model.plan import PolicySettings, Situation
from policies.model.prediction_error import Kind
from policies.model.relocation import Relocation


def present_wait(bundles: Bundles) -> float:
    """Microseconds per hour that all managed bundles wait where they are."""
    managed = np.flatnonzero(bundles.tier >= 0)
    return float(bundles.wait[bundles.tier[managed], managed].sum())


def intervals(
    bundles: Bundles,
    situation: Situation,
    settings: PolicySettings,
    relocations: Sequence[Relocation],
    spared: Sequence[float],
    wait: float,
) -> tuple[ConfidenceInterval, ConfidenceInterval]:
    """Confidence intervals of what the moves save: seconds per hour, and the share of all wait.

    Args:
        bundles: before the moves.
        situation: tiers and their errors.
        settings: with the confidence level.
        relocations: the moves.
        spared: queueing relief by tier, from ``relief.reliefs``; widens both intervals.
        wait: seconds per hour that all managed bundles wait where they are: the most that can be saved.
    """
    errors = [tier.speed.error_ratio for tier in situation.tiers]
    shifts = [_shift(relocation, bundles, situation) for relocation in relocations]
    saving = plan_interval(shifts, errors, settings.certainty)
    share = ratio_interval(
        _placements(bundles, situation, relocations), errors, settings.certainty, situation.prediction_errors,
        _kinds(bundles, situation, relocations, shifts),
    )  # fmt: skip
    # Relief widens one end and losses the other, and they are not offset: which of the two happens depends on whether
    # sessions ask for more, and that no counter tells.
    gained, lost = (sum(each for each in spared if (each > 0) is up) for up in (True, False))
    whole = max(wait, 1 / MICRO)
    return (
        ConfidenceInterval(low=saving.low + lost, high=min(saving.high + gained, wait)),
        ConfidenceInterval(low=share.low + lost / whole, high=min(1.0, share.high + gained / whole)),
    )


def _kinds(
    bundles: Bundles, situation: Situation, relocations: Sequence[Relocation], shifts: Sequence[Shift]
) -> dict[Kind, float]:
    """Kinds of the moves, each with its share of what they change."""
    changed: dict[Kind, float] = {}
    unit_kinds = situation.units.kind[bundles.lead]
    for relocation, shift in zip(relocations, shifts, strict=True):
        unit_kind = UnitKind(int(unit_kinds[relocation.bundle])).name.lower()
        kind = unit_kind, situation.tiers[shift.from_tier].name, situation.tiers[shift.to_tier].name
        changed[kind] = changed.get(kind, 0.0) + abs(shift.wait_before - shift.wait_after)
    total = sum(changed.values())
    return {kind: part / total for kind, part in changed.items()} if total > 0 else {}


def _placements(bundles: Bundles, situation: Situation, relocations: Sequence[Relocation]) -> Placed:
    """All managed bundles, before and after the moves."""
    after = bundles.tier.copy()
    for relocation in relocations:
        after[relocation.bundle] = situation.tier_of_space[relocation.target]
    rows = np.flatnonzero(bundles.tier >= 0)
    return Placed(
        wait_before=bundles.wait[bundles.tier[rows], rows],
        wait_after=bundles.wait[after[rows], rows],
        tier_before=bundles.tier[rows],
        tier_after=after[rows],
        error=bundles.error[rows],
    )


def _shift(relocation: Relocation, bundles: Bundles, situation: Situation) -> Shift:
    before, after = (int(situation.tier_of_space[row]) for row in (relocation.source, relocation.target))
    return Shift(
        from_tier=before,
        to_tier=after,
        wait_before=float(bundles.wait[before, relocation.bundle]) / MICRO,
        wait_after=float(bundles.wait[after, relocation.bundle]) / MICRO,
        error=float(bundles.error[relocation.bundle]),
    )
