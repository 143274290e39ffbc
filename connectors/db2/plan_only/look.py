"""What Db2 for i and z/OS show: spaces, units, and for each unit the script that would move it.

Reads of Db2 for i (``counted``, ``waited_for``) are totals since the last IPL. Shares are taken of an interval only: a
product of two totals, such as physical reads times the share of random ones, is no counter. Such a product falls with
every scan, and after years of scans it no longer shows a look-up. An index that spans partitions has one equal row for
each; the highest counts. Where SYSPARTITIONINDEXSTAT counts no physical reads, random and sequential operations are an
upper bound.

Bytes of Db2 for i (``bytes_by_object``, ``pools``) come from the disk units, as a preferred medium does not say where
data is. ``UNIT_TYPE`` 1 is an SSD. SYSDISKSTAT has a row for each path to a unit, even to an empty unit. Spanning
indexes come again with every partition, which DISTINCT in the query takes out.

Scripts (``prefer_table`` to ``script``) are for a person and are never sent. On i, ``UNIT SSD`` is a wish that the
system follows when it allocates, and ``STRASPBAL TYPE(*MP)`` moves what lies elsewhere. CL takes system names of at
most ten characters. On z/OS, a table space is given another storage group, and its data sets move when REORG makes them
again. DSNUTILU calls REORG, so no JCL is needed; TEMPLATE names the data sets.

``look_at_i`` and ``look_at_zos`` put all of this together. Several rows for an object are normal: an index of i has one
for each member and table; a clone of z/OS shares the table space and storage group of its base table, and moves with
it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Literal

import numpy as np

from connectors.db2.names import Key, Part, identifier, literal, physical_id
from connectors.db2.plan_only.session import PlanSession, Row
from connectors.model.formatting import comment, written
from connectors.model.moves import UnitKind
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
    found: dict[tuple[str, ...], ObjectResidency] = {}
    for row in rows:
        key = tuple(str(part or "").rstrip() for part in row[:names])
        asp, _, kind, used = (int(str(value or 0)) for value in row[names : names + 4])
        object_ = found.setdefault(key, ObjectResidency(asp))
        if kind == SSD:
            object_.fast += used
        else:
            object_.slow += used
    return found


def pools(rows: Iterable[ResidencyRow]) -> tuple[DiskPool, ...]:
    """Media of each ASP.

    Args:
        rows: ASP_NUMBER, UNIT_NUMBER, UNIT_TYPE, capacity, UNIT_SPACE_AVAILABLE; units may repeat: their last rows
            count.
    """
    units: dict[tuple[int, int], tuple[bool, int, int]] = {}
    for row in rows:
        asp, unit, kind, capacity, free = (int(str(value or 0)) for value in row)
        if unit != NOT_CONFIGURED:
            units[asp, unit] = (kind == SSD, capacity, free)
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


def _spaces_of_i(found: Sequence[DiskPool], units: Sequence[Seen]) -> tuple[Space, ...]:
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
    return (follow_preference(asp, device=devices.get(asp, "")),) if asp in both else ()


def _table_of_i(
    name: tuple[str, ...],
    at: ObjectResidency,
    space: str,
    names: Row | None,
    balance: tuple[str, ...],
    *,
    partitioned: bool,
) -> Seen:
    schema, table, partition = name

    def write(target: str) -> tuple[str, ...]:
        media: Media = "SSD" if target.endswith("SSD") else "ANY"
        if not partitioned:
            first = prefer_table(schema, table, media)
        elif names is None:
            return ()
        else:
            library, file, member = (str(part) for part in names)
            first = prefer_member(Member(library=library, file=file, member=member), media)
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
            library=names.get((schema, name), (system_name(schema), ""))[0],
            file=names.get((schema, name), ("", system_name(name)))[1],
        )
        for (schema, name, member), of in rows.items()
    }


def _index_of_i(index: _Index, space: str, balance: tuple[str, ...], *, partitioned: bool) -> Seen:
    bound = sorted(index.kinds & CONSTRAINTS)
    member = system_name(index.member)

    def write(target: str) -> tuple[str, ...]:
        if bound or not (index.library and index.file and (member or not partitioned)):
            return ()
        media: Media = "SSD" if target.endswith("SSD") else "ANY"
        if not partitioned:
            return (prefer_file(index.library, index.file, media, index=True), *balance)
        of = Member(library=index.library, file=index.file, member=member)
        return (prefer_member(of, media, index=True), *balance)

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
        return move_table_space(str(database), str(name), number, target, by_growth=kind == BY_GROWTH)

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
        script=lambda target: move_index(str(creator), str(name), number, target) if creator else (),
    )
