"""What most tests ask: the agent's connector on the test's own ``lab``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from connectors.oracle.connector import OracleConnector
from tests.labs.oracle.harness import OracleHarness


@pytest.fixture
def connector(lab: OracleHarness) -> Iterator[OracleConnector]:
    """Of the agent."""
    connected = lab.connector()
    yield connected
    connected.close()
