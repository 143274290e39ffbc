"""The script that tries an engine in its vendor's container, and the workflows that call it: read, and never run here.

Both are read by linters that others have made, where these are installed (``tests/components.py``).
"""

from __future__ import annotations

import re
import shutil
import subprocess
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.test_help import commands
from tests.components import ACTIONLINT
from tests.deploy.places import DEPLOY

RUN = DEPLOY / "live" / "run"
WORKFLOWS = DEPLOY.parent / ".github" / "workflows"
SCRIPTS = (RUN, DEPLOY.parent / ".ci" / "run")
TAGS = {  # of the matrix
    "postgresql": {"14", "15", "16", "17", "18"},
    "sqlserver": {"2019-latest", "2022-latest", "2025-latest"},
    "oracle": {"latest", "21.3.0-xe"},
    "db2": {"12.1.2.0"},
}
REGISTRY = re.compile(r"\b[\w-]+(\.[\w-]+)+/[\w-]+/")  # a host, then a path


def workflow(name: str) -> dict[str, Any]:
    """A workflow as it is read."""
    found: dict[str, Any] = yaml.safe_load((WORKFLOWS / name).read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.parent.name)
def test_bash_and_shellcheck_read_the_scripts(script: Path) -> None:
    """Syntax by bash; what goes wrong with blanks and missing values by shellcheck."""
    assert script.stat().st_mode & 0o111
    subprocess.run(["bash", "-n", str(script)], check=True)
    shellcheck = shutil.which("shellcheck")
    if shellcheck is None:
        pytest.skip("shellcheck is not installed")
    done = subprocess.run([shellcheck, str(script)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_actionlint_reads_the_workflows() -> None:
    """Keys, expressions and the shell in them."""
    if not ACTIONLINT.exists():
        pytest.skip("actionlint is not installed: it needs Go")
    done = subprocess.run(
        [str(ACTIONLINT), *map(str, sorted(WORKFLOWS.glob("*.yml")))], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_the_workflows_try_what_was_promised() -> None:
    """Python 3.11 and 3.13; each vendor's versions; a failed claim fails the job, and what was seen is kept."""
    assert workflow("checks.yml")["jobs"]["checks"]["strategy"]["matrix"]["python"] == ["3.11", "3.13"]
    job = workflow("servers.yml")["jobs"]["server"]
    found: dict[str, set[str]] = {}
    for entry in job["strategy"]["matrix"]["include"]:
        found.setdefault(entry["engine"], set()).add(entry["tag"])
    assert found == TAGS
    tried, kept = job["steps"][-2:]
    assert "deploy/live/run" in tried["run"]
    assert "continue-on-error" not in tried
    assert kept["if"] == "always()"


def test_no_registry_is_named() -> None:
    """Images are variables: which registry they come from is for who runs it to say."""
    for path in (RUN, *WORKFLOWS.glob("*.yml")):
        assert not REGISTRY.search(path.read_text(encoding="utf-8")), path.name


def test_each_variable_of_the_workflow_is_explained_at_its_head() -> None:
    """Whoever sets it up reads there what it means."""
    text = (WORKFLOWS / "servers.yml").read_text(encoding="utf-8")
    head = "".join(line for line in text.splitlines(keepends=True) if line.startswith("#"))
    used = set(chain(re.findall(r"vars\.(\w+)", text), re.findall(r"image: (\w+_IMAGE)", text)))
    assert used == set(re.findall(r"\b([A-Z0-9_]+_(?:IMAGE|LICENSE|EULA))\b", head))


def test_the_script_uses_commands_that_there_are() -> None:
    """Each `hot COMMAND` and each command of the agent that it sends."""
    used = set(re.findall(r"\bhot ((?:lab )?[a-z]+)", RUN.read_text(encoding="utf-8")))
    assert {"doctor", "plan", "approve", "undo", "lab prove", "lab record"} <= used
    assert used <= {" ".join(words) for words in commands()}


def test_an_unknown_engine_is_refused() -> None:
    """Before anything is made."""
    done = subprocess.run([str(RUN), "nothing"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr[:6]) == (2, "usage:")
