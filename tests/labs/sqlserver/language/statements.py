"""DDL statements as T-SQL writes them, taken apart. What they do is in builds.py and spaces.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.labs.sqlserver.language.conditions import RefuseIf, refuse_if
from tests.labs.sqlserver.language.options import Build, read_options, read_resume_options
from tests.labs.sqlserver.language.partition_statements import (
    AddCheck,
    AddKey,
    CreateTable,
    DropConstraint,
    InsertSelect,
    NextUsed,
    Reshape,
    Switch,
    Truncate,
    alter_function,
    alter_scheme,
    alter_table,
    create_table,
    insert_select,
    truncate,
)
from tests.labs.sqlserver.language.row_statements import (
    CreatePolicy,
    CreateRowFunction,
    DropModule,
    Grant,
    InsertRows,
    UpdateRow,
    create_policy,
    create_row_function,
    drop_module,
    grant,
    update_row,
)
from tests.labs.sqlserver.language.tokens import Parser
from tests.labs.sqlserver.objects import (
    CLUSTERED,
    CLUSTERED_COLUMNSTORE,
    NONCLUSTERED,
    NONCLUSTERED_COLUMNSTORE,
)
from tests.labs.tds.backend import ServerError


@dataclass(frozen=True, slots=True)
class CreateIndex:
    """CREATE INDEX."""

    name: str
    table: tuple[str, str]
    kind: int
    unique: bool
    keys: tuple[tuple[str, bool], ...]
    included: tuple[str, ...]
    where: str | None
    build: Build
    space: str | None
    partition_column: str | None


@dataclass(frozen=True, slots=True)
class DropIndex:
    """DROP INDEX."""

    name: str
    table: tuple[str, str]
    build: Build


@dataclass(frozen=True, slots=True)
class AlterIndex:
    """ALTER INDEX ... PAUSE, RESUME or ABORT."""

    name: str
    table: tuple[str, str]
    action: str
    low_priority_minutes: int | None = None


@dataclass(frozen=True, slots=True)
class CreateScheme:
    """CREATE PARTITION SCHEME; ``everywhere``: ALL TO (one filegroup)."""

    name: str
    function: str
    filegroups: list[str]
    everywhere: bool = False


@dataclass(frozen=True, slots=True)
class CreateFunction:
    """CREATE PARTITION FUNCTION; only the number of boundaries matters to the model."""

    name: str
    boundaries: list[object]
    right: bool


@dataclass(frozen=True, slots=True)
class Drop:
    """DROP PARTITION SCHEME, DROP PARTITION FUNCTION or DROP TABLE."""

    what: str
    table: tuple[str, str]  # schema means something for a table only


@dataclass(frozen=True, slots=True)
class AddFile:
    """ALTER DATABASE ... ADD FILE. Sizes in pages."""

    name: str
    path: str
    size: int
    max_size: int
    growth: int
    percent_growth: bool
    filegroup: str


@dataclass(frozen=True, slots=True)
class ChangeFilegroups:
    """ALTER DATABASE ... ADD or REMOVE FILEGROUP."""

    name: str
    added: bool


@dataclass(frozen=True, slots=True)
class RemoveFile:
    """ALTER DATABASE ... REMOVE FILE."""

    name: str


@dataclass(frozen=True, slots=True)
class ModifyFile:
    """ALTER DATABASE ... MODIFY FILE (NAME, SIZE). Size in pages."""

    name: str
    size: int


@dataclass(frozen=True, slots=True)
class EmptyFile:
    """DBCC SHRINKFILE (name or number, EMPTYFILE)."""

    file: str
    low_priority: bool = False


Statement = (
    CreateIndex
    | InsertRows
    | UpdateRow
    | Grant
    | DropIndex
    | AlterIndex
    | CreateScheme
    | CreateFunction
    | Drop
    | AddFile
    | ChangeFilegroups
    | RemoveFile
    | ModifyFile
    | EmptyFile
    | CreateTable
    | AddKey
    | InsertSelect
    | Switch
    | Reshape
    | NextUsed
    | AddCheck
    | DropConstraint
    | Truncate
    | RefuseIf
    | CreateRowFunction
    | CreatePolicy
    | DropModule
)
Reader = Callable[[Parser, int], Statement]
SHRINK_LOW_PRIORITY_SINCE = 16
UNITS_IN_PLAIN = 128  # a number alone is megabytes
UNITS = {"KB": 1 / 8, "MB": 128, "GB": 131072, "TB": 134217728}


def read_statement(sql: str, major: int) -> Statement | None:
    """The statement, or None when it is no DDL that is known here.

    Raises:
        ServerError: 102 or 155 where its syntax is wrong.
    """
    parser = Parser(sql)
    for words, read in _READERS.items():
        if parser.take(*words.split()):
            found = read(parser, major)
            parser.finish()
            return found
    return None


def _create_index(parser: Parser, major: int) -> Statement:
    unique = parser.take("UNIQUE")
    clustered = parser.take("CLUSTERED")
    if not clustered:
        parser.take("NONCLUSTERED")
    columnstore = parser.take("COLUMNSTORE")
    parser.need("INDEX")
    name = parser.name()
    parser.need("ON")
    table = parser.table()
    keys: tuple[tuple[str, bool], ...] = parser.keys() if parser.peek("(") else ()
    included = tuple(parser.names()) if parser.take("INCLUDE") else ()
    if columnstore:
        included, keys = tuple(key[0] for key in keys), ()
    where = parser.until("WITH", "ON") if parser.take("WHERE") else None
    build = read_options(parser, major)
    if columnstore and build.low_priority_minutes is not None:
        raise ServerError(102, "Incorrect syntax near '('.", severity=15)  # their grammar has ONLINE = ON alone
    space = parser.name() if parser.take("ON") else None
    column = parser.names()[0] if space and parser.peek("(") else None
    kinds = {
        (True, False): CLUSTERED,
        (False, False): NONCLUSTERED,
        (True, True): CLUSTERED_COLUMNSTORE,
        (False, True): NONCLUSTERED_COLUMNSTORE,
    }
    return CreateIndex(name, table, kinds[clustered, columnstore], unique, keys, included, where, build, space, column)


def _drop_index(parser: Parser, major: int) -> Statement:
    name = parser.name()
    parser.need("ON")
    return DropIndex(name, parser.table(), read_options(parser, major))


def _alter_index(parser: Parser, _: int) -> Statement:
    name = parser.name()
    parser.need("ON")
    table = parser.table()
    for action in ("PAUSE", "RESUME", "ABORT"):
        if parser.take(action):
            minutes = read_resume_options(parser) if action == "RESUME" else None
            return AlterIndex(name, table, action, minutes)
    raise parser.near()


def _create_scheme(parser: Parser, _: int) -> Statement:
    name = parser.name()
    parser.need("AS", "PARTITION")
    function = parser.name()
    everywhere = parser.take("ALL")
    parser.need("TO")
    return CreateScheme(name, function, parser.names(), everywhere)


def _create_function(parser: Parser, _: int) -> Statement:
    name = parser.name()
    parser.need("(")
    parser.until(")")
    parser.need(")", "AS", "RANGE")
    right = parser.take("RIGHT")
    if not right:
        parser.take("LEFT")
    parser.need("FOR", "VALUES", "(")
    texts = [value.strip() for value in parser.until(")").split(",")]
    values: list[object] = [int(text) if text.lstrip("-").isdigit() else text for text in texts]
    parser.need(")")
    return CreateFunction(name, values, right)


def _drop(what: str) -> Reader:
    def read(parser: Parser, _: int) -> Statement:
        return Drop(what, parser.table())

    return read


def _alter_database(parser: Parser, _: int) -> Statement:
    parser.name()
    for word in ("ADD", "REMOVE"):
        if parser.take(word, "FILEGROUP"):
            return ChangeFilegroups(parser.name(), added=word == "ADD")
    if parser.take("REMOVE", "FILE"):
        return RemoveFile(parser.name())
    if parser.take("MODIFY", "FILE"):
        parser.need("(", "NAME", "=")
        name = _label(parser)
        parser.need(",", "SIZE", "=")
        size = _size(parser)
        parser.need(")")
        return ModifyFile(name, size)
    parser.need("ADD", "FILE", "(")
    given: dict[str, str | int] = {"SIZE": 1024, "MAXSIZE": -1, "FILEGROWTH": 8192}
    percent = False
    while True:
        key = parser.name().upper()
        parser.need("=")
        given[key] = _size(parser) if key in ("SIZE", "MAXSIZE", "FILEGROWTH") else _label(parser)
        if key == "FILEGROWTH" and parser.take("%"):
            percent, given[key] = True, int(given[key]) // UNITS_IN_PLAIN
        if not parser.take(","):
            break
    parser.need(")", "TO", "FILEGROUP")
    path, size, most = str(given["FILENAME"]), int(given["SIZE"]), int(given["MAXSIZE"])
    return AddFile(str(given["NAME"]), path, size, most, int(given["FILEGROWTH"]), percent, parser.name())


def _label(parser: Parser) -> str:
    return parser.next("name", "word", "string").text


def _size(parser: Parser) -> int:
    if parser.take("UNLIMITED"):
        return -1
    amount = parser.number()
    factor = next((pages for unit, pages in UNITS.items() if parser.take(unit)), UNITS_IN_PLAIN)
    return int(amount * factor)


def _shrink(parser: Parser, major: int) -> Statement:
    parser.need("(")
    file = parser.next("name", "word", "string", "number").text
    parser.need(",", "EMPTYFILE", ")")
    low_priority = False
    if parser.take("WITH"):
        if parser.peek("WAIT_AT_LOW_PRIORITY") and major < SHRINK_LOW_PRIORITY_SINCE:
            raise ServerError(155, "'WAIT_AT_LOW_PRIORITY' is not a recognized option.", severity=15)
        low_priority = parser.take("WAIT_AT_LOW_PRIORITY")
        if low_priority and parser.take("("):
            parser.need("ABORT_AFTER_WAIT", "=", "SELF", ")")
        if not low_priority or parser.take(","):
            parser.need("NO_INFOMSGS")
    return EmptyFile(file, low_priority)


_READERS: dict[str, Reader] = {
    "CREATE PARTITION SCHEME": _create_scheme,
    "CREATE PARTITION FUNCTION": _create_function,
    "CREATE FUNCTION": create_row_function,
    "CREATE SECURITY POLICY": create_policy,
    "DROP FUNCTION": drop_module("FUNCTION"),
    "DROP SECURITY POLICY": drop_module("SECURITY POLICY"),
    "DROP PARTITION SCHEME": _drop("SCHEME"),
    "DROP PARTITION FUNCTION": _drop("FUNCTION"),
    "DROP TABLE": _drop("TABLE"),
    "DROP INDEX": _drop_index,
    "ALTER INDEX": _alter_index,
    "ALTER DATABASE": _alter_database,
    "ALTER TABLE": alter_table,
    "ALTER PARTITION FUNCTION": alter_function,
    "ALTER PARTITION SCHEME": alter_scheme,
    "CREATE TABLE": create_table,
    "INSERT INTO": insert_select,
    "TRUNCATE TABLE": truncate,
    "IF": refuse_if,
    "UPDATE": update_row,
    "GRANT": grant,
    "DBCC SHRINKFILE": _shrink,
    "CREATE": _create_index,
}
