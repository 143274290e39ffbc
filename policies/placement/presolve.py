"""Presolve for plans over very many units: most units cannot matter to the plan; for those we record only the reason.

A unit on the slowest tier cannot be demoted, and if the guards let it come to no other tier, it cannot be promoted
either, so no plan can move it. The guards judge all such units some thousand at a time. The planner sees only those
that may be promoted, those on faster tiers, and pinned ones. Of the others it needs their verdicts and their sums, so a
plan's memory grows with what it can move, not with the number of units.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from math import inf
from typing import Any

import numpy as np

from connectors.model import F64, I8, I64, Bools, Signal, UnitTable
from policies.benefit.bundles import MICRO, Bundles, bundles_of
from policies.model.density import KeysOf
from policies.model.plan import HeatView, OmittedSums, Pin, Plan, PolicySettings, Situation, Verdict
from policies.placement.balancer import make_plan, reasons_of, saved_by_unit
from policies.placement.places import places_in
from policies.placement.uncertainty import present_wait
from policies.storage.limits import drive_io, written_per_day

AT_ONCE = 2048  # units that the guards judge at a time
WORTH_NARROWING = 0.9  # share of the units: if more remain, presolve is skipped


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    """The guards' verdicts; without meaning for units that remain in the problem."""

    weighed: Bools  # (n,) units that remain in the problem
    verdict: I8  # (n,)
    benefit_per_hour: F64  # (n,)
    wait_saved_if_moved: F64  # (n,)
    omitted: OmittedSums  # the others in sums


def make_presolved_plan(
    situation: Situation, settings: PolicySettings, *, demote: bool = True, time_limit_seconds: float = inf
) -> Plan:
    """The plan of ``make_plan``, made from the units that it can depend on."""
    # Without a floor even units that gain nothing may be promoted, and a whole space is judged with all its units.
    # Nor where units of the slowest tier may change spaces to make room there.
    tiers = [place.tier for place in places_in(situation, settings)]
    split = tiers.count(len(situation.tiers) - 1) > 1
    if tiers and not split and settings.minimum_wait_saved_per_hour > 0 and not situation.units.wide_names:
        judged = _judge(situation, settings)
        rows = np.flatnonzero(judged.weighed)
        if len(rows) <= WORTH_NARROWING * len(judged.weighed):
            some = replace(situation_of(situation, rows), omitted=judged.omitted)
            return _widen(make_plan(some, settings, demote=demote, time_limit_seconds=time_limit_seconds), judged)
    return make_plan(situation, settings, demote=demote, time_limit_seconds=time_limit_seconds)


def _judge(situation: Situation, settings: PolicySettings) -> _Judged:
    """The guards' verdicts on all units that do not remain in any case."""
    units, count = situation.units, len(situation.units)
    weighed = _in_any_case(situation)
    verdict, benefit, saved = np.zeros(count, dtype=np.int8), np.zeros(count), np.zeros(count)
    total, omitted = _present_wait(situation, settings), OmittedSums()
    for some in _slices(units.bundle, ~weighed):
        part = situation_of(situation, some)
        bundles = bundles_of(part, settings)
        reasons = reasons_of(part, bundles, settings, total=total)
        rising = np.logical_or.reduce([reason == Verdict.PROMOTE for reason in reasons])
        weighed[some], verdict[some] = rising[bundles.of_row], reasons[0][bundles.of_row]
        # Both columns are zeros already, and writing zeros to a million rows would make the system give the memory for
        # them.
        if bundles.unit_wait.any():
            benefit[some] = bundles.unit_wait[-1] - bundles.unit_wait[0]
            saved[some] = saved_by_unit(part, bundles.unit_wait)
        omitted = _with(omitted, bundles, ~rising & (bundles.tier >= 0), situation, settings)
    return _Judged(
        weighed=weighed, verdict=verdict, benefit_per_hour=benefit, wait_saved_if_moved=saved, omitted=omitted
    )


def _in_any_case(situation: Situation) -> Bools:
    """Units that are pinned or not on the slowest tier, with all that move with them. Shape ``(n,)``."""
    bundle, tier = situation.units.bundle, situation.tier_of_space[situation.units.space]
    weighed = (situation.pin != Pin.NONE) | ((tier >= 0) & (tier < max(1, len(situation.tiers) - 1)))
    return _with_companions(bundle, weighed)


def _with_companions(bundle: I64, some: Bools) -> Bools:
    """Those units and all that move with them. Shape ``(n,)``."""
    if _each_alone(bundle) or not some.any():
        return some
    return np.asarray(some | np.isin(bundle, bundle[some]), dtype=np.bool_)


def _each_alone(bundle: I64) -> bool:
    """Whether bundle numbers ascend, as physical ids do: then every unit is its own bundle, without a sort."""
    return bool((bundle[1:] > bundle[:-1]).all())


def _present_wait(situation: Situation, settings: PolicySettings) -> float:
    """Microseconds per hour that all managed bundles wait; bundles with buffer pool hits only do not."""
    bundle, busy = situation.units.bundle, np.zeros(len(situation.units), dtype=np.bool_)
    # Units with hits alone wait for nothing, and most units have nothing else: leaving them out first spares most of
    # the work of bundling.
    for signal in Signal:
        if signal != Signal.LOGICAL_READ:
            busy |= situation.heat.rates[signal] != 0
    busy = _with_companions(bundle, busy)
    row_chunks = (situation_of(situation, some) for some in _slices(bundle, busy))
    return sum(present_wait(bundles_of(part, settings), part) for part in row_chunks)


def _with(
    omitted: OmittedSums, bundles: Bundles, others: Bools, situation: Situation, settings: PolicySettings
) -> OmittedSums:
    """The sums with some more bundles in them, all on the slowest tier."""
    wait, rates = bundles.wait[-1, others], bundles.rates[:, others]
    io = drive_io(rates, situation.tiers[-1].limits)
    return OmittedSums(
        wait=omitted.wait + float(wait.sum()),
        variance=omitted.variance + float(np.square(wait * bundles.error[others]).sum()),
        io=omitted.io + float(io.sum()),
        whole_io=omitted.whole_io + float(np.rint(io * MICRO).sum()),
        written=omitted.written + float(np.rint(written_per_day(rates, settings.block_bytes)).sum()),
    )


def situation_of(situation: Situation, rows: I64) -> Situation:
    """The situation restricted to some units, in the order of the rows, which ascend."""
    units, heat = situation.units, situation.heat
    columns: dict[str, F64 | None] = {field.name: getattr(heat, field.name) for field in fields(HeatView)}
    some_heat: dict[str, Any] = {name: None if of is None else of[..., rows] for name, of in columns.items()}
    return replace(
        situation,
        units=UnitTable(
            physical_id=units.physical_id[rows],
            key=KeysOf(units.key, rows),
            kind=units.kind[rows],
            size_bytes=units.size_bytes[rows],
            space=units.space[rows],
            bundle=units.bundle[rows],
            parent=units.parent[rows],
            wide=None if units.wide is None else units.wide[rows],
            wide_names=units.wide_names,
        ),
        heat=HeatView(**some_heat),
        pin=situation.pin[rows],
        cooling_seconds=situation.cooling_seconds[rows],
        copy_seconds=None if situation.copy_seconds is None else situation.copy_seconds[rows],
        whole=None if situation.whole is None else situation.whole[rows],
        growth=None if situation.growth is None else situation.growth[rows],
    )


def _widen(plan: Plan, judged: _Judged) -> Plan:
    """A plan of the remaining units, with the verdicts on all others."""
    rows = np.flatnonzero(judged.weighed)
    chosen = np.zeros(len(judged.weighed), dtype=np.bool_)
    for column, weighed in (
        (judged.verdict, plan.verdict),
        (judged.benefit_per_hour, plan.benefit_per_hour),
        (judged.wait_saved_if_moved, plan.wait_saved_if_moved),
        (chosen, plan.chosen),
    ):
        column[rows] = weighed
    return replace(
        plan,
        moves=tuple(replace(move, rows=tuple(rows[list(move.rows)].tolist())) for move in plan.moves),
        verdict=judged.verdict,
        benefit_per_hour=judged.benefit_per_hour,
        wait_saved_if_moved=judged.wait_saved_if_moved,
        chosen=chosen,
    )


def _slices(bundle: I64, which: Bools) -> Iterator[I64]:
    """Rows of some units, ascending, about ``AT_ONCE`` at a time, bundles kept together."""
    if _each_alone(bundle):
        for first in range(0, len(which), AT_ONCE):
            some = first + np.flatnonzero(which[first : first + AT_ONCE])
            if len(some):
                yield some
        return
    rows = np.flatnonzero(which)
    together = rows[np.argsort(bundle[rows], kind="stable")]
    edges = np.append(np.flatnonzero(np.diff(bundle[together])) + 1, len(together))
    first = 0
    # Slices end where a bundle ends: judged in two parts, its units would each seem too small to be worth a move.
    while first < len(together):
        after = int(edges[np.searchsorted(edges, min(first + AT_ONCE, len(together)))])
        yield np.sort(together[first:after])
        first = after
