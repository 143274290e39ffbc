"""Values of a row as JSON and back: what drivers give, exactly."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

_NUMBERS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def to_json(value: Any) -> Any:  # noqa: ANN401  # whatever a driver gives
    """The value in JSON's own types.

    Raises:
        TypeError: no driver gives such a value for a column that is recorded.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"number": str(value)}
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    if isinstance(value, datetime):
        return {"time": value.isoformat()}
    if isinstance(value, date):
        return {"day": value.isoformat()}
    if isinstance(value, timedelta):
        return {"microseconds": value // timedelta(microseconds=1)}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    raise TypeError(f"a {type(value).__name__} is never recorded")


def from_json(value: Any) -> Any:  # noqa: ANN401  # whatever ``to_json`` was given
    """What ``to_json`` was given; a tuple within a row comes back as a list.

    Raises:
        ValueError: it was not written by ``to_json``.
    """
    if isinstance(value, list):
        return [from_json(item) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, text),) = value.items()
    match kind:
        case "number":
            return _NUMBERS[text]
        case "decimal":
            return Decimal(text)
        case "time":
            return datetime.fromisoformat(text)
        case "day":
            return date.fromisoformat(text)
        case "microseconds":
            return timedelta(microseconds=text)
    raise ValueError(f"{kind!r} is no kind of value")
