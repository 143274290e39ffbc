"""Fixtures of the command line's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.site import Site


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A fresh configuration with a simulated database, and no ledger yet."""
    monkeypatch.delenv("HOTPLACE_CONFIG", raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    return Site(tmp_path)
