"""Why a bundle cannot be moved to a space: the first reason that applies, each with the ORA number it spares."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from connectors.model import Bundle, NoRoute
from connectors.oracle.reading.catalog import CLUSTER
from connectors.oracle.reading.facts import Facts, TableFacts
from connectors.oracle.routes.side_effects import can_be_carried, rebuilt_indexes
from connectors.oracle.session.server import UPDATES_INDEXES, Server

# Recycle bin, materialized view logs, Oracle Text, queues, online rebuilds, redefinition, compression advisor,
# flashback archives, parts of index-organised tables, Oracle Spatial. Also without SECONDARY = 'Y', as after an import.
_OWN_TABLE = re.compile(
    r"BIN\$|MLOG\$_|RUPD\$_|DR[$#]|AQ\$_|SYS_JOURNAL_|REDEF\$_|CMP[34]\$|SYS_FBA_|SYS_IOT_(MAP|OVER)_|MD[RX]T_\w+\$"
)
_INDEXES = frozenset({"NORMAL", "NORMAL/REV", "BITMAP", "FUNCTION-BASED NORMAL", "FUNCTION-BASED BITMAP"})
_Reason = tuple[bool, str, str]


def refusal_of(facts: Facts | None, bundle: Bundle, to_space: str, server: Server) -> NoRoute | None:
    """The first reason against it, None when there is none."""
    if facts is None:
        return NoRoute(code="gone", sentence=f"{bundle.key} no longer exists under that name")
    for applies, code, why in _reasons(facts, to_space, server):
        if applies:
            return NoRoute(code=code, sentence=f"{bundle.key}: {why}")
    return None


def _reasons(facts: Facts, to_space: str, server: Server) -> Iterator[_Reason]:
    yield not server.writable, "standby", f"the database is {server.role}, {server.open_mode}: no DDL here"
    yield server.in_root, "root_container", "moves are made in the PDB that owns the object"
    yield from _of_spaces(facts, to_space)
    yield from _of_names(facts)
    yield (
        facts.lead.type == CLUSTER,
        "cluster",
        "a cluster cannot be moved (ORA-14512)",
    )
    if facts.is_index:
        yield from _of_index(facts)
    yield from _of_companions(facts)
    if facts.table_facts is None:
        yield (
            True,
            "gone",
            "its table no longer exists, or is an object or XML table, which is not moved",
        )
    else:
        yield from _of_table(facts, facts.table_facts)
    yield from _of_quota(facts, to_space)
    yield from _of_index_room(facts, server)


def _of_spaces(facts: Facts, to_space: str) -> Iterator[_Reason]:
    target = facts.spaces.get(to_space)
    if target is None:
        yield True, "no_space", f"there is no tablespace {to_space}"
        return
    yield to_space == facts.lead.space and not _is_scattered(facts, to_space), "already_there", f"it is in {to_space}"
    yield target.contents != "PERMANENT", "not_permanent", f"{to_space} is a tablespace for {target.contents} data"
    yield target.status != "ONLINE", "space_not_online", f"{to_space} is {target.status}"
    source = facts.spaces.get(facts.lead.space or "")
    if source is not None:
        differ = target.block_size != source.block_size
        yield differ, "block_size", f"{to_space} has blocks of {target.block_size} bytes: another buffer cache"
        manual = target.management == "MANUAL" and any(lob.securefile and lob.space != to_space for lob in facts.lobs)
        yield (
            manual,
            "securefile",
            f"SecureFiles need automatic segment space management, {to_space} has none (ORA-43853)",
        )
        weaker = source.encrypted == "YES" and target.encrypted != "YES"
        yield weaker, "encryption", f"{to_space} is not encrypted and the present tablespace is"


def _is_scattered(facts: Facts, to_space: str) -> bool:
    """Some part of the bundle is not in the target yet."""
    overflow = facts.overflow_space not in (None, to_space)
    others = [*(lob.space for lob in facts.lobs), *(piece.space for piece in facts.carried)]
    return overflow or any(space != to_space for space in others)


def _of_names(facts: Facts) -> Iterator[_Reason]:
    yield facts.table_owner in {"SYS", "SYSTEM"}, "system", "it belongs to Oracle itself (ORA-12087)"
    own = _OWN_TABLE.match(facts.table) is not None
    yield own, "own_table", "Oracle made this table for its own use (log, queue, domain index, flashback archive)"


def _of_index(facts: Facts) -> Iterator[_Reason]:
    piece = facts.own_piece()
    yield piece is None, "gone", "the index no longer exists"
    if piece is not None:
        kind = piece.index_type not in _INDEXES
        yield kind, "index_kind", f"a {piece.index_type} index is not moved by REBUILD (ORA-14086, ORA-02243)"
        yield piece.function_status == "DISABLED", "function_disabled", "the function of the index is disabled"


def _of_companions(facts: Facts) -> Iterator[_Reason]:
    """What else is in the bundle, where one statement cannot move it along."""
    apart = any(not can_be_carried(facts, piece) for piece in facts.carried) or (
        facts.is_index and (facts.lobs or facts.carried)
    )
    yield bool(apart), "apart", "one of its indexes is not built elsewhere by the move of the table: move it by itself"
    iot = facts.is_lob and facts.table_facts is not None and facts.table_facts.iot_type is not None
    yield iot, "iot_lob", "a LOB of an index-organised table goes with its table only"


def _of_table(facts: Facts, table: TableFacts) -> Iterator[_Reason]:
    yield (
        table.secondary == "Y",
        "secondary",
        "it is a part of a domain index, which the move would break",
    )
    yield table.cluster is not None, "cluster", "a table in a cluster cannot be moved (ORA-14512)"
    yield table.temporary == "Y", "temporary", "a temporary table has no home"
    yield table.externals > 0, "external", "an external table has no segment"
    yield table.queues > 0, "queue", "DDL breaks a queue table; use the vendor's own procedure"
    yield table.is_log > 0, "mview_log", "move it by ALTER MATERIALIZED VIEW LOG"
    yield facts.ado_policies > 0, "ado", "an ADO policy of the database itself may move it: two movers would fight"
    if facts.is_index:
        return
    yield table.nested == "YES", "nested_table", "the storage of a nested table is not moved by this connector"
    part = table.iot_type in {"IOT_MAPPING", "IOT_OVERFLOW"}
    yield part, "iot_part", "it is a part of an index-organised table and never named alone (ORA-28668, ORA-25191)"
    tracked = table.archives > 0
    yield (
        tracked,
        "flashback_archive",
        "a flashback archive keeps its history, by ROWID (ORA-55610)",
    )
    yield table.longs > 0, "long_column", "a LONG column cannot be moved (ORA-00997): convert it to a LOB"
    yield table.rowid_logs > 0, "rowid_log", "its materialized view log is by ROWID: refresh would fail (ORA-12034)"
    yield table.domain_indexes > 0, "domain_index", "it has a domain index, which a move would break"
    yield table.bitmap_joins > 0, "bitmap_join", "it has a bitmap join index, which a move would break (ORA-14808)"
    hidden = any(not lob.column or '"' in lob.column or lob.column.startswith("SYS_NC") for lob in facts.lobs)
    yield hidden, "lob_hidden", "one of its LOBs belongs to an object or XML column, which MOVE cannot name"


def _of_quota(facts: Facts, to_space: str) -> Iterator[_Reason]:
    need = 0 if facts.lead.space == to_space or facts.is_lob else facts.lead.bytes or 0
    need += sum(lob.bytes for lob in facts.lobs if lob.space != to_space)
    need += sum(piece.bytes or 0 for piece in facts.carried if piece.space != to_space)
    short = facts.quota_left is not None and facts.quota_left < need
    owner = facts.lead.owner
    sentence = f"{owner} has no quota for {need} bytes in {to_space} (ORA-01536): ALTER USER ... QUOTA ... ON ...;"
    yield short, "quota", sentence


def _of_index_room(facts: Facts, server: Server) -> Iterator[_Reason]:
    """Indexes are built again where they are, the old ones there until the end; one by one where that is by REBUILD.

    So are the rows of a table whose LOBs move without it.
    """
    rows = facts.rewritten
    if rows is not None:
        free = facts.room.get(rows.space, rows.bytes)
        why = f"the rows of its table are written again in {rows.space}, which has {free} bytes free for {rows.bytes}"
        yield free < rows.bytes, "row_room", f"{why} (ORA-01652)"
    at_once = facts.lead.part is not None or server.allows(*UPDATES_INDEXES)
    needed: Counter[str] = Counter()
    for piece in rebuilt_indexes(facts):
        space, size = piece.space or "", piece.bytes or 0
        needed[space] = needed[space] + size if at_once else max(needed[space], size)
    for space, size in needed.items():
        free = facts.room.get(space, size)
        why = f"its indexes are built again in {space}, which has {free} bytes free for {size} (ORA-01652)"
        yield free < size, "index_room", why
