"""Advice beside moves: what fast storage, or something cheaper, would do for what no move of units can help.

Logs, temporary and undo space belong to no unit; they are judged by their own measured waits alone, so where an engine
gives none nothing is said. Halves of a pair (a table without its hot index), work that no placement makes faster, and a
larger buffer pool for the same money are told from the plan itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from connectors.model import Bools, Role, RoleFigures, UnitKind
from policies.benefit import HOUR, wait_per_hour
from policies.plan import Plan, PolicySettings, Situation
from policies.purchase import GIB

NOTICEABLE = 0.05  # share of session time; waits below it are nobody's problem
BEST_HALF = 0.5  # a device that halves a wait is worth naming
INDEXES = (UnitKind.INDEX, UnitKind.INDEX_PARTITION)


class AdviceCode(StrEnum):
    """What is advised."""

    LEAVE = "leave"  # its waits are too short to do anything about
    OWN_DEVICE = "own_device"
    FASTER_DEVICE = "faster_device"
    INDEX_WITHOUT_TABLE = "index_without_table"
    TABLE_WITHOUT_INDEX = "table_without_index"
    NO_GAIN_EXPECTED = "no_gain_expected"
    RAM_IS_CHEAPER = "ram_is_cheaper"


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """One piece of advice."""

    code: AdviceCode
    subject: str  # key of a unit, name of a log or space, "" for the whole database
    sentence: str
    saves_per_hour: float  # seconds of session wait; 0 where nothing is to be gained


def advice_of(situation: Situation, plan: Plan, settings: PolicySettings) -> tuple[Advice, ...]:
    """Everything worth saying beside the moves of a plan, the whole database first."""
    if not situation.tiers:
        return ()
    return (
        *_no_gain(situation),
        *_memory(situation, plan, settings),
        *(_role(figures, situation) for figures in situation.roles if _measured(figures)),
        *_halves(situation, plan, settings),
    )


def _no_gain(situation: Situation) -> Iterator[Advice]:
    """Work that no placement makes noticeably faster: bound by processors, or by writes that sessions wait for."""
    database = situation.database
    if not database.active > 0 or not database.read_wait >= 0:
        return
    share = database.read_wait / database.active
    log = sum(f.waited_seconds for f in situation.roles if f.role is Role.LOG and f.waited_seconds >= 0)
    written = max(log, database.write_wait) if database.write_wait >= 0 else log
    if share >= NOTICEABLE:
        return
    bound = "the log and other writes" if written > database.read_wait else "something other than storage"
    yield Advice(
        code=AdviceCode.NO_GAIN_EXPECTED,
        subject="",
        sentence=f"no gain expected: sessions spend {share:.1%} of their time waiting for reads and are held up by "
        f"{bound}, so no placement makes this work noticeably faster.",
        saves_per_hour=0.0,
    )


def _measured(figures: RoleFigures) -> bool:
    return figures.waited_seconds >= 0 or (figures.writes > 0 and figures.write_seconds >= 0)


def _role(figures: RoleFigures, situation: Situation) -> Advice:
    """A log, temporary or undo space by its own waits: a faster device, one of its own, or as it is."""
    waited = figures.waited_seconds if figures.waited_seconds >= 0 else figures.write_seconds
    active = situation.database.active
    share = waited / active if active > 0 else float("nan")
    latency = figures.write_seconds / figures.writes if figures.writes > 0 else float("nan")
    what = f"{_WORDS[figures.role]} {figures.name}"
    if share < NOTICEABLE:
        sentence = f"{what} is best left where it is: sessions spend {share:.1%} of their time waiting for it."
        return Advice(code=AdviceCode.LEAVE, subject=figures.name, sentence=sentence, saves_per_hour=0.0)
    best = min(situation.tiers, key=lambda tier: tier.speed.write_seconds)
    told = f"{what}: sessions wait {waited * HOUR:,.0f} s per hour for it"
    if latency == latency and best.speed.write_seconds < BEST_HALF * latency:
        saves = waited * HOUR * (1 - best.speed.write_seconds / latency)
        return Advice(
            code=AdviceCode.FASTER_DEVICE,
            subject=figures.name,
            sentence=f"{told}, {_milliseconds(latency)} a write; on {best.name} a write takes "
            f"{_milliseconds(best.speed.write_seconds)}, which would save about {saves:,.0f} s per hour.",
            saves_per_hour=saves,
        )
    return Advice(
        code=AdviceCode.OWN_DEVICE,
        subject=figures.name,
        sentence=f"{told}, and no tier writes much faster than it is served now; give it a device that it shares with "
        "nobody.",
        saves_per_hour=0.0,
    )


_WORDS = {Role.LOG: "the log", Role.TEMP: "the temporary space", Role.UNDO: "the undo space"}


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.3g} ms"


def _halves(situation: Situation, plan: Plan, settings: PolicySettings) -> Iterator[Advice]:
    """Tables and indexes of which one half is fast once the plan has run, and the other, busy too, is not."""
    units = situation.units
    parent = units.rows_of(units.parent)
    pairs = np.flatnonzero(np.isin(units.kind, INDEXES) & (parent >= 0))
    slow = ~plan.chosen & (plan.wait_saved_if_moved >= settings.minimum_wait_saved_per_hour)
    for index, table in zip(pairs.tolist(), parent[pairs].tolist(), strict=True):
        if plan.chosen[index] and slow[table]:
            yield _half(situation, plan, AdviceCode.INDEX_WITHOUT_TABLE, table, index)
        elif plan.chosen[table] and slow[index]:
            yield _half(situation, plan, AdviceCode.TABLE_WITHOUT_INDEX, index, table)


def _half(situation: Situation, plan: Plan, code: AdviceCode, slow: int, fast: int) -> Advice:
    saves, tier = float(plan.wait_saved_if_moved[slow]), situation.tiers[0].name
    key = situation.units.key
    return Advice(
        code=code,
        subject=key[slow],
        sentence=f"{key[slow]} stays slow while {key[fast]} is on {tier}: who reads the one waits for the other, "
        f"{saves:,.0f} s per hour; {tier} wants room for both.",
        saves_per_hour=saves,
    )


def _memory(situation: Situation, plan: Plan, settings: PolicySettings) -> Iterator[Advice]:
    """A larger buffer pool for the price of the fast storage that the plan fills, where it saves more."""
    price, fast = settings.ram_gib_year, situation.tiers[0]
    filled = sum(move.size_bytes for move in plan.moves if move.to_tier == fast.name)
    if price is None or fast.limits.gib_year is None or not filled:
        return
    more = int(filled * fast.limits.gib_year / price)
    saves = cached_wait(situation, settings, more)
    if saves <= plan.wait_saved_per_hour:
        return
    yield Advice(
        code=AdviceCode.RAM_IS_CHEAPER,
        subject="",
        sentence=f"a larger buffer pool is the cheaper fix: for the price of the {filled / GIB:,.3g} GiB of "
        f"{fast.name} that this plan fills, {more / GIB:,.3g} GiB of memory would save {saves:,.0f} s per hour, "
        f"the plan {plan.wait_saved_per_hour:,.0f}.",
        saves_per_hour=saves,
    )


def cached_wait(situation: Situation, settings: PolicySettings, more_bytes: int) -> float:
    """Wait per hour that whole units kept in so much more buffer pool would no longer cause, the densest first.

    A lower bound of what the memory does: a buffer pool keeps the hot pages of a unit, not all of it.
    """
    units = situation.units
    tier = situation.tier_of_space[units.space].astype(np.int64)
    wait = wait_per_hour(situation.heat.rates, [each.speed for each in situation.tiers], settings)
    here = np.take_along_axis(wait, np.maximum(tier, 0)[np.newaxis, :], axis=0)[0]
    size = np.maximum(units.size_bytes, 1)
    worth: Bools = (tier >= 0) & (here > 0) & (size <= more_bytes)
    order = np.flatnonzero(worth)[np.argsort(-(here[worth] / size[worth]), kind="stable")]
    return float(here[order[np.cumsum(size[order]) <= more_bytes]].sum())
