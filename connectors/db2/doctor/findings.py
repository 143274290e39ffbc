"""What keeps hotplace from seeing or acting, each with the statement that mends it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from connectors.base import ConnectorError, ObjectGone, PrivilegeMissing, StatementFailed
from connectors.blocks import BLOCK_HEAT
from connectors.db2.doctor.grants import moving_rights, unreadable
from connectors.db2.doctor.storage_findings import storage_findings
from connectors.db2.moving.lease import MAKE_IT, TABLE
from connectors.db2.reading.names import identifier
from connectors.db2.reading.pools import pool_findings
from connectors.db2.reading.sampler import column_names
from connectors.db2.reading.space_counters import skew
from connectors.db2.reading.storage import read_storage
from connectors.db2.routes.statements import CANCEL, move_table
from connectors.db2.session.errors import EXECUTE_GIVES, SELECT_GIVES
from connectors.db2.session.server import STANDBY, Server
from connectors.db2.session.sessions import ReadSession
from connectors.db2.settings import Db2Settings
from connectors.findings import Capability, Finding, Remedy, Severity

NEWEST_TRIED = (12, 1)
EXTENDED_ON = "UPDATE DB CFG FOR {} USING MON_OBJ_METRICS EXTENDED IMMEDIATE"
LARGE_SKEW = 0.5
PARTITIONS = (
    "Partition large tables by range (ADMIN_MOVE_TABLE can): the reads of each data partition are counted, "
    "and each may lie in a table space of its own."
)
PROTOCOL = "SYSTOOLS.ADMIN_MOVE_TABLE"
UNANSWERED = frozenset({"execute_missing", "function_missing"})

# What each query needs beyond SELECT on the catalog views, and what is lost without it.
FUNCTIONS = {
    "sample_spaces": ("MON_GET_TABLESPACE", "sampling is impossible"),
    "sample_tables": ("MON_GET_TABLE", "sampling is impossible"),
    "sample_indexes": ("MON_GET_INDEX", "sampling is impossible"),
    "containers": ("MON_GET_CONTAINER", "where table spaces lie stays hidden, and when a rebalance has ended"),
    "buffer_pools": ("MON_GET_BUFFERPOOL", "how much buffer pools answer stays hidden"),
    "database": ("MON_GET_DATABASE", "a restart of the database shows only by falling counters"),
    "storage_paths": ("ADMIN_GET_STORAGE_PATHS", "how much room storage groups have stays hidden"),
    "hosts": ("DB_MEMBERS", "file systems of several hosts that are numbered alike count as one"),
    "utilities": ("MON_GET_UTILITY", "reads of a backup or RUNSTATS are taken for demand"),
    "rebalance": ("MON_GET_REBALANCE_STATUS", "table spaces cannot be moved: the end of a rebalance would not be seen"),
    "configuration": ("DB_GET_CFG", "whether objects are counted stays hidden, so nothing is sampled"),
}
ESSENTIAL = frozenset({"sample_spaces", "sample_tables", "sample_indexes"})  # without one of these nothing is watched
OF_PARTITIONS = frozenset({"hosts"})  # asked of several database partitions only
_VALUES: dict[str, tuple[object, ...]] = {"storage_paths": (0,)}


def insist_on_object_metrics(server: Server) -> None:
    """Without EXTENDED the counters of objects stay 0 and everything would look cold.

    Before 10.1 there are none to be had: then table spaces are sampled, and of no object is anything said.

    Raises:
        StatementFailed: they are not counted on every member, or that cannot be read.
    """
    if not server.counts_objects and not server.too_old_for_objects:
        raise StatementFailed(
            f"mon_obj_metrics is {_join_values(server.object_metrics)}: reads of objects are not counted",
            advice=f"{EXTENDED_ON.format(server.database)}; on every member.",
        )


def capabilities(session: ReadSession, server: Server) -> tuple[Capability, ...]:
    """Capabilities by version, settings and privileges."""
    groups = session.optional_rows("storage_groups", doing="reading storage groups")
    moves = server.hadr_role != STANDBY
    return (
        Capability.of("object_counters", server.counts_objects, "mon_obj_metrics", EXTENDED_ON.format(server.database)),
        Capability.of("read_times", True, "read times of each table space", ""),
        Capability.of("moves", moves, "a database that takes writes", "Connect to the primary."),
        Capability.of("storage_groups", bool(groups), "a storage group", "Upgrade to 10.1, or use move_by: table."),
        Capability.of(
            "move_table_spaces",
            bool(groups) and moves and not server.purescale,
            "rebalancing between storage groups",
            "Use move_by: table; pureScale does not rebalance.",
        ),
        Capability.of(BLOCK_HEAT, False, "a view of the pages in Db2's buffer pools", PARTITIONS),
    )


def examine(session: ReadSession, settings: Db2Settings, server: Server, *, shared: bool) -> tuple[Finding, ...]:
    """All findings, what is well included.

    Raises:
        ConnectorError: the server did not answer.
    """
    found = [check(server) for check in _CHECKS]
    asked = [name for name in FUNCTIONS if name not in OF_PARTITIONS or server.partitions > 1]
    found += [_query_finding(session, settings, name) for name in asked]
    found += unreadable(session, settings)
    found += [*moving_rights(session, settings), _lease(session)]
    found += _unfinished_move_findings(session, settings.user)
    found += _skew_findings(session, server)
    found += pool_findings(session)
    found.append(_looks())
    if not any(finding.code in UNANSWERED and finding.values["query"] == "sample_spaces" for finding in found):
        found += storage_findings(read_storage(session, shared=shared))
    return tuple(found)


def _looks() -> Finding:
    """No version has such a view, so that there is no query to try."""
    return Finding.info(
        "block_looks", "large tables are not looked into: Db2 has no view of the pages in its buffer pools", PARTITIONS
    )


def _version(server: Server) -> Finding:
    version = ".".join(str(part) for part in server.version)
    if server.too_old_for_objects:
        return Finding.error(
            "version_unsupported",
            f"Db2 {version} does not count reads of tables and indexes, which came with 10.1: "
            "table spaces are sampled, no table is ranked",
            "Upgrade the server; until then move tables that you name (pins).",
        )
    if server.version[:2] > NEWEST_TRIED:
        return Finding.warning(
            "version_untried", f"Db2 {version} is newer than 12.1", "Watch the first samples closely."
        )
    return Finding.ok("version", f"Db2 {version} {server.edition}".rstrip())


def _objects(server: Server) -> Finding:
    if server.too_old_for_objects:
        return Finding.info("mon_obj_metrics_absent", "there is no EXTENDED before 10.1")
    if server.counts_objects:
        return Finding.ok("mon_obj_metrics", "reads of each object are counted")
    return Finding.error(
        "mon_obj_metrics_off",
        f"mon_obj_metrics is {_join_values(server.object_metrics)}, not EXTENDED on all members: no ranking",
        EXTENDED_ON.format(server.database),
    )


def _requests(server: Server) -> Finding:
    if server.request_metrics and "NONE" not in server.request_metrics:
        return Finding.ok("mon_req_metrics", "time in requests is counted")
    return Finding.warning(
        "mon_req_metrics_off",
        f"mon_req_metrics is {_join_values(server.request_metrics)}: the share of waiting is unknown",
        f"UPDATE DB CFG FOR {server.database} USING MON_REQ_METRICS BASE IMMEDIATE",
    )


def _role(server: Server) -> Finding:
    if server.hadr_role == STANDBY:
        return Finding.warning(
            "standby", "this is an HADR standby: hotplace only watches here", "Connect to the primary to move anything."
        )
    if server.hadr_role == "PRIMARY":
        return Finding.warning(
            "hadr_paths",
            "this is an HADR primary: its standby rebalances too, and needs the same paths",
            "See that the standby has every storage path before a table space moves.",
        )
    return Finding.ok("primary", "this database takes writes")


def _topology(server: Server) -> Finding:
    if server.purescale:
        return Finding.info(
            "purescale", "pureScale does not rebalance table spaces between storage groups", "Use move_by: table."
        )
    return Finding.ok("topology", f"{server.topology}, {server.members} member(s) are summed")


def _revalidation(server: Server) -> Finding:
    """A move drops and recreates views: objects that use them must become valid again without a person's help."""
    if server.auto_reval != "DISABLED":
        return Finding.ok("auto_reval", "what a move made invalid is validated at use")
    return Finding.warning(
        "auto_reval_off",
        "auto_reval is DISABLED: ADMIN_MOVE_TABLE fails (SQL0478N) where a function uses a view of the table",
        f"UPDATE DB CFG FOR {server.database} USING AUTO_REVAL DEFERRED",
        about_moving=True,
    )


_CHECKS: tuple[Callable[[Server], Finding], ...] = (_version, _objects, _requests, _role, _topology, _revalidation)


def _query_finding(session: ReadSession, settings: Db2Settings, name: str) -> Finding:
    """Whether the query of that name is answered."""
    function, lost = FUNCTIONS[name]
    try:
        session.rows(name, _VALUES.get(name, ()), doing=f"trying {function}")
    except PrivilegeMissing as error:
        gives = EXECUTE_GIVES.format(function)
        by_name = f"GRANT EXECUTE ON FUNCTION SYSPROC.{function} TO USER {identifier(settings.user.upper())}"
        return Finding(
            severity=Severity.ERROR if name in ESSENTIAL else Severity.WARNING,
            code="execute_missing",
            sentence=f"{settings.user} may not execute {function}: {lost}",
            remedy=error.advice if error.advice.startswith("GRANT EXECUTE ON SPECIFIC ") else Remedy(by_name, gives),
            values={"function": function, "query": name},
        )
    except (ObjectGone, StatementFailed) as error:
        return Finding.warning(
            "function_missing",
            f"{function} does not answer ({error}): {lost}",
            "This version may lack it, or this login may not execute it (db2-observe.sql); upgrade, or do without.",
            values={"function": function, "query": name},
        )
    return Finding.ok("execute", f"{function} answers", values={"function": function, "query": name})


def _lease(session: ReadSession) -> Finding:
    if session.optional_rows("lease_alive", doing="looking at the lease") is not None:
        return Finding.ok("lease_table", f"{TABLE} is there")
    return Finding.warning(
        "lease_table_missing",
        f"{TABLE} is not there or not readable: nothing keeps two agents from acting at once, so none will",
        MAKE_IT,
    )


def _unseen_protocol(error: ConnectorError, user: str) -> Finding:
    """Without it an open move is taken for none: SWAP fails, triggers stay, and the next INIT is SQL2104N."""
    if isinstance(error, PrivilegeMissing):
        return Finding.warning(
            "protocol_unreadable",
            f"{user} may not read {PROTOCOL}: whether a move is open is not known, so no table is moved",
            Remedy(f"GRANT SELECT ON {PROTOCOL} TO USER {identifier(user.upper())}", SELECT_GIVES.format(PROTOCOL)),
            about_moving=True,
        )
    return Finding.info(
        "protocol_absent",
        f"{PROTOCOL} is made by the first move: if {user} may not read it then, that move is taken back",
        "Run db2-move.sql: it moves an empty table of its own, and grants SELECT on what that makes.",
    )


def _unfinished_move_findings(session: ReadSession, user: str) -> list[Finding]:
    rows = session.optional_rows("unfinished_moves", doing="looking for unfinished moves")
    if rows is None:
        return [_unseen_protocol(session.missing["unfinished_moves"], user)]
    return [
        Finding.warning(
            "unfinished_move",
            f"a move of {schema}.{name} stopped in {status}: its triggers go on slowing writers",
            move_table(str(schema), str(name), None, "", CANCEL),
            values={"table": f"{schema}.{name}", "status": str(status)},
        )
        for schema, name, status in rows
        if not str(status).startswith("COMPLETE")
    ]


def _skew_findings(session: ReadSession, server: Server) -> list[Finding]:
    """Database partitions that work much harder than the others: an average would hide them."""
    if server.partitions < 2 or server.purescale:
        return []
    at = column_names("sample_tables").index("OBJECT_DATA_P_READS")
    reads: dict[int, float] = {}
    for row in session.optional_rows("sample_tables", doing="comparing members") or []:
        reads[int(row[3])] = reads.get(int(row[3]), 0.0) + float(row[at] or 0)
    unevenness = skew(np.array(list(reads.values())))
    if unevenness < LARGE_SKEW:
        return [Finding.ok("skew", f"members read evenly ({unevenness:.0%} skew)")]
    return [
        Finding.info(
            "skew",
            f"one member reads far more than the others ({unevenness:.0%} skew)",
            "Look at the distribution keys; hotplace ranks by the sum over members.",
        )
    ]


def _join_values(values: Sequence[str]) -> str:
    return "/".join(sorted(set(values))) or "not to be read"
