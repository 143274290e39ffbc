"""Tests of one group run in one worker: what they need is expensive, and each worker that runs them makes it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

GROUPED = """
import os, pathlib, pytest

@pytest.mark.xdist_group("together")
@pytest.mark.parametrize("number", range(6))
def test_grouped(number):
    pathlib.Path(os.environ["PYTEST_XDIST_WORKER"]).touch()

@pytest.mark.parametrize("number", range(6))
def test_alone(number):
    pass
"""


def test_a_group_runs_in_one_worker(tmp_path: Path) -> None:
    """A pair of pytest and pytest-xdist that ignores groups (9.2 with 3.8) starts their servers once per worker."""
    (tmp_path / "test_grouped.py").write_text(GROUPED)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup", "-p", "no:hypothesispytest"]
    done = subprocess.run([*command, "--rootdir", "."], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list(tmp_path.glob("gw*"))) == 1
