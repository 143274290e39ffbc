"""Connectors over an emulated server, closed at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.model.clock import SystemClock
from connectors.kit.settings import SecretSource
from tests.labs.db2.client import Db2
from tests.labs.db2.server import ADMIN
from tests.labs.db2.sessions import User
from tests.labs.db2.text import DATABASE

Connect = Callable[..., Any]


@pytest.fixture
def connect(db2: Db2, tmp_path: Path) -> Iterator[Connect]:
    """Makes connectors, and closes them."""
    from connectors.db2.connector import Db2Connector
    from connectors.db2.settings import Db2Settings

    made: list[Any] = []

    def make(user: User = ADMIN, **other: object) -> Any:
        (tmp_path / user.name).write_text(user.password)
        usual = {
            "host": "127.0.0.1", "port": db2.port, "dbname": DATABASE, "user": user.name, "authentication": "SERVER",
            "password": SecretSource(file=tmp_path / user.name), "poll_every": 0.05, "rebalance_begins_within": 0.5,
            "move_by": "table",
        }  # fmt: skip
        made.append(Db2Connector(Db2Settings.model_validate({**usual, **other}), SystemClock()))
        return made[-1]

    yield make
    for connector in made:
        connector.close()


def names_asked(connector: Any) -> list[str]:
    """Names of the queries that its own session is asked from now on; the list grows."""
    asked: list[str] = []
    rows = connector._session.rows

    def noting(name: str, *values: Any, **more: Any) -> Any:
        asked.append(name)
        return rows(name, *values, **more)

    connector._session.rows = noting
    return asked
