"""Brings in the system packages that some tests need: run as ``python -m tests.components`` by ``make test``.

As root on Debian they are installed; anywhere else they are named in one line, and the tests that need them skip and
say so.
"""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

INSTALL_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Component:
    """One system package and how to see that it is there."""

    packages: tuple[str, ...]
    why: str
    programs: tuple[str, ...] = ()
    pattern: str = ""  # a file below / that shows it is installed
    module: str = ""  # a Python package that shows it; its packages come from PyPI, for every user

    def present(self) -> bool:
        """Whether it is there already."""
        by_program = all(shutil.which(program) for program in self.programs)
        by_file = not self.pattern or any(Path("/").glob(self.pattern))
        return by_program and by_file and (not self.module or find_spec(self.module) is not None)


COMPONENTS = (
    Component(
        ("postgresql",), "a second PostgreSQL beside the embedded ones", pattern="usr/lib/postgresql/*/bin/postgres"
    ),
    Component(("tdsodbc", "unixodbc"), "FreeTDS against the SQL Server lab", pattern="usr/lib/*/odbc/libtdsodbc.so"),
    Component(("mssql-python",), "Microsoft's ODBC driver 18 against the SQL Server lab", module="mssql_python_odbc"),
    Component(("gcc", "libc6-dev"), "the slow-disk shim of the demo", programs=("gcc",), pattern="usr/include/stdio.h"),
)


def missing() -> tuple[Component, ...]:
    """What is not there."""
    return tuple(component for component in COMPONENTS if not component.present())


def main() -> int:
    """Install or name what is missing; never a reason for ``make test`` to stop."""
    absent = missing()
    if not absent:
        return 0
    packages = [package for component in absent if not component.module for package in component.packages]
    if packages and os.geteuid() == 0 and shutil.which("apt-get"):
        _install(packages)
    wheels = [package for component in absent if component.module for package in component.packages]
    if wheels:
        constraints = str(Path(__file__).parent.parent / "constraints.txt")
        _run([sys.executable, "-m", "pip", "install", "--quiet", "--constraint", constraints, *wheels])
        importlib.invalidate_caches()
    still = missing()
    if still:
        names = ", ".join(f"{' '.join(component.packages)} ({component.why})" for component in still)
        print(f"not installed, tests that need them skip: {names}", file=sys.stderr)  # noqa: T201
    return 0


def _install(packages: list[str]) -> None:
    """Debian's way, quietly."""
    if _run(["apt-get", "-qq", "update"]):
        _run(["apt-get", "-qq", "install", "-y", "--no-install-recommends", *packages])


def _run(command: list[str]) -> bool:
    """Whether it ended well; a failure is named and not fatal."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(
            command, env=environment, stdout=sys.stderr, timeout=INSTALL_SECONDS, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        print(f"{' '.join(command)} took longer than {INSTALL_SECONDS} s", file=sys.stderr)  # noqa: T201
        return False
    if done.returncode:
        print(f"{' '.join(command)} ended with {done.returncode}", file=sys.stderr)  # noqa: T201
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
