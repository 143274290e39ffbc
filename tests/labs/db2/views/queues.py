"""The package cache, standbys and the log as rows of the emulated functions; as in ``rows``."""

from __future__ import annotations

import hashlib

from tests.labs.db2.views.rows import Rows
from tests.labs.db2.world import CREATED, PAGE_SIZE, Standby, World

INFINITE = -1  # TOTAL_LOG_AVAILABLE with logsecond = -1
PRIMARY, STANDARD = "PRIMARY", "STANDARD"


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big")


def package_cache(world: World) -> Rows:
    """MON_GET_PKG_CACHE_STMT: dynamic statements, on each member that has executed them."""
    for (text, member), statement in world.statements.items():
        yield f"{member}.{statement.number}", {
            "MEMBER": member, "SECTION_TYPE": "D", "INSERT_TIMESTAMP": statement.inserted, "VALID": "Y",
            "EXECUTABLE_ID": statement.number.to_bytes(32, "big"), "EFFECTIVE_ISOLATION": "CS", "STMT_TEXT": text,
            "LAST_METRICS_UPDATE": statement.updated, "STMTID": _number(text), "PLANID": _number(f"plan {text}"),
            "SEMANTIC_ENV_ID": 1, **statement.counts,
        }  # fmt: skip


def standbys(world: World) -> Rows:
    """MON_GET_HADR: a row for each standby of a primary, one on a standby, none where HADR is not on."""
    role = world.behaviour.hadr_role
    if role != STANDARD:
        for standby in world.standbys if role == PRIMARY else world.standbys[:1]:
            yield str(standby.number), {
                "HADR_ROLE": role, "REPLAY_TYPE": "PHYSICAL", "HADR_SYNCMODE": standby.syncmode,
                "STANDBY_ID": standby.number if role == PRIMARY else 0, "LOG_STREAM_ID": 0,
                "HADR_STATE": standby.state, "PRIMARY_MEMBER_HOST": "primary", "PRIMARY_INSTANCE": "db2inst1",
                "STANDBY_MEMBER_HOST": f"standby{standby.number}", "STANDBY_INSTANCE": "db2inst1",
                "HADR_CONNECT_STATUS": standby.connected, "HADR_CONNECT_STATUS_TIME": CREATED,
                "HEARTBEAT_INTERVAL": 30_000, "HADR_TIMEOUT": 120_000, "TIME_SINCE_LAST_RECV": 1_000,
                "LOG_HADR_WAIT_CUR": standby.log_wait_now_ms, "LOG_HADR_WAIT_TIME": standby.log_wait_ms,
                "LOG_HADR_WAITS_TOTAL": standby.log_waits, "READS_ON_STANDBY_ENABLED": "N",
                "STANDBY_SPOOL_LIMIT": 0, **_positions(standby),
            }  # fmt: skip


def _positions(standby: Standby) -> dict[str, int | None]:
    """In the log, as the heartbeat told last; of one that was never connected nothing is known."""
    own = standby.log_position
    gap = None if standby.gap is None else standby.gap + int(standby.unsent)
    received = None if gap is None else own - gap
    replayed = None if received is None or standby.replay_gap is None else received - standby.replay_gap
    return {
        "PRIMARY_LOG_POS": own, "STANDBY_LOG_POS": received, "STANDBY_REPLAY_LOG_POS": replayed,
        "HADR_LOG_GAP": gap, "STANDBY_RECV_REPLAY_GAP": standby.replay_gap,
    }  # fmt: skip


def transaction_log(world: World) -> Rows:
    """MON_GET_TRANSACTION_LOG: bytes."""
    pages, primary, secondary = world.behaviour.log_files
    size = pages * PAGE_SIZE
    room = size * (primary + max(secondary, 0)) - world.log_used
    waits = {"LOG_HADR_WAIT_TIME": 0, "LOG_HADR_WAITS_TOTAL": 0}
    if world.behaviour.hadr_role == PRIMARY:
        waits["LOG_HADR_WAIT_TIME"] = sum(one.log_wait_ms for one in world.standbys)
        waits["LOG_HADR_WAITS_TOTAL"] = sum(one.log_waits for one in world.standbys)
    for member in range(world.behaviour.members):
        yield str(member), {
            "MEMBER": member, "TOTAL_LOG_USED": world.log_used,
            "TOTAL_LOG_AVAILABLE": INFINITE if secondary == INFINITE else max(room, 0),
            "TOT_LOG_USED_TOP": world.log_used, "SEC_LOGS_ALLOCATED": max(-(-world.log_used // size) - primary, 0),
            "APPLID_HOLDING_OLDEST_XACT": world.log_held_by, **waits,
        }  # fmt: skip
