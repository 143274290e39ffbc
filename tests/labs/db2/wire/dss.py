"""The framing of DRDA: data stream structures (DSS) and the DDM objects inside them.

A DSS is 6 bytes of header (length, magic D0, kind and chaining, correlation), then objects of length, code point, body.
A length with its top bit set says that more follows: another segment of a DSS, or a longer length of an object.
Source: Open Group DRDA volume 3 (DDM), and the bytes that IBM's driver and Apache Derby exchange.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum

HEADER = 6
SEGMENT = 32767
MORE = 0x8000
CHAINED, SAME_CORRELATION = 0x40, 0x10
REQUEST, REPLY, OBJECT = 1, 2, 3


class Code(IntEnum):
    """The code points that the lab touches."""

    EXCSAT = 0x1041
    ACCSEC = 0x106D
    SECCHK = 0x106E
    ACCRDB = 0x2001
    PRPSQLSTT = 0x200D
    EXCSQLSTT = 0x200B
    EXCSQLIMM = 0x200A
    OPNQRY = 0x200C
    OPNQRYRM = 0x2205
    CNTQRY = 0x2006
    EXCSQLSET = 0x2014
    RDBCMM = 0x200E
    RDBRLLBCK = 0x200F
    PKGNAMCSN = 0x2113
    ACCRDBRM = 0x2201
    SQLCARD = 0x2408
    SQLDARD = 0x2411
    QRYDSC = 0x241A
    QRYDTA = 0x241B
    SQLSTT = 0x2414
    SQLDTA = 0x2412
    PRCNAM = 0x2138
    FDODSC = 0x0010
    FDODTA = 0x147A
    TYPDEFOVR = 0x0035
    TYPDEFNAM = 0x002F
    PRDID = 0x112E
    PKGDFTCST = 0x2125
    USRID = 0x11A0
    PASSWORD = 0x11A1
    SECMEC = 0x11A2
    RDBNAM = 0x2110
    SESSION_DATA = 0xC000


@dataclass(frozen=True, slots=True)
class Dss:
    """One structure: its header's fields and its body, segments joined."""

    kind: int  # REQUEST, REPLY or OBJECT
    flags: int
    correlation: int
    body: bytes
    raw: bytes = b""  # as it came, so that what nobody touches goes on untouched

    @property
    def code(self) -> int:
        """Code point of its first object."""
        return int.from_bytes(self.body[2:4]) if len(self.body) >= 4 else 0

    def wire(self) -> bytes:
        """On the wire.

        Raises:
            ValueError: it was changed and is longer than one segment.
        """
        if self.raw:
            return self.raw
        length = HEADER + len(self.body)
        if length > SEGMENT:
            raise ValueError(f"a changed structure of {length} bytes does not fit one segment")
        return struct.pack(">HBBH", length, 0xD0, self.kind | self.flags, self.correlation) + self.body

    def with_body(self, body: bytes) -> Dss:
        """The same header over another body."""
        return Dss(self.kind, self.flags, self.correlation, body)

    def unchained(self) -> Dss:
        """The last of its chain."""
        return Dss(self.kind, self.flags & ~(CHAINED | SAME_CORRELATION), self.correlation, self.body)


def read_dss(read: Callable[[int], bytes]) -> Dss:
    """The next structure of a stream; ``read(n)`` gives exactly n bytes or raises EOFError."""
    header = read(HEADER)
    length, _, kind, correlation = struct.unpack(">HBBH", header)
    raw = [header, read(min(length & ~MORE, SEGMENT) - HEADER)]
    body = [raw[1]]
    while length & MORE:
        head = read(2)
        length = int.from_bytes(head)
        part = read((length & ~MORE) - 2)
        raw += [head, part]
        body.append(part)
    return Dss(kind & 0x0F, kind & 0xF0, correlation, b"".join(body), b"".join(raw))


def objects(body: bytes) -> Iterator[tuple[int, bytes]]:
    """Code point and body of each object."""
    at = 0
    while at + 4 <= len(body):
        length, code = struct.unpack_from(">HH", body, at)
        start = at + 4
        if length & MORE:
            extra = (length & ~MORE) - 4
            size = int.from_bytes(body[start : start + extra])
            start += extra
            end = start + size
        else:
            end = at + length
        yield code, body[start:end]
        at = end


def obj(code: int, *parts: bytes) -> bytes:
    """One object."""
    body = b"".join(parts)
    return struct.pack(">HH", len(body) + 4, code) + body
