"""The statements of moves, and what each of their steps does. Pure.

``recognise`` serves proposals that were stored before a step said what it does: it reads the SQL of that time. Its
forms are frozen. A statement that is worded differently today is not recognised, and need not be, because every new
step carries ``Step.operation``.

``moving_table`` to ``adding_partition`` make that operation; ``operation_of`` and ``file_number`` read it back.

``move``, ``rebuild`` and ``set_degree`` write the statements. Identifiers come from the dictionary and are always
quoted. NOLOGGING is never used, because a standby would lose the blocks; nor is INCLUDING ROWS, which deletes. PARALLEL
is used only where configured, and only with the statement that restores the degree, which REBUILD stores. Forms: SQL
Language Reference, ALTER TABLE (move_table_clause, move_table_partition), ALTER INDEX (rebuild_clause).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from connectors.model.moves import Operation, Route, Step
from connectors.oracle.facts import Facts, IndexPiece, LobFacts
from connectors.oracle.names import quote
from connectors.oracle.settings import OracleSettings

_NAME = r'"([^"]+)"'  # no name of Oracle's has a double quote in it
_REBUILD = re.compile(
    rf"ALTER INDEX {_NAME}\.{_NAME} REBUILD(?: (?:SUB)?PARTITION {_NAME})?(?: TABLESPACE {_NAME})?(?: ONLINE)?"
    r"(?: PARALLEL \d+)?"
)
_DEGREE = re.compile(rf"ALTER INDEX {_NAME}\.{_NAME} (NOPARALLEL|PARALLEL(?: \S+)?)")
_DATAFILE = re.compile(r"ALTER DATABASE MOVE DATAFILE (\d+) TO '.*'", re.DOTALL)


def recognise(sql: str) -> Operation | None:
    """What the statement does; None where nothing that decides about a move follows from it."""
    statement = sql.partition("*/ ")[2]
    rebuild, degree, file = (form.fullmatch(statement) for form in (_REBUILD, _DEGREE, _DATAFILE))
    if rebuild is not None:
        owner, index, partition, space = (text or "" for text in rebuild.groups())
        named = {"owner": owner, "index": index, "partition": partition, "space": space}
        return Operation("oracle.rebuild_index", named)
    if degree is not None:
        return Operation("oracle.set_degree", {"owner": degree[1], "index": degree[2], "degree": degree[3]})
    return None if file is None else Operation("oracle.move_datafile", {"file": int(file[1])})


MOVE_TABLE = "oracle.move_table"  # its parameter maintains: the statement keeps indexes usable; absent: not known
REBUILD_INDEX = "oracle.rebuild_index"  # its parameter space: "" where the index stays in its tablespace
SET_DEGREE = "oracle.set_degree"
MOVE_DATAFILE = "oracle.move_datafile"
ADD_PARTITION = "oracle.add_partition"


def moving_table(*, maintains: bool) -> Operation:
    """The move of a table or partition, and whether its indexes stay usable by the statement itself."""
    return Operation(MOVE_TABLE, {"maintains": maintains})


def rebuilding(piece: IndexPiece, space: str | None = None) -> Operation:
    """The rebuild of an index or of a partition of one, to a tablespace or where it is."""
    named = {"owner": piece.owner, "index": piece.name, "partition": piece.part or "", "space": space or ""}
    return Operation(REBUILD_INDEX, named)


def setting_degree(piece: IndexPiece, clause: str) -> Operation:
    """What gives an index its degree of parallelism back; the clause is ``NOPARALLEL`` or ``PARALLEL ...``."""
    return Operation(SET_DEGREE, {"owner": piece.owner, "index": piece.name, "degree": clause})


def moving_file(number: int) -> Operation:
    """The move of a data file."""
    return Operation(MOVE_DATAFILE, {"file": number})


def adding_partition(owner: str, table: str, partition: str) -> Operation:
    """The making of the partition behind the last one."""
    return Operation(ADD_PARTITION, {"owner": owner, "table": table, "partition": partition})


def operation_of(step: Step) -> Operation:
    """What the step does; of an empty name where nothing is known of it."""
    return step.operation or recognise(step.sql) or Operation("")


def file_number(step: Step) -> int:
    """The data file that the step moves.

    Raises:
        LookupError: it moves none.
    """
    number = operation_of(step).parameters.get("file")
    if isinstance(number, int):
        return number
    raise LookupError(f"no data file is moved by {step.sql}")


TAG = "/* hotplace move"


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement with what it does."""

    sql: str
    operation: Operation


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where each part of a bundle is to be: one set for the way there, one for the way back."""

    main: str | None  # None: the rows stay
    overflow: str | None
    lobs: tuple[LobFacts, ...]
    indexes: tuple[tuple[IndexPiece, str], ...] = ()  # that the move builds there


def there(facts: Facts, to_space: str) -> Places:
    """Everything in the target."""
    return Places(
        main=None if facts.is_lob else to_space,
        overflow=to_space if facts.overflow_space else None,
        lobs=tuple(LobFacts(lob.column, to_space) for lob in facts.lobs),
        indexes=tuple((piece, to_space) for piece in facts.carried),
    )


def back(facts: Facts) -> Places:
    """Everything where it is now, which need not be one place."""
    return Places(
        main=None if facts.is_lob else facts.lead.space or "",
        overflow=facts.overflow_space,
        lobs=facts.lobs,
        indexes=tuple((piece, piece.space or "") for piece in facts.carried),
    )


def prologue(settings: OracleSettings, *, online: bool = False) -> tuple[str, ...]:
    """Session settings: DDL waits that long for locks (whole seconds), and a full space fails instead of hanging.

    Blocking DDL gives up early, since others queue behind it; online DDL blocks none. DDL_LOCK_TIMEOUT is documented
    for blocking DDL only, so the mover cancels an online wait after the same time (``watcher``).
    """
    patience = settings.online_lock_timeout if online else settings.lock_timeout
    return (
        f"ALTER SESSION SET DDL_LOCK_TIMEOUT = {max(1, round(patience))}",
        "ALTER SESSION DISABLE RESUMABLE",
    )


def move(facts: Facts, places: Places, *, online: bool, update_indexes: bool) -> Statement:
    """``ALTER TABLE ... MOVE`` of a table, partition or index-organised table, or of its LOBs alone."""
    words = [f"ALTER TABLE {quote(facts.table_owner, facts.table)} MOVE"]
    if facts.lead.part is not None:
        words.append(part_clause(facts.lead.type, facts.lead.part))
    # The grammar has ONLINE right after MOVE for a whole table, and at the end of the clause for a partition.
    elif online:
        words.append("ONLINE")
    if places.main is not None:
        words.append(f"TABLESPACE {quote(places.main)}")
    if places.overflow is not None:
        words.append(f"OVERFLOW TABLESPACE {quote(places.overflow)}")
    words += [f"LOB ({quote(lob.column)}) STORE AS (TABLESPACE {quote(lob.space)})" for lob in places.lobs]
    if update_indexes:
        placed = ", ".join(f"{quote(piece.name)} TABLESPACE {quote(space)}" for piece, space in places.indexes)
        words.append(f"UPDATE INDEXES ({placed})" if placed else "UPDATE INDEXES")
    if online and facts.lead.part is not None:
        words.append("ONLINE")
    return Statement(" ".join(words), moving_table(maintains=online or update_indexes or facts.is_iot))


def rebuild(piece: IndexPiece, space: str | None, *, online: bool, parallel: int = 1) -> Statement:
    """``ALTER INDEX ... REBUILD``, to another tablespace or in place; parallel only with ``set_degree`` after it."""
    words = [f"ALTER INDEX {quote(piece.owner, piece.name)} REBUILD"]
    if piece.part is not None:
        words.append(f"{piece.piece} {quote(piece.part)}")
    if space is not None:
        words.append(f"TABLESPACE {quote(space)}")
    if online:
        words.append("ONLINE")
    if parallel > 1:
        words.append(f"PARALLEL {parallel}")
    return Statement(" ".join(words), rebuilding(piece, space))


def set_degree(piece: IndexPiece) -> Statement:
    """``ALTER INDEX ... NOPARALLEL`` or ``PARALLEL``: the degree that the index has according to the catalog.

    ``INSTANCES`` is old syntax, and stated only where it is another than the clause without it would leave.
    """
    degree, instances = (piece.degree or "1").strip(), (piece.instances or "1").strip()
    if instances not in ({"DEFAULT", "1"} if degree == "DEFAULT" else {"0", "1"}):
        clause = f"PARALLEL (DEGREE {degree} INSTANCES {instances})"
    else:
        clause = "NOPARALLEL" if degree in {"0", "1"} else "PARALLEL" if degree == "DEFAULT" else f"PARALLEL {degree}"
    return Statement(f"ALTER INDEX {quote(piece.owner, piece.name)} {clause}", setting_degree(piece, clause))


def part_clause(object_type: str, part: str) -> str:
    """``PARTITION "P"`` or ``SUBPARTITION "P"``."""
    return f"{'SUBPARTITION' if object_type.endswith('SUBPARTITION') else 'PARTITION'} {quote(part)}"


def tag_of(statements: Sequence[Statement]) -> str:
    """The same for the same statements, so that a plan made twice is the same plan."""
    return f"{TAG} {hashlib.sha256(';'.join(each.sql for each in statements).encode()).hexdigest()[:8]} "


def action_of(route: Route) -> str:
    """V$SESSION.ACTION of the session that carries the route out: ``move`` and the digits of its tag."""
    return f"move {route.steps[0].sql.removeprefix(TAG).split()[0]}"


def step(tag: str, word: str, ordinal: int, statement: Statement, purpose: str, seconds: float) -> Step:
    """One statement with its tag; ``word`` is step, undo or tidy."""
    return Step(
        sql=f"{tag}{word} {ordinal} */ {statement.sql}",
        purpose=purpose,
        timeout_seconds=seconds,
        operation=statement.operation,
    )
