"""Packets and TLS: how bytes of an emulated server travel, MS-TDS 2.2.3 and 2.2.6.5.

During a TLS handshake its records travel inside PRELOGIN packets; afterwards packets travel inside TLS records.
"""

from __future__ import annotations

import socket
import ssl
import struct
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum, StrEnum

HEADER = struct.Struct(">BBHHBB")
LAST_PACKET = 0x01
RECEIVE_BYTES = 65536


class PacketType(IntEnum):
    """First byte of a packet."""

    BATCH = 0x01
    RPC = 0x03
    RESULT = 0x04
    ATTENTION = 0x06
    TRANSACTION = 0x0E
    LOGIN = 0x10
    PRELOGIN = 0x12


class FaultKind(StrEnum):
    """What can go wrong with the next answer."""

    DROP = "drop"  # the connection closes before it
    HALF = "half"  # half of its bytes, then the connection closes
    SILENCE = "silence"  # it never comes, the connection stays
    DELAY = "delay"  # it comes late


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing to go wrong, once."""

    kind: FaultKind
    seconds: float = 0.0


class Faults:
    """What is to go wrong next, shared by all connections of a server."""

    def __init__(self) -> None:
        self._armed: list[Fault] = []
        self._lock = threading.Lock()

    def arm(self, kind: FaultKind, seconds: float = 0.0) -> None:
        """Let it happen to the next answer of any connection that has logged in."""
        with self._lock:
            self._armed.append(Fault(kind, seconds))

    def take(self) -> Fault | None:
        """The fault that strikes now."""
        with self._lock:
            return self._armed.pop(0) if self._armed else None


class Disconnected(Exception):
    """The other side has gone, or was cut off."""


class Channel:
    """One connection as packets. Reading and writing may happen in two threads."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._tls: ssl.SSLObject | None = None
        self._tls_in, self._tls_out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls_lock = threading.RLock()
        self._sending = threading.Lock()
        self._buffer = b""
        self.packet_bytes = 4096

    def read_message(self) -> tuple[PacketType, bytes]:
        """The next whole message.

        Raises:
            Disconnected: there will be none.
        """
        body = b""
        while True:
            kind, status, length, _, _, _ = HEADER.unpack(self._exactly(HEADER.size))
            body += self._exactly(length - HEADER.size)
            if status & LAST_PACKET:
                return PacketType(kind), body

    def send_message(self, body: bytes, kind: PacketType = PacketType.RESULT, fault: Fault | None = None) -> None:
        """Send it in packets of the agreed size, or suffer the fault."""
        packets = self._packets(kind, body)
        if fault is not None:
            packets = self._suffer(fault, packets)
        with self._sending:
            self._send(packets)

    def _suffer(self, fault: Fault, packets: bytes) -> bytes:
        if fault.kind is FaultKind.DELAY:
            time.sleep(fault.seconds)
        elif fault.kind is FaultKind.SILENCE:
            return b""
        else:
            if fault.kind is FaultKind.HALF:
                self._send(packets[: len(packets) // 2])
            self.close()
            raise Disconnected("by an injected fault")
        return packets

    def _packets(self, kind: PacketType, body: bytes) -> bytes:
        room = self.packet_bytes - HEADER.size
        pieces = [body[at : at + room] for at in range(0, len(body), room)] or [b""]
        last = len(pieces) - 1
        return b"".join(
            HEADER.pack(kind, LAST_PACKET if n == last else 0, len(piece) + HEADER.size, 0, (n + 1) % 256, 0) + piece
            for n, piece in enumerate(pieces)
        )

    def start_tls(self, context: ssl.SSLContext) -> None:
        """Shake hands as a server, the records wrapped in PRELOGIN packets."""
        tls = context.wrap_bio(self._tls_in, self._tls_out, server_side=True)
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                self._send_handshake()
                _, records = self.read_message()
                self._tls_in.write(records)
            except ssl.SSLError as error:
                raise Disconnected(f"TLS: {error}") from error
        self._send_handshake()
        self._tls = tls

    def end_tls(self) -> None:
        """Back to clear text: only the login was to be encrypted."""
        self._tls = None

    def close(self) -> None:
        """Cut the connection; the reading side wakes up."""
        with suppress(OSError):  # already gone
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _send_handshake(self) -> None:
        records = self._tls_out.read()
        if records:
            self._socket_send(self._packets(PacketType.PRELOGIN, records))

    def _send(self, data: bytes) -> None:
        if self._tls is not None:
            with self._tls_lock:
                self._tls.write(data)
                data = self._tls_out.read()
        self._socket_send(data)

    def _socket_send(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise Disconnected(str(error)) from error

    def _exactly(self, length: int) -> bytes:
        while len(self._buffer) < length:
            self._buffer += self._receive()
        taken, self._buffer = self._buffer[:length], self._buffer[length:]
        return taken

    def _receive(self) -> bytes:
        if self._tls is None:
            return self._socket_receive()
        while True:
            with self._tls_lock:
                try:
                    return self._tls.read(RECEIVE_BYTES)
                except ssl.SSLWantReadError:
                    pass
                except ssl.SSLError as error:
                    raise Disconnected(f"TLS: {error}") from error
            records = self._socket_receive()
            with self._tls_lock:
                self._tls_in.write(records)

    def _socket_receive(self) -> bytes:
        try:
            data = self._socket.recv(RECEIVE_BYTES)
        except OSError as error:
            raise Disconnected(str(error)) from error
        if not data:
            raise Disconnected("the client has closed the connection")
        return data
