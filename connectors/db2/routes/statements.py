"""The statements of every move, written and recognised. Pure.

The tag comment stands at the end: the CLI driver looks at the first word to see whether it is a CALL.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from connectors.db2.reading.names import identifier, literal
from connectors.model import Step

PHASES = ("INIT", "COPY", "REPLAY", "SWAP", "CLEANUP")
CANCEL = "CANCEL"
PROCEDURE = "SYSPROC.ADMIN_MOVE_TABLE"
KEEP = "KEEP"
_LITERAL = r"'((?:[^']|'')*)'"
_CALL = re.compile(rf"CALL SYSPROC\.ADMIN_MOVE_TABLE\({','.join([_LITERAL] * 11)}\)", re.DOTALL)
_ALTER = re.compile(r'ALTER TABLESPACE "((?:[^"]|"")+)" (.+?)(?: /\* hotplace |$)', re.DOTALL)
_GROUP = re.compile(r'(MANAGED BY AUTOMATIC STORAGE )?USING STOGROUP "((?:[^"]|"")+)"')
_SWAP = re.compile(r"ADD \((?P<add>.+)\) DROP \((?P<drop>.+)\)", re.DOTALL)
_ONE_IN = re.compile(rf"ADD \((FILE {_LITERAL} \d+)\)")
_ONE_OUT = re.compile(rf"DROP \((FILE {_LITERAL})\)")
_FILE = re.compile(rf"FILE {_LITERAL}")


@dataclass(frozen=True, slots=True)
class Homes:
    """Table spaces for data, indexes and LOBs: a move that changes one of them has to name all three."""

    data: str
    index: str
    lob: str


@dataclass(frozen=True, slots=True)
class Phase:
    """One call of ADMIN_MOVE_TABLE."""

    schema: str
    table: str
    homes: Homes  # empty but for INIT
    operation: str


@dataclass(frozen=True, slots=True)
class SpaceChange:
    """One ALTER TABLESPACE."""

    space: str
    clause: str
    group: str = ""  # that it names, "" where it names none
    converts: bool = False  # out of DMS into automatic storage
    add: tuple[str, ...] = ()  # files of its own
    drop: tuple[str, ...] = ()

    @property
    def of_one(self) -> bool:
        """Whether it takes a container out or puts one in, and leaves the others."""
        return bool(self.add) != bool(self.drop)

    @property
    def resumes(self) -> bool:
        """Whether it lets a suspended rebalance go on."""
        return self.clause == "REBALANCE RESUME"


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


def phase_of(sql: str) -> Phase | None:
    """The call that the statement is, None when it is something else."""
    found = _CALL.match(sql)
    if found is None:
        return None
    schema, table, data, index, lob, *_, operation = (text.replace("''", "'") for text in found.groups())
    return Phase(schema, table, Homes(data, index, lob), operation)


def change_of(sql: str) -> SpaceChange | None:
    """The ALTER TABLESPACE that the statement is, None when it is something else."""
    found = _ALTER.match(sql)
    if found is None:
        return None
    clause, name = found[2].strip(), found[1].replace('""', '"')
    swap = _SWAP.fullmatch(clause)
    if swap is not None:
        return SpaceChange(name, clause, add=_files(swap["add"]), drop=_files(swap["drop"]))
    one_in, one_out = _ONE_IN.fullmatch(clause), _ONE_OUT.fullmatch(clause)
    if one_in is not None or one_out is not None:
        added, dropped = (_files(found[1]) if found else () for found in (one_in, one_out))
        return SpaceChange(name, clause, add=added, drop=dropped)
    group = _GROUP.fullmatch(clause)
    if group is not None:
        return SpaceChange(name, clause, group[2].replace('""', '"'), converts=group[1] is not None)
    return SpaceChange(name, clause)


def _files(listed: str) -> tuple[str, ...]:
    """Paths of a list of containers."""
    return tuple(path.replace("''", "'") for path in _FILE.findall(listed))


@dataclass(frozen=True, slots=True)
class Tagged:
    """Statements of one move, tagged with a digest of all of them: a plan made twice is the same plan."""

    there: Sequence[tuple[str, str]]  # statement, purpose
    back: Sequence[tuple[str, str]]
    seconds: float

    @property
    def digest(self) -> str:
        """Eight hexadecimal digits."""
        text = ";".join(statement for statement, _ in (*self.there, *self.back))
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    def steps(self) -> tuple[Step, ...]:
        """The way there."""
        return tuple(
            Step(sql=self.tag(statement, f"step {at}"), purpose=purpose, timeout_seconds=self.seconds)
            for at, (statement, purpose) in enumerate(self.there, start=1)
        )

    def undo_steps(self) -> tuple[Step, ...]:
        """The way back."""
        return tuple(
            Step(sql=self.tag(statement, f"undo {at}"), purpose=purpose, timeout_seconds=self.seconds)
            for at, (statement, purpose) in enumerate(self.back, start=1)
        )

    def tidy(self, *statements: tuple[str, str]) -> tuple[Step, ...]:
        """What removes the rest of an interrupted run, each a statement and its purpose."""
        return tuple(
            Step(sql=self.tag(statement, f"tidy {at}"), purpose=purpose, timeout_seconds=self.seconds)
            for at, (statement, purpose) in enumerate(statements, start=1)
        )

    def tag(self, statement: str, what: str) -> str:
        """The statement with the comment that names this move."""
        return f"{statement} /* hotplace move {self.digest} {what} */"
