"""The truth about a move, a split or a close, from the catalog.

The truth about the closing of an open part, or about its way back, from the catalog.
"""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import NamedTuple

from connectors.kit.rolling import HIGH, LOW, instant_of, value_of
from connectors.model.moves import NoRoute, Operation, Route, Step, UnitKind
from connectors.model.observation import Home, Inspection, Remnant
from connectors.postgresql.catalog import INDEX, Relation, find_relation
from connectors.postgresql.close import CLOSE_STEP, REOPEN_STEP
from connectors.postgresql.new_space import inspect_space, operation_of
from connectors.postgresql.partitions import find_closable, find_holders, refuse_now
from connectors.postgresql.rights import refuse_rights
from connectors.postgresql.routes import drop_leftover, leftover_names, tag_of
from connectors.postgresql.sessions import ReadSession, query
from connectors.postgresql.settings import PostgresqlSettings
from connectors.postgresql.split import (
    CHECK_STEP,
    DROP_CHECK_STEP,
    MEND_STEP,
    MOVE_STEP,
    PARTITIONED,
    PLAIN,
    REJOIN_STEP,
    column_of,
    moved_bytes,
    moves_rows,
    refusal_of,
    refuse_rows,
    too_near,
)
from connectors.postgresql.split_block import no_table
from connectors.postgresql.split_table import read_border, read_present_share, read_table

OPERATIONS = frozenset({CHECK_STEP, MOVE_STEP, REJOIN_STEP})  # of the first step of each


class _SplitState(NamedTuple):
    """The row of ``sql/split_state.sql``."""

    oid: int | None
    kind: str | None
    checked: bool
    cold_oid: int | None
    attached: bool
    hot_kind: str | None
    hot_bytes: int
    analyzed: bool
    dead: float | None  # rows of the cold part, per row of the other one; None: not known
    emptied: bool  # VACUUM has looked at the cold part since the server counts, or it counts nothing


def is_split(route: Route) -> bool:
    """Whether the route splits a table, or takes that back."""
    operation = route.steps[0].operation
    return operation is not None and operation.name in OPERATIONS


def inspect_split(session: ReadSession, route: Route, settings: PostgresqlSettings, *, running: bool) -> Inspection:
    """Where the table of that route is on the way from plain to partitioned, or back.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    operation = route.steps[0].operation
    assert operation is not None, "is_split() has looked"
    names = {name: operation.text(name) for name in ("schema", "name", "cold", "hot", "check")}
    rows = session.rows(query("split_state"), names, doing=f"looking at the parts of {route.bundle.key}")
    state = _SplitState(*rows[0])
    split = state.kind == PARTITIONED and state.attached and state.cold_oid == _oid(operation)
    plain = state.kind == PLAIN and state.oid == _oid(operation)
    if operation.name == REJOIN_STEP:
        if split and state.hot_kind not in {None, PLAIN}:
            return _no_table(names["hot"], running=running)
        split = split and state.hot_kind is not None
        home = Home.SOURCE if split else Home.TARGET if plain else _other(state)
        return _split_inspection(route, home, running=running, size=state.hot_bytes if split else 0)
    home = Home.TARGET if split else Home.SOURCE if plain else _other(state)
    if home is not Home.TARGET and state.checked:
        # The constraint refuses rows from the border on: it goes before anything else, a next try makes it again. It
        # stays with its table where that has another name by now.
        left = () if running else tuple(step for step in route.tidy_steps if _name(step) in {"", DROP_CHECK_STEP})
        remnants = tuple(Remnant(space=route.bundle.space, size_bytes=0) for _ in left)
        return _split_inspection(route, home, running=running, leftovers=left, remnants=remnants)
    if home is Home.SOURCE and not running:
        return _before(session, route, operation, settings)
    left = _mending(route, state) if home is Home.TARGET and not running else ()
    return _split_inspection(route, home, running=running, size=route.bundle.size_bytes, leftovers=left)


def _no_table(part: str, *, running: bool) -> Inspection:
    return Inspection(home=Home.ELSEWHERE, sentence=no_table(part), size_bytes=0, on_disk=None, running=running)


MOST_DEAD = 0.1  # dead rows of the cold part per row of the new one; each moved row leaves one


def _mending(route: Route, state: _SplitState) -> tuple[Step, ...]:
    """What the split has left to do: statistics, and dead entries of moved rows; () for nothing.

    By what the server counts and not by what was sent: VACUUM succeeds, too, where an old snapshot keeps all dead rows.
    """
    dead = moves_rows(route) and (not state.emptied or (state.dead or 0.0) > MOST_DEAD)
    if state.analyzed and not dead:
        return ()
    return tuple(step for step in route.tidy_steps if _name(step) == MEND_STEP)


def _name(step: Step) -> str:
    return "" if step.operation is None else step.operation.name


def _split_inspection(
    route: Route, home: Home, *, running: bool, size: int = 0, leftovers: tuple[Step, ...] = (),
    remnants: tuple[Remnant, ...] = (),
) -> Inspection:  # fmt: skip
    return Inspection(
        home=home, sentence=_split_sentence(route, home), size_bytes=size, on_disk=None, running=running,
        leftovers=leftovers, remnants=remnants, finished=home is Home.TARGET,
    )  # fmt: skip


def _oid(operation: Operation) -> int:
    return int(operation.text("oid"))


def _other(state: _SplitState) -> Home:
    return Home.GONE if state.oid is None else Home.ELSEWHERE


def _split_sentence(route: Route, home: Home) -> str:
    operation = route.steps[0].operation
    split = (home is Home.TARGET) == (operation is not None and operation.name != REJOIN_STEP)
    match home:
        case Home.GONE:
            return f"{route.bundle.key} no longer exists"
        case Home.ELSEWHERE:
            return f"{route.bundle.key} is another table, or has other parts, than those that were approved"
    return f"{route.bundle.key} is {'partitioned' if split else 'one table'}"


def _before(session: ReadSession, route: Route, operation: Operation, settings: PostgresqlSettings) -> Inspection:
    """Whether the split may begin: by rights, and as its border lies ahead still, or rows beyond it are few enough."""
    table = read_table(session, route.bundle.key)
    column = None if table is None else column_of(table, operation.text("column"))
    if table is None or column is None:
        return _split_inspection(route, Home.SOURCE, running=False)
    if refusal := refusal_of(table, column.name) or refuse_rights(session, route):
        return _unless(refusal, route)
    border = read_border(session, column, operation.text("border"))
    if operation.name != MOVE_STEP:
        return _unless(too_near(table, column.name, border), route)
    present = read_present_share(session, table, column, border.text)
    limit = route.steps[0].timeout_seconds
    refusal = refuse_rows(table, present, route.bundle, route.to_space, settings, limit_seconds=limit)
    return _unless(refusal, route, size=moved_bytes(table, present))


def _unless(refusal: NoRoute | None, route: Route, *, size: int = 0) -> Inspection:
    if refusal is not None:
        return Inspection(home=Home.ELSEWHERE, sentence=refusal.sentence, size_bytes=0, on_disk=None)
    return _split_inspection(route, Home.SOURCE, running=False, size=size)


_OPEN = re.compile(r"FOR VALUES FROM \((.*)\) TO \(MAXVALUE\)")


class _CloseState(NamedTuple):
    """The row of ``sql/close_state.sql``."""

    part_oid: int | None
    part_bound: str | None  # None: it is no part of the table
    space: str | None
    next_oid: int | None
    next_bound: str | None
    checked: bool
    next_bytes: int
    part_kind: str | None
    next_kind: str | None

    @property
    def is_open(self) -> bool:
        """The part has no end, and nothing is behind it."""
        return self.part_bound is not None and _OPEN.fullmatch(self.part_bound) is not None and self.next_oid is None

    @property
    def is_closed(self) -> bool:
        """The other part begins just where this one ends."""
        if self.part_bound is None or self.next_bound is None:
            return False
        begins = self.next_bound.removeprefix("FOR VALUES FROM ").partition(" TO (")[0]
        return self.part_bound.endswith(f" TO {begins}")

    @property
    def may_reopen(self) -> bool:
        """It is closed, and the part behind it is the open one."""
        return self.is_closed and _OPEN.fullmatch(str(self.next_bound)) is not None


def is_closing(route: Route) -> bool:
    """Whether the route closes an open part, or takes that back."""
    operation = route.steps[0].operation
    return operation is not None and operation.name in {CLOSE_STEP, REOPEN_STEP}


def inspect_closing(session: ReadSession, route: Route, *, running: bool) -> Inspection:
    """Where the part of that route is on the way from open to closed, or back.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    operation = route.steps[0].operation
    assert operation is not None, "is_closing() has looked"
    names: dict[str, object] = {name: operation.text(name) for name in ("schema", "part", "next", "check")}
    names["oid"] = int(operation.text("oid"))
    rows = session.rows(query("close_state"), names, doing=f"looking at {route.bundle.key} and the part behind it")
    state, back = _CloseState(*rows[0]), operation.name == REOPEN_STEP
    home = _close_home(state, route, back=back)
    kinds = {operation.text("part"): state.part_kind, operation.text("next"): state.next_kind}
    other = next((part for part, kind in kinds.items() if kind not in {None, PLAIN}), "")
    if back and home is Home.SOURCE and other:
        return _no_table(other, running=running)
    if home is not Home.TARGET and state.checked:
        # The constraint of a closing refuses rows from the border on: it goes before anything else.
        left = () if running else route.tidy_steps
        remnants = tuple(Remnant(space=route.bundle.space, size_bytes=0) for _ in left)
        found = _close_inspection(route, home, back=back, running=running)
        return Inspection(
            home=home, sentence=found.sentence, size_bytes=0, on_disk=None, running=running, leftovers=left,
            remnants=remnants,
        )  # fmt: skip
    if home is Home.SOURCE and not running and not back:
        refusal = _refuse(session, route, operation)
        if refusal is not None:
            return Inspection(home=Home.ELSEWHERE, sentence=refusal.sentence, size_bytes=0, on_disk=None)
    return _close_inspection(route, home, back=back, running=running, size=state.next_bytes if back else 0)


def _close_home(state: _CloseState, route: Route, *, back: bool) -> Home:
    if state.part_oid is None:
        return Home.GONE
    if back:
        # A part that has gone down since is no place for rows of the one behind it: it comes up first.
        in_place = state.may_reopen and state.space == route.to_space
        return Home.SOURCE if in_place else Home.TARGET if state.is_open else Home.ELSEWHERE
    return Home.TARGET if state.is_closed else Home.SOURCE if state.is_open else Home.ELSEWHERE


def _close_inspection(route: Route, home: Home, *, back: bool, running: bool, size: int = 0) -> Inspection:
    return Inspection(
        home=home, sentence=_close_sentence(route, home, back=back), size_bytes=size, on_disk=None, running=running,
        finished=home is Home.TARGET,
    )  # fmt: skip


def _close_sentence(route: Route, home: Home, *, back: bool) -> str:
    match home:
        case Home.GONE:
            return f"{route.bundle.key} no longer exists"
        case Home.ELSEWHERE:
            return f"{route.bundle.key} has another range, place, or part behind it than was approved"
    return f"{route.bundle.key} has {'an' if (home is Home.TARGET) != back else 'no'} end"


def _refuse(session: ReadSession, route: Route, operation: Operation) -> NoRoute | None:
    """Why it may not begin now: as things are, by rights, or as new rows would reach the border too early."""
    found = find_closable(session, operation.text("whole"), route.to_space)
    if isinstance(found, NoRoute):
        return found
    border = read_border(session, found.column, operation.text("border"))
    return refuse_rights(session, route) or refuse_now(session, found, border)


_INDEXES = frozenset({UnitKind.INDEX, UnitKind.INDEX_PARTITION})


def inspect(session: ReadSession, route: Route, settings: PostgresqlSettings, *, local: bool) -> Inspection:
    """Where the bundle of that route is.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    key = route.bundle.key
    # Asked first: a statement that ends between the two queries is then seen as running and looked at again. The other
    # way round, its work would be taken for what a dead one has left.
    running = _running(session, route)
    if (operation := operation_of(route)) is not None:
        return inspect_space(session, route, operation, running=running)
    if is_closing(route):
        return inspect_closing(session, route, running=running)
    if is_split(route):
        return inspect_split(session, route, settings, running=running)
    relation = find_relation(session, key, route.to_space)
    if not route.bundle.unit_keys and (holder := _holder(session, route)):
        return Inspection(home=Home.ELSEWHERE, sentence=holder, size_bytes=0, on_disk=None, running=running)
    if relation is None and not route.bundle.unit_keys:  # a partition that is to be made
        return Inspection(
            home=Home.SOURCE, sentence=f"{key} does not exist yet", size_bytes=0, on_disk=None, running=running
        )
    # Who drops an index while it is rebuilt leaves the new one behind.
    is_index = route.bundle.kind in _INDEXES if relation is None else relation.kind == INDEX
    left = _leftovers(session, relation, route) if is_index and not running else ()
    home = Home.GONE if relation is None else _home(relation, route)
    there = f"{key} no longer exists" if relation is None else f"{key} is in {relation.space}"
    return Inspection(
        home=home,
        sentence=f"{there}, and another object under the approved name" if _is_other(relation, route) else there,
        size_bytes=0 if relation is None else relation.bytes or 0,
        on_disk=_on_disk(relation) if local and relation is not None else None,
        leftovers=tuple(step for step, _ in left),
        remnants=tuple(remnant for _, remnant in left),
        running=running,
        finished=home is Home.TARGET,  # one statement moves it
    )


def _holder(session: ReadSession, route: Route) -> str:
    """What has the name of a partition that is to be made; "": nothing, or that partition."""
    low, high = (instant_of(value_of(route, name)) for name in (LOW, HIGH))
    return find_holders(session, [(route.bundle.key, low, high)]).get(route.bundle.key, "")


def _is_other(relation: Relation | None, route: Route) -> bool:
    """Whether it is another table than the approved one, or the index of another; not known of older routes."""
    known = route.bundle.table_ids
    return relation is not None and bool(known) and relation.table_oid != known[0]


def _home(relation: Relation, route: Route) -> Home:
    if _is_other(relation, route):
        return Home.ELSEWHERE
    if relation.space == route.to_space:
        return Home.TARGET
    return Home.SOURCE if relation.space == route.bundle.space else Home.ELSEWHERE


def _running(session: ReadSession, route: Route) -> bool:
    rows = session.rows(query("running"), {"tag": tag_of(route)}, doing="looking for running moves")
    return bool(rows[0][0])


def _on_disk(relation: Relation) -> bool | None:
    """Whether the relation's file lies in the target's folder; None where this process cannot tell."""
    if relation.data_directory is None or relation.file is None:
        return None
    data = Path(relation.data_directory)
    if not _is_data_of(data, relation.system_identifier):
        return None
    return relation.space_oid == relation.target_oid and (data / relation.file).exists()


def _is_data_of(data: Path, system_identifier: int) -> bool:
    """Whether that folder is the very cluster that answers: a port on this machine may lead into a container.

    ``pg_control`` begins with the system identifier, 64 bits in the machine's byte order.
    """
    try:
        with (data / "global" / "pg_control").open("rb") as control:
            return bool(struct.unpack("=q", control.read(8))[0] == system_identifier)
    except OSError:
        return False


def _leftovers(session: ReadSession, relation: Relation | None, route: Route) -> tuple[tuple[Step, Remnant], ...]:
    """Steps that drop what an interrupted rebuild of this index left; those of other indexes are none of ours."""
    values = {"table": None if relation is None else relation.table_oid, "key": route.bundle.key}
    found = session.rows(query("leftovers"), values, doing="looking for unfinished indexes")
    left = []
    for schema, name, space, size, rebuilt in found:
        # Worked out from the name and not looked up: the number that the server adds shortens the index's name in front
        # of it, so names of 63 bytes end differently each time.
        number = name[len(name.rstrip("0123456789")) :]
        names = leftover_names(rebuilt, number)
        if name in names:
            step = drop_leftover(schema, name, tag_of(route), 1 + names.index(name))
            left.append((step, Remnant(space=space, size_bytes=size or 0)))
    return tuple(left)
