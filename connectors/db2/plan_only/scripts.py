"""The statements of a plan for Db2 for i or z/OS, as scripts for a person. Nothing here is ever sent. Pure.

On i a medium is preferred, not chosen: ``UNIT SSD`` is a wish that the system follows when it allocates, and
``STRASPBAL TYPE(*MP)`` makes it move what lies elsewhere. CL takes system names, of at most ten characters. On z/OS a
table space is given another storage group, and its data sets move when they are next made: REORG does that, called by
DSNUTILU, so that no JCL is needed; its data sets are named by TEMPLATE.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from connectors.db2.reading.names import identifier, literal
from connectors.scripts import comment, written

Media = Literal["SSD", "ANY"]
MARK = comment("PLAN ONLY: hotplace does not send this")
BALANCE_MINUTES = 120
LAST_NUMBERED = 32  # ASP: those beyond are independent and go by the name of their device
LONGEST_SYSTEM_NAME = 10
UTILITY = "HOTPLACE"  # id of the utility, by which -TERM UTILITY ends it


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One member of a file of IBM i, by its system names; CL knows no others."""

    library: str
    file: str
    member: str


def prefer_table(schema: str, table: str, media: Media) -> str:
    """All of a table; since 7.1. Takes the table for a moment."""
    return f"ALTER TABLE {identifier(schema)}.{identifier(table)} ALTER UNIT {media};"


def prefer_member(of: Member, media: Media, *, index: bool = False) -> str:
    """One partition or one index, by a CL command: concurrent, where the newest PTFs are on."""
    command = "CHGLFM" if index else "CHGPFM"
    name = f"{_plain(of.library)}/{_plain(of.file)}"
    return f"{command} FILE({name}) MBR({_plain(of.member)}) UNIT(*{media})"


def prefer_file(library: str, file: str, media: Media, *, index: bool = False) -> str:
    """A whole physical or logical file."""
    return f"{'CHGLF' if index else 'CHGPF'} FILE({_plain(library)}/{_plain(file)}) UNIT(*{media})"


def follow_preference(asp: int, minutes: int = BALANCE_MINUTES, device: str = "") -> str:
    """Let the system move what lies elsewhere than its preference says.

    Args:
        asp: number of the ASP.
        minutes: at most.
        device: description of an independent ASP, which has no other name in CL; "": not known.
    """
    if asp > LAST_NUMBERED and not device:
        return comment(f"then STRASPBAL TYPE(*MP) ASPDEV(...): the device of independent ASP {asp} is not known here")
    return f"STRASPBAL TYPE(*MP) {_asp(asp, device)} SUBTYPE(*CALC) TIMLMT({minutes}) PRIORITY(*LOW)"


def _asp(asp: int, device: str) -> str:
    return f"ASPDEV({_plain(device)})" if device else f"ASP({asp})"


def trace_and_balance(
    asp: int, trace_minutes: int, minutes: int = BALANCE_MINUTES, device: str = ""
) -> tuple[str, ...]:
    """The ASP balancer's own way: watch for a time, then hot up and cold down. One at a time."""
    return (
        f"TRCASPBAL SET(*ON) {_asp(asp, device)} TIMLMT({trace_minutes})",
        f"STRASPBAL TYPE(*HSM) {_asp(asp, device)} TIMLMT({minutes}) PRIORITY(*LOW)",
    )


def system_name(name: str) -> str:
    """The system name that an object with this SQL name has; "" where only the catalog can tell.

    >>> system_name("ORDERS_IX"), system_name("ORDERS_BY_CUSTOMER")
    ('ORDERS_IX', '')
    """
    ordinary = name.isascii() and name.replace("_", "").isalnum() and not name[:1].isdigit() and name == name.upper()
    return name if ordinary and len(name) <= LONGEST_SYSTEM_NAME else ""


def move_table_space(database: str, space: str, partition: int, group: str, *, by_growth: bool) -> tuple[str, ...]:
    """A table space of z/OS to another storage group, and the REORG that moves it.

    Args:
        database: of the table space.
        space: its name.
        partition: of one that is partitioned by range: it is altered alone; 0: it is not partitioned.
        group: to go to.
        by_growth: partitions that come as it grows have one definition; to alter one alone is -665.
    """
    name = f"{identifier(database)}.{identifier(space)}"
    alone = partition and not by_growth
    which, part = (f" ALTER PARTITION {partition}", f" PART {partition}") if alone else ("", "")
    data_sets = "COPYDDN(HPCOPY) UNLDDN(HPUNLD) SORTDEVT SYSALLDA"
    reorg = f"REORG TABLESPACE {_plain(database)}.{_plain(space)}{part} SHRLEVEL REFERENCE {data_sets}"
    templates = (_template("HPCOPY", "C", "NEW,CATLG,CATLG"), _template("HPUNLD", "U", "NEW,DELETE,CATLG"))
    return (f"ALTER TABLESPACE {name}{which} USING STOGROUP {identifier(group)};", _utility(*templates, reorg))


def move_index(creator: str, index: str, partition: int, group: str) -> tuple[str, ...]:
    """Likewise an index, or one partition of a partitioned one (0: none)."""
    name = f"{identifier(creator)}.{identifier(index)}"
    which, part = (f" ALTER PARTITION {partition}", f" PART {partition}") if partition else ("", "")
    reorg = f"REORG INDEX {name}{part} SHRLEVEL REFERENCE WORKDDN(HPWORK)"
    return (
        f"ALTER INDEX {name}{which} USING STOGROUP {identifier(group)};",
        _utility(_template("HPWORK", "W", "NEW,DELETE,CATLG"), reorg),
    )


def _template(name: str, letter: str, disposition: str) -> str:
    """A data set that the utility allocates: user, database, space, partition and time are in its name."""
    return f"TEMPLATE {name} DSN(&US..&DB..&SN..{letter}&PA..T&TI.) UNIT(SYSALLDA) DISP({disposition})"


def _utility(*statements: str) -> str:
    """A call of DSNUTILU; its third argument is what a job would have in SYSIN."""
    return f"CALL SYSPROC.DSNUTILU({literal(UTILITY)}, 'NO', {literal(' '.join(statements))}, ?);"


def script(title: str, statements: Iterable[str]) -> str:
    """A script under a mark that says that none of it was sent."""
    return "\n".join((MARK, comment(title), *map(written, statements)))


def _plain(name: str) -> str:
    """A name in CL or for a utility: quoted where it is not ordinary; a quote in CL is refused by the system anyway."""
    ordinary = name.isascii() and name.replace("_", "").isalnum() and not name[:1].isdigit() and name == name.upper()
    return name if ordinary else identifier(name)
