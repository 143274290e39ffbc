"""A wheel that was really built, in a virtual environment of its own, is whole without the checkout."""

from __future__ import annotations

import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.deploy.places import DEPLOY, ROOT

pytest.importorskip("hatchling", reason="the wheel is built by hatchling: make setup")
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("wheel")]  # built and installed once
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]


def done(*command: str | Path, folder: Path) -> str:
    """What the program printed, ended well."""
    ran = subprocess.run([*map(str, command)], cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built of this checkout without asking any index."""
    folder = tmp_path_factory.mktemp("wheel")
    done(*PIP, "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, ROOT, folder=folder)
    (built,) = folder.glob("hotplace-*.whl")
    return built


@pytest.fixture(scope="module")
def home(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel; what it depends on is borrowed from this one, which comes last."""
    home = tmp_path_factory.mktemp("opt") / "hotplace"
    done(sys.executable, "-m", "venv", "--without-pip", home, folder=wheel.parent)
    done(
        *PIP,
        "--python",
        home / "bin" / "python",
        "install",
        "--quiet",
        "--no-compile",
        "--no-deps",
        wheel,
        folder=wheel.parent,
    )
    (packages,) = home.glob("lib/python*/site-packages")
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return home


def test_it_brings_every_file_of_deploy(wheel: Path, home: Path) -> None:
    """The same names and texts, below its own package."""
    (carried,) = home.glob("lib/python*/site-packages/agent/deploy")
    files = {path.relative_to(DEPLOY): path.read_text() for path in DEPLOY.rglob("*") if path.is_file()}
    assert {path.relative_to(carried): path.read_text() for path in carried.rglob("*") if path.is_file()} == files


def test_it_prints_them_without_the_checkout(home: Path, tmp_path: Path) -> None:
    """From a folder that is empty, by the command that doctor names."""
    printed = done(home / "bin" / "hotplace", "deploy", "privileges", "--engine", "oracle", folder=tmp_path)
    for name in ("oracle-observe.sql", "oracle-move.sql"):
        assert (DEPLOY / "privileges" / name).read_text() in printed
    done(home / "bin" / "hotplace", "deploy", "systemd", "--output", "systemd", folder=tmp_path)
    assert (tmp_path / "systemd" / "hotplace.service").read_text() == (
        DEPLOY / "systemd" / "hotplace.service"
    ).read_text()


def test_its_advice_to_install_is_what_pip_takes(wheel: Path, home: Path, tmp_path: Path) -> None:
    """The wheel that it came from, with the extra; pip reads it as that, and no index is asked."""
    code = "from connectors.kit.registry import install_command; print(install_command('oracle'))"
    advised = shlex.split(done(home / "bin" / "python", "-c", code, folder=tmp_path))
    assert advised == [str(home / "bin" / "python"), "-m", "pip", "install", f"{wheel}[oracle]"]
    said = done(*advised, "--dry-run", "--no-index", "--no-deps", "--force-reinstall", folder=tmp_path)
    assert "Would install hotplace-" in said
