"""Advice in addition to moves: what fast storage, or something cheaper, would do where no move of units helps.

Logs, temporary and undo space belong to no unit; they are judged by their own measured waits alone. Where an engine
counts their work and not its time, the advice says so and concludes nothing (``roles``). The plan itself shows halves
of a pair (a table without its hot index), work that no placement makes faster, and a larger buffer pool for the same
money.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from connectors.formatting import format_bytes, format_wait
from connectors.model import Bools, UnitKind
from connectors.storage_io import Role
from policies.benefit.prices import Prices
from policies.benefit.roles import NOTICEABLE, advice_of_roles, own_waits
from policies.model.density import compute_density
from policies.model.plan import Advice, AdviceCode, Plan, PolicySettings, Situation

INDEXES = (UnitKind.INDEX, UnitKind.INDEX_PARTITION)


def advice_of(situation: Situation, plan: Plan, settings: PolicySettings) -> tuple[Advice, ...]:
    """Everything worth saying in addition to the moves of a plan, the whole database first."""
    if not situation.tiers:
        return ()
    return (
        *_no_gain(situation),
        *_memory(situation, plan, settings),
        *advice_of_roles(situation, settings),
        *_halves(situation, plan, settings),
    )


def _no_gain(situation: Situation) -> Iterator[Advice]:
    """Work that no placement makes noticeably faster: bound by processors, or by writes that sessions wait for."""
    database = situation.database
    if not database.active > 0 or not database.read_wait >= 0:
        return
    share = database.read_wait / database.active
    if share >= NOTICEABLE:
        return
    log = sum(own_waits(figures, database) for figures in situation.roles if figures.role is Role.LOG)
    written = max(log, database.write_wait) if database.write_wait >= 0 else log
    bound = "the log and other writes" if written > database.read_wait else "something other than storage"
    named = "log-bound: " if log > max(NOTICEABLE * database.active, database.read_wait) else ""
    yield Advice(
        code=AdviceCode.NO_GAIN_EXPECTED,
        subject="",
        sentence=f"{named}no gain expected: sessions spend {share:.1%} of their time waiting for reads and are held up "
        f"by {bound}, so no placement makes this work noticeably faster.",
        saves_per_hour=0.0,
    )


def _halves(situation: Situation, plan: Plan, settings: PolicySettings) -> Iterator[Advice]:
    """Tables and indexes whose one half is fast once the plan has run while the other, busy too, is not."""
    units = situation.units
    parent = units.rows_of(units.parent)
    slow = ~plan.chosen & (plan.wait_saved_if_moved >= settings.minimum_wait_saved_per_hour)
    torn = (plan.chosen & slow[parent]) | (slow & plan.chosen[parent])
    pairs = np.flatnonzero(np.isin(units.kind, INDEXES) & (parent >= 0) & torn)
    for index, table in zip(pairs.tolist(), parent[pairs].tolist(), strict=True):
        if plan.chosen[index]:
            yield _half(situation, plan, AdviceCode.INDEX_WITHOUT_TABLE, table, index)
        else:
            yield _half(situation, plan, AdviceCode.TABLE_WITHOUT_INDEX, index, table)


def _half(situation: Situation, plan: Plan, code: AdviceCode, slow: int, fast: int) -> Advice:
    saves, tier = float(plan.wait_saved_if_moved[slow]), situation.tiers[0].name
    key = situation.units.key
    return Advice(
        code=code,
        subject=key[slow],
        sentence=f"{key[slow]} stays slow while {key[fast]} is on {tier}: sessions that read both wait for the slower, "
        f"{format_wait(saves)}; both should be on {tier}.",
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
        sentence=f"a larger buffer pool is the cheaper fix: for the price of the {format_bytes(filled)} of "
        f"{fast.name} that this plan fills, {format_bytes(more)} of memory would save {format_wait(saves)}, "
        f"the plan {format_wait(plan.wait_saved_per_hour)}.",
        saves_per_hour=saves,
    )


def cached_wait(situation: Situation, settings: PolicySettings, more_bytes: int) -> float:
    """Wait per hour that whole units kept in so much more buffer pool would no longer cause, the densest first.

    A lower bound of what the memory does: a buffer pool keeps the hot pages of a unit, not all of it.
    """
    units = situation.units
    tier = situation.tier_of_space[units.space].astype(np.int64)
    wait = Prices.of(situation, settings).per_hour(situation.heat.rates)
    here = np.take_along_axis(wait, np.maximum(tier, 0)[np.newaxis, :], axis=0)[0]
    size = np.maximum(units.size_bytes, 1)
    worth: Bools = (tier >= 0) & (here > 0) & (size <= more_bytes)
    order = np.flatnonzero(worth)[np.argsort(-compute_density(here[worth], size[worth]), kind="stable")]
    return float(here[order[np.cumsum(size[order]) <= more_bytes]].sum())
