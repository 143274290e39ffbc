"""One emulated server for the tests of the lab itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from typing import Any

import pytest

from tests.labs.db2.client import Db2, running_db2

_NUMBERS = count(1)


@pytest.fixture(scope="module")
def db2() -> Iterator[Db2]:
    """A running emulated server, 11.5."""
    with running_db2() as running:
        yield running


@pytest.fixture
def table(db2: Db2) -> Iterator[str]:
    """Name of a table of the test's own in schema APP, in a table space of the same name on SLOW."""
    name = f"LAB{next(_NUMBERS)}"
    db2.lab.create_space(name, "SLOW")
    db2.lab.create_table("APP", name, f"{name}_PK", name, 640)
    yield name
    db2.lab.drop_table("APP", name)
    db2.lab.drop_space(name)


@pytest.fixture
def session(db2: Db2) -> Iterator[Any]:
    """A connection of ibm_db_dbi, in autocommit."""
    connection = connect(db2)
    yield connection
    end(connection)


def connect(db2: Db2, *login: str) -> Any:
    """Another one."""
    import ibm_db_dbi

    connection = ibm_db_dbi.connect(db2.dsn(*login))
    connection.set_autocommit(True)
    return connection


def end(connection: Any) -> None:
    """Close it, though the server may have done so already."""
    import ibm_db_dbi

    with suppress(ibm_db_dbi.Error):
        connection.close()


def rows(connection: Any, statement: str, *values: object) -> list[tuple[Any, ...]]:
    """Everything that a statement gives."""
    cursor = connection.cursor()
    cursor.execute(statement, values) if values else cursor.execute(statement)
    return list(cursor.fetchall()) if cursor.description else []


def refused(connection: Any, statement: str) -> str:
    """The driver's message; the statement has to fail."""
    import ibm_db_dbi

    with pytest.raises(ibm_db_dbi.Error) as caught:
        rows(connection, statement)
    return str(caught.value)
