"""A real PostgreSQL of which one process, or the way to it, is silent."""

from __future__ import annotations

import os
import signal
import time

import pytest

from connectors.kit.contract import CannotConnect
from tests.labs.postgresql import Cluster
from tests.labs.silence import silent_way

LIMITS = {"connect_timeout": "2s", "statement_timeout": "1s"}
ENOUGH_SECONDS = 10.0


def test_who_was_silent_is_asked_again(cluster: Cluster, dbname: str) -> None:
    """A session that met silence is replaced: the next question after it is answered."""
    address = cluster.server.folder / ".s.PGSQL.5432"
    with silent_way(address) as way:
        reading = cluster.connector(dbname, host="127.0.0.1", port=way.port, **LIMITS)
        first = reading.identify()
        way.fall_silent()
        with pytest.raises(CannotConnect, match="not answered"):
            reading.identify()
        way.speak()
        assert reading.identify() == first
        reading.close()


def test_a_frozen_backend_costs_one_question(cluster: Cluster, dbname: str) -> None:
    """SIGSTOP of the very process that serves the session: a time limit, and then another process answers."""
    reading = cluster.connector(dbname, **LIMITS)
    first = reading.identify()
    rows = reading._session.rows(b"SELECT pg_backend_pid()", doing="asking for the process")
    os.kill(rows[0][0], signal.SIGSTOP)
    try:
        begun = time.monotonic()
        with pytest.raises(CannotConnect, match="not answered"):
            reading.sample()
        assert time.monotonic() - begun < ENOUGH_SECONDS
        assert reading.identify() == first
    finally:
        os.kill(rows[0][0], signal.SIGCONT)
        reading.close()
