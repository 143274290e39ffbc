"""Why a table cannot be split, by name, and what a person would have to do first. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from connectors.postgresql.moving.split_table import FOREIGN_TYPE, Column, Table
from connectors.route import NoRoute

PLAIN, PARTITIONED = "r", "p"
PERMANENT, UNLOGGED = "p", "u"
EXCLUSION, CHECK, FOREIGN_KEY = "x", "c", "f"
MOST_NAMED = 5


def refusal_of(table: Table, column_name: str) -> NoRoute | None:
    """The first reason against splitting the table along that column; None where there is none."""
    return next(_reasons(table, column_name), None)


def column_of(table: Table, name: str) -> Column | None:
    """The column of that name; None where there is none."""
    return next((column for column in table.columns if column.name == name), None)


def _reasons(table: Table, column_name: str) -> Iterator[NoRoute]:
    yield from _of_kind(table)
    yield from _of_column(table, column_name)
    yield from _of_dependents(table)
    column = column_of(table, column_name)
    if column is not None:
        yield from _of_keys(table, column)
    yield from _of_parts(table)


def _of_kind(table: Table) -> Iterator[NoRoute]:
    if table.kind == PARTITIONED:
        yield NoRoute(code="partitioned", sentence="it is partitioned already: its next partitions can be made in time")
    elif table.partition:
        yield NoRoute(code="partition", sentence="it is a partition: the table that it belongs to decides its bounds")
    elif table.kind != PLAIN:
        yield NoRoute(code="no_table", sentence="only a plain table can be split")
    if table.persistence != PERMANENT:
        what = "an unlogged" if table.persistence == UNLOGGED else "a temporary"
        yield NoRoute(code="not_permanent", sentence=f"it is {what} table, which is not split")
    if table.typed:
        yield NoRoute(code="typed", sentence="it is a table of a composite type: ALTER TABLE ... NOT OF frees it")
    if table.inherits:
        yield NoRoute(code="inheritance", sentence="it inherits or is inherited from: ALTER TABLE ... NO INHERIT first")
    if table.access_method != "heap":
        yield NoRoute(code="access_method", sentence=f"its storage is {table.access_method}, only heap is split")


def _of_column(table: Table, name: str) -> Iterator[NoRoute]:
    column = column_of(table, name)
    if column is None:
        known = ", ".join(each.name for each in table.columns)
        yield NoRoute(code="no_column", sentence=f"it has no column {name!r}; it has {known}")
    elif not column.built_in:
        yield NoRoute(code="foreign_type", sentence=FOREIGN_TYPE.format(name, column.type))
    elif column.generated:
        yield NoRoute(code="generated", sentence=f"{name} is a generated column, which no table is partitioned by")
    elif not column.not_null:
        yield NoRoute(
            code="nullable",
            sentence=f"{name} may be null, and no range takes nulls: ALTER COLUMN ... SET NOT NULL first",
        )


def _of_dependents(table: Table) -> Iterator[NoRoute]:
    by_name = (
        ("incoming_keys", table.incoming_keys, "foreign keys refer to it", "drop them, and add them to the new table"),
        ("triggers", table.triggers, "it has triggers", "drop them, and make them on the new table"),
        ("unheld_keys", table.unheld_keys, "its foreign keys are switched off", "ALTER TABLE ... ENABLE TRIGGER ALL"),
        ("rules", table.rules, "it has rules", "drop them; a partitioned table takes them again"),
        ("publications", table.publications, "it is published", "take it out, and publish it by its root afterwards"),
        ("dependents", table.dependents, "others depend on it", "drop them, and make them on the new table"),
        ("statistics", table.statistics, "it has extended statistics", "drop them, and make them on the new table"),
    )
    for code, names, what, remedy in by_name:
        if names:
            yield NoRoute(code=code, sentence=f"{what} ({list_names(names)}): {remedy}")
    if table.extension:
        yield NoRoute(code="extension", sentence=f"it belongs to the extension {table.extension}, which would lose it")
    if table.labels:
        yield NoRoute(code="labels", sentence="it has security labels, which would stay with the cold part")


def _of_keys(table: Table, column: Column) -> Iterator[NoRoute]:
    without = [index.name for index in table.indexes if index.unique and column.number not in index.key]
    if without:
        yield NoRoute(
            code="unique",
            sentence=f"unique keys do not contain {column.name} ({list_names(without)}), and only keys that do can be "
            "unique across partitions: add it to them",
        )
    exclusion = [each.name for each in table.constraints if each.type == EXCLUSION]
    if exclusion:
        yield NoRoute(
            code="exclusion", sentence=f"exclusion constraints ({list_names(exclusion)}) hold within one partition only"
        )
    invalid = [index.name for index in table.indexes if not index.valid]
    if invalid:
        yield NoRoute(
            code="invalid_index", sentence=f"indexes are invalid ({list_names(invalid)}): drop or rebuild them"
        )


def _of_parts(table: Table) -> Iterator[NoRoute]:
    unchecked = [each.name for each in table.constraints if not each.valid]
    if unchecked:
        yield NoRoute(
            code="not_valid",
            sentence=f"constraints were never checked ({list_names(unchecked)}): VALIDATE CONSTRAINT first",
        )
    alone = [each.name for each in table.constraints if each.type in (CHECK, "n") and each.no_inherit]
    if alone:
        yield NoRoute(
            code="no_inherit", sentence=f"constraints are NO INHERIT ({list_names(alone)}): make them without it"
        )
    given = [
        *(grant for grant in table.grants if grant.grantor != table.owner),
        *(grant for each in table.sequences if each.identity for grant in each.grants if grant.grantor != table.owner),
    ]
    if given:
        names = list_names(sorted({each.grantor for each in given}))
        yield NoRoute(
            code="grantors",
            sentence=f"privileges were granted by others than its owner ({names}): have the owner grant",
        )
    shared = [each.name for each in table.sequences if each.identity and each.used_elsewhere]
    if shared:
        yield NoRoute(code="sequence", sentence=f"identity sequences are used elsewhere ({list_names(shared)})")
    tuned = [each.name for each in table.indexes if each.statistics]
    if tuned:
        yield NoRoute(
            code="index_statistics", sentence=f"indexes have statistics targets ({list_names(tuned)}): set them to -1"
        )


def list_names(names: Sequence[str]) -> str:
    """The first few of them."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
