"""What a person runs on z/OS: another storage group for a space or an index, and the REORG that moves its data sets.

IBM lists USING among the clauses for which an ALTER ends with -626 while the page set is not stopped, so the script
stops it, alters it and starts it again; then REORG makes the data sets again in the new group (attributes that an ALTER
has changed are taken by the REORG that follows). Commands go through ADMIN_COMMAND_DB2 and utilities through DSNUTILU,
so a command line processor runs all of it and no JCL is needed; TEMPLATE names the data sets of a utility.

Commands name spaces without quotation marks, so an object with another name than an ordinary one has no script. Sources
of each statement: ``tests/db2/sources.md``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from connectors.db2.names import identifier, literal
from connectors.kit.clients import CLP
from connectors.model.formatting import comment
from connectors.model.moves import ByHand

UTILITY = "HOTPLACE"  # id of the utility, by which -TERM UTILITY ends it
BY_GROWTH, BY_RANGE, LOB, XML, LARGE, CLASSIC = "G", "R", "O", "P", "L", ""  # SYSIBM.SYSTABLESPACE.TYPE
_ORDINARY = re.compile(r"[A-Z$#@][A-Z0-9$#@]{0,7}")
BECAUSE = "on z/OS the space is stopped and a utility moves it, and hotplace opens no session that may write there"
RUN_WITH = CLP.run_with
_DATA_SETS_OF_TABLES = "COPYDDN(HPCOPY) UNLDDN(HPUNLD) SORTDEVT SYSALLDA"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSpacePart:
    """A table space, or one partition of it."""

    database: str
    name: str
    partition: int  # 0: it is not partitioned
    kind: str  # BY_GROWTH, BY_RANGE, LOB; CLASSIC: of a time before these, by range where it is partitioned
    cloned: bool = False  # it has the data sets of a clone table, too

    @property
    def alone(self) -> bool:
        """Whether the partition has a definition of its own; those that come as a space grows have one together."""
        return bool(self.partition) and self.kind not in (BY_GROWTH, LOB)


def kind_of(type_: object, maximum: object) -> str | None:
    """The kind of a table space; None where the catalog does not tell it, or has a letter that is not known here.

    Args:
        type_: SYSTABLESPACE.TYPE; blank before universal table spaces; None: no such column.
        maximum: MAXPARTITIONS, likewise: to how many it may grow, of one by growth.

    >>> kind_of(" ", None), kind_of("P", 256), kind_of("P", None), kind_of("?", 0)
    ('', 'G', None, None)
    """
    if type_ is None:
        return None
    letter = str(type_).strip()
    if letter == XML:
        return None if maximum is None else BY_GROWTH if int(str(maximum)) else BY_RANGE
    if letter == LARGE:
        return CLASSIC
    return letter if letter in (BY_GROWTH, BY_RANGE, LOB, CLASSIC) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexPart:
    """An index, or one partition of it."""

    database: str
    space: str  # its index space, by which commands call it
    creator: str
    name: str
    partition: int  # 0: it is not partitioned
    cloned: bool = False


def move_table_space(of: TableSpacePart, source: str, target: str) -> ByHand | None:
    """To another storage group; None where commands cannot name it."""
    if not (_ORDINARY.fullmatch(of.database) and _ORDINARY.fullmatch(of.name)):
        return None
    name = f"{identifier(of.database)}.{identifier(of.name)}"
    part = of.partition if of.alone else 0
    which = f" ALTER PARTITION {part}" if part else ""
    there, back = (f"ALTER TABLESPACE {name}{which} USING STOGROUP {identifier(group)};" for group in (target, source))
    reorgs = tuple(_reorg_of_tables(of, part, clone) for clone in _instances(cloned=of.cloned))
    return _by_hand(of.database, of.name, part, (there, back), reorgs)


def _instances(*, cloned: bool) -> tuple[str, ...]:
    """Ends of commands: without CLONE they are for the base objects alone, with it for those of the clone."""
    return ("", " CLONE") if cloned else ("",)


def _reorg_of_tables(of: TableSpacePart, part: int, clone: str) -> str:
    """By the kind of space: LOB spaces take neither PART nor SORTDEVT nor SHRLEVEL NONE, and need a copy and LOG NO."""
    name = f"{of.database}.{of.name}"
    if of.kind == LOB:
        reorg = f"REORG TABLESPACE {name}{clone} LOG NO SHRLEVEL REFERENCE COPYDDN(HPCOPY)"
        return _utility(_template("HPCOPY", "C", "NEW,CATLG,CATLG"), reorg)
    which = f" PART {part}" if part else ""
    reorg = f"REORG TABLESPACE {name}{which}{clone} SHRLEVEL REFERENCE {_DATA_SETS_OF_TABLES}"
    return _utility(_template("HPCOPY", "C", "NEW,CATLG,CATLG"), _template("HPUNLD", "U", "NEW,DELETE,CATLG"), reorg)


def move_index(of: IndexPart, source: str, target: str) -> ByHand | None:
    """Likewise an index, or one partition of a partitioned one; None where commands cannot name its index space."""
    if not (_ORDINARY.fullmatch(of.database) and _ORDINARY.fullmatch(of.space)):
        return None
    name = f"{identifier(of.creator)}.{identifier(of.name)}"
    which, part = (f" ALTER PARTITION {of.partition}", f" PART {of.partition}") if of.partition else ("", "")
    there, back = (f"ALTER INDEX {name}{which} USING STOGROUP {identifier(group)};" for group in (target, source))
    reorgs = tuple(
        _utility(
            _template("HPWORK", "W", "NEW,DELETE,CATLG"),
            f"REORG INDEX {name}{part}{clone} SHRLEVEL REFERENCE WORKDDN(HPWORK)",
        )
        for clone in _instances(cloned=of.cloned)
    )
    return _by_hand(of.database, of.space, of.partition, (there, back), reorgs)


def _by_hand(database: str, space: str, part: int, alters: tuple[str, str], reorgs: tuple[str, ...]) -> ByHand:
    """Args: reorgs: of the base objects, then of the clone where there is one: then commands are sent for it, too."""
    where = f"DATABASE({database}) SPACENAM({space}){f' PART({part})' if part else ''}"
    clones = _instances(cloned=len(reorgs) > 1)
    there, back = (
        (
            *(_command(f"-STOP {where}{clone}") for clone in clones), _command(f"-DISPLAY {where}"), alter, "COMMIT;",
            *(_command(f"-START {where} ACCESS(RW){clone}") for clone in clones), *reorgs,
        )
        for alter in alters
    )  # fmt: skip
    return ByHand(statements=there, because=BECAUSE, run_with=RUN_WITH, before=_BEFORE, after=_AFTER, undo=back)


_BEFORE = (
    comment("-STOP before each ALTER: IBM lists USING among the clauses for which it ends with SQLCODE -626 while the"),
    comment(
        "page set is not stopped (codes of Db2 10 and 12, n626). -STOP waits for those who use it; no one reads or"
    ),
    comment("writes it until -START. If an ALTER fails, send the -START below it all the same, or it stays stopped."),
    comment("REORG makes the data sets again in the new group: readers go on, writers wait, the old ones go last."),
    comment("A storage group needs room for the whole object, and USE of it has to be granted."),
)
_AFTER = (comment(f"a utility that hangs: -DISPLAY UTILITY({UTILITY}), and -TERM UTILITY({UTILITY}) ends it"),)


def _command(text: str) -> str:
    """A command of Db2; what it answers is the result set of the procedure, what came of it its last two parameters."""
    return f"CALL SYSPROC.ADMIN_COMMAND_DB2({literal(text)}, {len(text)}, ' ', NULL, {', '.join('?' * 8)});"


def _template(name: str, letter: str, disposition: str) -> str:
    """A data set that the utility allocates: user, database, space, partition and time are in its name."""
    return f"TEMPLATE {name} DSN(&US..&DB..&SN..{letter}&PA..T&TI.) UNIT(SYSALLDA) DISP({disposition})"


def _utility(*statements: str) -> str:
    """A call of DSNUTILU; its third argument is what a job would have in SYSIN."""
    return f"CALL SYSPROC.DSNUTILU({literal(UTILITY)}, 'NO', {literal(' '.join(statements))}, ?);"
