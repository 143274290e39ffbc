"""``hotplace demo --fleet`` from start to end, as a script would run it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.demo.server import temporary_folder
from tests.documents import check_document
from tests.e2e.program import PROGRAM, wait_until

pytestmark = [pytest.mark.postgresql, pytest.mark.slow]
LIMIT_SECONDS = 600.0  # a machine on which the whole suite runs takes several times as long as a quiet one
ENDS_SECONDS = 90.0
HOT = {"shop.orders", 'shop."shipments 2026-06"'}


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder for temporary files that everybody may enter, as PostgreSQL's user under root must."""
    folder = temporary_folder("hotplace-test-")
    folder.chmod(0o755)
    yield folder
    folder.rmdir()  # fails where anything is left


def _start(folder: Path, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(PROGRAM), "demo", "--fleet", *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(folder)},
    )  # fmt: skip


def _processes_in(folder: Path) -> list[str]:
    """Command lines of processes that name the folder or work there."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            where, words = (process / "cwd").readlink(), (process / "cmdline").read_text()
        except OSError:
            continue  # no process, or one of another user, or gone meanwhile
        if str(folder) in words or where.is_relative_to(folder):
            found.append(words.replace("\0", " "))
    return found


@pytest.mark.soak
def test_an_agent_dies_and_the_list_is_carried_out(open_folder: Path) -> None:
    """Two people sign, one database goes first, the standby finishes what a killed agent began, and nothing is left."""
    process = _start(open_folder, "--yes", "--json")
    printed, errors = process.communicate(timeout=LIMIT_SECONDS)
    assert process.returncode == 0, errors
    document = json.loads(printed)
    check_document(["demo", "--fleet"], document)
    assert document["signed_by"] == ["anna", "bert"]
    assert [(each["database"], each["canary"]) for each in document["databases"]] == [
        ("north", True), ("south", False), ("west", False),
    ]  # fmt: skip
    for each in document["databases"]:
        assert {move["unit"] for move in each["moves"]} >= HOT
        assert {move["state"] for move in each["moves"]} <= {"placed", "settling", "kept"}
        assert each["verdict"] is not None
    takeover = document["takeover"]
    assert takeover["statement"].startswith("/* hotplace move")
    assert takeover["seconds"] <= takeover["within_seconds"]
    assert takeover["holders"].keys() == {"north", "south"}
    assert len(set(takeover["holders"].values())) == 1
    assert f"kill -9 {takeover['process']}" in document["commands"]
    assert sum("--signature" in command for command in document["commands"]) >= 2
    assert not _processes_in(open_folder)


def test_interrupted_it_leaves_nothing(open_folder: Path) -> None:
    """Ctrl-C while agents watch ends with 130, and no server, agent, load or folder stays."""
    process = _start(open_folder, "--yes", "--no-slow-disk")
    wait_until("the standby", lambda: list(open_folder.glob("hotplace-demo-*/standby.log")), seconds=LIMIT_SECONDS)
    assert len(_processes_in(open_folder)) > 3
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=ENDS_SECONDS)
    assert process.returncode == 130, errors
    assert not _processes_in(open_folder)
    assert not list(open_folder.iterdir())


def test_without_an_answer_nothing_is_started(open_folder: Path) -> None:
    """No terminal to ask on and no --yes: refused at once, with the way out."""
    process = _start(open_folder)
    _, errors = process.communicate(timeout=ENDS_SECONDS)
    assert process.returncode == 6
    assert "--yes" in errors
