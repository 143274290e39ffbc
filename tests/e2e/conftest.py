"""One private server with a hot table for each test of the daemon's life."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.demo.server import PrivateServer, private_server, temporary_folder
from agent.demo.slow_disk import HDD, SSD, available
from agent.demo.slow_disk import build as build_disks
from tests.e2e.program import FAST, SETTINGS, Shop, build, write_config
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
    with private_server(_newest_installation(), SETTINGS) as server:
        yield _open(server, tmp_path, port)


@pytest.fixture
def shop_on_disks(request: pytest.FixtureRequest, tmp_path: Path, port: int) -> Iterator[Shop]:
    """The same on modelled disks, a parameter in place of the usual SSD.

    A hot table is worth a move only where reading it takes longer. On this machine's storage the slow tier's reads come
    from the page cache; hotplace measures them at microseconds and rightly proposes nothing.
    """
    can, why = available()
    if not can:
        pytest.skip(why)
    folder = temporary_folder("hotplace-disks-")
    folder.chmod(0o755)
    try:
        disk = build_disks(folder)
        with private_server(_newest_installation(), SETTINGS, disk.environment) as server:
            shop = _open(server, tmp_path, port)
            disk.place(HDD, server.data / "base")  # what pg_default is
            disk.place(getattr(request, "param", SSD), server.folder / FAST)
            disk.switch(True)
            yield shop
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _newest_installation() -> Path:
    found = installations()
    if not found:
        pytest.skip("no PostgreSQL server here: make setup or apt install postgresql")
    return found[max(found)]


def _open(server: PrivateServer, folder: Path, port: int) -> Shop:
    build(server)
    config = folder / "hotplace.yaml"
    write_config(config, server, metrics_port=port)
    return Shop(server=server, config=config)
