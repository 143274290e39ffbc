"""The truth about a move, from the catalog."""

from __future__ import annotations

from connectors.kit.rolling import HIGH, value_of
from connectors.model.moves import Operation, Route, Step
from connectors.model.observation import Home, Inspection
from connectors.oracle import file_moves, new_space, operations
from connectors.oracle.catalog import Entry, find_entries, read_files
from connectors.oracle.facts import find_hidden_lobs, find_indexes, key_now, table_of
from connectors.oracle.operations import ADD_PARTITION, MOVE_TABLE, SET_DEGREE, operation_of, rebuilding
from connectors.oracle.sessions import ReadSession, query


def inspect(session: ReadSession, route: Route) -> Inspection:
    """Where the bundle of that route is, and which indexes a broken move has left unusable.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    bundle = route.bundle
    # Asked before the dictionary is read: a statement that ends in between is looked at again, while the reverse would
    # take its half-built index for a leftover.
    running = is_running(session, route)
    made = operation_of(route.steps[0])
    if made.name == ADD_PARTITION:
        return _of_new_partition(session, route, made, running=running)
    if new_space.space_of(made):
        return new_space.inspect_space(session, made, running=running)
    entries = find_entries(session, bundle.physical_ids)
    lead = entries.get(bundle.physical_ids[0])
    if lead is None:
        return _gone_inspection(f"{bundle.key} no longer exists", running=running)
    whose = table_of(session, lead)
    # Found by object id, which survives a rename: under another name it is no longer what was approved.
    if key_now(lead, whose) != bundle.key:
        return _gone_inspection(f"{bundle.key} has another name now: {whose.owner}.{whose.table}", running=running)
    size = sum(entry.bytes or 0 for entry in entries.values())
    if route.name == file_moves.NAME:
        return _of_files(session, lead, route, size, running=running)
    rest = [entry for entry in entries.values() if entry is not lead and entry.space is not None]
    home = home_of(lead, rest, route)
    looks = home is Home.TARGET and made.name == MOVE_TABLE and lead.type == "TABLE"
    lobs = find_hidden_lobs(session, whose.owner, whose.table) if looks else ()
    at = ", ".join(f"{lob.bytes} bytes in {lob.space}" for lob in lobs)
    return Inspection(
        home=home,
        sentence=f"{bundle.key} is in {lead.space}" + (f"; LOBs of its object or XML columns: {at}" if at else ""),
        size_bytes=size,
        on_disk=None,  # the server's files are not looked at
        leftovers=()
        if running
        else (*_journal(session, lead, route), *_repairs(session, whose.owner, whose.table, route)),
        running=running,
    )


def _of_new_partition(session: ReadSession, route: Route, made: Operation, *, running: bool) -> Inspection:
    """By name, as it has no object id before it is there; one with another bound is not what the statement makes."""
    names = {"owner": made.text("owner"), "name": made.text("table")}
    rows = session.rows(query("part_bounds"), names, doing=f"looking for {route.bundle.key}")
    found = next((row for row in rows if row[0] == made.text("partition")), None)
    if found is None:
        home, sentence = Home.SOURCE, f"{route.bundle.key} does not exist yet"
    else:
        own = found[1] == route.to_space and value_of(route, HIGH) in str(found[3])
        home = Home.TARGET if own else Home.ELSEWHERE
        sentence = f"{route.bundle.key} is in {found[1]}, its rows end before {found[3]}"
    return Inspection(
        home=home, sentence=sentence, size_bytes=0, on_disk=None, running=running, finished=home is Home.TARGET
    )  # fmt: skip


def _of_files(session: ReadSession, lead: Entry, route: Route, size: int, *, running: bool) -> Inspection:
    files = [file for file in read_files(session) if file.tablespace == lead.space]
    if not files:
        return _gone_inspection(f"tablespace {lead.space} has no data file", running=running)
    home, sentence, leftovers = file_moves.inspect_files(files, route)
    return Inspection(
        home=home,
        sentence=sentence,
        size_bytes=size,
        on_disk=None,  # taken from the dictionary; the file system is not looked at
        leftovers=() if running else leftovers,
        running=running,
    )


def home_of(lead: Entry, rest: list[Entry], route: Route) -> Home:
    """One statement moves a bundle whole, so its leading unit tells, unless another part is not where it should be."""
    if lead.space == route.to_space:
        return Home.TARGET if all(entry.space == route.to_space for entry in rest) else Home.SPLIT
    return Home.SOURCE if lead.space == route.bundle.space else Home.ELSEWHERE


def is_running(session: ReadSession, route: Route) -> bool:
    """Whether a session still executes a statement of this move, on any instance."""
    values = {"action": operations.action_of(route)}
    rows = session.rows(query("running"), values, doing="looking for running moves")
    return bool(rows[0][0])


def _gone_inspection(sentence: str, *, running: bool) -> Inspection:
    return Inspection(home=Home.GONE, sentence=sentence, size_bytes=0, on_disk=None, running=running)


def _journal(session: ReadSession, lead: Entry, route: Route) -> tuple[Step, ...]:
    """What a DBA sends after an interrupted online rebuild (ORA-08104); SMON does the same in its own time.

    It is in no route, and so never approved: it may wait long for a lock, and its package is not for every account.
    """
    if not lead.type.startswith("INDEX"):
        return ()
    values = {"owner": lead.owner, "name": f"SYS_JOURNAL_{lead.object_id}"}
    if not session.rows(query("journal"), values, doing="looking for an interrupted rebuild")[0][0]:
        return ()
    call = f"DECLARE done BOOLEAN; BEGIN done := SYS.DBMS_REPAIR.ONLINE_INDEX_CLEAN({lead.object_id}); END;"
    return (Step(sql=f"{_tag(route)}clean 1 */ {call}", purpose="clean up after an interrupted online rebuild"),)


def _tag(route: Route) -> str:
    return f"{route.steps[0].sql.partition(' step ')[0]} "


def _repairs(session: ReadSession, owner: str, table: str, route: Route) -> tuple[Step, ...]:
    """The approved steps that rebuild what the move broke, and restore a degree of parallelism that a rebuild has left.

    An index that no step names was out of use before (``side_effects``) and stays so.
    """
    if not route.tidy_steps:
        return ()
    pieces = find_indexes(session, owner, table)
    broken = [rebuilding(piece) for piece in pieces if piece.unusable]
    degrees = [operations.set_degree(piece).operation for piece in pieces]
    repaired = [step for step in route.tidy_steps if operation_of(step) in broken]
    restored = [
        step for step in route.tidy_steps if operation_of(step).name == SET_DEGREE and operation_of(step) not in degrees
    ]
    return (*repaired, *restored)
