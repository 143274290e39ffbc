"""Runs tests against a module with a mistake: in a forked process, so that nothing has to be imported twice.

The parent imports the libraries and nothing of the project; the child imports the mistaken text in the module's place.
Programs that a test starts import the module as it is: what only they would notice is not noticed.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import json
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import pytest

from tests.mutants.drawing import ROOT

LIBRARIES = ("numpy", "sqlalchemy", "alembic.migration", "pydantic", "yaml", "hypothesis", "psycopg", "xdist")
IMPORTED_ALREADY = "ignore::pytest.PytestAssertRewriteWarning"
BROKEN = -1  # the tool itself
KILLED, TIMED_OUT, SURVIVED, NOT_COVERED = "killed", "timed out", "survived", "not covered"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the tests said."""

    outcome: str
    by: str = ""  # the test that failed
    tests: int = 0  # that were to run
    seconds: float = 0.0


class _Loader(SourceFileLoader):
    """Compiles a text in place of the file's."""

    def __init__(self, name: str, path: str, text: str) -> None:
        super().__init__(name, path)
        self._text = text

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._text, self.path, "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds one module in its mistaken form."""

    def __init__(self, path: str, text: str) -> None:
        self._name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        self._file, self._text = str(ROOT / path), text

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._name:
            return None
        return importlib.util.spec_from_file_location(
            fullname, self._file, loader=_Loader(fullname, self._file, self._text)
        )


class _Chosen:
    """Keeps the chosen tests, in their order, and notes which one failed."""

    def __init__(self, tests: Sequence[str]) -> None:
        self._order = {test: at for at, test in enumerate(tests)}
        self.failed = ""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if any("::" in test for test in self._order):  # else whole files
            places = ((self._place(item.nodeid), item) for item in items)
            kept = [(place, item) for place, item in places if place is not None]
            items[:] = [item for _, item in sorted(kept, key=lambda each: each[0])]

    def _place(self, name: str) -> int | None:
        """By its own name, or by that of a test with parameters."""
        return self._order.get(name, self._order.get(name.partition("[")[0]))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed = self.failed or report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.failed = self.failed or f"importing {report.nodeid}"


def prepare() -> None:
    """Import what every run needs, once."""
    for name in LIBRARIES:
        with suppress(ImportError):
            importlib.import_module(name)


def run(path: str, text: str, tests: Sequence[str], limit_seconds: float) -> Verdict:
    """What tests say of a module with that text.

    Args:
        path: of the module within the project.
        text: of it, with a mistake.
        tests: their names as pytest has them, in the order in which they are to run; the first failure ends it.
        limit_seconds: a mistake may loop for ever; that is noticed too.

    Raises:
        RuntimeError: the tests could not be run.
    """
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="hotplace-mutant-") as folder:
        Path(folder).chmod(0o711)  # some tests give up root's rights in folders of their own under it
        says = Path(folder) / "says"
        child = os.fork()
        if not child:
            _be_the_child(path, text, tests, says)
        in_time = _wait(child, limit_seconds)
        found: dict[str, Any] = {"code": 1, "failed": "the process itself"}
        if says.exists():
            found = json.loads(says.read_text())
    seconds = round(time.perf_counter() - started, 1)
    if not in_time:
        return Verdict(TIMED_OUT, tests=len(tests), seconds=seconds)
    if found["code"] == BROKEN:
        raise RuntimeError(found["failed"])
    if found["code"] == pytest.ExitCode.OK:
        return Verdict(SURVIVED, tests=len(tests), seconds=seconds)
    return Verdict(KILLED, found["failed"], len(tests), seconds)


def _be_the_child(path: str, text: str, tests: Sequence[str], says: Path) -> None:
    """Never returns."""
    code, failed = BROKEN, ""
    try:
        os.setsid()
        os.environ["TMPDIR"] = str(says.parent)  # removed with all that a test left there that was broken off
        tempfile.tempdir = None
        silence = os.open(os.devnull, os.O_RDWR)
        for descriptor in range(3):
            os.dup2(silence, descriptor)
        sys.meta_path.insert(0, _Finder(path, text))
        chosen = _Chosen(tests)
        files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
        code = pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-W", IMPORTED_ALREADY, *files], [chosen])
        failed = chosen.failed
    except BaseException:  # noqa: BLE001  # nothing of the parent may run in the child
        failed = traceback.format_exc()
    finally:
        says.write_text(json.dumps({"code": int(code), "failed": failed or f"pytest ended with {code}"}))
        os._exit(0)


def _wait(child: int, limit_seconds: float) -> bool:
    """Whether it ended in time; what is left of it and its children is ended."""
    until = time.monotonic() + limit_seconds
    ended = False
    while not ended and time.monotonic() < until:
        ended = os.waitpid(child, os.WNOHANG)[0] == child
        time.sleep(0.02)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    if not ended:
        os.waitpid(child, 0)
    return ended


def in_order(tests: dict[str, float], most_seconds: float) -> Iterator[str]:
    """The quickest tests that fit into a time, those of a file together: they share what is set up for a file.

    Args:
        tests: seconds of each, by its name.
        most_seconds: of all; the quickest of them is taken in any case.
    """
    files: dict[str, list[str]] = {}
    total = 0.0
    for test, seconds in sorted(tests.items(), key=lambda item: (item[1], item[0])):
        if files and total + seconds > most_seconds:
            break
        total += seconds
        files.setdefault(test.partition("::")[0], []).append(test)
    for chosen in files.values():
        yield from chosen
