"""On a terminal: approve shows what would run and asks; the audit chain says who decided."""

from __future__ import annotations

import os
import pty
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from agent.cli.session import actor
from tests.cli.site import Finished, Site, finish


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
    assert "[y/N]" in done.err
    return done


@pytest.mark.parametrize(
    ("typed", "code", "state"), [(b"y\n", 0, "approved"), (b"\n", 6, "proposed"), (b"\x04", 6, "proposed")]
)
def test_the_question(site: Site, typed: bytes, code: int, state: str) -> None:
    """Only yes is yes; the summary, the moves with their locks and every statement are shown before it is asked."""
    number, digest = site.propose()
    done = answer(site, number, typed)
    assert done.code == code, done
    assert digest in done.out
    assert "locks: " in done.out
    for line in ("gain", "locks", "takes", "copies", "way back"):
        assert done.out.count(f"\n{line} ") == 2, "first and last"
    assert "GiB" in done.err
    shown = site.good("show", str(number), "--json").document
    for move in shown["moves"]:
        assert all(step["sql"] in done.out for step in (*move["statements"], *move["if_interrupted"]["statements"]))
    assert shown["state"] == state


def test_who_decided(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The audit chain names the user, the one behind sudo, and the terminal."""
    number, _ = site.propose()
    monkeypatch.setenv("SUDO_USER", "erika")
    with terminal() as (_, theirs):
        name = os.ttyname(theirs)
        assert finish(site.start("reject", str(number), "--reason", "no", stdin=theirs)).code == 0
    (row,) = [
        r for r in site.good("history", "--audit", "--json").document["audit"] if r["event"] == "proposal.rejected"
    ]
    assert row["facts"]["who"].endswith("(sudo by erika)")
    assert row["facts"]["origin"].endswith(name)


def test_a_user_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """A container may run under a number without a name: then the number is who decided, whatever $LOGNAME says."""
    monkeypatch.delenv("SUDO_USER", raising=False)
    monkeypatch.setenv("LOGNAME", "anna")
    monkeypatch.setattr(os, "getuid", lambda: 2**31 - 7)
    assert actor().who == f"uid {2**31 - 7}"
