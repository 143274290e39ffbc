"""What wheel and source archive hold: everything that runs or is printed, nothing else."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from email import message_from_string
from pathlib import Path

import pytest

from tests.deploy.places import ROOT

pytestmark = pytest.mark.xdist_group("wheel contents")  # what it needs is made once

pytest.importorskip("hatchling", reason="archives are built by hatchling: make setup")
PACKAGES = ("agent", "connectors", "policies")
MADE_BY_TOOLS = {"__pycache__", ".mypy_cache", ".ruff_cache"}
TOP = {"agent", "connectors", "policies", "hotplace.py"}  # of the wheel, besides its metadata
SOURCES = {
    "deploy",
    "docs",
    "tests",
    "Makefile",
    "constraints.txt",
    "pyproject.toml",
    "LICENSE",
    "PKG-INFO",
    ".gitignore",
}
PAGES = {"README.md", "ARCHITECTURE.md", "CHANGELOG.md"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both archives of this checkout, built without asking any index."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-t", "sdist", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def wheel_of(folder: Path) -> zipfile.ZipFile:
    """The wheel, opened."""
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)


def tracked(*folders: str) -> set[str]:
    """Files of folders of the checkout, without what tools leave there."""
    paths = (path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file())
    return {
        str(path.relative_to(ROOT)) for path in paths if not MADE_BY_TOOLS & set(path.parts) and path.suffix != ".so"
    }


def test_the_wheel_holds_what_runs_and_nothing_else(built: Path) -> None:
    """Every file of the packages, of `deploy/` in its place, the module that starts it; no test, no page, no cache."""
    with wheel_of(built) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    expected = tracked(*PACKAGES) | {f"agent/{name}" for name in tracked("deploy")} | {"hotplace.py"}
    assert names == expected
    assert {name.partition("/")[0] for name in names} == TOP
    assert {name.rpartition(".")[2] for name in names} >= {"py", "sql", "toml", "html", "typed"}


def test_the_wheel_says_what_it_is(built: Path) -> None:
    """Name, license with its text, the command, Python's versions; no requirement asks an index for hotplace."""
    with wheel_of(built) as wheel:
        (home,) = {name.partition("/")[0] for name in wheel.namelist() if ".dist-info/" in name}
        said = message_from_string(wheel.read(f"{home}/METADATA").decode())
        assert wheel.read(f"{home}/entry_points.txt").decode().startswith("[console_scripts]\nhotplace = hotplace:main")
        assert f"{home}/licenses/LICENSE" in wheel.namelist()
        assert "Root-Is-Purelib: true" in wheel.read(f"{home}/WHEEL").decode()
    assert (said["Name"], said["License-Expression"], said["Requires-Python"]) == ("hotplace", "Apache-2.0", ">=3.11")
    assert not [each for each in said.get_all("Requires-Dist") or [] if each.startswith("hotplace")]


def test_the_source_archive_is_whole(built: Path) -> None:
    """Everything that it takes to build, test and document; nothing of a working folder."""
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
        assert {(member.uname, member.uid) for member in archive} <= {("", 0), ("root", 0)}
    assert {name.partition("/")[0] for name in names} == TOP | SOURCES | PAGES
    assert {name for name in tracked(*PACKAGES, "deploy", "tests", "docs/pages") if name not in names} == set()
    assert not [name for name in names if MADE_BY_TOOLS & set(Path(name).parts) or name.startswith((".venv", ".git/"))]
