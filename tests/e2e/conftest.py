"""One private server with a hot table for each test of the daemon's life."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.demo.server import private_server
from tests.e2e.program import SETTINGS, Shop, build, write_config
from tests.labs.postgresql import installations


@pytest.fixture
def port() -> int:
    """A port of the loopback address that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number: int = probe.getsockname()[1]
        return number


@pytest.fixture
def shop(tmp_path: Path, port: int) -> Iterator[Shop]:
    """The newest installed PostgreSQL, one hot table, a configuration."""
    found = installations()
    if not found:
        pytest.skip("no PostgreSQL server here: make setup or apt install postgresql")
    with private_server(found[max(found)], SETTINGS) as server:
        build(server)
        config = tmp_path / "hotplace.yaml"
        write_config(config, server, metrics_port=port)
        yield Shop(server=server, config=config)
