"""Parameters of CALL as the driver sends them: an FD:OCA description and one row of values (DDM SQLDTA).

Only what ADMIN_MOVE_TABLE and ADMIN_CMD take is read: character strings that may be null.
"""

from __future__ import annotations

import struct

from tests.labs.db2 import refusals
from tests.labs.db2.wire.dss import Code, objects

STRINGS = (0x3E, 0x3F, 0x38, 0x39, 0x32, 0x33)  # VARCHAR, mixed and single-byte, LONG too; odd: may be null
_HEAD = 3  # length, type 76 and local id of the group


def call_text(procedure: str, body: bytes) -> str:
    """The CALL as it was written, values as literals.

    Raises:
        Refusal: SQL0440N: a parameter is no character string.
    """
    parts = dict(objects(next(objects(body))[1]))
    kinds = _kinds(parts[Code.FDODSC])
    if not set(kinds) <= set(STRINGS):
        raise refusals.Refusal(-440, "42884", procedure, "PROCEDURE")
    values = ", ".join("'" + value.replace("'", "''") + "'" for value in _values(kinds, parts[Code.FDODTA]))
    return f"CALL {procedure}({values})"


def _kinds(description: bytes) -> list[int]:
    """Type codes of the parameters: three bytes each, in groups that say how long they are."""
    found: list[int] = []
    at = 0
    while description[at + 1] == 0x76:
        length = description[at]
        found += [description[i] for i in range(at + _HEAD, at + length, 3)]
        at += length
    return found


def _values(kinds: list[int], data: bytes) -> list[str]:
    """A null is the empty string to the procedures of the lab."""
    found, at = [], 1
    for kind in kinds:
        if kind & 1:
            at += 1
            if data[at - 1] != 0:
                found.append("")
                continue
        (length,) = struct.unpack_from(">H", data, at)
        found.append(data[at + 2 : at + 2 + length].decode())
        at += 2 + length
    return found
