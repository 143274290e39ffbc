"""A table split by a range of a column, written for a person: function, scheme, clustered index rebuilt on it. Pure.

It copies every row of the clustered index; online where edition and columns allow it. The other indexes stay where they
are, not aligned with the partitions, until they are rebuilt on the scheme.
Source: sql-docs, CREATE PARTITION FUNCTION, CREATE PARTITION SCHEME, CREATE INDEX.
"""

from __future__ import annotations

import re

from connectors.containers import ByHand
from connectors.model import Bundle, NoRoute
from connectors.scripts import comment
from connectors.splitting import Border
from connectors.sqlserver.reading.definition import CLUSTERED, Definition
from connectors.sqlserver.reading.keys import quote
from connectors.sqlserver.routes import ddl
from connectors.sqlserver.routes.online import Server, may_build_online, may_partition
from connectors.sqlserver.settings import SqlserverSettings

_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_LONGEST = 110  # characters of a name of ours, below the 128 of a name


def by_hand(
    definition: Definition | None, bundle: Bundle, border: Border, to_space: str, server: Server,
    settings: SqlserverSettings,
) -> ByHand | NoRoute:  # fmt: skip
    """The statements, or why there is no way.

    Args:
        definition: of the table; None: it is gone.
        bundle: the table.
        border: where it is split.
        to_space: filegroup of rows from the border on.
        server: what it can.
        settings: how indexes are built.
    """
    if definition is None or definition.index is None:
        return NoRoute(code="gone", sentence=f"{bundle.key} no longer exists")
    refused = _refusal(definition, border, to_space, server)
    if refused is not None:
        return refused
    index, column = definition.index, next(each for each in definition.columns if each.name == border.column)
    kind, name = ddl.type_of(column), f"hotplace_{definition.name.table}"[:_LONGEST]
    assert kind is not None, "refused above"
    value = border.value if _NUMBER.fullmatch(border.value) else "N'" + border.value.replace("'", "''") + "'"
    online = may_build_online(definition, server)
    build = ddl.Build(
        major=server.major, online=online, maxdop=settings.maxdop, sort_in_tempdb=settings.sort_in_tempdb,
        low_priority_minutes=settings.low_priority_minutes,
    )  # fmt: skip
    table = ddl.quoted_table(definition.name)
    held = "reads and writes go on, with a lock for a moment at the begin and the end"
    return ByHand(
        statements=(
            comment("how many rows go where; it reads the table or an index:"),
            f"SELECT COUNT_BIG(*) FROM {table} WHERE {quote(border.column)} >= {value}",  # noqa: S608  # quoted names
            f"CREATE PARTITION FUNCTION {quote(name)} ({kind}) AS RANGE RIGHT FOR VALUES ({value})",
            ddl.create_scheme(name, name, (bundle.space, to_space)),
            comment(
                f"it copies all rows; {held if online else 'offline, since this edition or table has no other way'}:"
            ),
            ddl.rebuild(definition.name, index, build, f"{quote(name)}({quote(border.column)})"),
            comment("back: the same statement with the old filegroup behind ON, then"),
            ddl.drop_scheme(name),
            ddl.drop_function(name),
        ),
        because="it copies all rows, and its other indexes stay unaligned until a person decides about each of them",
    )


def _refusal(definition: Definition, border: Border, to_space: str, server: Server) -> NoRoute | None:
    index = definition.index
    assert index is not None, "looked at before"
    column = next((each for each in definition.columns if each.name == border.column), None)
    space = definition.spaces.get(index.space_id)
    keys = {each.name for each in index.keys}
    reasons = (
        (not may_partition(server), "edition", "this edition makes no partition functions before 2016 SP1"),
        (space is not None and space.scheme, "partitioned", "it is partitioned already: SPLIT RANGE adds a part"),
        (index.kind != CLUSTERED, "no_clustered_index", "its rows are in no clustered index: make one on it first"),
        (column is None, "no_column", f"it has no column {border.column!r}"),
        (column is not None and ddl.type_of(column) is None, "type", "no table is partitioned by such a column"),
        (
            bool(index.unique) and border.column not in keys, "unique",
            f"its clustered index is unique and does not contain {border.column}: add it to the key",
        ),
        (definition.space_named(to_space) is None, "no_space", f"there is no filegroup {to_space}"),
    )  # fmt: skip
    return next((NoRoute(code=code, sentence=sentence) for applies, code, sentence in reasons if applies), None)
