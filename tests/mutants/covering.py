"""Which lines of the agent each test passes by, and how long it takes: a plugin of pytest over ``sys.settrace``.

``python -m pytest -p tests.mutants.covering ...`` writes them to the file that ``HOTPLACE_COVERED``
names. Frames outside the rooms are not traced; what a program that a test starts passes by is not seen.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests.mutants.drawing import ROOMS, ROOT

WRITTEN_TO = "HOTPLACE_COVERED"


class Covering:
    """Traces while a test runs."""

    def __init__(self) -> None:
        self._rooms = tuple(f"{ROOT / room}/" for room in ROOMS)
        self._seen: set[tuple[str, int]] = set()
        self._mine: dict[str, bool] = {}
        self.tests: dict[str, dict[str, Any]] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Around set-up, call and end of each test."""
        self._seen, started = set(), time.perf_counter()
        threading.settrace(self._enter)
        sys.settrace(self._enter)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            threading.settrace(None)
            lines: dict[str, list[int]] = defaultdict(list)
            for path, line in sorted(self._seen.copy()):
                lines[os.path.relpath(path, ROOT)].append(line)
            self.tests[item.nodeid] = {"seconds": round(time.perf_counter() - started, 3), "lines": lines}

    def _enter(self, frame: FrameType, _event: str, _argument: object) -> Any:  # a trace function or None
        path = frame.f_code.co_filename
        mine = self._mine.get(path)
        if mine is None:
            mine = self._mine[path] = path.startswith(self._rooms)
        return self._line if mine else None

    def _line(self, frame: FrameType, event: str, _argument: object) -> Any:  # as above
        if event == "line":
            self._seen.add((frame.f_code.co_filename, frame.f_lineno))
        return self._line

    def pytest_sessionfinish(self) -> None:
        """Write what was seen."""
        Path(os.environ[WRITTEN_TO]).write_text(json.dumps(self.tests), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    """Take part."""
    config.pluginmanager.register(Covering())
