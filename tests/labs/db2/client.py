"""The test's end: starts an emulated server and speaks to its lab."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.managers import BaseManager
from pathlib import Path
from typing import cast

import pytest

from tests.labs.db2.derby import why_not
from tests.labs.db2.server import ADMIN, KEY, Lab
from tests.labs.db2.text import DATABASE

STOP_SECONDS = 30.0
_TREE = Path(__file__).parents[3]


class _Manager(BaseManager):
    """Of the server's process."""


_Manager.register("lab")


@dataclass(frozen=True, slots=True, kw_only=True)
class Db2:
    """A running emulated server."""

    port: int
    lab: Lab  # in truth its proxy

    def dsn(self, user: str = ADMIN.name, password: str = ADMIN.password) -> str:
        """For ibm_db."""
        place = f"DATABASE={DATABASE};HOSTNAME=127.0.0.1;PORT={self.port};PROTOCOL=TCPIP;"
        return f"{place}UID={user};PWD={password};AUTHENTICATION=SERVER;"


def wait_until(true: Callable[[], bool], what: str, seconds: float = STOP_SECONDS) -> None:
    """Poll until it is true.

    Raises:
        AssertionError: it never was.
    """
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.02)


@contextmanager
def running_db2(version: str = "11.5") -> Iterator[Db2]:
    """An emulated server of that version, stopped at the end; skips the test where Derby or the driver is missing."""
    reason = why_not()
    if reason:
        pytest.skip(reason)
    pytest.importorskip("ibm_db", reason="no IBM driver here: pip install 'hotplace[db2]'")
    with tempfile.TemporaryDirectory(prefix="hotplace-db2-") as folder:
        command = [sys.executable, "-m", "tests.labs.db2.server", folder, version]
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=_TREE)
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            port, control = server.stdout.readline().split()
            manager = _Manager(("127.0.0.1", int(control)), KEY)
            manager.connect()
            yield Db2(port=int(port), lab=cast(Lab, manager.lab()))  # type: ignore[attr-defined]
        finally:
            server.stdin.close()
            server.wait(timeout=STOP_SECONDS)
            server.stdout.close()
