"""Reads CREATE TABLE and CREATE INDEX, as far as SQL Language Reference's diagrams are known here."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.labs.oracle.grammar import NOT_ENDED, Words
from tests.labs.oracle.model import Column, Constraint
from tests.labs.oracle.views.rewrite import refuse
from tests.labs.tns.backend import OracleError

NUMBER_BYTES, DATE_BYTES, LOCATOR_BYTES = 22, 7, 4000
LOBS = frozenset(("CLOB", "BLOB"))


@dataclass(slots=True)
class NewTable:
    """A CREATE TABLE as it was written."""

    owner: str
    name: str
    columns: list[Column] = field(default_factory=list)
    constraints: list[Constraint] = field(default_factory=list)
    tablespace: str = ""
    key_tablespaces: dict[str, str] = field(default_factory=dict)  # constraint -> tablespace of its index
    iot: bool = False
    overflow: str = ""
    pct_free: int = 10
    lobs: dict[str, str] = field(default_factory=dict)  # column -> tablespace
    partition_key: str = ""
    partitions: dict[str, tuple[str, str]] = field(default_factory=dict)  # name -> bound, tablespace


def read_table(words: Words, schema: str) -> NewTable:
    """Everything after ``CREATE TABLE``.

    Raises:
        OracleError: as the documentation says; ORA-03001 for what the lab does not know.
    """
    new = NewTable(*words.qualified(schema))
    words.need("(")
    while True:
        _read_element(words, new)
        if not words.take(","):
            break
    words.need(")")
    while words.more():
        _read_property(words, new)
    return new


def _read_element(words: Words, new: NewTable) -> None:
    name = words.name() if words.take("CONSTRAINT") else ""
    if name or any(words.next_is(word) for word in ("PRIMARY", "UNIQUE", "FOREIGN", "CHECK")):
        new.constraints.append(_read_constraint(words, new, name, ()))
        return
    column = _read_column(words)
    new.columns.append(column)
    if words.take("DEFAULT"):
        column.default = words.text_until("NOT", "NULL", "CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", ",", ")")
    while not (words.next_is(",") or words.next_is(")")):
        if words.take("NOT", "NULL"):
            column.nullable = False
            condition = f'"{column.name}" IS NOT NULL'
            new.constraints.append(Constraint(_made_up(new), "C", (column.name,), condition, generated=True))
            continue
        name = words.name() if words.take("CONSTRAINT") else ""
        new.constraints.append(_read_constraint(words, new, name, (column.name,)))


def _made_up(new: NewTable) -> str:
    return f"SYS_C{len(new.constraints):06}"  # the server makes it unique


def _read_column(words: Words) -> Column:
    name, kind = words.name(), words.name()
    if kind == "NUMBER":
        precision, scale = (None, None) if not words.next_is("(") else _read_precision(words)
        return Column(name, kind, NUMBER_BYTES, precision, scale)
    if kind in ("VARCHAR2", "RAW"):
        words.need("(")
        length = words.integer()
        if not words.take("CHAR"):
            words.take("BYTE")
        words.need(")")
        return Column(name, kind, length)
    if kind == "DATE":
        return Column(name, kind, DATE_BYTES)
    if kind in LOBS:
        return Column(name, kind, LOCATOR_BYTES)
    if kind in ("INTEGER", "CHAR", "TIMESTAMP", "XMLTYPE", "JSON", "FLOAT"):
        raise refuse(f"type {kind}")
    raise OracleError(902, "invalid datatype")


def _read_precision(words: Words) -> tuple[int, int]:
    words.need("(")
    precision, scale = words.integer(), words.integer() if words.take(",") else 0
    words.need(")")
    return precision, scale


def _read_constraint(words: Words, new: NewTable, name: str, inline: tuple[str, ...]) -> Constraint:
    made = Constraint(name or _made_up(new), "", inline, generated=not name)
    if words.take("CHECK"):
        words.need("(")
        made.kind, made.condition = "C", words.text_until(")")
        words.need(")")
    elif words.take("FOREIGN", "KEY") or words.next_is("REFERENCES"):
        made.kind, made.columns = "R", inline or words.names()
        words.need("REFERENCES")
        made.refers_to = words.qualified(new.owner)
        if words.next_is("("):
            words.names()
        if words.take("ON", "DELETE") and not words.take("CASCADE"):
            words.need("SET", "NULL")
    elif words.take("PRIMARY", "KEY") or words.next_is("UNIQUE"):
        made.kind = "U" if words.take("UNIQUE") else "P"
        made.columns, made.index = inline or words.names(), made.name
        if words.take("USING", "INDEX"):
            if words.take("PCTFREE"):
                words.integer()
            if words.take("TABLESPACE"):
                new.key_tablespaces[made.name] = words.name()
    else:
        raise OracleError(907, "missing right parenthesis")
    return made


def _read_property(words: Words, new: NewTable) -> None:
    if words.take("TABLESPACE"):
        new.tablespace = words.name()
    elif words.take("PCTFREE"):
        new.pct_free = words.integer()
    elif words.take("ORGANIZATION", "INDEX"):
        new.iot = True
    elif words.take("PCTTHRESHOLD"):
        words.integer()
    elif words.take("INCLUDING"):
        words.name()
    elif words.take("OVERFLOW"):
        words.need("TABLESPACE")
        new.overflow = words.name()
    elif words.take("LOB"):
        _read_lob(words, new)
    elif words.take("PARTITION", "BY", "RANGE"):
        _read_partitions(words, new)
    else:
        raise NOT_ENDED


def _read_lob(words: Words, new: NewTable) -> None:
    columns = words.names()
    words.need("STORE", "AS")
    if not words.take("SECUREFILE"):
        words.take("BASICFILE")
    words.need("(", "TABLESPACE")
    new.lobs |= dict.fromkeys(columns, words.name())
    if not words.take("ENABLE", "STORAGE", "IN", "ROW"):
        words.take("DISABLE", "STORAGE", "IN", "ROW")
    words.need(")")


def _read_partitions(words: Words, new: NewTable) -> None:
    key = words.names()
    if len(key) > 1:
        raise refuse("partitioning by several columns")
    new.partition_key = key[0]
    words.need("(")
    while True:
        words.need("PARTITION")
        name = words.name()
        words.need("VALUES", "LESS", "THAN", "(")
        bound = words.text_until(")")
        words.need(")")
        new.partitions[name] = bound, words.name() if words.take("TABLESPACE") else ""
        if not words.take(","):
            break
    words.need(")")


@dataclass(slots=True)
class NewIndex:
    """A CREATE INDEX as it was written."""

    owner: str
    name: str
    table: tuple[str, str]
    keys: tuple[tuple[str, str], ...]  # column or expression, with ASC or DESC
    unique: bool = False
    bitmap: bool = False
    reverse: bool = False
    local: bool = False
    compressed: bool = False
    tablespace: str = ""


def read_index(words: Words, schema: str) -> NewIndex:
    """Everything after ``CREATE``, from ``INDEX``, ``UNIQUE`` or ``BITMAP`` on.

    Raises:
        OracleError: as the documentation says.
    """
    unique, bitmap = words.take("UNIQUE"), words.take("BITMAP")
    words.need("INDEX")
    owner, name = words.qualified(schema)
    words.need("ON")
    table = words.qualified(schema)
    new = NewIndex(owner, name, table, tuple(_read_keys(words)), unique=unique, bitmap=bitmap)
    while words.more():
        if words.take("TABLESPACE"):
            new.tablespace = words.name()
        elif words.take("REVERSE"):
            new.reverse = True
        elif words.take("LOCAL"):
            new.local = True
        elif words.take("COMPRESS"):
            words.integer()
            new.compressed = True
        elif words.take("PCTFREE"):
            words.integer()
        else:
            raise NOT_ENDED
    return new


def _read_keys(words: Words) -> list[tuple[str, str]]:
    words.need("(")
    found = []
    while True:
        text = words.text_until("ASC", "DESC", ",", ")")
        order = "DESC" if words.take("DESC") else "ASC"
        words.take("ASC")
        found.append((text[1:-1] if text.startswith('"') else text.upper(), order))
        if not words.take(","):
            break
    words.need(")")
    return found
