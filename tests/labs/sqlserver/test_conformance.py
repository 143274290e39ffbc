"""The emulated server seen by python-tds, an independent implementation of TDS."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from decimal import Decimal

import pytds
import pytest

from tests.labs.sqlserver.conftest import Ask, connect
from tests.labs.sqlserver.lab import Lab
from tests.labs.sqlserver.world import READER, add_table
from tests.labs.tds.server import running_server
from tests.labs.tds.test_wire import EVERY_TYPE, PASSWORD, EchoBackend


def test_login_query_and_numbers(lab: Lab, ask: Ask) -> None:
    """It logs in, asks for the catalog and gets what the model holds."""
    table = add_table(lab.shop, "orders", pages=100)
    assert ask("SELECT object_id, name FROM sys.tables") == [(table.object_id, "orders")]


def test_parameters(ask: Ask) -> None:
    """A parameter of sp_executesql arrives with its type."""
    assert ask("SELECT CONVERT(bigint, %s) + 1 AS n", (2**40,)) == [(2**40 + 1,)]
    assert ask("SELECT CONVERT(nvarchar(20), %s) AS t", ("Ünï表",)) == [("Ünï表",)]


def test_every_type() -> None:
    """Each column type of the wire arrives as it was sent."""
    with running_server(EchoBackend()) as server:
        session = pytds.connect("127.0.0.1", port=server.port, user="me", password=PASSWORD, autocommit=True)
        with session, session.cursor() as cursor:
            cursor.execute("TYPES")
            row = cursor.fetchall()[0]
            assert [str(got).lower() for got in row] == [str(value).lower() for _, value in EVERY_TYPE]
            assert isinstance(row[7], Decimal)
            assert isinstance(row[14], datetime)


def test_a_wrong_password(lab: Lab) -> None:
    """It is refused with error 18456."""
    with pytest.raises(pytds.Error) as caught:
        connect(lab, replace(READER, password="guess"))
    assert caught.value.number == 18456


def test_errors_have_numbers(lab: Lab, ask: Ask) -> None:
    """The native number reaches the client, and the session goes on."""
    with pytest.raises(pytds.DatabaseError) as caught:
        ask("SELECT x FROM sys.no_such_view")
    assert caught.value.number == 208
    assert ask("SELECT @@SERVERNAME AS name") == [("EMULATED",)]


def test_transactions(lab: Lab) -> None:
    """BEGIN, COMMIT and ROLLBACK go through the transaction manager; ALTER DATABASE refuses to run inside (226)."""
    with connect(lab, autocommit=False) as session, session.cursor() as cursor:
        cursor.execute("SELECT 1 AS one")
        assert cursor.fetchall() == [(1,)]
        with pytest.raises(pytds.DatabaseError) as caught:
            cursor.execute("ALTER DATABASE shop REMOVE FILE shop_ssd")
        assert caught.value.number == 226
        session.rollback()
