"""SIGHUP while a program starts: a daemon reloads once it can, and whatever is no daemon ends as a terminal closes."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.simulation.site import Site

PROGRAM = """
import os, signal, sys
from agent.cli import main
from agent.config import files
load, told = files.load, []
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # tests may run under nohup

def interrupted(path, **more):
    if not told:
        told.append(True)
        os.kill(os.getpid(), signal.SIGHUP)
    return load(path, **more)

files.load = interrupted
sys.argv = ["hotplace", *sys.argv[1:]]
main.main()
"""
PATIENCE_SECONDS = 60.0


@pytest.mark.parametrize(
    ("arguments", "reloads"), [(["run"], True), (["run", "--once"], False), (["status", "--database", "run"], False)]
)
def test_a_reload_in_mid_start(tmp_path: Path, arguments: list[str], reloads: bool) -> None:
    """It comes as the configuration is read for the first time."""
    site = Site(tmp_path)
    path = tmp_path / "quiet.yaml"
    assert site.config
    path.write_text((tmp_path / "hotplace.yaml").read_text() + "metrics: {enabled: false}\n")
    command = [sys.executable, "-c", PROGRAM, "--config", str(path), *arguments]
    log = tmp_path / "log"
    with log.open("w") as sink:
        program = subprocess.Popen(command, stdout=sink, stderr=sink, stdin=subprocess.DEVNULL)
    try:
        if not reloads:
            assert program.wait(PATIENCE_SECONDS) == -signal.SIGHUP
            return
        end = time.monotonic() + PATIENCE_SECONDS
        while "configuration reloaded" not in log.read_text():
            assert program.poll() is None, log.read_text()
            assert time.monotonic() < end
            time.sleep(0.05)
        program.terminate()
        assert program.wait(PATIENCE_SECONDS) == 0
    finally:
        program.kill()
        program.wait()
