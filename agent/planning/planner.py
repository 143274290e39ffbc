"""From a picture to a proposal: the policies say what is worth moving, the connector how.

From a picture to a proposal: the policies say what is worth moving, the connector how.

Reads only. Planning is a loop because four facts are known only for the moves of a plan: the engine may have no route
for a bundle, exact sizes may differ from the cheap ones that ranking uses, a route may need room beyond its copy, and
it may cost much more than its copying. Each of them leads to a new plan with that fact known. The final plan fits by
exact sizes, with the growth expected until its moves run and all the room that they need in transit.

What sizes of the fastest tier would save, as the ledger keeps it for pools that databases of many machines share.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from math import ceil
from typing import Any, TypeVar

import numpy as np

from agent.config.models import DatabaseConfig
from agent.ledger.ledger import Ledger
from agent.model.approvals import refuse_stall
from agent.model.proposals import (
    BALANCE,
    Proposal,
    ProposedMove,
    WorkForecast,
    largest_bytes,
    purpose_of,
    with_ways_back,
)
from agent.planning.allowance import BY_HAND_LASTS, budget_of, expiry_of, limits_of
from agent.planning.routing import RouteRefusals, find_routes, for_its_carrier
from agent.planning.situation import PinRule, around_people, pins_of, rows_of_keys, situation_of, with_rest
from agent.sampling.block_heat import insides_of
from agent.sampling.experience import since_for, turnover_ratio_of, with_bytes_written, with_experience
from agent.sampling.picture import Picture
from connectors.kit.contract import Connector, NotRecorded, OtherContent, SeesOtherContents, TellsCopies
from connectors.model.formatting import format_bytes, format_seconds
from connectors.model.moves import CopyHabits, Route, SplitsTables
from connectors.model.observation import Bools
from policies.evidence.borders import Split
from policies.evidence.capacity import expected_bytes, without_room
from policies.evidence.costs import devices_of, route_cost, usual_seconds
from policies.evidence.prices import move_cost_seconds
from policies.model.moves import RouteCost
from policies.model.plan import HeatView, Plan, PlanMove, Situation, Verdict
from policies.model.settings import PolicySettings
from policies.placement.dispatch import Drain, Hsm, Mode, plan_mode
from policies.placement.forecast import forecast_plan
from policies.placement.ranges import (
    borne_costs,
    key_of_part,
    of_whole_units,
    range_options,
    split_apart,
    with_ranges,
)
from policies.placement.sizing import sizing

_N = TypeVar("_N", int, float)
ROUNDS = 40  # of planning; a plan with moves that have no route after that moves nothing
WEIGHED_RATIO = 0.05  # of the cost of copying: a smaller extra cost of the route is reported, without planning again
SURPRISING_RATIO = 0.25  # of the time that a copy was planned with: a route that takes longer by more is weighed
REWEIGHED = 3  # plans made again for what routes cost, at most: each brings in others, of lower gain


@dataclass(frozen=True, slots=True, kw_only=True)
class Planning:
    """A plan with everything it was made from, and how each move would be done."""

    situation: Situation
    settings: PolicySettings
    plan: Plan
    routes: tuple[Route, ...]  # one per move of the plan
    costs: tuple[RouteCost, ...]  # of each route, without the copying itself
    made_at: datetime
    pins: tuple[PinRule, ...] = ()  # that the plan obeyed, the last that matches a unit wins
    plain: bool = True  # made in the default mode without a time limit, so situation and settings alone say it all
    purpose: str = BALANCE
    work: str = "transactions"  # what the engine counts
    ranges: tuple[Split, ...] = ()  # that the plan splits off
    refused_splits: Mapping[str, str] = field(default_factory=dict)  # that would pay, and why none is offered; by key
    weighed: tuple[Situation, Plan]  # as they were weighed: each range that is split off is a row of its own
    other_contents: tuple[OtherContent, ...] = ()  # mode drain: what is in the space, or names it, and is no unit

    def forecast(self) -> WorkForecast:
        """What sessions get done once all moves are placed."""
        situation, plan = self.weighed
        found = forecast_plan(situation, self.settings, plan)
        return WorkForecast.of(found, self.work, self.settings.certainty)


def make_planning(
    picture: Picture,
    database: DatabaseConfig,
    connector: Connector,
    ledger: Ledger,
    now: datetime,
    *,
    mode: Mode | None = None,
    time_limit_seconds: float = math.inf,
    trace: HeatView | None = None,
    as_it_looks: bool = False,
    mover_side: Connector | None = None,
) -> Planning:
    """The best plan that the engine can carry out. Asks for exact sizes and routes of the planned bundles only.

    Args:
        picture: what the sampler knows.
        database: its configuration.
        connector: asked for sizes and routes.
        ledger: asked for pins and past moves.
        now: the instant.
        mode: of the balancer, default ``Hsm()``.
        time_limit_seconds: the copies of the plan take no longer.
        trace: rank by this in place of the heat; it was chosen by hand, so no minimum length applies.
        as_it_looks: take what was seen for sure, however little it is: not to be proposed.
        mover_side: of the account that moves, asked what it may; None: it may what its moves take.

    Raises:
        ConnectorError: the engine did not answer.
        UnknownName: the mode names a tier or space that does not exist.
    """
    sent = ledger.moves.sent_statements(database.name, since_for(now))
    settings = _within_window(with_experience(database, ledger, sent, picture.work), database, now)
    # The shorter of the two: a memory of hours places by heat that is gone in hours, and a move that pays back in a day
    # would never earn its copies.
    settings = replace(settings, horizon_seconds=min(settings.horizon_seconds, picture.lasting_seconds))
    pins = pins_of(database, ledger, now)
    if trace is not None:
        picture = replace(picture, heat=trace)
    if trace is not None or as_it_looks:
        settings = replace(settings, minimum_history_seconds=0.0, regret_ratio=0.0)
    situation = replace(situation_of(picture, database, ledger, settings, now), by_mean=as_it_looks)
    if mode is None:  # who asks for one by a command has perhaps removed the cause, and is not held up
        situation = with_rest(situation, database, ledger, settings, now)
    situation = around_people(situation, database, ledger)
    habits = connector.copy_habits() if isinstance(connector, TellsCopies) else CopyHabits()
    situation = replace(
        situation,
        tiers=with_bytes_written(situation.tiers, sent, now),
        turned_over_ratio=turnover_ratio_of(situation.tiers, situation.spaces, sent, now, settings.turnover_per_week),
    )
    whole = replace(situation, copy_seconds=usual_seconds(situation, settings, habits))
    wanted, plain = mode or Hsm(), mode is None and time_limit_seconds == math.inf
    reweighed, exact = 0, np.zeros(len(whole.units), dtype=np.bool_)
    of_units: Planning | None = None  # made before ranges are weighed
    ranges: tuple[Split, ...] = ()
    options: tuple[Split, ...] = ()  # all ranges that were weighed
    for _ in range(ROUNDS):
        situation = with_ranges(whole, ranges, settings)
        plan = plan_mode(situation, settings, wanted, time_limit_seconds=time_limit_seconds)
        if of_units is not None:
            apart = split_apart(plan, situation, ranges)
            if not apart:
                return replace(of_units, refused_splits=_refusals(whole, options))
            if len(apart) < len(ranges):
                ranges = apart
                continue
        # Sizes before routes: asking for a route costs several queries for each bundle, and one that turns out larger
        # may not be in the next plan at all.
        corrected = _with_exact_sizes(whole, plan, connector, exact)
        if corrected is not None:
            whole = replace(corrected, copy_seconds=usual_seconds(corrected, settings, habits))
            continue
        found = find_routes(situation, settings, plan, connector, ranges, mover_side)
        if found.refused:
            whole = found.refused.learnt(whole)
            continue
        plan, routes = found.plan, found.routes
        roomier = _with_room_on_the_way(situation, settings, plan, routes)
        if roomier is not None:
            whole = replace(
                whole, transient=roomier.transient, staying=roomier.staying, no_wide=roomier.no_wide,
                no_route=roomier.no_route,
            )  # fmt: skip
            continue
        costs = _costs(situation, plan, routes, settings, ranges)
        borne = borne_costs(plan, costs, ranges, settings)
        dear = _costs_to_weigh(situation, plan, borne, settings) if reweighed < REWEIGHED else {}
        if dear:
            whole = replace(whole, route_costs={**whole.route_costs, **dear})
            reweighed += 1
            continue
        stalling = _stalling(plan, routes, costs, situation, ranges, database.maximum_stall_seconds)
        if stalling:
            whole = stalling.learnt(whole)
            continue
        plan = replace(plan, moves=tuple(map(_with_copy_time, plan.moves, costs)))
        planning = Planning(
            situation=whole, settings=settings, plan=of_whole_units(plan, ranges, whole, settings),
            routes=tuple(for_its_carrier(route, database, mover_side) for route in routes), costs=costs, made_at=now,
            pins=pins, plain=plain, purpose=purpose_of(wanted), work=database.engine_record.work, ranges=ranges,
            refused_splits=_refusals(whole, options), weighed=(situation, plan),
        )  # fmt: skip
        may_split = isinstance(wanted, Hsm) and isinstance(connector, SplitsTables)
        if of_units is not None or plan.moves or not may_split:
            return planning
        lasting = np.zeros(len(whole.units)) if picture.lasting_demand is None else picture.lasting_demand
        options = ranges = range_options(whole, plan, settings, insides_of(ledger, database.name), lasting)
        if not ranges:
            return planning
        of_units = planning
    if of_units is not None:
        return of_units
    # Not the part of the plan that has routes: groups belong together, and a demotion whose promotion has no way would
    # be a loss.
    nothing = _without_moves(whole, plan)
    return Planning(
        situation=whole, settings=settings, plan=nothing, routes=(), costs=(), made_at=now, pins=pins, plain=False,
        purpose=purpose_of(wanted), work=database.engine_record.work, weighed=(whole, nothing),
    )  # fmt: skip


def with_other_contents(planning: Planning, mode: Drain, connector: Connector) -> Planning:
    """The plan of a drain with what else keeps its space from being removed, which is to go where most bytes go.

    Raises:
        ConnectorError: the engine did not answer.
    """
    if not isinstance(connector, SeesOtherContents):
        return planning
    sizes: dict[str, int] = {}
    for move in planning.plan.moves:
        sizes[move.to_space] = sizes.get(move.to_space, 0) + move.size_bytes
    to_space = max(sizes, key=lambda name: (sizes[name], name), default="")
    try:
        found = connector.other_contents(mode.space, to_space)
    except NotRecorded:
        return planning
    return replace(planning, other_contents=found)


def _refusals(whole: Situation, options: Sequence[Split]) -> dict[str, str]:
    """Tables whose parts have no route, and why, by the key of the table."""
    parts = {each.key: key_of_part(each.key) for each in options}
    return {key: whole.no_route[part] for key, part in parts.items() if part in whole.no_route}


def _stalling(
    plan: Plan,
    routes: Sequence[Route],
    costs: Sequence[RouteCost],
    situation: Situation,
    ranges: Sequence[Split],
    most_seconds: float,
) -> RouteRefusals:
    """Splits that may keep sessions out for longer than any approval allows unasked: no plan offers them."""
    refused, table_of = RouteRefusals(), {key_of_part(each.key): each.key for each in ranges}
    for ordinal, (move, route, cost) in enumerate(zip(plan.moves, routes, costs, strict=True), start=1):
        if move.key in table_of:
            table = table_of[move.key]
            shown = _proposed_move(ordinal, _with_copy_time(move, cost), route, cost, situation, 1.0)
            why = refuse_stall([replace(shown, key=f"a split of {table}")], most_seconds)
            if why:
                refused.add(
                    move,
                    f"{why}, longer than maximum_stall ({format_seconds(most_seconds)}): "
                    f"`hotplace split {shlex.quote(table)} --propose` proposes it, and `hotplace approve` with --stall "
                    "allows it that time",
                )
    return refused


def _costs(
    situation: Situation,
    plan: Plan,
    routes: Sequence[Route],
    settings: PolicySettings,
    ranges: Sequence[Split],
) -> tuple[RouteCost, ...]:
    """What each move's route costs, and how long it copies once those before it have brought what it reads."""
    # In the order of the plan: an index is built by reading its table, which may be on the fast tier by then.
    devices, brought = devices_of(situation, settings), dict[str, str]()
    table_of = {key_of_part(each.key): each.key for each in ranges}
    rest_of = rows_of_keys(situation.units.key, set(table_of.values()))
    costs = []
    for move, route in zip(plan.moves, routes, strict=True):
        # Who splits a table locks all of it.
        rows = (*move.rows, rest_of[table_of[move.key]]) if move.key in table_of else move.rows
        costs.append(route_cost(route, rows, situation, settings, brought=brought, devices=devices))
        brought.update((situation.units.key[row], move.to_space) for row in move.rows)
    return tuple(costs)


def _with_copy_time(move: PlanMove, cost: RouteCost) -> PlanMove:
    """The move with the time that its route says."""
    return move if cost.copy_seconds is None else replace(move, copy_seconds=cost.copy_seconds)


def _costs_to_weigh(
    situation: Situation, plan: Plan, costs: Sequence[RouteCost], settings: PolicySettings
) -> dict[str, RouteCost]:
    """Costs that count and that the plan did not know, by leading unit; a whole is weighed by its copying alone."""
    seconds = np.array([move.copy_seconds for move in plan.moves])
    copying = move_cost_seconds(seconds, situation.database, settings)
    return {
        move.key: cost
        for move, cost, of_copy in zip(plan.moves, costs, copying.tolist(), strict=True)
        if (cost.seconds > WEIGHED_RATIO * of_copy or _surprising(move, cost))
        and not move.wide
        and move.key not in situation.route_costs
    }


def _surprising(move: PlanMove, cost: RouteCost) -> bool:
    """Whether a route copies for much longer than was planned with."""
    return cost.copy_seconds is not None and cost.copy_seconds > (1.0 + SURPRISING_RATIO) * move.copy_seconds


def _within_window(settings: PolicySettings, database: DatabaseConfig, now: datetime) -> PolicySettings:
    """The settings with no more to copy than fits the next window."""
    budget = budget_of(limits_of(database), now, database.copy_safety)
    return replace(
        settings,
        maximum_bytes=_smaller(settings.maximum_bytes, budget.bytes),
        maximum_copy_seconds=_smaller(settings.maximum_copy_seconds, budget.seconds),
    )


def _smaller(one: _N | None, other: _N | None) -> _N | None:
    return min((number for number in (one, other) if number is not None), default=None)


def _without_moves(situation: Situation, plan: Plan) -> Plan:
    """The plan with nothing to do: after so many rounds there is still no way for some of its moves."""
    rows = [row for move in plan.moves for row in move.rows]
    verdict, chosen = plan.verdict.copy(), plan.chosen.copy()
    verdict[rows] = Verdict.NO_ROUTE
    chosen[rows] = situation.tier_of_space[situation.units.space[rows]] == 0
    return replace(plan, moves=(), wait_saved_per_hour=0.0, verdict=verdict, chosen=chosen)


def _with_exact_sizes(situation: Situation, plan: Plan, connector: Connector, exact: Bools) -> Situation | None:
    """The situation with exact sizes of the planned units; None where the sizes do not differ from those it has.

    Args:
        situation: of the plan.
        plan: whose units are asked about.
        connector: asked.
        exact: (n,) units whose size is exact; those of the plan are noted in it. Each is asked for once, or a table
            that grows all the time would have the plan made again and again.
    """
    rows = np.array([row for move in plan.moves for row in move.rows], dtype=np.int64)
    rows = rows[rows < len(exact)]  # a part has no size but the one that looks have found
    rows = rows[~exact[rows]]
    if not len(rows):
        return None
    exact[rows] = True
    units = situation.units
    cheap = units.size_bytes[rows]
    try:
        sizes = connector.exact_sizes(units.physical_id[rows])
    except NotRecorded:  # what a recording has is the size in its catalog
        return None
    sizes = np.where(sizes < 0, cheap, sizes)
    if np.array_equal(sizes, cheap):
        return None
    column = units.size_bytes.copy()
    column[rows] = sizes
    return replace(situation, units=replace(units, size_bytes=column))


def _with_room_on_the_way(
    situation: Situation, settings: PolicySettings, plan: Plan, routes: Sequence[Route]
) -> Situation | None:
    """The situation with what the routes of a plan take on the way and leave; None where the plan finds that room.

    A move whose need was known, and which still finds no room at its turn, has no way in this plan.
    """
    # The part of a table takes its index entries along.
    needed = {
        move.name: route.transient_bytes + max(0, route.bundle.size_bytes - move.size_bytes)
        for move, route in zip(plan.moves, routes, strict=True)
    }
    stays = {move.name: route.stays_bytes for move, route in zip(plan.moves, routes, strict=True)}
    stopped = without_room(plan.moves, situation, settings, needed, stays)
    if stopped is None:
        return None
    more = {name: most for name, most in needed.items() if most > situation.transient.get(name, 0)}
    left = {name: most for name, most in stays.items() if most > situation.staying.get(name, 0)}
    if more or left:
        transient, staying = {**situation.transient, **more}, {**situation.staying, **left}
        return replace(situation, transient=transient, staying=staying)
    refused = RouteRefusals()
    refused.add(stopped, _no_room(stopped, needed[stopped.name], situation))
    return refused.learnt(situation)


def _no_room(move: PlanMove, transient: int, situation: Situation) -> str:
    size = format_bytes(expected_bytes(move, situation))
    more = f" and {format_bytes(transient)} more while it is moved" if transient else ""
    return f"{move.to_space} has no room for {size}{more}"


def proposal_of(
    planning: Planning, database: DatabaseConfig, fingerprint: str, *, asked_by: str = ""
) -> Proposal | None:
    """The plan as an immutable proposal; None when there is nothing to move."""
    plan = planning.plan
    if not plan.moves:
        return None
    expires_at = expiry_of(limits_of(database), planning.made_at, timedelta(seconds=database.proposal_expires_seconds))
    if any(route.by_hand for route in planning.routes):
        expires_at = max(expires_at, planning.made_at + BY_HAND_LASTS)
    share = min(1.0, (expires_at - planning.made_at).total_seconds() / planning.situation.growth_seconds)
    return Proposal(
        database=database.name,
        fingerprint=fingerprint,
        created_at=planning.made_at,
        expires_at=expires_at,
        wait_per_hour=plan.wait_per_hour,
        wait_saved_per_hour=plan.wait_saved_per_hour,
        bound_per_hour=plan.bound_per_hour,
        gap_ratio=plan.gap_ratio,
        ceiling_ratio=_finite(plan.ceiling_ratio),
        moves=with_ways_back(
            _proposed_move(ordinal, *each, planning.situation, share)
            for ordinal, each in enumerate(zip(plan.moves, planning.routes, planning.costs, strict=True), start=1)
        ),
        wait_saved_low_per_hour=_finite(plan.wait_saved_low_per_hour),
        wait_saved_high_per_hour=_finite(plan.wait_saved_high_per_hour),
        saved_ratio_low=_finite(plan.saved_ratio_low),
        saved_ratio_high=_finite(plan.saved_ratio_high),
        relief_per_hour=plan.relief_per_hour,
        purpose=planning.purpose,
        asked_by=asked_by,
        forecast=planning.forecast(),
    )


def _proposed_move(
    ordinal: int, move: PlanMove, route: Route, cost: RouteCost, situation: Situation, share: float
) -> ProposedMove:
    """The move as it is approved; ``share``: of the growth that the plan leaves room for, until the approval ends."""
    most, size = expected_bytes(move, situation), route.bundle.size_bytes if move.part else move.size_bytes
    return ProposedMove(
        ordinal=ordinal,
        key=route.bundle.key if move.part else move.key,
        route=route,
        from_space=move.from_space,
        to_space=move.to_space,
        from_tier=move.from_tier,
        to_tier=move.to_tier,
        reason=move.reason.value,
        size_bytes=size,
        wait_saved_per_hour=move.wait_saved_per_hour,
        copy_seconds=move.copy_seconds,
        payback_seconds=_finite(move.payback_seconds),
        sentence=move.sentence,
        cost=cost,
        group=move.group or None,
        expected_bytes=size + ceil((most - size) * share) if most > size else None,
        limit_bytes=largest_bytes(size, max(size, most)),
    )


def _finite(value: float) -> float | None:
    """JSON knows neither NaN nor infinity."""
    return value if math.isfinite(value) else None


def curve_document(planning: Planning) -> dict[str, Any] | None:
    """The sizing curve of a plan's situation as JSON values; None where there is one tier only.

    Sizes that would not hold what is pinned to the fastest tier are left out.
    """
    if len(planning.situation.tiers) < 2:
        return None
    found = sizing(planning.situation, planning.settings)
    return {
        "tier": planning.situation.tiers[0].name,
        "present_bytes": found.present.size_bytes,
        "present_known": found.present_known,
        "points": [
            [point.size_bytes, point.saved_per_hour]
            for point in found.points
            if point.size_bytes >= min(found.pinned_bytes, found.points[-1].size_bytes)
        ],
    }
