"""SQL of moves, and what each of its steps does. Pure.

Functions such as ``move_table`` and ``rebalance`` write the SQL; ``Tagged`` makes steps of it. The tag comment stands
at the end, because the CLI driver looks at the first word to see whether a statement is a CALL.

``recognise`` serves proposals that were stored before a step said what it does: it reads the SQL of that time. Its
forms are frozen. A statement that is worded differently today is not recognised, and need not be, because every new
step carries ``Step.operation``.

``Phase`` (a call of ADMIN_MOVE_TABLE), ``StorageChange`` (an ALTER TABLESPACE) and ``KeyChange`` (a foreign key) are
what ``Step.operation`` can hold. ``key_change_of``, ``phase_of`` and ``change_of`` read them back.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from connectors.db2.names import identifier, literal
from connectors.model.moves import Operation, Step

PHASES = ("INIT", "COPY", "REPLAY", "SWAP", "CLEANUP")
CANCEL, CLEAN_UP = "CANCEL", PHASES[-1]
PROCEDURE = "SYSPROC.ADMIN_MOVE_TABLE"
KEEP = "KEEP"
LOAD, READ_ONLY = "COPY_USE_LOAD", "ALLOW_READ_ACCESS"
LEAVE_COPY = "COPY YES TO "


@dataclass(frozen=True, slots=True)
class TableHomes:
    """Table spaces for data, indexes and LOBs: a move that changes one of them has to name all three."""

    data: str
    index: str
    lob: str


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of a move with its purpose and what it does."""

    sql: str
    purpose: str
    operation: Operation


def move_table(schema: str, table: str, homes: TableHomes | None, options: str, operation: str) -> str:
    """A call of ADMIN_MOVE_TABLE with the eleven arguments of its first form; blanks mean "as it is".

    Args:
        schema: as the catalog has it; the procedure does not fold names.
        table: likewise.
        homes: for INIT; the later phases remember them.
        options: such as KEEP.
        operation: one of PHASES, or CANCEL.
    """
    where = ("", "", "") if homes is None else (homes.data, homes.index, homes.lob)
    arguments = (schema, table, *where, "", "", "", "", options, operation)
    return f"CALL {PROCEDURE}({','.join(literal(argument) for argument in arguments)})"


def copy_by_load(folder: str) -> str:
    """The option that copies by LOAD: without a folder it is NONRECOVERABLE, and a standby never gets the rows."""
    return f'{LOAD} "{LEAVE_COPY}{folder}"' if folder else LOAD


def loads_without_copy(statement: str) -> bool:
    """Whether a call of ADMIN_MOVE_TABLE copies by a LOAD that is not recoverable."""
    return LOAD in statement and LEAVE_COPY not in statement


def using_group(space: str, group: str) -> str:
    """All containers of an automatic-storage table space to another storage group."""
    return f"ALTER TABLESPACE {identifier(space)} USING STOGROUP {identifier(group)}"


def to_automatic(space: str, group: str) -> str:
    """A DMS table space into automatic storage; there is no way back."""
    return f"ALTER TABLESPACE {identifier(space)} MANAGED BY AUTOMATIC STORAGE USING STOGROUP {identifier(group)}"


def rebalance(space: str, how: str = "") -> str:
    """Begin a rebalance, or SUSPEND or RESUME the one under way."""
    return f"ALTER TABLESPACE {identifier(space)} REBALANCE {how}".rstrip()


def swap_containers(space: str, add: Sequence[tuple[str, int]], drop: Sequence[str]) -> str:
    """New files in, old ones out, in one statement, so that Db2 copies once (a two-pass rebalance).

    Args:
        space: of DMS.
        add: path and pages of each new file.
        drop: paths of the old ones.
    """
    added = ", ".join(f"FILE {literal(path)} {pages}" for path, pages in add)
    dropped = ", ".join(f"FILE {literal(path)}" for path in drop)
    return f"ALTER TABLESPACE {identifier(space)} ADD ({added}) DROP ({dropped})"


def on_partitions(space: str, word: str, clauses: Sequence[tuple[int, str]]) -> str:
    """ADD or DROP of containers on several database partitions; one statement may name each of them once.

    Args:
        space: of DMS.
        word: ADD or DROP.
        clauses: number of each database partition, and its containers as they stand between the parentheses.
    """
    each = " ".join(f"{word} ({containers}) ON DBPARTITIONNUM ({number})" for number, containers in clauses)
    return f"ALTER TABLESPACE {identifier(space)} {each}"


def drop_container(space: str, path: str) -> str:
    """One file of a DMS table space out, its extents to the others."""
    return f"ALTER TABLESPACE {identifier(space)} DROP (FILE {literal(path)})"


def add_container(space: str, path: str, pages: int) -> str:
    """One file more for a DMS table space; its extents spread over all of them."""
    return f"ALTER TABLESPACE {identifier(space)} ADD (FILE {literal(path)} {pages})"


def lower_high_water_mark(space: str) -> str:
    """Bring the extents of a DMS table space together at its beginning; it only begins when the statement returns."""
    return f"ALTER TABLESPACE {identifier(space)} LOWER HIGH WATER MARK"


def drop_path(group: str, path: str) -> str:
    """One path of a storage group; every table space of the group leaves it at its next REBALANCE."""
    return f"ALTER STOGROUP {identifier(group)} DROP {literal(path)}"


def reduce_space(space: str) -> str:
    """Give back what is free at the end of an automatic-storage table space."""
    return f"ALTER TABLESPACE {identifier(space)} REDUCE MAX"


@dataclass(frozen=True, slots=True)
class Tagged:
    """Statements of one move, tagged with a digest of all of them: a plan made twice is the same plan."""

    there: Sequence[Statement]
    back: Sequence[Statement]
    seconds: float

    @property
    def digest(self) -> str:
        """Eight hexadecimal digits."""
        text = ";".join(statement.sql for statement in (*self.there, *self.back))
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    def steps(self) -> tuple[Step, ...]:
        """The way there."""
        return self._steps("step", self.there)

    def undo_steps(self) -> tuple[Step, ...]:
        """The way back."""
        return self._steps("undo", self.back)

    def tidy(self, *statements: Statement) -> tuple[Step, ...]:
        """Steps that remove what an interrupted run leaves."""
        return self._steps("tidy", statements)

    def _steps(self, word: str, statements: Sequence[Statement]) -> tuple[Step, ...]:
        return tuple(
            Step(
                sql=self.tag(statement.sql, f"{word} {at}"),
                purpose=statement.purpose,
                timeout_seconds=self.seconds,
                operation=statement.operation,
            )
            for at, statement in enumerate(statements, start=1)
        )

    def tag(self, statement: str, what: str) -> str:
        """The statement with the comment that names this move."""
        return f"{statement} /* hotplace move {self.digest} {what} */"


_LITERAL = r"'((?:[^']|'')*)'"
_NAME = r'"((?:[^"]|"")+)"'
_CALL = re.compile(rf"CALL SYSPROC\.ADMIN_MOVE_TABLE\({','.join([_LITERAL] * 11)}\)", re.DOTALL)
_ALTER = re.compile(rf"ALTER TABLESPACE {_NAME} (.+?)(?: /\* hotplace |$)", re.DOTALL)
_GROUP = re.compile(rf"(MANAGED BY AUTOMATIC STORAGE )?USING STOGROUP {_NAME}")
_LISTED = r"(?:[^()']|'(?:[^']|'')*+')+"  # between parentheses, which stand within literals only
_SWAP = re.compile(rf"ADD \((?P<add>{_LISTED})\) DROP \((?P<drop>{_LISTED})\)")
_ADD = re.compile(rf"ADD \((?P<add>FILE {_LITERAL} \d+)\)")
_DROP = re.compile(rf"DROP \((?P<drop>FILE {_LITERAL})\)")
_FILE = re.compile(rf"FILE {_LITERAL}")
_REBALANCES = {"REBALANCE": "db2.rebalance", "REBALANCE RESUME": "db2.resume_rebalance"}


def recognise(sql: str) -> Operation | None:
    """What the statement does; None where it is none that a route of such a version had."""
    call = _CALL.match(sql)
    if call is not None:
        schema, table, data, index, lob, *_, phase = (_unquote(text, "'") for text in call.groups())
        homes = {"data": data, "index": index, "lob": lob}
        return Operation("db2.move_table", {"schema": schema, "table": table, "phase": phase, **homes})
    alter = _ALTER.match(sql)
    return None if alter is None else _space_change(_unquote(alter[1], '"'), alter[2].strip())


def _space_change(space: str, clause: str) -> Operation | None:
    if clause in _REBALANCES:
        return Operation(_REBALANCES[clause], {"space": space})
    group = _GROUP.fullmatch(clause)
    if group is not None:
        name = "db2.convert_to_automatic" if group[1] else "db2.use_storage_group"
        return Operation(name, {"space": space, "group": _unquote(group[2], '"')})
    match = _SWAP.fullmatch(clause) or _ADD.fullmatch(clause) or _DROP.fullmatch(clause)
    if match is None:
        return None
    files = {word: _files(match.groupdict().get(word) or "") for word in ("add", "drop")}
    return Operation("db2.change_containers", {"space": space, **files})


def _files(listed: str) -> tuple[str, ...]:
    """Paths of a list of containers."""
    return tuple(_unquote(path, "'") for path in _FILE.findall(listed))


def _unquote(text: str, quote: str) -> str:
    return text.replace(quote * 2, quote)


MOVE_TABLE = "db2.move_table"
USE_GROUP, CONVERT = "db2.use_storage_group", "db2.convert_to_automatic"
REBALANCE, RESUME = "db2.rebalance", "db2.resume_rebalance"
CHANGE_CONTAINERS = "db2.change_containers"
ADD_PARTITION = "db2.add_partition"
CREATE_GROUP, DROP_GROUP = "db2.create_storage_group", "db2.drop_storage_group"
DROP_KEY, ADD_KEY = "db2.drop_foreign_key", "db2.add_foreign_key"
_SPACE_CHANGES = frozenset({USE_GROUP, CONVERT, REBALANCE, RESUME, CHANGE_CONTAINERS})


@dataclass(frozen=True, slots=True)
class Phase:
    """One call of ADMIN_MOVE_TABLE."""

    schema: str
    table: str
    homes: TableHomes  # empty but for INIT
    operation: str

    def as_operation(self) -> Operation:
        """For a step; ``phase_of`` reads it back."""
        homes = {"data": self.homes.data, "index": self.homes.index, "lob": self.homes.lob}
        return Operation(MOVE_TABLE, {"schema": self.schema, "table": self.table, "phase": self.operation, **homes})


@dataclass(frozen=True, slots=True)
class StorageChange:
    """One ALTER TABLESPACE; without a group and without files it is a REBALANCE."""

    space: str
    group: str = ""  # that it names, "" where it names none
    converts: bool = False  # out of DMS into automatic storage
    add: tuple[str, ...] = ()  # files of its own
    drop: tuple[str, ...] = ()
    resumes: bool = False  # lets a suspended rebalance go on

    @property
    def of_one(self) -> bool:
        """Whether it takes a container out or puts one in, and leaves the others."""
        return bool(self.add) != bool(self.drop)

    def as_operation(self) -> Operation:
        """For a step; ``change_of`` reads it back."""
        if self.group:
            return Operation(CONVERT if self.converts else USE_GROUP, {"space": self.space, "group": self.group})
        if self.add or self.drop:
            return Operation(CHANGE_CONTAINERS, {"space": self.space, "add": self.add, "drop": self.drop})
        return Operation(RESUME if self.resumes else REBALANCE, {"space": self.space})


@dataclass(frozen=True, slots=True)
class KeyChange:
    """A foreign key that is dropped, or added again."""

    schema: str  # of the child
    table: str
    key: str
    adds: bool

    def as_operation(self) -> Operation:
        """For a step; ``key_change_of`` reads it back."""
        return Operation(
            ADD_KEY if self.adds else DROP_KEY, {"schema": self.schema, "table": self.table, "key": self.key}
        )


def key_change_of(step: Step) -> KeyChange | None:
    """The change of a foreign key that the step is, None where it is something else."""
    found = step.operation
    if found is None or found.name not in (ADD_KEY, DROP_KEY):
        return None
    return KeyChange(found.text("schema"), found.text("table"), found.text("key"), adds=found.name == ADD_KEY)


def phase_of(step: Step) -> Phase | None:
    """The call of ADMIN_MOVE_TABLE that the step is, None where it is something else."""
    found = _operation_of(step)
    if found is None or found.name != MOVE_TABLE:
        return None
    homes = TableHomes(found.text("data"), found.text("index"), found.text("lob"))
    return Phase(found.text("schema"), found.text("table"), homes, found.text("phase"))


def first_phase(steps: Sequence[Step]) -> Phase | None:
    """The first call of ADMIN_MOVE_TABLE among these steps, None where there is none."""
    return next((phase for step in steps if (phase := phase_of(step)) is not None), None)


def change_of(step: Step) -> StorageChange | None:
    """The ALTER TABLESPACE that the step is, None where it is something else."""
    found = _operation_of(step)
    if found is None or found.name not in _SPACE_CHANGES:
        return None
    return StorageChange(
        found.text("space"),
        found.text("group"),
        converts=found.name == CONVERT,
        add=found.texts("add"),
        drop=found.texts("drop"),
        resumes=found.name == RESUME,
    )


def _operation_of(step: Step) -> Operation | None:
    return step.operation or recognise(step.sql)
