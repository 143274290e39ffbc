"""The sudo rule that the page on security recommends lets through what it is for and nothing else."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.deploy.places import DEPLOY

PAGE = DEPLOY.parent / "docs" / "pages" / "security.md"
RULE = re.compile(r"^ {4}(%\S+ ALL = \((\w+)\) (/\S+) (\^.*\$))$", re.MULTILINE)
GOOD = (
    "--config /etc/hotplace/hotplace.yaml approve 3", "--config /etc/hotplace/hotplace.yaml show 12",
    "--config /etc/hotplace/hotplace.yaml cancel 7",
)  # fmt: skip
BAD = (
    "--config /home/mallory/hotplace.yaml approve 3", "approve 3", "approve 3 --config /tmp/x",
    "--config /etc/hotplace/hotplace.yaml --config /tmp/x approve 3", "--config /etc/hotplace/hotplaceXyaml approve 3",
    "--config /etc/hotplace/hotplace.yaml approve 3 --signature /etc/shadow",
    "--config /etc/hotplace/hotplace.yaml approve 3 4", "--config /etc/hotplace/hotplace.yaml approve",
    "--config /etc/hotplace/hotplace.yaml run", "--config /etc/hotplace/hotplace.yaml prove 3", "",
    "--config /etc/hotplace/hotplace.yaml approve 3\n--config /tmp/x approve 3",
)  # fmt: skip


def rule() -> tuple[str, str, str, str]:
    """The line, whose rights it gives, the program, and the regular expression of its arguments."""
    ((line, user, program, arguments),) = RULE.findall(PAGE.read_text(encoding="utf-8"))
    return line, user, program, arguments


def test_the_arguments_are_fixed() -> None:
    """By an expression over all of them, as sudo compares it; no other configuration gets through."""
    _, user, program, arguments = rule()
    assert (user, program) == ("hotplace", "/usr/bin/hotplace")
    assert [each for each in GOOD if not re.fullmatch(arguments, each)] == []
    assert [each for each in BAD if re.fullmatch(arguments, each)] == []


def test_the_page_calls_it_so() -> None:
    """The command below the rule is one that it lets through."""
    found = re.search(r"sudo -u hotplace hotplace (.*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None
    assert re.fullmatch(rule()[3], found[1])


@pytest.mark.skipif(shutil.which("visudo") is None, reason="visudo is not installed: apt install sudo")
def test_sudo_takes_the_rule(tmp_path: Path) -> None:
    """By its own program."""
    (tmp_path / "rule").write_text(f"{rule()[0]}\n")
    done = subprocess.run(["visudo", "-cf", str(tmp_path / "rule")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
