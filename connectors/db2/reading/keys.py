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
    trusted: bool | None = (
        None  # where it is not enforced; None: no matter, or of a version that does not know the word
    )
    optimized: bool = True  # the optimizer may rely on it
    check: str = "I"  # SYSCAT.TABCONST.CHECKEXISTINGDATA of an enforced one; I: at once, as ADD CONSTRAINT does
    period: str = ""  # that it is defined by
    remarks: str = ""

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
            f" {self._state}"
            f" {'ENABLE' if self.optimized else 'DISABLE'} QUERY OPTIMIZATION"
        )

    @property
    def _state(self) -> str:
        """Whether rows are checked, or else believed: a key that comes back TRUSTED makes queries leave out rows."""
        if self.enforced:
            return "ENFORCED"
        return "NOT ENFORCED" + {None: "", True: " TRUSTED", False: " NOT TRUSTED"}[self.trusted]

    @property
    def unwritten(self) -> str:
        """What of it would not come back with ``add``; "": all of it would."""
        lost = (
            (self.remarks, "a comment"),
            (self.period, f"the period {readable(self.period)}"),
            (self.enforced and self.check != "I", "rows that it has not checked"),
        )
        return " and ".join(what for applies, what in lost if applies)

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
    for row in rows:
        schema, name, key, parent_schema, parent, parent_key, deleted, updated = row[:8]
        enforced, optimized, trusted, check, period, remarks = row[8:]
        yield ForeignKey(
            name=str(key),
            child=(str(schema), str(name)),
            columns=columns_of_key(session, (schema, name, key), doing),
            parent=(str(parent_schema), str(parent)),
            parent_columns=columns_of_key(session, (parent_schema, parent, parent_key), doing),
            on_delete=str(deleted),
            on_update=str(updated),
            enforced=enforced != "N",
            optimized=optimized != "N",
            trusted={"Y": True, "N": False}.get(str(trusted)),
            check=str(check or "I"),
            period=str(period or ""),
            remarks=str(remarks or ""),
        )


def columns_of_key(session: ReadSession, key: tuple[object, object, object], doing: str) -> tuple[str, ...]:
    """The columns of a key, by schema, table and constraint, in order.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    return tuple(str(row[0]) for row in session.rows("key_columns", key, doing=doing))


def _qualify(table: Name) -> str:
    return f"{identifier(table[0])}.{identifier(table[1])}"


def _list_names(names: tuple[str, ...]) -> str:
    return ", ".join(map(identifier, names))
