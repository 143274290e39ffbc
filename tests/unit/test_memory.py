"""The C library is told to give large blocks back, where it listens."""

from __future__ import annotations

import platform

import pytest

from agent.memory import return_large_blocks


def test_glibc_is_told() -> None:
    """It takes the setting; another C library is left alone."""
    assert return_large_blocks() is (platform.libc_ver()[0] == "glibc")


def test_a_library_that_has_no_such_setting_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As musl's, which has no mallopt: nothing is set, and nothing fails."""
    monkeypatch.setattr("ctypes.CDLL", lambda _: object())
    assert not return_large_blocks()
