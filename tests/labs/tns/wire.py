"""Reading and writing TTC: numbers with a length before them, chunked bytes, and TNS packets around it all."""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass, field
from enum import IntEnum

HEADER = 8
LONG_LENGTH = 254
CHUNK = 32767


class PacketType(IntEnum):
    """TNS packets."""

    CONNECT = 1
    ACCEPT = 2
    REFUSE = 4
    DATA = 6
    MARKER = 12


class Marker(IntEnum):
    """What a marker packet says."""

    BREAK = 1
    RESET = 2
    INTERRUPT = 3


class Writer:
    """Builds one message."""

    def __init__(self) -> None:
        self.data = bytearray()

    def raw(self, *parts: bytes) -> None:
        """Bytes as they are."""
        for part in parts:
            self.data += part

    def ub1(self, *values: int) -> None:
        """One byte each."""
        self.data += bytes(values)

    def number(self, *values: int) -> None:
        """ub2, ub4, ub8: length byte (top bit: negative), then the shortest big-endian form."""
        for value in values:
            length = (abs(value).bit_length() + 7) // 8
            self.data.append(length | (0x80 if value < 0 else 0))
            self.data += abs(value).to_bytes(length, "big")

    def bytes(self, value: bytes) -> None:
        """A length byte and the bytes, or chunks when there are more than fit."""
        if len(value) < 253:
            self.data.append(len(value))
            self.data += value
            return
        self.data.append(LONG_LENGTH)
        for at in range(0, len(value), CHUNK):
            part = value[at : at + CHUNK]
            self.number(len(part))
            self.data += part
        self.number(0)

    def text(self, value: str) -> None:
        """With two lengths, as keys and names are."""
        raw = value.encode()
        self.number(len(raw))
        if raw:
            self.bytes(raw)


class Reader:
    """Takes one message apart."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def more(self) -> bool:
        """Whether anything is left."""
        return self.at < len(self.data)

    def raw(self, length: int) -> bytes:
        """So many bytes.

        Raises:
            EOFError: the message is shorter.
        """
        if self.at + length > len(self.data):
            raise EOFError(f"{length} bytes wanted at {self.at}, the message has {len(self.data)}")
        self.at += length
        return self.data[self.at - length : self.at]

    def ub1(self) -> int:
        """One byte."""
        return self.raw(1)[0]

    def skip(self, count: int) -> None:
        """Single bytes that do not matter here."""
        self.raw(count)

    def number(self) -> int:
        """ub2, ub4, ub8 or their signed forms."""
        length = self.ub1()
        value = int.from_bytes(self.raw(length & 0x7F), "big")
        return -value if length & 0x80 else value

    def numbers(self, count: int) -> list[int]:
        """Several."""
        return [self.number() for _ in range(count)]

    def bytes(self) -> bytes | None:
        """Bytes behind one length; None for a NULL."""
        length = self.ub1()
        if length in (0, 255):
            return None
        if length != LONG_LENGTH:
            return self.raw(length)
        parts = []
        while size := self.number():
            parts.append(self.raw(size))
        return b"".join(parts)

    def text(self) -> str:
        """Text behind two lengths."""
        if self.number() == 0:
            return ""
        return (self.bytes() or b"").decode()


@dataclass(slots=True)
class Channel:
    """TNS packets over a socket. Sends whole messages; a packet never exceeds the session data unit."""

    sock: socket.socket
    large: bool = False  # lengths have four bytes once version 315 or later was agreed
    sdu: int = 8192
    _pending: bytearray = field(default_factory=bytearray)

    def receive(self) -> tuple[int, bytes]:
        """Type and body of the next packet.

        Raises:
            ConnectionError: the client is gone.
        """
        header = self._exactly(HEADER)
        length = struct.unpack(">I" if self.large else ">H", header[: 4 if self.large else 2])[0]
        return header[4], self._exactly(length - HEADER)

    def send(self, kind: PacketType, body: bytes) -> None:
        """One packet."""
        length = struct.pack(">I", HEADER + len(body)) if self.large else struct.pack(">HH", HEADER + len(body), 0)
        self.sock.sendall(length + bytes([kind, 0, 0, 0]) + body)

    def send_data(self, message: bytes) -> None:
        """A message in as many data packets as it takes."""
        room = self.sdu - HEADER - 2
        for at in range(0, len(message), room):
            self.send(PacketType.DATA, b"\0\0" + message[at : at + room])

    def send_marker(self, marker: Marker) -> None:
        """A break or a reset."""
        self.send(PacketType.MARKER, bytes([1, 0, marker]))

    def _exactly(self, count: int) -> bytes:
        while len(self._pending) < count:
            got = self.sock.recv(65536)
            if not got:
                raise ConnectionError("the client closed the connection")
            self._pending += got
        taken = bytes(self._pending[:count])
        del self._pending[:count]
        return taken
