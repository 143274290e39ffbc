"""Every way Oracle has to move a bundle, the kindest first, or why there is none.

Why a bundle cannot be moved to a space: the first reason that applies, each with the ORA number it spares.

Every way Oracle has to move a bundle to another tablespace, the kindest first, or why there is none. Pure.

Which form a release and edition has: SQL Language Reference (ALTER TABLE, ALTER INDEX, appendix B on what waits for
whom), VLDB and Partitioning Guide. Online forms wait for every open transaction on the table; blocking ones give up
after DDL_LOCK_TIMEOUT.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from connectors.model.formatting import format_seconds
from connectors.model.moves import Bundle, FollowUp, Locked, NoRoute, Route, Step, Transfer
from connectors.oracle import operations
from connectors.oracle.catalog import CLUSTER
from connectors.oracle.facts import Facts, IndexPiece, TableEntry
from connectors.oracle.manual_scripts import redefinition
from connectors.oracle.operations import REBUILD_INDEX, Places, Statement
from connectors.oracle.sessions import UPDATES_INDEXES, Server
from connectors.oracle.settings import OracleSettings
from connectors.oracle.side_effects import (
    REBUILT,
    broken_indexes,
    can_be_carried,
    log_bytes,
    notes_of_move,
    rebuilt_indexes,
    warnings_of,
)

# Recycle bin, materialized view logs, Oracle Text, queues, online rebuilds, redefinition, compression advisor,
# flashback archives, parts of index-organised tables, Oracle Spatial, vector indexes. Also without SECONDARY = 'Y', as
# after an import.
_OWN_TABLE = re.compile(
    r"BIN\$|MLOG\$_|RUPD\$_|DR[$#]|AQ\$_|SYS_JOURNAL_|REDEF\$_|CMP[34]\$|SYS_FBA_|SYS_IOT_(MAP|OVER)_|MD[RX]T_\w+\$|VECTOR\$"
)
# Lists of what is known to go along, to stay, or to be refused by a reason of its own; whatever a later release adds is
# refused by its name.
_INDEXES_OF_TABLES = REBUILT | {"LOB", "IOT - TOP", "CLUSTER", "DOMAIN", "FUNCTION-BASED DOMAIN"}
_IOT_TYPES = frozenset({None, "IOT", "IOT_OVERFLOW", "IOT_MAPPING"})
_COMPRESSIONS = re.compile(r"BASIC|OLTP|ADVANCED|(QUERY|ARCHIVE) (LOW|HIGH)( ROW LEVEL LOCKING)?")
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
        kind = piece.index_type not in REBUILT
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


def _of_table(facts: Facts, table: TableEntry) -> Iterator[_Reason]:
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
    yield (
        table.iot_type not in _IOT_TYPES,
        "unknown_table",
        f"it is a table of IOT_TYPE {table.iot_type}, which hotplace does not know how to move",
    )
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
    unknown = next((piece for piece in facts.indexes if piece.index_type not in _INDEXES_OF_TABLES), None)
    yield unknown is not None, "unknown_index", _unknown_index(unknown)
    how = facts.compress_for
    yield (
        how is not None and _COMPRESSIONS.fullmatch(how) is None,
        "unknown_compression",
        f"it is compressed for {how}, which hotplace does not know how to move",
    )
    hidden = any(not lob.column or '"' in lob.column or lob.column.startswith("SYS_NC") for lob in facts.lobs)
    yield hidden, "lob_hidden", "one of its LOBs belongs to an object or XML column, which MOVE cannot name"


def _unknown_index(piece: IndexPiece | None) -> str:
    if piece is None:
        return ""
    why = (
        "its queries would be wrong after a move (ORA-51947, ORA-51881)"
        if piece.index_type == "VECTOR"
        else ("hotplace does not know what a move would do to it")
    )
    return f"{piece.owner}.{piece.name} is a {piece.index_type} index: {why}, so the table stays while it is there"


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


ONLINE_PARTITIONS, ONLINE_TABLES = (12, 1), (12, 2)
_NORMAL = REBUILT - {"BITMAP", "FUNCTION-BASED BITMAP"}
EXCLUSIVE, SHARE = "exclusive DDL lock", "share lock"
_JOURNAL_RATIO = 0.05  # of the bundle: journal and mapping tables of online forms
_GATHERED_PER_SECOND = 100e6  # bytes that one session reads and counts, an estimate


def routes_of(
    facts: Facts | None, bundle: Bundle, to_space: str, server: Server, settings: OracleSettings
) -> tuple[Route, ...] | NoRoute:
    """Every way to bring the bundle there, the kindest first, or why there is none."""
    refusal = refusal_of(facts, bundle, to_space, server)
    if refusal is not None:
        return refusal
    assert facts is not None, "a missing object is refused above"
    maker = _Maker(facts, bundle, to_space, server, settings)
    return maker.of_index() if facts.is_index else maker.of_table()


def may_move_online(facts: Facts, server: Server, settings: OracleSettings) -> bool:
    """Whether release, edition and the table itself allow ONLINE, and no licence comes into use by it."""
    table = facts.table_facts
    if not server.online or table is None or table.domain_indexes or table.bitmap_joins or table.object_columns:
        return False
    if facts.is_iot:
        return facts.lead.part is None and not table.lobs
    if table.lobs and not settings.online_lobs:
        return False  # sessions using DBMS_LOB fail meanwhile (ORA-14812)
    needed = ONLINE_TABLES if facts.lead.part is None else ONLINE_PARTITIONS
    return server.allows(*needed) and not _needs_licence(facts, settings)


def _needs_licence(facts: Facts, settings: OracleSettings) -> bool:
    """Moved online, a compressed table or partition is recorded as use of an option of the database."""
    return facts.compress_for is not None and "advanced_compression" not in settings.licensed


def _rebuilds(broken: Sequence[IndexPiece], places: Places) -> list[Statement]:
    """Each index where it is to be: those of the bundle in their place, the others where they are."""
    spaces = {(piece.owner, piece.name): space for piece, space in places.indexes}
    return [operations.rebuild(piece, spaces.get((piece.owner, piece.name)), online=False) for piece in broken]


def _gathering(facts: Facts, bundle: Bundle) -> FollowUp:
    """The manual calls the statistics of a moved table stale; gathering them reads the table once."""
    read = facts.rewritten.bytes if facts.rewritten is not None else bundle.size_bytes
    seconds = read / _GATHERED_PER_SECOND
    return FollowUp(what="optimizer statistics are gathered again by hand, which reads it once", seconds=seconds)


class _Maker:
    """Puts routes of one bundle together."""

    def __init__(self, facts: Facts, bundle: Bundle, to_space: str, server: Server, settings: OracleSettings) -> None:
        self._facts = facts
        self._bundle = bundle
        self._to_space = to_space
        self._server = server
        self._settings = settings

    def of_index(self) -> tuple[Route, ...]:
        """REBUILD, online where that is possible."""
        piece = self._facts.own_piece()
        assert piece is not None, "an index that is not listed is refused"
        online = self._server.online and piece.index_type in _NORMAL and self._facts.may_journal
        forms = [True, False] if online else [False]
        return tuple(self._rebuild(piece, online=form) for form in forms)

    def of_table(self) -> tuple[Route, ...]:
        """MOVE, online where that is possible."""
        forms = [True, False] if self._may_move_online() else [False]
        return tuple(self._move(online=form) for form in forms)

    def _may_move_online(self) -> bool:
        return may_move_online(self._facts, self._server, self._settings)

    def _rebuild(self, piece: IndexPiece, *, online: bool) -> Route:
        degree = self._settings.parallel if self._server.online else 1
        # A rebuild in parallel leaves its degree with the index, and the optimizer would run the site's queries in
        # parallel from then on.
        restore = [operations.set_degree(piece)] if degree > 1 else []
        forward, reverse = (
            operations.rebuild(piece, place, online=online, parallel=degree)
            for place in (self._to_space, self._facts.lead.space)
        )
        return self._route(
            name="rebuild online" if online else "rebuild",
            forward=[forward, *restore],
            reverse=[reverse, *restore],
            # Without ONLINE: an index that an interrupted rebuild has left unusable serves no query, so no session
            # has to be kept working.
            tidy=[operations.rebuild(piece, None, online=False), *restore],
            tidy_bytes=self._bundle.size_bytes,
            online=online,
            locks=self._locks(online=online, blocked="writes wait, queries go on", mode=SHARE),
            notes=(
                "reads the old index or the whole table, and sorts in the temporary tablespace of the mover's user",
            ),
        )

    def _move(self, *, online: bool) -> Route:
        facts = self._facts
        # a partition has had UPDATE INDEXES always, a whole table since 12.2, an index-organised table never; online
        # forms of tables need no clause
        update = not facts.is_iot and (facts.lead.part is not None or self._server.allows(*UPDATES_INDEXES))
        clause = update and not (online and facts.lead.part is None and not facts.carried)
        places = operations.there(facts, self._to_space), operations.back(facts)
        forward, reverse = (operations.move(facts, place, online=online, update_indexes=clause) for place in places)
        broken = broken_indexes(facts)
        repairs = [operations.rebuild(piece, None, online=False) for piece in broken]
        there, back = ([] if update or online else _rebuilds(broken, place) for place in places)
        kept = "indexes are unusable until rebuilt, " if there else ""
        return self._route(
            name="move online" if online else "move",
            forward=[forward, *there],
            reverse=[reverse, *back],
            tidy=repairs,
            tidy_bytes=sum(piece.bytes or 0 for piece in broken),
            online=online,
            locks=self._locks(online=online, blocked=f"{kept}no writes while it is copied, queries go on"),
            notes=self._notes(online=online),
        )

    def _route(
        self,
        *,
        name: str,
        forward: Sequence[Statement],
        reverse: Sequence[Statement],
        tidy: Sequence[Statement],
        tidy_bytes: int,
        online: bool,
        locks: str,
        notes: tuple[str, ...],
    ) -> Route:
        tag = operations.tag_of([*forward, *reverse])
        place, source = self._to_space, self._facts.lead.space or ""
        return Route(
            name=name,
            bundle=self._bundle,
            to_space=place,
            prologue=operations.prologue(self._settings, online=online),
            steps=self._steps(tag, "step", forward, f"bring {self._bundle.key} to {place}"),
            undo_steps=self._steps(tag, "undo", reverse, f"bring {self._bundle.key} back to {source}"),
            tidy_steps=self._steps(tag, "tidy", tidy, "make an unusable index usable"),
            tidy_locks="share on the table of each index while it is rebuilt: its writes wait, queries go on"
            if tidy
            else "",
            tidy_bytes=tidy_bytes,
            online=online,
            locks=locks,
            locked=Locked.BRIEFLY if online else Locked.WRITES,
            lock_seconds=0.0 if online else self._settings.lock_timeout,  # an online one waits and blocks none
            follow_up=() if self._facts.is_index else (_gathering(self._facts, self._bundle),),
            log_bytes=log_bytes(self._facts, self._bundle),
            copies=self._copies(),
            transient_bytes=(round(_JOURNAL_RATIO * self._bundle.size_bytes) if online else 0)
            + sum(lob.bytes for lob in self._facts.hidden_lobs if lob.space != place),
            unites=self._unites(),
            notes=(*notes, *warnings_of(self._facts, self._bundle, place, self._server, self._settings)),
        )

    def _unites(self) -> str:
        """What can be moved by one statement: rows, LOBs and whole indexes of a table, rows and LOBs of a partition."""
        facts, own = self._facts, self._facts.own_piece() if self._facts.is_index else None
        if facts.is_iot or (own is not None and not can_be_carried(facts, own)):
            return ""
        part = f" {facts.lead.part}" if facts.lead.part is not None else ""
        return f"{facts.table_owner}.{facts.table}{part}"

    def _copies(self) -> tuple[Transfer, ...]:
        """The bundle, and what is written again where it is: indexes, the rows of LOBs; () where there is nothing."""
        rebuilt, rows = rebuilt_indexes(self._facts), self._facts.rewritten
        if not rebuilt and rows is None:
            return ()
        bundle = self._bundle
        again = () if rows is None else (Transfer(space=rows.space, bytes=rows.bytes),)
        return (
            Transfer(space=bundle.space, bytes=bundle.size_bytes, unit=bundle.key),
            *again,
            Transfer(space=self._to_space, bytes=bundle.size_bytes, written=True),
            *(replace(each, written=True) for each in again),
            *(Transfer(space=piece.space or "", bytes=piece.bytes or 0, written=True) for piece in rebuilt),
        )

    def _notes(self, *, online: bool) -> tuple[str, ...]:
        notes = notes_of_move(self._facts, self._to_space, online=online)
        facts = self._facts
        if not online and self._server.online and _needs_licence(facts, self._settings):
            why = f"it is compressed ({facts.compress_for}): MOVE ONLINE would count as use of Advanced Compression"
            notes = (*notes, f"{why}, so it moves offline; licensed: [advanced_compression] allows it")
        if online or facts.is_lob or facts.lead.part is not None or facts.is_iot or self._may_move_online():
            return notes
        seconds = max(1, round(self._settings.lock_timeout))
        by_hand = redefinition(self._facts, self._to_space, self._server, lock_seconds=seconds)
        return (*notes, f"online by hand, watched by a person: {by_hand}") if by_hand else notes

    def _steps(self, tag: str, word: str, sent: Sequence[Statement], purpose: str) -> tuple[Step, ...]:
        """Numbered; every one after the first puts right what the first did to an index."""
        seconds = self._settings.move_timeout

        def purpose_of(ordinal: int, statement: Statement) -> str:
            rebuilds = statement.operation.name == REBUILD_INDEX
            what = "rebuild an index" if rebuilds else "restore the degree of the index"
            return purpose if ordinal == 1 else f"{purpose}: {what}"

        return tuple(
            operations.step(tag, word, ordinal, statement, purpose_of(ordinal, statement), seconds)
            for ordinal, statement in enumerate(sent, start=1)
        )

    def _locks(self, *, online: bool, blocked: str, mode: str = EXCLUSIVE) -> str:
        patience = format_seconds(self._settings.online_lock_timeout if online else self._settings.lock_timeout)
        if online:
            return (
                f"{EXCLUSIVE} on the object, briefly at the start and the end; reads and writes go on between; it "
                f"waits for transactions that are open on the object then, at most {patience}"
            )
        return f"{mode} on the table or partition: {blocked}; gives up after {patience} if it is not free"
