"""The statements of each method to move a unit to another filegroup, without tags. Pure.

An index is rebuilt there by ``CREATE INDEX ... WITH (DROP_EXISTING = ON) ON filegroup``; ALTER INDEX REBUILD has no
ON and moves nothing. A heap gets a clustered index for a while. Partitions move by building their index on a second
partition scheme that sends them elsewhere. Large objects follow neither, see ``routes``. A nonclustered index may
also be built as a second index, resumable, and then take the name of the old one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from connectors.model.moves import Bundle, Locked, NoRoute, Operation
from connectors.sqlserver import ddl, operations
from connectors.sqlserver.definition import (
    CLUSTERED,
    HEAP,
    KEY_TYPES,
    NONCLUSTERED,
    Definition,
    IndexColumn,
    IndexDefinition,
    TableColumn,
)
from connectors.sqlserver.keys import name_of, quote

PREFIX = "hotplace_"
MADE = f"{PREFIX}\0"  # the name of what a move makes for itself; the mark stands for the number of the move
_ALONE = "partitions: switched moves one partition alone, by copy and SWITCH, where nothing speaks against it"
MOST_EQUAL = 2**31 - 1  # rows of one value in a clustered index that is not unique
KEY_BYTES = 900  # of a clustered index in every version


@dataclass(frozen=True, slots=True)
class MethodStatement:
    """One statement with its purpose, and the statements that pause, resume and abort it where it can be paused."""

    sql: str
    purpose: str
    operation: Operation
    pause: str = ""
    resume: str = ""
    abort: str = ""


@dataclass(frozen=True, slots=True)
class Method:
    """The statements of a move and of its undo; names that they make are ``MADE``."""

    name: str
    there: tuple[MethodStatement, ...]
    back: tuple[MethodStatement, ...]
    tidy: tuple[MethodStatement, ...] = ()
    tidy_copies: bool = False  # what tidies up writes the bundle once more; else it only removes
    rebuilds: int = 1
    rewritten_bytes: int = 0  # of other units, which the statement writes too
    rewrites: str = ""  # what that is
    locks: str = ""  # of its own; "": those of building an index
    locked: Locked | None = None  # what they hold up
    logged: bool = False  # every row is, whatever the recovery model
    stays: bool = False  # what was moved keeps its room in the source for a time
    notes: tuple[str, ...] = ()


Maker = Callable[[Definition, Bundle, str, ddl.Build], Method | NoRoute]


def method_for(definition: Definition, bundle: Bundle) -> Maker:
    """The function that builds the method for this kind of unit."""
    if index_of(definition).kind == HEAP:
        return _heap
    if definition.name.partition is not None:
        return _partition
    return _with_lob if any(key.endswith(" lob") for key in bundle.unit_keys) else _rebuild


def second_index_method(definition: Definition, bundle: Bundle, to_space: str, build: ddl.Build) -> Method:
    """A second nonclustered index, which takes the place and name of the old one in one transaction."""
    index = index_of(definition)
    table = definition.name

    def way(space: str) -> tuple[MethodStatement, ...]:
        return (
            _build_statement(
                ddl.rebuild(table, index, build, quote(space), name=MADE),
                f"build a second {bundle.key} in {space}",
                definition,
                MADE,
                build,
            ),
            MethodStatement(
                ddl.swap(table, MADE, index.name or ""),
                f"let it take the place of the old {bundle.key}",
                Operation(operations.SWAP_INDEX, {"index": index.name or ""}),
            ),
        )

    return Method(
        "index beside the old one, resumable",  # a route's name is the key of its learned copy times: never reworded
        way(to_space),
        way(bundle.space),
        tidy=(
            _abort_statement(definition, MADE),
            MethodStatement(
                ddl.drop_index(table, MADE),
                "remove the index that was built and not used",
                Operation(operations.DROP_INDEX, {"index": MADE}),
            ),
        ),
        notes=(
            "it gets a new index_id: plans that Query Store forces on the old one fail until they are forced again",
        ),
    )


def index_of(definition: Definition) -> IndexDefinition:
    """The index of the unit, which is there: its absence is refused before."""
    index = definition.index
    assert index is not None, "refused before"
    # A temporary scheme has two partitions, so ranges of partitions would not fit; one value for all does.
    return index if len(index.partitions) > 1 else replace(index, partitions=index.partitions[:1])


def _build_statement(sql: str, purpose: str, definition: Definition, index: str, build: ddl.Build) -> MethodStatement:
    """A build, with what holds it if it is resumable."""
    operation = Operation(operations.BUILD_INDEX, {"index": index, "resumable": build.resumable})
    if not build.resumable:
        return MethodStatement(sql, purpose, operation)
    table = definition.name
    return MethodStatement(
        sql,
        purpose,
        operation,
        pause=ddl.alter(table, index, "PAUSE"),
        resume=ddl.resume(table, index, build),
        abort=ddl.alter(table, index, "ABORT"),
    )


def _abort_statement(definition: Definition, index: str) -> MethodStatement:
    sql = ddl.alter(definition.name, index, "ABORT")
    return MethodStatement(sql, "give up the build that is held", Operation(operations.ABORT_BUILD, {"index": index}))


def _aborts(definition: Definition, build: ddl.Build) -> tuple[MethodStatement, ...]:
    """Gives a held build of the index itself up."""
    if not build.resumable:
        return ()
    return (_abort_statement(definition, index_of(definition).name or ""),)


def _rebuild(definition: Definition, bundle: Bundle, to_space: str, build: ddl.Build) -> Method:
    index = index_of(definition)

    def way(space: str) -> tuple[MethodStatement, ...]:
        sql = ddl.rebuild(definition.name, index, build, quote(space))
        return (_build_statement(sql, f"rebuild {bundle.key} in {space}", definition, index.name or "", build),)

    notes = ["other indexes of the table stay where they are"] if index.kind == CLUSTERED else []
    if any(p.lob_pages for p in definition.partitions) and not index.columnstore:
        notes.append("LOB stays: large objects are not moved by this")
    return Method("rebuild", way(to_space), way(bundle.space), tidy=_aborts(definition, build), notes=tuple(notes))


def _heap(definition: Definition, bundle: Bundle, to_space: str, build: ddl.Build) -> Method | NoRoute:
    if definition.name.partition is not None:
        sentence = f"{bundle.key} is a partitioned heap: give it a clustered index, or try partitions: switched"
        return NoRoute(code="partitioned_heap", sentence=sentence)
    carrier = _carrier(definition)
    if carrier is None:
        return NoRoute(code="no_key", sentence=f"{bundle.key} is a heap without a column that an index may have as key")
    heap = definition.partitions[0]
    if heap.rows > MOST_EQUAL and not carrier.unique_index:
        sentence = (
            f"{bundle.key} is a heap of {heap.rows:,} rows without a unique index: an index numbers "
            f"{MOST_EQUAL:,} rows of one value at most (error 666), which would end the build after hours"
        )
        return NoRoute(code="too_many_equal", sentence=sentence)

    def way(space: str) -> tuple[MethodStatement, ...]:
        on = quote(space)
        return (
            MethodStatement(
                ddl.cluster_heap(
                    definition.name, MADE, carrier.columns, heap, build, on, unique=bool(carrier.unique_index)
                ),
                f"carry {bundle.key} to {space} by a clustered index",
                Operation(operations.CLUSTER_HEAP, {"index": MADE}),
            ),
            MethodStatement(
                ddl.uncluster_heap(definition.name, MADE, build, on),
                f"make {bundle.key} a heap again",
                Operation(operations.DROP_INDEX, {"index": MADE}),
            ),
        )

    return Method(
        "heap by a clustered index",
        way(to_space),
        way(bundle.space),
        tidy=(way(to_space)[1],),
        tidy_copies=True,
        rebuilds=2,
        rewritten_bytes=2 * _nonclustered_bytes(definition),
        notes=("every nonclustered index of the table is rebuilt twice, where it is", *_order_notes(carrier)),
    )


def _order_notes(carrier: _Carrier) -> Iterator[str]:
    """What a clustered index that comes and goes does to the rows of a heap."""
    keys = ", ".join(quote(column.name) for column in carrier.columns)
    if carrier.unique_index:
        by = f"by the key of the unique index {carrier.unique_index}: {keys}"
    else:
        by = (
            f"by {keys}, the narrowest column, as no unique index has a key for it: rows of equal values are numbered, "
            "which takes 4 bytes a row meanwhile"
        )
    yield (
        f"its rows are sorted {by}; the order in which they were inserted is lost, so a query without ORDER BY may "
        "return them in another order"
    )
    yield "forwarded rows come back to their pages: every row has a new place, and scans read each page once"
    yield "move_by: filegroup moves all of its filegroup by files instead, and leaves it a heap in the order it has"


def _partition(definition: Definition, bundle: Bundle, to_space: str, build: ddl.Build) -> Method | NoRoute:
    """The whole index on a scheme of the same function that sends the partitions of the bundle elsewhere."""
    index = index_of(definition)
    scheme, column = definition.spaces.get(index.space_id), ddl.partition_column(index)
    target = definition.space_named(to_space)
    if scheme is None or scheme.function is None or column is None or target is None:
        return NoRoute(code="no_scheme", sentence=f"the partition scheme of {bundle.key} cannot be seen")
    numbers = sorted(number for key in bundle.unit_keys if (number := name_of(key).partition) is not None)
    moved = scheme.destinations | dict.fromkeys(numbers, target.number)
    filegroups = [definition.spaces[moved[number]].name for number in range(1, scheme.fanout + 1)]
    filegroups.append(
        definition.spaces[scheme.next_or_last].name
    )  # one more than partitions: else every SPLIT would fail with 7707
    on, off = f"{quote(MADE)} ({quote(column)})", f"{quote(scheme.name)} ({quote(column)})"
    drop = _drop_scheme(MADE)
    whole = sum(p.row_pages for p in index.partitions) * 8192
    others = ("all partitions are rewritten, the others where they are: each filegroup needs room for a second copy",)
    said = f"partition {numbers[0]}" if len(numbers) == 1 else f"{len(numbers)} partitions"

    return Method(
        "rebuild on a second partition scheme",
        (
            _create_scheme(MADE, scheme.function, filegroups, f"a scheme that sends {said} to {to_space}"),
            _build_on(definition, bundle, build, on, "that scheme"),
        ),
        (_build_on(definition, bundle, build, off, scheme.name, scheme=scheme.name), drop),
        tidy=(*_aborts(definition, build), drop),
        rewritten_bytes=max(0, whole - bundle.size_bytes),
        rewrites=f"all partitions of {replace(definition.name, partition=None).key}",
        notes=(
            *(others if len(numbers) < scheme.fanout else ()),
            "the table no longer shares its scheme with others, and SWITCH with them needs equal schemes",
            _next_used_note(filegroups[-1], scheme.name),
            *((_ALONE,) if len(numbers) == 1 else ()),
        ),
    )


def _next_used_note(filegroup: str, own: str) -> str:
    return (
        f"the new scheme has {filegroup} as NEXT USED, which the first SPLIT RANGE uses up: a job that slides the "
        f"window names NEXT USED for it as for {own}, or its next SPLIT fails with 7707"
    )


def back_to_scheme(own: str, made: str) -> Maker:
    """The maker of the method that takes ``_partition`` back: to the index's own scheme, and ours is removed.

    Args:
        own: name of the scheme that the index came from.
        made: name of the one that it is on now.
    """

    def method(definition: Definition, bundle: Bundle, _: str, build: ddl.Build) -> Method | NoRoute:
        index = index_of(definition)
        column, old, new = ddl.partition_column(index), definition.scheme_named(own), definition.scheme_named(made)
        if column is None or old is None or new is None or new.function is None:
            return NoRoute(code="no_scheme", sentence=f"the partition scheme that {bundle.key} came from is gone")
        numbers = [*range(1, new.fanout + 1), *([new.fanout + 1] if new.next_used else [])]
        filegroups = [definition.spaces[new.destinations[number]].name for number in numbers]
        whole = sum(p.row_pages for p in index.partitions) * 8192
        drop = _drop_scheme(made)
        return Method(
            "rebuild on its own partition scheme",
            (
                _build_on(definition, bundle, build, f"{quote(own)} ({quote(column)})", own, scheme=own),
                drop,
            ),
            (
                _create_scheme(made, new.function, filegroups, f"the scheme that {bundle.key} was on"),
                _build_on(definition, bundle, build, f"{quote(made)} ({quote(column)})", "that scheme"),
            ),
            tidy=(*_aborts(definition, build), drop),
            rewritten_bytes=max(0, whole - bundle.size_bytes),
            rewrites=f"all partitions of {replace(definition.name, partition=None).key}",
            notes=(f"the index is on its own scheme {own} again, and {made} is removed",),
        )

    return method


def _create_scheme(name: str, function: str, filegroups: Sequence[str], purpose: str) -> MethodStatement:
    operation = Operation(operations.CREATE_SCHEME, {"scheme": name})
    return MethodStatement(ddl.create_scheme(name, function, filegroups), purpose, operation)


def _drop_scheme(name: str) -> MethodStatement:
    operation = Operation(operations.DROP_SCHEME, {"scheme": name})
    return MethodStatement(ddl.drop_scheme(name), "remove the second partition scheme", operation)


def _build_on(
    definition: Definition, bundle: Bundle, build: ddl.Build, on: str, name: str, *, scheme: str = ""
) -> MethodStatement:
    """The index rebuilt on a scheme; ``scheme`` where it is its own."""
    index = index_of(definition)
    sql = ddl.rebuild(definition.name, index, build, on)
    made = _build_statement(sql, f"rebuild the index of {bundle.key} on {name}", definition, index.name or "", build)
    if not scheme:
        return made
    return replace(made, operation=Operation(made.operation.name, {**made.operation.parameters, "scheme": scheme}))


def _with_lob(definition: Definition, bundle: Bundle, to_space: str, build: ddl.Build) -> Method | NoRoute:
    """To a partition scheme and off it again: the only rebuilds that take LOB_DATA along."""
    index = index_of(definition)
    leading = next((c for c in definition.columns if index.keys and c.name == index.keys[0].name), None)
    kind = None if leading is None else ddl.type_of(leading)
    if leading is None or kind is None or index.columnstore:
        return NoRoute(code="lob_stays", sentence=f"the first key column of {bundle.key} cannot partition it")
    rebuilt = Operation(operations.BUILD_INDEX, {"index": index.name or "", "resumable": False})
    drops = (
        MethodStatement(
            ddl.drop_scheme(MADE), "remove the temporary partition scheme", Operation(operations.DROP_SCHEME)
        ),
        MethodStatement(
            ddl.drop_function(MADE), "remove the temporary partition function", Operation(operations.DROP_FUNCTION)
        ),
    )

    def way(space: str) -> tuple[MethodStatement, ...]:
        on_scheme = ddl.rebuild(definition.name, index, build, f"{quote(MADE)} ({quote(leading.name)})")
        return (
            MethodStatement(
                ddl.create_function(MADE, kind),
                "a temporary partition function",
                Operation(operations.CREATE_FUNCTION),
            ),
            MethodStatement(
                ddl.create_scheme(MADE, MADE, (space, space)),
                f"a temporary partition scheme in {space}",
                Operation(operations.CREATE_SCHEME),
            ),
            MethodStatement(on_scheme, f"rebuild {bundle.key} on it, large objects included", rebuilt),
            MethodStatement(
                ddl.rebuild(definition.name, index, build, quote(space)), f"rebuild {bundle.key} in {space}", rebuilt
            ),
            *drops,
        )

    return Method(
        "rebuild through a partition scheme",
        way(to_space),
        way(bundle.space),
        tidy=(way(to_space)[3], *drops),
        tidy_copies=True,
        rebuilds=2,
        rewritten_bytes=2 * _nonclustered_bytes(definition),
        notes=(
            "the table is rebuilt twice so that its large objects follow, and every nonclustered index where it is",
        ),
    )


def _nonclustered_bytes(definition: Definition) -> int:
    """Of the indexes that are rebuilt when the table comes to a clustered index or another partitioning."""
    return sum(p.row_pages for i in definition.indexes if i.kind == NONCLUSTERED for p in i.partitions) * 8192


@dataclass(frozen=True, slots=True)
class _Carrier:
    """The key of the clustered index that carries a heap, and the unique index that it was taken from, if any."""

    columns: tuple[IndexColumn, ...]
    unique_index: str = ""


def _carrier(definition: Definition) -> _Carrier | None:
    """The shortest key of a unique index, which sorts without duplicates; else the narrowest column, not null first."""
    fit = {c.name: c for c in definition.columns if _may_be_key(c)}
    unique = [
        (sum(fit[c.name].max_length for c in index.keys), index.index_id, index)
        for index in definition.indexes
        if index.kind == NONCLUSTERED
        and index.unique
        and not (index.disabled or index.has_filter)
        and all(c.name in fit for c in index.keys)
    ]
    shortest = min((u for u in unique if u[0] <= KEY_BYTES), key=lambda u: u[:2], default=None)
    if shortest is not None:
        return _Carrier(shortest[2].keys, shortest[2].name or "")
    column = min(fit.values(), key=lambda c: (c.nullable, c.max_length), default=None)
    return None if column is None else _Carrier((IndexColumn(column.name, 1, 0, 0, 0, 0),))


def _may_be_key(column: TableColumn) -> bool:
    plain = not column.large and not column.computed and column.type_name in KEY_TYPES
    return plain and 0 < column.max_length <= KEY_BYTES
