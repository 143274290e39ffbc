"""Rows of the V$ views, made from the model; their GV$ forms have a row for each instance."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tests.labs.oracle.model import BEHIND, BLOCK, STARTED, STATISTICS
from tests.labs.oracle.statements import LONGEST, exact_signature, force_signature
from tests.labs.oracle.views.redo_views import REDO

if TYPE_CHECKING:
    from tests.labs.oracle.database import EmulatedDatabase
    from tests.labs.oracle.session import EmulatedSession

Row = dict[str, Any]
Rows = Iterator[Row]
CONTAINER, ROOT, WHOLE = 3, 1, 0
_MODES = {"EXCLUSIVE": 6, "SHARE": 4}  # of table locks; others count as row exclusive, 3
_SYSSTAT: tuple[str, ...] = (
    *("physical reads", "physical reads cache", "physical reads direct", "physical read IO requests"),
    *("physical read total IO requests", "session logical reads", "physical writes", "redo size"),
    *("user commits", "user rollbacks", "DB time", "CPU used by this session"),
)
_EVENTS: tuple[str, ...] = (
    *("db file sequential read", "db file scattered read", "db file parallel read", "direct path read"),
    *("direct path write", "read by other session", "free buffer waits", "write complete waits"),
    *("direct path read temp", "direct path write temp", "log file sync"),
)
_SQLSTATS: tuple[str, ...] = (
    *("EXECUTIONS", "ELAPSED_TIME", "CPU_TIME", "USER_IO_WAIT_TIME", "DISK_READS", "DIRECT_READS", "BUFFER_GETS"),
    *("ROWS_PROCESSED", "PARSE_CALLS", "APPLICATION_WAIT_TIME", "CONCURRENCY_WAIT_TIME", "CLUSTER_WAIT_TIME"),
    *("PHYSICAL_READ_REQUESTS", "LOADS", "INVALIDATIONS"),
)
_OF_BACKGROUND = ("log file parallel write",)  # LGWR's, which lives in the root
_WAIT_CLASS = {"log file sync": "Commit", "log file parallel write": "System I/O"}


def container_id(db: EmulatedDatabase) -> int:
    """CON_ID of what a session sees: a PDB, or the whole of a database that is no CDB."""
    return CONTAINER if db.quirks.container and db.version >= (12, 1) else WHOLE


def _names(db: EmulatedDatabase) -> list[tuple[int, str]]:
    return [(number, name) for number, name, early, _ in STATISTICS if early or db.version >= (12, 1)]


def segstat(db: EmulatedDatabase, instance: int) -> dict[str, Any]:
    """V$SEGSTAT by columns: every statistic of every segment that was touched."""
    now = [(db.tablespaces[s.tablespace].number, s) for s in db.segments() if s.counters[instance - 1]]
    then = [(number, s) for number, s in db.dead if s.counters[instance - 1]]
    entries, names = [*now, *then], _names(db)
    counted = [np.array([s.counters[instance - 1].get(name, 0) for _, s in entries], np.int64) for _, name in names]
    size = len(entries)
    return {
        "TS#": np.tile(np.array([number for number, _ in entries], np.int64), len(names)),
        "OBJ#": np.tile(np.array([s.object_id for _, s in entries], np.int64), len(names)),
        "DATAOBJ#": np.tile(np.array([s.data_object_id for _, s in entries], np.int64), len(names)),
        "STATISTIC_NAME": np.repeat(np.array([name for _, name in names], dtype=object), size),
        "STATISTIC#": np.repeat(np.array([number for number, _ in names], np.int64), size),
        "VALUE": np.concatenate(counted) if counted else np.zeros(0, np.int64),
        "CON_ID": np.full(size * len(names), container_id(db), np.int64),
    }


def segstat_names(db: EmulatedDatabase, _: int) -> Rows:
    """V$SEGSTAT_NAME."""
    sampled = {name: flag for _, name, _, flag in STATISTICS}
    for number, name in _names(db):
        yield {"STATISTIC#": number, "NAME": name, "SAMPLED": "YES" if sampled[name] else "NO", "CON_ID": WHOLE}


def filestat(db: EmulatedDatabase, instance: int) -> Rows:
    """V$FILESTAT: times in hundredths of a second."""
    for space in db.tablespaces.values():
        for file in space.files:
            counted = file.counters[instance - 1]
            names = ("PHYRDS", "PHYWRTS", "PHYBLKRD", "SINGLEBLKRDS", "READTIM", "WRITETIM", "SINGLEBLKRDTIM")
            row: Row = {name: counted[name] for name in names}
            yield {**row, "FILE#": file.number, "PHYBLKWRT": counted["PHYWRTS"], "CON_ID": container_id(db)}


def iostat_file(db: EmulatedDatabase, instance: int) -> Rows:
    """V$IOSTAT_FILE of data files: times in milliseconds."""
    for space in db.tablespaces.values():
        for file in space.files:
            counted = file.counters[instance - 1]
            names = ("SMALL_READ_REQS", "SMALL_SYNC_READ_REQS", "SMALL_SYNC_READ_LATENCY", "LARGE_READ_REQS")
            row: Row = {name: counted[name] for name in names}
            yield {
                **row, "FILE_NO": file.number, "FILETYPE_NAME": "Data File", "CON_ID": container_id(db),
            }  # fmt: skip


def sysstat(db: EmulatedDatabase, instance: int) -> Rows:
    """V$SYSSTAT and, of the one container there is, V$CON_SYSSTAT."""
    for at, name in enumerate(_SYSSTAT):
        yield {"STATISTIC#": at, "NAME": name, "VALUE": db.statistics[instance - 1][name], "CON_ID": WHOLE}


def statistic_names(_: EmulatedDatabase, __: int) -> Rows:
    """V$STATNAME."""
    yield from ({"STATISTIC#": at, "NAME": name, "CON_ID": WHOLE} for at, name in enumerate(_SYSSTAT))


def own_counters(session: EmulatedSession, view: str) -> Rows:
    """V$MYSTAT, and of V$SESSION_EVENT the rows of the session that asks."""
    counted, own = session.counted, {"SID": session.session_id, "CON_ID": container_id(session.database)}
    if view == "V$MYSTAT":
        yield from ({**own, "STATISTIC#": at, "VALUE": counted[name]} for at, name in enumerate(_SYSSTAT))
        return
    for event in _EVENTS:
        if counted[event]:
            micro = counted[f"{event}/us"]
            yield {
                **own, "EVENT": event, "TOTAL_WAITS": counted[event], "TIME_WAITED": micro // 10_000,
                "TIME_WAITED_MICRO": micro, "WAIT_CLASS": _WAIT_CLASS.get(event, "User I/O"),
            }  # fmt: skip


def con_sysstat(db: EmulatedDatabase, instance: int) -> Rows:
    """V$CON_SYSSTAT."""
    yield from ({**row, "CON_ID": container_id(db)} for row in sysstat(db, instance))


def system_event(db: EmulatedDatabase, instance: int) -> Rows:
    """V$SYSTEM_EVENT: of the log writer and of what reads in the background only in the columns without _FG."""
    for name in (*_EVENTS, *_OF_BACKGROUND):
        counted = db.events[instance - 1]
        waits, micro = counted[name], counted[name + "/us"]
        behind, long = counted[f"{name}{BEHIND}"], counted[f"{name}{BEHIND}/us"]
        front = 0 if name in _OF_BACKGROUND else 1
        yield {
            "EVENT": name, "TOTAL_WAITS": waits + behind, "TIME_WAITED": (micro + long) // 10_000,
            "TIME_WAITED_MICRO": micro + long,
            "TOTAL_WAITS_FG": waits * front, "TIME_WAITED_FG": micro * front // 10_000,
            "TIME_WAITED_MICRO_FG": micro * front, "WAIT_CLASS": _WAIT_CLASS.get(name, "User I/O"), "CON_ID": WHOLE,
        }  # fmt: skip


def con_system_event(db: EmulatedDatabase, instance: int) -> Rows:
    """V$CON_SYSTEM_EVENT: of the container's own sessions."""
    own = (row for row in system_event(db, instance) if row["EVENT"] not in _OF_BACKGROUND)
    yield from ({**row, "CON_ID": container_id(db)} for row in own)


def tempstat(db: EmulatedDatabase, instance: int) -> Rows:
    """V$TEMPSTAT of the one temporary file: times in hundredths of a second."""
    counted = db.sorted[instance - 1]
    names = ("PHYRDS", "PHYWRTS", "PHYBLKRD", "PHYBLKWRT", "READTIM", "WRITETIM")
    yield {**{name: counted[name] for name in names}, "FILE#": 1, "CON_ID": container_id(db)}


def buffer_pool(db: EmulatedDatabase, instance: int) -> Rows:
    """V$BUFFER_POOL of the one pool."""
    held = db.caches[instance - 1].buffers
    size = held * BLOCK >> 20
    yield {
        "ID": 3, "NAME": "DEFAULT", "BLOCK_SIZE": BLOCK, "RESIZE_STATE": "STATIC", "CURRENT_SIZE": size,
        "BUFFERS": held, "TARGET_SIZE": size, "TARGET_BUFFERS": held, "PREV_SIZE": 0, "PREV_BUFFERS": 0, "CON_ID": 0,
    }  # fmt: skip


def buffer_pools(db: EmulatedDatabase, instance: int) -> Rows:
    """V$BUFFER_POOL_STATISTICS of the one pool."""
    counted = db.statistics[instance - 1]
    yield {
        "NAME": "DEFAULT", "BLOCK_SIZE": BLOCK, "PHYSICAL_READS": counted["physical reads cache"],
        "CONSISTENT_GETS": counted["session logical reads"], "DB_BLOCK_GETS": 0, "CON_ID": WHOLE,
    }  # fmt: skip


def statistics_level(db: EmulatedDatabase, _: int) -> Rows:
    """V$STATISTICS_LEVEL."""
    state = "DISABLED" if db.parameters["statistics_level"] == "BASIC" else "ENABLED"
    yield {
        "STATISTICS_NAME": "Segment Level Statistics", "SESSION_STATUS": state, "SYSTEM_STATUS": state,
        "ACTIVATION_LEVEL": "TYPICAL", "STATISTICS_VIEW_NAME": "V$SEGSTAT", "SESSION_SETTABLE": "NO",
    }  # fmt: skip


def parameters(db: EmulatedDatabase, _: int) -> Rows:
    """V$PARAMETER."""
    for at, (name, value) in enumerate(db.parameters.items()):
        yield {"NUM": at, "NAME": name, "VALUE": value, "DISPLAY_VALUE": value, "CON_ID": WHOLE}


def instance_row(db: EmulatedDatabase, instance: int) -> Rows:
    """V$INSTANCE."""
    version = ".".join(map(str, db.version))
    yield {
        "INSTANCE_NUMBER": instance, "INSTANCE_NAME": f"{db.name.lower()}{instance}", "HOST_NAME": f"db{instance}",
        "VERSION": version, "VERSION_FULL": version, "STARTUP_TIME": db.started[instance - 1], "STATUS": "OPEN",
        "PARALLEL": "YES" if db.quirks.instances > 1 else "NO", "DATABASE_STATUS": "ACTIVE", "CON_ID": WHOLE,
        "EDITION": db.quirks.edition,
    }  # fmt: skip


def active_instances(db: EmulatedDatabase, _: int) -> Rows:
    """V$ACTIVE_INSTANCES: all of them, seen from any."""
    for number, name in enumerate(db.instance_names(), start=1):
        yield {"INST_NUMBER": number, "INST_NAME": f"db{number}:{name}", "CON_ID": WHOLE}


def database_row(db: EmulatedDatabase, _: int) -> Rows:
    """V$DATABASE."""
    standby = db.quirks.role != "PRIMARY"
    yield {
        "DBID": db.database_id, "NAME": db.name, "DB_UNIQUE_NAME": db.name, "DATABASE_ROLE": db.quirks.role,
        "OPEN_MODE": "READ ONLY WITH APPLY" if standby else "READ WRITE", "LOG_MODE": "ARCHIVELOG",
        "FORCE_LOGGING": "NO", "CDB": "YES" if container_id(db) else "NO", "CREATED": STARTED, "CON_ID": WHOLE,
        "PLATFORM_NAME": "Linux x86 64-bit",
    }  # fmt: skip


def containers(db: EmulatedDatabase, instance: int) -> Rows:
    """V$CONTAINERS and V$PDBS, as a session in the PDB sees them: itself."""
    yield {
        "CON_ID": container_id(db), "DBID": db.database_id + container_id(db), "CON_UID": 2_700_000_003,
        "NAME": db.quirks.container or db.name, "OPEN_MODE": "READ WRITE", "RESTRICTED": "NO",
        "OPEN_TIME": db.started[instance - 1],
    }  # fmt: skip


def options(db: EmulatedDatabase, _: int) -> Rows:
    """V$OPTION."""
    for name, there in db.options.items():
        yield {"PARAMETER": name, "VALUE": "TRUE" if there else "FALSE", "CON_ID": WHOLE}


def version_row(db: EmulatedDatabase, _: int) -> Rows:
    """V$VERSION."""
    yield {"BANNER": product(db) + f" Release {'.'.join(map(str, db.version))}", "CON_ID": WHOLE}


def product(db: EmulatedDatabase) -> str:
    """The name it goes by."""
    edition = "Enterprise Edition" if db.quirks.edition == "EE" else "Standard Edition 2"
    letter = {11: "11g", 12: "12c", 18: "18c", 19: "19c", 21: "21c", 23: "23ai"}[db.version[0]]
    return f"Oracle Database {letter} {edition}"


def datafiles(db: EmulatedDatabase, _: int) -> Rows:
    """V$DATAFILE."""
    for space in db.tablespaces.values():
        for file in space.files:
            yield {
                "FILE#": file.number, "TS#": space.number, "NAME": file.path, "BYTES": file.bytes,
                "BLOCKS": file.bytes // BLOCK, "BLOCK_SIZE": BLOCK, "STATUS": "ONLINE", "ENABLED": "READ WRITE",
                "UNRECOVERABLE_CHANGE#": 0, "CON_ID": container_id(db),
            }  # fmt: skip


def tablespace_rows(db: EmulatedDatabase, _: int) -> Rows:
    """V$TABLESPACE."""
    for space in db.tablespaces.values():
        yield {"TS#": space.number, "NAME": space.name, "BIGFILE": "NO", "CON_ID": container_id(db)}


def disk_groups(db: EmulatedDatabase, _: int) -> Rows:
    """V$ASM_DISKGROUP_STAT: the groups that files name, mirrored once."""
    names = {
        file.path[1:].partition("/")[0] for s in db.tablespaces.values() for file in s.files if file.path[0] == "+"
    }
    for number, name in enumerate(sorted(names), start=1):
        yield {
            "GROUP_NUMBER": number, "NAME": name, "TYPE": "NORMAL", "TOTAL_MB": 20_000, "FREE_MB": 10_000,
            "REQUIRED_MIRROR_FREE_MB": 1000, "USABLE_FILE_MB": 4500, "STATE": "CONNECTED",
        }  # fmt: skip


def _sessions(db: EmulatedDatabase, instance: int) -> Iterator[EmulatedSession]:
    """Those of clients on that instance."""
    found = cast("list[EmulatedSession]", list(db.sessions.values()))
    yield from (session for session in found if session.instance == instance)


def sessions(db: EmulatedDatabase, instance: int) -> Rows:
    """V$SESSION: those of clients."""
    for session in _sessions(db, instance):
        blocker = session.blocked_by
        yield {
            "SID": session.session_id, "SERIAL#": session.serial, "USERNAME": session.user.name, "TYPE": "USER",
            "SADDR": f"{session.session_id:08X}", "CON_ID": container_id(db),
            "TADDR": f"{session.transaction:08X}" if session.transaction else None,
            "STATUS": "ACTIVE" if session.active else "INACTIVE", "MODULE": session.client.module or None,
            "ACTION": session.client.action or None, "CLIENT_IDENTIFIER": session.client.client_identifier or None,
            "PROGRAM": session.client.program, "MACHINE": session.client.machine, "OSUSER": session.client.os_user,
            "EVENT": session.event, "SECONDS_IN_WAIT": session.seconds_blocked(), "BLOCKING_SESSION": blocker,
            "FINAL_BLOCKING_SESSION": blocker, "LOGON_TIME": STARTED,
            "STATE": "WAITING", "LAST_CALL_ET": 0, "WAIT_TIME_MICRO": session.seconds_blocked() * 1_000_000,
        }  # fmt: skip
    for number, each in enumerate(db.load_sessions, 5000):
        if each.instance == instance:
            yield {
                "SID": number, "SERIAL#": 1, "USERNAME": each.user, "TYPE": "USER", "SADDR": f"{number:08X}",
                "CON_ID": container_id(db), "TADDR": f"{number:08X}" if each.transaction else None,
                "STATUS": "ACTIVE" if each.active else "INACTIVE", "MODULE": each.module, "ACTION": None,
                "CLIENT_IDENTIFIER": None, "PROGRAM": each.program, "MACHINE": "desk", "OSUSER": "till",
                "EVENT": each.event, "SECONDS_IN_WAIT": int(each.seconds), "BLOCKING_SESSION": None,
                "FINAL_BLOCKING_SESSION": None, "LOGON_TIME": STARTED, "STATE": "WAITING",
                "LAST_CALL_ET": int(each.seconds), "WAIT_TIME_MICRO": round(each.seconds * 1e6),
            }  # fmt: skip


def long_operations(db: EmulatedDatabase, instance: int) -> Rows:
    """V$SESSION_LONGOPS, in blocks."""
    here = {session.session_id for session in _sessions(db, instance)}
    for operation in db.long_operations:
        if operation.session_id not in here:
            continue
        yield {
            "SID": operation.session_id, "SERIAL#": operation.serial, "OPNAME": operation.name, "UNITS": "Blocks",
            "TARGET": operation.target, "SOFAR": operation.done_blocks, "TOTALWORK": operation.total_blocks,
            "START_TIME": operation.started, "LAST_UPDATE_TIME": operation.started, "USERNAME": operation.user,
        }  # fmt: skip


def locked_objects(db: EmulatedDatabase, instance: int) -> Rows:
    """V$LOCKED_OBJECT: table locks of open transactions."""
    for number, holders in db.table_locks.items():
        for session in _sessions(db, instance):
            if session.session_id in holders:
                yield {
                    "OBJECT_ID": number, "SESSION_ID": session.session_id, "ORACLE_USERNAME": session.user.name,
                    "XIDUSN": 1, "XIDSLOT": 1, "XIDSQN": session.transaction,
                    "LOCKED_MODE": _MODES.get(holders[session.session_id], 3), "CON_ID": container_id(db),
                }  # fmt: skip


def locks(db: EmulatedDatabase, instance: int) -> Rows:
    """V$LOCK: table locks (TM) and locks of DBMS_LOCK (UL)."""
    here = {session.session_id for session in _sessions(db, instance)}
    for number, holders in db.table_locks.items():
        for session in holders.keys() & here:
            yield {"SID": session, "TYPE": "TM", "ID1": number, "ID2": 0, "LMODE": _MODES.get(holders[session], 3)}
    for lock, session in db.user_locks.items():
        if session in here:
            yield {"SID": session, "TYPE": "UL", "ID1": int(lock), "ID2": 0, "LMODE": 6, "REQUEST": 0}


def transactions(db: EmulatedDatabase, instance: int) -> Rows:
    """V$TRANSACTION."""
    for session in _sessions(db, instance):
        if session.in_transaction():
            started = session.transaction_started
            yield {
                "STATUS": "ACTIVE", "SES_ADDR": f"{session.session_id:08X}", "ADDR": f"{session.transaction:08X}",
                "XIDUSN": 1, "XIDSLOT": 1, "XIDSQN": session.transaction, "START_DATE": started,
                "START_TIME": f"{started:%m/%d/%y %H:%M:%S}", "USED_UBLK": 1, "USED_UREC": 1,
            }  # fmt: skip


def sql_statistics(db: EmulatedDatabase, instance: int) -> Rows:
    """V$SQLSTATS: of the latest plan, with the counters of all."""
    for statement in db.remembered[instance - 1].values():
        counted = {name: statement.counters[name] for name in _SQLSTATS}
        yield {
            "SQL_TEXT": statement.text[:LONGEST], "SQL_FULLTEXT": statement.text, "SQL_ID": statement.sql_id,
            "PLAN_HASH_VALUE": statement.plan, "LAST_ACTIVE_TIME": statement.last_active, **counted,
            "EXACT_MATCHING_SIGNATURE": exact_signature(statement.text),
            "FORCE_MATCHING_SIGNATURE": force_signature(statement.text), "CON_ID": container_id(db),
        }  # fmt: skip


def nothing(_: EmulatedDatabase, __: int) -> Rows:
    """Views of things that the model does not have."""
    return iter(())


PERFORMANCE: dict[str, Callable[[EmulatedDatabase, int], Rows]] = {
    "V$SEGSTAT_NAME": segstat_names,
    "V$FILESTAT": filestat,
    "V$TEMPSTAT": tempstat,
    "V$IOSTAT_FILE": iostat_file,
    "V$SYSSTAT": sysstat,
    "V$STATNAME": statistic_names,
    "V$CON_SYSSTAT": con_sysstat,
    "V$SYSTEM_EVENT": system_event,
    "V$CON_SYSTEM_EVENT": con_system_event,
    "V$BUFFER_POOL": buffer_pool,
    "V$BUFFER_POOL_STATISTICS": buffer_pools,
    "V$STATISTICS_LEVEL": statistics_level,
    "V$PARAMETER": parameters,
    "V$SYSTEM_PARAMETER": parameters,
    "V$INSTANCE": instance_row,
    "V$ACTIVE_INSTANCES": active_instances,
    "V$DATABASE": database_row,
    "V$CONTAINERS": containers,
    "V$PDBS": containers,
    "V$OPTION": options,
    "V$VERSION": version_row,
    "V$DATAFILE": datafiles,
    "V$TABLESPACE": tablespace_rows,
    "V$ASM_DISKGROUP_STAT": disk_groups,
    "V$SESSION": sessions,
    "V$SESSION_LONGOPS": long_operations,
    "V$LOCKED_OBJECT": locked_objects,
    "V$LOCK": locks,
    "V$TRANSACTION": transactions,
    "V$SQLSTATS": sql_statistics,
    **REDO,
    "V$ENCRYPTED_TABLESPACES": nothing,
}
