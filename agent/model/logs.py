"""One event format for the whole agent: a name and key=value pairs, for people on a console or as JSON lines.

By the standard library's logging: structlog, which we had, loads rich and Pygments, 4 MiB that a daemon never needs.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

OURS = "agent"  # logger above those of all modules of the agent
_ALSO = "connectors"  # which say what a person at the terminal has to know at once
_COLORS = {"debug": "32", "info": "32", "warning": "33", "error": "31"}  # of a terminal, by level
_EVENT_WIDTH = 30


class EventLog:
    """Where one module says what happens: an event in a few words that never change, and the facts as fields."""

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(name)

    def debug(self, event: str, **fields: object) -> None:
        """Details for finding a fault."""
        self._say(logging.DEBUG, event, fields)

    def info(self, event: str, **fields: object) -> None:
        """Normal operation."""
        self._say(logging.INFO, event, fields)

    def warning(self, event: str, **fields: object) -> None:
        """An operator should look at it."""
        self._say(logging.WARNING, event, fields)

    def error(self, event: str, **fields: object) -> None:
        """Work was not done."""
        self._say(logging.ERROR, event, fields)

    def exception(self, event: str, **fields: object) -> None:
        """An error with the traceback of what is being handled."""
        self._say(logging.ERROR, event, fields, traceback=True)

    def _say(self, level: int, event: str, fields: Mapping[str, object], *, traceback: bool = False) -> None:
        self._logger.log(level, "%s", event, extra={"fields": fields}, exc_info=traceback)


class _Json(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """The event, its fields, level and instant; the traceback as text."""
        document: dict[str, Any] = {"event": record.getMessage(), **_fields(record)}
        document |= {"level": record.levelname.lower(), "timestamp": _instant(record)}
        if record.exc_info:
            document["exception"] = self.formatException(record.exc_info)
        return json.dumps(document, default=str, ensure_ascii=False)


class _Lines(logging.Formatter):
    """Lines for people, coloured on a terminal."""

    def __init__(self, *, colors: bool) -> None:
        super().__init__()
        self._colors = colors

    def format(self, record: logging.LogRecord) -> str:
        """Instant, level, event and fields, the traceback below."""
        level = f"{record.levelname.lower():<9}"
        if self._colors:
            level = f"\033[{_COLORS[record.levelname.lower()]}m{level}\033[0m"
        pairs = " ".join(f"{name}={_quote(value)}" for name, value in _fields(record).items())
        line = f"{_instant(record)} [{level}] {record.getMessage():<{_EVENT_WIDTH}} {pairs}".rstrip()
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def set_up_logs(*, as_json: bool, level: str) -> None:
    """Send events to standard error.

    Args:
        as_json: one JSON object a line instead of text.
        level: name of the lowest level that is written.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if as_json else _Lines(colors=sys.stderr.isatty()))
    for name in (OURS, _ALSO):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.propagate = False
        logger.setLevel(level.upper())
    logging.getLogger("apscheduler").setLevel(logging.ERROR)  # a turn that is skipped because one still runs is no news


def _fields(record: logging.LogRecord) -> Mapping[str, object]:
    fields: Mapping[str, object] = getattr(record, "fields", {})
    return fields


def _instant(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _quote(value: object) -> str:
    """A value on one line: as it is where it is one word of printable characters, quoted with escapes otherwise."""
    text = str(value)
    return text if text and text.isprintable() and " " not in text else repr(text)
