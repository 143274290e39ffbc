"""The truth about a split, or about its way back, from the catalog."""

from __future__ import annotations

from typing import NamedTuple

from connectors.model import Home, Inspection, NoRoute, Remnant, Route, Step
from connectors.operations import Operation
from connectors.postgresql.moving.missing_rights import refuse_rights
from connectors.postgresql.moving.present_rows import read_present_share
from connectors.postgresql.moving.split_table import read_border, read_table
from connectors.postgresql.routes.split import CHECK_STEP, MOVE_STEP, REJOIN_STEP, too_near
from connectors.postgresql.routes.split_refusals import PARTITIONED, PLAIN, column_of
from connectors.postgresql.routes.split_rows import moved_bytes, refuse_rows
from connectors.postgresql.session.queries import query
from connectors.postgresql.session.sessions import ReadSession
from connectors.postgresql.settings import PostgresqlSettings

OPERATIONS = frozenset({CHECK_STEP, MOVE_STEP, REJOIN_STEP})  # of the first step of each


class _State(NamedTuple):
    """The row of ``sql/split_state.sql``."""

    oid: int | None
    kind: str | None
    checked: bool
    cold_oid: int | None
    attached: bool
    hot_bytes: int


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
    state = _State(*rows[0])
    split = state.kind == PARTITIONED and state.attached and state.cold_oid == _oid(operation)
    plain = state.kind == PLAIN and state.oid == _oid(operation)
    if operation.name == REJOIN_STEP:
        home = Home.SOURCE if split else Home.TARGET if plain else _other(state)
        return _inspection(route, home, running=running, size=state.hot_bytes if split else 0)
    home = Home.TARGET if split else Home.SOURCE if plain else _other(state)
    if home is Home.SOURCE and state.checked:
        # The constraint refuses rows from the border on: it goes before anything else, a next try makes it again.
        remnants = tuple(Remnant(space=route.bundle.space, size_bytes=0) for _ in route.tidy_steps)
        left = () if running else route.tidy_steps
        return _inspection(route, home, running=running, leftovers=left, remnants=remnants[: len(left)])
    if home is Home.SOURCE and not running:
        return _before(session, route, operation, settings)
    return _inspection(route, home, running=running, size=route.bundle.size_bytes)


def _inspection(
    route: Route, home: Home, *, running: bool, size: int = 0, leftovers: tuple[Step, ...] = (),
    remnants: tuple[Remnant, ...] = (),
) -> Inspection:  # fmt: skip
    return Inspection(
        home=home, sentence=_sentence(route, home), size_bytes=size, on_disk=None, running=running, leftovers=leftovers,
        remnants=remnants, finished=home is Home.TARGET,
    )  # fmt: skip


def _oid(operation: Operation) -> int:
    return int(operation.text("oid"))


def _other(state: _State) -> Home:
    return Home.GONE if state.oid is None else Home.ELSEWHERE


def _sentence(route: Route, home: Home) -> str:
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
        return _inspection(route, Home.SOURCE, running=False)
    if refusal := refuse_rights(session, route):
        return _unless(refusal, route)
    border = read_border(session, column, operation.text("border"))
    if operation.name != MOVE_STEP:
        return _unless(too_near(table, column.name, border), route)
    present = read_present_share(session, table, column, border.text)
    refusal = refuse_rows(table, present, route.bundle, route.to_space, settings)
    return _unless(refusal, route, size=moved_bytes(table, present))


def _unless(refusal: NoRoute | None, route: Route, *, size: int = 0) -> Inspection:
    if refusal is not None:
        return Inspection(home=Home.ELSEWHERE, sentence=refusal.sentence, size_bytes=0, on_disk=None)
    return _inspection(route, Home.SOURCE, running=False, size=size)
