"""Statements that change data spaces and files: partition schemes and functions, ADD FILE, EMPTYFILE, REMOVE FILE."""

from __future__ import annotations

from tests.labs.sqlserver.changes.work import POLL_SECONDS, SCHEMA_MODIFICATION, Work
from tests.labs.sqlserver.instance import Database, all_indexes
from tests.labs.sqlserver.language.statements import (
    AddFile,
    ChangeFilegroups,
    CreateFunction,
    CreateScheme,
    Drop,
    EmptyFile,
    ModifyFile,
    RemoveFile,
)
from tests.labs.sqlserver.objects import PartitionFunction, PartitionScheme, Table
from tests.labs.sqlserver.rights import may_alter, may_alter_spaces
from tests.labs.sqlserver.storage import AllocationUnit, DataFile, Filegroup, Volume
from tests.labs.tds.backend import Rows, ServerError
from tests.labs.tds.values import Column, Kind

PARTITIONS_EVERYWHERE = 13  # 2016, from SP1 on
ENTERPRISE = frozenset({3, 5, 8})
FIRST_SCHEME, FIRST_FUNCTION = 65600, 65536
PAGES_AT_ONCE = 32  # DBCC SHRINKFILE moves them in small transactions
PRIMARY_FILE = 1
CHANGING_KEYS = frozenset({2, 4, 5, 6})  # encryption_state
SHRINK_COLUMNS = ("DbId", "FileId", "CurrentSize", "MinimumSize", "UsedPages", "EstimatedPages")


def create_function(work: Work, asked: CreateFunction) -> None:
    """CREATE PARTITION FUNCTION."""
    _need_alter(work, 2797, "create a partition function")
    if work.instance.major < PARTITIONS_EVERYWHERE and work.instance.engine_edition not in ENTERPRISE:
        raise ServerError(7736, "Partition function can only be created in Enterprise edition of SQL Server.")
    if asked.name.lower() in work.database.functions:
        raise ServerError(2714, f"There is already an object named '{asked.name}' in the database.")
    number = FIRST_FUNCTION + work.database.next_id("function")
    function = PartitionFunction(number, asked.name, asked.boundaries, asked.right)
    work.database.functions[asked.name.lower()] = function


def create_scheme(work: Work, asked: CreateScheme) -> None:
    """CREATE PARTITION SCHEME."""
    _need_alter(work, 2797, "create a partition scheme")
    database = work.database
    function = database.functions.get(asked.function.lower())
    if function is None:
        raise ServerError(7707, f"Invalid partition function '{asked.function}' specified.")
    if database.space_named(asked.name):
        raise ServerError(2714, f"There is already an object named '{asked.name}' in the database.")
    groups = [database.storage.filegroup_named(name) for name in asked.filegroups]
    if missing := [name for name, group in zip(asked.filegroups, groups, strict=True) if group is None]:
        raise ServerError(1921, f"Invalid filegroup '{missing[0]}' specified.")
    found = [group.space_id for group in groups if group is not None]
    if asked.everywhere:
        found = _everywhere(found, function)
    if len(found) < function.fanout:
        raise ServerError(7707, "The partition function generates more partitions than there are filegroups.")
    number = FIRST_SCHEME + database.next_id("scheme")
    places, spare = found[: function.fanout], found[function.fanout :]
    database.schemes[number] = PartitionScheme(number, asked.name, function, places, spare[0] if spare else None)


def _everywhere(groups: list[int], function: PartitionFunction) -> list[int]:
    """ALL: one filegroup for every partition, which stays NEXT USED."""
    if len(groups) != 1:
        raise ServerError(50000, "with ALL one filegroup is named; the error's number is not established")
    return groups * (function.fanout + 1)


def drop(work: Work, asked: Drop) -> None:
    """DROP TABLE, PARTITION SCHEME or PARTITION FUNCTION."""
    {"TABLE": _drop_table, "SCHEME": _drop_scheme, "FUNCTION": _drop_function}[asked.what](work, asked)


def _drop_table(work: Work, asked: Drop) -> None:
    table = work.database.table_named(*asked.table)
    if table is None or not may_alter(work.account, table.schema):
        raise _cannot_drop("table", asked)
    work.hold(table, SCHEMA_MODIFICATION)
    if table.predicates:
        raise ServerError(
            3729, f"Cannot DROP TABLE '{table.name}' because it is being referenced by a security policy."
        )
    del work.database.tables[table.object_id]
    work.on_rollback(lambda: work.database.tables.update({table.object_id: table}))
    work.on_commit(lambda: _free(work.database, table))


def _free(database: Database, table: Table) -> None:
    for index in table.indexes.values():
        for partition in index.partitions:
            for unit in partition.units.values():
                database.storage.free(unit)


def _drop_scheme(work: Work, asked: Drop) -> None:
    found = work.database.space_named(asked.table[1])
    if not isinstance(found, PartitionScheme) or not may_alter_spaces(work.account):
        raise _cannot_drop("partition scheme", asked)
    if any(index.data_space == found.space_id for index in all_indexes(work.database)):
        message = f'The partition scheme "{found.name}" is currently being used to partition one or more tables.'
        raise ServerError(7717, message)
    del work.database.schemes[found.space_id]


def _drop_function(work: Work, asked: Drop) -> None:
    name = asked.table[1].lower()
    if name not in work.database.functions or not may_alter_spaces(work.account):
        raise _cannot_drop("partition function", asked)
    if any(scheme.function.name.lower() == name for scheme in work.database.schemes.values()):
        raise ServerError(
            7706, f"Partition function '{asked.table[1]}' is being used by one or more partition schemes."
        )
    del work.database.functions[name]


def change_filegroups(work: Work, asked: ChangeFilegroups) -> None:
    """ALTER DATABASE ADD FILEGROUP or REMOVE FILEGROUP."""
    _check_alter_database(work)
    if work.in_transaction:
        raise ServerError(226, "ALTER DATABASE statement not allowed within multi-statement transaction.")
    storage = work.database.storage
    found = storage.filegroup_named(asked.name)
    if asked.added:
        if found is not None:
            raise ServerError(5035, f"Filegroup '{asked.name}' already exists in this database.")
        number = work.database.next_id("space")
        storage.filegroups[number] = Filegroup(number, asked.name)
        return
    if found is None:
        raise ServerError(1921, f"Invalid filegroup '{asked.name}' specified.")
    if storage.files_of(found.space_id):
        raise ServerError(5042, f"The filegroup '{found.name}' cannot be removed because it is not empty.")
    del storage.filegroups[found.space_id]


def add_file(work: Work, asked: AddFile) -> None:
    """ALTER DATABASE ADD FILE; the file lies on the volume whose mount point its path begins with."""
    _check_alter_database(work)
    group = work.database.storage.filegroup_named(asked.filegroup)
    if group is None:
        raise ServerError(1921, f"Invalid filegroup '{asked.filegroup}' specified.")
    if any(file.name.lower() == asked.name.lower() for file in work.database.storage.files.values()):
        raise ServerError(1828, f'The logical file name "{asked.name}" is already in use.')
    volumes = {file.volume.mount: file.volume for file in work.database.storage.files.values()}
    volume = next((v for mount, v in volumes.items() if asked.path.lower().startswith(mount.lower())), None)
    if volume is None:
        raise ServerError(5123, f"CREATE FILE encountered operating system error 3 (not found): '{asked.path}'.")
    _place(work, asked, group.space_id, volume)


def _place(work: Work, asked: AddFile, space: int, volume: Volume) -> None:
    sizes = {"pages": asked.size, "max_size": asked.max_size}
    file = work.database.add_file(asked.name, space, volume, path=asked.path, **sizes)
    file.growth, file.percent_growth = asked.growth, asked.percent_growth


def remove_file(work: Work, asked: RemoveFile) -> None:
    """ALTER DATABASE REMOVE FILE."""
    _check_alter_database(work)
    file = _file(work, asked.name)
    if file.file_id == PRIMARY_FILE:
        raise ServerError(5020, "The primary data or log file cannot be removed from a database.")
    if work.database.database_snapshots:
        message = (
            "Files cannot be dropped from a database that has a snapshot; the number of this message is not known."
        )
        raise ServerError(50000, message)
    if work.database.encryption_state in CHANGING_KEYS:
        message = "Files cannot be dropped while encryption changes; the number of this message is not known."
        raise ServerError(50000, message)
    if file.used:
        raise ServerError(5042, f"The file '{file.name}' cannot be removed because it is not empty.")
    del work.database.storage.files[file.file_id]


def modify_file(work: Work, asked: ModifyFile) -> None:
    """ALTER DATABASE MODIFY FILE: larger, and open to new data although it was being emptied."""
    _check_alter_database(work)
    file = _file(work, asked.name)
    if asked.size <= file.size:
        raise ServerError(5039, "MODIFY FILE failed. Specified size is less than or equal to current size.")
    file.size, file.closed = asked.size, False


def empty_file(work: Work, asked: EmptyFile) -> Rows:
    """DBCC SHRINKFILE (..., EMPTYFILE): what has moved stays moved when it is cancelled."""
    if not work.account.administrator and "CONTROL" not in work.account.database_rights:
        raise ServerError(2571, f"User '{work.account.name}' does not have permission to run DBCC SHRINKFILE.")
    if work.in_transaction:
        raise ServerError(8920, "Cannot perform a SHRINKFILE operation inside a user transaction.")
    file = _file(work, asked.file)
    if file.file_id == PRIMARY_FILE:
        message = f'Cannot move all contents of file "{file.name}" to other places to complete the emptyfile operation.'
        raise ServerError(2555, message)
    _wait_for_snapshots(work, asked)
    file.closed = True
    try:
        _move_out(work, file)
    except BaseException:  # a cancelled or broken session too ends it here; nothing is swallowed
        file.closed = False  # not marked empty: it may fill again
        raise
    file.size = min(file.size, 8)
    row = (work.database.database_id, file.file_id, file.size, 8, file.used, file.used)
    return Rows(tuple(Column(name, Kind.INT) for name in SHRINK_COLUMNS), [row])


def _wait_for_snapshots(work: Work, asked: EmptyFile) -> None:
    """Readers of a snapshot hold it up (message 5203); at low priority it gives up after a minute."""
    waited = 0.0
    while work.instance.snapshots:
        if asked.low_priority and waited >= work.instance.minute:
            raise ServerError(49516, "DBCC SHRINKFILE could not get its lock at low priority and gave up.")
        work.pause(POLL_SECONDS)
        waited += POLL_SECONDS


def _move_out(work: Work, file: DataFile) -> None:
    units = _units_in(work, file)
    total = max(sum(unit.pages[file.file_id] for unit in units), 1)
    moved = 0
    for unit in units:
        while left := unit.pages.get(file.file_id, 0):
            step = min(left, max(PAGES_AT_ONCE, total // 100))
            work.pause(work.instance.build_seconds * step / total)
            with work.instance.lock:
                work.database.storage.grow(unit, step)
                unit.pages[file.file_id] -= step
                file.used -= step
                unit.leave(file, step)
                if not unit.pages[file.file_id]:
                    del unit.pages[file.file_id]
                work.instance.pool.forget(unit)
            moved += step
            if work.connected.request is not None:
                work.connected.request.percent = 100.0 * moved / total


def _units_in(work: Work, file: DataFile) -> list[AllocationUnit]:
    return [
        unit
        for index in all_indexes(work.database)
        for partition in index.partitions
        for unit in partition.units.values()
        if unit.pages.get(file.file_id)
    ]


def _file(work: Work, name: str) -> DataFile:
    files = work.database.storage.files.values()
    found = next((f for f in files if name.lower() in (f.name.lower(), str(f.file_id))), None)
    if found is None:
        raise ServerError(8985, f"Could not locate file '{name}' for database '{work.database.name}'.")
    return found


def _check_alter_database(work: Work) -> None:
    if work.in_transaction:
        raise ServerError(226, "ALTER DATABASE statement not allowed within multi-statement transaction.")
    _need_alter(work, 5011, f"alter database '{work.database.name}'")


def _need_alter(work: Work, number: int, doing: str) -> None:
    if not may_alter_spaces(work.account):
        raise ServerError(number, f"User does not have permission to {doing}, or it does not exist.", severity=14)


def _cannot_drop(what: str, asked: Drop) -> ServerError:
    name = asked.table[1]
    message = f"Cannot drop the {what} '{name}', because it does not exist or you do not have permission."
    return ServerError(3701, message, severity=11, state=5)
