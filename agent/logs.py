"""One event format for the whole agent: a name and key=value pairs, for people on a console or as JSON lines."""

from __future__ import annotations

import logging
import sys

import structlog


def set_up_logs(*, as_json: bool, level: str) -> None:
    """Send events to standard error.

    Args:
        as_json: one JSON object a line instead of coloured text.
        level: name of the lowest level that is written.
    """
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer() if as_json else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.StackInfoRenderer(),
            structlog.processors.format_exc_info if as_json else structlog.processors.ExceptionRenderer(),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=False,
    )
    logging.getLogger("apscheduler").setLevel(logging.ERROR)  # a turn that is skipped because one still runs is no news
