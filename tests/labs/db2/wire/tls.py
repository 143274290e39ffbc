"""TLS in front of the emulated server, ended by a proxy: what a Db2 with SSL_SVCENAME does itself."""

from __future__ import annotations

import select
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_CHUNK = 65536


@contextmanager
def tls_in_front(port: int, context: ssl.SSLContext) -> Iterator[int]:
    """A port of the loopback address that speaks TLS and passes on to another one what it hears."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=_accept, args=(listening, context, port), daemon=True).start()
        yield int(listening.getsockname()[1])
        with suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)


def _accept(listening: socket.socket, context: ssl.SSLContext, port: int) -> None:
    while True:
        try:
            plain, _ = listening.accept()
        except OSError:  # the test is over
            return
        threading.Thread(target=_serve, args=(plain, context, port), daemon=True).start()


def _serve(plain: socket.socket, context: ssl.SSLContext, port: int) -> None:
    """One client: shake hands, then carry bytes both ways until either side ends."""
    with (
        suppress(OSError),
        plain,
        socket.create_connection(("127.0.0.1", port)) as server,
        context.wrap_socket(plain, server_side=True) as client,  # fails where the client does not trust us
    ):
        while _carried(client, server):
            pass


def _carried(client: ssl.SSLSocket, server: socket.socket) -> bool:
    """Pass on what has come, from one thread only: a TLS session does not serve two. False when a side has ended."""
    ready = [client] if client.pending() else select.select([client, server], [], [])[0]
    for source, target in ((client, server), (server, client)):
        if source in ready:
            data = source.recv(_CHUNK)
            if not data:
                return False
            target.sendall(data)
    return True
