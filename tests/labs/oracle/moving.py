"""What ALTER TABLE MOVE and ALTER INDEX REBUILD do: locks, room, a copy that takes time, new segments, dead indexes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.labs.oracle.grammar import NOT_ENDED, Move, MoveFile, Rebuild
from tests.labs.oracle.model import BLOCK, DataFile, Index, Lob, LongOperation, Segment, Table
from tests.labs.tns.backend import OracleError

if TYPE_CHECKING:
    from tests.labs.oracle.database import EmulatedDatabase
    from tests.labs.oracle.session import EmulatedSession

ONLINE_TABLES, ONLINE_PARTITIONS, MOVING_FILES = (12, 2), (12, 1), (12, 1)
SLICES = 20  # a copy looks so often for a cancel


@dataclass(frozen=True, slots=True)
class Copy:
    """One segment that is written anew."""

    segment: Segment
    tablespace: str


def move_table(session: EmulatedSession, owner: str, name: str, move: Move) -> None:
    """ALTER TABLE owner.name MOVE. Raises OracleError as the documentation says."""
    database = session.database
    with database.changed:
        session.may_alter(owner, "TABLE", name)
        _refuse_part_of_iot(database, owner, name)
        table = database.table(owner, name)
        _refuse_history(table, move)
        _refuse_vector(table, move)
        _refuse_form(database, table, move)
        targets = _targets(table, move)
        copies = _copies(database, table, move, targets)
        rebuilt = _rebuilt(database, table, move, targets)
        own = _primary_key(table).segments if table.iot else table.segments
        locked = {own[at].object_id for at in targets} if move.part else {table.object_id}
        session.wait_for_objects(locked, online=move.online)
        _make_room(database, copies + rebuilt)
    _copy(session, copies + rebuilt, f"{owner}.{name}", "Table Scan")
    with database.changed:
        try:
            _end_online(session, locked, copies + rebuilt, online=move.online)
            _apply(database, copies + rebuilt)
            _mark_indexes(table, move, targets, {copy.segment.object_id for copy in rebuilt})
            _break_domain_index(database, table)
        finally:
            session.unlock_all_ddl()
            database.touch()


def _end_online(session: EmulatedSession, locked: set[int], copies: list[Copy], *, online: bool) -> None:
    """Before the new segments take the place of the old ones, online DDL waits a second time."""
    if not online:
        return
    try:
        session.drain(locked)
    except OracleError:
        _give_back(session.database, copies)
        raise


def lockable(table: Table, part: str = "") -> set[int]:
    """Object ids that LOCK TABLE locks: the table and its partitions, or the one that is named."""
    own = _primary_key(table).segments if table.iot else table.segments
    parts = {segment.object_id for segment in own if not part or segment.part == part}
    if not parts:
        raise OracleError(14501 if not table.partitioned else 2149, "Specified partition does not exist")
    return {table.object_id, *parts}


def _refuse_part_of_iot(database: EmulatedDatabase, owner: str, name: str) -> None:
    for table in database.tables.values():
        if table.owner != owner:
            continue
        if table.overflow is not None and table.overflow.name == name:
            raise OracleError(25191, "cannot reference overflow table of an index-organized table")
        if table.mapping is not None and table.mapping.name == name:
            raise OracleError(28668, "cannot reference mapping table of an index-organized table")


def _refuse_history(table: Table, move: Move) -> None:
    if table.history:
        text = f'DML, ALTER and CREATE UNIQUE INDEX operations are not allowed on table "{table.owner}"."{table.name}"'
        raise OracleError(55622, text)
    if table.archive and move.part:
        raise OracleError(55610, "Invalid DDL statement on history-tracked table")


def _refuse_vector(table: Table, move: Move) -> None:
    """A vector index maps ROWIDs; its own tables are not altered at all."""
    if table.name.startswith("VECTOR$"):
        raise OracleError(51965, f"cannot modify internal table {table.owner}.{table.name} of a vector index")
    if any(index.kind == "VECTOR" for index in table.indexes):
        number = 51881 if move.part else 51947
        raise OracleError(number, f"MOVE of {table.owner}.{table.name} is not allowed: it has a vector index")


def _break_domain_index(database: EmulatedDatabase, table: Table) -> None:
    """The table of a domain index was rewritten: the index cannot be used until it is built again."""
    if table.domain_index:
        database.index(table.owner, table.domain_index)[1].failed = True


def _refuse_form(database: EmulatedDatabase, table: Table, move: Move) -> None:
    """Forms that an object, a release or an edition does not allow."""
    if table.long_column:
        raise OracleError(997, "illegal use of LONG datatype")
    if table.clustered or table.temporary:
        raise OracleError(14512, "cannot perform operation on a clustered or temporary object")
    if table.partitioned and not move.part:
        number = 28660 if table.iot else 14808 if move.online else 14511
        raise OracleError(number, "cannot move a partitioned table as a whole")
    if move.part and not table.partitioned:
        raise OracleError(14501, "object is not partitioned")
    if move.part and table.composite != move.sub:
        raise OracleError(14257, "cannot move partition other than a Range, List, System, or Hash partition")
    if move.part and not database.options["Partitioning"]:
        raise OracleError(439, "feature not enabled: Partitioning")
    if table.iot and move.part and (move.online or (move.update_indexes and not move.global_only)):
        raise NOT_ENDED  # its number is not known
    _refuse_online(database, table, move)
    if move.update_indexes and not move.part and database.version < ONLINE_TABLES:
        raise NOT_ENDED


def _refuse_online(database: EmulatedDatabase, table: Table, move: Move) -> None:
    if not move.online:
        return
    if database.quirks.edition != "EE":
        raise OracleError(439, "feature not enabled: Online Index Build")
    if move.part and database.version < ONLINE_PARTITIONS:
        raise NOT_ENDED
    if not table.iot:
        refuse_before(database, ONLINE_PARTITIONS if move.part else ONLINE_TABLES)
    if not move.part and not table.iot and database.version < ONLINE_TABLES:
        raise OracleError(25148, "ONLINE option not permitted")
    if any(index.kind in ("DOMAIN", "BITMAP JOIN") for index in table.indexes):
        raise OracleError(14808, "table does not support ONLINE MOVE")


def refuse_before(database: EmulatedDatabase, needed: tuple[int, int]) -> None:
    """What a release can do and the database was not yet allowed to. Raises OracleError ORA-00406."""
    written = tuple(map(int, database.parameters["compatible"].split(".")))
    if database.version >= needed > written:
        text = f"COMPATIBLE parameter needs to be {needed[0]}.{needed[1]}.0.0.0 or greater"
        raise OracleError(406, text)


def _targets(table: Table, move: Move) -> list[int]:
    """Which of the table's segments are meant, by position."""
    own = _primary_key(table).segments if table.iot else table.segments
    found = [at for at, segment in enumerate(own) if not move.part or segment.part == move.part]
    if not found:
        raise OracleError(14251 if move.sub else 2149, "Specified partition does not exist")
    return found


def _copies(database: EmulatedDatabase, table: Table, move: Move, targets: list[int]) -> list[Copy]:
    """The table's own segments and the LOBs that are named; a plain move leaves LOBs where they are."""
    columns = {lob.column: lob for lob in table.lobs}
    unknown = move.lobs.keys() - columns.keys()
    if unknown:
        raise OracleError(904, f'"{min(unknown)}": invalid identifier')
    for tablespace in {move.tablespace, move.overflow, *move.lobs.values(), *move.indexes.values()} - {""}:
        database.tablespace(tablespace)
    _refuse_manual(database, columns, move)
    own = _primary_key(table).segments if table.iot else table.segments
    made = [Copy(own[at], move.tablespace or own[at].tablespace) for at in targets]
    if move.overflow and table.overflow is not None:
        made.append(Copy(table.overflow, move.overflow))
    follow = {name: move.tablespace for name in columns if name.startswith("SYS_NC") and move.tablespace}
    moved = {**(follow if database.quirks.xml_lobs_follow else {}), **move.lobs}
    for column, tablespace in moved.items():
        for at in targets:
            made += [Copy(columns[column].segments[at], tablespace), Copy(columns[column].indexes[at], tablespace)]
    return made


def _refuse_manual(database: EmulatedDatabase, columns: dict[str, Lob], move: Move) -> None:
    for column, tablespace in move.lobs.items():
        if columns[column].securefile and not database.tablespaces[tablespace].automatic:
            text = f'SECUREFILE LOBs cannot be used in non-ASSM tablespace "{tablespace}"'
            raise OracleError(43853, text)


def _primary_key(table: Table) -> Index:
    return next(index for index in table.indexes if index.kind == "IOT - TOP")


def _rebuilt(database: EmulatedDatabase, table: Table, move: Move, targets: list[int]) -> list[Copy]:
    """Index segments that are kept usable by being built again."""
    if table.iot or not (move.online or move.update_indexes):
        return []
    unknown = move.indexes.keys() - {index.name for index in table.indexes}
    if unknown:
        raise OracleError(1418, "specified index does not exist")
    made = []
    for index in table.indexes:
        local = index.local and table.partitioned
        if local and move.global_only and not move.online:
            continue
        chosen = [index.segments[at] for at in targets] if local else index.segments
        usable = [segment for segment in chosen if segment.part not in index.unusable]
        made += [Copy(segment, move.indexes.get(index.name, segment.tablespace)) for segment in usable]
    return made


def rebuild_index(session: EmulatedSession, owner: str, name: str, rebuild: Rebuild) -> None:
    """ALTER INDEX owner.name REBUILD. Raises OracleError as the documentation says."""
    database = session.database
    with database.changed:
        session.may_alter(owner, "INDEX", name)
        table, index = database.index(owner, name)
        _refuse_rebuild(database, index, rebuild)
        _refuse_journal(session, owner, rebuild)
        chosen = [s for s in index.segments if not rebuild.part or s.part == rebuild.part]
        if not chosen:
            raise OracleError(2149, "Specified partition does not exist")
        copies = [Copy(segment, rebuild.tablespace or segment.tablespace) for segment in chosen]
        for copy in copies:
            database.tablespace(copy.tablespace)
        locked = _locked_by_rebuild(table, index, rebuild)
        session.wait_for_objects(locked, online=rebuild.online, mode="SHARE")
        for copy in copies:
            copy.segment.created = True
        _make_room(database, copies)
    _copy(session, copies, f"{owner}.{name}", "Index Fast Full Scan")
    with database.changed:
        _end_online(session, locked, copies, online=rebuild.online)
        _apply(database, copies)
        index.unusable -= {segment.part for segment in chosen}
        index.degree = rebuild.parallel or index.degree  # stored, and then changes plans
        if table.columns:
            index.rows, index.analyzed = database.engine.rows.count(table), session.now()
        session.unlock_all_ddl()
        database.touch()


def _locked_by_rebuild(table: Table, index: Index, rebuild: Rebuild) -> set[int]:
    """A partition of a local index holds up its partition of the table only."""
    if not (index.local and rebuild.part):
        return {table.object_id}
    return {segment.object_id for segment in table.segments if segment.part == rebuild.part}


def mark_unusable(session: EmulatedSession, owner: str, name: str, part: str) -> None:
    """ALTER INDEX owner.name [MODIFY PARTITION part] UNUSABLE: since 11.2 its segment is dropped, too."""
    database = session.database
    with database.changed:
        session.may_alter(owner, "INDEX", name)
        index = database.index(owner, name)[1]
        chosen = [segment for segment in index.segments if not part or segment.part == part]
        if not chosen:
            raise OracleError(2149, "Specified partition does not exist")
        for segment in chosen:
            segment.created = False
            index.unusable.add(segment.part)
        database.touch()


def _refuse_rebuild(database: EmulatedDatabase, index: Index, rebuild: Rebuild) -> None:
    if index.kind == "IOT - TOP":
        raise OracleError(28650, "Primary index on an IOT cannot be rebuilt")
    if index.partitioned and not rebuild.part:
        raise OracleError(14086, "a partitioned index may not be rebuilt as a whole")
    if rebuild.online and not database.options["Online Index Build"]:
        raise OracleError(439, "feature not enabled: Online Index Build")
    if index.rebuilding:
        raise OracleError(8104, f"this index object {index.object_id} is being online built or rebuilt")


def _refuse_journal(session: EmulatedSession, owner: str, rebuild: Rebuild) -> None:
    """The journal of an online rebuild is a table and an index in the owner's schema."""
    needed = {"CREATE ANY TABLE", "CREATE ANY INDEX"}
    own = owner == session.user.name or session.database.version >= (12, 1)
    if rebuild.online and not own and not needed <= session.user.privileges:
        raise OracleError(1031, "insufficient privileges")


def _make_room(database: EmulatedDatabase, copies: list[Copy]) -> None:
    """Quota of the owner, and room in the target for old and new together, before anything is copied."""
    needed: Counter[str] = Counter()
    for copy in copies:
        if copy.segment.created:
            needed[copy.tablespace] += copy.segment.bytes
    for tablespace, size in needed.items():
        database.quota_check(copies[0].segment.owner, tablespace, size)
        database.add_space_check(tablespace, size)
    for tablespace, size in needed.items():
        database.tablespaces[tablespace].transient += size


def _copy(session: EmulatedSession, copies: list[Copy], target: str, name: str) -> None:
    """Copy segments; a cancel takes everything back."""
    try:
        written = sum(copy.segment.bytes for copy in copies if copy.segment.created)
        _take_time(session, sum(copy.segment.bytes for copy in copies), target, name, redo=written)
    except OracleError:
        with session.database.changed:
            _give_back(session.database, copies)
            session.unlock_all_ddl()
        raise


def _take_time(session: EmulatedSession, total: int, target: str, name: str, *, redo: int = 0) -> None:
    """Take the time it takes, visibly and in small pieces; a test may change the pace meanwhile.

    So much redo is written on the way: what is cancelled has written its part.
    """
    database = session.database
    operation = LongOperation(
        session.session_id, session.serial, session.user.name, name, target, max(1, total // BLOCK), session.now()
    )
    with database.changed:
        database.long_operations.append(operation)
    for piece in range(1, SLICES + 1):
        session.pause(max(database.least_seconds, database.seconds_per_gb * total / 2**30) / SLICES)
        operation.done_blocks = operation.total_blocks * piece // SLICES
        with database.changed:
            part = redo * piece // SLICES - redo * (piece - 1) // SLICES
            database.statistics[0]["redo size"] += part
            database.redo.write(part)
            database.touch()


def _give_back(database: EmulatedDatabase, copies: list[Copy]) -> None:
    for copy in copies:
        if copy.segment.created:
            database.tablespaces[copy.tablespace].transient -= copy.segment.bytes
    database.touch()


def _apply(database: EmulatedDatabase, copies: list[Copy]) -> None:
    """New segments, with new data object ids and counters that begin again; the copy's own I/O is counted."""
    _give_back(database, copies)
    for copy in copies:
        segment = copy.segment
        if segment.created:
            reads = {"physical reads": segment.blocks, "physical reads direct": segment.blocks}
            segment.counters[0].update({**reads, "segment scans": 1, "logical reads": segment.blocks})
            segment.counters[0]["physical read requests"] += -(-segment.blocks // 128)
            database.bury(segment)
            segment.counters = [Counter[str]() for _ in segment.counters]
            writes = {"physical writes": segment.blocks, "physical writes direct": segment.blocks}
            segment.counters[0].update({**writes, "physical write requests": -(-segment.blocks // 128)})
        segment.data_object_id = database.next_id()
        segment.tablespace = copy.tablespace


def _mark_indexes(table: Table, move: Move, targets: list[int], kept: set[int]) -> None:
    """ROWIDs changed: what was not built again cannot be used. Indexes of an IOT keep working."""
    if table.iot:
        return
    for index in table.indexes:
        for at, segment in enumerate(index.segments):
            if segment.object_id in kept:
                index.unusable.discard(segment.part)
            elif not (index.local and table.partitioned) or at in targets:
                index.unusable.add(segment.part)


def allocate_extent(session: EmulatedSession, owner: str, name: str, size: int) -> None:
    """ALTER TABLE owner.name ALLOCATE EXTENT: as rows do that come in. Raises OracleError ORA-01653."""
    database = session.database
    with database.changed:
        session.may_alter(owner, "TABLE", name)
        segment = database.table(owner, name).segments[0]
        full = OracleError(1653, f"unable to extend table {owner}.{name} by 128 in tablespace {segment.tablespace}")
        database.quota_check(owner, segment.tablespace, size)
        database.add_space_check(segment.tablespace, size, error=full)
        segment.bytes += size
        database.touch()


def move_file(session: EmulatedSession, move: MoveFile) -> None:
    """ALTER DATABASE MOVE DATAFILE: online, and nothing changes but the path. Raises OracleError."""
    database = session.database
    with database.changed:
        _refuse_move_file(session)
        files = [(space.name, file) for space in database.tablespaces.values() for file in space.files]
        found = next((pair for pair in files if move.old in (pair[1].path, str(pair[1].number))), None)
        if found is None:
            raise OracleError(1516, f'nonexistent log file, data file, or temporary file "{move.old}"')
        tablespace, file = found
        if file.moving:
            raise OracleError(63000, f"operation not allowed: data file {file.path} is being moved")
        path = _new_path(database, file, tablespace, move.new)
        if path in {other.path for _, other in files} and not move.reuse:
            raise OracleError(1119, f"error in creating database file '{path}'")
        file.moving = True
    try:
        _take_time(session, file.bytes, file.path, "Online data file move")
        with database.changed:
            file.path = path
    finally:
        with database.changed:
            file.moving = False
            database.touch()


def _refuse_move_file(session: EmulatedSession) -> None:
    if session.database.version < MOVING_FILES:
        raise NOT_ENDED
    refuse_before(session.database, MOVING_FILES)
    if session.database.quirks.edition != "EE":
        raise OracleError(439, "feature not enabled: online move datafile")
    if "ALTER DATABASE" not in session.user.privileges:
        raise OracleError(1031, "insufficient privileges")


def _new_path(database: EmulatedDatabase, file: DataFile, tablespace: str, wanted: str) -> str:
    """In a disk group Oracle names the file; elsewhere nobody may give it a name that Oracle makes."""
    if wanted.startswith("+"):
        group = wanted.partition("/")[0]
        return f"{group}/{database.name}/DATAFILE/{tablespace.lower()}.{file.number}.{database.next_id()}"
    if wanted.rpartition("/")[2].startswith("o1_mf_"):
        raise OracleError(1276, f"Cannot add file {wanted}. File has an Oracle Managed Files file name.")
    return wanted
