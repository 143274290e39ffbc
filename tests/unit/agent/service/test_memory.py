"""The C library is told to give large blocks back, where it listens."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

from agent.service.process import return_free_blocks, return_large_blocks, smaller_blocks_returned
from tests.bench.cost.processes import rss_mib


def test_glibc_is_told() -> None:
    """It takes the setting; another C library is left alone."""
    assert return_large_blocks() is (platform.libc_ver()[0] == "glibc")


def test_a_library_that_has_no_such_setting_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As musl's, which has no mallopt: nothing is set, and nothing fails."""
    monkeypatch.setattr("ctypes.CDLL", lambda _: object())
    assert not return_large_blocks()
    with smaller_blocks_returned():
        pass
    assert not return_free_blocks()


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library decides for itself")
def test_what_lies_free_between_blocks_is_given_back() -> None:
    """Small blocks freed below one that stays: the process shrinks by most of them when it is asked to."""
    blocks = [b"x" * 100_000 for _ in range(300)]
    last, blocks = blocks[-1], []
    held = rss_mib(os.getpid())
    assert return_free_blocks()
    assert rss_mib(os.getpid()) < held - 20
    assert last


_LEFT_BEHIND = """
import os
from agent.service.process import SMALLER_BYTES, return_large_blocks, smaller_blocks_returned
from tests.bench.cost.processes import rss_mib

def left_behind():
    held, blocks = rss_mib(os.getpid()), [b"x" * (SMALLER_BYTES + 1) for _ in range(300)]
    last, blocks = blocks[-1], []
    return rss_mib(os.getpid()) - held

assert return_large_blocks()
with smaller_blocks_returned():
    print(left_behind())
print(left_behind())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library decides for itself")
def test_while_there_is_time_smaller_blocks_are_mappings_of_their_own() -> None:
    """Freed below one that stays, they are gone from the process at once, and only as long as that was asked for."""
    # a process of its own: where something else left holes of that size, blocks go there rather than into mappings
    told = subprocess.run([sys.executable, "-c", _LEFT_BEHIND], check=True, capture_output=True, text=True).stdout
    meanwhile, later = map(float, told.split())
    assert meanwhile < 5
    assert later > 20
