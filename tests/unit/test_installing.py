"""Every advice to install names what was installed, never a name that anybody could register."""

from __future__ import annotations

import json
import re
import shlex
import sys
import tomllib
from importlib.metadata import Distribution
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from connectors.kit.registry import install_command

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
METADATA = """\
Metadata-Version: 2.4
Name: hotplace
Version: 0.1.0
Provides-Extra: oracle
Requires-Dist: numpy<3,>=1.26
Requires-Dist: oracledb>=2.4; extra == 'oracle'
Requires-Dist: ibm-db>=3.2; (sys_platform == 'linux') and extra == 'db2'
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A checkout, in a folder with a blank."""
    (path := tmp_path / "my src" / "hotplace").mkdir(parents=True)
    return path


def installed(tmp_path: Path, record: dict[str, Any] | None) -> Distribution:
    """A distribution as pip leaves it, with what it noted of its origin."""
    (info := tmp_path / "hotplace-0.1.0.dist-info").mkdir()
    (info / "METADATA").write_text(METADATA)
    if record is not None:
        (info / "direct_url.json").write_text(json.dumps(record))
    return Distribution.at(info)


def arguments(tmp_path: Path, record: dict[str, Any] | None, extra: str = "oracle") -> list[str]:
    """What is given to ``pip install``, as a shell takes it apart."""
    program, verb, *rest = shlex.split(install_command(extra, installed(tmp_path, record)))
    assert (program, verb) == (str(Path(sys.prefix) / "bin" / "pip"), "install")
    return rest


def test_a_folder_is_installed_again_with_the_extra(tmp_path: Path, folder: Path) -> None:
    """The same folder, by this environment's own pip."""
    assert arguments(tmp_path, {"url": folder.as_uri(), "dir_info": {}}) == [f"{folder}[oracle]"]


def test_an_editable_folder_stays_editable(tmp_path: Path, folder: Path) -> None:
    """A copy would hide the later changes of the one who works there."""
    record = {"url": folder.as_uri(), "dir_info": {"editable": True}}
    assert arguments(tmp_path, record) == ["--editable", f"{folder}[oracle]"]


def test_a_wheel_is_installed_again_with_the_extra(tmp_path: Path, folder: Path) -> None:
    """A path to the file."""
    (wheel := folder / "hotplace-0.1.0-py3-none-any.whl").touch()
    assert arguments(tmp_path, {"url": wheel.as_uri(), "archive_info": {}}) == [f"{wheel}[oracle]"]


def test_a_repository_is_named_with_its_commit_and_without_a_login(tmp_path: Path) -> None:
    """What ran is what is installed."""
    record = {"url": "https://me:s3cret@git.example.com/hotplace.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}}
    assert arguments(tmp_path, record) == ["hotplace[oracle] @ git+https://git.example.com/hotplace.git@abc"]


@pytest.mark.parametrize("record", [None, {"url": "file:///is/gone/hotplace", "dir_info": {}}])
def test_without_an_origin_the_packages_of_the_extra_are_named(tmp_path: Path, record: dict[str, Any] | None) -> None:
    """Installed from an index of the site's own, or the folder was removed, as a container's build does."""
    assert arguments(tmp_path, record) == ["oracledb>=2.4"]


def test_markers_of_other_kinds_do_not_hide_a_package(tmp_path: Path) -> None:
    """An extra next to a platform."""
    assert arguments(tmp_path, None, "db2") == ["ibm-db>=3.2"]


def test_no_requirement_names_hotplace() -> None:
    """An index is never asked for a name that is not ours, not even by an extra that stands for others."""
    every = [*PROJECT["dependencies"], *chain.from_iterable(PROJECT["optional-dependencies"].values())]
    assert not [requirement for requirement in every if requirement.startswith("hotplace")]


def test_an_extra_that_repeats_a_package_repeats_its_bounds() -> None:
    """One package has one requirement throughout."""
    bounds: dict[str, set[str]] = {}
    for requirement in chain.from_iterable(PROJECT["optional-dependencies"].values()):
        plain = requirement.partition(";")[0].strip()
        bounds.setdefault(re.split(r"[\[<>=~!]", plain)[0], set()).add(plain)
    assert not {name: found for name, found in bounds.items() if len(found) > 1}


ADVISED = re.compile(r"pip install[^\n]*?['\" ]hotplace(\[|['\"]|$)")
FOLDERS = ("agent", "connectors", "policies", "deploy", "docs", "tests")
SHOWN = [
    path for folder in FOLDERS for path in (ROOT / folder).rglob("*")
    if path.is_file() and path.suffix in {".py", ".md", ".sql", ".yaml", ".yml", ".json", ".service", ""}
]  # fmt: skip


def test_no_text_advises_to_install_the_bare_name() -> None:
    """Neither an error nor a document sends anybody to an index for it."""
    texts = [*SHOWN, *ROOT.glob("*.md"), ROOT / "Makefile"]
    found = [path for path in texts if path != Path(__file__) and ADVISED.search(path.read_text(errors="replace"))]
    assert not found
