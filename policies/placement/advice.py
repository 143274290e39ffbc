"""Advice in addition to moves: fast storage, splits, and what lies inside a unit.

``advice_of`` says what fast storage, or something cheaper, would do where moves of units do not help. It covers halves
of a pair (a table without its hot index), work that no placement makes faster, and a larger buffer pool for the same
money. Logs, temporary and undo space belong to no unit. They are judged by their own measured waits alone
(``prices.advice_of_roles``); where an engine counts their work but not its time, the advice says so and concludes
nothing.

Sessions that wait less for reads come to the log more often. So each of these is judged at the rate that the plan is
forecast to bring, with the rate that a better device would bring then.

``border_sentences`` and ``inside_sentences`` describe the inside of a unit: the column that separates the hot part from
the rest, and where the reads go.

``advice_of_splits`` compares a split with moving all of the unit and with more memory, or says why no split helps.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import isfinite, isnan

import numpy as np

from connectors.model.blocks import CandidateColumn
from connectors.model.formatting import format_bytes, format_rate, format_ratio, format_seconds, format_wait
from connectors.model.moves import UnitKind
from connectors.model.observation import Bools, Role, RoleFigures
from policies.evidence.borders import (
    BorderLook,
    FoundBorder,
    Split,
    Unsplit,
    ValueBorder,
    Wandering,
    columns_to_read,
    wandering,
)
from policies.evidence.prices import HOUR, NOTICEABLE, Prices, advice_of_roles, own_waits, waited_seconds
from policies.evidence.range_heat import LEAST_SEEN, Concentration, HeatShape, RangeHeat, hot_places
from policies.evidence.splitting import SplitAnswer
from policies.evidence.workload import OPEN
from policies.model.columns import compute_density
from policies.model.plan import Advice, AdviceCode, Plan, Situation
from policies.model.settings import PolicySettings
from policies.placement.forecast import forecast_plan, rate_without, tiers_after
from policies.placement.forecast_figures import Forecast

INDEXES = (UnitKind.INDEX, UnitKind.INDEX_PARTITION)


def advice_of(situation: Situation, plan: Plan, settings: PolicySettings) -> tuple[Advice, ...]:
    """Everything worth saying in addition to the moves of a plan, the whole database first."""
    if not situation.tiers:
        return ()
    return (
        *_no_gain(situation),
        *_memory(situation, plan, settings),
        *_roles(situation, plan, settings),
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


def _roles(situation: Situation, plan: Plan, settings: PolicySettings) -> Iterator[Advice]:
    """Each log, temporary and undo space by its waits now and at the forecast rate."""
    now = tuple(advice_of_roles(situation, settings))
    said = forecast_plan(situation, settings, plan) if now else None
    if said is None or said.why_not or said.load == OPEN:
        yield from now
        return
    later, tier = _at_forecast(situation, said), tiers_after(situation, plan)
    roles = {each.name: each for each in later.roles}
    then = {each.subject: each for each in advice_of_roles(later, settings)}
    for each in now:
        found = then.get(each.subject)
        if found is None or found.code not in _BETTER_DEVICE:
            yield each
            continue
        figures = roles[found.subject]
        waited, saves = waited_seconds(figures) * HOUR, found.saves_per_hour
        own = own_waits(figures, later.database) * (saves / waited if saves else 1.0)
        rate = rate_without(situation, settings, tier, own / said.transactions)
        sentence = _role_sentence(said, waited, saves, rate)
        yield replace(found, sentence=f"{each.sentence} {sentence}" if sentence else each.sentence)


_BETTER_DEVICE = (AdviceCode.FASTER_DEVICE, AdviceCode.OWN_DEVICE)


def _at_forecast(situation: Situation, said: Forecast) -> Situation:
    """The situation with the figures of roles and sessions that a forecast says. Queues for a role are as they are."""
    rate, database = said.transactions, situation.database
    active = rate * said.latency

    def grow(figures: RoleFigures) -> RoleFigures:
        paced = situation.paced.log.share if figures.role is Role.LOG else 1.0
        everybody = figures.active_seconds
        ours = min(1.0, database.active / everybody) if everybody > 0 else 1.0  # the rest is other databases'
        more = figures.per_second(1 / (1 + ours * paced * (said.gain - 1)))
        return replace(more, active_seconds=everybody + active - database.active)

    return replace(
        situation,
        database=replace(database, transactions=rate, active=active, read_wait=rate * said.wait_per_transaction),
        roles=tuple(map(grow, situation.roles)),
    )


def _role_sentence(said: Forecast, waited: float, spared: float, rate: float) -> str:
    """What waits for it are at the forecast rate, and what a better device would bring; "" where neither differs.

    Args:
        said: of the plan.
        waited: seconds an hour, then.
        spared: seconds an hour by a faster device; 0: how much one would spare is not known.
        rate: transactions a second without these, or without all that is waited; NaN: not forecast.
    """
    now, grows = format_rate(said.transactions), said.gain > 1 + NOTICEABLE
    parts = []
    if grows:
        saves = f", of which a faster device would save {format_seconds(spared)}" if spared else ""
        parts.append(
            f"after this plan, at the forecast {now}/s, sessions wait {format_seconds(waited)} per hour for it{saves}"
        )
    if rate > said.transactions:
        about = "about" if spared else "at most"
        asks = "" if said.load or grows else " if clients ask as soon as they are answered"
        parts.append(f"throughput would then be {about} {format_rate(rate)}/s in place of {now}/s{asks}")
    sentence = "; ".join(parts)
    return f"{sentence[:1].upper()}{sentence[1:]}." if sentence else ""


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


_SURE = 0.9  # fit, and agreement of looks, from which on a border is called sure


def range_of(border: ValueBorder) -> str:
    """The range as a condition; it holds values of users."""
    ends = [f"{border.column} {sign} {end}" for sign, end in ((">=", border.least), ("<", border.below)) if end]
    return " and ".join(ends)


def border_sentences(columns: Sequence[CandidateColumn], looks: Sequence[BorderLook], refused: str) -> tuple[str, ...]:
    """Which column identifies the hot part, where its border lies and how it wanders; with values of users.

    Args:
        columns: that the unit has; none: an index, or nothing was looked at.
        looks: at their values, oldest first.
        refused: why the last look read none; "": it did, or values may not be read.
    """
    if refused:
        return (f"by which values was not seen: {refused}",)
    found = wandering(looks)
    if found is not None:
        return _say_border(*found)
    wanted = ", ".join(each.name for each in columns_to_read(columns))
    if looks and wanted:
        return (f"no column was found whose values tell its hot part from the rest; looked at: {wanted}",)
    if wanted:
        may_be = f"by its catalog the hot part may be a range of {wanted}"
        return (f"{may_be}; with border_values on, which reads values, a look says so and where it begins",)
    return ()


def _say_border(found: FoundBorder, wander: Wandering) -> tuple[str, ...]:
    border = found.border
    sure = "" if min(border.fit, wander.agreement) >= _SURE else "perhaps "
    what = (
        f"by values: {sure}the rows with {range_of(border)}, {format_ratio(border.of_rows)} of it, which take "
        f"{format_ratio(border.of_reads)} of its reads ({format_ratio(border.fit)} of what the best part of its "
        f"blocks takes beyond its share; {wander.looks} of {wander.of_looks} looks found this column)"
    )
    return (what, *_say_wandering(found, wander))


def _say_wandering(found: FoundBorder, wander: Wandering) -> tuple[str, ...]:
    if found.is_time and isfinite(wander.low_distance):
        low, high = format_seconds(wander.low_distance), format_seconds(wander.high_distance)
        return (f"that is the newest {low}" if low == high else f"that is the newest {low} to {high} over looks",)
    if found.is_time or isnan(wander.per_day) or not wander.per_day:
        return ()
    return (f"its border moves by {wander.per_day:+,.0f} a day",)


def inside_sentences(heat: RangeHeat, found: Concentration, saves_per_hour: float, fastest: str) -> tuple[str, ...]:
    """Where the reads of a unit go, and what a split along that would bring.

    Args:
        heat: what looks have shown.
        found: of it.
        saves_per_hour: seconds of wait that the whole unit would save on the fastest tier.
        fastest: name of that tier.
    """
    return _SAID[found.shape](heat, found, saves_per_hour, fastest)


def _say_newest(heat: RangeHeat, found: Concentration, saves_per_hour: float, fastest: str) -> tuple[str, ...]:
    return (f"its newest {_part(heat, found)}", _split(heat, found, saves_per_hour, fastest))


def _say_range(heat: RangeHeat, found: Concentration, saves_per_hour: float, fastest: str) -> tuple[str, ...]:
    assert found.part is not None, "this shape has one"
    at = format_bytes(found.part.first_block * heat.block_bytes)
    return (
        f"{_part(heat, found)}; they begin at {at} of {format_bytes(heat.blocks * heat.block_bytes)}",
        _split(heat, found, saves_per_hour, fastest),
    )


def _say_scattered(_heat: RangeHeat, found: Concentration, _saves: float, fastest: str) -> tuple[str, ...]:
    tenth = found.hottest[1]
    hottest = (
        f"the hottest {format_ratio(tenth.of_blocks)} of its blocks take {format_ratio(tenth.of_reads)} of its reads "
        f"from storage ({format_ratio(tenth.low)} to {format_ratio(tenth.high)}) and lie all over it"
    )
    return (
        hottest,
        f"no split helps: more memory would hold its hot blocks, or {fastest} all of it",
    )


def _say_apart(heat: RangeHeat, found: Concentration, _saves: float, fastest: str) -> tuple[str, ...]:
    tenth = found.hottest[1]
    hottest = (
        f"the hottest {format_ratio(tenth.of_blocks)} of its blocks take {format_ratio(tenth.of_reads)} of its reads "
        f"from storage ({format_ratio(tenth.low)} to {format_ratio(tenth.high)}) and lie in {hot_places(heat)} places"
    )
    return hottest, f"one border does not split them off: more memory would hold its hot blocks, or {fastest} all of it"


def _say_even(_heat: RangeHeat, found: Concentration, _saves: float, fastest: str) -> tuple[str, ...]:
    quarter = found.hottest[-1]
    hottest = f"the hottest {format_ratio(quarter.of_blocks)} of its blocks take {format_ratio(quarter.of_reads)}"
    return (
        f"its reads from storage go to all of it: {hottest}",
        f"no split helps: only all of it on {fastest} does",
    )


def _say_unknown(heat: RangeHeat, _found: Concentration, _saves: float, _fastest: str) -> tuple[str, ...]:
    return (
        f"too few of its blocks were seen to come in to say where its reads go: {heat.seen:,.0f} of {LEAST_SEEN:,.0f}",
    )


def _part(heat: RangeHeat, found: Concentration) -> str:
    assert found.part is not None, "this shape has one"
    share, of_wait = found.part.share, heat.wait_share(found.part.first_block, found.part.blocks)
    waits = "" if isnan(of_wait) else f", {format_ratio(of_wait)} of the time that these took"
    return (
        f"{format_bytes(found.part.blocks * heat.block_bytes)} ({format_ratio(share.of_blocks)} of it) take "
        f"{format_ratio(share.of_reads)} of its reads from storage ({format_ratio(share.low)} to "
        f"{format_ratio(share.high)}){waits}"
    )


def _split(heat: RangeHeat, found: Concentration, saves_per_hour: float, fastest: str) -> str:
    assert found.part is not None, "this shape has one"
    part = found.part
    return (
        f"split off and on {fastest}, that part would save {format_wait(part.share.of_reads * saves_per_hour)} in "
        f"{format_bytes(part.blocks * heat.block_bytes)}; all of it {format_wait(saves_per_hour)} in "
        f"{format_bytes(heat.blocks * heat.block_bytes)}"
    )


_SAID: dict[HeatShape, Callable[[RangeHeat, Concentration, float, str], tuple[str, ...]]] = {
    HeatShape.NEWEST: _say_newest,
    HeatShape.RANGE: _say_range,
    HeatShape.APART: _say_apart,
    HeatShape.SCATTERED: _say_scattered,
    HeatShape.EVEN: _say_even,
    HeatShape.UNKNOWN: _say_unknown,
}


def advice_of_splits(answer: SplitAnswer, fastest: str, *, with_values: bool) -> Iterator[Advice]:
    """A piece of advice for each unit that was looked into.

    Args:
        answer: what splits would bring.
        fastest: name of the fastest tier.
        with_values: a border is said by its value, which is user data; else by the name of its column.
    """
    for split in answer.splits:
        yield Advice(
            code=AdviceCode.SPLIT if split.saves_per_hour > 0 else AdviceCode.NO_SPLIT,
            subject=split.key,
            sentence=split_sentence(split, fastest, with_values=with_values, refused=answer.refused.get(split.key, "")),
            saves_per_hour=split.saves_per_hour,
        )
    for unsplit in answer.unsplit:
        yield Advice(
            code=AdviceCode.NO_SPLIT,
            subject=unsplit.key,
            sentence=unsplit_sentence(unsplit, fastest),
            saves_per_hour=0.0,
        )


def split_sentence(split: Split, fastest: str, *, with_values: bool, refused: str = "") -> str:
    """What a split would bring, and how it is done; ``refused``: why no plan offers it."""
    part = f"{_rows(split, with_values=with_values)} ({format_bytes(split.hot_bytes)}, {format_ratio(split.of_reads)}"
    if not split.fits:
        gain = f"take too much room for {fastest}, whatever gives way"
    elif split.saves_per_hour <= 0:
        gain = f"would save less on {fastest} than what has to give way there"
    else:
        ends = f"{format_wait(split.saves_low_per_hour)} to {format_wait(split.saves_high_per_hour)}"
        gain = f"would save {format_wait(split.saves_per_hour)} on {fastest} ({ends})"
    return (
        f"{split.key}: {part} of its reads) {gain}; all of it {format_wait(split.whole_saves_per_hour)} in "
        f"{format_bytes(split.whole_bytes)}{'' if split.whole_fits else ', which do not fit'}; "
        f"{format_bytes(split.hot_bytes)} more memory at most {format_wait(split.memory_saves_per_hour)}."
        f"{f' {refused}' if refused else ''}{_next_step(split)}"
    )


def unsplit_sentence(unsplit: Unsplit, fastest: str) -> str:
    """Why no split helps, and what does."""
    where = _WHERE.get(unsplit.shape, "all of its blocks, so no split helps")
    return (
        f"{unsplit.key}: its reads go to {where}; {format_bytes(unsplit.memory_bytes)} more memory "
        f"would save at most {format_wait(unsplit.memory_saves_per_hour)}, all of it on {fastest} "
        f"{format_wait(unsplit.whole_saves_per_hour)} in {format_bytes(unsplit.whole_bytes)}"
        f"{'' if unsplit.whole_fits else ', which do not fit'}."
    )


_WHERE = {
    HeatShape.SCATTERED: "few blocks all over it, so no split helps",
    HeatShape.APART: "parts that lie apart, which one border does not split off",
    HeatShape.NEWEST: "a part of it, but no column has that part as a range of its values",
    HeatShape.RANGE: "a part of it, but no column has that part as a range of its values",
}


def _next_step(split: Split) -> str:
    """The command that shows the statements, where the hot part is the newest rows: those to come can be born there."""
    if split.saves_per_hour <= 0 or split.border is None or not split.border.rolls:
        return ""
    command = f"hotplace split {shlex.quote(split.key)} --column {shlex.quote(split.border.column)} --border VALUE"
    return f" `{command}` shows how, with a value ahead of the newest row: then no row is copied."


def _rows(split: Split, *, with_values: bool) -> str:
    """What is split off."""
    if split.border is None:
        return "its hot blocks, which lie together,"
    if with_values:
        return f"its rows with {range_of(split.border)}"
    return f"its {'newest rows' if split.border.rolls else 'hot rows'} by {split.border.column}"
