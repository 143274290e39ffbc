"""Events as lines and as JSON."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from datetime import datetime

import pytest

from agent.model.logs import OURS, EventLog, set_up_logs

log = EventLog(f"{OURS}.test")


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    ours = logging.getLogger(OURS)
    before = ours.handlers[:], ours.propagate, ours.level
    yield
    ours.handlers[:], ours.propagate, ours.level = before


def test_an_event_is_one_json_object(capsys: pytest.CaptureFixture[str]) -> None:
    """With its fields, level and an instant in UTC; a line break in a value breaks no line."""
    set_up_logs(as_json=True, level="info")
    log.info("a move ended", unit='public."Kunde ä"\n', bytes=7)
    log.debug("nobody asked")
    written = capsys.readouterr().err
    document = json.loads(written)
    assert written.count("\n") == 1
    assert document.pop("timestamp").endswith("Z")
    assert document == {"event": "a move ended", "unit": 'public."Kunde ä"\n', "bytes": 7, "level": "info"}


def test_an_event_is_one_line_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    """Instant, level, event, fields; what is not one printable word is quoted and escaped."""
    set_up_logs(as_json=False, level="warning")
    log.warning("late", by="5s", why="a lock\x1b[31m")
    log.info("nobody asked")
    (line,) = capsys.readouterr().err.splitlines()
    instant, rest = line.split(" ", 1)
    assert datetime.fromisoformat(instant).utcoffset() is not None
    assert rest.split(None, 2) == ["[warning", "]", f"{'late':<30} by=5s why='a lock\\x1b[31m'"]


def test_an_exception_shows_where_it_came_from(capsys: pytest.CaptureFixture[str]) -> None:
    """Both formats carry the traceback."""
    for as_json in (True, False):
        set_up_logs(as_json=as_json, level="info")
        try:
            int("no such thing")
        except ValueError:
            log.exception("failed")
        assert "ValueError: invalid literal" in capsys.readouterr().err
