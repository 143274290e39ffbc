"""A database of its own on a real PostgreSQL for each test that asks for it."""

from __future__ import annotations

from contextlib import ExitStack

import psycopg
import pytest

from connectors.postgresql.connector import PostgresqlConnector
from tests.labs.postgresql import Cluster


@pytest.fixture
def dba(cluster: Cluster, dbname: str, cleanup: ExitStack) -> psycopg.Connection:
    """A DBA's session in the test's database, whose default tablespace is slow."""
    return cleanup.enter_context(cluster.session(dbname))


@pytest.fixture
def connector(cluster: Cluster, dbname: str, cleanup: ExitStack) -> PostgresqlConnector:
    """The connector under test."""
    made = cluster.connector(dbname)
    cleanup.callback(made.close)
    return made
