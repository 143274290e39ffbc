"""One partition to another filegroup without writing the others: SPLIT of an empty range, and copy and SWITCH. Pure.

An empty range is merged away and split off again, with the target as NEXT USED: catalog only. A filled partition is
copied into a table of the same shape in the target while its table is locked against writers, and the copy takes its
place in the same transaction: its rows are never unseen, and the server itself takes back whatever is interrupted.
Tables are made before that transaction and dropped after it, as their names would be locked for all of it.

The copy is made of what this login sees, and SWITCH takes all rows away: a security policy that no one reported would
make rows vanish with the replaced ones. So these are counted by other eyes than the copy's: by the storage between the
two SWITCHes, and exactly, in a step of its own, before they are dropped. Until then they can be switched back.

Sources: sql-docs, ALTER PARTITION FUNCTION (MERGE removes the filegroup that held the boundary, SPLIT puts the side
with the boundary on NEXT USED), ALTER TABLE SWITCH; the message catalog for the numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from connectors.model.formatting import format_seconds
from connectors.model.moves import Bundle, Locked, NoRoute, Operation, Parameter
from connectors.sqlserver import ddl, operations, switch_ddl
from connectors.sqlserver.ddl import Build
from connectors.sqlserver.definition import (
    CLUSTERED,
    HEAP,
    NONCLUSTERED,
    DataSpace,
    Definition,
    IndexDefinition,
    Partition,
    literal,
    own_boundary,
    scheme_of,
)
from connectors.sqlserver.keys import TABLE_INDEX, Name, quote
from connectors.sqlserver.move_methods import MADE, Method, MethodStatement

# The copy, and what takes the rows that it replaces until they are dropped; of the way there, and of the way back,
# whose tables must not meet those that are kept.
NEW, OLD, BACK = f"{MADE}_new", f"{MADE}_old", f"{MADE}_back"
BACK_NEW, BACK_OLD = f"{BACK}_new", f"{BACK}_old"
_ROWSTORE = frozenset({HEAP, CLUSTERED, NONCLUSTERED})
_LOW_PRIORITY_SINCE = 12  # of SWITCH
_NEIGHBOUR = "SPLIT may scan the neighbouring range, and no other session reads the table meanwhile"
_SWITCH_LOCKS = (
    "S on the table while the partition is copied: reads go on, writes wait; then Sch-M for a moment, behind which "
    "others queue"
)


@dataclass(frozen=True, slots=True)
class _Range:
    """One partition with what its statements name."""

    definition: Definition
    scheme: DataSpace
    function: str
    column: str
    number: int
    low: str | None  # literals; None: no boundary on that side
    high: str | None
    boundary: str  # the one that goes and comes back

    @property
    def table(self) -> str:
        return ddl.quoted_table(self.definition.name)

    @property
    def rows(self) -> str:
        """What is true of its rows alone."""
        return f"$PARTITION.{quote(self.function)}({quote(self.column)}) = {self.number}"

    def index_partition(self, index: IndexDefinition) -> Partition:
        return next(p for p in index.partitions if p.number == self.number)

    def check(self) -> str:
        """The range as a constraint. NULLs lie in the first partition."""
        column, right = quote(self.column), self.scheme.on_right
        parts = [f"{column} IS NOT NULL"] if self.number > 1 else []
        parts += [f"{column} {'>=' if right else '>'} {self.low}"] if self.low else []
        parts += [f"{column} {'<' if right else '<='} {self.high}"] if self.high else []
        return " AND ".join(parts)

    def reshape(self, space: str) -> str:
        """The empty range merged away and split off again in that filegroup; NEXT USED as it was before."""
        # SPLIT uses NEXT USED up. Without putting it back, the site's next SPLIT of this function would fail (7707).
        before = self.scheme.destinations.get(self.scheme.fanout + 1)
        kept = () if before is None else (switch_ddl.next_used(self.scheme.name, self.definition.spaces[before].name),)
        return "; ".join(
            (
                switch_ddl.merge(self.function, self.boundary),
                switch_ddl.next_used(self.scheme.name, space),
                switch_ddl.split(self.function, self.boundary),
                *kept,
            )
        )


def empty_range(definition: Definition, bundle: Bundle, to_space: str) -> Method | None:
    """The method for an empty partition; None if it has rows, or would take others along."""
    found = _range_of(definition)
    if isinstance(found, NoRoute) or not _is_empty(found):
        return None

    def way(space: str) -> tuple[MethodStatement, ...]:
        return (
            MethodStatement(
                switch_ddl.empty(found.definition.name, str(found.number), found.rows, found.reshape(space)),
                f"put the empty range in {space}",
                Operation(operations.MOVE_EMPTY),
            ),
        )

    return Method(
        "NEXT USED and SPLIT of an empty partition",
        way(to_space),
        way(bundle.space),
        notes=("indexes of the same partition scheme go along, which are as empty", _NEIGHBOUR),
        locks="Sch-M on the table for a moment: no row is written",
        locked=Locked.BRIEFLY,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """A partition on its way from filegroup to filegroup, with the tables that are made for it."""

    found: _Range
    key: str
    here: str
    there: str
    new: str
    old: str
    build: Build
    kept_seconds: float = 0.0  # that the replaced rows are kept

    def steps(self) -> tuple[MethodStatement, ...]:
        """In order: what is dropped last has no rows."""
        found, kept = self.found, self.kept_seconds > 0
        exchanged: dict[str, Parameter] = {"new": self.new, "old": self.old, "counted": True, "kept": kept}
        return (
            *_create_staging(found, self.new, self.there, self.build, check=found.check()),
            *_create_staging(found, self.old, self.here, self.build),
            MethodStatement(
                switch_ddl.exchange(self._exchange(), found.reshape(self.there)),
                f"copy {self.key} to {self.there} and let the copy take its place",
                Operation(operations.EXCHANGE, exchanged),
            ),
            # The empty table stays with kept rows: it takes the copy, should they take their place again.
            *((self._count(),) if kept else (self._drop_old(), self._drop_new())),
        )

    def tidy(self) -> tuple[MethodStatement, ...]:
        """What ends it, whatever it has left; each only where the catalog says that it fits."""
        return (
            *((self._count(),) if self.kept_seconds > 0 else ()),
            self.take_back(),
            self._drop_old(),
            self._drop_new(),
        )

    def take_back(self) -> MethodStatement:
        """The replaced rows in their place again."""
        return MethodStatement(
            switch_ddl.switch_back(self._exchange(), self.found.reshape(self.here)),
            f"let the replaced rows of {self.key} take their place again, if nothing was written since",
            Operation(operations.SWITCH_BACK, {"new": self.new, "old": self.old}),
        )

    def back(self) -> tuple[MethodStatement, ...]:
        """The way back of rows that are kept: nothing is copied."""
        return self.take_back(), self._drop_old(), self._drop_new()

    def _count(self) -> MethodStatement:
        return MethodStatement(
            switch_ddl.count_table(_staging(self.found, self.old), self.kept_seconds),
            f"count the replaced rows, which are kept for {format_seconds(self.kept_seconds)} from then on",
            Operation(operations.COUNT_TABLE, {"table": self.old}),
        )

    def _drop_old(self) -> MethodStatement:
        purpose = "remove the rows that the copy replaced, if there are as many as were copied"
        return self._drop(self.old, purpose, kept=self.kept_seconds > 0)

    def _drop_new(self) -> MethodStatement:
        return self._drop(self.new, "remove the table that the copy was made in, now empty")

    def _drop(self, name: str, purpose: str, *, kept: bool = False) -> MethodStatement:
        dropped = Operation(operations.DROP_TABLE, {"table": name, "counted": True})
        return MethodStatement(switch_ddl.drop_table(_staging(self.found, name), kept=kept), purpose, dropped)

    def _exchange(self) -> switch_ddl.Exchange:
        """Everything that must happen together, in one transaction."""
        return switch_ddl.Exchange(
            table=self.found.table,
            number=self.found.number,
            rows=self.found.rows,
            columns=self.found.definition.columns,
            new=_staging(self.found, self.new),
            old=_staging(self.found, self.old),
            check=self.found.check(),
            patience=self.build.low_priority_minutes if self.build.major >= _LOW_PRIORITY_SINCE else None,
        )


def switch_method(
    definition: Definition, bundle: Bundle, to_space: str, build: Build, *, kept_seconds: float = 0.0
) -> Method | NoRoute:
    """The method for a filled partition, or why it must be moved by rebuilding its whole index.

    Args:
        definition: of its table.
        bundle: the partition with its indexes.
        to_space: where to.
        build: how indexes are built.
        kept_seconds: how long the replaced rows are kept; 0: they are dropped once they are counted.
    """
    found = _range_of(definition)
    if isinstance(found, NoRoute):
        return found
    reason = next(_against(found, bundle), None)
    if reason is not None:
        return NoRoute(code="no_switch", sentence=f"SWITCH is not for {bundle.key}: {reason}")
    way = _Way(
        found=found, key=bundle.key, here=bundle.space, there=to_space, new=NEW, old=OLD, build=build,
        kept_seconds=kept_seconds,
    )  # fmt: skip
    back = replace(way, here=to_space, there=bundle.space, new=BACK_NEW, old=BACK_OLD, kept_seconds=0.0)
    notes = ["no other partition is written; its rows are seen all the time, before or after", _NEIGHBOUR]
    if kept_seconds > 0:
        kept = f"the replaced rows take their room in {bundle.space} for {format_seconds(kept_seconds)} more"
        notes.append(f"{kept} (keep_original); as long as nothing is written they can take their place again")
    return Method(
        "copy and SWITCH of one partition",
        way.steps(),
        back.steps(),
        tidy=(*way.tidy(), *back.tidy()),
        locks=_SWITCH_LOCKS,
        locked=Locked.WRITES,
        logged=True,
        stays=kept_seconds > 0,
        notes=tuple(notes),
    )


def switch_back_method(
    definition: Definition, bundle: Bundle, to_space: str, build: Build, *, made: str
) -> Method | NoRoute:
    """The method that puts kept rows in their place again, or why the partition is none that could take them.

    Args:
        definition: of its table, now.
        bundle: the partition with its indexes, now.
        to_space: where the kept rows are.
        build: how the statements wait for their locks.
        made: what the names of the tables begin with that the move has made.
    """
    found = _range_of(definition)
    if isinstance(found, NoRoute):
        return found
    new, old = (name.replace(MADE, made) for name in (NEW, OLD))
    way = _Way(found=found, key=bundle.key, here=to_space, there=bundle.space, new=new, old=old, build=build)
    return Method(
        "SWITCH of the kept rows",
        way.back(),
        (),
        tidy=way.back()[1:],
        locks="S on the table while both are compared: reads go on, writes wait; then Sch-M for a moment, behind which "
        "others queue",
        locked=Locked.WRITES,
        notes=("no row is copied; refused where anything was written since the move", _NEIGHBOUR),
    )


def _range_of(definition: Definition) -> _Range | NoRoute:
    """The partition, if its range can be taken away and come back alone."""
    scheme, known, number = scheme_of(definition), definition.partitioning, definition.name.partition
    key, index = definition.name.key, definition.index
    column = None if index is None else ddl.partition_column(index)
    if scheme is None or known is None or number is None or column is None or scheme.function is None:
        return NoRoute(code="no_scheme", sentence=f"the partition scheme of {key} cannot be seen")
    kind = next((c.type_name for c in definition.columns if c.name == column), "")
    values = [literal(kind, value) for value in known.boundaries]
    boundary = own_boundary(scheme, number)
    reason = _no_range(definition, scheme, number)
    if boundary is None:
        reason = f"it is the outermost partition of {quote(scheme.name)}, which has no boundary of its own"
    elif None in values or len(values) != scheme.fanout - 1:
        reason = f"boundaries of type {kind or 'unknown'} are not written by hotplace"
    if reason or boundary is None:
        return NoRoute(code="no_switch", sentence=f"SWITCH and SPLIT are not for {key}: {reason}")
    low = values[number - 2] if number > 1 else None
    high = values[number - 1] if number < scheme.fanout else None
    return _Range(definition, scheme, scheme.function, column, number, low, high, str(values[boundary - 1]))


def _no_range(definition: Definition, scheme: DataSpace, number: int) -> str:
    """Why merging and splitting that range would change more than this partition; "" where it does not."""
    own = [index for index in definition.indexes if index.space_id == scheme.number]
    if definition.partitioning is not None and definition.partitioning.shared:
        return f"another table or scheme uses {quote(scheme.function or '')}, and its partition would go along"
    if any(index.kind not in _ROWSTORE for index in definition.indexes):
        return "SPLIT of a filled range is refused if the table has a columnstore, XML or spatial index (35346)"
    neighbour = (
        number - 1 if scheme.on_right else number + 1
    )  # what MERGE leaves, and whose compression SPLIT takes over
    for index in own:
        shapes = {(p.compression, p.xml_compression) for p in index.partitions if p.number in {number, neighbour}}
        if len(shapes) > 1:
            return "the neighbouring range is compressed in another way, which SPLIT would take over (11406)"
    return ""


def _against(found: _Range, bundle: Bundle) -> Iterator[str]:
    """What SWITCH refuses, and what a table of the same shape could not have."""
    definition = found.definition
    if definition.partitioning is not None:
        yield from definition.partitioning.hindrances
    if definition.owner.temporal_type:
        yield "it is a temporal table (13546)"
    if definition.owner.fulltext_indexes:
        yield "it has a full-text index (4918)"
    for index in definition.indexes:
        if index.space_id != found.scheme.number:
            yield f"{quote(index.name or '')} is not on the table's partition scheme (7733)"
        if index.disabled or (index.has_filter and index.filter is None):
            yield f"{quote(index.name or '')} is disabled, or its filter may not be seen"
    if not _holds_its_column(found):
        yield f"{quote(found.column)} is no key of its indexes, so that a plain table would lack it (4947)"
    if any(column.large or ddl.type_of(column) is None for column in definition.columns):
        yield "a column is of a type that hotplace does not write, or holds large objects"
    wanted = {replace(definition.name, index=unit_name(i), lob=False).key for i in definition.indexes}
    if wanted != set(bundle.unit_keys):
        yield "all its indexes go along, which are not in this bundle: partitions: switched makes one of them"


def _holds_its_column(found: _Range) -> bool:
    """Each index has the partitioning column by its own definition or by the clustered key, not by partitioning it."""
    held = [
        any(c.name == found.column and (c.key_ordinal or c.included) for c in index.columns)
        for index in found.definition.indexes
        if index.kind != HEAP
    ]
    clustered = [i for i in found.definition.indexes if i.kind == CLUSTERED]
    return all(held) or any(c.name == found.column for i in clustered for c in i.keys)


def unit_name(index: IndexDefinition) -> str | None:
    """The name of its units; None of those of the table itself."""
    return index.name if index.kind == NONCLUSTERED else None


def _aligned_indexes(found: _Range) -> list[IndexDefinition]:
    return [index for index in found.definition.indexes if index.space_id == found.scheme.number]


def _is_empty(found: _Range) -> bool:
    """No row of the table lies there; an index may have none where it has a filter."""
    aligned = _aligned_indexes(found)
    whole = any(index.index_id <= TABLE_INDEX for index in aligned)
    return whole and not any(found.index_partition(index).rows for index in aligned)


def _staging(found: _Range, name: str) -> Name:
    return Name(found.definition.name.schema, name)


def _create_staging(
    found: _Range, name: str, space: str, build: Build, *, check: str = ""
) -> Iterator[MethodStatement]:
    """An empty table of the same shape in that filegroup, with every index."""
    table, on = _staging(found, name), quote(space)
    heap = next((index for index in found.definition.indexes if index.kind == HEAP), None)
    sql = switch_ddl.create_table(
        table,
        found.definition.columns,
        on,
        constraint=switch_ddl.range_of(table),
        check=check,
        compression="" if heap is None else found.index_partition(heap).compression,
    )
    yield MethodStatement(
        sql, f"a table of the same columns in {space}", Operation(operations.CREATE_TABLE, {"table": name})
    )
    # Offline: the table is empty and no one else knows it.
    plain = replace(build, online=False, resumable=False)
    for index in found.definition.indexes:
        if index.kind != HEAP:
            own = f"{name}_{index.index_id}"
            built = Operation(operations.BUILD_INDEX, {"index": own, "resumable": False})
            yield MethodStatement(_index(found, index, table, own, on, plain), f"its index like {index.name}", built)


def _index(found: _Range, index: IndexDefinition, table: Name, name: str, on: str, build: Build) -> str:
    """The index with the properties of that partition; statistics cannot be kept by partition where there is one."""
    alone = replace(index, partitions=(replace(found.index_partition(index), number=1),), incremental=0)
    if index.primary_key or index.unique_constraint:
        return ddl.add_key(table, alone, build, on, name=name)
    return ddl.rebuild(table, alone, build, on, name=name)
