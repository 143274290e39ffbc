"""What each mechanism of solver and placement is worth: every one is left out in turn, over instances of all kinds.

``python -m tests.bench.policy_mechanisms`` prints, for each: its lines, the largest and the mean loss of a plan's value
without it, and the processor time of all plans without it over that with it. Losses are shares of what the plan with
everything brings; negative where less brings more. ``--only NAME,NAME`` leaves out some, ``--together`` leaves those
out at once, ``--seeds N`` takes N times as many instances, ``--largest N`` only those of up to N units.

Instances: two and three tiers with light and heavy tails, 300 to 100,000 units (``policy_instances``); 40 units in
three full tiers; several fast spaces of 10 to 600 units, four full
ones of 1,000 and 100,000; table spaces that may move as a whole.
"""

from __future__ import annotations

import argparse
import inspect
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean
from typing import Any
from unittest.mock import patch

import numpy as np

from policies.model.plan import Plan, Situation
from policies.model.settings import PolicySettings
from policies.placement import balancer, granularity, schedule
from policies.placement.balancer import make_plan
from policies.placement.solver import dual, search, solve
from tests.bench.policy import divided
from tests.bench.policy_instances import TAILS, Instance, instance
from tests.property.test_spaces import NO_LIMITS, few, many
from tests.unit.policies.situations import MIB, Site, Unit

UNITS = {300: 3, 2_000: 2, 10_000: 1, 100_000: 1}  # seeds of each
HARD = (("heavy", 19), ("light", 4))  # tails and seeds of 10,000 units on three tiers that one search alone loses
FULL_TIERS = 40  # units
PASSING = (("light", 9), ("light", 37), ("heavy", 38))  # of these: one large unit has to pass others on its way
SPACES = ((40, 2), (100, 3), (300, 2), (600, 4))
EQUAL = (500, 3_500)  # units
DIVIDED = (1_000, 100_000)
GROUPED = (60, 400, 1_500)  # units


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One instance."""

    name: str
    situation: Situation
    settings: PolicySettings
    value: Callable[[Plan], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mechanism:
    """What may be left out: the attribute that is replaced, and the source that would go."""

    name: str
    owner: object  # module or class
    attribute: str
    instead: object  # what takes its place
    source: tuple[Any, ...] = ()  # functions, classes and modules

    @property
    def lines(self) -> int:
        """Of its source, comments and docstrings included."""
        return sum(len(inspect.getsourcelines(part)[0]) for part in self.source)


def cases(times: int, largest: int = max(UNITS)) -> Iterator[Case]:
    """All instances of up to so many units, for so many times as many seeds."""
    for tail, seed in HARD if largest >= 10_000 else ():
        of = instance(10_000, TAILS[tail], seed, 3)
        name = f"3 tiers, 10000 units, {tail} tail, seed {seed}"
        yield Case(name=name, situation=of.situation, settings=of.settings, value=of.value)
    for tail, seed in PASSING:
        of = full_tiers(tail, seed)
        name = f"3 tiers, {FULL_TIERS} units, {tail} tail, seed {seed}, passing"
        yield Case(name=name, situation=of.situation, settings=of.settings, value=of.value)
    sizes = [*((units, seeds) for units, seeds in UNITS.items() if units <= largest), (FULL_TIERS, 4)]
    for units, seeds in sizes:
        for tail, sigma in TAILS.items():
            for tiers in (3,) if units == FULL_TIERS else (2, 3):
                for seed in range(seeds * times):
                    of = full_tiers(tail, seed) if units == FULL_TIERS else instance(units, sigma, seed, tiers)
                    name = f"{tiers} tiers, {units} units, {tail} tail, seed {seed}"
                    yield Case(name=name, situation=of.situation, settings=of.settings, value=of.value)
    for units, spaces in SPACES:
        for seed in range(2 * times):
            name = f"{spaces} fast spaces, {units} units, seed {seed}"
            yield Case(name=name, situation=many(seed, units, spaces).situation, settings=NO_LIMITS, value=_saved)
    for units in DIVIDED:
        if units <= largest:
            yield Case(
                name=f"4 full fast spaces, {units} units",
                situation=divided(units),
                settings=PolicySettings(),
                value=_saved,
            )
    for seed in range(8 * times):
        yield Case(
            name=f"2 fast spaces, 10 units, seed {seed}", situation=few(seed, 10), settings=NO_LIMITS, value=_saved
        )
    for units in EQUAL:
        if units <= largest:
            yield Case(name=f"{units} equal units", situation=equal(units), settings=NO_LIMITS, value=_saved)
    for units in GROUPED:
        for seed in range(2 * times):
            yield Case(
                name=f"table spaces, {units} units, seed {seed}", situation=grouped(seed, units), settings=NO_LIMITS,
                value=_saved,
            )  # fmt: skip


def full_tiers(tail: str, seed: int) -> Instance:
    """Three full tiers of few units, with half of all bytes as budget: the usual one is a single small unit."""
    of = instance(FULL_TIERS, TAILS[tail], seed, 3)
    return replace(of, settings=replace(of.settings, maximum_bytes=int(of.size.sum() / 2)))


def equal(units: int) -> Situation:
    """Equally large and hot units, of which ten and a half fit."""
    listed = [Unit(key=f"u{at:04}", size=64 * MIB, sync=300.0) for at in range(units)]
    return Site(room={"fast": 672 * MIB, "slow": 10**15}).situation(listed)


def grouped(seed: int, units: int) -> Situation:
    """Table spaces of 2 to 20 units on both tiers; a third of the units have no route of their own."""
    random = np.random.default_rng(seed)
    group = np.repeat(np.arange(units), random.integers(2, 21, units))[:units]
    size = (random.lognormal(0.0, 1.2, units) * 64).astype(np.int64) * MIB + 8192
    reads = random.permutation(np.arange(1.0, units + 1.0) ** -1.1) * random.lognormal(0.0, 1.0, units)
    fast = (random.random(group.max() + 1) < 0.15)[group]
    listed = [
        Unit(
            key=f"u{at}", size=int(size[at]), sync=float(reads[at] * 300), space="fast" if fast[at] else "slow",
            wide=f"space{group[at]}",
        )
        for at in range(units)
    ]  # fmt: skip
    no_route = {f"u{at}": "none" for at in np.flatnonzero(random.random(units) < 1 / 3).tolist()}
    return Site(room={"fast": int(size.sum() * 0.03), "slow": 10**15}, no_route=no_route).situation(listed)


def _mechanism(name: str, owner: object, attribute: str, instead: object, *source: Any) -> Mechanism:
    return Mechanism(name=name, owner=owner, attribute=attribute, instead=instead, source=source)


def _saved(plan: Plan) -> float:
    return plan.wait_saved_per_hour


def _as_it_was(*given: Any, **_named: Any) -> Any:
    return given[1]


def _best_bounds(bound: Any, _certain: Any, width: int) -> Any:
    kept = np.zeros(len(bound), dtype=np.bool_)
    kept[np.argpartition(-bound, width)[:width]] = True
    return kept


def _unsettled(_search: Any, states: Any, offers: Any, _relaxation: Any, _most: Any, item: int) -> Any:
    return states, offers.only(np.arange(item, len(offers)))


def _best_prices(dual: Any) -> Any:
    return dual.tried[:1]


MECHANISMS = (
    _mechanism("sifting", dual, "MANY", 10**9, dual.sift_prices, dual._solve_restricted, dual.SiftedItems),
    _mechanism("core of many items", solve, "_CORE", 10**9),
    _mechanism("searches with falling floors", solve, "_BELOW_BOUND", (None,)),
    _mechanism("several prices for states", solve, "_select_prices", _best_prices, solve._select_prices),
    _mechanism(
        "repricing",
        search,
        "reprice",
        lambda _offers, _residual, start, _close: start,
        dual.reprice,
        dual._cut,
    ),
    _mechanism("reordering items", search, "importance", lambda offers, *_: -np.arange(len(offers)), dual.importance),
    _mechanism("settling items in a search", search._Search, "_settle", _unsettled, search._Search._settle),
    _mechanism("lower bounds in the beam", search, "_select_beam", _best_bounds, search._select_beam),
    _mechanism(
        "equal items",
        search,
        "_same_as_before",
        lambda offers: np.zeros(len(offers), dtype=np.bool_),
        search._same_as_before,
    ),
    _mechanism("any variant of the problem", balancer, "_AGAIN", (0, 0), balancer._with_what_failed_ruled_out),
    _mechanism("one order for all", balancer, "ordered_groups", lambda *_: [], schedule.ordered_groups, schedule),
    _mechanism("helpers", balancer, "_helpers", lambda *_: [], balancer._helpers),
    _mechanism("combinations of groups", granularity, "_FEW", 0, granularity._combinations),
    _mechanism("rounding capacities", granularity, "rounded_bound", lambda _offers: np.inf, solve),
)


def plan_all(every: Sequence[Case], left_out: Sequence[Mechanism]) -> tuple[list[float], float, float]:
    """Value of each plan, processor seconds of all, and the widest gap that a plan reports."""
    values, gap = list[float](), 0.0
    with ExitStack() as stack:
        for each in left_out:
            instead = _method(each.instead) if isinstance(each.instead, partial) else each.instead
            stack.enter_context(patch.object(each.owner, each.attribute, instead))
        started = time.process_time()
        for case in every:
            plan = make_plan(case.situation, case.settings)
            values.append(case.value(plan))
            gap = max(gap, plan.gap_ratio)
        return values, time.process_time() - started, gap


def _method(of: Any) -> Callable[[Any], None]:
    return lambda self: of(self)  # partial objects are no methods


def main(arguments: list[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.policy_mechanisms", description=__doc__)
    parser.add_argument("--only", default="", metavar="NAMES")
    parser.add_argument("--together", action="store_true")
    parser.add_argument("--seeds", type=int, default=1, metavar="N")
    parser.add_argument("--largest", type=int, default=max(UNITS), metavar="UNITS")
    given = parser.parse_args(arguments)
    names = [name.strip() for name in given.only.split(",") if name.strip()]
    unknown = sorted(set(names) - {each.name for each in MECHANISMS})
    if unknown:
        parser.error(f"no mechanism is named {', '.join(unknown)}")
    chosen = [each for each in MECHANISMS if not names or each.name in names]
    every = list(cases(given.seeds, given.largest))
    best, seconds, gap = plan_all(every, ())
    print(f"{len(every)} instances, {seconds:.1f} s, widest gap {gap:.2%}\n")
    print(
        "| left out | lines | largest loss | where | mean loss | time | widest gap |\n"
        "|---|---:|---:|---|---:|---:|---:|"
    )
    for left_out in [chosen] if given.together else [[each] for each in chosen]:
        found, took, widest = plan_all(every, left_out)
        losses = [1 - value / of if of > 0 else 0.0 for value, of in zip(found, best, strict=True)]
        worst = int(np.argmax(losses))
        print(
            f"| {', '.join(each.name for each in left_out)} | {sum(each.lines for each in left_out)} | "
            f"{losses[worst]:.3%} | {every[worst].name if losses[worst] > 0 else ''} | {fmean(losses):.4%} | "
            f"{took / seconds:.2f} | {widest:.2%} |",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
