"""One bundle as the catalog shows it now, and what is read only where a licence is named.

One bundle as the catalog shows it now: what routes are made from.

What is looked at only where the configuration names the licence for it: ADO policies and AWR's history of a segment.

Neither V$OPTION nor CONTROL_MANAGEMENT_PACK_ACCESS proves that a site has bought anything, so nothing is concluded from
them. ASH and Heat Map are never read, and nothing of all this is ever switched on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from connectors.kit.contract import NotRecorded
from connectors.model.moves import Bundle
from connectors.oracle.catalog import CLUSTER, IOT_TOP, Entry, find_entries, part_word
from connectors.oracle.names import key_of, plain
from connectors.oracle.sessions import CONTAINERS_SINCE, ReadSession, Row, Server, query
from connectors.oracle.settings import OracleSettings

UNUSABLE = "UNUSABLE"


@dataclass(frozen=True, slots=True)
class TableEntry:
    """The row of ``sql/table.sql``, in its order."""

    partitioned: str
    cluster: str | None
    temporary: str
    nested: str
    secondary: str
    compress_for: str | None
    logging: str | None
    iot_type: str | None  # IOT, IOT_OVERFLOW, IOT_MAPPING; None for a heap table
    longs: int
    object_columns: int
    lobs: int
    domain_indexes: int
    bitmap_joins: int
    rowid_logs: int
    is_log: int
    queues: int
    externals: int
    archives: int  # of flashback that keep its history


@dataclass(frozen=True, slots=True)
class IndexPiece:
    """A row of ``sql/indexes.sql``, in its order: an index, or a partition of one."""

    owner: str
    name: str
    piece: str  # INDEX, PARTITION, SUBPARTITION
    part: str | None
    status: str
    index_type: str
    degree: str | None
    partitioned: str
    function_status: str | None
    bytes: int | None = None  # None: it has no segment of its own
    space: str | None = None
    logging: str | None = "YES"
    locality: str | None = None  # LOCAL or GLOBAL, of a partitioned index
    position: int | None = None  # of the partition, from 1
    subposition: int | None = None  # of the subpartition
    instances: str | None = None  # over which a parallel query spreads, besides the degree

    @property
    def unusable(self) -> bool:
        """Queries that need it fail, and so do writes if it is unique."""
        return self.status == UNUSABLE


@dataclass(frozen=True, slots=True)
class SpaceFacts:
    """A row of ``sql/two_spaces.sql``, in its order."""

    name: str
    block_size: int
    contents: str
    status: str
    encrypted: str
    force_logging: str
    management: str = "AUTO"  # of segment space; MANUAL takes no SecureFiles


@dataclass(frozen=True, slots=True)
class LobFacts:
    """One LOB column that moves along, and where it is now."""

    column: str
    space: str
    bytes: int = 0
    securefile: bool = False


@dataclass(frozen=True, slots=True)
class SegmentFacts:
    """A row of ``sql/table_segment.sql`` or ``sql/hidden_lobs.sql``: a tablespace, and bytes in it."""

    space: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Whose:
    """The table that a leading unit belongs to, and what of it that unit is."""

    owner: str
    table: str
    index_type: str = ""  # "" for what is no index
    column: str = ""  # of a LOB
    part: str | None = None  # of the table; of an index its own


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Everything that decides how, and whether, a bundle moves."""

    lead: Entry
    index_type: str  # "" for what is no index
    table_owner: str
    table: str
    table_facts: TableEntry | None
    compress_for: str | None  # of the partition, or of the table
    lobs: tuple[LobFacts, ...]
    overflow_space: str | None
    indexes: tuple[IndexPiece, ...]
    spaces: dict[str, SpaceFacts]
    quota_left: int | None  # None: without limit
    logging: str | None = "YES"  # of the partition, or of the table
    position: tuple[int | None, int | None] = (None, None)  # of the partition and subpartition, from 1
    room: Mapping[str, int] = field(default_factory=dict)  # free bytes by tablespace, where it was asked for
    may_journal: bool = True  # this login may rebuild another schema's index online (11.2 makes a table there)
    ado_policies: int = 0  # that may move it by themselves; not looked for unless that is licensed
    history: str = ""  # of AWR in words; not looked for unless that is licensed
    carried: tuple[IndexPiece, ...] = ()  # indexes of the bundle, which the move of their table builds in the target
    rewritten: SegmentFacts | None = None  # the rows, where only LOBs move
    sorts_rows: bool = False  # by attribute clustering
    hidden_lobs: tuple[SegmentFacts, ...] = ()  # of object and XML columns that are not in the bundle, by tablespace

    @property
    def is_index(self) -> bool:
        """Moved by REBUILD; an index-organised table is none although its segment is."""
        return self.lead.type.startswith("INDEX") and self.index_type != IOT_TOP

    @property
    def is_lob(self) -> bool:
        """LOBs without the rows of their table; ``lead.part`` is the table's partition."""
        return self.lead.type.startswith("LOB")

    @property
    def is_iot(self) -> bool:
        """Index-organised."""
        return self.index_type == IOT_TOP

    def own_piece(self) -> IndexPiece | None:
        """The piece that the bundle is, of an index."""
        for piece in self.indexes:
            if (piece.owner, piece.name, piece.part) == (self.lead.owner, self.lead.name, self.lead.part):
                return piece
        return None


def grants_alter(session: ReadSession, owner: str, name: str) -> bool:
    """Whether the login was given ALTER on that table.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    rows = session.rows(query("alter_grant"), {"owner": owner, "name": name}, doing="looking up grants")
    return int(rows[0][0]) > 0


def find_facts(session: ReadSession, bundle: Bundle, to_space: str) -> Facts | None:
    """The bundle's facts, None when its leading unit is gone or bears another name now.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    entries = find_entries(session, bundle.physical_ids)
    lead = entries.get(bundle.physical_ids[0])
    if lead is None or lead.space is None:
        return None
    whose = table_of(session, lead)
    if key_now(lead, whose) != bundle.key:
        return None
    names = {"owner": whose.owner, "name": whose.table}
    others = [entry for entry in entries.values() if entry is not lead]
    indexes = find_indexes(session, whose.owner, whose.table)
    lobs = [entry for entry in entries.values() if entry.type.startswith("LOB")]
    lead = replace(lead, part=whose.part)
    rows = session.rows(query("table"), names, doing="looking up a table")
    facts = TableEntry(*rows[0]) if rows else None
    compress_for, logging, *position = _attributes(session, names, lead, facts)
    spaces = session.rows(query("two_spaces"), {"source": lead.space, "target": to_space}, doing="comparing spaces")
    return Facts(
        lead=lead,
        index_type=whose.index_type,
        table_owner=whose.owner,
        table=whose.table,
        table_facts=facts,
        compress_for=compress_for,
        logging=logging,
        position=(position[0], position[1]),
        lobs=tuple(_lob(session, entry) for entry in lobs),
        overflow_space=next((entry.space for entry in others if entry.type.startswith("TABLE")), None),
        indexes=indexes,
        spaces={row[0]: SpaceFacts(*row) for row in spaces},
        quota_left=quota_left(session, lead.owner, to_space),
        carried=tuple(_piece_of(entry, indexes) for entry in others if entry.type.startswith("INDEX")),
        rewritten=_rows_of(session, whose) if lead.type.startswith("LOB") else None,
    )


def table_of(session: ReadSession, lead: Entry) -> Whose:
    """The table of a leading unit; its own names where it is a table, or belongs to none that is still there."""
    names: dict[str, str | None] = {"owner": lead.owner, "name": lead.name}
    if lead.type.startswith("LOB"):
        rows = session.rows(query("lob"), names, doing="looking up a LOB")
        part = None
        if lead.part is not None:
            parts = session.rows(query("lob_part"), {**names, "part": lead.part}, doing="looking up a part of a LOB")
            part = parts[0][0] if parts else lead.part
        return Whose(rows[0][0], rows[0][1], column=rows[0][2], part=part) if rows else Whose(lead.owner, lead.name)
    if not lead.type.startswith("INDEX"):
        return Whose(lead.owner, lead.name, part=lead.part)
    rows = session.rows(query("index_table"), names, doing="looking up an index")
    owner, table, index_type = rows[0] if rows else (lead.owner, lead.name, "NORMAL")
    return Whose(owner, table, index_type, part=lead.part)


def find_indexes(session: ReadSession, owner: str, table: str) -> tuple[IndexPiece, ...]:
    """Every index of the table, and their partitions, in a fixed order."""
    values = {"owner": owner, "name": table}
    rows = session.rows(query("indexes"), values, doing="looking up indexes")
    return tuple(sorted((IndexPiece(*row) for row in rows), key=lambda p: (p.owner, p.name, p.piece, p.part or "")))


def key_now(lead: Entry, whose: Whose) -> str:
    """The key that this object has by the names it bears now: it may have been renamed since a plan was made."""
    word = part_word(lead)
    if lead.type == CLUSTER:
        return key_of(whose.owner, whose.table, word=CLUSTER)
    if lead.type.startswith("INDEX") and whose.index_type != IOT_TOP:
        return key_of(lead.owner, lead.name, word="INDEX", part_word=word, part=lead.part)
    kind = f"LOB ({plain(whose.column)})" if whose.column else ""
    return key_of(whose.owner, whose.table, word=kind, part_word=word, part=whose.part)


def _piece_of(entry: Entry, indexes: Sequence[IndexPiece]) -> IndexPiece:
    """The piece that is this entry; one that is listed no more gets a kind that no move builds."""
    found = (
        piece for piece in indexes if (piece.owner, piece.name, piece.part) == (entry.owner, entry.name, entry.part)
    )
    return next(found, IndexPiece(entry.owner, entry.name, "INDEX", entry.part, "N/A", "", None, "NO", None))


def _rows_of(session: ReadSession, whose: Whose) -> SegmentFacts | None:
    values = {"owner": whose.owner, "name": whose.table, "part": whose.part}
    rows = session.rows(query("table_segment"), values, doing="looking up the rows of a LOB's table")
    return SegmentFacts(rows[0][0], int(rows[0][1])) if rows else None


def _attributes(session: ReadSession, names: dict[str, str], lead: Entry, facts: TableEntry | None) -> Row:
    """How it is compressed, whether changes of it are logged, and the positions of a partition."""
    if lead.part is None:
        return (facts.compress_for, facts.logging, None, None) if facts else (None,) * 4
    rows = session.rows(query("table_parts"), {**names, "part": lead.part}, doing="looking up a partition")
    return rows[0] if rows else (None,) * 4


def _lob(session: ReadSession, entry: Entry) -> LobFacts:
    rows = session.rows(query("lob"), {"owner": entry.owner, "name": entry.name}, doing="looking up a LOB")
    column, secure = (rows[0][2], rows[0][3] == "YES") if rows else ("", False)
    return LobFacts(column=column, space=entry.space or "", bytes=entry.bytes or 0, securefile=secure)


def quota_left(session: ReadSession, owner: str, space: str) -> int | None:
    """Bytes of the owner of the segment, None without limit (ORA-01536, ORA-01950); the agent's own does not matter.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    rows = session.rows(query("quota"), {"owner": owner, "target": space}, doing="looking up the owner's quota")
    if any(int(limit) < 0 for _, _, limit in rows):
        return None
    return sum(max(0, int(limit) - int(used)) for _, used, limit in rows)


def with_table_facts(facts: Facts, session: ReadSession, server: Server) -> Facts:
    """The facts and what a move of the table does besides: rows it sorts, LOBs that may go along.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    table = facts.table_facts
    if table is None or facts.is_index:
        return facts
    if server.since(*CONTAINERS_SINCE):
        names = {"owner": facts.table_owner, "name": facts.table}
        with suppress(NotRecorded):  # by an earlier version
            found = session.rows(query("clustering"), names, doing="looking for attribute clustering")
            facts = replace(facts, sorts_rows=bool(found) and found[0][0] == "YES")
    if facts.is_lob or facts.lead.part is not None or table.lobs <= len(facts.lobs):
        return facts
    with suppress(NotRecorded):
        facts = replace(facts, hidden_lobs=find_hidden_lobs(session, facts.table_owner, facts.table))
    return facts


def find_hidden_lobs(session: ReadSession, owner: str, table: str) -> tuple[SegmentFacts, ...]:
    """LOBs of object and XML columns of a table, by tablespace.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    rows = session.rows(query("hidden_lobs"), {"owner": owner, "name": table}, doing="looking for LOBs of XML columns")
    return tuple(SegmentFacts(row[0], int(row[1])) for row in rows)


AWR_DAYS = 7  # of history: a week has every batch run, and is kept by default (DBA_HIST_WR_CONTROL: 8 days)


def with_licensed_facts(facts: Facts, session: ReadSession, server: Server, settings: OracleSettings) -> Facts:
    """The facts and what the licences of the site add to them.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    if "advanced_compression" in settings.licensed and server.since(*CONTAINERS_SINCE):
        names = {"owner": facts.table_owner, "name": facts.table}
        found = session.rows(query("ado"), names, doing="looking for ADO policies")
        facts = replace(facts, ado_policies=int(found[0][0]))
    if "diagnostics_pack" in settings.licensed:
        facts = replace(facts, history=_history(facts, session, server))
    return facts


def _history(facts: Facts, session: ReadSession, server: Server) -> str:
    name = "awr_container" if server.in_cdb else "awr"
    values = {"obj": facts.lead.object_id, "days": AWR_DAYS}
    snapshots, seen, blocks, calls = session.rows(query(name), values, doing="reading AWR segment history")[0]
    if not snapshots:
        return f"AWR has no snapshot of the last {AWR_DAYS} days"
    if not seen:
        return f"AWR: in none of {snapshots} snapshots of the last {AWR_DAYS} days among the segments that stood out"
    return (
        f"AWR: in {seen} of {snapshots} snapshots of the last {AWR_DAYS} days among the segments that stood out, with "
        f"{int(blocks or 0)} blocks in {int(calls or 0)} calls"
    )
