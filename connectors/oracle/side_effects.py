"""Side effects of a route, and whether indexes are as they were when it was planned.

Side effects of a route that a person should know before approving it: room, redo, standbys, other sessions. Pure.

Whether the indexes of a table are as they were when its move was planned: asked before the move is sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from connectors.kit.contract import StatementFailed
from connectors.model.moves import Bundle, Route, Step
from connectors.oracle.facts import Facts, IndexPiece
from connectors.oracle.names import quote
from connectors.oracle.operations import MOVE_TABLE, operation_of, rebuilding
from connectors.oracle.sessions import Server
from connectors.oracle.settings import OracleSettings

# Kinds of index that REBUILD takes: Reference, DBA_INDEXES.INDEX_TYPE.
REBUILT = frozenset(
    {
        *("NORMAL", "NORMAL/REV", "BITMAP"),
        *("FUNCTION-BASED NORMAL", "FUNCTION-BASED NORMAL/REV", "FUNCTION-BASED BITMAP"),
    }
)
_REDO_RATIO = 1.05  # of the bytes written: block headers and the dictionary come on top


def is_rebuildable(piece: IndexPiece) -> bool:
    """A piece with a segment of its own, of a kind that REBUILD takes."""
    return piece.status != "N/A" and piece.index_type in REBUILT


def broken_indexes(facts: Facts) -> list[IndexPiece]:
    """Usable index pieces that a move of the table, or of its partition, breaks where it does not build them again.

    Never what is UNUSABLE already: a loading job or INDEXING OFF left it so, and no move may build it. Of local indexes
    the same partition, of global ones all (VLDB and Partitioning Guide, "About Moving Partitions and Subpartitions").
    """
    if facts.is_index or facts.is_iot:
        return []
    return [piece for piece in facts.indexes if is_rebuildable(piece) and not piece.unusable and _is_hit(piece, facts)]


def _is_hit(piece: IndexPiece, facts: Facts) -> bool:
    if facts.lead.part is None or piece.part is None or piece.locality == "GLOBAL":
        return True
    if facts.position[0] is None:
        return piece.part == facts.lead.part
    # By position and not by name: a local index partition may be called otherwise than that of its table.
    return (piece.position, piece.subposition) == facts.position


def rebuilt_indexes(facts: Facts) -> list[IndexPiece]:
    """Index segments that a move of the table, or of its partition, has to build again where they are."""
    return [piece for piece in broken_indexes(facts) if piece.bytes is not None and piece not in facts.carried]


def can_be_carried(facts: Facts, piece: IndexPiece) -> bool:
    """Whether the move of its table can build this index in another tablespace at the same time.

    UPDATE INDEXES places whole indexes (SQL Language Reference, ``move_table_clause``); of partitions its grammar and
    "Moving a Table to a New Segment or Tablespace" disagree, so pieces of local indexes go by their own rebuild.
    """
    table = facts.table_facts
    whole = table is not None and table.partitioned != "YES" and table.iot_type is None and piece.part is None
    return whole and is_rebuildable(piece) and not piece.unusable and piece.owner == facts.table_owner


def log_bytes(facts: Facts, bundle: Bundle) -> int:
    """Redo about equal to what is written, rebuilt indexes included, whatever LOGGING says."""
    rows = facts.rewritten.bytes if facts.rewritten is not None else 0
    written = bundle.size_bytes + rows + sum(piece.bytes or 0 for piece in rebuilt_indexes(facts))
    return round(_REDO_RATIO * written)


def notes_of_move(facts: Facts, to_space: str, *, online: bool) -> tuple[str, ...]:
    """Side effects of moving a table."""
    notes = []
    rebuilt = rebuilt_indexes(facts)
    if rebuilt:
        size, spaces = sum(piece.bytes or 0 for piece in rebuilt), sorted({piece.space or "" for piece in rebuilt})
        notes.append(
            f"{len(rebuilt)} index segment(s) are rebuilt where they are: {size} bytes more, in {', '.join(spaces)}"
        )
    idle = sum(piece.unusable for piece in facts.indexes)
    if idle and not facts.is_iot:
        notes.append(f"{idle} index piece(s) are UNUSABLE now and stay so: nothing builds them")
    if facts.sorts_rows:
        notes.append(
            "its rows are sorted by attribute clustering while they are copied, as at every MOVE: it takes longer, and "
            "room in the temporary tablespace; queries may return rows in another order"
        )
    notes += [*_of_lobs(facts, online=online), *_of_carried(facts)]
    if facts.lead.part is not None and not facts.is_lob:
        by_hand = f"ALTER TABLE {quote(facts.table_owner, facts.table)} MODIFY DEFAULT ATTRIBUTES"
        notes.append(
            "partitions made later follow the defaults of the table, not this one; by hand, for all later ones: "
            f"{by_hand} TABLESPACE {quote(to_space)}"
        )
    notes.append("flashback queries cannot look past it; optimizer statistics should be gathered again")
    return tuple(notes)


def _of_lobs(facts: Facts, *, online: bool) -> Iterator[str]:
    """What becomes of LOBs next to their rows."""
    staying = facts.table_facts is not None and facts.table_facts.lobs > len(facts.lobs)
    if facts.is_lob:
        rows = facts.rewritten
        where = f" in {rows.space}: {rows.bytes} bytes more" if rows is not None else ""
        yield f"the rows of its table stay where they are, and are written again{where}"
    elif facts.lobs:
        yield f"its {len(facts.lobs)} LOB segment(s) move along, each to the same tablespace"
    if facts.hidden_lobs:
        size = sum(lob.bytes for lob in facts.hidden_lobs)
        yield (
            f"LOBs of its object or XML columns ({size} bytes) stay by the manual, and went along in a report of "
            "11.2.0.1: room is kept for them in the target, and after the move hotplace says where they are"
        )
    elif staying and not facts.is_lob:
        yield "LOB segments that are not planned with it stay where they are"
    if online and (facts.lobs or staying):
        yield "sessions that use DBMS_LOB on these LOBs may fail meanwhile (ORA-14812)"


def _of_carried(facts: Facts) -> Iterator[str]:
    if facts.carried:
        names = ", ".join(piece.name for piece in facts.carried)
        yield f"{names}: built once, in the new tablespace"


def warnings_of(
    facts: Facts, bundle: Bundle, to_space: str, server: Server, settings: OracleSettings
) -> tuple[str, ...]:
    """Side effects of any route on the rest of the database."""
    return (
        "running long queries may end with ORA-01555 or ORA-08103",
        *_of_pool(facts),
        *_of_redo(facts, bundle, to_space, server),
        *_of_degree(facts, settings),
        *_of_compatible(server),
        *_of_licensed(facts, server, settings),
    )


def _of_pool(facts: Facts) -> Iterator[str]:
    pool = facts.lead.buffer_pool
    if pool in {"KEEP", "RECYCLE"}:
        yield f"it is in the {pool} pool: its caching was set by hand"


def _of_redo(facts: Facts, bundle: Bundle, to_space: str, server: Server) -> Iterator[str]:
    """What becomes of it where redo goes; force logging of database or target overrides NOLOGGING."""
    target = facts.spaces.get(to_space)
    forced = server.force_logging or (target is not None and target.force_logging == "YES")
    redo = log_bytes(facts, bundle)
    yield f"about {redo} bytes of redo, and little undo: the copy is written past the buffer cache"
    if _is_unlogged(facts) and not forced:
        yield (
            "it is NOLOGGING: the copy writes no redo, so back it up afterwards; a standby or a restored backup "
            "loses its blocks (ORA-26040)"
        )
    if server.standbys:
        yield f"{server.standbys} standby destination(s) receive all of it"
    if forced:
        yield "logging is forced: a standby receives all of it"
    if server.recovery_bytes is not None and redo > server.recovery_bytes:
        yield (
            f"the recovery area has room for {server.recovery_bytes} bytes: if redo is archived there, it fills up and "
            "the database stops"
        )


def _is_unlogged(facts: Facts) -> bool:
    """Whether anything that the move writes has LOGGING set to NO."""
    own = facts.own_piece() if facts.is_index else None
    built = [*rebuilt_indexes(facts), *facts.carried]
    logging = {piece.logging for piece in built} | {own.logging if own is not None else facts.logging}
    return "NO" in logging


def _of_degree(facts: Facts, settings: OracleSettings) -> Iterator[str]:
    degrees = {piece.degree.strip() for piece in facts.indexes if piece.degree}
    if degrees - {"1", "0"} and settings.parallel == 1:
        yield "an index has a stored degree of parallelism; the rebuild keeps it"


def _of_compatible(server: Server) -> Iterator[str]:
    if server.compatible < min(server.number, (12, 2)):
        text = server.parameters["compatible"]
        yield f"COMPATIBLE is {text}: forms that came later, such as MOVE ONLINE, are not used (ORA-00406)"


def _of_licensed(facts: Facts, server: Server, settings: OracleSettings) -> Iterator[str]:
    if server.heat_map and "advanced_compression" not in settings.licensed:
        yield "HEAT_MAP is on: policies of the database may move it too; they are not looked for"
    if facts.history:
        yield facts.history


def is_first_move(route: Route, step: Step) -> bool:
    """Whether the step begins the way there: on the way back indexes may be unusable because of the way there."""
    begins = bool(route.steps) and step.sql == route.steps[0].sql
    return begins and operation_of(step).name in {MOVE_TABLE, ""}


def refuse_changed_indexes(route: Route, pieces: Sequence[IndexPiece]) -> None:
    """Refuse where an index that the move may have to repair is out of use already: repairing it was not asked for.

    And where the move would break an index that none of its statements repairs.

    Raises:
        StatementFailed: a loading job, or INDEXING OFF, has taken it out of use since the move was planned; or it was
            made since.
    """
    repairs = [operation_of(step) for step in route.tidy_steps]
    idle = [piece for piece in pieces if piece.unusable and rebuilding(piece) in repairs]
    if idle:
        raise StatementFailed(
            f"moving {route.bundle.key}: index {_names(idle)} has become UNUSABLE since this was planned",
            advice="Plan again: the new plan leaves it as it is.",
        )
    maintains = operation_of(route.steps[0]).parameters.get("maintains", True)
    made = [piece for piece in pieces if not maintains and is_rebuildable(piece) and not piece.unusable]
    # Compared by operation and not by name: an index that was dropped and made again under its name is repaired by the
    # same statement.
    made = [piece for piece in made if rebuilding(piece) not in repairs]
    if made:
        raise StatementFailed(
            f"moving {route.bundle.key}: index {_names(made)} was made since this was planned, and would be unusable",
            advice="Plan again: the new plan rebuilds it.",
        )


def _names(pieces: Sequence[IndexPiece]) -> str:
    first = f"{pieces[0].owner}.{pieces[0].name}" + (f" {pieces[0].piece} {pieces[0].part}" if pieces[0].part else "")
    return first + (f" and {len(pieces) - 1} more" if len(pieces) > 1 else "")
