"""A way to a server that falls silent: connections stay open and new ones are accepted, and nothing goes through.

What a frozen server, a stopped virtual machine or a firewall that drops everything looks like to a client.
"""

from __future__ import annotations

import selectors
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

Address = tuple[str, int] | Path  # a path: a unix socket
LOOK_EVERY_SECONDS = 0.02
WAIT_SECONDS = 20.0


class SilentWay:
    """Forwards between clients and one server from a thread of its own, until it falls silent."""

    def __init__(self, server: Address, at: Address = ("127.0.0.1", 0)) -> None:
        """Listen.

        Args:
            server: where everything goes.
            at: where clients come.
        """
        self._server = server
        self._silent = threading.Event()
        self._seen = threading.Event()  # by the thread that forwards: it passes nothing on any more
        self._ended = threading.Event()
        self._selector = selectors.DefaultSelector()
        self._listener = _socket_for(at)
        self._listener.bind(str(at) if isinstance(at, Path) else at)
        self._listener.listen()
        self._selector.register(self._listener, selectors.EVENT_READ, None)
        self._thread = threading.Thread(target=self._forward, name="silent way", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """Where it listens, on 127.0.0.1."""
        return int(self._listener.getsockname()[1])

    def fall_silent(self) -> None:
        """Nothing goes through from now on."""
        self._seen.clear()
        self._silent.set()
        self._seen.wait(WAIT_SECONDS)

    def speak(self) -> None:
        """Everything goes through again, what was sent meanwhile too."""
        self._silent.clear()

    def close(self) -> None:
        """End it, and every connection; what was sent while it was silent is lost."""
        if self._ended.is_set():
            return
        self._ended.set()
        self._thread.join()
        for key in list(self._selector.get_map().values()):
            _close(key.fileobj)
        self._selector.close()

    def _forward(self) -> None:
        while not self._ended.is_set():
            if self._silent.is_set():
                self._seen.set()
                self._ended.wait(LOOK_EVERY_SECONDS)
                continue
            for key, _ in self._selector.select(LOOK_EVERY_SECONDS):
                if key.data is None:
                    self._accept()
                else:
                    self._pass_on(key.fileobj, key.data)

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        server = _socket_for(self._server)
        server.connect(str(self._server) if isinstance(self._server, Path) else self._server)
        self._selector.register(client, selectors.EVENT_READ, server)
        self._selector.register(server, selectors.EVENT_READ, client)

    def _pass_on(self, source: object, sink: socket.socket) -> None:
        assert isinstance(source, socket.socket)
        with suppress(OSError):
            found = source.recv(65536)
            if found:
                sink.sendall(found)
                return
        for end in (source, sink):
            with suppress(KeyError, ValueError):  # its other side has ended it
                self._selector.unregister(end)
            _close(end)


@contextmanager
def silent_way(server: Address, at: Address = ("127.0.0.1", 0)) -> Iterator[SilentWay]:
    """One that ends with the block."""
    way = SilentWay(server, at)
    try:
        yield way
    finally:
        way.close()


def _socket_for(address: Address) -> socket.socket:
    return socket.socket(socket.AF_UNIX if isinstance(address, Path) else socket.AF_INET)


def _close(end: object) -> None:
    assert isinstance(end, socket.socket)
    with suppress(OSError):
        end.close()
