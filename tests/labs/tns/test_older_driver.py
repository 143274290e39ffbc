"""The tests of the wire once more, with the line of python-oracledb that old sites stay on (emulated server)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.components import OLDER_DRIVER

ROOT = Path(__file__).parents[3]
SEEN = "import oracledb, sys; sys.exit(oracledb.__version__ != '3.4.1')"


@pytest.mark.skipif(not (OLDER_DRIVER / "oracledb").exists(), reason="no python-oracledb 3.4: see tests/components.py")
def test_the_wire_is_the_same_for_the_older_driver() -> None:
    """Every test of test_wire.py passes with 3.4.1, and it is really 3.4.1 that runs them."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(OLDER_DRIVER), str(ROOT)))}
    tests = [
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-o",
        "addopts=",
        "tests/labs/tns/test_wire.py",
    ]
    for arguments in (["-c", SEEN], tests):
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-2000:]
