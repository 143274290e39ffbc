"""A slow disk, and one server on it with a small copy of the demo's schema."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent.demo.load import SERVER_SETTINGS, DemoSchema, build
from agent.demo.server import PrivateServer, embedded_installations, private_server
from agent.demo.slow_disk import HDD, LIBRARY, SSD, SlowDisk, available
from agent.demo.slow_disk import build as build_disk
from tests.components import debian_installations
from tests.disks.limited import LimitedDisk
from tests.disks.limited import build as build_limited

SCALE = 0.1


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that the server's user can reach, which pytest's own is not under root."""
    path = Path(tempfile.mkdtemp(prefix="hotplace-test-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="session")
def library() -> Iterator[Path]:
    """The compiled library of the slow disk."""
    can, why = available()
    if not can:
        pytest.skip(why)
    with tempfile.TemporaryDirectory(prefix="hotplace-test-") as made:
        build_disk(Path(made))
        yield Path(made) / LIBRARY


@pytest.fixture
def disk(folder: Path, library: Path) -> SlowDisk:
    """A slow disk with no folder on it, switched off."""
    return SlowDisk(library, folder / "control")


@pytest.fixture
def limited(folder: Path) -> LimitedDisk:
    """A slow disk that can be full or broken, with no folder on it, switched off."""
    can, why = available()
    if not can:
        pytest.skip(why)
    return build_limited(folder)


@dataclass(frozen=True, slots=True)
class Shop:
    """A running server with the small schema; the disk is None where no compiler is."""

    server: PrivateServer
    schema: DemoSchema
    disk: SlowDisk | None
    folder: Path


@pytest.fixture(scope="session")
def shop() -> Iterator[Shop]:
    """The newest server at hand, with the disk model where it can be had, switched off."""
    installations = {**debian_installations(), **embedded_installations()}
    if not installations:
        pytest.skip("no PostgreSQL server here: make setup or apt install postgresql")
    folder = Path(tempfile.mkdtemp(prefix="hotplace-test-"))
    try:
        disk = build_disk(folder) if available()[0] else None
        environment = disk.environment if disk else {}
        with private_server(installations[max(installations)], SERVER_SETTINGS, environment) as server:
            hdd, ssd = server.make_folder("hdd"), server.make_folder("ssd")
            if disk is not None:
                disk.place(HDD, hdd)
                disk.place(SSD, ssd)
            yield Shop(server, build(server.conninfo, hdd, ssd, scale=SCALE), disk, folder)
    finally:
        shutil.rmtree(folder)
