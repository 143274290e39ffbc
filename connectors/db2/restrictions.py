"""What ADMIN_MOVE_TABLE does not move or loses, and what a person does instead; pure but for ``lacking_rights``.

Statements for a person (``redirected_restore`` to ``revalidate``) are never sent by hotplace: they take data offline,
or have gaps to fill in.

``refusal`` says why a table would not be moved, ``load_refusal`` why it must not be loaded without a copy, and
``remarks`` what else to know beforehand. The README names the source of each restriction. A restriction that is only
general knowledge refuses all the same: a refused move costs nothing, and the table space can move instead.

``belongings`` lists what belongs to a table and has to be there again when ADMIN_MOVE_TABLE has rebuilt it. The route
keeps the list from the time of planning; ``changes`` compares it with what is found after the move.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from connectors.db2.names import identifier, literal, parse_key, readable
from connectors.db2.operations import CREATE_GROUP, DROP_GROUP, change_of, first_phase
from connectors.db2.sessions import STANDARD, ReadSession, Server
from connectors.db2.tables import LOAD_RUNS, MADE_BY_SERVER, ForeignKey, IndexFacts, TableFacts
from connectors.model.moves import Kept, Route

PACKAGES = (
    "SELECT D.PKGSCHEMA, D.PKGNAME FROM SYSCAT.PACKAGEDEP AS D, SYSCAT.TABLES AS B "
    "WHERE D.BTYPE = 'T' AND D.BSCHEMA = B.TABSCHEMA AND D.BNAME = B.TABNAME AND B.TBSPACE = "
)


def redirected_restore(space: str, target: str) -> str:
    """The statements of a redirected restore of one table space; it cannot be read or written meanwhile."""
    return (
        f"restore it redirected: RESTORE DATABASE ... TABLESPACE ({identifier(space)}) ... REDIRECT; "
        f"SET STOGROUP PATHS FOR {identifier(target)} ON ... (the name as it is in the image), or "
        "SET TABLESPACE CONTAINERS FOR ... USING ...; RESTORE DATABASE ... CONTINUE"
    )


def temporary_space(space: str, target: str) -> str:
    """A temporary table space does not rebalance: another one takes its place."""
    new = identifier(f"{space}_NEW")
    return (
        f"CREATE SYSTEM TEMPORARY TABLESPACE {new} MANAGED BY AUTOMATIC STORAGE USING STOGROUP {identifier(target)} "
        f"(with the page size and buffer pool of {identifier(space)}); DROP TABLESPACE {identifier(space)}"
    )


def without_foreign_keys(keys: Sequence[ForeignKey]) -> str:
    """What a table with foreign keys needs around its move: they go before it, and come back checked."""
    drops, adds = ("; ".join(getattr(key, word) for key in keys) for word in ("drop", "add"))
    return f"{drops}; move it; {adds}. Adding checks every row under a lock; nothing checks them meanwhile"


def rebinds(packages: Sequence[str]) -> str:
    """A command for each package of static SQL, to be given after the move."""
    return "; ".join(f"REBIND PACKAGE {package}" for package in packages)


def revalidate(kind: str, schema: str, name: str) -> str:
    """A call that validates one VIEW or TRIGGER, which its next use would do too unless auto_reval is DISABLED."""
    return f"CALL SYSPROC.ADMIN_REVALIDATE_DB_OBJECTS({literal(kind)}, {literal(schema)}, {literal(name)})"


def packages_to_rebind(space: str) -> str:
    """The list of static packages that keep their old access plans until they are bound again."""
    return PACKAGES + literal(space)


INSTEAD = "move its table space instead"
ROWS_HIDDEN = frozenset({"R", "B"})  # of label protection: by columns alone hides no row
OF_KEYS = frozenset({"referenced", "references"})
PARTITIONED = "partitioned"
DROP_AND_ADD, BY_A_PERSON = "drop_and_add", "by_hand"  # Db2Settings.foreign_keys
SHOWN = 5  # names in one sentence
_NO_TABLES = {
    "S": "a materialized query table; drop and create it in the target",
    "L": "what is left of a detached partition; wait until the detach has ended",
    "N": "a nickname: its rows are elsewhere",
}
_Reason = tuple[bool, str, str]


def refusal(table: TableFacts, *, keys_go: bool = False) -> tuple[str, str] | None:
    """Code and sentence of why ADMIN_MOVE_TABLE would not move it, None when nothing is known against it.

    Args:
        table: that is to move.
        keys_go: its foreign keys are dropped before, and added after it.
    """
    name, allowed = written_name(table), OF_KEYS if keys_go else frozenset()
    reasons = (reason for reason in _reasons(table) if reason[1] not in allowed)
    return next(((code, f"{name} {why}") for applies, code, why in reasons if applies), None)


def may_load(server: Server | None) -> bool:
    """Whether a LOAD that leaves no copy loses nothing: no one rolls this database forward, and it has no standby."""
    return server is not None and load_refusal(server) is None


def load_refusal(server: Server) -> tuple[str, str] | None:
    """Code and reason why this database must not be loaded without a copy, None where it may."""
    name_it = "name a folder for copies of the load (load_copy_to)"
    if server.blocknonlogged == "YES":
        return "blocknonlogged", f"blocknonlogged is YES: a LOAD without a copy fails (SQL2032N); {name_it}"
    if server.hadr_role != STANDARD:
        why = f"this is an HADR {server.hadr_role.lower()}: its standby never gets what a LOAD without a copy brings"
        return "load_not_recoverable", f"{why}; {name_it} that the standby sees too, or {INSTEAD}"
    if server.archives is not False:
        seen = "logs are archived" if server.archives else "whether logs are archived may not be read"
        why = f"{seen}: a roll-forward would lose the table with what a LOAD without a copy brought"
        return "load_not_recoverable", f"{why}; {name_it}"
    return None


def remarks(table: TableFacts) -> Iterator[str]:
    """Notes on what does not prevent the move but needs attention."""
    if table.triggers:
        names = [name for name, _ in table.triggers]
        yield f"{_count_and_names(names, 'trigger')} on it: recreated with the table, and compared afterwards"
    if table.views:
        yield (
            f"{_count_and_names(table.views, 'view')} of it: SWAP makes them invalid until their next use, and fails "
            "(SQL0478N) where a function uses one and auto_reval is DISABLED"
        )
    if table.checks or table.generated:
        yield (
            f"{table.checks} check constraint(s) and {table.generated} generated column(s): where one was made before "
            "9.7, INIT is refused (SQL0668N reason 10) until SET INTEGRITY has looked at it"
        )
    if table.captured:
        yield "DATA CAPTURE is on: see that replication goes on with the new table"
    if table.constraints is None:
        yield "its keys and checks may not be read (SYSCAT.TABCONST, SYSCAT.CHECKS), and are not compared afterwards"
    if not table.unique:
        yield "there is no unique index: replay has to compare whole rows, and may end in deadlocks"


def written_name(table: TableFacts) -> str:
    """The table as a person writes it."""
    return f"{readable(table.schema)}.{readable(table.name)}"


def _reasons(table: TableFacts) -> Iterator[_Reason]:
    yield from _of_kind(table)
    yield from _of_condition(table)
    yield table.status != "N", "not_normal", f"is in status {table.status}; SET INTEGRITY first"
    yield table.access != "F", "no_full_access", f"is not fully accessible (ACCESS_MODE {table.access})"
    yield from _of_relations(table)
    yield from _of_rows_hidden(table)
    yield from _of_indexes(table)
    parted = table.partitions > 1 or not table.space
    yield parted, PARTITIONED, "is partitioned: one partition moves with its table space"


def _of_kind(table: TableFacts) -> Iterator[_Reason]:
    yield table.kind == "U", "typed_table", "is a typed table, which ADMIN_MOVE_TABLE does not move"
    what = _NO_TABLES.get(table.kind, f"no table of its own (TYPE {table.kind})")
    yield table.kind != "T", "not_a_table", f"is {what}"
    yield (
        table.staging,
        "staging_table",
        "is the staging table of a materialized query table; drop it and create it again",
    )
    yield table.temporal, "temporal_table", "is a temporal table: its history would be parted from it"
    history = f"holds the history of {table.history_of}, from which it would be parted"
    yield bool(table.history_of), "history_table", history
    clustered = any(index.kind == "RCT" for index in table.indexes)
    yield clustered, "range_clustered", f"is clustered by range, which ADMIN_MOVE_TABLE does not move; {INSTEAD}"


def _of_condition(table: TableFacts) -> Iterator[_Reason]:
    """Every copy would meet SQL0668N, or wait."""
    yield table.load_status == LOAD_RUNS, "load_running", "is being loaded; wait until that LOAD has ended"
    failed = f"has an unfinished LOAD ({table.load_status}); LOAD ... RESTART, or LOAD ... TERMINATE, first"
    yield bool(table.load_status), "load_pending", failed
    lost = "is not available (as after a rollforward through a LOAD that was not recoverable); restore or drop it"
    yield not table.available, "unavailable", lost
    changed = f"waits for a reorganization since it was altered; REORG TABLE {written_name(table)} first"
    yield table.reorg_pending, "reorg_pending", changed


def _of_relations(table: TableFacts) -> Iterator[_Reason]:
    by_hand = f" (or `foreign_keys: {DROP_AND_ADD}`, or `{BY_A_PERSON}` for a file that a person runs)"
    by_hand += f". By hand: {without_foreign_keys(table.foreign_keys)}" if table.foreign_keys else ""
    keys = f"is referred to by {table.referred_by} foreign key(s); {INSTEAD}{by_hand}"
    yield table.referred_by > 0, "referenced", keys
    keys = f"has {table.refers_to} foreign key(s), which a move may lose; {INSTEAD}{by_hand}"
    yield table.refers_to > 0, "references", keys
    lost = next(((key, key.unwritten) for key in table.foreign_keys if key.unwritten), None)
    if lost is not None:
        because = f"has foreign key {lost[0]} with {lost[1]}, which would not come back with it; {INSTEAD}"
        yield True, "key_attributes", because
    made = _count_and_names(table.materialized, "materialized query table")
    yield bool(table.materialized), "materialized", f"has {made} made of it; {INSTEAD}"
    writers = _count_and_names(table.monitors, "event monitor")
    yield bool(table.monitors), "event_monitor", f"is written to by {writers}; drop or redirect first, or {INSTEAD}"
    schemas = _count_and_names(table.xml_schemas, "XML schema")
    yield bool(table.xml_schemas), "xml_schema", f"has {schemas} that depend on it; {INSTEAD}"


def _of_rows_hidden(table: TableFacts) -> Iterator[_Reason]:
    """The copying user must see every row unmasked, or rows are lost."""
    yield (
        bool(table.access_control),
        "access_control",
        f"has row or column access control, under which rows might be lost (SQL2103N reason 6); {INSTEAD}",
    )
    yield (
        table.label_protection in ROWS_HIDDEN,
        "label_protected",
        f"has rows protected by security labels, which might be lost (SQL2103N reason 6); {INSTEAD}",
    )


def _of_indexes(table: TableFacts) -> Iterator[_Reason]:
    needed = "has LOBs and no unique index, without which ADMIN_MOVE_TABLE cannot replay changes"
    yield table.lobs and not table.unique, "lobs_need_unique_index", needed
    named = {index.name: index for index in table.indexes}
    computed = [name for name, index in named.items() if index.on_expression]
    yield (
        bool(computed),
        "expression_index",
        f"has {_count_and_names(computed, 'index', 'es')} on an expression; {INSTEAD}",
    )
    texts = [name for name, index in named.items() if index.kind == "TEXT"]
    yield bool(texts), "text_index", f"has {_count_and_names(texts, 'text index', 'es')}; {INSTEAD}"


def _count_and_names(names: Sequence[str], what: str, more: str = "s") -> str:
    """How many, and the first of their names."""
    listed = ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
    return f"{len(names)} {what}{more if len(names) != 1 else ''} ({listed})"


INDEX, STATISTICS, KEY, TRIGGER = "index ", "statistics of ", "foreign key ", "trigger "
DEFINITION, CONSTRAINT, ATTRIBUTES = "definition of trigger ", "constraint ", "attributes of index "
COLLECTED, GRANTED, THERE = "collected", "granted", "there"
_RULES = {"P": "primary key", "U": "unique", "D": "duplicates allowed"}
INVALID = "invalid"
_VALID = {"Y": "valid", "N": INVALID, "X": "inoperative"}


def belongings(table: TableFacts) -> tuple[Kept, ...]:
    """Indexes, triggers, views, statistics, check constraints, owner and grants, each with what must not change."""
    return tuple(Kept(what=what, how=how) for what, how in _all_of(table))


def changes(before: Sequence[Kept], table: TableFacts) -> tuple[str, ...]:
    """What is not as it was, one clause each; new objects are no loss and are not named.

    Args:
        before: as ``belongings`` had it.
        table: as it is now.
    """
    now = dict(_all_of(table))
    known = {kept.what for kept in before}
    new = Counter(how for what, how in now.items() if what.startswith(INDEX) and what not in known)
    found = []
    for kept in before:
        if table.constraints is None and kept.what.startswith(CONSTRAINT):
            continue  # ``remarks`` has said so
        if kept.what.startswith(STATISTICS + INDEX) and kept.what.removeprefix(STATISTICS) not in now:
            continue  # statistics of an index whose own loss is reported already
        if kept.what.startswith(ATTRIBUTES) and f"{INDEX}{kept.what.removeprefix(ATTRIBUTES)}" not in now:
            continue  # likewise
        if kept.what.startswith(DEFINITION) and f"{TRIGGER}{kept.what.removeprefix(DEFINITION)}" not in now:
            continue  # likewise
        # An index of the same properties under a new name is that index, not a loss: someone would look for it in
        # vain.
        if kept.what not in now and kept.what.startswith(INDEX) and new[kept.how]:
            new[kept.how] -= 1
            found.append(f"{kept.what} has another name now")
        elif kept.what not in now:
            found.append(_loss_sentence(kept, written_name(table)))
        elif now[kept.what] != kept.how:
            found.append(_another(kept, now[kept.what]))
    return tuple(found)


def _loss_sentence(kept: Kept, table: str) -> str:
    if kept.what.startswith(STATISTICS):
        return f"{kept.what} are gone: RUNSTATS ON TABLE {table} AND INDEXES ALL"
    return f"{kept.what} ({kept.how}) is gone"


def _another(kept: Kept, now: str) -> str:
    clause = f"{kept.what} was {kept.how} and is {now}"
    if now != INVALID:
        return clause
    kind, _, name = kept.what.partition(" ")
    key = parse_key(name)
    return f"{clause} until it is used, or at once {revalidate(kind.upper(), key.schema, key.name)}"


def _all_of(table: TableFacts) -> Iterator[tuple[str, str]]:
    name = written_name(table)
    for index in table.indexes:
        if index.made_by_server:  # its name is another one after every copy
            yield f"{MADE_BY_SERVER[index.kind]} on {' '.join(index.columns)}", THERE
            continue
        yield f"{INDEX}{index.name}", _properties(index)
        if index.others:
            yield f"{ATTRIBUTES}{index.name}", ", ".join(index.others)
        if index.analysed:
            yield f"{STATISTICS}{INDEX}{index.name}", COLLECTED
    for trigger, valid in table.triggers:
        yield f"{TRIGGER}{trigger}", _VALID.get(valid, valid)
    for trigger, definition in table.trigger_definitions:
        yield f"{DEFINITION}{trigger}", definition
    for constraint in table.constraints or ():
        yield (
            (f"{CONSTRAINT}{readable(constraint.name)} of {name}", constraint.definition)
            if constraint.named
            else (f"{CONSTRAINT}of {name}: {constraint.definition}", THERE)
        )
    for view in table.views:
        yield f"view {view}", _VALID["N"] if view in table.invalid_views else _VALID["Y"]
    if table.analysed:
        yield f"{STATISTICS}{name}", COLLECTED
    for key in table.foreign_keys:
        yield f"{KEY}{key}", key.definition
    if table.checks:
        yield f"number of check constraints of {name}", str(table.checks)
    for grant in table.grants:
        yield grant, GRANTED
    if table.owner:
        yield f"owner of {name}", table.owner


def _properties(index: IndexFacts) -> str:
    """What of an index no move may change; its table space may."""
    words = [_RULES.get(index.rule, index.rule), f"on {' '.join(index.columns)}", index.kind]
    return ", ".join([*words, *(["compressed"] if index.compressed else [])])


MOVES_TABLES = frozenset({"SQLADM", "DBADM"})  # ADMIN_MOVE_TABLE wants one of them
ALTERS_SPACES = frozenset({"SYSCTRL", "SYSADM"})  # ALTER TABLESPACE likewise, and storage groups
GROUP_CHANGES = frozenset({CREATE_GROUP, DROP_GROUP})
USES_ALL = frozenset({"DBADM", "SYSCTRL", "SYSADM"})  # need no USE of a table space


def lacking_rights(session: ReadSession, route: Route) -> str:
    """Authorities that this login lacks for the steps of a route, a clause; "" where it lacks none, or may have them.

    Authorities through groups and roles count. Whether it is in a group that may use a table space is not seen: then it
    may.

    Raises:
        ConnectorError: the server did not answer.
    """
    rows = session.optional_rows("held_authorities", doing="looking at authorities")
    if rows is None:
        return ""  # it may have every one
    held, first = {str(row[0]) for row in rows}, first_phase(route.steps)
    missing = []
    groups = {step.operation.name for step in route.steps if step.operation is not None} & GROUP_CHANGES
    if (groups or any(change_of(step) is not None for step in route.steps)) and not held & ALTERS_SPACES:
        missing.append("SYSCTRL, a group of the instance")
    if first is not None:
        missing += ["SQLADM"] * (not held & MOVES_TABLES) + ["CREATETAB"] * (not held & {"CREATETAB", "DBADM"})
        homes = sorted({first.homes.data, first.homes.index, first.homes.lob} - {""})
        missing += [f"USE of table space {readable(space)}" for space in homes if _may_not_use(session, held, space)]
    return f"the account that moves lacks {' and '.join(missing)}" if missing else ""


def _may_not_use(session: ReadSession, held: Collection[str], space: str) -> bool:
    if USES_ALL & set(held):
        return False
    return session.optional_rows("space_users", (space,), doing="looking at table spaces") == []
