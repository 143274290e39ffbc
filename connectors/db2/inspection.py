"""The truth about a move, from the catalog, the protocol of ADMIN_MOVE_TABLE, and the containers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath

from connectors.db2.names import Key, Part, parse_key
from connectors.db2.session import ReadSession
from connectors.db2.statements import CANCEL, change_of, phase_of
from connectors.db2.storage import AT_REST, Storage, TableSpace, read_storage
from connectors.db2.tables import MoveProtocol, TableFacts, find_table_of, read_protocol
from connectors.model import Home, Inspection, Route, Step

RESUMABLE = frozenset({"COPY", "REPLAY", "CLEANUP"})
MOVE_UTILITIES = ("ADMIN_MOVE_TABLE", "ONLINE_TABLE_MOVE", "MOVE")


@dataclass(frozen=True, slots=True)
class Rebalance:
    """What is under way in one table space, over all members."""

    running: bool = False
    suspended: bool = False
    done_extents: int = 0
    extents: int = 0


def inspect(session: ReadSession, route: Route, *, shared: bool) -> Inspection:
    """Where the bundle of that route is.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    change = change_of(route.steps[0].sql) if route.steps else None
    if change is not None:
        return inspect_space(session, route, change.space, shared=shared)
    return inspect_table(session, route, shared=shared)


def inspect_table(session: ReadSession, route: Route, *, shared: bool) -> Inspection:
    """Of a table or its indexes."""
    key = parse_key(route.bundle.key)
    table = find_table_of(session, key)
    if table is None:
        sentence = f"{key} no longer exists"
        return Inspection(home=Home.GONE, sentence=sentence, size_bytes=0, on_disk=None, running=False)
    protocol = read_protocol(session, table.schema, table.name)
    running = move_runs(session, table.schema, table.name)
    homes = homes_of(table, key, read_storage(session, shared=shared))
    return Inspection(
        home=home_among(homes, route),
        sentence=_table_sentence(key, homes, protocol, running=running),
        size_bytes=table_bytes(session, table, key, shared=shared),
        on_disk=None,
        leftovers=() if running else leftovers_of(route, protocol),
        running=running,
    )


def leftovers_of(route: Route, protocol: MoveProtocol) -> tuple[Step, ...]:
    """What ends an unfinished move: CLEANUP after SWAP, nothing where the next run goes on, else CANCEL."""
    if protocol.status == "CLEANUP":
        return tidy_for(route, "CLEANUP")
    return tidy_for(route, CANCEL) if protocol.open and protocol.status not in RESUMABLE else ()


def tidy_for(route: Route, operation: str) -> tuple[Step, ...]:
    """The tidy step of the route that calls that operation."""
    calls = ((step, phase_of(step.sql)) for step in route.tidy_steps)
    return tuple(step for step, phase in calls if phase is not None and phase.operation == operation)


def homes_of(table: TableFacts, key: Key, storage: Storage) -> tuple[str, ...]:
    """Names of the table spaces that hold what the key's bundle is."""
    if key.part is Part.INDEX:
        return tuple(sorted({storage.spaces[number].name for number in table.indexes if number in storage.spaces}))
    return tuple(sorted({table.space, table.lob_space} if table.lobs else {table.space}))


def home_among(homes: tuple[str, ...], route: Route) -> Home:
    """Where that is, seen from the route."""
    if homes == (route.to_space,):
        return Home.TARGET
    if homes == (route.bundle.space,):
        return Home.SOURCE
    return Home.SPLIT if route.to_space in homes or route.bundle.space in homes else Home.ELSEWHERE


def table_bytes(session: ReadSession, table: TableFacts, key: Key, *, shared: bool) -> int:
    """Bytes of the bundle now: of data and LOBs, or of the indexes."""
    rows = session.rows("object_sizes", (table.schema, table.name), doing=f"sizing {key}")
    sizes: dict[int, int] = {}
    for member, _, data, index, long, lob, xml, col in rows:
        own = (index,) if key.part is Part.INDEX else (data, long, lob, xml, col)
        sizes[int(member or 0)] = sizes.get(int(member or 0), 0) + sum(int(size or 0) for size in own) * 1024
    return (max(sizes.values()) if shared else sum(sizes.values())) if sizes else 0


def move_runs(session: ReadSession, schema: str, name: str) -> bool:
    """Whether the server works on a move of the table now, whoever asked for it."""
    rows = session.optional_rows("utilities", doing="looking for running moves") or []
    return any(
        (row[4], row[5]) == (schema, name) and any(word in str(row[2]).upper() for word in MOVE_UTILITIES)
        for row in rows
    )


def _table_sentence(key: Key, homes: tuple[str, ...], protocol: MoveProtocol, *, running: bool) -> str:
    where = f"{key} is in {', '.join(homes)}"
    if running:
        return f"{where}; ADMIN_MOVE_TABLE is at work on it"
    if protocol.status in RESUMABLE:
        return f"{where}; ADMIN_MOVE_TABLE stopped in {protocol.status} and goes on from there"
    if protocol.open:
        return f"{where}; ADMIN_MOVE_TABLE stopped in {protocol.status}"
    warned = f"; ADMIN_MOVE_TABLE warned: {protocol.warnings}" if protocol.warnings else ""
    return where + warned


def inspect_space(session: ReadSession, route: Route, name: str, *, shared: bool) -> Inspection:
    """Of a table space, by four facts: no rebalance row, mode at rest, containers there, no dropped path."""
    storage = read_storage(session, shared=shared)
    space = storage.space_named(name)
    if space is None:
        sentence = f"table space {name} no longer exists"
        return Inspection(home=Home.GONE, sentence=sentence, size_bytes=0, on_disk=None)
    state = read_rebalance(session, name)
    settled = not is_moving(space, state)
    return Inspection(
        home=space_home(storage, space, route, settled=settled),
        sentence=_space_sentence(space, state, settled=settled),
        size_bytes=space.used_bytes,
        on_disk=settled and lies_under(space, storage.groups[route.to_space].paths)
        if route.to_space in storage.groups
        else None,
        running=not settled,
    )


def read_rebalance(session: ReadSession, name: str) -> Rebalance:
    """The rebalance of one table space; a row of any member is one."""
    rows = session.optional_rows("rebalance", doing="looking at rebalances") or []
    own = [row for row in rows if row[0] == name]
    done, left = sum(int(row[5] or 0) for row in own), sum(int(row[4] or 0) for row in own)
    suspended = any("SUSPEND" in str(row[3]).upper() or "PAUSE" in str(row[3]).upper() for row in own)
    return Rebalance(bool(own), suspended, done, done + left)


def at_rest(space: TableSpace, state: Rebalance) -> bool:
    """Nothing is being copied: a rebalance that ends leaves no row that says so."""
    return not state.running and space.mode == AT_REST and not space.paths_dropped


def is_moving(space: TableSpace, state: Rebalance) -> bool:
    """Extents are being copied, or will be when somebody resumes it; a dropped path alone waits for a REBALANCE."""
    return state.running or space.mode != AT_REST


def lies_under(space: TableSpace, paths: tuple[str, ...]) -> bool:
    """Whether every container is in one of these folders; False where none can be seen."""
    folders = [PurePosixPath(path) for path in paths]
    files = [PurePosixPath(container) for container in space.containers]
    return bool(files) and all(any(file.is_relative_to(folder) for folder in folders) for file in files)


def space_home(storage: Storage, space: TableSpace, route: Route, *, settled: bool) -> Home:
    """Where the containers are; what the catalog calls its group is only a wish until they are there."""
    if not settled:
        return Home.SPLIT
    for name, home in ((route.to_space, Home.TARGET), (route.bundle.space, Home.SOURCE)):
        group = storage.groups.get(name)
        if group is not None and lies_under(space, group.paths):
            return home
    if space.containers:
        return Home.ELSEWHERE
    return {route.to_space: Home.TARGET, route.bundle.space: Home.SOURCE}.get(space.group, Home.ELSEWHERE)


def _space_sentence(space: TableSpace, state: Rebalance, *, settled: bool) -> str:
    if settled:
        return f"table space {space.name} is in storage group {space.group or '(none)'}, at rest"
    how = "suspended" if state.suspended else space.mode
    return f"table space {space.name} is being rebalanced: {how}, {state.done_extents} of {state.extents} extents"
