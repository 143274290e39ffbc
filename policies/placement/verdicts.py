"""Why, and why not, in one or two plain sentences with the numbers behind them.

The numbers behind a verdict: what was measured, what it is worth, what moving costs, and the limits they met.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite, nan

import numpy as np

from connectors.model.formatting import format_bytes, format_rate, format_seconds, format_wait
from connectors.model.observation import I64, NO_WIDE, Signal
from policies.evidence.bundles import MICRO, Bundles, bundle_of
from policies.evidence.capacity import closed_spaces, growth_rate, largest_unit, room_bytes, seconds_until_outgrown
from policies.evidence.guards import favour_of, hit_ratio, physical_reads, seconds_to_prove, writes
from policies.evidence.prices import HOUR, payback_seconds
from policies.model.moves import MoveReason, RouteCost
from policies.model.plan import Plan, PlanMove, Situation, Verdict
from policies.model.settings import Pin, PolicySettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One unit's numbers, together with those of the units that move with it. NaN where a figure is not known."""

    verdict: Verdict
    bundle_bytes: int
    wait_now_per_hour: float  # seconds, where it is
    wait_fast_per_hour: float  # seconds, on the fastest tier
    saves_per_hour: float  # the difference, mean
    surely_saves_per_hour: float  # its lower end, on which it is decided
    floor_per_hour: float  # less is not worth a move
    demand_error_ratio: float  # standard error of the demand to come
    hotter_ratio: float  # demand by the hotter horizon over that which counts
    expected_index: float  # that a season promises; NaN: none does
    hit_ratio: float  # logical reads that the buffer pool answers
    copy_seconds: float
    cost_seconds: float  # of session time, the three below included
    log_seconds: float  # that of it which sessions wait longer for the log; 0 until a route was asked for
    blocked_seconds: float  # that which they wait for its locks
    follow_up_seconds: float  # that which it leaves to do
    payback_seconds: float
    payback_limit_seconds: float
    observed_seconds: float
    minimum_history_seconds: float
    cooling_seconds: float


def figures_of(situation: Situation, plan: Plan, row: int, settings: PolicySettings) -> Figures:
    """The numbers of one unit.

    Args:
        situation: what the plan was made from.
        plan: what came of it.
        row: of the unit table.
        settings: with which it was made.
    """
    heat, together = situation.heat, judged_together(situation, plan, row)
    bundle = bundle_of(situation, together, settings)
    now, fast = waits(bundle)
    route = route_cost_of(situation, together)
    return Figures(
        verdict=Verdict(int(plan.verdict[row])),
        bundle_bytes=int(situation.units.size_bytes[together].sum()),
        wait_now_per_hour=now,
        wait_fast_per_hour=fast,
        saves_per_hour=now - fast,
        surely_saves_per_hour=lower_bound_of_saving(bundle),
        floor_per_hour=settings.minimum_wait_saved_per_hour,
        demand_error_ratio=_at(heat.error, row, 0.0),
        hotter_ratio=_at(heat.hotter, row, 1.0),
        expected_index=_at(heat.expected, row, nan),
        hit_ratio=float(hit_ratio(heat.rates[:, [row]])[0]),
        copy_seconds=float(bundle.copying[0] / MICRO),
        cost_seconds=float(bundle.cost[0] / MICRO),
        log_seconds=route.log_seconds,
        blocked_seconds=route.blocked_seconds,
        follow_up_seconds=route.follow_up_seconds,
        payback_seconds=payback(bundle),
        payback_limit_seconds=settings.payback_limit_seconds,
        observed_seconds=float(bundle.observed[0]),
        minimum_history_seconds=settings.minimum_history_seconds,
        cooling_seconds=float(bundle.cooling[0]),
    )


def route_cost_of(situation: Situation, together: I64) -> RouteCost:
    """What the route of these units costs apart from copying; zero where none was requested."""
    keys = (situation.units.key[int(row)] for row in together)
    nothing = RouteCost(log_seconds=0.0, blocked_seconds=0.0, follow_up_seconds=0.0)
    return next((cost for key in keys if (cost := situation.route_costs.get(key))), nothing)


def whole_of(situation: Situation, plan: Plan, row: int) -> str:
    """The whole space that a unit was judged with, "" where it was judged with its own bundle."""
    at = NO_WIDE if plan.whole is None else int(plan.whole[row])
    return "" if at == NO_WIDE else situation.units.wide_names[at]


def judged_together(situation: Situation, plan: Plan, row: int) -> I64:
    """Rows of the units that a plan moves with that one or not at all."""
    units = situation.units
    if whole_of(situation, plan, row):
        assert plan.whole is not None, "without it nothing is judged as a whole"
        return np.flatnonzero(plan.whole == plan.whole[row])
    return np.flatnonzero(units.bundle == units.bundle[row])


def waits(bundle: Bundles) -> tuple[float, float]:
    """Seconds per hour that a bundle waits where it is and on the fastest tier; NaN where it is not managed."""
    home = int(bundle.tier[0])
    return (nan, nan) if home < 0 else (float(bundle.wait[home, 0] / MICRO), float(bundle.wait[0, 0] / MICRO))


def lower_bound_of_saving(bundle: Bundles) -> float:
    """Lower end of what a bundle saves on the fastest tier, as the guard counts it; NaN where it is not managed.

    Seconds per hour.
    """
    sure = bundle.lower_bound_of_saving(bundle.saving_on(0), 0) * favour_of(bundle.pin)
    return nan if bundle.tier[0] < 0 else float(sure[0] / MICRO)


def least_that_pays(bundle: Bundles, settings: PolicySettings) -> float:
    """What a bundle has to save with confidence to be moved, seconds per hour."""
    by_cost = float(bundle.cost[0]) * HOUR / settings.payback_limit_seconds / MICRO
    return max(settings.minimum_wait_saved_per_hour, by_cost)


def payback(bundle: Bundles) -> float:
    """How long the move must last to earn its cost, by what the colder horizon expects: as the guard counts it."""
    saved = bundle.saving_on(0) * favour_of(bundle.pin) * bundle.colder
    return float(payback_seconds(bundle.cost, saved)[0])


def _at(column: np.ndarray | None, row: int, otherwise: float) -> float:
    return otherwise if column is None else float(column[row])


DAY_SECONDS = 86400.0
OUTGROWN_SHOWN_SECONDS = 30 * DAY_SECONDS  # what lies further ahead is left out of a sentence

_GENERAL = {
    Verdict.PROMOTE: "goes to faster storage, because sessions wait for its reads",
    Verdict.DEMOTE: "goes to slower storage",
    Verdict.STAYS_FAST: "stays on fast storage and is worth it",
    Verdict.STAYS_SPARE: "stays on fast storage although it gains little there, since no hotter unit needs its room",
    Verdict.IDLE: "stays: it is not used",
    Verdict.CACHED: "stays: its reads are answered from the buffer pool",
    Verdict.SEQUENTIAL: "stays: it is read sequentially, by read-ahead",
    Verdict.WRITE_DOMINATED: "stays: it is written more than read, and sessions do not wait for that",
    Verdict.PINNED: "stays because of its pin",
    Verdict.COOLING_DOWN: "stays: it was moved recently, or a move of it failed",
    Verdict.NO_ROUTE: "stays: it cannot be moved",
    Verdict.NOT_ENOUGH_HISTORY: "stays: it has not been observed for long enough",
    Verdict.NOT_OBSERVED: "stays: it is not observed here, since nothing that hotplace reads counts its reads",
    Verdict.GAIN_BELOW_FLOOR: "stays: faster storage would save too little",
    Verdict.PAYBACK_TOO_LONG: "stays: moving it would take too long to pay back",
    Verdict.WOULD_NOT_FIT: "stays: there is no room for it",
    Verdict.OUTGROWS: "stays: it grows so fast that it would soon be larger than the fast storage",
    Verdict.NOT_MANAGED: "stays: no tier is configured for its space",
    Verdict.WAITING: "waits for the next plan",
    Verdict.LEVELLED: "goes to another space of its tier",
    Verdict.SPLIT: "is split: its newest rows go to faster storage, the rest stays",
    Verdict.NOT_ASKED: "stays: this mode of the balancer does not decide about it",
    Verdict.LOG_LIKE: "stays: sessions wait for its writes, as with a log, and hardly for its reads",
    Verdict.TOO_SMALL: "stays: it is so small that the buffer pool keeps it",
    Verdict.UNCERTAIN: "stays: its gain is too uncertain to pay for a move",
    Verdict.FADING: "stays: it was hot only briefly, or long ago",
    Verdict.UNPROVEN: "stays: its waits have not yet added up to the cost of a move",
    Verdict.RAM_IS_CHEAPER: "stays: a larger buffer pool would serve it for less",
}


def verdict_sentence(verdict: Verdict) -> str:
    """What a verdict means, without the numbers of a unit."""
    return _GENERAL[verdict]


def move_sentence(move: PlanMove, makes_room_for: str, outgrown: str = "") -> str:
    """Why a move is in a plan; ``outgrown``: when it will have outgrown its new tier, as a sentence of its own."""
    size = format_bytes(move.size_bytes)
    what = move.key if not move.wide else f"{move.wide} with {_and_others(move)}"
    if move.reason is MoveReason.MAKE_ROOM:
        return (
            f"{what} ({size}) makes room for {makes_room_for}; on {move.to_tier} it costs "
            f"{format_wait(max(0.0, -move.wait_saved_per_hour))}."
        )
    if move.reason is MoveReason.LEVEL and makes_room_for != move.key:
        return (
            f"{what} ({size}) goes to {move.to_space}, also on {move.to_tier}, and so makes room for {makes_room_for}."
        )
    if move.reason is MoveReason.PIN:
        change = "saves" if move.wait_saved_per_hour >= 0 else "costs"
        return (
            f"{what} ({size}) goes to {move.to_tier} because it is pinned; that {change} "
            f"{format_wait(abs(move.wait_saved_per_hour))}."
        )
    if move.reason in _BY_MODE:
        return f"{what} ({size}) {_BY_MODE[move.reason].format(move=move)}{_wait_change(move)}."
    return (
        f"{what} ({size}) on {move.to_tier} saves {format_wait(move.wait_saved_per_hour)} "
        f"and pays back in {format_seconds(move.payback_seconds)}.{outgrown}"
    )


def growth_sentence(situation: Situation, rows: Sequence[int], tier: int, settings: PolicySettings) -> str:
    """When units will have outgrown a tier, after a blank; "" where that is too far away to be forecast."""
    seconds = seconds_until_outgrown(situation, rows, tier, settings.head_room_ratio)
    if seconds > OUTGROWN_SHOWN_SECONDS:
        return ""
    growing, name = _growing(situation, rows), situation.tiers[tier].name
    return f" It grows by {growing} and will have outgrown {name} in {format_seconds(seconds)}."


def _growing(situation: Situation, rows: Sequence[int]) -> str:
    """Bytes an hour or a day, and for how long that was seen, as text."""
    rate, seen = growth_rate(situation, rows)
    # What was watched for hours is given by the hour: by the day it would be a forecast.
    span, unit = (HOUR, "an hour") if seen < DAY_SECONDS else (DAY_SECONDS, "a day")
    known = f" (seen for {format_seconds(seen)})" if isfinite(seen) else ""
    return f"{format_bytes(int(rate * span))} {unit}{known}"


_BY_MODE = {
    MoveReason.CLEAR: "is cold and leaves {move.from_tier}, so that the requested share of it is free",
    MoveReason.LEVEL: "goes to {move.to_space}, so that the spaces of {move.to_tier} are used more evenly",
    MoveReason.DRAIN: "goes to {move.to_space}, because {move.from_space} is to be emptied",
    MoveReason.GROWTH: "leaves {move.from_space} while there is time: what grows there will need its room",
}


def _and_others(move: PlanMove) -> str:
    """The leading unit of what moves as a whole, and how many more there are."""
    others = len(move.rows) - 1
    return f"{move.key} and {others} more" if others else move.key


def _wait_change(move: PlanMove) -> str:
    if move.wait_saved_per_hour == 0:
        return ""
    change = "saves" if move.wait_saved_per_hour > 0 else "costs"
    return f"; that {change} {format_wait(abs(move.wait_saved_per_hour))}"


def explain_verdict(situation: Situation, plan: Plan, row: int, settings: PolicySettings) -> str:
    """The verdict of one unit with the numbers behind it.

    Args:
        situation: what the plan was made from.
        plan: what ``make_plan`` made of it.
        row: of the unit table.
        settings: with which it was made.
    """
    verdict = Verdict(int(plan.verdict[row]))
    key = situation.units.key[row]
    move = next((move for move in plan.moves if row in move.rows or (move.part is not None and move.key == key)), None)
    if move is not None:
        with_it = f"{key} moves with {move.wide}. " if move.wide else ""
        return f"{with_it}{move.sentence}{_why_alone(situation, plan, row)}"
    facts = _facts(situation, plan, row, settings)
    sentence = _SENTENCES[verdict](facts)
    whole = whole_of(situation, plan, row)
    others = f"{whole} as a whole" if whole else facts.with_others
    together = f" It moves together with {others}." if others else ""
    return f"{sentence}{together}{_why_alone(situation, plan, row)}"


def _why_alone(situation: Situation, plan: Plan, row: int) -> str:
    """Why a unit that could move with all of its space is judged alone; "" where there is no such choice."""
    units = situation.units
    if units.wide is None or units.wide[row] == NO_WIDE or whole_of(situation, plan, row):
        return ""
    name, inside = units.wide_names[int(units.wide[row])], np.equal(units.wide, units.wide[row])
    if name in situation.no_wide:
        return f" It cannot move with {name}: {situation.no_wide[name]}."
    if np.isin(situation.pin[inside], (Pin.MUST, Pin.NEVER)).any():
        return f" It does not move with {name}, which holds something pinned."
    if not any(inside[list(move.rows[:1])].any() for move in plan.moves):
        return ""
    size, saves = int(units.size_bytes[inside].sum()), float(plan.wait_saved_if_moved[inside].sum())
    return (
        f" It does not move with {name}: that would take {format_bytes(size)} and save {format_wait(saves)}, "
        "less per byte than its units moved separately."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    """The numbers of one unit, ready to be put into a sentence."""

    key: str
    size: int
    logical: float
    hits: float
    sync: float
    prefetched: float
    reads: float
    writes: float
    log_writes: float
    saves: float
    surely_saves: float  # NaN unless the verdict is that it is uncertain
    least: float  # that it would have to save so, to be moved
    observed: float
    cooling: float
    payback: float
    cost: float  # session seconds of its move
    proven_after: float  # seconds of observing
    pin: Pin
    no_route: str
    room: str
    fast: str
    space: str
    with_others: str
    on_fast: bool
    only_tier: bool  # that has a space
    limit: str
    growing: str
    outgrown: float  # seconds until it is larger than any space of the fastest tier
    settings: PolicySettings


def _facts(situation: Situation, plan: Plan, row: int, settings: PolicySettings) -> _Facts:
    units = situation.units
    rates = situation.heat.rates[:, row : row + 1]
    together = judged_together(situation, plan, row)
    size = int(units.size_bytes[together].sum())
    saves = float(plan.wait_saved_if_moved[together].sum())
    bundle = bundle_of(situation, together, settings)
    space = situation.spaces[int(units.space[row])]
    return _Facts(
        key=units.key[row],
        size=size,
        logical=float(rates[Signal.LOGICAL_READ, 0]),
        hits=float(hit_ratio(rates)[0]),
        sync=float(rates[Signal.SYNC_READ, 0]),
        prefetched=float(rates[Signal.PREFETCHED_READ, 0]),
        reads=float(physical_reads(rates)[0]),
        writes=float(writes(rates)[0]),
        log_writes=float(rates[Signal.SYNC_WRITE, 0]),
        saves=saves,
        surely_saves=lower_bound_of_saving(bundle) if plan.verdict[row] == Verdict.UNCERTAIN else nan,
        least=least_that_pays(bundle, settings),
        observed=float(situation.heat.observed_seconds[row]),
        cooling=float(situation.cooling_seconds[together].max()),
        payback=payback(bundle),
        cost=float(bundle.cost[0] / MICRO),
        proven_after=float(seconds_to_prove(bundle.saving_on(0), bundle.cost, settings)[0]),
        pin=Pin(int(situation.pin[row])),
        no_route=next(
            (why for at in together if (why := situation.no_route.get(units.key[int(at)]))), "no route is known"
        ),
        room=_room_text(situation, plan, size, settings, space.domain),
        fast=situation.tiers[0].name if situation.tiers else "fast storage",
        space=space.name,
        with_others=", ".join(units.key[int(at)] for at in together if at != row),
        on_fast=int(situation.tier_of_space[units.space[row]]) == 0,
        only_tier=len(situation.tiers) == 1,
        limit=_limit_text(plan, settings),
        growing=_growing(situation, together.tolist()),
        outgrown=seconds_until_outgrown(situation, together.tolist(), 0, settings.head_room_ratio),
        settings=settings,
    )


def _room_text(situation: Situation, plan: Plan, size: int, settings: PolicySettings, domain: str) -> str:
    """Why the fastest tier has no room for so many bytes of a domain once the plan has run."""
    if not situation.tiers:
        return ""
    tier = situation.tiers[0].name
    fast = [space for row, space in enumerate(situation.spaces) if situation.tier_of_space[row] == 0]
    spaces = [space for space in fast if space.domain == domain]
    rooms = [
        room - _arriving(plan, space.name)
        for space in spaces
        if (room := room_bytes(space, settings.head_room_ratio)) is not None
    ]
    closed = closed_spaces(situation, (0,))
    if not rooms:
        return closed or f"the free space of {tier} is not known; configure a capacity for its spaces"
    if largest_unit(situation, 0, settings.head_room_ratio) < size:
        return f"it is larger than any {'other ' if closed else ''}space of {tier}{closed and f', and {closed}'}"
    left = format_bytes(max(0, max(rooms)))
    return f"{tier} has {left} left, and the units that are there or are moved there save more per byte"


def _arriving(plan: Plan, space: str) -> int:
    """Bytes that a plan adds to a space."""
    coming = sum(move.size_bytes for move in plan.moves if move.to_space == space)
    return coming - sum(move.size_bytes for move in plan.moves if move.from_space == space)


def _would_save(facts: _Facts) -> str:
    return f"{facts.fast} would save {format_wait(facts.saves)}"


def _not_fitting(facts: _Facts) -> str:
    if facts.on_fast:
        return (
            f"{facts.key} is pinned off {facts.fast}, but no slower tier has known room for {format_bytes(facts.size)}."
        )
    saves, size = format_wait(facts.saves), format_bytes(facts.size)
    return f"{facts.key} would save {saves} with {size}, but {facts.room}."


def _staying_spare(facts: _Facts) -> str:
    if facts.only_tier:
        return f"{facts.key} is on {facts.fast}, the only tier that has a space."
    return (
        f"{facts.key} gains only {format_wait(max(0.0, -facts.saves))} from {facts.fast}, "
        "but no hotter unit needs its room."
    )


def _pin_sentence(facts: _Facts) -> str:
    wish = "kept on" if facts.pin is Pin.MUST else "kept off"
    return f"{facts.key} is {wish} {facts.fast} by its pin, whatever its heat."


_SENTENCES: dict[Verdict, Callable[[_Facts], str]] = {
    Verdict.PROMOTE: lambda f: f"{f.key} {_GENERAL[Verdict.PROMOTE]}: {_would_save(f)}.",
    Verdict.DEMOTE: lambda f: f"{f.key} {_GENERAL[Verdict.DEMOTE]}.",
    Verdict.STAYS_FAST: lambda f: (
        f"{f.key} stays on {f.fast}: sessions wait for {format_rate(f.sync)} of its reads per second."
    ),
    Verdict.STAYS_SPARE: _staying_spare,
    Verdict.IDLE: lambda f: f"{f.key} had less than one access an hour; there is nothing to save.",
    Verdict.CACHED: lambda f: (
        f"{f.key} reads {f.logical:,.0f} blocks/s but {percent_text(f.hits)} are answered from the buffer pool, "
        f"so {_would_save(f)}."
    ),
    Verdict.SEQUENTIAL: lambda f: (
        f"{f.key} is read sequentially ({format_rate(f.prefetched)} of {format_rate(f.reads)} blocks/s by "
        f"read-ahead), so {_would_save(f)}, little of it certain."
    ),
    Verdict.WRITE_DOMINATED: lambda f: (
        f"{f.key} is written {format_rate(f.writes)} blocks/s and read {format_rate(f.reads)} blocks/s from storage; "
        f"sessions do not wait for those writes, so {_would_save(f)}."
    ),
    Verdict.PINNED: _pin_sentence,
    Verdict.COOLING_DOWN: lambda f: (
        f"{f.key} was moved recently, or a move of it failed; "
        f"it is not moved again for another {format_seconds(f.cooling)}."
    ),
    Verdict.NO_ROUTE: lambda f: f"{f.key} would save {format_wait(f.saves)}, but it cannot be moved: {f.no_route}.",
    Verdict.NOT_ENOUGH_HISTORY: lambda f: (
        f"{f.key} has been observed for {format_seconds(f.observed)}; "
        f"at least {format_seconds(f.settings.minimum_history_seconds)} are needed for a verdict."
    ),
    Verdict.NOT_OBSERVED: lambda f: (
        f"{f.key} is not observed here: nothing that hotplace reads counts its reads, so more history would not help. "
        "If you know that it is hot, pin it."
    ),
    Verdict.GAIN_BELOW_FLOOR: lambda f: (
        f"{f.key} waits for {format_rate(f.sync)} reads/s: {_would_save(f)}, "
        f"below the {format_seconds(f.settings.minimum_wait_saved_per_hour)} per hour that make a move worthwhile."
    ),
    Verdict.PAYBACK_TOO_LONG: lambda f: (
        f"{f.key} ({format_bytes(f.size)}) would pay back in {format_seconds(f.payback)}, "
        f"longer than {format_seconds(f.settings.payback_limit_seconds)}."
    ),
    Verdict.WOULD_NOT_FIT: _not_fitting,
    Verdict.OUTGROWS: lambda f: (
        f"{f.key} would save {format_wait(f.saves)} with {format_bytes(f.size)}, but it grows by "
        f"{f.growing} and would outgrow {f.fast} in {format_seconds(f.outgrown)}, before the next plan acts."
    ),
    Verdict.NOT_MANAGED: lambda f: f"{f.key} is in {f.space}, for which no tier is configured.",
    Verdict.WAITING: lambda f: (
        f"{f.key} would save {format_wait(f.saves)}, but better moves fill this plan's {f.limit}; "
        f"it waits for the next plan."
    ),
    Verdict.LEVELLED: lambda f: f"{f.key} {_GENERAL[Verdict.LEVELLED]}.",
    Verdict.SPLIT: lambda f: f"{f.key} {_GENERAL[Verdict.SPLIT]}.",
    Verdict.NOT_ASKED: lambda f: f"{f.key} {_GENERAL[Verdict.NOT_ASKED]}.",
    Verdict.LOG_LIKE: lambda f: (
        f"{f.key} is written {format_rate(f.log_writes)} blocks/s while sessions wait, and read "
        f"{format_rate(f.reads)} blocks/s from storage: it works like a log "
        f"and is best served by its own device or a write cache."
    ),
    Verdict.TOO_SMALL: lambda f: (
        f"{f.key} has only {format_bytes(f.size)}: the buffer pool keeps it once it is used, so {_would_save(f)}."
    ),
    Verdict.UNCERTAIN: lambda f: (
        f"{f.key}: {_would_save(f)} on average, but with confidence only "
        f"{format_seconds(f.surely_saves)} per hour, less than the {format_seconds(f.least)} that pay for a move."
    ),
    Verdict.FADING: lambda f: f"{f.key} {_GENERAL[Verdict.FADING]}: {_would_save(f)} if that lasted.",
    Verdict.UNPROVEN: lambda f: (
        f"{f.key}: {_would_save(f)}, but it was observed for only {format_seconds(f.observed)}, and it may not "
        f"last; moving it would cost sessions {format_seconds(f.cost)}, which its waits come to after "
        f"{format_seconds(f.proven_after)}."
    ),
    Verdict.RAM_IS_CHEAPER: lambda f: (
        f"{f.key} reads {format_rate(f.reads)} blocks/s with {format_bytes(f.size)}: keeping it in the "
        f"buffer pool costs less than the fast storage that would serve so many reads."
    ),
}


def percent_text(share: float) -> str:
    """A share for people; what is not quite all never reads as 100%."""
    return "more than 99.99%" if 0.9999 < share < 1 else f"{share * 100:.4g}%"


def _limit_text(plan: Plan, settings: PolicySettings) -> str:
    """Which limit of a plan kept something out."""
    if len(plan.moves) >= settings.maximum_moves:
        return f"limit of {settings.maximum_moves}"
    return "time limit" if settings.maximum_bytes is None else f"limit of {format_bytes(settings.maximum_bytes)}"
