"""From a picture to a proposal: asks the policies what is worth moving and the connector how.

Reads only. The loop exists because three answers come late: an engine may have no route for a bundle, exact sizes may
differ from the cheap ones that ranking uses, and a route may cost much beside its copying. Each time the plan is made
again with what was learnt.
"""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol, TypeVar

import numpy as np

from agent.allowance import budget_of, expiry_of, limits_of
from agent.config import DatabaseConfig
from agent.copying import came_up, since_for, turned_over, worn
from agent.experience import experienced
from agent.ledger import Ledger
from agent.proposals import BALANCE, Proposal, ProposedMove
from agent.purposes import purpose_of
from agent.routing import routed
from agent.sampler import Picture
from agent.states import MoveState
from connectors.base import Connector
from connectors.model import F64, I8, I64, Route, Space
from policies.benefit import move_cost_seconds
from policies.costs import route_cost
from policies.heat import GUEST_HALF_LIVES, doubted
from policies.modes import Hsm, Mode, plan_mode
from policies.plan import HeatView, Pin, Plan, PlannedMove, PolicySettings, RouteCost, Situation, Verdict


class Wish(Protocol):
    """A pin, from the configuration or from the ledger."""

    @property
    def pattern(self) -> str:
        """A unit's key, or a glob over keys."""
        ...

    @property
    def pin(self) -> Pin:
        """What is wanted of the units that match."""
        ...


_N = TypeVar("_N", int, float)
ROUNDS = 40  # of asking again, each for all moves of a plan; one that still has no way then does nothing
SIZE_TOLERANCE_RATIO = 0.05  # exact against cheap size
WEIGHED_RATIO = 0.05  # of what copying costs: a route that costs less beside it is told, and the plan not made again
REWEIGHED = 3  # plans made again for what routes cost, at most: each brings in others, of lower gain


@dataclass(frozen=True, slots=True, kw_only=True)
class Planning:
    """A plan with everything it was made from, and how each move would be done."""

    situation: Situation
    settings: PolicySettings
    plan: Plan
    routes: tuple[Route, ...]  # one per move of the plan
    costs: tuple[RouteCost, ...]  # of each, beside copying
    made_at: datetime
    pins: tuple[Wish, ...] = ()  # that the plan obeyed, the last that matches a unit wins
    plain: bool = True  # made in the default mode without a time limit, so situation and settings alone say it all
    purpose: str = BALANCE


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
        trace: rank by this in place of the heat; however short it is, somebody has chosen it.

    Raises:
        ConnectorError: the engine did not answer.
        UnknownName: the mode names a tier or space that does not exist.
    """
    sent = ledger.moves.sent(database.name, since_for(now))
    settings = _within_window(experienced(database, ledger, sent, picture.work), database, now)
    pins = pins_of(database, ledger, now)
    if trace is not None:
        picture = replace(picture, heat=trace)
        settings = replace(settings, minimum_history_seconds=0.0, regret_ratio=0.0)
    situation = situation_of(picture, database, ledger, settings, now)
    failed = _last_failed(ledger, database.name, settings, now) if mode is None else {}
    if failed:
        resting = settings.cool_down_seconds - _seconds_since(situation.units.key, failed, now)
        situation = replace(situation, cooling_seconds=np.maximum(situation.cooling_seconds, resting))
    situation = replace(
        situation,
        tiers=worn(situation.tiers, sent, now),
        turned_over_ratio=turned_over(situation.tiers, situation.spaces, sent, now, settings.turnover_per_week),
    )
    wanted, plain = mode or Hsm(), mode is None and time_limit_seconds == math.inf
    reweighed = 0
    for _ in range(ROUNDS):
        plan = plan_mode(situation, settings, wanted, time_limit_seconds=time_limit_seconds)
        corrected = _with_exact_sizes(situation, plan, connector)
        if corrected is not None:
            situation = corrected
            continue
        found = routed(situation, settings, plan, connector)
        if found.refused:
            situation = found.refused.learnt(situation)
            continue
        plan, routes = found.plan, found.routes
        costs = _costs(situation, plan, routes, settings)
        dear = _dear(situation, plan, costs, settings) if reweighed < REWEIGHED else {}
        if dear:
            situation = replace(situation, route_costs={**situation.route_costs, **dear})
            reweighed += 1
            continue
        return Planning(
            situation=situation, settings=settings, plan=plan, routes=routes, costs=costs, made_at=now, pins=pins,
            plain=plain, purpose=purpose_of(wanted),
        )  # fmt: skip
    nothing = _without_moves(situation, plan)
    return Planning(
        situation=situation, settings=settings, plan=nothing, routes=(), costs=(), made_at=now, pins=pins, plain=False,
        purpose=purpose_of(wanted),
    )  # fmt: skip


def _costs(
    situation: Situation, plan: Plan, routes: Sequence[Route], settings: PolicySettings
) -> tuple[RouteCost, ...]:
    """What each move's route costs beside copying."""
    pairs = zip(plan.moves, routes, strict=True)
    return tuple(route_cost(route, move.rows, situation, settings) for move, route in pairs)


def _dear(
    situation: Situation, plan: Plan, costs: Sequence[RouteCost], settings: PolicySettings
) -> dict[str, RouteCost]:
    """Costs that count and that the plan did not know, by leading unit; a whole is weighed by its copying alone."""
    sizes = np.array([move.size_bytes for move in plan.moves], dtype=np.int64)
    copying = move_cost_seconds(sizes, situation.database, settings)
    return {
        move.key: cost
        for move, cost, of_copy in zip(plan.moves, costs, copying.tolist(), strict=True)
        if cost.seconds > WEIGHED_RATIO * of_copy and not move.wide and move.key not in situation.route_costs
    }


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
    gap = 1.0 if plan.bound_per_hour > 0 else 0.0
    return replace(plan, moves=(), wait_saved_per_hour=0.0, gap_ratio=gap, verdict=verdict, chosen=chosen)


def pins_of(database: DatabaseConfig, ledger: Ledger, now: datetime) -> tuple[Wish, ...]:
    """Pins of the configuration, then those set by hand; a later one overrules an earlier one."""
    return (*database.pins, *ledger.pins.rows(database.name, now))


def situation_of(
    picture: Picture, database: DatabaseConfig, ledger: Ledger, settings: PolicySettings, now: datetime
) -> Situation:
    """Everything a plan may depend on, put together from the picture, the pins and the record of past moves."""
    units, tier_of_space = picture.catalog.units, picture.storage.tier_of_space
    heat, cooling = picture.heat, np.zeros(len(units))
    guest_seconds = settings.long_half_life_seconds * GUEST_HALF_LIVES
    guests = came_up(picture.storage.tiers, ledger.moves.sent(database.name, now - timedelta(seconds=guest_seconds)))
    if guests:
        lately = _seconds_since(units.key, guests, now) < guest_seconds
        heat = doubted(heat, lately & (tier_of_space[units.space] == 0))
    moved = ledger.moves.last_moved(database.name)
    if moved:
        cooling = np.maximum(0.0, settings.cool_down_seconds - _seconds_since(units.key, moved, now))
    return Situation(
        units=units,
        heat=heat,
        spaces=_closed(picture.storage.spaces, ledger, database.name),
        tiers=picture.storage.tiers,
        tier_of_space=tier_of_space,
        pin=pin_column(units.key, pins_of(database, ledger, now)),
        cooling_seconds=cooling,
        database=picture.work,
        roles=picture.roles,
    )


def _closed(spaces: tuple[Space, ...], ledger: Ledger, database: str) -> tuple[Space, ...]:
    """The spaces, those closed to arrivals with their room unknown: to the policies such a space is no target.

    What is under a space is left out: no policy asks, and situations are stored.
    """
    closed = {row.space for row in ledger.arrivals.rows(database)}
    bare = (replace(space, containers=()) for space in spaces)
    return tuple(
        replace(space, free_bytes=None, capacity_bytes=None) if space.name in closed else space for space in bare
    )


def pin_column(keys: Sequence[str], pins: Sequence[Wish]) -> I8:
    """Pin of each unit, shape ``(len(keys),)``."""
    if not pins:
        return np.full(len(keys), Pin.NONE, dtype=np.int8)
    words = np.array([*(pin.pin for pin in pins), Pin.NONE], dtype=np.int8)
    return words[governing_pins(keys, pins)]


def governing_pins(keys: Sequence[str], pins: Sequence[Wish]) -> I64:
    """Which pin governs each unit, -1 for none, shape ``(len(keys),)``.

    The last matching pattern wins; an exact key matches only itself.
    """
    column = np.full(len(keys), -1, dtype=np.int64)
    row_of = rows_of_keys(keys, {pin.pattern for pin in pins})
    for at, pin in enumerate(pins):
        if pin.pattern in row_of:
            column[row_of[pin.pattern]] = at
            continue
        for row, key in enumerate(keys):
            if fnmatch.fnmatchcase(key, pin.pattern):
                column[row] = at
    return column


def _last_failed(ledger: Ledger, database: str, settings: PolicySettings, now: datetime) -> dict[str, datetime]:
    """Unit key -> when a move of it failed, of all within the cool-down: tried again at once, it would fail again.

    Who asks for a mode by a command has perhaps removed the cause, and is not held up.
    """
    since = now - timedelta(seconds=settings.cool_down_seconds)
    rows = ledger.moves.rows(database=database, states={MoveState.FAILED}, since=since)
    return {key: row.updated_at for row in rows for key in row.move.route.bundle.unit_keys}


def _seconds_since(keys: Sequence[str], instants: Mapping[str, datetime], now: datetime) -> F64:
    """How long ago the instant of each unit was, infinitely long where it has none."""
    column = np.full(len(keys), np.inf)
    for key, row in rows_of_keys(keys, instants.keys()).items():
        column[row] = (now - instants[key]).total_seconds()
    return column


def rows_of_keys(keys: Sequence[str], wanted: Set[str]) -> dict[str, int]:
    """Rows of the few keys that are wanted; those that are not there are left out."""
    return {key: row for row, key in enumerate(keys) if key in wanted} if wanted else {}


def _with_exact_sizes(situation: Situation, plan: Plan, connector: Connector) -> Situation | None:
    """The situation with exact sizes of the planned units; None when the cheap ones were close enough."""
    rows = np.array([row for move in plan.moves for row in move.rows], dtype=np.int64)
    if not len(rows):
        return None
    units = situation.units
    exact = connector.exact_sizes(units.physical_id[rows])
    cheap = units.size_bytes[rows]
    exact = np.where(exact < 0, cheap, exact)
    if bool(np.all(np.abs(exact - cheap) <= SIZE_TOLERANCE_RATIO * np.maximum(cheap, 1))):
        return None
    sizes = units.size_bytes.copy()
    sizes[rows] = exact
    return replace(situation, units=replace(units, size_bytes=sizes))


def proposal_of(
    planning: Planning, database: DatabaseConfig, fingerprint: str, *, asked_by: str = ""
) -> Proposal | None:
    """The plan as an immutable proposal; None when there is nothing to move."""
    plan = planning.plan
    if not plan.moves:
        return None
    return Proposal(
        database=database.name,
        fingerprint=fingerprint,
        created_at=planning.made_at,
        expires_at=expiry_of(
            limits_of(database), planning.made_at, timedelta(seconds=database.proposal_expires_seconds)
        ),
        wait_per_hour=plan.wait_per_hour,
        wait_saved_per_hour=plan.wait_saved_per_hour,
        bound_per_hour=plan.bound_per_hour,
        gap_ratio=plan.gap_ratio,
        ceiling_ratio=_finite(plan.ceiling_ratio),
        moves=tuple(
            _proposed(ordinal, *each)
            for ordinal, each in enumerate(zip(plan.moves, planning.routes, planning.costs, strict=True), start=1)
        ),
        wait_saved_low_per_hour=_finite(plan.wait_saved_low_per_hour),
        wait_saved_high_per_hour=_finite(plan.wait_saved_high_per_hour),
        saved_ratio_low=_finite(plan.saved_ratio_low),
        saved_ratio_high=_finite(plan.saved_ratio_high),
        relief_per_hour=plan.relief_per_hour,
        purpose=planning.purpose,
        asked_by=asked_by,
    )


def _proposed(ordinal: int, move: PlannedMove, route: Route, cost: RouteCost) -> ProposedMove:
    return ProposedMove(
        ordinal=ordinal,
        key=move.key,
        route=route,
        from_space=move.from_space,
        to_space=move.to_space,
        from_tier=move.from_tier,
        to_tier=move.to_tier,
        reason=move.reason.value,
        size_bytes=move.size_bytes,
        wait_saved_per_hour=move.wait_saved_per_hour,
        copy_seconds=move.copy_seconds,
        payback_seconds=_finite(move.payback_seconds),
        sentence=move.sentence,
        cost=cost,
    )


def _finite(value: float) -> float | None:
    """JSON knows neither NaN nor infinity."""
    return value if math.isfinite(value) else None
