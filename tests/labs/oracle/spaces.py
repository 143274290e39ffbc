"""CREATE TABLESPACE and DROP TABLESPACE: rules 16a and 16b of the README."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.labs.oracle.grammar import Words
from tests.labs.tns.backend import OracleError

if TYPE_CHECKING:
    from tests.labs.oracle.session import EmulatedSession

LARGEST = 32 << 30  # bytes of a file of 8 KiB blocks


def create_tablespace(session: EmulatedSession, words: Words) -> None:
    """Everything after ``CREATE TABLESPACE``. Raises OracleError."""
    name = words.name()
    words.need("DATAFILE")
    path = words.value()
    words.need("SIZE")
    size = words.integer()
    words.need("AUTOEXTEND", "ON", "NEXT")
    words.integer()
    words.need("MAXSIZE", "UNLIMITED")
    words.end()
    database = session.database
    if "CREATE TABLESPACE" not in session.user.privileges:
        raise OracleError(1031, "insufficient privileges")
    with database.changed:
        if name in database.tablespaces:
            raise OracleError(1543, f"tablespace '{name}' already exists")
        if path in {file.path for space in database.tablespaces.values() for file in space.files}:
            raise OracleError(1119, f"error in creating database file '{path}'")
        if path.startswith("+"):
            path = f"{path}/{database.name}/DATAFILE/{name.lower()}.{database.next_id()}.1"
        database.add_tablespace(name, path, size, LARGEST)


def drop_tablespace(session: EmulatedSession, words: Words) -> None:
    """Everything after ``DROP TABLESPACE``. Raises OracleError."""
    name = words.name()
    words.end()
    database = session.database
    if "DROP TABLESPACE" not in session.user.privileges:
        raise OracleError(1031, "insufficient privileges")
    with database.changed:
        database.tablespace(name)
        if database.used_bytes(name):
            raise OracleError(1549, "tablespace not empty, use INCLUDING CONTENTS option")
        database.drop_tablespace(name)
