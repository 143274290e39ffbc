"""A plan's figures: what its moves save, how surely, how far that is from the best, and a verdict for every unit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from connectors.model import F64, I8, Bools
from policies.benefit.bundles import MICRO, Bundles
from policies.benefit.guards import first_of
from policies.benefit.move_cost import ceiling_ratio
from policies.explanation.plan_intervals import intervals, present_wait
from policies.explanation.planned_moves import planned_moves
from policies.explanation.relief import reliefs
from policies.model.plan import LeftBehind, Pin, Plan, PolicySettings, Situation, Verdict
from policies.model.relocation import Group


def plan_of(
    situation: Situation,
    bundles: Bundles,
    settings: PolicySettings,
    groups: Sequence[Group],
    staying: I8,
    limit: float = 0.0,
    left_behind: tuple[LeftBehind, ...] = (),
) -> Plan:
    """Groups of moves as a plan with its figures.

    Args:
        situation: what the groups were made from.
        bundles: of the situation.
        settings: limits and weights.
        groups: in the order in which they are carried out.
        staying: verdict of each bundle if it is not moved. Shape ``(m,)``.
        limit: microseconds per hour, upper bound on every plan of this kind; the plan's own saving where that is more.
        left_behind: what a drain leaves in its space.
    """
    saved = total_saved(groups)
    verdicts, chosen = _verdicts(bundles, situation, staying, groups)
    wait = bundles.unit_wait
    relocations = [relocation for group in groups for relocation in group.relocations]
    spared = reliefs(bundles, situation, relocations)
    total = present_wait(bundles) / MICRO
    interval, share = intervals(bundles, situation, settings, relocations, spared, total)
    return Plan(
        moves=tuple(planned_moves(groups, bundles, situation, settings)),
        wait_per_hour=total,
        wait_saved_per_hour=saved / MICRO,
        bound_per_hour=max(limit, saved) / MICRO,
        gap_ratio=_gap_ratio(saved, limit),
        ceiling_ratio=ceiling_ratio(situation.database),
        verdict=verdicts[bundles.of_row],
        benefit_per_hour=wait[-1] - wait[0],
        wait_saved_if_moved=saved_by_unit(situation, wait),
        chosen=chosen[bundles.of_row],
        whole=situation.whole,
        left_behind=left_behind,
        wait_saved_low_per_hour=interval.low,
        wait_saved_high_per_hour=interval.high,
        saved_ratio_low=share.low,
        saved_ratio_high=share.high,
        relief_per_hour=sum(spared),
    )


def nothing(situation: Situation) -> Plan:
    """The empty plan, if the configuration has no tiers."""
    none = np.zeros(len(situation.units))
    return Plan(
        moves=(), wait_per_hour=0.0, wait_saved_per_hour=0.0, bound_per_hour=0.0, gap_ratio=0.0,
        ceiling_ratio=ceiling_ratio(situation.database), verdict=np.full(len(none), Verdict.NOT_MANAGED, dtype=np.int8),
        benefit_per_hour=none, wait_saved_if_moved=none, chosen=none > 0, wait_saved_low_per_hour=0.0,
        wait_saved_high_per_hour=0.0, saved_ratio_low=0.0, saved_ratio_high=0.0,
    )  # fmt: skip


def total_saved(groups: Iterable[Group]) -> float:
    """Microseconds per hour."""
    return sum(group.saved for group in groups)


def verdicts_if_unmoved(bundles: Bundles, reasons: I8, settings: PolicySettings, *, full: Bools) -> I8:
    """Verdict of each bundle if the plan leaves it where it is; ``full``: a limit of the plan prevents its move."""
    verdict = np.where(bundles.tier == 0, _verdicts_on_fast(bundles, settings), reasons).astype(np.int8)
    left_over = (bundles.tier > 0) & (reasons == Verdict.PROMOTE)
    verdict[left_over] = np.where(full, Verdict.WAITING, Verdict.WOULD_NOT_FIT)[left_over]
    return verdict


def saved_by_unit(situation: Situation, wait: F64) -> F64:
    """Seconds per hour each unit would save on the fastest tier, 0 where it is not managed."""
    tier = situation.tier_of_space[situation.units.space].astype(np.int64)
    here = np.take_along_axis(wait, np.maximum(tier, 0)[np.newaxis, :], axis=0)[0]
    return np.where(tier >= 0, here - wait[0], 0.0)


def _gap_ratio(saved: float, limit: float) -> float:
    return min(1.0, max(0.0, 1.0 - saved / limit)) if limit > 0 else 0.0


def _verdicts(bundles: Bundles, situation: Situation, staying: I8, groups: Sequence[Group]) -> tuple[I8, Bools]:
    """Verdict of each bundle, and whether it is on the fastest tier once the plan has run."""
    verdict, tier = staying.copy(), bundles.tier.copy()
    for relocation in (relocation for group in groups for relocation in group.relocations):
        before, after = int(bundles.tier[relocation.bundle]), int(situation.tier_of_space[relocation.target])
        tier[relocation.bundle] = after
        verdict[relocation.bundle] = _direction(before, after)
    return verdict, tier == 0


def _direction(before: int, after: int) -> Verdict:
    if after == before:
        return Verdict.LEVELLED
    return Verdict.PROMOTE if after < before else Verdict.DEMOTE


def _verdicts_on_fast(bundles: Bundles, settings: PolicySettings) -> I8:
    """Verdicts of bundles that are on the fastest tier and stay there."""
    never = bundles.pin == Pin.NEVER
    worth = bundles.wait[-1] - bundles.wait[0] >= settings.minimum_wait_saved_per_hour * MICRO
    cases: list[tuple[Bools, I8 | Verdict]] = [
        (bundles.pin == Pin.MUST, Verdict.PINNED),
        (never & (bundles.cooling > 0), Verdict.COOLING_DOWN),
        (never & ~bundles.routable, Verdict.NO_ROUTE),
        (never, Verdict.WOULD_NOT_FIT),
        (worth, Verdict.STAYS_FAST),
        (bundles.observed < settings.minimum_history_seconds, Verdict.NOT_ENOUGH_HISTORY),
    ]
    return first_of(cases, Verdict.STAYS_SPARE)
