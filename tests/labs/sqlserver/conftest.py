"""A lab for each test, asked by python-tds: a client that is nobody's ODBC driver and not the connector's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytds
import pytest

from tests.labs.sqlserver.instance import Account
from tests.labs.sqlserver.lab import Lab, running_lab
from tests.labs.sqlserver.world import ADMINISTRATOR

Ask = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture
def lab() -> Iterator[Lab]:
    """SQL Server 2022 Enterprise, emulated."""
    with running_lab() as running:
        yield running


def connect(lab: Lab, account: Account = ADMINISTRATOR, **options: Any) -> Any:
    """A connection of python-tds in autocommit."""
    return pytds.connect(
        "127.0.0.1",
        port=lab.server.port,
        user=account.name,
        password=account.password,
        database=lab.shop.name,
        **{"autocommit": True, "timeout": 60, "login_timeout": 60, **options},
    )


@pytest.fixture
def ask(lab: Lab) -> Iterator[Ask]:
    """Run a statement as the administrator, or as ``account``; rows of its last result, [] where it has none."""
    with ExitStack() as stack:
        sessions: dict[str, Any] = {}

        def run(
            sql: str, parameters: tuple[Any, ...] = (), *, account: Account = ADMINISTRATOR
        ) -> list[tuple[Any, ...]]:
            if account.name not in sessions:
                sessions[account.name] = stack.enter_context(connect(lab, account))
            with sessions[account.name].cursor() as cursor:
                cursor.execute(sql, parameters or None)
                return [] if cursor.description is None else [tuple(row) for row in cursor.fetchall()]

        yield run


@pytest.fixture
def number_of(ask: Ask) -> Callable[..., int]:
    """The native number of the error that a statement ends with; 0 where it ends well."""

    def run(sql: str, *, account: Account = ADMINISTRATOR) -> int:
        try:
            ask(sql, account=account)
        except pytds.DatabaseError as error:
            return int(error.number)
        return 0

    return run
