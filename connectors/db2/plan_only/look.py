"""What Db2 for i and z/OS show: spaces, units, and for each unit the script that would move it.

Several rows an object are normal: an index of i has one for each member and table, a clone of z/OS shares the table
space and the storage group of its base table, and moves with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from connectors.db2.plan_only import scripts
from connectors.db2.plan_only.counters import unit_number
from connectors.db2.plan_only.residency import Placed, Pool, bytes_by_object, mixed_media_pools, pools, space_of, total
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
    """One unit."""

    key: Key
    number: int  # in samples
    kind: UnitKind
    size_bytes: int
    space: str
    script: Script
    why_no_script: str = ""  # where there is none


@dataclass(frozen=True, slots=True)
class Look:
    """All of it."""

    spaces: tuple[Space, ...]
    units: tuple[Seen, ...]
    undo: str  # how a person takes it back
    devices: Mapping[int, str] = field(default_factory=dict)  # of independent ASPs, by number


def one_of_each(units: Iterable[Seen]) -> tuple[Seen, ...]:
    """Units by their numbers, ascending; rows that speak of one object are one unit, which is where most of it is."""
    found: dict[int, Seen] = {}
    for unit in units:
        other = found.get(unit.number)
        if other is not None:
            larger = max(other, unit, key=lambda one: one.size_bytes)
            unit = replace(larger, size_bytes=other.size_bytes + unit.size_bytes)
        found[unit.number] = unit
    return tuple(found[number] for number in sorted(found))


def look_at_i(session: PlanSession) -> Look:
    """By residency: a unit is where most of its bytes are, whatever is preferred for it.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    partitions = session.rows("i_partitions")
    system_names = {tuple(str(part) for part in row[:3]): row[3:6] for row in session.rows("i_reads")}
    # Disk units that hold tables first: SYSDISKSTAT, where it answers, knows them and those that hold nothing yet.
    found = pools((*((row[3], row[4], row[5], row[7], row[8]) for row in partitions), *session.rows("i_units")))
    both = mixed_media_pools(found)
    devices = {int(row[0]): str(row[1]) for row in session.rows("i_asps") if row[1]}
    tables, indexes = bytes_by_object(partitions, 3), _indexes_of_i(session)
    of_table = Counter(name[:2] for name in tables)
    of_index = Counter(name[:2] for name in indexes)
    known = {pool.name for pool in found}
    units = one_of_each(
        chain(
            (
                _table_of_i(
                    name, at, space_of(at, known), system_names.get(name), _balance(at.asp, both, devices),
                    partitioned=of_table[name[:2]] > 1,
                )
                for name, at in tables.items()
            ),
            (
                _index_of_i(
                    index, space_of(index.at, known), _balance(index.at.asp, both, devices),
                    partitioned=of_index[name[:2]] > 1,
                )
                for name, index in indexes.items()
            ),
        )
    )  # fmt: skip
    return Look(_spaces_of_i(found, units), units, "the same with UNIT(*ANY), ALTER UNIT ANY", devices)


def _spaces_of_i(found: Sequence[Pool], units: Sequence[Seen]) -> tuple[Space, ...]:
    """Media of each ASP; one that no view of disk units shows has no size, and its units stay."""
    spaces = [
        Space(
            name=pool.name, path="", used_bytes=pool.capacity - pool.free, free_bytes=pool.free,
            capacity_bytes=pool.capacity,
        )
        for pool in found
    ]  # fmt: skip
    used: dict[str, int] = {}
    for unit in units:
        used[unit.space] = used.get(unit.space, 0) + unit.size_bytes
    unknown = sorted(used.keys() - {space.name for space in spaces})
    return (
        *spaces,
        *(Space(name=name, path="", used_bytes=used[name], free_bytes=None, capacity_bytes=None) for name in unknown),
    )


def _balance(asp: int, both: frozenset[int], devices: Mapping[int, str]) -> tuple[str, ...]:
    """What makes the system follow a preference; nothing where an ASP has one medium only."""
    return (scripts.follow_preference(asp, device=devices.get(asp, "")),) if asp in both else ()


def _table_of_i(
    name: tuple[str, ...], at: Placed, space: str, names: Row | None, balance: tuple[str, ...], *, partitioned: bool
) -> Seen:
    schema, table, partition = name

    def write(target: str) -> tuple[str, ...]:
        media: scripts.Media = "SSD" if target.endswith("SSD") else "ANY"
        if not partitioned:
            first = scripts.prefer_table(schema, table, media)
        elif names is None:
            return ()
        else:
            library, file, member = (str(part) for part in names)
            first = scripts.prefer_member(scripts.Member(library=library, file=file, member=member), media)
        return (first, *balance)

    return Seen(
        key=Key(Part.TABLE, schema, table, partition if partitioned else None),
        number=unit_number(Part.TABLE, schema, table, partition),
        kind=UnitKind.TABLE_PARTITION if partitioned else UnitKind.TABLE,
        size_bytes=at.size,
        space=space,
        script=write,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Index:
    """One member of an index, over all rows that speak of it."""

    schema: str
    name: str
    member: str  # "": a constraint has none
    at: Placed
    kinds: frozenset[str]  # INDEX_TYPE: a constraint may be called as an index is
    tables: frozenset[str]  # several under a join logical file
    library: str  # system names; "": not known
    file: str


def _indexes_of_i(session: PlanSession) -> dict[tuple[str, ...], _Index]:
    """Members of indexes by schema, name and member."""
    names = {(str(row[0]), str(row[1])): (str(row[2]), str(row[3])) for row in session.rows("i_index_names") if row[3]}
    rows: dict[tuple[str, ...], list[tuple[tuple[str, ...], Placed]]] = {}
    for row, at in bytes_by_object(session.rows("i_indexes"), 6).items():
        rows.setdefault(row[:3], []).append((row, at))
    return {
        (schema, name, member): _Index(
            schema=schema,
            name=name,
            member=member,
            at=total([at for _, at in of]),
            kinds=frozenset(row[5] for row, _ in of),
            tables=frozenset(row[4] for row, _ in of),
            library=names.get((schema, name), (scripts.system_name(schema), ""))[0],
            file=names.get((schema, name), ("", scripts.system_name(name)))[1],
        )
        for (schema, name, member), of in rows.items()
    }


def _index_of_i(index: _Index, space: str, balance: tuple[str, ...], *, partitioned: bool) -> Seen:
    bound = sorted(index.kinds & CONSTRAINTS)
    member = scripts.system_name(index.member)

    def write(target: str) -> tuple[str, ...]:
        if bound or not (index.library and index.file and (member or not partitioned)):
            return ()
        media: scripts.Media = "SSD" if target.endswith("SSD") else "ANY"
        if not partitioned:
            return (scripts.prefer_file(index.library, index.file, media, index=True), *balance)
        of = scripts.Member(library=index.library, file=index.file, member=member)
        return (scripts.prefer_member(of, media, index=True), *balance)

    return Seen(
        key=Key(Part.INDEX, index.schema, index.name, index.member if partitioned else None),
        number=unit_number(Part.INDEX, index.schema, index.name, index.member),
        kind=UnitKind.INDEX_PARTITION if partitioned else UnitKind.INDEX,
        size_bytes=index.at.size,
        space=space,
        script=write,
        why_no_script=f"is the access path of a constraint and goes with the file of {', '.join(sorted(index.tables))}"
        if bound
        else "has a system name that is not known here, and CL takes no other (QSYS2.SYSPARTITIONINDEXES tells it)",
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
    units = list(one_of_each(units))
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
    database, name, partition, _, kilobytes = row[:5]
    number, kind = int(partition or 0), kinds.get((str(database), str(name)))

    def write(target: str) -> tuple[str, ...]:
        if number and kind is None:
            return ()
        return scripts.move_table_space(str(database), str(name), number, target, by_growth=kind == BY_GROWTH)

    return Seen(
        key=Key(Part.TABLE, str(database), str(name), f"P{number}" if number else None),
        number=unit_number(Part.TABLE, str(database), str(name), f"P{number}" if number else ""),
        kind=UnitKind.TABLE_PARTITION if number else UnitKind.TABLE,
        size_bytes=max(0, int(kilobytes or 0)) * KILOBYTE,
        space=groups.get((str(database), str(name), number)) or NOWHERE,
        script=write,
        why_no_script="is partitioned, by range or by growth: which is not known here (SYSIBM.SYSTABLESPACE.TYPE), and "
        "the wrong statement ends with -665",
    )


def _index_of_zos(row: Row) -> Seen:
    database, name, partition, _, kilobytes, _, creator = row[:7]
    number = int(partition or 0)
    return Seen(
        key=Key(Part.INDEX, str(creator or database), str(name), f"P{number}" if number else None),
        number=unit_number(Part.INDEX, str(creator or database), str(name), f"P{number}" if number else ""),
        kind=UnitKind.INDEX_PARTITION if number else UnitKind.INDEX,
        size_bytes=max(0, int(kilobytes or 0)) * KILOBYTE,
        space=NOWHERE,
        script=lambda target: scripts.move_index(str(creator), str(name), number, target) if creator else (),
    )
