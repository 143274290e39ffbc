"""PRELOGIN and LOGIN7, MS-TDS 2.2.6.4 and 2.2.6.5."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum

from tests.labs.tds.backend import Login

ENCRYPTION_OPTION, END_OF_OPTIONS = 1, 0xFF
READ_ONLY_FLAG = 0x20  # in TypeFlags
EXTENSION_FLAG = 0x10  # in OptionFlags3


class Encryption(IntEnum):
    """What either side of PRELOGIN wants."""

    LOGIN_ONLY = 0
    FULL = 1
    NOT_SUPPORTED = 2
    REQUIRED = 3


def asked_encryption(prelogin: bytes) -> Encryption:
    """What the client's PRELOGIN asks for."""
    at = 0
    while prelogin[at] != END_OF_OPTIONS:
        option, offset, _ = struct.unpack_from(">BHH", prelogin, at)
        if option == ENCRYPTION_OPTION:
            return Encryption(prelogin[offset])
        at += 5
    return Encryption.NOT_SUPPORTED


def agreed_encryption(asked: Encryption, offered: Encryption) -> Encryption:
    """What both sides will do: the server's line of the table in MS-TDS 2.2.6.5."""
    if Encryption.NOT_SUPPORTED in (asked, offered):
        return Encryption.REQUIRED if offered is Encryption.REQUIRED else Encryption.NOT_SUPPORTED
    if asked is Encryption.LOGIN_ONLY and offered is Encryption.LOGIN_ONLY:
        return Encryption.LOGIN_ONLY
    return Encryption.REQUIRED if offered is Encryption.REQUIRED else Encryption.FULL


def prelogin_answer(version: tuple[int, int, int], encryption: Encryption) -> bytes:
    """The server's PRELOGIN."""
    values = {0: struct.pack(">BBHH", *version, 0), 1: bytes((encryption,)), 2: b"\0", 3: b"", 4: b"\0"}
    offset, head, body = 5 * len(values) + 1, b"", b""
    for option, value in values.items():
        head += struct.pack(">BHH", option, offset + len(body), len(value))
        body += value
    return head + bytes((END_OF_OPTIONS,)) + body


@dataclass(frozen=True, slots=True)
class LoginPacket:
    """LOGIN7 in parts."""

    login: Login
    packet_bytes: int
    wants_features: bool


def read_login(data: bytes) -> LoginPacket:
    """LOGIN7 taken apart."""

    def text(at: int) -> str:
        offset, length = struct.unpack_from("<HH", data, at)
        return data[offset : offset + 2 * length].decode("utf-16-le")

    offset, length = struct.unpack_from("<HH", data, 44)
    login = Login(
        host=text(36),
        user=text(40),
        password=_password(data[offset : offset + 2 * length]),
        program=text(48),
        database=text(68),
        read_only=bool(data[26] & READ_ONLY_FLAG),
    )
    # Microsoft's driver sends 0 for the default size.
    packet_bytes = struct.unpack_from("<I", data, 8)[0]
    return LoginPacket(login, packet_bytes or 4096, bool(data[27] & EXTENSION_FLAG))


def _password(scrambled: bytes) -> str:
    clear = bytes((b ^ 0xA5) for b in scrambled)
    return bytes(((b << 4) & 0xF0) | (b >> 4) for b in clear).decode("utf-16-le")
