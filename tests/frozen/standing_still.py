"""A machine that stands still: its time, its host, its process and its user are the same on each run."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent.model import clock as clocks
from agent.service import doctor
from connectors.kit.findings import Finding
from tests.virtual_clock import VirtualClock

PID = 1  # it always exists: the simulated engine rolls back the moves of processes that do not
HOST = "db1"
USER = "ann"
FOLDER = "/tmp/frozen"
SHOWN = "/srv/hotplacesite12"  # in place of the folder's real name, as long as that

ENVIRONMENT = {"NO_COLOR": "1", "TERM": "xterm", "LINES": "50", "PAGER": "cat", "LANG": "C.UTF-8"}


@contextmanager
def standing_still(**environment: str) -> Iterator[VirtualClock]:
    """Within, commands run at the time of the clock that is returned; as one user, on one host, in one process."""
    clock = VirtualClock()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clocks, "SystemClock", lambda: clock)
        patch.setattr(socket, "gethostname", lambda: HOST)
        patch.setattr(socket, "getfqdn", lambda *_: HOST)
        patch.setattr(os, "getpid", lambda: PID)
        patch.setattr(pwd, "getpwuid", _named)
        patch.setattr(
            doctor, "packages_finding", lambda: Finding.ok("packages", "all packages are loaded from one place")
        )
        patch.setattr(secrets, "token_hex", lambda size=8: "5eed" * (size // 2))
        for name in ("SUDO_USER", "HOTPLACE_CONFIG", "FORCE_COLOR", "TTY_COMPATIBLE"):
            patch.delenv(name, raising=False)
        for name, value in {**ENVIRONMENT, **environment}.items():
            patch.setenv(name, value)
        yield clock


@contextmanager
def folder() -> Iterator[Path]:
    """A private folder whose name is always as long as ``SHOWN``."""
    made = Path(tempfile.mkdtemp(prefix=Path(FOLDER).name, dir=Path(FOLDER).parent))
    assert len(str(made)) == len(SHOWN)
    before = Path.cwd()
    os.chdir(made)
    try:
        yield made
    finally:
        os.chdir(before)
        shutil.rmtree(made)


def _named(uid: int) -> pwd.struct_passwd:
    return pwd.struct_passwd((USER, "x", uid, uid, "", "/", "/bin/sh"))
