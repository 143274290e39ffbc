"""The listener. Emulated server: a mirror of what thin drivers send and expect, not of Oracle."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.labs.tns.backend import Database
from tests.labs.tns.connection import Connection
from tests.labs.tns.faults import Faults


class TnsServer:
    """Listens on the loopback interface until it is stopped."""

    def __init__(self, database: Database, tls: ssl.SSLContext | None = None) -> None:
        self.database = database
        self.faults = Faults()
        self.statements: list[str] = []  # everything that was sent, in order
        self.complaints: list[str] = []  # what a client used and this server lacks: a test must look
        self.stopped = threading.Event()
        self._tls = tls
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self._connections: list[Connection] = []
        self._threads: list[threading.Thread] = []

    @property
    def version_number(self) -> int:
        """As clients decode it: one byte, one byte, then nibbles."""
        first, second, third, fourth, fifth = (*self.database.version, 0, 0, 0, 0, 0)[:5]
        return first << 24 | second << 16 | third << 12 | fourth << 4 | fifth

    @property
    def banner(self) -> str:
        """What the version call tells."""
        return f"Oracle Database {'.'.join(map(str, self.database.version))} (emulated server)"

    def start(self) -> None:
        """Take connections from now on."""
        thread = threading.Thread(target=self._take, daemon=True)
        self._threads.append(thread)
        thread.start()

    def connection_of(self, session_id: int) -> Connection:
        """The connection of a session.

        Raises:
            LookupError: there is none.
        """
        for connection in list(self._connections):
            if connection.session is not None and connection.session.session_id == session_id:
                return connection
        raise LookupError(f"no session {session_id}")

    def stop(self) -> None:
        """Cut every connection and wait for the threads."""
        self.stopped.set()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for connection in list(self._connections):
            if connection.session is not None:
                connection.session.cancel()
            connection.drop()
        for thread in self._threads:
            thread.join(timeout=10)

    def _take(self) -> None:
        while not self.stopped.is_set():
            try:
                sock, _ = self._socket.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(sock,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, sock: socket.socket) -> None:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            plain = self._tls.wrap_socket(sock, server_side=True) if self._tls else sock
        except (ssl.SSLError, OSError):
            sock.close()
            return
        connection = Connection(self, plain)
        self._connections.append(connection)
        try:
            connection.run()
        finally:
            self._connections.remove(connection)


@contextmanager
def serving(database: Database, tls: ssl.SSLContext | None = None) -> Iterator[TnsServer]:
    """A running server, stopped at the end."""
    server = TnsServer(database, tls)
    server.start()
    try:
        yield server
    finally:
        server.stop()
