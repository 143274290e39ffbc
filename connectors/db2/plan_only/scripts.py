"""The statements of a plan for Db2 for i or z/OS, as scripts for a person. Nothing here is ever sent. Pure.

On i a medium is preferred, not chosen: ``UNIT SSD`` is a wish that the system follows when it allocates, and
``STRASPBAL TYPE(*MP)`` makes it move what lies elsewhere. On z/OS a table space is given another storage group, and its
data sets move when they are next made: REORG does that.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from connectors.db2.reading.names import identifier

Media = Literal["SSD", "ANY"]
MARK = "-- PLAN ONLY: hotplace does not send this"
BALANCE_MINUTES = 120


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
    name = f"{_cl(of.library)}/{_cl(of.file)}"
    return f"{command} FILE({name}) MBR({_cl(of.member)}) UNIT(*{media})"


def prefer_file(library: str, file: str, media: Media, *, index: bool = False) -> str:
    """A whole physical or logical file."""
    return f"{'CHGLF' if index else 'CHGPF'} FILE({_cl(library)}/{_cl(file)}) UNIT(*{media})"


def follow_preference(asp: int, minutes: int = BALANCE_MINUTES) -> str:
    """Let the system move what lies elsewhere than its preference says."""
    return f"STRASPBAL TYPE(*MP) ASP({asp}) SUBTYPE(*CALC) TIMLMT({minutes}) PRIORITY(*LOW)"


def trace_and_balance(asp: int, trace_minutes: int, minutes: int = BALANCE_MINUTES) -> tuple[str, ...]:
    """The ASP balancer's own way: watch for a time, then hot up and cold down. One at a time."""
    return (
        f"TRCASPBAL SET(*ON) ASP({asp}) TIMLMT({trace_minutes})",
        f"STRASPBAL TYPE(*HSM) ASP({asp}) TIMLMT({minutes}) PRIORITY(*LOW)",
    )


def move_table_space(database: str, space: str, partition: int, group: str) -> tuple[str, ...]:
    """A table space of z/OS, or one partition (0: none), to another storage group, and the REORG that moves it."""
    name = f"{identifier(database)}.{identifier(space)}"
    which, part = (f" ALTER PARTITION {partition}", f" PART {partition}") if partition else ("", "")
    return (
        f"ALTER TABLESPACE {name}{which} USING STOGROUP {identifier(group)};",
        f"REORG TABLESPACE {database}.{space}{part} SHRLEVEL REFERENCE",
    )


def move_index(creator: str, index: str, group: str) -> tuple[str, ...]:
    """Likewise an index, all its partitions."""
    name = f"{identifier(creator)}.{identifier(index)}"
    return (
        f"ALTER INDEX {name} USING STOGROUP {identifier(group)};",
        f"REORG INDEX ({name}) SHRLEVEL REFERENCE",
    )


def script(title: str, statements: Iterable[str]) -> str:
    """A script under a mark that says that none of it was sent."""
    return "\n".join((MARK, f"-- {title}", *statements))


def _cl(name: str) -> str:
    """A name in CL: quoted where it is not ordinary; a quote within is refused by the system anyway."""
    ordinary = name.isascii() and name.replace("_", "").isalnum() and not name[:1].isdigit() and name == name.upper()
    return name if ordinary else identifier(name)
