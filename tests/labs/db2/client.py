"""The test's end: starts an emulated server, or takes one that is idle, and speaks to its lab."""

from __future__ import annotations

import atexit
import subprocess
import sys
import tempfile
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
from tests.waiting import wait_for

STOP_SECONDS = 60.0  # for what comes at once on an idle machine, the start of a program included
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
    """As ``tests.waiting.wait_for``."""
    wait_for(true, what, seconds)


@contextmanager
def running_db2(version: str = "11.5") -> Iterator[Db2]:
    """An emulated server of that version, as new; skips the test where Derby or the driver is missing.

    Starting one takes three seconds of processor time: one that somebody has finished with is renewed instead. Whoever
    leaves it with connections that do not end gets it stopped.
    """
    reason = why_not()
    if reason:
        pytest.skip(reason)
    pytest.importorskip("ibm_db", reason="no IBM driver here: make setup")
    server = _IDLE.pop(version, None) or _Server(version)
    try:
        yield server.db2
        server.db2.lab.renew()
    except BaseException:  # an interrupt too: whatever began is ended
        server.stop()
        raise
    stop_idle()
    _IDLE[version] = server


class _Server:
    """The process of an emulated server."""

    def __init__(self, version: str) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="hotplace-db2-")
        command = [sys.executable, "-m", "tests.labs.db2.server", self._folder.name, version]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=_TREE)
        try:
            self.db2 = self._connected()
        except BaseException:  # an interrupt too: whatever began is ended
            self.stop()
            raise

    def _connected(self) -> Db2:
        assert self._process.stdout is not None
        port, control = self._process.stdout.readline().split()
        manager = _Manager(("127.0.0.1", int(control)), KEY)
        manager.connect()
        return Db2(port=int(port), lab=cast(Lab, manager.lab()))  # type: ignore[attr-defined]  # registered by name

    def stop(self) -> None:
        """It serves until its standard input ends."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=STOP_SECONDS)
        self._process.stdout.close()
        self._folder.cleanup()


_IDLE: dict[str, _Server] = {}  # by version; the last that was in use, and no other


def stop_idle() -> None:
    """Stop the server that waits for somebody: for another one, and at the end of the tests."""
    while _IDLE:
        _IDLE.popitem()[1].stop()


atexit.register(stop_idle)
