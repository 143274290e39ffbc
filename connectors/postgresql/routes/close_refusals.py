"""Why the open part of a partitioned table cannot be closed, by name, and what to do first. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from connectors.postgresql.moving.open_part import OpenPart, PartitionKey
from connectors.postgresql.moving.split_table import FOREIGN_TYPE, Column, Table
from connectors.postgresql.routes.split_refusals import PERMANENT, PLAIN, list_names
from connectors.route import NoRoute

RANGE = "r"  # pg_partitioned_table.partstrat


def refusal_of_closing(found: OpenPart | None) -> NoRoute | None:
    """The first reason against closing the open part of that table; None where there is none."""
    if found is None:
        sentence = "it is no partitioned table: hotplace split makes one of it"
        return NoRoute(code="not_partitioned", sentence=sentence)
    return next(_reasons(found), None)


def _reasons(found: OpenPart) -> Iterator[NoRoute]:
    yield from _of_key(found.by, found.column)
    if found.part is None:
        sentence = "all of its parts have an end: hotplace rules propose --table --ahead makes the next ones in time"
        yield NoRoute(code="no_open_part", sentence=sentence)
        return
    yield from _of_place(found.by, found.whole, found.part)
    yield from _of_surroundings(found.whole, found.part)


def _of_key(by: PartitionKey, column: Column | None) -> Iterator[NoRoute]:
    if by.strategy != RANGE or by.columns != 1 or column is None:
        yield NoRoute(code="not_by_range", sentence="it is not partitioned by ranges of one column")
    elif not column.built_in:
        yield NoRoute(code="foreign_type", sentence=FOREIGN_TYPE.format(column.name, column.type))
    elif not column.not_null:
        sentence = f"{column.name} may be null, which the server would look for under a lock: SET NOT NULL first"
        yield NoRoute(code="nullable", sentence=sentence)
    if by.has_default:
        sentence = "it has a default partition, which would be read under a lock: detach it"
        yield NoRoute(code="default_partition", sentence=sentence)


def _of_place(by: PartitionKey, whole: Table, part: Table) -> Iterator[NoRoute]:
    if not by.low:
        yield NoRoute(code="no_beginning", sentence=f"{by.name} has no beginning, or none that is a plain value")
    if by.kind != PLAIN or part.access_method != "heap":
        yield NoRoute(code="no_table", sentence=f"its open part {by.name} is no plain table")
    if part.persistence != PERMANENT:
        yield NoRoute(code="not_permanent", sentence=f"its open part {by.name} is unlogged: ALTER TABLE ... SET LOGGED")
    if whole.partition:
        yield NoRoute(code="partition", sentence="it is a partition itself, whose bounds another table decides")
    if by.schema != whole.schema_:
        yield NoRoute(code="schema", sentence=f"its open part {by.name} is in schema {by.schema}: SET SCHEMA first")
    if part.owner != whole.owner:
        yield NoRoute(code="owner", sentence=f"its open part {by.name} belongs to {part.owner}: OWNER TO {whole.owner}")


def _of_surroundings(whole: Table, part: Table) -> Iterator[NoRoute]:
    """What a part loses while it is detached, or the next one does not get."""
    by_name = (
        ("incoming_keys", (*whole.incoming_keys, *part.incoming_keys), "foreign keys refer to it", "drop them"),
        ("triggers", (*whole.triggers, *part.triggers), "it has triggers", "drop them, or close it by hand"),
        ("publications", (*whole.publications, *part.publications), "it is published",
         "subscribers want the next part first: close it by hand"),
        ("invalid_index", [each.name for each in part.indexes if not each.valid],
         "indexes of its open part are invalid", "drop or rebuild them"),
    )  # fmt: skip
    for code, names, what, remedy in by_name:
        if names:
            yield NoRoute(code=code, sentence=f"{what} ({list_names(sorted(set(names)))}): {remedy}")
