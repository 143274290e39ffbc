"""Why a unit cannot be moved to a filegroup, in words. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from connectors.model import Bundle, NoRoute
from connectors.sqlserver.reading.definition import (
    CLUSTERED,
    HEAP,
    NONCLUSTERED,
    SPATIAL,
    XML,
    DataSpace,
    Definition,
    IndexDefinition,
    Owner,
)
from connectors.sqlserver.reading.keys import name_of
from connectors.sqlserver.routes.move_methods import PREFIX

Reason = tuple[object, str, str]
_HISTORY_TABLE = 1
_MADE_TABLE = re.compile(rf"{PREFIX}[0-9a-f]{{8}}_(?:back_)?(?:new|old)")


def refusal(definition: Definition | None, bundle: Bundle, to_space: str, *, lob_moves: bool) -> NoRoute | None:
    """The first reason against the move, None where there is none."""
    index = None if definition is None else definition.index
    if definition is None or index is None or not definition.partitions:
        return NoRoute(code="gone", sentence=f"{bundle.key} no longer exists")
    return _first(
        (
            *_of_owner(definition.owner, bundle.key),
            *_of_target(definition.space_named(to_space), to_space),
            *_of_source(definition, bundle.key),
            *_of_index(definition, index, bundle),
            *_of_large_objects(definition, index, bundle, lob_moves),
            (definition.homes() == {to_space}, "already_there", f"{bundle.key} is already in {to_space}"),
        )
    )


def _first(reasons: Iterable[Reason]) -> NoRoute | None:
    return next((NoRoute(code=code, sentence=sentence) for applies, code, sentence in reasons if applies), None)


def _of_owner(owner: Owner, key: str) -> tuple[Reason, ...]:
    made = _MADE_TABLE.fullmatch(name_of(key).table)
    published = owner.is_replicated or owner.is_published or owner.is_merge_published
    return (
        (owner.updateability != "READ_WRITE", "standby", "the database is read-only here; moves happen on the primary"),
        (made, "made_by_move", f"{key} is a table that a move has made, and goes with it"),
        (owner.is_ms_shipped, "system_table", f"{key} belongs to the system"),
        (owner.is_memory_optimized, "memory_optimized", f"{key} is memory-optimized: it is not read from disk"),
        (owner.is_external or owner.is_stretched, "external", f"{key} does not lie in this database's files"),
        (owner.is_filetable, "filetable", f"{key} is a FileTable"),
        (owner.temporal_type == _HISTORY_TABLE, "history_table", f"{key} is the history of a temporal table"),
        (published, "replicated", f"{key} is published for replication"),
        (owner.filestream_space_id, "filestream", f"{key} has FILESTREAM data, which lies in a filegroup of its own"),
    )


def _of_target(target: DataSpace | None, to_space: str) -> tuple[Reason, ...]:
    if target is None:
        return ((True, "no_space", f"there is no filegroup {to_space}"),)
    return (
        (target.read_only, "read_only_space", f"filegroup {to_space} is read-only"),
        (not target.files, "no_files", f"filegroup {to_space} has no file"),
    )


def _of_source(definition: Definition, key: str) -> tuple[Reason, ...]:
    """Nothing is rebuilt out of a filegroup that is read-only (error 1924)."""
    spaces = (definition.space_named(name) for name in sorted(definition.homes()))
    fixed = next((space.name for space in spaces if space is not None and space.read_only), None)
    return ((fixed, "read_only_source", f"{key} lies in filegroup {fixed}, which is read-only"),)


def _of_index(definition: Definition, index: IndexDefinition, bundle: Bundle) -> tuple[Reason, ...]:
    key, kinds = bundle.key, {other.kind for other in definition.indexes}
    special = bool(kinds & {XML, SPATIAL})
    return (
        (index.disabled, "disabled_index", f"{key} is disabled; building it would enable it"),
        (
            index.has_filter and index.filter is None,
            "filter_hidden",
            f"the filter of {key} may not be seen by this login: it needs VIEW DEFINITION",
        ),
        (
            special and (index.primary_key or index.kind == CLUSTERED),
            "xml_or_spatial",
            f"an XML or spatial index is built on {key}; SQL Server refuses (error 1996)",
        ),
        (
            definition.owner.fulltext_indexes and index.unique,
            "full_text",
            f"{key} may be the key of the table's full-text index",
        ),
        (special and index.kind == HEAP, "xml_or_spatial", f"{key} has an XML or spatial index"),
        (
            index.kind == HEAP and any(i.has_filter and i.filter is None for i in definition.indexes),
            "filter_hidden",
            f"the filter of an index of {key} may not be seen by this login: it needs VIEW DEFINITION",
        ),
    )


def _of_large_objects(
    definition: Definition, index: IndexDefinition, bundle: Bundle, lob_moves: bool
) -> tuple[Reason, ...]:
    """Large objects stay where they are, unless the rebuild switches between partitioned and not."""
    if definition.name.lob:
        return (
            (
                True,
                "lob_stays",
                f"{bundle.key} stays when the table is rebuilt; lob_moves: true moves both, in two rebuilds",
            ),
        )
    together = lob_moves and any(key.endswith(" lob") for key in bundle.unit_keys)
    return (
        (
            together and (index.kind in {HEAP, NONCLUSTERED} or definition.name.partition is not None),
            "lob_stays",
            f"the large objects of {bundle.key} can be moved only with an unpartitioned clustered index",
        ),
    )
