"""The truth about a move, from the catalog."""

from __future__ import annotations

from connectors.base import PrivilegeMissing
from connectors.model import Home, Inspection, Route, Step
from connectors.operations import Operation
from connectors.rolling.ranges import instant_of
from connectors.sqlserver.doctor.findings import read_rights
from connectors.sqlserver.moving.emptying import inspect_files
from connectors.sqlserver.moving.made_tables import inspect_exchange
from connectors.sqlserver.moving.plan_drift import made_by
from connectors.sqlserver.moving.resumable_operations import of_route, operations
from connectors.sqlserver.reading.belongings import changes, read_belongings
from connectors.sqlserver.reading.definition import Definition, data_spaces, find
from connectors.sqlserver.reading.keys import name_of
from connectors.sqlserver.routes.available import tag_of
from connectors.sqlserver.routes.file_move import file_route_of
from connectors.sqlserver.routes.file_removal import inspect_container
from connectors.sqlserver.routes.operations import (
    ABORT_BUILD,
    DROP_FUNCTION,
    DROP_INDEX,
    DROP_SCHEME,
    DROP_TABLE,
    SPLIT_RANGE,
    operation_of,
)
from connectors.sqlserver.session.sessions import ReadSession


def inspect(session: ReadSession, route: Route) -> Inspection:
    """Where the bundle of that route is.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    running = _running(session, route)
    if route.bundle.container:
        return inspect_container(session, route, running=running)
    files = file_route_of(route)
    if files is not None:
        return inspect_files(session, route, files, running=running)
    made = operation_of(route.steps[0])
    if made.name == SPLIT_RANGE:
        return _of_new_partition(session, route, made, running=running)
    definitions = [find(session, name_of(key)) for key in route.bundle.unit_keys]
    present = [d for d in definitions if d is not None and d.index is not None and d.partitions]
    if not present or len(present) < len(definitions):
        gone = Inspection(
            home=Home.GONE,
            sentence=f"{route.bundle.key} no longer exists",
            size_bytes=0,
            on_disk=None,
            leftovers=() if running else _leftovers(session, route, present, held=False),
            running=running,
        )
        return inspect_exchange(session, route, gone)
    homes = frozenset().union(*(definition.homes() for definition in present))
    home, held = _home(homes, route), not running and _is_paused(session, route, present)
    place = f"{route.bundle.key} is in {', '.join(sorted(homes)) or 'no filegroup'}"
    differs = changes(route.keeps, read_belongings(session, present[0])) if route.keeps and not running else ()
    if differs:
        place = f"{place}; not as it was: {'; '.join(differs)}"
    seen = Inspection(
        home=home,
        sentence=f"{place}, a build of it is paused" if held else place,
        size_bytes=sum(definition.bytes() for definition in present),
        on_disk=None,
        leftovers=() if running else _leftovers(session, route, present, held=held),
        running=running,
        paused=held,
    )
    return inspect_exchange(session, route, seen)


def _of_new_partition(session: ReadSession, route: Route, made: Operation, *, running: bool) -> Inspection:
    """By its boundary: numbers of partitions change with every SPLIT and MERGE."""
    function, boundary = made.text("function"), made.text("boundary")
    rows = session.rows("boundaries", function, doing=f"looking for {route.bundle.key}")
    at = next((number for number, value in rows if instant_of(value) == instant_of(boundary)), None)
    spaces = data_spaces(session)
    scheme = next((space for space in spaces.values() if space.scheme and space.name == made.text("scheme")), None)
    if at is None or scheme is None:
        home, sentence = Home.SOURCE, f"{function} has no boundary {boundary} yet"
    else:
        place = spaces[scheme.destinations[at + scheme.on_right]].name
        home = Home.TARGET if place == route.to_space else Home.ELSEWHERE
        sentence = f"the partition at {boundary} is in {place}"
    return Inspection(
        home=home, sentence=sentence, size_bytes=0, on_disk=None, running=running, finished=home is Home.TARGET
    )  # fmt: skip


def _is_paused(session: ReadSession, route: Route, present: list[Definition]) -> bool:
    """Whether a resumable build of this route is paused."""
    if not any(step.pausable for step in route.steps):
        return False
    operation = of_route(operations(session, present[0].owner.object_id), route)
    return operation is not None and operation.paused


def _running(session: ReadSession, route: Route) -> bool:
    """Whether any session works on a statement of this move; without the right only the own one would be seen."""
    rights = read_rights(session)
    if not rights.sees_server:
        raise PrivilegeMissing(
            f"{rights.login} may not see other sessions, so whether a move still runs is unknown",
            advice="Run hotplace doctor: it prints the GRANT.",
        )
    return bool(session.rows("running", tag_of(route), doing="looking for running moves")[0][0])


def _home(homes: frozenset[str], route: Route) -> Home:
    if homes == {route.to_space}:
        return Home.TARGET
    if homes == {route.bundle.space}:
        return Home.SOURCE
    return Home.SPLIT if route.to_space in homes else Home.ELSEWHERE


def _leftovers(session: ReadSession, route: Route, present: list[Definition], *, held: bool) -> tuple[Step, ...]:
    """Those tidy steps of the route whose object is there and should not be."""
    if not route.tidy_steps:
        return ()
    if any(operation_of(step).name == DROP_TABLE for step in route.tidy_steps):
        return ()  # see made_tables
    made = made_by(route)
    functions = {row[0] for row in session.rows("leftovers", doing="looking for temporary partition functions")}
    indexes = {index.name for definition in present for index in definition.indexes}
    spaces = {space.name: space for definition in present for space in definition.spaces.values()}
    on_scheme = any(index.space_id == spaces[made].number for d in present for index in d.indexes if made in spaces)
    function = made in functions
    there = {
        DROP_INDEX: made in indexes,
        DROP_SCHEME: made in spaces,
        DROP_FUNCTION: function,
        ABORT_BUILD: held,
    }
    if on_scheme and not function:
        return ()  # one partition was moved: the scheme is where its index lives now
    return tuple(step for step in route.tidy_steps if there.get(operation_of(step).name, on_scheme))
