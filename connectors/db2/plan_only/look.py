"""What Db2 for i and z/OS show: spaces, units, and for each unit the script that would move it.

Reads of Db2 for i (``counted``, ``waited_for``) are totals since the last IPL. Shares are taken of an interval only: a
product of two totals, such as physical reads times the share of random ones, is no counter. Such a product falls with
every scan, and after years of scans it no longer shows a look-up. An index that spans partitions has one equal row for
each; the highest counts. Where SYSPARTITIONINDEXSTAT counts no physical reads, random and sequential operations are an
upper bound.

Bytes of Db2 for i (``bytes_by_object``, ``pools``) come from the disk units, as a preferred medium does not say where
data is. ``UNIT_TYPE`` 1 is an SSD. SYSDISKSTAT has a row for each path to a unit, even to an empty unit, and the units
of a mirrored pair have one number: a unit counts once, by the row that says most of it. Spanning indexes come again
with every partition, which DISTINCT in the query takes out.

What a person runs to move a unit (``Seen.script``) is written by ``ibm_i`` and ``zos``; nothing of it is ever sent.

``look_at_i`` and ``look_at_zos`` put all of this together. Several rows for an object are normal: an index of i has one
for each member and table; a clone of z/OS shares the table space and storage group of its base table, and its data sets
(those of the other INSTANCE) move with those of the base.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np

from connectors.db2.names import Key, Part, physical_id
from connectors.db2.plan_only import ibm_i, zos
from connectors.db2.plan_only.ibm_i import Asp, Media, Member
from connectors.db2.plan_only.session import PlanSession, Row
from connectors.model.moves import ByHand, UnitKind
from connectors.model.observation import F64, I64, Space

LOGICAL, PHYSICAL, SEQUENTIAL, RANDOM = range(4)
COUNTERS = ("logical_reads", "physical_reads", "sequential_reads", "random_reads")
UNCOUNTED = "samples_uncounted"  # rises with every sample of a unit that has no counters: an absent unit counts as idle
CounterRow = Sequence[object]
Totals = tuple[int, int, int, int]  # as COUNTERS


@dataclass(frozen=True, slots=True)
class Counted:
    """Totals of every unit that has any, by its number."""

    totals: Mapping[int, Totals]
    bounded: bool  # whether operations stood for physical reads of any index

    def without(self, units: Collection[int]) -> Counted:
        """The same but for some units."""
        if not units:
            return self
        return Counted({number: of for number, of in self.totals.items() if number not in units}, self.bounded)

    def columns(self, uncounted: Collection[int], number: int) -> tuple[I64, dict[str, I64]]:
        """Numbers, ascending, and counters of a sample.

        Args:
            uncounted: units without counters, besides those that have some.
            number: of the sample, which is their only counter.
        """
        without = sorted(set(uncounted) - self.totals.keys())
        ids = np.array([*self.totals, *without], dtype=np.int64)
        values = np.zeros((len(ids), len(COUNTERS) + 1), dtype=np.int64)
        values[: len(self.totals), : len(COUNTERS)] = np.array(
            list(self.totals.values()), dtype=np.int64
        ).reshape(-1, len(COUNTERS))  # fmt: skip
        values[len(self.totals) :, -1] = number
        order = np.argsort(ids, kind="stable")
        return ids[order], dict(zip((*COUNTERS, UNCOUNTED), values[order].T, strict=True))


def counted(tables: Iterable[CounterRow], indexes: Iterable[CounterRow]) -> Counted:
    """Totals of tables and indexes.

    Args:
        tables: three names, then LOGICAL_READS, PHYSICAL_READS, SEQUENTIAL_READS, RANDOM_READS; None: no such counter.
        indexes: likewise.
    """
    found: dict[int, Totals] = {}
    bounded = False
    for part, rows in ((Part.TABLE, tables), (Part.INDEX, indexes)):
        for row in rows:
            logical, physical, sequential, random = (None if value is None else int(str(value)) for value in row[3:7])
            if physical is None and part is Part.INDEX and random is not None:
                physical, bounded = random + (sequential or 0), True
            if physical is None:
                continue
            number = unit_number(part, str(row[0]), str(row[1]), str(row[2] or ""))
            totals = (logical or 0, physical, sequential or 0, random or 0)
            before = found.get(number)
            found[number] = totals if before is None else _highest(before, totals)
    return Counted(found, bounded)


def _highest(one: Totals, other: Totals) -> Totals:
    return max(one[0], other[0]), max(one[1], other[1]), max(one[2], other[2]), max(one[3], other[3])


def unit_number(part: Part, schema: str, name: str, member: str) -> int:
    """The number of a unit in samples: of its names and its partition or member, also where there is one only."""
    return physical_id(part, schema, f"{name}\0{member}", 0, None)


def waited_for(deltas: Mapping[str, F64]) -> F64:
    """Physical reads of an interval that were random; all of them where it tells no kinds of reads.

    >>> waited_for({"physical_reads": np.array([80.0]), "random_reads": np.array([30.0]),
    ...             "sequential_reads": np.array([10.0])}).tolist()
    [60.0]
    """
    random, every = deltas["random_reads"], deltas["random_reads"] + deltas["sequential_reads"]
    share = np.divide(random, every, out=np.ones_like(random), where=every > 0)
    return deltas["physical_reads"] * share


SSD = 1
NOT_CONFIGURED = 0  # number of a unit that is in no ASP
ResidencyRow = Sequence[object]


@dataclass(slots=True)
class ObjectResidency:
    """Bytes of one object by medium."""

    asp: int
    fast: int = 0
    slow: int = 0

    @property
    def size(self) -> int:
        """All of it."""
        return self.fast + self.slow

    @property
    def mostly_fast(self) -> bool:
        """Whether more than half is on SSDs; what has no bytes is nowhere, and so not there."""
        return self.fast * 2 > self.size


def total(parts: Sequence[ObjectResidency]) -> ObjectResidency:
    """Of an object that is shown in parts; it is in the ASP of its largest one."""
    largest = max(parts, key=lambda part: part.size)
    return ObjectResidency(largest.asp, sum(part.fast for part in parts), sum(part.slow for part in parts))


@dataclass(frozen=True, slots=True)
class DiskPool:
    """The units of one medium in one ASP."""

    asp: int
    fast: bool
    units: int
    capacity: int  # bytes
    free: int

    @property
    def name(self) -> str:
        """As tiers call it."""
        return pool_name(self.asp, fast=self.fast)


def pool_name(asp: int, *, fast: bool) -> str:
    """Of the SSDs or the other disks of an ASP."""
    return f"ASP{asp} {'SSD' if fast else 'HDD'}"


def _pool_of(space: str) -> str:
    """The ASP of one of its media, which nothing leaves: another ASP is another library."""
    return space.rpartition(" ")[0]


def space_of(at: ObjectResidency, known: Collection[str]) -> str:
    """Where an object is; one without bytes is on the disks of its ASP, or on its SSDs where it has no others."""
    slow = pool_name(at.asp, fast=False)
    fast = at.mostly_fast or (not at.size and slow not in known)
    return pool_name(at.asp, fast=True) if fast else slow


def bytes_by_object(rows: Iterable[ResidencyRow], names: int) -> dict[tuple[str, ...], ObjectResidency]:
    """Bytes of each object.

    Args:
        rows: its names, then ASP_NUMBER, UNIT_NUMBER, UNIT_TYPE, UNIT_SPACE_USED; one for each unit it lies on.
        names: how many columns the name has.
    """
    units: dict[tuple[str, ...], dict[tuple[int, int], tuple[bool, int]]] = {}
    for row in rows:
        key = tuple(str(part or "").rstrip() for part in row[:names])
        asp, unit, kind, used = (int(str(value or 0)) for value in row[names : names + 4])
        mine = units.setdefault(key, {})
        fast, most = mine.get((asp, unit), (False, 0))
        mine[asp, unit] = (fast or kind == SSD, max(most, used))
    return {
        key: ObjectResidency(
            next(iter(mine))[0],
            sum(used for fast, used in mine.values() if fast),
            sum(used for fast, used in mine.values() if not fast),
        )
        for key, mine in units.items()
    }


def pools(rows: Iterable[ResidencyRow]) -> tuple[DiskPool, ...]:
    """Media of each ASP.

    Args:
        rows: ASP_NUMBER, UNIT_NUMBER, UNIT_TYPE, capacity, UNIT_SPACE_AVAILABLE; units may repeat: of each the last
            row that knows its capacity counts, as a path that is not active may show none.
    """
    units: dict[tuple[int, int], tuple[bool, int, int]] = {}
    for row in rows:
        asp, unit, kind, capacity, free = (int(str(value or 0)) for value in row)
        if unit == NOT_CONFIGURED:
            continue
        fast, before, left = units.get((asp, unit), (False, 0, 0))
        known = (capacity, free) if capacity > 0 else (before, left)
        units[asp, unit] = (fast or kind == SSD, *known)
    found: dict[tuple[int, bool], list[tuple[int, int]]] = {}
    for (asp, _), (fast, capacity, free) in units.items():
        found.setdefault((asp, fast), []).append((capacity, free))
    return tuple(
        DiskPool(asp, fast, len(mine), sum(capacity for capacity, _ in mine), sum(free for _, free in mine))
        for (asp, fast), mine in sorted(found.items())
    )


def mixed_media_pools(found: Iterable[DiskPool]) -> frozenset[int]:
    """ASPs with both media: only there do *HSM and *MP balance anything."""
    media: dict[int, set[bool]] = {}
    for pool in found:
        media.setdefault(pool.asp, set()).add(pool.fast)
    return frozenset(asp for asp, kinds in media.items() if len(kinds) > 1)


KILOBYTE = 1024
CONSTRAINTS = frozenset({"PRIMARY KEY", "UNIQUE", "FOREIGN KEY", "PHYSICAL"})  # INDEX_TYPE without a logical file
STORAGE_GROUP = "I"  # STORTYPE of SYSIBM.SYSTABLEPART and SYSINDEXPART; E: the user manages its data sets
NOWHERE = "(no storage group)"
NO_NAME_OF_ZOS = "has a name that commands take only in quotation marks: -STOP DATABASE cannot be written for it"
NO_NAME_OF_I = (
    "has no system name here that can be written, and CL takes no other (QSYS2.SYSPARTITIONSTAT, SYSPARTITIONINDEXES)"
)
NO_SIZE_OF_ZOS = "has no size here (SPACE in {source} is NULL or negative), so room for it cannot be planned"
NO_KIND_OF_ZOS = (
    "is of a kind (by range, by growth, LOB) that is not known here (SYSIBM.SYSTABLESPACE.TYPE), and a wrong statement "
    "ends with -665, or its REORG fails"
)
Script = Callable[[str], ByHand | str]  # name of the target -> what a person runs, or why there is nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One unit."""

    key: Key
    number: int  # in samples
    kind: UnitKind
    size_bytes: int
    space: str
    script: Script
    together: str = ""  # those with the same words here move by one script; "": it moves alone


@dataclass(frozen=True, slots=True)
class Look:
    """All of it."""

    spaces: tuple[Space, ...]
    units: tuple[Seen, ...]
    devices: Mapping[int, str] = field(default_factory=dict)  # of independent ASPs, by number
    unlisted: tuple[str, ...] = ()  # table spaces of z/OS without a row of real-time statistics


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
                    name, at, space_of(at, known), system_names.get(name), _asp(at.asp, both, devices),
                    partitioned=of_table[name[:2]] > 1,
                )
                for name, at in tables.items()
            ),
            (
                _index_of_i(
                    index, space_of(index.at, known), _asp(index.at.asp, both, devices),
                    partitioned=of_index[name[:2]] > 1,
                )
                for name, index in indexes.items()
            ),
        )
    )  # fmt: skip
    return Look(_spaces_of_i(found, units), units, devices)


def _spaces_of_i(found: Sequence[DiskPool], units: Sequence[Seen]) -> tuple[Space, ...]:
    """Media of each ASP; one that no view of disk units shows has no size, and its units stay."""
    spaces = [
        Space(
            name=pool.name, path="", used_bytes=pool.capacity - pool.free, free_bytes=pool.free,
            capacity_bytes=pool.capacity, domain=_pool_of(pool.name),
        )
        for pool in found
    ]  # fmt: skip
    used: dict[str, int] = {}
    for unit in units:
        used[unit.space] = used.get(unit.space, 0) + unit.size_bytes
    unknown = sorted(used.keys() - {space.name for space in spaces})
    return (
        *spaces,
        *(
            Space(
                name=name, path="", used_bytes=used[name], free_bytes=None, capacity_bytes=None, domain=_pool_of(name)
            )
            for name in unknown
        ),
    )


def _asp(number: int, both: frozenset[int], devices: Mapping[int, str]) -> Asp | None:
    """The ASP whose balancer follows a preference; None where an ASP has one medium only."""
    return Asp(number, devices.get(number, "")) if number in both else None


def _script(write: Callable[[Media], str], space: str, asp: Asp | None, why: str = NO_NAME_OF_I) -> Script:
    """What prefers a medium, there and back, and what makes the system follow.

    Args:
        write: the statement that prefers a medium; "" where there is none.
        space: where the object is.
        asp: of it.
        why: there is none.
    """
    pool = _pool_of(space)

    def by_hand(target: str) -> ByHand | str:
        there, back = (write("SSD" if name.endswith("SSD") else "ANY") for name in (target, space))
        if not (there and back):
            return why
        if _pool_of(target) != pool:
            return f"is in {pool}, and a preferred medium moves nothing to another ASP: that takes save and restore"
        if asp is None:
            return f"is in {pool}, where all disk units are of one medium (QSYS2.SYSDISKSTAT)"
        return ibm_i.move_by_hand(there, back, asp)

    return by_hand


def _table_of_i(
    name: tuple[str, ...],
    at: ObjectResidency,
    space: str,
    names: Row | None,
    asp: Asp | None,
    *,
    partitioned: bool,
) -> Seen:
    schema, table, partition = name

    def write(media: Media) -> str:
        if not partitioned:
            return ibm_i.prefer_table(schema, table, media)
        if names is None:
            return ""
        library, file, member = (str(part) for part in names)
        return ibm_i.prefer_member(Member(library=library, file=file, member=member), media)

    return Seen(
        key=Key(Part.TABLE, schema, table, partition if partitioned else None),
        number=unit_number(Part.TABLE, schema, table, partition),
        kind=UnitKind.TABLE_PARTITION if partitioned else UnitKind.TABLE,
        size_bytes=at.size,
        space=space,
        script=_script(write, space, asp),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Index:
    """One member of an index, over all rows that speak of it."""

    schema: str
    name: str
    member: str  # "": a constraint has none
    at: ObjectResidency
    kinds: frozenset[str]  # INDEX_TYPE: a constraint may be called as an index is
    tables: frozenset[str]  # several under a join logical file
    library: str  # system names; "": not known
    file: str


def _indexes_of_i(session: PlanSession) -> dict[tuple[str, ...], _Index]:
    """Members of indexes by schema, name and member."""
    names = {(str(row[0]), str(row[1])): (str(row[2]), str(row[3])) for row in session.rows("i_index_names") if row[3]}
    rows: dict[tuple[str, ...], list[tuple[tuple[str, ...], ObjectResidency]]] = {}
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
            library=names.get((schema, name), (ibm_i.system_name(schema), ""))[0],
            file=names.get((schema, name), ("", ibm_i.system_name(name)))[1],
        )
        for (schema, name, member), of in rows.items()
    }


def _index_of_i(index: _Index, space: str, asp: Asp | None, *, partitioned: bool) -> Seen:
    bound = sorted(index.kinds & CONSTRAINTS)
    tables = ", ".join(sorted(index.tables))
    why = f"is the access path of a constraint and goes with the file of {tables}" if bound else NO_NAME_OF_I

    def write(media: Media) -> str:
        if bound:
            return ""
        if not partitioned:
            return ibm_i.prefer_file(index.library, index.file, media, index=True)
        of = Member(library=index.library, file=index.file, member=index.member)
        return ibm_i.prefer_member(of, media, index=True)

    return Seen(
        key=Key(Part.INDEX, index.schema, index.name, index.member if partitioned else None),
        number=unit_number(Part.INDEX, index.schema, index.name, index.member),
        kind=UnitKind.INDEX_PARTITION if partitioned else UnitKind.INDEX,
        size_bytes=index.at.size,
        space=space,
        script=_script(write, space, asp, why),
    )


def look_at_zos(session: PlanSession, more_groups: Sequence[str]) -> Look:
    """By storage group. Real-time statistics may be negative for a while: that counts as nothing.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    groups = _groups(session.rows("z_groups"))
    index_groups = _groups(session.rows("z_index_groups"))
    kinds = {(str(row[0]), str(row[1])): zos.kind_of(row[3], row[4]) for row in session.rows("z_kinds")}
    scratch = {str(row[0]) for row in session.rows("z_work_databases")}
    spaces_of, indexes_of = (
        [row for row in session.rows(name) if str(row[0]) not in scratch] for name in ("z_table_spaces", "z_indexes")
    )
    cloned = _names_with_clones(spaces_of), _names_with_clones(indexes_of)
    units = [_table_space_of_zos(row, groups, kinds, cloned[0]) for row in spaces_of]
    units += [_index_of_zos(row, index_groups, cloned[1]) for row in indexes_of]
    units = list(one_of_each(units))
    empty = (str(row[0]) for row in session.rows("z_storage_groups"))
    used: dict[str, int] = dict.fromkeys((*more_groups, *empty), 0)
    for unit in units:
        used[unit.space] = used.get(unit.space, 0) + unit.size_bytes
    spaces = tuple(
        Space(name=name, path="", used_bytes=size, free_bytes=None, capacity_bytes=None) for name, size in used.items()
    )
    listed = {(str(row[0]), str(row[1]), int(row[2] or 0)) for row in spaces_of}
    unlisted = sorted(f"{name[0]}.{name[1]}" for name in groups.keys() - listed if name[0] not in scratch)
    return Look(spaces, tuple(units), unlisted=tuple(dict.fromkeys(unlisted)))


def _names_with_clones(rows: Iterable[Row]) -> frozenset[tuple[str, str]]:
    """Database and name of what has data sets of two instances: one is of the clone."""
    instances: dict[tuple[str, str], set[object]] = {}
    for row in rows:
        instances.setdefault((str(row[0]), str(row[1])), set()).add(row[3])
    return frozenset(name for name, numbers in instances.items() if len(numbers) > 1)


_Groups = Mapping[tuple[str, str, int], str]


def _groups(rows: Iterable[Row]) -> _Groups:
    """Storage groups by two names and the partition; "" where the user manages the data sets, or it is not known."""
    return {
        (str(row[0]), str(row[1]), int(row[2] or 0)): str(row[4] or "")
        for row in rows
        if row[3] in (None, STORAGE_GROUP)
    }


def _size_of_zos(kilobytes: object) -> int | None:
    """Bytes; None where real-time statistics have none, or are negative for a while."""
    return None if kilobytes is None or int(str(kilobytes)) < 0 else int(str(kilobytes)) * KILOBYTE


def _table_space_of_zos(
    row: Row, groups: _Groups, kinds: Mapping[tuple[str, str], str | None], cloned: Collection[tuple[str, str]]
) -> Seen:
    database, name, partition, _, kilobytes = row[:5]
    number, kind = int(partition or 0), kinds.get((str(database), str(name)))
    of = zos.TableSpacePart(
        database=str(database), name=str(name), partition=number, kind=kind or "",
        cloned=(str(database), str(name)) in cloned,
    )  # fmt: skip
    space, size = groups.get((of.database, of.name, number)) or NOWHERE, _size_of_zos(kilobytes)

    def script(target: str) -> ByHand | str:
        if kind is None:
            return NO_KIND_OF_ZOS
        if size is None:
            return NO_SIZE_OF_ZOS.format(source="SYSIBM.SYSTABLESPACESTATS")
        return zos.move_table_space(of, space, target) or NO_NAME_OF_ZOS

    return Seen(
        key=Key(Part.TABLE, of.database, of.name, f"P{number}" if number else None),
        number=unit_number(Part.TABLE, of.database, of.name, f"P{number}" if number else ""),
        kind=UnitKind.TABLE_PARTITION if number else UnitKind.TABLE,
        size_bytes=size or 0,
        space=space,
        script=script,
        together=f"{of.database}.{of.name}" if number and not of.alone else "",
    )


def _index_of_zos(row: Row, groups: _Groups, cloned: Collection[tuple[str, str]]) -> Seen:
    database, name, partition, _, kilobytes, _, creator, index_space = row[:8]
    number = int(partition or 0)
    space, size = groups.get((str(creator), str(name), number)) or NOWHERE, _size_of_zos(kilobytes)
    of = zos.IndexPart(
        database=str(database), space=str(index_space or ""), creator=str(creator), name=str(name), partition=number,
        cloned=(str(database), str(name)) in cloned,
    )  # fmt: skip

    def script(target: str) -> ByHand | str:
        if not (creator and index_space):
            return "lacks its creator or its index space here (SYSIBM.SYSINDEXSPACESTATS)"
        if size is None:
            return NO_SIZE_OF_ZOS.format(source="SYSIBM.SYSINDEXSPACESTATS")
        return zos.move_index(of, space, target) or NO_NAME_OF_ZOS

    return Seen(
        key=Key(Part.INDEX, str(creator or database), str(name), f"P{number}" if number else None),
        number=unit_number(Part.INDEX, str(creator or database), str(name), f"P{number}" if number else ""),
        kind=UnitKind.INDEX_PARTITION if number else UnitKind.INDEX,
        size_bytes=size or 0,
        space=space,
        script=script,
    )
