"""Undo: a proposal like any other, with its own digest, expiry and approval.

The connector builds the statements again, because the move may have given the unit a new physical id; what the move has
made for itself is taken back by its own undo (``TakesBack``). Units that came
go back first, then the units that made room for them: only then is their old room free.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np

from agent.config.models import DatabaseConfig
from agent.ledger.ledger import Ledger
from agent.ledger.rows import ClosedSpaceRow, MoveRow, StepRow
from agent.model.proposals import UNDO, WAY_BACK, CannotUndo, Proposal, ProposedMove, purpose_of_undo
from agent.model.states import ACTIONABLE, GOES_BACK, UNDOABLE, MoveState
from agent.planning.new_space import route_of_dropping
from agent.planning.routing import carried_as
from agent.planning.single_moves import put_back, route_of_rejoining
from agent.planning.situation import rows_of_keys
from agent.planning.template_proposals import unweighed_proposal
from connectors.kit.contract import Connector, TakesBack
from connectors.model.moves import WAYS_BACK, Bundle, NoRoute, Route, UnitKind
from connectors.model.new_space import DROP_SPACE, NEW_SPACE, makes_or_drops_space
from connectors.model.observation import Catalog
from policies.evidence.capacity import room_bytes
from policies.model.moves import MoveReason

LASTS = timedelta(days=3650)  # a way back is tried until it is done, or a person cancels it


def propose_undo(
    rows: Sequence[MoveRow],
    database: DatabaseConfig,
    connector: Connector,
    ledger: Ledger,
    now: datetime,
    *,
    asked_by: str = "",
) -> int:
    """Store a proposal that takes the moves back, and return its number. Changes nothing in the database.

    Moves that are back already, and those whose undo is under way, are left out: the proposal names the others
    (``undoes``).

    Raises:
        CannotUndo: all of them are left out, a move was not placed, its unit is gone or elsewhere, the space that it
            came from is closed to arrivals, or there is no way back.
        ConnectorError: the engine did not answer.
    """
    if not rows:
        raise CannotUndo("there is no move to take back", advice="`hotplace history` lists the moves.")
    catalog = _with_exact_sizes(connector.catalog(), rows, connector)
    closed = {row.space: row for row in ledger.arrivals.rows(database.name)}
    # If nothing is left, all of them: the first one then says why.
    rows = [row for row in rows if not _needs_no_undo(row, catalog)] or rows
    # What came up goes down first, whatever the order was: what gave way needs the very room that it takes.
    backwards = sorted(rows, key=lambda row: (row.move.reason == MoveReason.MAKE_ROOM, -row.id))
    room, steps = _rooms(catalog, database), ledger.moves.steps_of([row.id for row in rows])
    routes = list(_routes_back(backwards, catalog, connector, room))
    for row, route in routes:
        _require_open(row, route, closed)
    moves = tuple(
        _back(ordinal, row, carried_as(row.move.route, route, database), steps[row.id])
        for ordinal, (row, route) in enumerate(routes, start=1)
    )
    purpose = purpose_of_undo(row.id for row in rows)
    fingerprint = connector.identify().fingerprint
    return ledger.proposals.store(unweighed_proposal(database, fingerprint, moves, now, purpose, asked_by=asked_by))


def way_back(rows: Sequence[MoveRow], database: DatabaseConfig, connector: Connector, now: datetime) -> Proposal:
    """What takes moves of a group back by their own undo statements, which were approved with it. The last goes first.

    Raises:
        CannotUndo: one of them does not go back, is not where it went, or its unit is gone.
        ConnectorError: the engine did not answer.
    """
    catalog = connector.catalog()
    without = next((row for row in rows if not row.move.goes_back), None)
    if without is not None:
        raise CannotUndo(f"the way back of move {without.id} was not approved with it")
    routes = {row.id: _own_way_back(row.move.route, _bundle_now(row, catalog)) for row in rows}
    backwards = enumerate(sorted(rows, key=lambda row: -row.id), start=1)
    moves = tuple(
        replace(_back(ordinal, row, routes[row.id]), reason=WAY_BACK, group=ordinal) for ordinal, row in backwards
    )
    purpose = purpose_of_undo(row.id for row in rows)
    return unweighed_proposal(database, connector.identify().fingerprint, moves, now, purpose, expires_at=now + LASTS)


def _needs_no_undo(row: MoveRow, catalog: Catalog) -> bool:
    """Whether a move is back already, by an undo or by hand, or its undo is under way."""
    if row.state not in UNDOABLE:
        return row.state in GOES_BACK
    bundle, units = row.move.route.bundle, catalog.units
    # Of a split, a container or what moves as a whole the space of the units does not say where it is.
    plain = bundle.unit_keys and not (bundle.container or bundle.wide) and row.move.route.name not in WAYS_BACK
    if not plain or row.move.from_space == row.move.to_space:
        return False
    row_of = rows_of_keys(units.key, set(bundle.unit_keys))
    spaces = {catalog.spaces[int(units.space[at])].name for at in row_of.values()}
    return len(row_of) == len(set(bundle.unit_keys)) and spaces == {row.move.from_space}


def _own_way_back(done: Route, bundle: Bundle) -> Route:
    """A route that sends the undo statements of another, for the bundle as it is now."""
    return replace(
        done, bundle=bundle, to_space=done.bundle.space, steps=done.undo_steps, undo_steps=done.steps, copies=()
    )


def _with_exact_sizes(catalog: Catalog, rows: Sequence[MoveRow], connector: Connector) -> Catalog:
    """The catalog with the bytes that the units of the moves have now: its own sizes are cheap estimates."""
    units = catalog.units
    row_of = rows_of_keys(units.key, {key for row in rows for key in row.move.route.bundle.unit_keys})
    at = np.array(sorted(row_of.values()), dtype=np.int64)
    if not len(at):
        return catalog
    # Exact, because the precheck compares with exact ones: by an estimate of an 8 KiB table its undo was refused as
    # grown.
    exact, sizes = connector.exact_sizes(units.physical_id[at]), units.size_bytes.copy()
    sizes[at] = np.where(exact < 0, sizes[at], exact)
    return replace(catalog, units=replace(units, size_bytes=sizes))


def _rooms(catalog: Catalog, database: DatabaseConfig) -> dict[str, int]:
    """Bytes that each space takes above its head-room, where that is known."""
    ratio = database.policy_settings().head_room_ratio
    rooms = ((space.name, room_bytes(space, ratio)) for space in database.resolve_spaces(catalog).spaces)
    return {name: room for name, room in rooms if room is not None}


def _routes_back(
    rows: Sequence[MoveRow], catalog: Catalog, connector: Connector, room: dict[str, int]
) -> Iterator[tuple[MoveRow, Route]]:
    """The way back of each move, each knowing the one before it that rewrites the same thing."""
    last: dict[str, Route] = {}
    for row in rows:
        rewrites = row.move.route.rewrites
        route = _route_back(row, catalog, connector, room, last.get(rewrites))
        if rewrites:
            last[rewrites] = route
        yield row, route


def _route_back(
    row: MoveRow, catalog: Catalog, connector: Connector, room: dict[str, int], before: Route | None
) -> Route:
    """The kindest way back that finds room once those before it are back, the kindest of all where none does.

    ``room`` is changed to what it will be then.
    """
    if row.state not in UNDOABLE:
        why = f" ({row.reason})" if row.reason else ""
        raise CannotUndo(
            f"move {row.id} is {row.state.words}{why}: there is nothing to take back", advice=_instead(row)
        )
    if row.move.route.bundle.container:
        return _container_back(row)
    if row.move.route.name == NEW_SPACE:
        return route_of_dropping(row.move.route)
    if row.move.route.name == DROP_SPACE:
        raise CannotUndo(
            f"move {row.id} dropped {row.move.key}, which is not made again by an undo",
            advice="hotplace space create makes it again.",
        )
    if row.move.route.name in WAYS_BACK:
        return route_of_rejoining(row.move.route, connector)
    if not row.move.route.bundle.unit_keys:
        raise CannotUndo(
            f"move {row.id} made {row.move.key}, which is not taken away again: it may hold rows",
            advice="Drop it yourself if it holds none.",
        )
    answer = _ways_back(connector, row.move.route, _bundle_now(row, catalog), row.move.from_space, before)
    if isinstance(answer, NoRoute):
        raise CannotUndo(f"move {row.id} of {row.move.key} cannot be taken back: {answer.sentence}")
    size, source, target = answer[0].bundle.size_bytes, row.move.to_space, row.move.from_space
    left = room.get(target)
    # The kindest that fits, not the kindest: an online way may need the room of a second copy where the plain one needs
    # none. Where none fits, it is proposed all the same: room can be made before it is approved.
    route = next((each for each in answer if left is not None and size + each.transient_bytes <= left), answer[0])
    for space, more in ((source, size), (target, -size)):
        if space in room:
            room[space] += more
    return route


def _instead(row: MoveRow) -> str:
    """What can be done about a move that is not taken back in its state."""
    if row.state is MoveState.UNDO_PROPOSED:
        return "hotplace proposals shows the undo and what it waits for."
    if row.state is MoveState.PROPOSED:
        return f"hotplace show {row.proposal_id} shows its proposal, which waits for a decision."
    if row.state is MoveState.HANDED_OVER:
        return f"hotplace show {row.proposal_id} --sql prints what a person carries out; tell that person."
    if row.state in ACTIONABLE:
        return f"`hotplace cancel {row.id}` ends it."
    return "hotplace history lists every move with its state."


def _require_open(row: MoveRow, route: Route, closed: Mapping[str, ClosedSpaceRow]) -> None:
    """Refuse what the precheck would refuse once it was approved: nothing arrives in a closed space.

    Raises:
        CannotUndo: the space that the move came from is closed to arrivals.
    """
    of = closed.get(row.move.from_space)
    if of is None or route.bundle.container or makes_or_drops_space(route):
        return
    why = f": {of.reason}" if of.reason else ""
    raise CannotUndo(
        f"move {row.id} cannot be taken back: space {of.space} is closed to arrivals, by {of.who}{why}",
        advice=f"hotplace reopen {shlex.quote(of.space)} opens it; then undo it again.",
    )


def _ways_back(
    connector: Connector, done: Route, bundle: Bundle, to_space: str, before: Route | None
) -> tuple[Route, ...] | NoRoute:
    """By the undo of the move itself where its connector has one that still fits, else as any move goes there."""
    own = connector.routes_back(done, bundle, before) if isinstance(connector, TakesBack) else ()
    return own or connector.routes(bundle, to_space)


def _container_back(row: MoveRow) -> Route:
    if not row.move.route.undo_steps:
        raise CannotUndo(
            f"move {row.id} put a container back, which is not taken back",
            advice=f"hotplace plan --mode drain --space {shlex.quote(row.move.to_space)} --container "
            "takes it out again.",
        )
    return put_back(row.move.route)


def _bundle_now(row: MoveRow, catalog: Catalog) -> Bundle:
    """The bundle of a move as the catalog has it now: same keys, perhaps other physical ids."""
    units = catalog.units
    row_of = rows_of_keys(units.key, set(row.move.route.bundle.unit_keys))
    gone = [key for key in row.move.route.bundle.unit_keys if key not in row_of]
    if gone:
        raise CannotUndo(f"move {row.id} cannot be taken back: {', '.join(gone)} no longer exists")
    rows = [row_of[key] for key in row.move.route.bundle.unit_keys]
    space = catalog.spaces[int(units.space[rows[0]])].name
    if space != row.move.to_space:
        raise CannotUndo(
            f"move {row.id} cannot be taken back: {row.move.key} is in {space}, not in {row.move.to_space}"
        )
    return Bundle(
        key=row.move.key,
        physical_ids=tuple(int(units.physical_id[at]) for at in rows),
        unit_keys=row.move.route.bundle.unit_keys,
        kind=UnitKind(int(units.kind[rows[0]])),
        size_bytes=int(units.size_bytes[rows].sum()),
        space=space,
        wide=row.move.route.bundle.wide,
        homes=row.move.route.leaves,
        table_ids=units.table_ids(rows),
    )


def _back(ordinal: int, row: MoveRow, route: Route, steps: Sequence[StepRow] = ()) -> ProposedMove:
    """The way back of a move; ``steps``: those of the way there, as far as they are known."""
    move = row.move
    return ProposedMove(
        ordinal=ordinal,
        key=move.key,
        route=route,
        from_space=move.to_space,
        to_space=move.from_space,
        from_tier=move.to_tier,
        to_tier=move.from_tier,
        reason=UNDO,
        size_bytes=route.bundle.size_bytes,
        wait_saved_per_hour=-move.wait_saved_per_hour,
        copy_seconds=_seconds_back(move, route.bundle.size_bytes, steps),
        payback_seconds=None,
        sentence=f"takes move {row.id} back: {move.key} from {move.to_space} to {move.from_space}",
        undoes=row.id,
    )


def _seconds_back(move: ProposedMove, size_bytes: int, steps: Sequence[StepRow]) -> float:
    """How long a copy of so many bytes takes, by what the move was said to take or, if that was longer, took."""
    took = sum((step.ended_at - step.intended_at).total_seconds() for step in steps if step.ended_at is not None)
    grown = size_bytes / move.size_bytes if move.size_bytes else float(size_bytes > 0)
    return max(move.copy_seconds, took) * grown
