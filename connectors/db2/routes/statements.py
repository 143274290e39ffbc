"""SQL of every move, and its steps. Pure.

The tag comment stands at the end: the CLI driver looks at the first word to see whether it is a CALL.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from connectors.db2.reading.names import identifier, literal
from connectors.model import Step
from connectors.operations import Operation

PHASES = ("INIT", "COPY", "REPLAY", "SWAP", "CLEANUP")
CANCEL, CLEAN_UP = "CANCEL", PHASES[-1]
PROCEDURE = "SYSPROC.ADMIN_MOVE_TABLE"
KEEP = "KEEP"
LOAD, READ_ONLY = "COPY_USE_LOAD", "ALLOW_READ_ACCESS"
LEAVE_COPY = "COPY YES TO "


@dataclass(frozen=True, slots=True)
class Homes:
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


def move_table(schema: str, table: str, homes: Homes | None, options: str, operation: str) -> str:
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
