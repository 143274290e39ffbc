"""Brings in the system packages that some tests need: run as ``python -m tests.components`` by ``make test``.

As root on Debian they are installed; anywhere else they are named in one line, and the tests that need them skip and
say so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

INSTALL_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Component:
    """One system package and how to see that it is there."""

    packages: tuple[str, ...]
    why: str
    programs: tuple[str, ...] = ()
    pattern: str = ""  # a file below / that shows it is installed

    def present(self) -> bool:
        """Whether it is there already."""
        by_program = all(shutil.which(program) for program in self.programs)
        return by_program and (not self.pattern or any(Path("/").glob(self.pattern)))


COMPONENTS = (
    Component(
        ("postgresql",), "a second PostgreSQL beside the embedded ones", pattern="usr/lib/postgresql/*/bin/postgres"
    ),
    Component(("gcc", "libc6-dev"), "the slow-disk shim of the demo", programs=("gcc",), pattern="usr/include/stdio.h"),
    Component(("default-jre-headless",), "the emulated Db2, which runs in Java", programs=("java",)),
    Component(("derby-tools",), "the emulated Db2: Apache Derby", pattern="usr/share/java/derbynet.jar"),
)


def missing() -> tuple[Component, ...]:
    """What is not there."""
    return tuple(component for component in COMPONENTS if not component.present())


def main() -> int:
    """Install or name what is missing; never a reason for ``make test`` to stop."""
    absent = missing()
    if not absent:
        return 0
    packages = [package for component in absent for package in component.packages]
    if os.geteuid() == 0 and shutil.which("apt-get"):
        _install(packages)
    still = missing()
    if still:
        names = ", ".join(f"{' '.join(component.packages)} ({component.why})" for component in still)
        print(f"not installed, tests that need them skip: {names}", file=sys.stderr)  # noqa: T201
    return 0


def _install(packages: list[str]) -> None:
    """Debian's way, quietly; a failure is named and not fatal."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (
        ["apt-get", "-qq", "update"],
        ["apt-get", "-qq", "install", "-y", "--no-install-recommends", *packages],
    ):
        try:
            done = subprocess.run(
                command,
                env=environment,
                stdout=sys.stderr,
                timeout=INSTALL_SECONDS,
                check=False,
                stdin=subprocess.DEVNULL,
            )
        except subprocess.TimeoutExpired:
            print(f"{' '.join(command)} took longer than {INSTALL_SECONDS} s", file=sys.stderr)  # noqa: T201
            return
        if done.returncode:
            print(f"{' '.join(command)} ended with {done.returncode}", file=sys.stderr)  # noqa: T201
            return


if __name__ == "__main__":
    sys.exit(main())
