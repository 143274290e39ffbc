"""Durations in the ``connection:`` part of a database, as seconds."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BeforeValidator, Field

SECONDS_OF = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|min|h)")


def parse_duration(value: object) -> float:
    """Seconds of a text such as ``500ms``, ``30s``, ``5min``, ``4h``.

    Raises:
        ValueError: it is something else, a number without a unit for instance.
    """
    match = _DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"{value!r} is not a duration; write a number and a unit: 500ms, 30s, 5min, 4h")
    return float(match[1]) * SECONDS_OF[match[2]]


def parse_seconds_or_duration(value: object) -> object:
    """As ``parse_duration``; a number is a number of seconds, and all else is left to the next validator."""
    return parse_duration(value) if isinstance(value, str) else value


DurationWithUnit = Annotated[float, BeforeValidator(parse_duration), Field(gt=0)]
Duration = Annotated[float, BeforeValidator(parse_seconds_or_duration), Field(gt=0)]
