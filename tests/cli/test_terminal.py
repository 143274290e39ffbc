"""On a terminal: approve shows what would run and asks, top draws until it is told to end."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from agent.cli.session import actor
from tests.cli.site import SECONDS, Finished, Site, finish

HOME = b"\x1b[H"  # before each screen
LEAVES_THE_SCREEN = "\x1b[?1049l"
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@contextmanager
def terminal() -> Iterator[tuple[int, int]]:
    """Both ends of a pseudo-terminal: ours and the program's."""
    ours, theirs = pty.openpty()
    try:
        yield ours, theirs
    finally:
        os.close(ours)
        os.close(theirs)


def answer(site: Site, number: int, typed: bytes) -> Finished:
    """Run approve at a terminal with the answer typed ahead."""
    with terminal() as (ours, theirs):
        process = site.start("approve", str(number), stdin=theirs)
        os.write(ours, typed)
        done = finish(process)
    assert "[y/N/s=statements]" in done.err
    return done


@pytest.mark.parametrize(
    ("typed", "code", "state"), [(b"y\n", 0, "approved"), (b"\n", 6, "proposed"), (b"\x04", 6, "proposed")]
)
def test_the_question(site: Site, typed: bytes, code: int, state: str) -> None:
    """Only yes is yes; the moves with their locks, and the bytes, are shown before it is asked."""
    number, digest = site.propose()
    done = answer(site, number, typed)
    assert done.code == code, done
    assert digest in done.out
    assert "locks: " in done.out
    assert "the exact statements" not in done.out
    for line in ("would run", "longest stop", "way back"):
        assert done.out.count(f"\n{line}") + done.out.startswith(line) == 2, "first and last"
    assert "GiB" in done.err
    shown = site.good("show", str(number), "--json").document
    for move in shown["moves"]:
        assert all(step["sql"] not in done.out for step in move["statements"])
    assert shown["state"] == state


def test_the_statements_before_the_answer(site: Site) -> None:
    """`s` shows the exact statements and asks again; they are those of `show --sql`."""
    number, _ = site.propose()
    done = answer(site, number, b"s\ny\n")
    assert done.code == 0
    assert done.err.count("Approve ") == 2
    for move in site.good("show", str(number), "--json").document["moves"]:
        assert all(step["sql"] in done.out for step in (*move["statements"], *move["if_interrupted"]["statements"]))


def test_who_decided(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The audit chain names the user, the one behind sudo, and the terminal."""
    number, _ = site.propose()
    monkeypatch.setenv("SUDO_USER", "erika")
    with terminal() as (_, theirs):
        name = os.ttyname(theirs)
        assert finish(site.start("reject", str(number), "--reason", "no", stdin=theirs)).code == 0
    (row,) = [r for r in site.good("audit", "list", "--json").document["audit"] if r["event"] == "proposal.rejected"]
    assert row["facts"]["who"].endswith("(sudo by erika)")
    assert row["facts"]["origin"].endswith(name)


def test_a_user_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """A container may run under a number without a name: then the number is who decided, whatever $LOGNAME says."""
    monkeypatch.delenv("SUDO_USER", raising=False)
    monkeypatch.setenv("LOGNAME", "anna")
    monkeypatch.setattr(os, "getuid", lambda: 2**31 - 7)
    assert actor().who == f"uid {2**31 - 7}"


@pytest.mark.parametrize("end", ["q", "Ctrl-C"])
def test_the_live_screen(site: Site, monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    """It fits the terminal before and after a change of size, ends when told to, and leaves the terminal as it was."""
    site.propose()
    monkeypatch.setenv("TERM", "xterm")
    for name in ("COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)
    with terminal() as (ours, theirs):
        before = termios.tcgetattr(theirs)
        _resize(theirs, rows=20, columns=100)
        process = site.start("top", "--every", "0.1s", stdin=theirs, stdout=theirs)
        try:
            while not any("benefit" in line for line in _next_screen(ours)):
                pass  # it has not begun
            _resize(theirs, rows=4, columns=30)
            while len(lines := _next_screen(ours)) > 4:
                pass  # screens of the old size that were on their way
            assert max(map(len, lines)) <= 30
            if end == "q":
                os.write(ours, b"q")
            else:
                process.send_signal(signal.SIGINT)
            assert LEAVES_THE_SCREEN in _rest(process, ours)
            done = finish(process)
            assert (done.code, done.err) == (0, "")
        finally:
            process.kill()
        assert termios.tcgetattr(theirs) == before


def _resize(end: int, rows: int, columns: int) -> None:
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def _read(ours: int) -> bytes:
    assert select.select([ours], [], [], SECONDS)[0], "nothing is drawn any more"
    return os.read(ours, 65536)


def _next_screen(ours: int) -> list[str]:
    """The lines of the next screen that is drawn whole, from one jump home to the next."""
    seen = b""
    while seen.count(HOME) < 2:
        seen += _read(ours)
    return ESCAPES.sub("", seen.split(HOME)[1].decode().replace("\r", "")).split("\n")


def _rest(process: subprocess.Popen[str], ours: int) -> str:
    """What it draws until it has ended; left unread, it would wait for room for ever."""
    seen, until = b"", time.monotonic() + SECONDS
    while (process.poll() is None and time.monotonic() < until) or select.select([ours], [], [], 0)[0]:
        if select.select([ours], [], [], 0.05)[0]:
            seen += os.read(ours, 65536)
    return seen.decode()
