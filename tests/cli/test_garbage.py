"""When Python looks for garbage."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator

import pytest

from agent.cli.main import SELDOM, USUAL, collect_seldom
from agent.service.daemon import Daemon
from tests.cli.site import Site


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """Other tests find the thresholds that they left."""
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_a_command_looks_for_garbage_seldom_and_not_at_its_end() -> None:
    """The thresholds when a command has ended, and whether anything is left to be looked through."""
    code = (
        "import atexit, gc, sys; atexit.register(lambda: print(gc.get_threshold(), gc.get_freeze_count() > 10_000));"
        "sys.argv = ['hotplace', '--help']; from agent.cli.main import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == f"{SELDOM} True"


def test_the_daemon_looks_for_garbage_as_usual(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a week of samples leaves behind does not pile up."""
    seen = []
    monkeypatch.setattr(Daemon, "run", lambda _self: seen.append(gc.get_threshold()))
    collect_seldom()
    site.good("run")
    assert seen == [USUAL]
