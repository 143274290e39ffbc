"""Processor time of a server on this machine, who is not one, and what other programs leave."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from connectors.postgresql import sessions
from connectors.postgresql.sessions import UNKNOWN_PROCESSORS, server_processors


def test_a_server_is_who_has_the_backend_among_its_processes() -> None:
    """This process listens, and has a child that computes: its time is counted, and that of what has ended."""
    here, there = socket.socketpair()
    child = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    with here, there:
        try:
            before, count, used_before = server_processors(here.fileno(), child.pid)
            time.sleep(0.3)
            after, _, used = server_processors(here.fileno(), child.pid)
        finally:
            child.kill()
            child.wait()
        assert before is not None
        assert after is not None
        assert after > before
        assert used is not None
        assert used_before is not None
        assert used - used_before >= after - before - 0.05
        assert count == len(os.sched_getaffinity(0))


@pytest.mark.parametrize(("niced", "counted"), [(False, 90), (True, 290)])
def test_niced_programs_give_way_to_a_server_that_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, niced: bool, counted: int
) -> None:
    """Of two processors that worked 145 ticks each, 100 of them for niced programs; the third is not the server's."""
    stat = tmp_path / "stat"
    stat.write_text("".join(f"cpu{at} 10 100 20 700 80 5 6 4 0 0\n" for at in range(3)) + "intr 7\n", encoding="ascii")
    monkeypatch.setattr(sessions, "Path", lambda name: stat if name == "/proc/stat" else Path(name))
    assert sessions._busy_ticks((0, 1), niced=niced) == counted


def test_a_pooler_is_no_server() -> None:
    """What listens there has no process for the session: its own time says nothing of the server's."""
    here, there = socket.socketpair()
    with here, there:
        assert server_processors(here.fileno(), os.getppid()) == UNKNOWN_PROCESSORS


def test_a_server_elsewhere_is_not_seen() -> None:
    """Over TCP nothing tells which process answers."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as here:
        assert server_processors(here.fileno(), os.getpid()) == UNKNOWN_PROCESSORS
