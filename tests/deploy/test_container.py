"""The image's recipe names what exists, and runs as the agent wants to be run."""

from __future__ import annotations

import io
import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator

import pytest
from dockerfile_parse import DockerfileParser
from prometheus_client import CollectorRegistry

from agent.cli.main import whole_app
from agent.config.models import LedgerConfig, MetricsConfig
from agent.service.httpd import MetricsServer
from tests.deploy.places import CONTAINERFILE, ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
IGNORED = CONTAINERFILE.with_name("Containerfile.dockerignore").read_text(encoding="utf-8").splitlines()


def instructions() -> list[tuple[str, str]]:
    """Word and value of each, in order; continued lines are one."""
    found = DockerfileParser(fileobj=io.BytesIO(CONTAINERFILE.read_bytes())).structure
    return [(each["instruction"], each["value"]) for each in found if each["instruction"] != "COMMENT"]


def values(word: str) -> list[str]:
    """Values of all instructions of that name."""
    return [value for name, value in instructions() if name == word]


def copied() -> set[str]:
    """What comes from the project's folder."""
    return {source for value in values("COPY") if "--from" not in value for source in value.split()[:-1]}


def test_what_it_copies_exists_and_nothing_else_is_sent() -> None:
    """The ignore file leaves out everything but the sources of COPY."""
    assert all((ROOT / source).exists() for source in copied())
    assert {line[1:] for line in IGNORED if line.startswith("!")} == copied()
    assert next(line for line in IGNORED if not line.startswith("#")) == "*"


def test_what_the_package_is_built_of_is_copied() -> None:
    """The folders of the wheel, and the files that its metadata names."""
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]
    assert {*wheel["wheel"]["only-include"], PROJECT["readme"], *PROJECT["license-files"]} <= copied()


def test_both_stages_have_the_same_python_which_the_project_knows() -> None:
    """The virtual environment is copied, so its interpreter must be where it was; nothing names a registry."""
    first, second = (value.split()[0] for value in values("FROM"))
    assert first == second
    version = re.fullmatch(r"python:(3\.\d+)-slim", first)
    assert version is not None
    assert f"Programming Language :: Python :: {version[1]}" in PROJECT["classifiers"]


def test_everything_installed_is_pinned() -> None:
    """Each pip that resolves packages does so under constraints.txt."""
    (build, _) = values("RUN")
    installs = [part for part in re.split(r"\s*&&\s*", build) if re.search(r"\bpip\b.* install ", part)]
    assert len(installs) == 2
    assert all("--constraint constraints.txt" in part for part in installs)


def test_its_extras_are_the_projects() -> None:
    """The drivers that it brings by itself are extras of pyproject.toml."""
    ((name, extras),) = (value.split("=") for value in values("ARG"))
    assert name == "EXTRAS"
    assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"])


def test_it_runs_as_a_user_of_its_own_over_a_volume_for_the_ledger() -> None:
    """Not root, by number so that a cluster can see it, and the volume is where the ledger lies by default."""
    (user,) = values("USER")
    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", user)
    number = user.partition(":")[0]
    (_, accounts) = values("RUN")
    assert f"useradd --uid {number} " in accounts
    folder = str(LedgerConfig().path.parent)
    assert json.loads(values("VOLUME")[0]) == [folder]
    assert f"--home-dir {folder} " in accounts
    assert f"-m 0700 {folder}" in accounts


def test_it_starts_the_documented_command() -> None:
    """The program is a script of the project, its command is `run`."""
    assert json.loads(values("ENTRYPOINT")[0]) == [*PROJECT["scripts"]]
    assert json.loads(values("CMD")[0]) == ["run"]
    assert "run" in {command.name for command in whole_app().registered_commands}


def test_its_path_finds_the_program() -> None:
    """The environment that the first stage makes is the one that is copied and searched first."""
    (environment,) = values("ENV")
    path = dict(each.split("=", 1) for each in shlex.split(environment))["PATH"]
    (carried,) = (value.split() for value in values("COPY") if "--from" in value)
    assert carried[1] == carried[2]
    assert path.split(":")[0] == f"{carried[1]}/bin"
    assert f"venv --without-pip {carried[1]}" in values("RUN")[0]


def test_it_says_its_port() -> None:
    """The one that metrics are served at by default."""
    assert values("EXPOSE") == [str(MetricsConfig().port)]


@pytest.fixture
def server() -> Iterator[MetricsServer]:
    """A real endpoint that asks for a password, on any free port."""
    server = MetricsServer(CollectorRegistry(), lambda: (False, "late"), listen="127.0.0.1", port=0, expected="a:b")
    server.start()
    yield server
    server.stop()


def check_health(port: str) -> int:
    """Exit code of the image's own check, asked of another port."""
    (value,) = values("HEALTHCHECK")
    python, *arguments = json.loads(value.partition("CMD ")[2])
    assert python == "python"
    told = [each.replace(str(MetricsConfig().port), port) for each in arguments]
    return subprocess.run([sys.executable, *told], check=False, capture_output=True).returncode


def test_its_health_is_the_agents(server: MetricsServer) -> None:
    """The check passes while the endpoint answers, password or not, and fails when nobody is there."""
    port = server.url.rpartition(":")[2].partition("/")[0]
    assert check_health(port) == 0
    server.stop()
    assert check_health(port) != 0


def test_all_of_the_wheel_is_copied_into_the_build() -> None:
    """What the wheel is made from, and no ignore rule keeps it out: a missing module shows only when the image runs."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    parts = tomllib.loads(text)["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]
    copied = {word.removeprefix("./") for value in values("COPY") for word in shlex.split(value)[:-1]}
    assert {part for part in parts if part not in copied or f"!{part}" not in IGNORED} == set()
