"""What keeps hotplace from seeing or acting, each with the statement that mends it.

Missing rights come first, each with its GRANT. ``unreadable`` names what this login cannot read of the catalog: a
RESTRICTIVE database grants PUBLIC no view of it. ``moving_rights`` counts only what was granted to the user or to
PUBLIC, because rights through groups and roles cannot be seen.

Table spaces and storage groups follow (``storage_findings``), then buffer pools (``pool_findings``): how often they
answer, and whether prefetching helps. A failing prefetch is a matter of configuration; no tier mends it.

``capabilities`` says what this server allows. ``examine`` gives all findings, including those that say all is well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from connectors.db2.counters import KINDS, columns_of, hit_ratio, skew
from connectors.db2.errors import EXECUTE_GIVES, SELECT_GIVES
from connectors.db2.lease import MAKE_IT, TABLE
from connectors.db2.names import identifier, readable
from connectors.db2.operations import CANCEL, move_table, rebalance
from connectors.db2.sampler import column_names
from connectors.db2.sessions import STANDBY, ReadSession, Row, Server, query
from connectors.db2.settings import Db2Settings
from connectors.db2.storage import AT_REST, NEVER_TOUCHED, ServerStorage, read_storage
from connectors.kit.contract import ConnectorError, ObjectGone, PrivilegeMissing, StatementFailed
from connectors.kit.findings import Capability, Finding, Remedy, Severity
from connectors.model.blocks import BLOCK_HEAT

UNLESS = "unless a group or role grants it"
SQLADM_GIVES = "moves of every table, and all commands that monitor and tune the database"
SHOWN = 5  # GRANTs in one remedy
SCRIPT = "see db2-move.sql (hotplace deploy privileges --engine db2)"
PERMANENT = frozenset({"A", "L"})  # SYSCAT.TABLESPACES.DATATYPE

# A query of each view that none of doctor's own queries reads, and what is not known without it.
LOST = {
    "tables": "sampling and planning are impossible",
    "indexes": "sampling and planning are impossible",
    "partitions": "sampling and planning are impossible",
    "index_partitions": "partitioned indexes are not seen",
    "lob_tables": "planning is impossible",
    "storage_groups": "table spaces cannot be moved",
    "index_columns": "tables cannot be moved: their indexes could not be compared afterwards",
    "table_constraints": "tables cannot be moved: their keys and checks could not be compared afterwards",
    "table_checks": "tables cannot be moved: their checks could not be compared afterwards",
    "key_columns": "tables cannot be moved: the columns of their keys are not known",
    "references": "tables cannot be moved: whether foreign keys forbid it is not known",
    "dependents": "tables cannot be moved: what is made of them is not known",
    "invalid_views": "tables with views cannot be moved: which are valid is not known",
    "table_triggers": "tables cannot be moved: their triggers are not known",
    "packages": "which packages have to be bound again after a table space has moved is not known",
    "table_grants": "tables cannot be moved: their grants could not be compared afterwards",
    "column_grants": "tables cannot be moved: their grants on columns could not be compared afterwards",
    "table_monitors": "tables cannot be moved: whether an event monitor writes to them is not known",
    "xml_schemas": "tables cannot be moved: whether XML schemas depend on them is not known",
    "history_of": "whether a table holds the history of another is not known",
}
ESSENTIAL_GRANTS = frozenset(
    {"tables", "indexes", "partitions", "lob_tables"}
)  # without one of these nothing is planned


def probed() -> Mapping[str, str]:
    """Views that are tried, each with the query that says what is lost: of two queries the one that reads it first."""
    first = {query(name).source: name for name in reversed(LOST)}
    return first | {source: name for name in LOST for source in query(name).sources if source not in first}


def unreadable(session: ReadSession, settings: Db2Settings) -> list[Finding]:
    """A finding for each, or one that all is well.

    Raises:
        ConnectorError: the server did not answer.
    """
    found = []
    for source, name in probed().items():
        lost = LOST[name]
        try:
            session.select(f"SELECT 1 FROM {source} AS T WHERE 1 = 0", doing=f"trying {source}")  # noqa: S608  # ours
        except PrivilegeMissing:
            found.append(_missing(source, lost, settings, essential=name in ESSENTIAL_GRANTS))
        except (ObjectGone, StatementFailed):
            continue  # this version has no such view
    if found:
        return found
    return [Finding.ok("catalog_views", "every view of the catalog may be read")]


def moving_rights(session: ReadSession, settings: Db2Settings) -> list[Finding]:
    """Whether this user may call ADMIN_MOVE_TABLE, and make the new table where it is to go.

    Raises:
        ConnectorError: the server did not answer.
    """
    me, user = settings.user.upper(), identifier(settings.user.upper())
    sqladm = Remedy(f"GRANT SQLADM ON DATABASE TO USER {user}; {SCRIPT}", SQLADM_GIVES)
    rows = session.optional_rows("authorities", (me,), doing="looking at authorities")
    if rows is None:
        sentence = f"SYSCAT.DBAUTH does not answer: whether {settings.user} may move anything shows when it tries"
        return [_lacks("may_move_unknown", sentence, sqladm)]
    administers, moves, creates = (any(row[at] == "Y" for row in rows) for at in range(3))
    if not administers and not moves:
        sentence = f"{settings.user} itself has neither SQLADM nor DBADM: it may watch, and moves are refused {UNLESS}"
        return [_lacks("may_not_move", sentence, sqladm)]
    may = Finding.ok("may_move_tables", f"{settings.user} may call ADMIN_MOVE_TABLE")
    found = [may]
    if not administers and not creates:
        sentence = f"{settings.user} may not make the new table that ADMIN_MOVE_TABLE fills, {UNLESS}"
        remedy = Remedy(f"GRANT CREATETAB ON DATABASE TO USER {user}", "tables of its own in this database")
        found.append(_lacks("createtab_missing", sentence, remedy))
    return found if administers else [*found, *_uses(session, settings)]


def _uses(session: ReadSession, settings: Db2Settings) -> list[Finding]:
    """Table spaces that no table of this user could be made in; DBADM may use every one."""
    me = settings.user.upper()
    allowed = session.optional_rows("space_uses", (me,), doing="looking at table spaces")
    spaces = [str(row[1]) for row in session.rows("spaces", doing="looking at table spaces") if row[3] in PERMANENT]
    known = {str(row[0]) for row in allowed or []}
    shut = [name for name in sorted(spaces) if name not in known and name not in NEVER_TOUCHED]
    if allowed is None or not shut:
        return []
    listed = ", ".join(map(readable, shut[:SHOWN])) + (", ..." if len(shut) > SHOWN else "")
    grants = (f"GRANT USE OF TABLESPACE {identifier(name)} TO USER {identifier(me)}" for name in shut[:SHOWN])
    sentence = f"{settings.user} may not move tables into {listed}, {UNLESS}"
    return [_lacks("use_missing", sentence, Remedy("; ".join(grants), "the room in these table spaces"))]


def _lacks(code: str, sentence: str, remedy: str) -> Finding:
    return Finding.warning(code, sentence, remedy, about_moving=True)


def _missing(source: str, lost: str, settings: Db2Settings, *, essential: bool) -> Finding:
    return Finding(
        severity=Severity.ERROR if essential else Severity.WARNING,
        code="select_missing",
        sentence=f"{settings.user} may not read {source}: {lost}",
        remedy=Remedy(
            f"GRANT SELECT ON {source} TO USER {identifier(settings.user.upper())}", SELECT_GIVES.format(source)
        ),
        values={"view": source},
    )


def storage_findings(storage: ServerStorage) -> list[Finding]:
    """A finding for each table space that needs a second look, and what every storage group says of itself."""
    found: list[Finding] = []
    for space in storage.spaces.values():
        if space.state != "NORMAL":
            found.append(
                _space(Severity.WARNING, "space_state", space.name, f"is in state {space.state}", "Bring it to NORMAL.")
            )
        if space.mode == AT_REST and (space.paths_dropped or space.hybrid):
            what = f"has containers that it should have left for storage group {space.group}, and nothing moves them"
            found.append(_space(Severity.WARNING, "space_half_moved", space.name, what, rebalance(space.name)))
        if space.os_cached and space.permanent:
            found.append(
                _space(
                    Severity.INFO,
                    "space_os_cached",
                    space.name,
                    "is cached by the operating system: a physical read may never reach a disk, its time decides",
                    f"ALTER TABLESPACE {identifier(space.name)} NO FILE SYSTEM CACHING, where that is wanted.",
                )
            )
        if space.caching_tier:
            found.append(
                _space(
                    Severity.WARNING,
                    "space_caching_tier",
                    space.name,
                    "has a caching tier: what misses the pool may come from a local SSD already",
                    "Keep it out of the tiers, or watch its read times first.",
                )
            )
    found += [
        Finding.info(
            "storage_group",
            f"storage group {group.name}: OVERHEAD {group.overhead:g} ms, DEVICE READ RATE "
            f"{group.read_rate:g} MB/s, DATA TAG {group.datatag}, paths {', '.join(group.paths) or 'hidden'}",
            "These were typed in, not measured; say in the configuration which tier it is.",
            values={"group": group.name},
        )
        for group in storage.groups.values()
    ]
    return found


def _space(severity: Severity, code: str, name: str, what: str, remedy: str) -> Finding:
    return Finding(
        severity=severity, code=code, sentence=f"table space {name} {what}", remedy=remedy, values={"space": name}
    )


MUCH_UNREAD = 0.10  # of the pages that prefetchers brought
WORTH_A_WORD = 10_000  # pages, below which a share says nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class BufferPool:
    """One buffer pool over all members since they were activated. Ratios are NaN where nothing was asked."""

    name: str
    pages: int  # its size
    hits: float  # share of page requests that the local pool answered
    group_hits: float  # of those that went to the group pool of pureScale, the share it answered
    ahead: int  # pages that prefetchers brought
    unread: int  # of those, thrown out before anybody wanted them
    wait_ms: int  # that sessions waited for prefetchers


def pools_of(rows: Sequence[Row]) -> tuple[BufferPool, ...]:
    """The pools by the rows of ``buffer_pools``, members summed."""
    names = column_names("buffer_pools")
    numeric = names[2:]
    found = []
    for name in sorted({str(row[0]) for row in rows}):
        columns = columns_of(numeric, [row[2:] for row in rows if row[0] == name])
        c = {column: np.array([values.sum()]) for column, values in columns.items()}
        asked = float((c["POOL_DATA_GBP_L_READS"] + c["POOL_INDEX_GBP_L_READS"])[0])
        missed = float((c["POOL_DATA_GBP_P_READS"] + c["POOL_INDEX_GBP_P_READS"])[0])
        found.append(
            BufferPool(
                name=name,
                pages=int(c["BP_CUR_BUFFSZ"][0]),
                hits=float(hit_ratio(c)[0]),
                group_hits=(asked - missed) / asked if asked > 0 else float("nan"),
                ahead=int(sum(float(c[f"POOL_ASYNC_{kind}_READS"][0]) for kind in KINDS)),
                unread=int(c["UNREAD_PREFETCH_PAGES"][0]),
                wait_ms=int(c["PREFETCH_WAIT_TIME"][0]),
            )
        )
    return tuple(found)


def pool_findings(session: ReadSession) -> list[Finding]:
    """A finding for each pool, and one more for each whose prefetching fails.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    rows = session.optional_rows("buffer_pools", doing="looking at buffer pools") or []
    return [finding for pool in pools_of(rows) for finding in _findings(pool)]


def _findings(pool: BufferPool) -> Iterator[Finding]:
    if not np.isnan(pool.hits):
        group = "" if np.isnan(pool.group_hits) else f", the group pool {pool.group_hits:.1%} of what was asked of it"
        yield Finding.info(
            "buffer_pool",
            f"buffer pool {pool.name} ({pool.pages:,} pages) answered {pool.hits:.1%} of requests{group}",
            "What a pool answers gains nothing by faster storage; hotplace ranks by what it does not.",
            values={"pool": pool.name},
        )
    if pool.ahead >= WORTH_A_WORD and pool.unread > MUCH_UNREAD * pool.ahead:
        yield Finding.warning(
            "buffer_pool_prefetch",
            f"{pool.unread / pool.ahead:.0%} of what was read ahead into {pool.name} was never used "
            f"({pool.wait_ms / 1000:.1f} s waited for it)",
            "A matter of configuration, not of tiers: PREFETCHSIZE, NUM_IOSERVERS, or a larger pool.",
            values={"pool": pool.name},
        )


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
    "connections": ("MON_GET_CONNECTION", "how many sessions are in use stays hidden, which widens forecasts"),
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
