"""What keeps hotplace from seeing or acting, each with the statement that mends it.

Missing rights come first, each with its GRANT. ``unreadable`` names what this login cannot read of the catalog: a
RESTRICTIVE database grants PUBLIC no view of it. ``moving_rights`` counts only what was granted to the user or to
PUBLIC, because rights through groups and roles cannot be seen.

Table spaces and storage groups follow (``storage_findings``), then buffer pools (``pool_findings``): how often they
answer, and whether prefetching helps. A failing prefetch is a matter of configuration; no tier mends it.

``capabilities`` says what this server allows. ``examine`` gives all findings, including those that say all is well.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from connectors.db2.counters import KINDS, columns_of, hit_ratio, skew
from connectors.db2.errors import EXECUTE_GIVES, SELECT_GIVES
from connectors.db2.lease import MAKE_IT, TABLE
from connectors.db2.names import identifier, readable
from connectors.db2.operations import CANCEL, move_table, rebalance
from connectors.db2.sampler import column_names, statement_facts
from connectors.db2.sessions import STANDBY, ReadSession, Row, Server, query
from connectors.db2.settings import Db2Settings
from connectors.db2.storage import AT_REST, NEVER_TOUCHED, ServerStorage, read_storage
from connectors.kit.checks import STATEMENTS, CheckCase, DoctorCheck, Facts, findings_of
from connectors.kit.contract import ObjectGone, PrivilegeMissing, StatementFailed
from connectors.kit.findings import Capability, Finding, Remedy, Severity
from connectors.model.blocks import BLOCK_HEAT

OK, INFO, WARNING, ERROR = Severity.OK, Severity.INFO, Severity.WARNING, Severity.ERROR

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


VIEW_CHECKS = (
    DoctorCheck(
        "views",
        (
            CheckCase(None, "select_missing", "{user} may not read {view}: {lost}",
                      Remedy("GRANT SELECT ON {view} TO USER {quoted}", SELECT_GIVES.format("{view}")),
                      values={"view": "{view}"}),
        ),
        nothing=CheckCase(OK, "catalog_views", "every view of the catalog may be read"),
    ),
)  # fmt: skip


def unreadable(session: ReadSession, settings: Db2Settings) -> list[Finding]:
    """A finding for each, or one that all is well.

    Raises:
        ConnectorError: the server did not answer.
    """
    return list(findings_of(VIEW_CHECKS, {"views": lambda: _unreadable(session, settings)}))


def _unreadable(session: ReadSession, settings: Db2Settings) -> Iterator[Facts]:
    for source, name in probed().items():
        try:
            session.select(f"SELECT 1 FROM {source} AS T WHERE 1 = 0", doing=f"trying {source}")  # noqa: S608  # ours
        except PrivilegeMissing:
            severity = ERROR if name in ESSENTIAL_GRANTS else WARNING
            yield {**_login(settings), "view": source, "lost": LOST[name], "severity": severity}
        except (ObjectGone, StatementFailed):
            continue  # this version has no such view


def _login(settings: Db2Settings) -> Facts:
    return {"user": settings.user, "quoted": identifier(settings.user.upper())}


_SQLADM = Remedy(f"GRANT SQLADM ON DATABASE TO USER {{quoted}}; {SCRIPT}", SQLADM_GIVES)
RIGHT_CHECKS = (
    DoctorCheck(
        "rights",
        (
            CheckCase(WARNING, "may_move_unknown",
                      "SYSCAT.DBAUTH does not answer: whether {user} may move anything shows when it tries",
                      _SQLADM, when="unknown", about_moving=True),
            CheckCase(WARNING, "may_not_move",
                      f"{{user}} itself has neither SQLADM nor DBADM: it may watch, and moves are refused {UNLESS}",
                      _SQLADM, when="may_not", about_moving=True),
            CheckCase(OK, "may_move_tables", "{user} may call ADMIN_MOVE_TABLE", when="may"),
            CheckCase(WARNING, "createtab_missing",
                      f"{{user}} may not make the new table that ADMIN_MOVE_TABLE fills, {UNLESS}",
                      Remedy("GRANT CREATETAB ON DATABASE TO USER {quoted}", "tables of its own in this database"),
                      when="makes_none", about_moving=True),
            CheckCase(WARNING, "use_missing", f"{{user}} may not move tables into {{shut}}, {UNLESS}",
                      Remedy("{grants}", "the room in these table spaces"), when="shut", about_moving=True),
        ),
        every=True,
    ),
)  # fmt: skip


def moving_rights(session: ReadSession, settings: Db2Settings) -> list[Finding]:
    """Whether this user may call ADMIN_MOVE_TABLE, and make the new table where it is to go.

    Raises:
        ConnectorError: the server did not answer.
    """
    return list(findings_of(RIGHT_CHECKS, {"rights": lambda: (_rights(session, settings),)}))


def _rights(session: ReadSession, settings: Db2Settings) -> Facts:
    rows = session.optional_rows("authorities", (settings.user.upper(),), doing="looking at authorities")
    administers, moves, creates = (any(row[at] == "Y" for row in rows or []) for at in range(3))
    may = rows is not None and (administers or moves)
    shut = _shut_spaces(session, settings) if may and not administers else []
    grants = (f"GRANT USE OF TABLESPACE {identifier(name)} TO USER {_login(settings)['quoted']}" for name in shut)
    return {
        **_login(settings),
        "unknown": rows is None,
        "may_not": rows is not None and not may,
        "may": may,
        "makes_none": may and not administers and not creates,
        "shut": ", ".join(map(readable, shut[:SHOWN])) + (", ..." if len(shut) > SHOWN else ""),
        "grants": "; ".join([*grants][:SHOWN]),
    }


def _shut_spaces(session: ReadSession, settings: Db2Settings) -> list[str]:
    """Table spaces that no table of this user could be made in; DBADM may use every one."""
    allowed = session.optional_rows("space_uses", (settings.user.upper(),), doing="looking at table spaces")
    spaces = [str(row[1]) for row in session.rows("spaces", doing="looking at table spaces") if row[3] in PERMANENT]
    if allowed is None:
        return []
    known = {str(row[0]) for row in allowed}
    return [name for name in sorted(spaces) if name not in known and name not in NEVER_TOUCHED]


SPACE_CHECKS = (
    DoctorCheck(
        "spaces",
        (
            CheckCase(WARNING, "space_state", "table space {space} is in state {state}", "Bring it to NORMAL.",
                      when="not_normal", values={"space": "{space}"}),
            CheckCase(WARNING, "space_half_moved",
                      "table space {space} has containers that it should have left for storage group {group}, and "
                      "nothing moves them",
                      "{rebalance}", when="half_moved", values={"space": "{space}"}),
            CheckCase(INFO, "space_os_cached",
                      "table space {space} is cached by the operating system: a physical read may never reach a disk, "
                      "its time decides",
                      "ALTER TABLESPACE {quoted} NO FILE SYSTEM CACHING, where that is wanted.",
                      when="os_cached", values={"space": "{space}"}),
            CheckCase(WARNING, "space_caching_tier",
                      "table space {space} has a caching tier: what misses the pool may come from a local SSD already",
                      "Keep it out of the tiers, or watch its read times first.",
                      when="caching_tier", values={"space": "{space}"}),
        ),
        every=True,
    ),
    DoctorCheck(
        "groups",
        (
            CheckCase(INFO, "storage_group",
                      "storage group {group}: OVERHEAD {overhead:g} ms, DEVICE READ RATE {read_rate:g} MB/s, DATA TAG "
                      "{tag}, paths {paths}",
                      "These were typed in, not measured; say in the configuration which tier it is.",
                      values={"group": "{group}"}),
        ),
    ),
)  # fmt: skip


def storage_findings(storage: ServerStorage) -> list[Finding]:
    """A finding for each table space that needs a second look, and what every storage group says of itself."""
    return list(
        findings_of(SPACE_CHECKS, {"spaces": lambda: _space_facts(storage), "groups": lambda: _group_facts(storage)})
    )


def _space_facts(storage: ServerStorage) -> Iterator[Facts]:
    for space in storage.spaces.values():
        yield {
            "space": space.name,
            "quoted": identifier(space.name),
            "state": space.state,
            "not_normal": space.state != "NORMAL",
            "group": space.group,
            "half_moved": space.mode == AT_REST and (space.paths_dropped or space.hybrid),
            "rebalance": rebalance(space.name),
            "os_cached": space.os_cached and space.permanent,
            "caching_tier": space.caching_tier,
        }


def _group_facts(storage: ServerStorage) -> Iterator[Facts]:
    for group in storage.groups.values():
        yield {
            "group": group.name,
            "overhead": group.overhead,
            "read_rate": group.read_rate,
            "tag": group.datatag,
            "paths": ", ".join(group.paths) or "hidden",
        }


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


POOL_CHECKS = (
    DoctorCheck(
        "pools",
        (
            CheckCase(INFO, "buffer_pool",
                      "buffer pool {pool} ({pages:,} pages) answered {hits:.1%} of requests{group}",
                      "What a pool answers gains nothing by faster storage; hotplace ranks by what it does not.",
                      when="asked", values={"pool": "{pool}"}),
            CheckCase(WARNING, "buffer_pool_prefetch",
                      "{unread:.0%} of what was read ahead into {pool} was never used ({wait:.1f} s waited for it)",
                      "A matter of configuration, not of tiers: PREFETCHSIZE, NUM_IOSERVERS, or a larger pool.",
                      when="prefetch_fails", values={"pool": "{pool}"}),
        ),
        every=True,
    ),
)  # fmt: skip


def _pools(session: ReadSession) -> Iterator[Facts]:
    rows = session.optional_rows("buffer_pools", doing="looking at buffer pools") or []
    for pool in pools_of(rows):
        group = "" if np.isnan(pool.group_hits) else f", the group pool {pool.group_hits:.1%} of what was asked of it"
        yield {
            "pool": pool.name,
            "pages": pool.pages,
            "hits": pool.hits,
            "group": group,
            "asked": not np.isnan(pool.hits),
            "prefetch_fails": pool.ahead >= WORTH_A_WORD and pool.unread > MUCH_UNREAD * pool.ahead,
            "unread": pool.unread / max(1, pool.ahead),
            "wait": pool.wait_ms / 1000,
        }


NEWEST_TRIED = (12, 1)
EXTENDED_ON = "UPDATE DB CFG FOR {} USING MON_OBJ_METRICS EXTENDED IMMEDIATE"
LARGE_SKEW = 0.5
PARTITIONS = (
    "Partition large tables by range (ADMIN_MOVE_TABLE can): the reads of each data partition are counted, "
    "and each may lie in a table space of its own."
)
PROTOCOL = "SYSTOOLS.ADMIN_MOVE_TABLE"

# What each query needs beyond SELECT on the catalog views, and what is lost without it.
FUNCTIONS = {
    "sample_spaces": ("MON_GET_TABLESPACE", "sampling is impossible"),
    "sample_tables": ("MON_GET_TABLE", "sampling is impossible"),
    "sample_indexes": ("MON_GET_INDEX", "sampling is impossible"),
    "containers": ("MON_GET_CONTAINER", "where table spaces lie stays hidden, and when a rebalance has ended"),
    "buffer_pools": ("MON_GET_BUFFERPOOL", "how much buffer pools answer stays hidden"),
    "database": ("MON_GET_DATABASE", "a restart of the database shows only by falling counters"),
    "connections": ("MON_GET_CONNECTION", "how many sessions are in use stays hidden, which widens forecasts"),
    "processors": ("ENV_GET_SYSTEM_RESOURCES", "how many processors there are stays hidden, which widens forecasts"),
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


CHECKS = (
    DoctorCheck(
        "server",
        (
            CheckCase(ERROR, "version_unsupported",
                      "Db2 {version} does not count reads of tables and indexes, which came with 10.1: table spaces "
                      "are sampled, no table is ranked",
                      "Upgrade the server; until then move tables that you name (pins).", when="too_old"),
            CheckCase(WARNING, "version_untried", "Db2 {version} is newer than 12.1",
                      "Watch the first samples closely.", when="too_new"),
            CheckCase(OK, "version", "{product}"),
        ),
    ),
    DoctorCheck(
        "server",
        (
            CheckCase(INFO, "mon_obj_metrics_absent", "there is no EXTENDED before 10.1", when="too_old"),
            CheckCase(OK, "mon_obj_metrics", "reads of each object are counted", when="counts_objects"),
            CheckCase(ERROR, "mon_obj_metrics_off",
                      "mon_obj_metrics is {object_metrics}, not EXTENDED on all members: no ranking",
                      EXTENDED_ON.format("{database}")),
        ),
    ),
    DoctorCheck(
        "server",
        (
            CheckCase(OK, "mon_req_metrics", "time in requests is counted", when="counts_requests"),
            CheckCase(WARNING, "mon_req_metrics_off",
                      "mon_req_metrics is {request_metrics}: the share of waiting is unknown",
                      "UPDATE DB CFG FOR {database} USING MON_REQ_METRICS BASE IMMEDIATE"),
        ),
    ),
    DoctorCheck(
        "server",
        (
            CheckCase(WARNING, "standby", "this is an HADR standby: hotplace only watches here",
                      "Connect to the primary to move anything.", when="standby"),
            CheckCase(WARNING, "hadr_paths",
                      "this is an HADR primary: its standby rebalances too, and needs the same paths",
                      "See that the standby has every storage path before a table space moves.", when="hadr_primary"),
            CheckCase(OK, "primary", "this database takes writes"),
        ),
    ),
    DoctorCheck(
        "server",
        (
            CheckCase(INFO, "purescale", "pureScale does not rebalance table spaces between storage groups",
                      "Use move_by: table.", when="purescale"),
            CheckCase(OK, "topology", "{topology}, {members} member(s) are summed"),
        ),
    ),
    # A move drops and recreates views: objects that use them must become valid again without a person's help.
    DoctorCheck(
        "server",
        (
            CheckCase(WARNING, "auto_reval_off",
                      "auto_reval is DISABLED: ADMIN_MOVE_TABLE fails (SQL0478N) where a function uses a view of the "
                      "table",
                      "UPDATE DB CFG FOR {database} USING AUTO_REVAL DEFERRED",
                      when="never_revalidates", about_moving=True),
            CheckCase(OK, "auto_reval", "what a move made invalid is validated at use"),
        ),
    ),
    DoctorCheck(
        "queries",
        (
            CheckCase(OK, "execute", "{function} answers",
                      when="answers", values={"function": "{function}", "query": "{query}"}),
            CheckCase(WARNING, "function_missing", "{function} does not answer ({failed}): {lost}",
                      "This version may lack it, or this login may not execute it (db2-observe.sql); upgrade, or do "
                      "without.",
                      when="fails", values={"function": "{function}", "query": "{query}"}),
            CheckCase(None, "execute_missing", "{user} may not execute {function}: {lost}", "{remedy}",
                      values={"function": "{function}", "query": "{query}"}),
        ),
    ),
    *VIEW_CHECKS,
    *RIGHT_CHECKS,
    DoctorCheck(
        "lease",
        (
            CheckCase(OK, "lease_table", f"{TABLE} is there", when="there"),
            CheckCase(WARNING, "lease_table_missing",
                      f"{TABLE} is not there or not readable: nothing keeps two agents from acting at once, so none "
                      "will",
                      MAKE_IT),
        ),
    ),
    # Without the protocol an open move is taken for none: SWAP fails, triggers stay, and the next INIT is SQL2104N.
    DoctorCheck(
        "open_moves",
        (
            CheckCase(WARNING, "protocol_unreadable",
                      f"{{user}} may not read {PROTOCOL}: whether a move is open is not known, so no table is moved",
                      Remedy(f"GRANT SELECT ON {PROTOCOL} TO USER {{quoted}}", SELECT_GIVES.format(PROTOCOL)),
                      when="unreadable", about_moving=True),
            CheckCase(INFO, "protocol_absent",
                      f"{PROTOCOL} is made by the first move: if {{user}} may not read it then, that move is taken "
                      "back",
                      "Run db2-move.sql: it moves an empty table of its own, and grants SELECT on what that makes.",
                      when="absent"),
            CheckCase(WARNING, "unfinished_move",
                      "a move of {table} stopped in {status}: its triggers go on slowing writers", "{cancel}",
                      values={"table": "{table}", "status": "{status}"}),
        ),
    ),
    # Database partitions that work much harder than the others: an average would hide them.
    DoctorCheck(
        "skew",
        (
            CheckCase(OK, "skew", "members read evenly ({skew:.0%} skew)", unless="uneven"),
            CheckCase(INFO, "skew", "one member reads far more than the others ({skew:.0%} skew)",
                      "Look at the distribution keys; hotplace ranks by the sum over members."),
        ),
    ),
    *POOL_CHECKS,
    # No version has such a view, so that there is no query to try.
    DoctorCheck(
        "server",
        (
            CheckCase(INFO, "block_looks",
                      "large tables are not looked into: Db2 has no view of the pages in its buffer pools", PARTITIONS),
        ),
    ),
    *SPACE_CHECKS,
    STATEMENTS,
)  # fmt: skip


def examine(session: ReadSession, settings: Db2Settings, server: Server, *, shared: bool) -> tuple[Finding, ...]:
    """All findings, what is well included.

    Raises:
        ConnectorError: the server did not answer.
    """
    asked = [name for name in FUNCTIONS if name not in OF_PARTITIONS or server.partitions > 1]
    answers = {name: _answer(session, settings, name) for name in asked}

    @functools.cache
    def storage() -> ServerStorage:
        answered = answers["sample_spaces"]["answers"]
        return read_storage(session, shared=shared) if answered else ServerStorage({}, {})

    return tuple(
        findings_of(
            CHECKS,
            {
                "server": lambda: (_server(server),),
                "queries": answers.values,
                "views": lambda: _unreadable(session, settings),
                "rights": lambda: (_rights(session, settings),),
                "lease": lambda: (_lease(session),),
                "open_moves": lambda: _open_moves(session, settings),
                "skew": lambda: _skew(session, server),
                "pools": lambda: _pools(session),
                "spaces": lambda: _space_facts(storage()),
                "groups": lambda: _group_facts(storage()),
                "statements": lambda: (statement_facts(session, server.version),),
            },
        )
    )


def _server(server: Server) -> Facts:
    version = ".".join(str(part) for part in server.version)
    return {
        "version": version,
        "product": f"Db2 {version} {server.edition}".rstrip(),
        "too_old": server.too_old_for_objects,
        "too_new": server.version[:2] > NEWEST_TRIED,
        "database": server.database,
        "counts_objects": server.counts_objects,
        "object_metrics": _join_values(server.object_metrics),
        "counts_requests": server.request_metrics and "NONE" not in server.request_metrics,
        "request_metrics": _join_values(server.request_metrics),
        "standby": server.hadr_role == STANDBY,
        "hadr_primary": server.hadr_role == "PRIMARY",
        "purescale": server.purescale,
        "topology": server.topology,
        "members": server.members,
        "never_revalidates": server.auto_reval == "DISABLED",
    }


def _answer(session: ReadSession, settings: Db2Settings, name: str) -> Facts:
    """Whether the query of that name is answered."""
    function, lost = FUNCTIONS[name]
    facts = {**_login(settings), "function": function, "lost": lost, "query": name, "answers": False, "fails": False}
    try:
        session.rows(name, _VALUES.get(name, ()), doing=f"trying {function}")
    except PrivilegeMissing as error:
        by_name = f"GRANT EXECUTE ON FUNCTION SYSPROC.{function} TO USER {facts['quoted']}"
        named = error.advice.startswith("GRANT EXECUTE ON SPECIFIC ")
        remedy = error.advice if named else Remedy(by_name, EXECUTE_GIVES.format(function))
        return {**facts, "severity": ERROR if name in ESSENTIAL else WARNING, "remedy": remedy}
    except (ObjectGone, StatementFailed) as error:
        return {**facts, "fails": True, "failed": error}
    return {**facts, "answers": True}


def _lease(session: ReadSession) -> Facts:
    return {"there": session.optional_rows("lease_alive", doing="looking at the lease") is not None}


def _open_moves(session: ReadSession, settings: Db2Settings) -> Iterator[Facts]:
    """Moves of tables that were begun and not ended, or why their protocol is not seen."""
    facts = {**_login(settings), "unreadable": False, "absent": False}
    rows = session.optional_rows("unfinished_moves", doing="looking for unfinished moves")
    if rows is None:
        refused = isinstance(session.missing["unfinished_moves"], PrivilegeMissing)
        yield {**facts, "unreadable": refused, "absent": not refused}
    for schema, name, status in rows or []:
        if not str(status).startswith("COMPLETE"):
            cancel = move_table(str(schema), str(name), None, "", CANCEL)
            yield {**facts, "table": f"{schema}.{name}", "status": status, "cancel": cancel}


def _skew(session: ReadSession, server: Server) -> Iterator[Facts]:
    if server.partitions < 2 or server.purescale:
        return
    at = column_names("sample_tables").index("OBJECT_DATA_P_READS")
    reads: dict[int, float] = {}
    for row in session.optional_rows("sample_tables", doing="comparing members") or []:
        reads[int(row[3])] = reads.get(int(row[3]), 0.0) + float(row[at] or 0)
    unevenness = skew(np.array(list(reads.values())))
    yield {"skew": unevenness, "uneven": not unevenness < LARGE_SKEW}


def _join_values(values: Sequence[str]) -> str:
    return "/".join(sorted(set(values))) or "not to be read"
