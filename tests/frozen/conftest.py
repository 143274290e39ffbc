"""Marks of the modules whose units and storage are used here."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """As ``tests/sqlserver`` makes it known, which is not collected where only this folder is run."""
    config.addinivalue_line("markers", "by_turns: see tests/sqlserver/conftest.py")
