"""What the statements that made a table said of it, and how large its rows are. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

LARGE = ("CLOB", "BLOB", "DBCLOB", "XML")
WIDTHS = {"SMALLINT": 2, "INTEGER": 4, "BIGINT": 8, "DATE": 4, "TIMESTAMP": 10, "DECIMAL": 8, "DOUBLE": 8}
ROW_OVERHEAD, LARGE_BYTES = 10, 4096  # bytes: a row's own, and what a large object takes on average


@dataclass(frozen=True, slots=True)
class Column:
    """One column."""

    name: str
    type: str
    length: int
    scale: int = 0
    nullable: bool = True
    default: str | None = None
    generated: str = ""  # A: always; D: by default
    identity: bool = False
    text: str | None = None  # of the expression that it is worked out by

    @property
    def width(self) -> int:
        """Bytes in a row: half of what varies."""
        return WIDTHS.get(self.type, 8 if self.type in LARGE else self.length // 2 + 4)


@dataclass(frozen=True, slots=True)
class Constraint:
    """P primary key, U unique, K check; foreign keys are the world's own."""

    name: str
    kind: str
    columns: tuple[str, ...] = ()
    text: str = ""  # of a check


@dataclass
class Definition:
    """Everything that the catalog says of a table and the world does not need."""

    columns: list[Column]
    constraints: list[Constraint] = field(default_factory=list)
    remarks: dict[str, str] = field(default_factory=dict)  # by column; "": of the table
    bounds: list[tuple[str, str]] = field(default_factory=list)  # of each data partition: from, up to

    @property
    def row_bytes(self) -> int:
        """Of one row, without its large objects."""
        return ROW_OVERHEAD + sum(column.width for column in self.columns)

    @property
    def has_large(self) -> bool:
        """Whether some of its values lie outside of the rows."""
        return any(column.type in LARGE for column in self.columns)
