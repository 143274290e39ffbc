"""A small DRDA client: the lab's own session on Derby, past the shim, for statements without results.

It creates the database and keeps the emulated catalog up to date. Standard library only, so that no driver of the
process that runs the lab can wait for the lab itself.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterable

from tests.labs.db2.wire.dss import CHAINED, OBJECT, REQUEST, SAME_CORRELATION, Code, Dss, obj, objects, read_dss
from tests.labs.db2.wire.sqlca import read_sqlca

_MANAGERS = bytes.fromhex("14030007 24070007 240F0007 14400007 1C0804B8")
_CODE_PAGES = bytes.fromhex("0006119C04B8 0006119D04B0 0006119E04B8")
_CLEAR_PASSWORD = b"\x00\x03"
_TOKEN = b"NF000001.LAB0" + b"\x00" * 6


class DerbyRefused(Exception):
    """Derby did not do what the lab asked of it."""


def exactly(connection: socket.socket, count: int) -> bytes:
    """So many bytes.

    Raises:
        EOFError: the other side closed first.
    """
    got = bytearray()
    while len(got) < count:
        part = connection.recv(count - len(got))
        if not part:
            raise EOFError
        got += part
    return bytes(got)


class Requester:
    """One session in autocommit; safe from several threads, one statement at a time."""

    def __init__(self, port: int, database: str, user: str, password: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._lock = threading.Lock()
        self._name = f"{database};create=true".encode().ljust(18)  # as it was named at the start, at most 18 bytes
        name = f"{database};create=true"
        self._send([
            obj(Code.EXCSAT, obj(0x115E, "lab".encode("cp500")), obj(0x1404, _MANAGERS)),
            obj(Code.ACCSEC, obj(Code.SECMEC, _CLEAR_PASSWORD), obj(Code.RDBNAM, name.encode("cp500"))),
        ])  # fmt: skip
        self._replies(2)
        rdb = obj(Code.RDBNAM, name.encode())  # in UTF-8 as soon as the managers have been agreed on
        who = (obj(Code.PASSWORD, password.encode()), obj(Code.USRID, user.encode()))
        product = (obj(Code.PRDID, b"DNC10140"), obj(Code.TYPDEFNAM, b"QTDSQLASC"), obj(Code.TYPDEFOVR, _CODE_PAGES))
        self._send([
            obj(Code.SECCHK, obj(Code.SECMEC, _CLEAR_PASSWORD), rdb, *who),
            obj(Code.ACCRDB, obj(0x210F, b"\x24\x07"), obj(0x2135, _TOKEN), rdb, *product),
        ])  # fmt: skip
        if not any(reply.code == Code.ACCRDBRM for reply in self._replies(2)):
            raise DerbyRefused(f"Derby does not open the database {database}")

    def close(self) -> None:
        """End the session."""
        self._socket.close()

    def run(self, statements: Iterable[str]) -> None:
        """Execute and commit them all, or none.

        Raises:
            DerbyRefused: one of them failed; they are rolled back.
        """
        with self._lock:
            for statement in statements:
                self._execute(statement)
            self._send([obj(Code.RDBCMM)])
            self._replies(1)

    def _execute(self, statement: str) -> None:
        package = self._name + b"NULLID".ljust(18) + b"SYSSH200".ljust(18) + b"SYSLVL01" + b"\x00\x01"
        command = obj(Code.EXCSQLIMM, obj(Code.PKGNAMCSN, package))
        text = statement.encode()
        body = obj(Code.SQLSTT, b"\x00", struct.pack(">I", len(text)), text, b"\xff")
        first = Dss(REQUEST, CHAINED | SAME_CORRELATION, 1, command)
        self._socket.sendall(first.wire() + Dss(OBJECT, 0, 1, body).wire())
        for reply in self._replies(1):
            for code, inside in objects(reply.body):
                answer = read_sqlca(inside, ">") if code == Code.SQLCARD else None
                if answer is not None and answer.code < 0:
                    self._send([obj(Code.RDBRLLBCK)])
                    self._replies(1)
                    raise DerbyRefused(f"{answer.state} {answer.message}: {statement[:2000]}")

    def _send(self, commands: list[bytes]) -> None:
        structures = [
            Dss(REQUEST, CHAINED if number < len(commands) else 0, number, command).wire()
            for number, command in enumerate(commands, 1)
        ]
        self._socket.sendall(b"".join(structures))

    def _replies(self, last: int) -> list[Dss]:
        """Everything up to the end of the chain that answers command number ``last``."""
        found = [read_dss(lambda count: exactly(self._socket, count))]
        while found[-1].flags & CHAINED or found[-1].correlation < last:
            found.append(read_dss(lambda count: exactly(self._socket, count)))
        return found
