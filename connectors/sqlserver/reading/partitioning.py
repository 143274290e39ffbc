"""What is known of a table's partition function: its boundaries, who else uses it, what SWITCH would refuse."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from connectors.sqlserver.reading.definition import DataSpace, Definition, Partitioning
from connectors.sqlserver.session.sessions import ReadSession

_NUMBERS = frozenset({"tinyint", "smallint", "int", "bigint", "decimal", "numeric"})
_MOMENTS = frozenset({"date", "datetime", "datetime2", "smalldatetime"})
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_NARROW, _NATIONAL = frozenset({"char", "varchar"}), frozenset({"nchar", "nvarchar"})


@dataclass(frozen=True, slots=True)
class Hindrances:
    """The row of ``sql/hindrances.sql``, in its order."""

    foreign_keys: int
    check_constraints: int
    change_tracking: int
    change_capture: int
    indexed_views: int
    odd_columns: int
    guarded_columns: int
    security_predicates: int
    ansi_nulls: int
    ledger: int
    graph: int

    def sentences(self) -> Iterator[str]:
        """Each of them in words, with the error that SWITCH would end with where there is one."""
        said = (
            (self.foreign_keys, "it has foreign keys or is referenced by some (4967, 4968)"),
            (self.check_constraints, "it has CHECK constraints (4971)"),
            (self.change_tracking, "its changes are tracked (4900)"),
            (self.change_capture, "its changes are captured, which would miss or repeat the rows"),
            (self.indexed_views, "the database has indexed views (11402, 11420)"),
            (self.odd_columns, "a column is an identity, computed, sparse or of a type of its own"),
            (self.guarded_columns, "a column is encrypted, masked or always generated"),
            (
                self.security_predicates,
                "a security policy filters its rows, of which a copy would have those alone that it shows",
            ),
            (not self.ansi_nulls, "it was made with ANSI_NULLS OFF"),
            (self.ledger, "it is a ledger table"),
            (self.graph, "it is a node or an edge of a graph"),
        )
        return (words for applies, words in said if applies)


def knowing(session: ReadSession, definition: Definition | None) -> Definition | None:
    """The same with ``partitioning`` filled in, where the unit is one partition; else as it was.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    scheme = None if definition is None else scheme_of(definition)
    if definition is None or scheme is None or scheme.function is None:
        return definition
    doing, number = f"looking at the partition function {scheme.function}", definition.owner.object_id
    boundaries = session.rows("boundaries", scheme.function, doing=doing)
    users = session.rows("function_users", scheme.function, doing=doing)
    hindrances = session.rows("hindrances", number, doing=doing)
    shared = any(space != scheme.number or object_id != number for space, object_id, _ in users)
    own = None if definition.index is None else definition.index.index_id
    on_scheme = {(object_id, index_id) for space, object_id, index_id in users if space == scheme.number and object_id}
    on_scheme.add((number, own))  # also where the index is not there yet, but will be once a move before has ended
    found = Partitioning(
        alone=len(on_scheme) <= 1,
        boundaries=tuple(value for _, value in boundaries),
        shared=shared,
        hindrances=tuple(words for row in hindrances for words in Hindrances(*row).sentences()),
    )
    return replace(definition, partitioning=found)


def scheme_of(definition: Definition) -> DataSpace | None:
    """The partition scheme that a unit of one partition lies on."""
    index = definition.index
    if index is None or definition.name.partition is None:
        return None
    space = definition.spaces.get(index.space_id)
    return space if space is not None and space.scheme else None


def own_boundary(scheme: DataSpace, number: int) -> int | None:
    """The boundary (boundary_id) that MERGE takes away with that partition: the one whose value lies in it."""
    boundary = number - 1 if scheme.on_right else number
    return boundary if 1 <= boundary < scheme.fanout else None


def literal(type_name: str, value: str) -> str | None:
    """A boundary as T-SQL writes it, without a conversion that would hide it from SWITCH; None: not for this type."""
    quoted = "'" + value.replace("'", "''") + "'"
    if type_name in _NUMBERS:
        return value if _NUMBER.fullmatch(value) else None
    if type_name in _NARROW:
        return quoted
    return f"N{quoted}" if type_name in _MOMENTS | _NATIONAL else None
