"""The truth about the closing of an open part, or about its way back, from the catalog."""

from __future__ import annotations

import re
from typing import NamedTuple

from connectors.model import Home, Inspection, NoRoute, Remnant, Route
from connectors.operations import Operation
from connectors.postgresql.moving.closable import find_closable, refuse_now
from connectors.postgresql.moving.missing_rights import refuse_rights
from connectors.postgresql.moving.split_table import read_border
from connectors.postgresql.routes.close import CLOSE_STEP, REOPEN_STEP
from connectors.postgresql.session.queries import query
from connectors.postgresql.session.sessions import ReadSession

_OPEN = re.compile(r"FOR VALUES FROM \((.*)\) TO \(MAXVALUE\)")


class _State(NamedTuple):
    """The row of ``sql/close_state.sql``."""

    part_oid: int | None
    part_bound: str | None  # None: it is no part of the table
    space: str | None
    next_oid: int | None
    next_bound: str | None
    checked: bool
    next_bytes: int

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
    state, back = _State(*rows[0]), operation.name == REOPEN_STEP
    home = _home(state, route, back=back)
    if home is Home.SOURCE and state.checked:
        # The constraint of a closing refuses rows from the border on: it goes before anything else.
        left = () if running else route.tidy_steps
        remnants = tuple(Remnant(space=route.bundle.space, size_bytes=0) for _ in left)
        found = _inspection(route, home, back=back, running=running)
        return Inspection(
            home=home, sentence=found.sentence, size_bytes=0, on_disk=None, running=running, leftovers=left,
            remnants=remnants,
        )  # fmt: skip
    if home is Home.SOURCE and not running and not back:
        refusal = _refuse(session, route, operation)
        if refusal is not None:
            return Inspection(home=Home.ELSEWHERE, sentence=refusal.sentence, size_bytes=0, on_disk=None)
    return _inspection(route, home, back=back, running=running, size=state.next_bytes if back else 0)


def _home(state: _State, route: Route, *, back: bool) -> Home:
    if state.part_oid is None:
        return Home.GONE
    if back:
        # A part that has gone down since is no place for rows of the one behind it: it comes up first.
        in_place = state.may_reopen and state.space == route.to_space
        return Home.SOURCE if in_place else Home.TARGET if state.is_open else Home.ELSEWHERE
    return Home.TARGET if state.is_closed else Home.SOURCE if state.is_open else Home.ELSEWHERE


def _inspection(route: Route, home: Home, *, back: bool, running: bool, size: int = 0) -> Inspection:
    return Inspection(
        home=home, sentence=_sentence(route, home, back=back), size_bytes=size, on_disk=None, running=running,
        finished=home is Home.TARGET,
    )  # fmt: skip


def _sentence(route: Route, home: Home, *, back: bool) -> str:
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
