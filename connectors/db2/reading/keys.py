"""Foreign keys: what each says, and the statements that drop it and add it again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from connectors.db2.reading.names import identifier, readable
from connectors.db2.session.sessions import ReadSession, Row

Name = tuple[str, str]  # schema and table
ON_DELETE = {"C": " ON DELETE CASCADE", "N": " ON DELETE SET NULL", "R": " ON DELETE RESTRICT"}  # A: no action
ON_UPDATE = {"R": " ON UPDATE RESTRICT"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignKey:
    """One referential constraint as the catalog has it."""

    name: str
    child: Name
    columns: tuple[str, ...]
    parent: Name
    parent_columns: tuple[str, ...]
    on_delete: str = "A"  # SYSCAT.REFERENCES.DELETERULE
    on_update: str = "A"
    enforced: bool = True
    optimized: bool = True  # the optimizer may rely on it

    def __str__(self) -> str:
        """Its name, with that of its table, as a person writes them."""
        return f"{readable(self.name)} of {readable(self.child[0])}.{readable(self.child[1])}"

    @property
    def definition(self) -> str:
        """What follows its name in ALTER TABLE ... ADD CONSTRAINT."""
        return (
            f"FOREIGN KEY ({_list_names(self.columns)}) "
            f"REFERENCES {_qualify(self.parent)} ({_list_names(self.parent_columns)})"
            f"{ON_DELETE.get(self.on_delete, '')}{ON_UPDATE.get(self.on_update, '')}"
            f" {'ENFORCED' if self.enforced else 'NOT ENFORCED'}"
            f" {'ENABLE' if self.optimized else 'DISABLE'} QUERY OPTIMIZATION"
        )

    @property
    def drop(self) -> str:
        """The statement that drops it."""
        return f"ALTER TABLE {_qualify(self.child)} DROP CONSTRAINT {identifier(self.name)}"

    @property
    def add(self) -> str:
        """The statement that adds it again: every row of the child is checked where it is enforced."""
        return f"ALTER TABLE {_qualify(self.child)} ADD CONSTRAINT {identifier(self.name)} {self.definition}"


def read_keys(session: ReadSession, table: Name, doing: str) -> tuple[ForeignKey, ...]:
    """Foreign keys of the table and to it, by child and name.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    rows = session.rows("foreign_keys", (*table, *table), doing=doing)
    return tuple(sorted(_keys(session, rows, doing), key=lambda key: (key.child, key.name)))


def _keys(session: ReadSession, rows: list[Row], doing: str) -> Iterator[ForeignKey]:
    for schema, name, key, parent_schema, parent, parent_key, deleted, updated, enforced, optimized in rows:
        yield ForeignKey(
            name=str(key),
            child=(str(schema), str(name)),
            columns=_columns(session, (schema, name, key), doing),
            parent=(str(parent_schema), str(parent)),
            parent_columns=_columns(session, (parent_schema, parent, parent_key), doing),
            on_delete=str(deleted),
            on_update=str(updated),
            enforced=enforced != "N",
            optimized=optimized != "N",
        )


def _columns(session: ReadSession, key: tuple[object, object, object], doing: str) -> tuple[str, ...]:
    return tuple(str(row[0]) for row in session.rows("key_columns", key, doing=doing))


def _qualify(table: Name) -> str:
    return f"{identifier(table[0])}.{identifier(table[1])}"


def _list_names(names: tuple[str, ...]) -> str:
    return ", ".join(map(identifier, names))
