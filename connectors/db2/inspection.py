"""The truth about a move, and how far it is.

The truth about a move, from the catalog, the protocol of ADMIN_MOVE_TABLE, and the containers.

How far a running step is, in bytes: by extents of a rebalance, by rows of a copy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from connectors.db2.counting import original_of
from connectors.db2.names import Key, Part, identifier, parse_key, parts_of, readable, whole_of
from connectors.db2.new_space import inspect_group, inspect_table_space, space_of
from connectors.db2.operations import (
    ADD_PARTITION,
    CANCEL,
    Phase,
    StorageChange,
    TableHomes,
    change_of,
    first_phase,
    key_change_of,
    phase_of,
)
from connectors.db2.partitions import home_of, range_of, read_partitions
from connectors.db2.restrictions import KEY, changes
from connectors.db2.sessions import ReadSession
from connectors.db2.sizes import loading
from connectors.db2.space_move import extents_then
from connectors.db2.storage import AT_REST, ServerStorage, TableSpace, lies_under, read_storage
from connectors.db2.tables import MoveProtocol, TableFacts, find_table, find_table_of, read_protocol
from connectors.kit.rolling import HIGH, LOW, instant_of, value_of
from connectors.model.moves import Kept, Operation, Route, Step
from connectors.model.new_space import makes_or_drops_space
from connectors.model.observation import Home, Inspection, Progress

RESUMABLE = frozenset({"COPY", "REPLAY", "CLEANUP"})
MOVE_UTILITIES = ("ADMIN_MOVE_TABLE", "ONLINE_TABLE_MOVE", "MOVE")


@dataclass(frozen=True, slots=True)
class Rebalance:
    """The rebalance of one table space, over all members."""

    running: bool = False
    suspended: bool = False
    done_extents: int = 0
    extents: int = 0


def inspect(
    session: ReadSession, route: Route, *, shared: bool, folders: Mapping[str, str] | None = None
) -> Inspection:
    """Where the bundle of that route is; ``folders`` as in ``storage.read_storage``.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    if makes_or_drops_space(route) and not route.steps:
        return inspect_table_space(read_storage(session, shared=shared, folders=folders), route)
    made = route.steps[0].operation if route.steps else None
    if made is not None and made.name == ADD_PARTITION:
        return inspect_new_partition(session, route, made, read_storage(session, shared=shared, folders=folders))
    if (whole := space_of(route)) is not None:
        return inspect_group(read_storage(session, shared=shared, folders=folders), whole)
    if route.by_hand is not None and not route.steps:
        return inspect_partition(session, route, read_storage(session, shared=shared, folders=folders))
    change = change_of(route.steps[0]) if route.steps else None
    if change is not None:
        return inspect_space(session, route, change, shared=shared)
    return inspect_table(session, route, shared=shared, folders=folders)


def inspect_new_partition(session: ReadSession, route: Route, made: Operation, storage: ServerStorage) -> Inspection:
    """Of a data partition that is to be made, by its name; one with other bounds is not what the statement makes."""
    key = Key(Part.TABLE, made.text("schema"), made.text("table"))
    rows = {str(row[0]): row for row in read_partitions(session, key)}
    row = rows.get(made.text("partition"))
    if row is None:
        home, sentence = Home.SOURCE, f"{route.bundle.key} does not exist yet"
    else:
        space, found = home_of(row, storage), range_of(key, row, storage)
        times = tuple(instant_of(value_of(route, name)) for name in (LOW, HIGH))
        there = space is not None and route.to_space in (space.name, storage.home_of(space))
        own = there and found is not None and (found.low, found.high) == times
        home = Home.TARGET if own else Home.ELSEWHERE
        sentence = f"{route.bundle.key} is in {'no table space' if space is None else space.name}"
    return Inspection(
        home=home, sentence=sentence, size_bytes=0, on_disk=None, running=False, finished=home is Home.TARGET
    )  # fmt: skip


def inspect_partition(session: ReadSession, route: Route, storage: ServerStorage) -> Inspection:
    """Of a data partition that a person moves, by its name; while it is out of its table it is nowhere."""
    key = parse_key(route.bundle.key)
    rows = read_partitions(session, Key(Part.TABLE, key.schema, key.name))
    row = next((each for each in rows if each[0] == key.partition), None)
    space = None if row is None else home_of(row, storage)
    running = row is not None and bool(str(row[2] or "").strip())
    if space is None:
        home, sentence = Home.GONE, f"{key} is no data partition of its table now"
    else:
        home, sentence = home_among((space.name,), route, storage), f"{key} is in {space.name}"
    return Inspection(home=home, sentence=sentence, size_bytes=route.bundle.size_bytes, on_disk=None, running=running)


def inspect_table(
    session: ReadSession, route: Route, *, shared: bool, folders: Mapping[str, str] | None = None
) -> Inspection:
    """Of a table, its indexes, its LOBs, or of several of these."""
    key = parse_key(route.bundle.key)
    table = find_table_of(session, key)
    if table is None:
        sentence = f"{key} no longer exists"
        return Inspection(home=Home.GONE, sentence=sentence, size_bytes=0, on_disk=None, running=False)
    protocol = read_protocol(session, table.schema, table.name)
    running = move_runs(session, table.schema, table.name)
    parts, storage = parts_of(route.bundle), read_storage(session, shared=shared, folders=folders)
    homes = homes_of(table, parts, storage)
    home, sentence = home_among(homes, route, storage), _table_sentence(key, homes, protocol, running=running)
    sentence += kept_original(session, table, protocol)
    # While a move is open the table has its triggers, and its belongings are compared only once that is over.
    under_way = running or (protocol.open and protocol.status != "CLEANUP")  # which comes after SWAP
    missing = () if running else keys_to_add(route, table)
    differs = () if under_way else tuple(changes(kept_but_keys(route, missing), table))
    stale = would_go_astray(storage, route) or would_move_back(table, parts, route) or _since_planned(differs)
    # Only where nothing has begun: a move that stopped halfway has to be ended whatever the plan looks like now.
    if home is Home.SOURCE and not protocol.open and stale:
        home, sentence = Home.ELSEWHERE, f"{sentence}; {stale}"
    elif home is Home.TARGET and not running and original_of(session, table.schema, protocol):
        home, sentence = Home.SPLIT, f"{sentence}; what it was is there still, its rows are not counted yet"
    elif home is Home.TARGET and missing and not protocol.open:
        sentence = f"{sentence}; {len(missing)} foreign key(s) are to be added again"
    elif home is Home.TARGET and differs:
        sentence = f"{sentence}; not as it was: {'; '.join(differs)}"
    return Inspection(
        home=home,
        sentence=sentence,
        size_bytes=route.bundle.size_bytes
        if (table.schema, table.name) in loading(session)
        else table_bytes(session, table, parts, shared=shared),
        on_disk=None,
        leftovers=() if running else leftovers_of(route, protocol, missing),
        running=running,
        unfinished=() if running else _unfinished(session, table, route, protocol, missing),
    )


def kept_original(session: ReadSession, table: TableFacts, protocol: MoveProtocol) -> str:
    """What KEEP has left, as long as it is there, with the statement that gives its room back; "" without it."""
    if protocol.open or not protocol.original or find_table(session, table.schema, protocol.original) is None:
        return ""
    name = f"{identifier(table.schema)}.{identifier(protocol.original)}"
    return f"; what it was is kept and takes its room, until DROP TABLE {name}"


def _since_planned(differs: Sequence[str]) -> str:
    """How the catalog differs from what was approved; "" if it does not."""
    return f"since this was planned {'; '.join(differs)}: plan again" if differs else ""


def would_move_back(table: TableFacts, parts: frozenset[Part], route: Route) -> str:
    """What else the statement would move, because it has moved since it was planned; "" where it would move nothing.

    INIT names the table spaces of data, indexes and LOBs, all three, as they were when the route was made.
    """
    phase = first_phase(route.steps)
    if phase is None or phase.operation != "INIT":
        return ""
    others = (
        (Part.TABLE, "the table", table.space, phase.homes.data),
        (Part.INDEX, "its indexes", table.index_space, phase.homes.index),
        (Part.LOB, "its LOBs", table.lob_space, phase.homes.lob),
    )
    for part, what, now, then in others:
        # LOBs in the table's own space go with its data, though the bundle does not name them.
        with_data = part is Part.LOB and Part.TABLE in parts and phase.homes.lob == phase.homes.data
        absent = (part is Part.LOB and not table.lobs) or (part is Part.INDEX and not table.named_indexes)
        goes_along = part in parts or with_data or absent
        if not goes_along and now != then:
            return f"since this was planned {what} moved to {now}, and it would bring {what} back to {then}: plan again"
    return ""


def would_go_astray(storage: ServerStorage, route: Route) -> str:
    """Whether the table space that was to take the bundle has itself moved away from where the bundle is to go."""
    phase = first_phase(route.steps)
    if phase is None or not route.joins:
        return ""
    lands = storage.space_named(whole_of(route.joins))
    if lands is not None and storage.home_of(lands) == route.to_space:
        return ""
    return f"{route.joins} is no longer in {route.to_space}: plan again"


def leftovers_of(route: Route, protocol: MoveProtocol, missing: tuple[Step, ...] = ()) -> tuple[Step, ...]:
    """Steps that end an unfinished move: CLEANUP after SWAP, none where the next run continues it, else CANCEL.

    Args:
        route: of the move.
        protocol: where it stands.
        missing: steps that add its foreign keys again; they stay away as long as the next run continues it.
    """
    if protocol.status == "CLEANUP":
        return (*tidy_for(route, "CLEANUP"), *missing)
    if protocol.open and protocol.status in RESUMABLE:
        return ()
    return (*(tidy_for(route, CANCEL) if protocol.open else ()), *missing)


def keys_to_add(route: Route, table: TableFacts) -> tuple[Step, ...]:
    """Tidy steps of the route that add foreign keys which are not there now."""
    there = {(*key.child, key.name) for key in table.foreign_keys}
    changes_of = ((step, key_change_of(step)) for step in route.tidy_steps)
    return tuple(
        step
        for step, change in changes_of
        if change is not None and (change.schema, change.table, change.key) not in there
    )


def kept_but_keys(route: Route, missing: tuple[Step, ...]) -> tuple[Kept, ...]:
    """What has to be as it was, but for foreign keys that the route itself adds again."""
    gone = {key_change_of(step) for step in missing}
    names = {
        f"{KEY}{readable(one.key)} of {readable(one.schema)}.{readable(one.table)}" for one in gone if one is not None
    }
    return tuple(kept for kept in route.keeps if kept.what not in names)


def _unfinished(
    session: ReadSession, table: TableFacts, route: Route, protocol: MoveProtocol, missing: tuple[Step, ...]
) -> tuple[Step, ...]:
    """CANCEL, for a move that a next try would go on with: its triggers slow every change of the table until then.

    Never of a move that takes the table elsewhere than this route: that is someone else's.
    """
    phase = first_phase(route.steps)
    if phase is None or not (protocol.open and protocol.target and protocol.status in {"COPY", "REPLAY"}):
        return ()
    target = find_table(session, table.schema, protocol.target)
    ours = target is not None and not differences(table, target, phase.homes)
    return (*tidy_for(route, CANCEL), *missing) if ours else ()


def differences(table: TableFacts, target: TableFacts, wanted: TableHomes) -> list[tuple[str, str, str]]:
    """What an open move takes elsewhere than it should go: its name, the target's table space, the right one.

    Args:
        table: that is moved; what it does not have is nowhere wrong.
        target: that is being filled.
        wanted: where INIT of the new move would say.
    """
    parts = (
        (True, "rows", target.space, wanted.data),
        (bool(table.named_indexes), "indexes", target.index_space, wanted.index),
        (table.lobs, "LOBs", target.lob_space, wanted.lob),
    )
    return [(what, there, right) for has, what, there, right in parts if has and there != right]


def tidy_for(route: Route, operation: str) -> tuple[Step, ...]:
    """The tidy step of the route that calls that operation."""
    calls = ((step, phase_of(step)) for step in route.tidy_steps)
    return tuple(step for step, phase in calls if phase is not None and phase.operation == operation)


def homes_of(table: TableFacts, parts: frozenset[Part], storage: ServerStorage) -> tuple[str, ...]:
    """Names of the table spaces that hold these parts of it."""
    found: set[str] = set()
    if Part.INDEX in parts:
        found |= {storage.spaces[index.space].name for index in table.named_indexes if index.space in storage.spaces}
    if Part.TABLE in parts:
        found.add(table.space)
    if Part.LOB in parts and table.lobs:
        found.add(table.lob_space)
    return tuple(sorted(found))


def home_among(spaces: tuple[str, ...], route: Route, storage: ServerStorage) -> Home:
    """Where that is, seen from the route: in table spaces, or in the storage groups and folders that hold them."""
    homes = spaces
    if route.joins:
        homes = tuple(sorted({storage.home_named(name) for name in spaces}))
    if homes == (route.to_space,):
        return Home.TARGET
    if homes == (route.bundle.space,):
        return Home.SOURCE
    return Home.SPLIT if route.to_space in homes or route.bundle.space in homes else Home.ELSEWHERE


def table_bytes(session: ReadSession, table: TableFacts, parts: frozenset[Part], *, shared: bool) -> int:
    """Bytes of these parts of it now."""
    rows = session.rows("object_sizes", (table.schema, table.name), doing=f"sizing {table.schema}.{table.name}")
    sizes: dict[int, int] = {}
    for member, _, data, index, long, lob, xml, col in rows:
        of = {Part.TABLE: (data, col), Part.INDEX: (index,), Part.LOB: (long, lob, xml)}
        own = sum(int(size or 0) for part in parts for size in of[part]) * 1024
        sizes[int(member or 0)] = sizes.get(int(member or 0), 0) + own
    # On pureScale every member reports the same disk; adding them up would make a table as many times as large.
    return (max(sizes.values()) if shared else sum(sizes.values())) if sizes else 0


def move_runs(session: ReadSession, schema: str, name: str) -> bool:
    """Whether the server works on a move of the table now, no matter who began it."""
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


def inspect_space(session: ReadSession, route: Route, change: StorageChange, *, shared: bool) -> Inspection:
    """Of a table space, by four facts: no rebalance row, mode at rest, containers there, no dropped path."""
    state = read_rebalance(
        session, change.space
    )  # first: when its row is gone, what is read afterwards is how it ended
    storage = read_storage(session, shared=shared)
    space = storage.space_named(change.space)
    if space is None:
        sentence = f"table space {change.space} no longer exists"
        return Inspection(home=Home.GONE, sentence=sentence, size_bytes=0, on_disk=None)
    moving, waits = is_moving(space, state), awaits_rebalance(space, state, change)
    held = moving and state.suspended
    home = Home.SOURCE if held else Home.SPLIT if moving else space_home(storage, space, route, change)
    return Inspection(
        home=home,
        sentence=_space_sentence(space, state, moving=moving, waits=waits),
        size_bytes=0 if waits else _bytes_to_move(space, change, route),  # its place in the target is taken already
        on_disk=None if moving or not space.containers else home is Home.TARGET,
        leftovers=route.tidy_steps if held else (),  # only for who gives it up
        running=moving and not held,
        paused=held,
    )


def _bytes_to_move(space: TableSpace, change: StorageChange, route: Route) -> int:
    """What its units take now, or what lies in the container that goes; one that comes brings nothing.

    A plan adds up units, whose sizes leave out the rest of their extents: 100 tables of a page take 64 times as much.
    So the table space is compared with itself, extents with extents, and its units are taken to have grown as it has.
    """
    if change.of_one:
        return sum(space.share_of(path) for path in change.drop)
    then = extents_then(route)
    return round(route.bundle.size_bytes * space.used_bytes / then) if then else space.used_bytes


def read_rebalance(session: ReadSession, name: str) -> Rebalance:
    """The rebalance of one table space; a row of any member is one."""
    rows = session.optional_rows("rebalance", doing="looking at rebalances") or []
    own = [row for row in rows if row[0] == name]
    done, left = sum(int(row[5] or 0) for row in own), sum(int(row[4] or 0) for row in own)
    suspended = any("SUSPEND" in str(row[3]).upper() or "PAUSE" in str(row[3]).upper() for row in own)
    return Rebalance(bool(own), suspended, done, done + left)


def is_moving(space: TableSpace, state: Rebalance) -> bool:
    """Extents are being copied, or will be after a RESUME; a dropped path alone waits for a REBALANCE."""
    return state.running or space.mode != AT_REST


def awaits_rebalance(space: TableSpace, state: Rebalance, change: StorageChange) -> bool:
    """Given to the group of that change, and its old containers not yet left: a REBALANCE goes on from there."""
    given = bool(change.group) and space.group == change.group
    return given and not is_moving(space, state) and (space.paths_dropped or space.hybrid)


def space_arrived(storage: ServerStorage, space: TableSpace, change: StorageChange) -> bool:
    """Whether its containers are exactly where that change wants them; a REBALANCE wants them in its own group."""
    if change.of_one:
        return set(change.add) <= set(space.containers) and not set(change.drop) & set(space.containers)
    if change.add:
        return set(space.containers) == set(change.add)
    if not change.group and not space.automatic:
        return True  # a rebalance among files of its own wants them nowhere else
    group = storage.groups.get(change.group or space.group)
    if group is None or space.group != group.name or space.paths_dropped or space.hybrid:
        return False
    return lies_under(space, group.paths)


def space_home(storage: ServerStorage, space: TableSpace, route: Route, change: StorageChange) -> Home:
    """Where the containers are; what the catalog calls its group is only a wish until they are there.

    One that was given to its group and waits for a REBALANCE is still where it was, as is a table in the middle of its
    copying: the same route goes on with it.
    """
    if not space.containers:  # no right to read them: only the storage group's name is left to go by
        return {route.to_space: Home.TARGET, route.bundle.space: Home.SOURCE}.get(space.group, Home.ELSEWHERE)
    if space_arrived(storage, space, change):
        return Home.TARGET
    if awaits_rebalance(space, Rebalance(), change):
        return Home.SOURCE
    if change.of_one:
        return Home.SOURCE
    if change.add:
        return Home.SOURCE if set(space.containers) == set(change.drop) else Home.ELSEWHERE
    if change.converts:
        return Home.ELSEWHERE if space.automatic else Home.SOURCE
    group = storage.groups.get(route.bundle.space)
    return Home.SOURCE if group is not None and lies_under(space, group.paths) else Home.ELSEWHERE


def _space_sentence(space: TableSpace, state: Rebalance, *, moving: bool, waits: bool) -> str:
    if waits:
        return f"table space {space.name} was given to storage group {space.group} and waits for its REBALANCE"
    if not moving:
        where = (
            f"storage group {space.group}" if space.group else f"containers of its own ({', '.join(space.containers)})"
        )
        return f"table space {space.name} is in {where}, at rest"
    how = "suspended" if state.suspended else space.mode
    return f"table space {space.name} is being rebalanced: {how}, {state.done_extents} of {state.extents} extents"


_BEFORE_COPY = frozenset({"INIT"})
_CARD = 8  # column of the query "table"


def progress_of(session: ReadSession, route: Route, step: Step) -> Progress | None:
    """How far the step is; None for a step that reports no progress.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    total = max(1, route.bundle.size_bytes)
    change = change_of(step)
    if change is not None:
        state = read_rebalance(session, change.space)
        share = state.done_extents / state.extents if state.extents else 0.0
        how = "suspended" if state.suspended else "rebalancing"
        sentence = f"{how}: {change.space} to {route.to_space}, {state.done_extents} of {state.extents} extents"
        return Progress(done_bytes=round(total * share), total_bytes=total, sentence=sentence)
    phase = phase_of(step)
    if phase is None:
        return None
    protocol = read_protocol(session, phase.schema, phase.table)
    rows = session.rows("table", (phase.schema, phase.table), doing=f"looking up {phase.schema}.{phase.table}")
    return Progress(
        done_bytes=round(total * copied_share(phase, protocol, int(rows[0][_CARD] or 0) if rows else 0)),
        total_bytes=total,
        sentence=f"{phase.operation}: {route.bundle.key} to {route.to_space}, {protocol.copied_rows} rows copied",
    )


def copied_share(phase: Phase, protocol: MoveProtocol, rows: int) -> float:
    """Share of the bytes that are in the target: while copying that of the rows, by the table's last statistics.

    Without statistics (a negative count) a copy counts as nothing until it has ended.
    """
    if phase.operation in _BEFORE_COPY:
        return 0.0
    if phase.operation != "COPY":
        return 1.0
    return min(1.0, protocol.copied_rows / rows) if rows > 0 else 0.0
