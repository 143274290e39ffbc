"""The route of each move of a plan, and moves that one statement makes at once.

Combine moves that one statement can make at once: a table with its indexes or its LOBs, if both were chosen.

The route of each move of a plan; moves without a route are reported, and the plan is made again without them.

Moves that one statement can do together become one; other moves that rewrite the same object take turns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import inf

from agent.config.models import DatabaseConfig
from connectors.kit.contract import Connector, FillsTemplates, FollowsOn, HotplaceError, KnowsRightsToMove, NotRecorded
from connectors.kit.registry import find_engine
from connectors.kit.templates import StatementTemplate
from connectors.model.moves import Border, Bundle, ByHand, KnowsRightsToSplit, NoRoute, Route, SplitsTables, UnitKind
from connectors.model.observation import UnitTable
from policies.evidence.borders import Split
from policies.evidence.capacity import without_room
from policies.model.moves import MoveReason
from policies.model.plan import Plan, PlanMove, Situation
from policies.model.settings import PolicySettings
from policies.placement.ranges import border_of, key_of_part
from policies.placement.schedule import INDEXES
from policies.placement.verdicts import move_sentence


def combine_moves(plan: Plan, first: int, second: int, situation: Situation, settings: PolicySettings) -> Plan | None:
    """The plan with two of its moves as one, in the place of the first or else of the second.

    None if their spaces or reasons differ, or if a space would not hold the new order.
    """
    one, other = plan.moves[first], plan.moves[second]
    if _way(one) != _way(other):
        return None
    if _rank(one, situation) > _rank(other, situation):
        one, other = other, one
    both = _both(one, other)
    rest = [move for at, move in enumerate(plan.moves) if at not in (first, second)]
    # In the place of the second the list is one shorter, since the first is taken out before it.
    for at in (first, second - 1):
        comes = next((move.key for move in rest[at:] if move.reason is not MoveReason.MAKE_ROOM), both.key)
        moves = _join_groups((*rest[:at], _with_sentence(both, other, comes), *rest[at:]), {one.group, other.group})
        if without_room(moves, situation, settings, situation.transient, situation.staying) is None:
            return replace(plan, moves=moves)
    return None


def _join_groups(moves: Sequence[PlanMove], joined: set[int]) -> tuple[PlanMove, ...]:
    """The moves with two groups and all between them joined, since a group is carried out without interruption."""
    places = [at for at, move in enumerate(moves) if move.group in joined]
    within = {move.group for move in moves[places[0] : places[-1] + 1]} | joined
    return tuple(replace(move, group=min(within)) if move.group in within else move for move in moves)


def _rank(move: PlanMove, situation: Situation) -> int:
    """A table leads its LOBs and its indexes, a LOB the indexes."""
    kind = situation.units.kind[move.rows[0]]
    return 2 if kind in INDEXES else 1 if kind == UnitKind.LOB else 0


def _way(move: PlanMove) -> tuple[str, str, str, str]:
    return move.from_space, move.to_space, move.reason, move.wide


def _both(one: PlanMove, other: PlanMove) -> PlanMove:
    """Two moves as one, led by the first."""
    saved = one.wait_saved_per_hour + other.wait_saved_per_hour
    paid = [each for each in (one, other) if each.payback_seconds < inf]
    cost = sum(each.payback_seconds * each.wait_saved_per_hour for each in paid)
    return replace(
        one,
        rows=(*one.rows, *other.rows),
        size_bytes=one.size_bytes + other.size_bytes,
        wait_saved_per_hour=saved,
        copy_seconds=one.copy_seconds + other.copy_seconds,
        # A demotion has no pay-back time, so of a pair with one nothing finite can be said.
        payback_seconds=cost / saved if len(paid) == 2 and saved > 0 else inf,
    )


def _with_sentence(both: PlanMove, other: PlanMove, comes: str) -> PlanMove:
    return replace(both, sentence=move_sentence(replace(both, key=f"{both.key} with {other.key}"), comes))


@dataclass(frozen=True, slots=True)
class RouteRefusals:
    """Moves without a route, and why: bundles by their leading unit, wholes by their name."""

    bundles: dict[str, str] = field(default_factory=dict)
    wholes: dict[str, str] = field(default_factory=dict)

    def add(self, move: PlanMove, why: str) -> None:
        """Record why a move has no route."""
        (self.wholes if move.wide else self.bundles)[move.wide or move.key] = why

    def learnt(self, situation: Situation) -> Situation:
        """The situation with these refusals known to the solver."""
        return replace(
            situation,
            no_route={**situation.no_route, **self.bundles},
            no_wide={**situation.no_wide, **self.wholes},
        )

    def __bool__(self) -> bool:
        return bool(self.bundles or self.wholes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Routed:
    """A plan and the kindest route of each of its moves; where some are refused, there are no routes."""

    plan: Plan
    routes: tuple[Route, ...]
    refused: RouteRefusals


@dataclass(slots=True)
class _Desk:
    """Asks the connector for routes, and never twice for the same bundle and target."""

    units: UnitTable
    connector: Connector
    parts: Mapping[str, Split] = field(default_factory=dict)  # by the key of their row
    mover_side: Connector | None = None
    answers: dict[tuple[Bundle, str], tuple[Route, ...] | NoRoute] = field(default_factory=dict)

    def route(self, move: PlanMove) -> Route | NoRoute:
        """The kindest route of a move, or why there is none."""
        asked = bundle_of(self.units, move), move.to_space
        if asked not in self.answers:
            try:
                self.answers[asked] = self._answer(move, *asked)
            except NotRecorded as error:
                self.answers[asked] = NoRoute(code="not_recorded", sentence=str(error))
        answer = self.answers[asked]
        return answer if isinstance(answer, NoRoute) else answer[0]

    def _answer(self, move: PlanMove, bundle: Bundle, to_space: str) -> tuple[Route, ...] | NoRoute:
        part = self.parts.get(move.key)
        if part is None:
            return self.connector.routes(bundle, to_space)
        table = table_to_split(self.units, self.units.key.index(part.key), bundle.space)
        answer = split_route(self.connector, self.mover_side, table, border_of(part), to_space)
        if isinstance(answer, ByHand):
            return NoRoute(code="by_hand", sentence=f"a person would have to split it: {answer.because}")
        return answer if isinstance(answer, NoRoute) else (answer,)

    def route_after(self, move: PlanMove, before: Route) -> Route | None:
        """The kindest route of a move that follows another which rewrites the same object; None: it has to wait."""
        if not isinstance(self.connector, FollowsOn):
            return None
        answer = self.connector.routes_after(bundle_of(self.units, move), move.to_space, before)
        return None if isinstance(answer, NoRoute) else answer[0]


def find_routes(
    situation: Situation,
    settings: PolicySettings,
    plan: Plan,
    connector: Connector,
    ranges: Sequence[Split] = (),
    mover_side: Connector | None = None,
) -> Routed:
    """Ask for the route of every move. Of moves that get in one another's way the first goes, the others wait.

    Args:
        situation: that the plan was made from, with the parts.
        settings: with which.
        plan: whose moves need routes.
        connector: asked.
        ranges: the parts of tables that it may split off.
        mover_side: of the account that would split them; None: not connected.

    Raises:
        ConnectorError: the engine did not answer.
    """
    desk = _Desk(situation.units, connector, {key_of_part(each.key): each for each in ranges}, mover_side)
    refused = RouteRefusals()
    while True:
        # All refusals of a plan at once: each new plan costs a run of the solver.
        routes = []
        for move in plan.moves:
            answer = desk.route(move)
            if isinstance(answer, NoRoute):
                refused.add(move, answer.sentence)
            else:
                routes.append(answer)
        if refused:
            return Routed(plan=plan, routes=(), refused=refused)
        # One pair at a time, then all routes are asked for again: a joined move has other statements, and may join a
        # third one by them.
        joined = next(_join_moves(plan, routes, situation, settings, desk), None)
        if joined is None:
            break
        plan = joined
    _take_turns(plan, routes, refused, desk)
    return Routed(plan=plan, routes=() if refused else tuple(routes), refused=refused)


def _join_moves(
    plan: Plan, routes: list[Route], situation: Situation, settings: PolicySettings, desk: _Desk
) -> Iterator[Plan]:
    """Plans with one move less, because one route does two of them."""
    earlier: dict[str, list[int]] = {}
    for second, route in enumerate(routes):
        what = route.unites or (route.rewrites if route.combines else "")
        for first in earlier.setdefault(what, []) if what else ():
            fewer = combine_moves(plan, first, second, situation, settings)
            if fewer is not None and not any(isinstance(desk.route(move), NoRoute) for move in fewer.moves):
                yield fewer
        earlier.setdefault(what, []).append(second)


def _take_turns(plan: Plan, routes: list[Route], refused: RouteRefusals, desk: _Desk) -> None:
    """Refuse moves that have to wait for another move of the plan.

    One exception: a move for which a part of the same object made room follows in this plan, where the engine can
    foresee its statements. Refusing it would also cancel the move that makes room, in this plan and in every later one.
    """
    rewritten: set[str] = set()
    gave_way: dict[str, Route] = {}  # by the rewritten object; at most one other move follows each
    wholes = {move.wide for move in plan.moves} - {""}
    for at, (move, route) in enumerate(zip(plan.moves, routes, strict=True)):
        first = gave_way.pop(route.rewrites, None) if route.rewrites in rewritten else None
        following = None if first is None else desk.route_after(move, first)
        if following is not None:
            routes[at] = following
        elif route.rewrites in rewritten:
            refused.add(
                move, f"another move of this plan rewrites {route.rewrites}; this one can follow in a later plan"
            )
        elif route.joins in wholes:
            refused.add(
                move, f"{route.joins}, where it would go, moves in this plan; this one can follow in a later plan"
            )
        if move.reason is MoveReason.MAKE_ROOM and route.rewrites not in rewritten:
            gave_way[route.rewrites] = route
        rewritten |= {route.rewrites} - {""}


BY_HAND = "by_hand is set for this database: people carry moves out, and hotplace sends no statement"


def for_its_carrier(route: Route, database: DatabaseConfig, mover_side: Connector | None = None) -> Route:
    """The route for who carries moves of the database out; one that its engine leaves to a person stays as it is.

    Of a route that was stored for another carrier, and of its way back, statements by hand are made again.

    Args:
        route: as the engine offers it.
        database: its configuration.
        mover_side: of the account that would carry it out: what that may not, a person does; None: not asked.
    """
    of_engine = route.by_hand is not None and route.by_hand.because != BY_HAND
    if of_engine or not route.steps:
        return route
    client = find_engine(database.engine).client
    if database.by_hand:
        return route.by_a_person(BY_HAND, client)
    lacking = "" if mover_side is None else _lacking_rights(mover_side, route)
    return route.by_a_person(lacking, client) if lacking else replace(route, by_hand=None)


def _lacking_rights(mover_side: Connector, route: Route) -> str:
    """Who does not answer may have every right, and whoever plans need not know its password."""
    if isinstance(mover_side, KnowsRightsToMove):
        with suppress(HotplaceError):
            return mover_side.lacking_rights(route)
    return ""


def carried_as(done: Route, back: Route, database: DatabaseConfig) -> Route:
    """The way back of a move, for a person too where the account that moves might not carry out the way there."""
    hand = done.by_hand
    if hand is None or hand.because == BY_HAND or back.by_hand is not None or not back.steps:
        return back
    return back.by_a_person(hand.because, find_engine(database.engine).client)


def derives(connector: Connector, route: Route, template: StatementTemplate | None, now: datetime) -> bool:
    """Whether the connector makes just the statements of a route as things are now.

    For its bundle and target; of a route that was made of a template: as one of those that are due under it.

    Raises:
        ConnectorError: the engine did not answer.
    """
    if template is None:
        answer = connector.routes(route.bundle, route.to_space)
    else:
        answer = connector.routes_due(template, now) if isinstance(connector, FillsTemplates) else ()
    return not isinstance(answer, NoRoute) and _statements(route) in map(_statements, answer)


def _statements(route: Route) -> tuple[object, ...]:
    """All that a route may send, and what a template was filled with."""
    return (
        route.prologue, route.patient_prologue, route.steps, route.undo_steps, route.tidy_steps, route.arguments,
        route.by_hand,
    )  # fmt: skip


def split_route(
    connector: Connector, mover_side: Connector | None, table: Bundle, border: Border, to_space: str
) -> Route | ByHand | NoRoute:
    """How a table is split, by the account that would do it where that is connected.

    Raises:
        ConnectorError: the engine did not answer.
    """
    asked = mover_side or connector
    if table.kind not in (UnitKind.TABLE, UnitKind.TABLE_PARTITION):
        return NoRoute(code="no_table", sentence="only a table is split")
    if not isinstance(asked, SplitsTables):
        return NoRoute(code="not_offered", sentence="the connector of this engine splits no tables")
    answer = asked.routes_split(table, border, to_space)
    return refuse_by_rights(mover_side, answer) or answer if isinstance(answer, Route) else answer


def refuse_by_rights(mover_side: Connector | None, route: Route) -> NoRoute | None:
    """Which rights the account that would do it lacks; None: none, or it is not connected."""
    return mover_side.refuse_split(route) if isinstance(mover_side, KnowsRightsToSplit) else None


def table_to_split(units: UnitTable, row: int, space: str) -> Bundle:
    """A table that is to be split: no byte of it is copied but what the route says."""
    return Bundle(
        key=units.key[row],
        physical_ids=(int(units.physical_id[row]),),
        unit_keys=(),
        kind=UnitKind(int(units.kind[row])),
        size_bytes=0,
        space=space,
    )


def bundle_of(units: UnitTable, move: PlanMove) -> Bundle:
    """The bundle that a planned move names."""
    return Bundle(
        key=move.key,
        physical_ids=tuple(int(units.physical_id[row]) for row in move.rows),
        unit_keys=tuple(units.key[row] for row in move.rows),
        kind=UnitKind(int(units.kind[move.rows[0]])),
        size_bytes=move.size_bytes,
        space=move.from_space,
        wide=move.wide,
        table_ids=units.table_ids(move.rows),
    )
