"""Plans over very many units, most of which nothing can be said of but why not.

A unit on the slowest tier that had no I/O but hits saves nothing anywhere, so it can neither come up nor give way. Only
the others are put before the solver. The guards judge the rest all the same, some thousands at a time: so a plan takes
memory for what it weighs, and a verdict is told of everything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from math import inf
from typing import Any

import numpy as np

from connectors.model import F64, I64, Bools, Signal, UnitTable
from policies.balancer import make_plan, reasons_of
from policies.bundles import MICRO, bundles_of
from policies.draft import Names
from policies.plan import HeatView, Pin, Plan, PolicySettings, Situation, Verdict

AT_ONCE = 8192  # units that the guards judge in one go
WORTH_NARROWING = 0.9  # share of the units: with more to be weighed, all are


def make_narrow_plan(
    situation: Situation, settings: PolicySettings, *, demote: bool = True, time_limit_seconds: float = inf
) -> Plan:
    """The plan that ``make_plan`` makes, from the units that it can depend on."""
    weighed = _weighed(situation, settings)
    rows = np.flatnonzero(weighed)
    if len(rows) > WORTH_NARROWING * len(weighed):
        return make_plan(situation, settings, demote=demote, time_limit_seconds=time_limit_seconds)
    plan = make_plan(situation_of(situation, rows), settings, demote=demote, time_limit_seconds=time_limit_seconds)
    return _widened(plan, situation, settings, weighed)


def _weighed(situation: Situation, settings: PolicySettings) -> Bools:
    """Units that a plan may depend on, with all that move with them. Shape ``(n,)``.

    All of them where no gain at all is asked of a move, or where units can move with their whole space.
    """
    units, count = situation.units, len(situation.units)
    if not settings.minimum_wait_saved_per_hour > 0 or not situation.tiers or units.wide_names:
        return np.ones(count, dtype=np.bool_)
    tier = situation.tier_of_space[units.space]
    weighed = (situation.pin != Pin.NONE) | ((tier >= 0) & (tier < max(1, len(situation.tiers) - 1)))
    for signal in Signal:
        if signal != Signal.LOGICAL_READ:
            weighed |= situation.heat.rates[signal] != 0
    return np.asarray(weighed | np.isin(units.bundle, units.bundle[weighed]), dtype=np.bool_)


def situation_of(situation: Situation, rows: I64) -> Situation:
    """The situation with some of its units only, in the order of the rows, which ascend."""
    units, heat = situation.units, situation.heat
    columns: dict[str, F64 | None] = {field.name: getattr(heat, field.name) for field in fields(HeatView)}
    some_heat: dict[str, Any] = {name: None if of is None else of[..., rows] for name, of in columns.items()}
    return replace(
        situation,
        units=UnitTable(
            physical_id=units.physical_id[rows],
            key=Names(units.key, rows),
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
        whole=None if situation.whole is None else situation.whole[rows],
    )


def _widened(plan: Plan, situation: Situation, settings: PolicySettings, weighed: Bools) -> Plan:
    """A plan of the units that were weighed, with the verdicts of all others."""
    rows, count = np.flatnonzero(weighed), len(weighed)
    verdict = np.empty(count, dtype=np.int8)
    verdict[rows] = plan.verdict
    wait = float(np.rint(plan.wait_per_hour * MICRO))
    for some in _slices(situation.units.bundle, np.flatnonzero(~weighed)):
        part = situation_of(situation, some)
        bundles = bundles_of(part, settings)
        verdict[some] = reasons_of(part, bundles, settings, total=wait)[0][bundles.of_row]
    assert not (verdict[~weighed] == Verdict.PROMOTE).any(), "nothing is promoted that saves nothing"
    benefit, saved, chosen = np.zeros(count), np.zeros(count), np.zeros(count, dtype=np.bool_)
    benefit[rows], saved[rows], chosen[rows] = plan.benefit_per_hour, plan.wait_saved_if_moved, plan.chosen
    return replace(
        plan,
        moves=tuple(replace(move, rows=tuple(rows[list(move.rows)].tolist())) for move in plan.moves),
        verdict=verdict,
        benefit_per_hour=benefit,
        wait_saved_if_moved=saved,
        chosen=chosen,
    )


def _slices(bundle: I64, rows: I64) -> Iterator[I64]:
    """Some rows, ascending, about ``AT_ONCE`` at a time and no bundle torn."""
    together = rows[np.argsort(bundle[rows], kind="stable")]
    edges = np.append(np.flatnonzero(np.diff(bundle[together])) + 1, len(together))
    first = 0
    while first < len(together):
        after = int(edges[np.searchsorted(edges, min(first + AT_ONCE, len(together)))])
        yield np.sort(together[first:after])
        first = after
