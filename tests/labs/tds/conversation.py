"""Batches, remote procedure calls and transactions of one logged-in connection, MS-TDS 2.2.6.6, 2.2.6.7 and 2.2.6.9."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Iterator
from itertools import count

from tests.labs.tds import tokens
from tests.labs.tds.backend import Cancelled, Count, Info, Result, Rows, ServerError, Session
from tests.labs.tds.datatypes import datatype_info
from tests.labs.tds.values import Reader, Value, read_parameter
from tests.labs.tds.wire import PacketType

NAMED_BY_NUMBER = 0xFFFF
BATCH_SEPARATOR = 0xFF
PROCEDURES = {
    10: "sp_executesql",
    11: "sp_prepare",
    12: "sp_execute",
    13: "sp_prepexec",
    15: "sp_unprepare",
}
BEGIN, COMMIT, ROLLBACK = 5, 7, 8
Argument = tuple[str, Value]
CALL_IN_BATCH = re.compile(r"\s*(?:exec(?:ute)?\s+)?(?:\[?sys\]?\.)?\[?sp_datatype_info(?:_100)?\]?\s+(-?\d+)", re.I)


class Conversation:
    """What one connection has prepared and begun."""

    def __init__(self, session: Session, server: str) -> None:
        self._session = session
        self._server = server
        self._prepared: dict[int, tuple[str, tuple[str, ...]]] = {}
        self._handles = count(1)
        self._transactions = count(1)
        self._transaction = 0
        self._interrupted = False

    def attention(self) -> bytes:
        """Acknowledge it, after the end of the statement it interrupted; the next statement runs again."""
        self._session.cancelled.clear()
        interrupted = tokens.done(tokens.DONE, tokens.ERROR | tokens.MORE) if self._interrupted else b""
        self._interrupted = False
        return interrupted + tokens.done(tokens.DONE, tokens.ATTENTION)

    def answer(self, kind: PacketType, reader: Reader) -> bytes | None:
        """The tokens of one request; None when it was cancelled, which the acknowledgement says."""
        try:
            if kind is PacketType.BATCH:
                return self._batch(reader.rest().decode("utf-16-le"))
            if kind is PacketType.TRANSACTION:
                return self._manage_transaction(reader)
            if kind is PacketType.RPC:
                return self._calls(reader)
        except Cancelled:
            self._interrupted = True
            return None
        except ServerError as raised:
            return tokens.error(raised, self._server) + tokens.done(tokens.DONE, tokens.ERROR)
        except ValueError as unknown:
            told = ServerError(8016, f"the emulated server cannot read this request: {unknown}")
            return tokens.error(told, self._server) + tokens.done(tokens.DONE, tokens.ERROR)
        raise AssertionError(f"a client sent a packet of type {kind}")

    def _batch(self, sql: str) -> bytes:
        # FreeTDS asks for the types by a batch where Microsoft's driver calls the procedure. Where that is not answered
        # it drops the microseconds of parameters.
        types = CALL_IN_BATCH.match(sql)
        results = iter([datatype_info(int(types[1]))]) if types else self._session.run(sql, {})
        return self._tokens(results, tokens.DONE)

    def _tokens(self, results: Iterator[Result], token: int) -> bytes:
        """Results as they come; an error ends them. All but the last are followed by more."""
        parts: list[tuple[bytes, int, int]] = []
        head = b""
        try:
            for result in results:
                if isinstance(result, Info):
                    head += tokens.info(result, self._server)
                    continue
                parts.append(_part(head, result))
                head = b""
        except ServerError as raised:
            parts.append((head + tokens.error(raised, self._server), tokens.ERROR, 0))
            head = b""
        if head or not parts:
            parts.append((head, 0, 0))
        last = len(parts) - 1
        ends_here = token == tokens.DONE
        return b"".join(
            body + tokens.done(token, status | (0 if n == last and ends_here else tokens.MORE), rows)
            for n, (body, status, rows) in enumerate(parts)
        )

    def _manage_transaction(self, reader: Reader) -> bytes:
        request = reader.number("H")
        if request == BEGIN:
            return self._begin() + tokens.done(tokens.DONE, 0)
        if request not in (COMMIT, ROLLBACK):
            raise ValueError(f"transaction request {request}")
        answer = self._end(request)
        reader.take(reader.number("B"))
        if reader and reader.number("B") & 1:
            answer += self._begin()
        return answer + tokens.done(tokens.DONE, 0)

    def _begin(self) -> bytes:
        self._session.begin()
        self._transaction = next(self._transactions)
        return tokens.environment(tokens.ENV_BEGIN, b"\x08" + struct.pack("<Q", self._transaction))

    def _end(self, request: int) -> bytes:
        (self._session.commit if request == COMMIT else self._session.rollback)()
        old = b"\x08" + struct.pack("<Q", self._transaction)
        self._transaction = 0
        return tokens.environment(tokens.ENV_COMMIT if request == COMMIT else tokens.ENV_ROLLBACK, b"\0", old)

    def _calls(self, reader: Reader) -> bytes:
        answers = []
        while reader:
            answers.append(self._call(*_read_call(reader)))
        return b"".join(answers)

    def _call(self, procedure: str, arguments: list[Argument]) -> bytes:
        name = procedure.lower().replace("[", "").replace("]", "").removeprefix("sys.").removeprefix("dbo.")
        own: dict[str, Callable[[list[Argument]], bytes]] = {
            "sp_executesql": lambda a: self._run(str(a[0][1]), _declared(a[1][1] if a[1:] else ""), a[2:]),
            "sp_prepare": lambda a: self._prepare(str(a[2][1]), a[1][1]),
            "sp_prepexec": lambda a: self._run(
                str(a[2][1]), _declared(a[1][1]), a[3:], output=self._handle(str(a[2][1]), a[1][1])
            ),
            "sp_execute": self._execute,
            "sp_unprepare": self._unprepare,
        }
        if name in own:
            return own[name](arguments)
        if name.startswith("sp_datatype_info"):
            return self._finished(iter([datatype_info(int(arguments[0][1]))]))  # type: ignore[arg-type]  # an integer, by the protocol
        return self._finished(self._session.call(name, arguments))

    def _handle(self, sql: str, declarations: Value) -> bytes:
        handle = next(self._handles)
        self._prepared[handle] = (sql, _declared(declarations))
        return tokens.return_value(0, "", handle)

    def _prepare(self, sql: str, declarations: Value) -> bytes:
        output = self._handle(sql, declarations)
        return tokens.return_status(0) + output + tokens.done(tokens.DONE_PROCEDURE, 0)

    def _execute(self, arguments: list[Argument]) -> bytes:
        prepared = self._prepared.get(int(arguments[0][1]))  # type: ignore[arg-type]  # an integer, by the protocol
        if prepared is None:
            raise ServerError(8179, f"Could not find prepared statement with handle {arguments[0][1]!r}.")
        return self._run(*prepared, arguments[1:])

    def _unprepare(self, arguments: list[Argument]) -> bytes:
        self._prepared.pop(int(arguments[0][1]), None)  # type: ignore[arg-type]  # an integer, by the protocol
        return self._finished(iter(()))

    def _run(self, sql: str, names: tuple[str, ...], arguments: Iterable[Argument], output: bytes = b"") -> bytes:
        given = list(arguments)
        if len(given) != len(names):
            raise ServerError(8178, f"The query expects {len(names)} parameters, {len(given)} were supplied.")
        values = {(argument[0] or name).lstrip("@"): argument[1] for name, argument in zip(names, given, strict=True)}
        return self._finished(self._session.run(sql, values), output)

    def _finished(self, results: Iterator[Result], output: bytes = b"") -> bytes:
        body = self._tokens(results, tokens.DONE_IN_PROCEDURE)
        return body + tokens.return_status(0) + output + tokens.done(tokens.DONE_PROCEDURE, 0)


def _part(head: bytes, result: Rows | Count) -> tuple[bytes, int, int]:
    """Tokens, DONE status and row count of one result."""
    if isinstance(result, Rows):
        body = head + tokens.column_metadata(result.columns) + tokens.rows(result)
        return body, tokens.COUNT, len(result.rows)
    return head, 0 if result.rows is None else tokens.COUNT, result.rows or 0


def _read_call(reader: Reader) -> tuple[str, list[Argument]]:
    length = reader.number("H")
    if length == NAMED_BY_NUMBER:
        number = reader.number("H")
        if number not in PROCEDURES:
            raise ValueError(f"procedure number {number}")
        procedure = PROCEDURES[number]
    else:
        procedure = reader.take(2 * length).decode("utf-16-le")
    reader.take(2)  # option flags
    arguments: list[Argument] = []
    while reader:
        first = reader.number("B")
        if first == BATCH_SEPARATOR:
            break
        name = reader.take(2 * first).decode("utf-16-le")
        reader.take(1)  # status: by reference, default
        arguments.append((name, read_parameter(reader)))
    return procedure, arguments


def _declared(declarations: Value) -> tuple[str, ...]:
    """Names in '@P1 int, @P2 decimal(10, 2)', in order."""
    return tuple(re.findall(r"(?:^|,)\s*(@\w+)", str(declarations or "")))
