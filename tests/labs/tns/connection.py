"""One client's connection: packets in, messages understood, answers out."""

from __future__ import annotations

import itertools
import logging
import queue
import re
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.labs.tns import answers
from tests.labs.tns.backend import Answer, Bind, Client, OracleError, Session
from tests.labs.tns.lobs import LobCall, Lobs, read_lob_call
from tests.labs.tns.login import Challenge
from tests.labs.tns.requests import (
    COMMIT_AGAIN,
    Attributes,
    Execute,
    Function,
    Message,
    NotEmulatedError,
    Option,
    read_bind_row,
    read_credentials,
    read_execute,
    read_piggyback,
    read_release,
)
from tests.labs.tns.wire import Channel, Marker, PacketType, Reader, Writer

if TYPE_CHECKING:
    from tests.labs.tns.server import TnsServer

# As release 19 accepts: later versions add a quicker login, marked ends of answers and out-of-band breaks, each of them
# another form of half the messages.
VERSION = 318
NO_NATIVE_ENCRYPTION = 0x04
LOG = logging.getLogger(__name__)
LOGON_FAILED = OracleError(1017, "invalid username/password; logon denied")
CANCELLED = OracleError(1013, "user requested cancel of current operation")
_TROUBLE = (OSError, ConnectionError, EOFError)


@dataclass(slots=True)
class Cursor:
    """An open cursor: its text and, of a query, the rows not yet fetched."""

    sql: str
    binds: list[Bind]
    answer: Answer = field(default_factory=Answer)
    fetched: int = 0
    defines: list[int] = field(default_factory=list)  # types that the client wants the columns in

    @property
    def waits_for_defines(self) -> bool:
        """Rows with LOBs are not sent before the client has said what it wants them as."""
        return not self.defines and any(column.kind in answers.LOBS for column in self.answer.columns)


def _connect_data(text: str, word: str) -> str:
    """A value of the connect descriptor, "" where it is not given."""
    found = re.search(rf"{word}\s*=\s*([^)]+)\)", text, re.IGNORECASE)
    return found.group(1).strip() if found else ""


class Connection:
    """One client: one thread takes packets, so that a break is heard while a statement runs; one works."""

    def __init__(self, server: TnsServer, sock: socket.socket) -> None:
        self.server = server
        self.client = Client(user="", service="")
        self.session: Session | None = None
        self._channel = Channel(sock)
        self._messages: queue.Queue[tuple[int, bytes]] = queue.Queue()
        self._cursors: dict[int, Cursor] = {}
        self._numbers = itertools.count(1)
        self._broken = threading.Event()  # a break was heard and not yet answered
        self._known = False  # the user that wants in
        self._challenged = Challenge("")
        self._orderly = False
        self._lobs = Lobs()

    def drop(self) -> None:
        """Cut the connection, as a firewall would."""
        with suppress(OSError):
            self._channel.sock.shutdown(socket.SHUT_RDWR)

    def run(self) -> None:
        """Serve until the client goes."""
        try:
            if self._accept():
                threading.Thread(target=self._listen, daemon=True).start()
                self._converse()
        except _TROUBLE as error:
            LOG.debug("connection ended: %s", error)
        except NotEmulatedError as error:
            self.server.complaints.append(str(error))
        finally:
            if self.session is not None:
                self.session.close(orderly=self._orderly)
            with suppress(OSError):
                self._channel.sock.close()

    def _accept(self) -> bool:
        """Answer the connect packet: accept, or refuse a service nobody knows."""
        _, body = self._channel.receive()
        sdu, length, offset = (*struct.unpack(">H", body[6:8]), *struct.unpack(">HH", body[16:20]))
        text = body[offset - 8 :].decode() or self._channel.receive()[1][2:].decode()
        assert len(text) == length, f"connect data of {len(text)} bytes, announced {length}"
        service, instance = (_connect_data(text, word) for word in ("SERVICE_NAME", "INSTANCE_NAME"))
        if not self.server.database.serves(service, instance):
            code = 12521 if instance and self.server.database.serves(service, "") else 12514
            answer = f"(DESCRIPTION=(ERR={code})(VSNNUM=0)(ERROR_STACK=(ERROR=(CODE={code})(EMFI=4))))".encode()
            self._channel.send(PacketType.REFUSE, b"\x22\x00" + struct.pack(">H", len(answer)) + answer)
            return False
        self.client = Client(user="", service=service, instance=instance)
        data_unit = min(sdu, 65535)
        head = struct.pack(">HHHHHHHBB", VERSION, 0, data_unit, data_unit, 1, 0, 45, NO_NATIVE_ENCRYPTION, 0)
        tail = struct.pack(">IIBI", sdu, sdu, 0, 0)  # large units, no compression, no flags
        self._channel.send(PacketType.ACCEPT, head + bytes(8) + tail)
        self._channel.large, self._channel.sdu = True, sdu
        return True

    def _listen(self) -> None:
        """Hand packets on; a break reaches the running statement at once."""
        try:
            while True:
                kind, body = self._channel.receive()
                if kind == PacketType.MARKER and body[2] != Marker.RESET:
                    self._broken.set()
                    if self.session is not None:
                        self.session.cancel()
                self._messages.put((kind, body))
        except _TROUBLE:
            self._messages.put((-1, b""))

    def _converse(self) -> None:
        """One message after the other; one may come in several packets."""
        pending = b""
        while not self._orderly:
            kind, body = self._messages.get()
            if kind == -1:
                return
            if kind == PacketType.MARKER:
                self._answer_marker(body[2])
                pending = b""
                continue
            pending += body[2:]
            try:
                self._answer(Reader(pending))
            except EOFError:
                continue  # the rest is in the next packet
            pending = b""

    def _answer_marker(self, marker: int) -> None:
        """A break is acknowledged; the reset that follows it ends the dance with ORA-01013."""
        if marker != Marker.RESET:
            self._channel.send_marker(Marker.BREAK)
            return
        self._broken.clear()
        self._channel.send_marker(Marker.RESET)
        writer = Writer()
        answers.end(writer, error=CANCELLED, in_transaction=self._in_transaction())
        self._channel.send_data(bytes(writer.data))

    def _in_transaction(self) -> bool:
        return self.session is not None and self.session.in_transaction()

    def _answer(self, reader: Reader) -> None:
        writer = Writer()
        kind = reader.ub1()
        if kind == Message.PROTOCOL:
            answers.protocol(writer)
        elif kind == Message.ONE_WAY:
            read_release(reader)
            return
        elif kind == Message.DATA_TYPES:
            if len(reader.data) < 100 or reader.data[-2:] != b"\0\0":
                raise EOFError
            answers.data_types(writer)
        else:
            self._call(kind, reader, writer)
        if not self._broken.is_set():  # else the answer is the error after the reset
            self._channel.send_data(bytes(writer.data))

    def _call(self, kind: int, reader: Reader, writer: Writer) -> None:
        along = []
        while kind == Message.PIGGYBACK:
            along.append(read_piggyback(reader))
            kind = reader.ub1()
        if kind != Message.FUNCTION:
            raise NotEmulatedError(f"message {kind} is not emulated")
        function = reader.ub1()
        reader.ub1()
        work = self._function(function, reader)
        for item in along:
            self._along(item)
        try:
            work(writer)
        except OracleError as error:
            writer.data.clear()
            answers.end(writer, error=error, in_transaction=self._in_transaction())

    def _along(self, item: Attributes | list[int]) -> None:
        """What the piggybacks wanted."""
        if isinstance(item, list):
            for number in item:
                self._cursors.pop(number, None)
        else:
            for name, value in item.changed.items():
                if hasattr(self.client, name):
                    setattr(self.client, name, value)

    def _function(self, function: int, reader: Reader) -> Callable[[Writer], None]:
        """What a call is to do, its body read to the end first."""
        match function:
            case Function.AUTH_ONE:
                user, given = read_credentials(reader)
                return lambda writer: self._challenge(writer, user, given)
            case Function.AUTH_TWO:
                _, proof = read_credentials(reader)
                return lambda writer: self._admit(writer, proof)
            case Function.EXECUTE:
                asked = read_execute(reader)
                return lambda writer: self._execute(writer, asked)
            case Function.REEXECUTE | Function.REEXECUTE_AND_FETCH:
                number, count, _, options = reader.numbers(4)
                binds = self._rebound(number, 1 if function == Function.REEXECUTE_AND_FETCH else count, reader)
                rows = count if function == Function.REEXECUTE_AND_FETCH else 0
                commit = bool(options & COMMIT_AGAIN)
                return lambda writer: self._again(writer, number, binds, count if not rows else 1, rows, commit=commit)
            case Function.FETCH:
                number, rows = reader.numbers(2)
                return lambda writer: self._fetch(writer, number, rows)
            case Function.LOB:
                call = read_lob_call(reader)
                return lambda writer: self._lob(writer, call)
            case Function.VERSION:
                return lambda writer: self._tell_version(writer)
        return lambda writer: self._simple(function, writer)

    def _simple(self, function: int, writer: Writer) -> None:
        """Calls without arguments."""
        session = self._open_session()
        match function:
            case Function.COMMIT:
                session.commit()
            case Function.ROLLBACK:
                session.rollback()
            case Function.LOGOFF:
                self._orderly = True
            case Function.PING:
                pass
            case _:
                raise NotEmulatedError(f"function {function} is not emulated")
        answers.status(writer, in_transaction=session.in_transaction())

    def _tell_version(self, writer: Writer) -> None:
        answers.version(writer, self.server.banner, self.server.version_number)
        answers.status(writer, in_transaction=False)

    def _challenge(self, writer: Writer, user: str, given: dict[str, str]) -> None:
        self.client.user = user.strip('"') if user.startswith('"') else user.upper()
        self.client.program = given.get("AUTH_PROGRAM_NM", "")
        self.client.machine = given.get("AUTH_MACHINE", "")
        self.client.os_user = given.get("AUTH_SID", "")
        password = self.server.database.password(self.client.user)
        self._known = password is not None
        self._challenged = Challenge(password or "")
        answers.parameters(writer, self._challenged.parameters())
        answers.end(writer)

    def _admit(self, writer: Writer, proof: dict[str, str]) -> None:
        answer = self._challenged.answer(proof["AUTH_SESSKEY"], proof["AUTH_PASSWORD"])
        if answer is None or not self._known:
            raise LOGON_FAILED
        self.client.proxy_client = proof.get("PROXY_CLIENT_NAME", "").upper()
        refusal = self.server.database.refuse_login(self.client)
        if refusal is not None:
            raise refusal
        session = self.session = self.server.database.open(self.client)
        pairs = {
            "AUTH_SVR_RESPONSE": answer,
            "AUTH_VERSION_NO": str(self.server.version_number),
            "AUTH_VERSION_STRING": self.server.banner,
            "AUTH_SESSION_ID": str(session.session_id),
            "AUTH_SERIAL_NUM": str(session.serial),
            "AUTH_SC_SERVICE_NAME": self.client.service,
            "AUTH_MAX_OPEN_CURSORS": "300",
            "AUTH_MAX_IDEN_LENGTH": "128",
        }
        answers.parameters(writer, [(key, value, 0) for key, value in pairs.items()])
        answers.end(writer)

    def _open_session(self) -> Session:
        if self.session is None:
            raise NotEmulatedError("a call before the login")
        return self.session

    def _run(self, sql: str, binds: list[Bind], executions: int, *, commit: bool) -> Answer:
        """Execute, with the faults that a test ordered around it."""
        session, faults = self._open_session(), self.server.faults
        self.server.statements.append(sql)
        if faults.of(faults.drop_before, sql):
            self.drop()
            raise ConnectionError("dropped before the statement")
        faults.before(sql)
        answer = session.execute(sql, binds, executions)
        if commit:
            session.commit()
        if faults.of(faults.drop, sql):
            self.drop()
            raise ConnectionError("dropped after the statement")
        if faults.of(faults.silence, sql):
            self.server.stopped.wait()
            raise ConnectionError("silent until the end")
        return answer

    def _lob(self, writer: Writer, call: LobCall) -> None:
        self._lobs.answer(writer, call)
        answers.end(writer, in_transaction=self._in_transaction())

    def _execute(self, writer: Writer, asked: Execute) -> None:
        if asked.defines:
            cursor = self._cursors[asked.cursor]
            cursor.defines = asked.defines
            if not asked.options & Option.EXECUTE:
                self._rows(writer, asked.cursor, asked.rows if asked.options & Option.FETCH else 0)
                return
        number = asked.cursor or next(self._numbers)
        if asked.cursor and not asked.sql:
            asked.sql = self._cursors[number].sql
        cursor = Cursor(asked.sql, asked.binds)
        if asked.cursor:
            cursor.defines = self._cursors[number].defines
        cursor.answer = self._run(asked.sql, asked.binds, asked.executions, commit=bool(asked.options & Option.COMMIT))
        self._cursors[number] = cursor
        if cursor.answer.columns:
            answers.describe(writer, cursor.answer.columns)
            self._rows(writer, number, asked.rows if asked.options & Option.FETCH else 0)
            return
        self._count(writer, number, cursor)

    def _count(self, writer: Writer, number: int, cursor: Cursor) -> None:
        """The end of anything but a query."""
        if any(bind.assigned for bind in cursor.binds):
            answers.assigned(writer, cursor.binds)
        answers.end(writer, cursor=number, rowcount=cursor.answer.rowcount, in_transaction=self._in_transaction())

    def _rebound(self, number: int, executions: int, reader: Reader) -> list[Bind]:
        """The cursor's binds with new values."""
        binds = [Bind(b.kind, b.size, [], national=b.national) for b in self._cursors[number].binds]
        for _ in range(executions if binds else 0):
            read_bind_row(reader, binds)
        return binds

    def _again(
        self, writer: Writer, number: int, binds: list[Bind], executions: int, rows: int, *, commit: bool
    ) -> None:
        cursor = self._cursors[number] = Cursor(self._cursors[number].sql, binds)
        cursor.answer = self._run(cursor.sql, binds, executions, commit=commit)
        if cursor.answer.columns:
            self._rows(writer, number, rows)
        else:
            self._count(writer, number, cursor)

    def _fetch(self, writer: Writer, number: int, rows: int) -> None:
        self._rows(writer, number, rows)

    def _rows(self, writer: Writer, number: int, rows: int) -> None:
        """The next rows; ORA-01403 says that there are no more."""
        cursor = self._cursors[number]
        rows = 0 if cursor.waits_for_defines else rows
        part = cursor.answer.rows[cursor.fetched : cursor.fetched + rows]
        cursor.fetched += len(part)
        if part:
            answers.row_header(writer)
        for values in part:
            answers.row(writer, cursor.answer.columns, values, cursor.defines, self._lobs)
        done = rows > 0 and len(part) < rows
        answers.end(
            writer,
            cursor=number,
            rowcount=cursor.fetched,
            number=answers.NO_MORE_ROWS if done else 0,
            in_transaction=self._in_transaction(),
        )
