"""The Debian package is built by `make deb`; here its parts are held to what they belong to."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
from pathlib import Path

import pytest

from agent.cli.commands import COMMANDS
from agent.cli.main import whole_app
from agent.config.sample import sample
from tests.deploy.places import DEPLOY, ROOT

pytestmark = pytest.mark.xdist_group("debian package")  # what it needs is made once

DEBIAN = DEPLOY / "debian"
SCRIPTS = ("build.sh", "postinst", "prerm", "postrm")
UNIT = (DEPLOY / "systemd" / "hotplace.service").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def manual(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Both pages as their makers wrote them."""
    folder = tmp_path_factory.mktemp("man")
    for section in ("man1", "man5"):
        (folder / section).mkdir()
    command = [sys.executable, str(DEBIAN / "man.py"), "1.2.3", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, timeout=60, env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"})
    return {path.stem: gzip.decompress(path.read_bytes()).decode() for path in folder.rglob("*.gz")}


def test_the_manual_has_every_command_and_the_configuration(manual: dict[str, str]) -> None:
    """Names, options and exit codes of all commands; the sample line by line; the version in the head."""
    page = manual["hotplace.1"]
    assert whole_app() is not None
    assert {name for name in COMMANDS if not re.search(rf"^\.SS hotplace {name}\b", page, re.MULTILINE)} == set()
    assert '"hotplace 1.2.3"' in page
    assert "\\-\\-dry\\-run" in page or "\\-\\-observe" in page
    plain = manual["hotplace.yaml.5"].replace("\\-", "-").replace("\\e", "\\").replace("\\&", "")
    assert [line for line in sample("postgresql").splitlines() if line not in plain.splitlines()] == []


def test_no_line_of_a_text_is_taken_for_a_request(manual: dict[str, str]) -> None:
    """Every line that begins with a dot is one of the requests that the maker writes."""
    requests = {
        line.split()[0] for page in manual.values() for line in page.splitlines() if line.startswith((".", "'"))
    }
    assert requests <= {".TH", ".SH", ".SS", ".TP", ".PP", ".nf", ".fi", ".B", ".I"}


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_are_shell(name: str) -> None:
    """The system's own shell can read them, and they stop at the first error."""
    text = (DEBIAN / name).read_text(encoding="utf-8")
    subprocess.run(["/bin/sh", "-n", str(DEBIAN / name)], check=True)
    assert text.startswith("#!/bin/sh\n")
    assert re.search(r"^set -eu?$", text, re.MULTILINE)


def test_the_package_agrees_with_the_unit() -> None:
    """User, folders and configuration are those of the unit; its program is where the package puts it."""
    made = (DEBIAN / "build.sh").read_text(encoding="utf-8")
    after = (DEBIAN / "postinst").read_text(encoding="utf-8")
    assert re.search(r"^User=hotplace$", UNIT, re.MULTILINE)
    assert "--group" in after
    assert after.count("/var/lib/hotplace") == 2
    (configuration,) = set(re.findall(r"--config (\S+)", UNIT))
    assert f"echo {configuration} >" in made
    assert configuration in after
    assert "s|/opt/hotplace/bin|$HOME_OF/bin|" in made
    assert "/opt/hotplace/bin/hotplace" in UNIT
    assert "s|^  path: hotplace\\.db .*|" in made
    assert re.search(r"^  path: hotplace\.db ", sample("postgresql"), re.MULTILINE)


def test_the_ledger_outlives_the_package() -> None:
    """Nothing that is run at its removal deletes the folder of the ledger, or the user it belongs to."""
    for name in ("prerm", "postrm"):
        text = (DEBIAN / name).read_text(encoding="utf-8")
        assert not re.search(r"\brm\b|deluser|userdel", text)
    assert "rmdir --ignore-fail-on-non-empty" in (DEBIAN / "postrm").read_text(encoding="utf-8")


def test_the_control_file_is_whole() -> None:
    """Every field that dpkg wants, and a Python that is the one of the environment."""
    text = (DEBIAN / "control").read_text(encoding="utf-8")
    fields = set(re.findall(r"^([A-Z][\w-]+):", text, re.MULTILINE))
    assert {"Package", "Version", "Architecture", "Maintainer", "Depends", "Description"} <= fields
    assert "python3 (>= @PYTHON@), python3 (<< @NEXT_PYTHON@)" in text
    used = set(re.findall(r"@\w+@", text))
    made = (DEBIAN / "build.sh").read_text(encoding="utf-8")
    assert {each for each in used if f"s|{each}|" not in made} == set()
    assert Path(DEBIAN / "copyright").read_text().startswith("Format: https://www.debian.org/doc/packaging-manuals/")
