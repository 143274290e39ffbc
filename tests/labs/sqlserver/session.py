"""Sessions of the emulated server: batches, variables, SET, application locks, transactions."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from tests.labs.sqlserver.changes import builds, conditions, partitions, rows, spaces
from tests.labs.sqlserver.changes.switch import switch
from tests.labs.sqlserver.changes.work import POLL_SECONDS, Work
from tests.labs.sqlserver.instance import Account, Connected, Instance, Request
from tests.labs.sqlserver.language.conditions import RefuseIf
from tests.labs.sqlserver.language.dialect import may_lock_as
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
)
from tests.labs.sqlserver.language.row_statements import (
    CreatePolicy,
    CreateRowFunction,
    DropModule,
    Grant,
    InsertRows,
    UpdateRow,
    read_pages,
    read_rows,
)
from tests.labs.sqlserver.language.statements import (
    AddFile,
    AlterIndex,
    ChangeFilegroups,
    CreateFunction,
    CreateIndex,
    CreateScheme,
    Drop,
    DropIndex,
    EmptyFile,
    ModifyFile,
    RemoveFile,
    read_statement,
)
from tests.labs.sqlserver.language.tokens import Parser, pieces_of, statements_of
from tests.labs.sqlserver.views.query import select
from tests.labs.sqlserver.views.relations import Viewer
from tests.labs.tds.backend import Cancelled, Count, Login, LoginRefused, Result, Rows, ServerError
from tests.labs.tds.values import Column, Kind, Value

SWITCHES = frozenset(
    [
        "NOCOUNT",
        "XACT_ABORT",
        "ANSI_NULLS",
        "ANSI_PADDING",
        "ANSI_WARNINGS",
        "ARITHABORT",
        "CONCAT_NULL_YIELDS_NULL",
        "QUOTED_IDENTIFIER",
        "NUMERIC_ROUNDABORT",
        "ANSI_NULL_DFLT_ON",
        "CURSOR_CLOSE_ON_COMMIT",
        "IMPLICIT_TRANSACTIONS",
        "FMTONLY",
    ]
)
COMMANDS = {CreateIndex: "CREATE INDEX", EmptyFile: "DbccFilesCompact", DropIndex: "DROP INDEX"}
_RUN: dict[type[Any], Callable[[Work, Any], Rows | None]] = {
    CreateIndex: builds.create_index,
    DropIndex: builds.drop_index,
    AlterIndex: builds.alter_index,
    CreateScheme: spaces.create_scheme,
    CreateFunction: spaces.create_function,
    Drop: spaces.drop,
    AddFile: spaces.add_file,
    ChangeFilegroups: spaces.change_filegroups,
    RemoveFile: spaces.remove_file,
    ModifyFile: spaces.modify_file,
    EmptyFile: spaces.empty_file,
    CreateTable: partitions.create_table,
    AddKey: partitions.add_key,
    InsertSelect: partitions.insert_select,
    InsertRows: rows.insert_rows,
    UpdateRow: rows.update_row,
    Grant: rows.grant,
    Reshape: partitions.reshape,
    NextUsed: partitions.next_used,
    AddCheck: partitions.add_check,
    DropConstraint: partitions.drop_constraint,
    Truncate: partitions.truncate,
    RefuseIf: conditions.refuse_if,
    Switch: switch,
    CreateRowFunction: rows.create_row_function,
    CreatePolicy: rows.create_policy,
    DropModule: rows.drop_module,
}
FLUSH = "hotplace_flush"
WALKS_THE_POOL = "dm_os_buffer_descriptors"
_KILL = re.compile(r"KILL\s+(\d+)", re.I)


class SqlserverBackend:
    """Lets accounts of an instance in."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.name = instance.name
        self.version = instance.version

    def login(self, login: Login, spid: int, cut: threading.Event) -> SqlserverSession:
        """By name and password, into a database that is there."""
        account = self.instance.accounts.get(login.user)
        if account is None or account.password != login.password:
            raise LoginRefused(18456, f"Login failed for user '{login.user}'.", severity=14)
        name = login.database or next(iter(self.instance.databases.values())).name
        if name.lower() not in self.instance.databases:
            message = f'Cannot open database "{name}" requested by the login. The login failed.'
            raise LoginRefused(4060, message, severity=11)
        connected = Connected(spid, account.name, login.program, login.host, name, cut)
        with self.instance.lock:
            self.instance.sessions[spid] = connected
        return SqlserverSession(self.instance, account, connected)


class SqlserverSession:
    """One login's session."""

    def __init__(self, instance: Instance, account: Account, connected: Connected) -> None:
        self.database = connected.database
        self.cancelled = threading.Event()
        self._instance = instance
        self._connected = connected
        database = instance.databases[connected.database.lower()]
        self._viewer = Viewer(instance, database, account, connected)
        self._work = Work(instance, database, account, connected, self.cancelled)
        self._own_transaction = False  # begun by a statement, not by the driver
        self._row_count = 0  # of the statement before

    @property
    def ended(self) -> bool:
        """Whether the server closes the connection after what it has said."""
        return self._work.ends_session

    def run(self, sql: str, parameters: Mapping[str, Value]) -> Iterator[Result]:
        """Statement by statement; an error ends the batch."""
        variables: dict[str, Value] = dict(parameters)
        self._work.sql = sql
        self._connected.request = Request(sql, "SELECT")
        with self._instance.lock:
            self._instance.batches += 1
        try:
            for statement in statements_of(sql):
                self._work.pause(0)
                self._wait_where_told(statement)
                yield self._statement(statement, variables)
        except (ServerError, Cancelled, GeneratorExit):
            if self._own_transaction:  # XACT_ABORT is ON in every session that begins one
                self._finish_transaction(keep=False)
            raise
        finally:
            self._connected.request = None

    def _wait_where_told(self, statement: str) -> None:
        """Stand still before the statement that a test has named."""
        instance = self._instance
        while instance.stop_at and instance.stop_at in statement:
            instance.stopped.set()
            self._work.pause(POLL_SECONDS)

    def _select(self, sql: str, variables: Mapping[str, Value]) -> Rows:
        found = select(self._viewer, sql, variables)
        if WALKS_THE_POOL in sql.lower():
            self._instance.pool_walks += 1
            self._work.pause(self._instance.pool_pages * self._instance.buffer_microseconds / 1e6)
        return found

    def _statement(self, sql: str, variables: dict[str, Value]) -> Result:
        parser = Parser(sql)
        self._row_count, self._work.row_count = self._work.row_count, 0
        if parser.peek("SELECT") and (asked := read_rows(sql)) is not None:
            return rows.read_rows(self._work, asked)
        if parser.peek("SELECT") and (pages := read_pages(sql)) is not None:
            keys = [row[0] for row in self._select(pages.keys, {}).rows] if pages.keys else []
            return rows.read_pages(self._work, pages, [int(str(key)) for key in keys])
        if parser.peek("SELECT", "WITH"):
            return self._select(sql, variables)
        if parser.take("EXEC", "SYS", ".", "SP_DESCRIBE_FIRST_RESULT_SET"):
            return self._describe(dict(_arguments(parser, variables)))
        if parser.take("SET"):
            self._set(parser)
        elif parser.take("DECLARE"):
            self._declare(parser, variables)
        elif parser.take("EXEC") or parser.take("EXECUTE"):
            self._execute(parser, variables)
        elif parser.take("IF", "@@TRANCOUNT", ">"):
            self._end_transaction_if_any(sql)
        elif parser.take("BEGIN", "TRANSACTION"):
            parser.finish()
            self._work.in_transaction = self._own_transaction = True
        elif parser.take("COMMIT", "TRANSACTION"):
            parser.finish()
            self._finish_transaction(keep=True)
        elif parser.peek("KILL"):
            self._kill(sql)
        else:
            return self._define(sql)
        return Count()

    def _finish_transaction(self, *, keep: bool) -> None:
        self._own_transaction = False
        self._work.end_transaction(keep=keep)

    def _define(self, sql: str) -> Result:
        """DDL, or nothing that is known here."""
        asked = read_statement(sql, self._instance.major)
        if asked is None:
            word = sql.split()[0]
            raise ServerError(102, f"Incorrect syntax near '{word}'.", severity=15)
        if self._viewer.database.updateability != "READ_WRITE":
            name = self._viewer.database.name
            raise ServerError(3906, f'Failed to update database "{name}" because the database is read-only.')
        assert self._connected.request is not None
        self._connected.request.command = COMMANDS.get(type(asked), type(asked).__name__.upper())
        return _RUN[type(asked)](self._work, asked) or Count()

    def _set(self, parser: Parser) -> None:
        name = parser.name().upper()
        if name == "LOCK_TIMEOUT":
            milliseconds = parser.number()
            self._work.lock_timeout = None if milliseconds < 0 else milliseconds / 1000
        elif name in SWITCHES:
            while parser.take(","):
                parser.name()
            if not parser.take("ON"):
                parser.need("OFF")
        elif name == "DEADLOCK_PRIORITY":
            parser.until(";")
        elif name == "TEXTSIZE":
            parser.number()
        elif name == "TRANSACTION":
            parser.need("ISOLATION", "LEVEL")
            parser.until(";")
        else:
            raise ServerError(195, f"'{name}' is not a recognized SET option.", severity=15)
        parser.finish()

    def _declare(self, parser: Parser, variables: dict[str, Value]) -> None:
        """DECLARE @name type [= expression], ..."""
        while True:
            name = parser.name().lstrip("@")
            parser.until("=", ",")
            if parser.take("="):
                expression = parser.until(",").replace("ROWCOUNT_BIG()", str(self._row_count))
                found = self._select(f"SELECT {expression} AS value", variables)
                variables[name] = next(iter(found.rows))[0]
            else:
                variables[name] = None
            if not parser.take(","):
                break
        parser.finish()

    def _execute(self, parser: Parser, variables: dict[str, Value]) -> None:
        """EXEC [@answer =] procedure @name = value, ..."""
        schema, answer = parser.table()
        procedure = answer
        if schema == "dbo" and parser.take("="):
            _, procedure = parser.table()
        variables[answer.lstrip("@")] = self._procedure(procedure, dict(_arguments(parser, variables)))

    def _describe(self, arguments: dict[str, Value]) -> Rows:
        """sp_describe_first_result_set: columns of the first SELECT of a batch, for parameters that are all NULL."""
        variables: dict[str, Value] = {}
        self._declare(Parser(str(arguments.get("@params") or "@none int")), variables)
        for statement in statements_of(str(arguments["@tsql"])):
            parser = Parser(statement)
            if parser.take("DECLARE"):
                self._declare(parser, variables)
            elif parser.peek("SELECT", "WITH"):
                found = select(self._viewer, statement, variables)
                described = [(at, column.name) for at, column in enumerate(found.columns, start=1)]
                return Rows((Column("column_ordinal", Kind.INT), Column("name", Kind.NVARCHAR)), described)
        return Rows((Column("column_ordinal", Kind.INT), Column("name", Kind.NVARCHAR)), [])

    def _procedure(self, name: str, arguments: dict[str, Value]) -> int:
        if name.lower() == "sp_rename":
            return self._rename(arguments)
        if name.lower() == "sp_addextendedproperty":
            rows.add_property(self._work, dict(arguments))
            return 0
        if name.lower() == FLUSH and self._instance.flushers:
            return self._flush()
        principal, name_of = str(arguments.get("@DbPrincipal", "public")), str(arguments.get("@Resource", ""))
        if not may_lock_as(self._viewer, principal):
            return -999
        resource = (principal, name_of)
        with self._instance.lock:
            holder = self._instance.app_locks.get(resource)
            if name.lower() == "sp_getapplock":
                if holder not in (None, self._connected.spid):
                    return -1  # not within the time limit
                self._instance.app_locks[resource] = self._connected.spid
                return 0
            if name.lower() == "sp_releaseapplock":
                if holder != self._connected.spid:
                    return -999
                del self._instance.app_locks[resource]
                return 0
        raise ServerError(2812, f"Could not find stored procedure '{name}'.")

    def _flush(self) -> int:
        """The procedure that a DBA has installed: signed, so that who may execute it need not be one."""
        if self._connected.login not in self._instance.flushers and not self._viewer.account.administrator:
            message = f"The EXECUTE permission was denied on the object '{FLUSH}', database 'shop', schema 'dbo'."
            raise ServerError(229, message, severity=14)
        self._instance.flush()
        return 0

    def _rename(self, arguments: dict[str, Value]) -> int:
        """Of an index only: @objname = '[schema].[table].[index]'."""
        if str(arguments.get("@objtype", "")).upper() != "INDEX":
            raise ServerError(50000, "the emulated server renames indexes only")
        parts = [p.text for p in pieces_of(str(arguments.get("@objname", ""))) if p.kind in ("name", "word")]
        if len(parts) != 3:  # schema, table, index
            raise ServerError(15248, "Either the parameter @objname is ambiguous or the claimed @objtype is wrong.")
        builds.rename_index(self._work, (parts[0], parts[1]), parts[2], str(arguments["@newname"]))
        return 0

    def _end_transaction_if_any(self, sql: str) -> None:
        """What FreeTDS sends when autocommit is switched on: IF @@TRANCOUNT > 0 COMMIT (or ROLLBACK)."""
        if not re.fullmatch(r"\s*IF\s+@@TRANCOUNT\s*>\s*0\s+(COMMIT|ROLLBACK)(\s+TRAN)?\s*", sql, re.I):
            raise ServerError(50000, f"the emulated server does not run: {sql[:80]}")
        self._work.end_transaction(keep="COMMIT" in sql.upper())

    def _kill(self, sql: str) -> None:
        found = _KILL.search(sql)
        target = self._instance.sessions.get(int(found[1])) if found else None
        if not self._viewer.account.administrator:
            raise ServerError(6102, "User does not have permission to use the KILL statement.", severity=14)
        if target is None:
            raise ServerError(6106, "Process ID is not an active process ID.")
        target.cut.set()

    def call(self, procedure: str, arguments: Iterable[tuple[str, Value]]) -> Iterator[Result]:
        """Procedures that drivers call by RPC: none but what the wire answers itself."""
        raise ServerError(2812, f"Could not find stored procedure '{procedure}'.")

    def begin(self) -> None:
        """Only its being open matters: some statements refuse to run inside."""
        self._work.in_transaction = True

    def commit(self) -> None:
        """Keep what it did."""
        self._work.end_transaction(keep=True)

    def rollback(self) -> None:
        """Take it back."""
        self._work.end_transaction(keep=False)

    def close(self) -> None:
        """Give up every lock."""
        self.cancelled.set()
        if self._own_transaction:
            self._finish_transaction(keep=False)
        with self._instance.lock:
            self._instance.sessions.pop(self._connected.spid, None)
            locks = self._instance.app_locks
            for name in [name for name, spid in locks.items() if spid == self._connected.spid]:
                del locks[name]


def _arguments(parser: Parser, variables: Mapping[str, Value]) -> Iterator[tuple[str, Value]]:
    """@name = value, ..."""
    while not parser.ended:
        name = parser.name()
        parser.need("=")
        yield name, _argument(parser, variables)
        parser.take(",")


def _argument(parser: Parser, variables: Mapping[str, Value]) -> Value:
    if parser.peek("-"):
        return parser.number()
    piece = parser.next("string", "number", "word")
    if piece.text.startswith("@") and piece.text[1:] in variables:
        return variables[piece.text[1:]]
    if piece.kind == "word" and not piece.says("NULL"):
        raise parser.near()
    return {"string": piece.text, "number": piece.text, "word": None}[piece.kind]
