"""What Db2 for i and z/OS show: spaces, units, counters, and for each unit the script that would move it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from connectors.db2.plan_only import scripts
from connectors.db2.plan_only.residency import Placed, bytes_by_object, mixed_media_pools, pool_name, pools
from connectors.db2.plan_only.session import PlanSession, Row
from connectors.db2.reading.names import Key, Part
from connectors.model import Space, UnitKind

KILOBYTE = 1024
CONSTRAINTS = frozenset({"PRIMARY KEY", "UNIQUE", "FOREIGN KEY", "PHYSICAL"})  # INDEX_TYPE without a logical file
BY_GROWTH = "G"  # SYSIBM.SYSTABLESPACE.TYPE
STORAGE_GROUP = "I"  # SYSIBM.SYSTABLEPART.STORTYPE
NOWHERE = "(no storage group)"
Script = Callable[[str], tuple[str, ...]]  # name of the target -> statements, none where there are none


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One unit. Counters are None where the system has no such column."""

    key: Key
    kind: UnitKind
    size_bytes: int
    space: str
    script: Script
    logical: int | None = None
    physical: int | None = None
    random_share: float = 1.0  # of the physical reads, those a session waited for
    why_no_script: str = ""  # where there is none


@dataclass(frozen=True, slots=True)
class Look:
    """All of it."""

    spaces: tuple[Space, ...]
    units: tuple[Seen, ...]
    undo: str  # how a person takes it back
    devices: Mapping[int, str] = field(default_factory=dict)  # of independent ASPs, by number


def look_at_i(session: PlanSession) -> Look:
    """By residency: a unit is where most of its bytes are, whatever is preferred for it.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    partitions, indexes = session.rows("i_partitions"), session.rows("i_indexes")
    reads = {tuple(str(part) for part in row[:3]): row for row in session.rows("i_reads")}
    found = pools((row[3], row[4], row[5], row[7], row[8]) for row in partitions)
    both = mixed_media_pools(found)
    devices = {int(row[0]): str(row[1]) for row in session.rows("i_asps") if row[1]}
    spaces = tuple(
        Space(
            name=pool.name, path="", used_bytes=pool.capacity - pool.free, free_bytes=pool.free,
            capacity_bytes=pool.capacity,
        )
        for pool in found
    )  # fmt: skip
    tables = bytes_by_object(partitions, 3)
    several = {name[:2] for name in tables if sum(other[:2] == name[:2] for other in tables) > 1} if tables else set()
    units = [
        _table_of_i(name, at, reads.get(name), _balance(at.asp, both, devices), partitioned=name[:2] in several)
        for name, at in tables.items()
    ]
    units += [
        _index_of_i(name, at, _balance(at.asp, both, devices)) for name, at in bytes_by_object(indexes, 8).items()
    ]
    known = {space.name for space in spaces}
    return Look(
        spaces,
        tuple(unit for unit in units if unit.space in known),
        "the same with UNIT(*ANY), ALTER UNIT ANY",
        devices,
    )


def _balance(asp: int, both: frozenset[int], devices: Mapping[int, str]) -> tuple[str, ...]:
    """What makes the system follow a preference; nothing where an ASP has one medium only."""
    return (scripts.follow_preference(asp, device=devices.get(asp, "")),) if asp in both else ()


def _table_of_i(
    name: tuple[str, ...], at: Placed, row: Row | None, balance: tuple[str, ...], *, partitioned: bool
) -> Seen:
    schema, table, partition = name
    logical, physical, sequential, random = row[7:11] if row is not None else (None,) * 4
    accesses = int(random or 0) + int(sequential or 0)

    def write(target: str) -> tuple[str, ...]:
        media: scripts.Media = "SSD" if target.endswith("SSD") else "ANY"
        if not partitioned:
            first = scripts.prefer_table(schema, table, media)
        elif row is None:
            return ()
        else:
            first = scripts.prefer_member(
                scripts.Member(library=str(row[3]), file=str(row[4]), member=str(row[5])), media
            )
        return (first, *balance)

    return Seen(
        key=Key(Part.TABLE, schema, table, partition if partitioned else None),
        kind=UnitKind.TABLE_PARTITION if partitioned else UnitKind.TABLE,
        size_bytes=at.size,
        space=pool_name(at.asp, fast=at.mostly_fast),
        script=write,
        logical=None if logical is None else int(logical),
        physical=None if physical is None else int(physical),
        random_share=int(random or 0) / accesses if accesses else 1.0,
    )


def _index_of_i(name: tuple[str, ...], at: Placed, balance: tuple[str, ...]) -> Seen:
    schema, index, _, _, table, kind, library, file = name
    library, file = library or scripts.system_name(schema), file or scripts.system_name(index)

    def write(target: str) -> tuple[str, ...]:
        if kind in CONSTRAINTS or not (library and file):
            return ()
        media: scripts.Media = "SSD" if target.endswith("SSD") else "ANY"
        return (scripts.prefer_file(library, file, media, index=True), *balance)

    return Seen(
        key=Key(Part.INDEX, schema, index),
        kind=UnitKind.INDEX,
        size_bytes=at.size,
        space=pool_name(at.asp, fast=at.mostly_fast),
        script=write,
        why_no_script=f"is the access path of a constraint and goes with the file of {table}"
        if kind in CONSTRAINTS
        else "has a system name that is not known here, and CL takes no other (QSYS2.SYSINDEXES tells it)",
    )


def look_at_zos(session: PlanSession, more_groups: Sequence[str]) -> Look:
    """By storage group. Real-time statistics may be negative for a while: that counts as nothing.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    groups = {
        (str(row[0]), str(row[1]), int(row[2] or 0)): str(row[4] or "")
        for row in session.rows("z_groups")
        if row[3] in (None, STORAGE_GROUP)
    }
    kinds = {(str(row[0]), str(row[1])): str(row[3]) for row in session.rows("z_kinds") if row[3] is not None}
    units = [_table_space_of_zos(row, groups, kinds) for row in session.rows("z_table_spaces")]
    units += [_index_of_zos(row) for row in session.rows("z_indexes")]
    used: dict[str, int] = dict.fromkeys(more_groups, 0)
    for unit in units:
        used[unit.space] = used.get(unit.space, 0) + unit.size_bytes
    spaces = tuple(
        Space(name=name, path="", used_bytes=size, free_bytes=None, capacity_bytes=None) for name, size in used.items()
    )
    return Look(spaces, tuple(units), "ALTER back to the old storage group, and REORG again")


def _table_space_of_zos(
    row: Row, groups: Mapping[tuple[str, str, int], str], kinds: Mapping[tuple[str, str], str]
) -> Seen:
    database, name, partition, _, kilobytes, _, _, getpages = row
    number, kind = int(partition or 0), kinds.get((str(database), str(name)))

    def write(target: str) -> tuple[str, ...]:
        if number and kind is None:
            return ()
        return scripts.move_table_space(str(database), str(name), number, target, by_growth=kind == BY_GROWTH)

    return Seen(
        key=Key(Part.TABLE, str(database), str(name), f"P{number}" if number else None),
        kind=UnitKind.TABLE_PARTITION if number else UnitKind.TABLE,
        size_bytes=max(0, int(kilobytes or 0)) * KILOBYTE,
        space=groups.get((str(database), str(name), number)) or NOWHERE,
        script=write,
        why_no_script="is partitioned, by range or by growth: which is not known here (SYSIBM.SYSTABLESPACE.TYPE), and "
        "the wrong statement ends with -665",
        logical=None if getpages is None else max(0, int(getpages)),
    )


def _index_of_zos(row: Row) -> Seen:
    database, name, partition, _, kilobytes, _, creator, _, getpages = row
    number = int(partition or 0)
    return Seen(
        key=Key(Part.INDEX, str(creator or database), str(name), f"P{number}" if number else None),
        kind=UnitKind.INDEX_PARTITION if number else UnitKind.INDEX,
        size_bytes=max(0, int(kilobytes or 0)) * KILOBYTE,
        space=NOWHERE,
        script=lambda target: scripts.move_index(str(creator), str(name), number, target) if creator else (),
        logical=None if getpages is None else max(0, int(getpages)),
    )
