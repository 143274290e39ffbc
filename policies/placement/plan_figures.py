"""A plan's figures: what its moves save, how surely, and how far that is from the best.

Confidence intervals of a plan's figures: wait saved per hour, and as a share of all wait.

A draft's relocations as the moves of a plan: names, figures, and the sentence that gives the reason.

Queueing relief of a plan by tier: what units that do not move gain or lose from shorter or longer queues.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from math import inf

import numpy as np

from connectors.model.moves import UnitKind
from connectors.model.observation import F64, I8, Bools
from policies.evidence.bundles import MICRO, Bundles, name_of_whole
from policies.evidence.capacity import drive_io
from policies.evidence.guards import first_of
from policies.evidence.prices import HOUR, ceiling_ratio
from policies.evidence.queueing import relief, stations_of, utilisation
from policies.model.confidence import ConfidenceInterval, Placed, Shift, plan_interval, ratio_interval
from policies.model.moves import Group, Kind, Relocation
from policies.model.plan import Plan, PlanMove, SavingLimit, Situation, UndrainedBundle, Verdict
from policies.model.settings import Pin, PolicySettings
from policies.placement.verdicts import growth_sentence, move_sentence


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
        spared: queueing relief by tier, from ``reliefs``; widens both intervals.
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


def planned_moves(
    groups: Iterable[Group], bundles: Bundles, situation: Situation, settings: PolicySettings
) -> Iterator[PlanMove]:
    """The relocations of all groups, in order."""
    tiers = [situation.tiers[tier].name if tier >= 0 else "" for tier in situation.tier_of_space.tolist()]
    spaces = [space.name for space in situation.spaces]
    tier_of = situation.tier_of_space.tolist()
    size = np.add.reduceat(situation.units.size_bytes[bundles.rows], bundles.start[:-1])  # without expected growth
    for number, group in enumerate(groups, start=1):
        payback = group.cost / group.saved * HOUR if group.saved > 0 else inf
        next_key = situation.units.key[bundles.members(group.relocations[-1].bundle)[0]]
        for relocation in group.relocations:
            members = bundles.members(relocation.bundle)
            before, after = tier_of[relocation.source], tier_of[relocation.target]
            move = partial(
                PlanMove,
                key=situation.units.key[members[0]],
                rows=members,
                size_bytes=int(size[relocation.bundle]),
                from_space=spaces[relocation.source],
                to_space=spaces[relocation.target],
                from_tier=tiers[relocation.source],
                to_tier=tiers[relocation.target],
                reason=relocation.reason,
                wait_saved_per_hour=float(
                    bundles.wait[before, relocation.bundle] - bundles.wait[after, relocation.bundle]
                )
                / MICRO,
                copy_seconds=float(bundles.copying[relocation.bundle]) / MICRO,
                payback_seconds=payback if before > after else inf,
                wide=name_of_whole(situation, members[0]),
                group=number,
            )
            outgrown = growth_sentence(situation, members, after, settings) if before > after >= 0 else ""
            yield move(sentence=move_sentence(move(sentence=""), next_key, outgrown))


def reliefs(bundles: Bundles, situation: Situation, relocations: Sequence[Relocation]) -> tuple[float, ...]:
    """Seconds per hour that the units staying on each tier wait less after the relocations, fastest tier first."""
    if not relocations:
        return (0.0,) * len(situation.tiers)
    moved = np.zeros(len(bundles), dtype=np.bool_)
    after = bundles.tier.copy()
    for relocation in relocations:
        moved[relocation.bundle] = True
        after[relocation.bundle] = situation.tier_of_space[relocation.target]
    found, stations = [], stations_of(situation.tiers)
    for row, tier in enumerate(situation.tiers):
        if not utilisation(tier.speed.random_read_seconds, tier.speed.idle_read_seconds):
            found.append(0.0)
            continue
        io = drive_io(bundles.rates, tier.limits)
        here = bundles.tier == row
        found.append(
            relief(
                float(bundles.wait[row, here & ~moved].sum()) / MICRO,
                tier.speed.random_read_seconds,
                tier.speed.idle_read_seconds,
                float(io[here].sum()),
                float(io[after == row].sum()),
                stations.queue(row),
            )
        )
    return tuple(found)


def plan_of(
    situation: Situation,
    bundles: Bundles,
    settings: PolicySettings,
    groups: Sequence[Group],
    staying: I8,
    limit: SavingLimit | None = None,
    left_behind: tuple[UndrainedBundle, ...] = (),
) -> Plan:
    """Groups of moves as a plan with its figures.

    Args:
        situation: what the groups were made from.
        bundles: of the situation.
        settings: limits and weights.
        groups: in the order in which they are carried out.
        staying: verdict of each bundle if it is not moved. Shape ``(m,)``.
        limit: upper bound on every plan of this kind; None: what this one saves.
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
        limit=limit or SavingLimit(max(0.0, saved) / MICRO),
        ceiling_ratio=ceiling_ratio(situation.database),
        verdict=_with_uncounted(verdicts[bundles.of_row], situation),
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
        moves=(), wait_per_hour=0.0, wait_saved_per_hour=0.0, limit=SavingLimit(),
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


def _with_uncounted(verdicts: I8, situation: Situation) -> I8:
    """The verdicts of units; what seems young or idle because nothing counts its reads says so."""
    uncounted = situation.units.uncounted
    if uncounted is None:
        return verdicts
    unseen = np.isin(verdicts, (Verdict.NOT_ENOUGH_HISTORY, Verdict.IDLE)) & (situation.heat.observed_seconds <= 0)
    never = uncounted & unseen
    return np.where(never, np.int8(Verdict.NOT_OBSERVED), verdicts)


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
