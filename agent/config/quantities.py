"""How quantities and paths of the configuration are read.

How the quantities of the configuration are read: pydantic types over ``agent.model.units_of_measure``.

Every mistake is a ``ValueError`` whose text shows what was written; pydantic adds the path.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from datetime import tzinfo
from typing import Annotated, Any, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pydantic import BaseModel, BeforeValidator, ConfigDict, StrictBool, StrictInt, StringConstraints

from agent.config.errors import printable
from agent.model.units_of_measure import Quantity, parse_bytes, parse_rate, parse_ratio, parse_seconds
from policies.model.calendar import ExcludedDays, WeeklyWindow, parse_excluded, parse_window

_T = TypeVar("_T")


def _scalar(parse: Callable[[Quantity], float]) -> BeforeValidator:
    """The parser, spared of lists and mappings."""

    def validate(value: Any) -> float:  # noqa: ANN401  # whatever YAML holds
        if isinstance(value, str | int | float):
            return parse(value)
        raise ValueError(f"should be one value, not {printable(value)}")

    return BeforeValidator(validate)


Bytes = Annotated[int, _scalar(parse_bytes)]
BytesPerSecond = Annotated[float, _scalar(parse_rate)]
Seconds = Annotated[float, _scalar(parse_seconds)]
Ratio = Annotated[float, _scalar(parse_ratio)]


def _text(parse: Callable[[str], _T]) -> BeforeValidator:
    """The parser of a text, spared of everything else."""

    def validate(value: Any) -> _T:  # noqa: ANN401  # whatever YAML holds
        if isinstance(value, str):
            return parse(value)
        raise ValueError(f"should be a text in quotes, not {printable(value)}")

    return BeforeValidator(validate)


def _zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # of a name too long for a file
        near = difflib.get_close_matches(name, available_timezones(), n=1)
        hint = f"did you mean {near[0]!r}?" if near else "write for example Europe/Berlin, America/New_York or UTC"
        raise ValueError(f"there is no time zone {name!r}; {hint}") from None


Window = Annotated[WeeklyWindow, _text(parse_window)]
Days = Annotated[ExcludedDays, _text(parse_excluded)]
Zone = Annotated[tzinfo, _text(_zone)]
Flag = StrictBool  # YAML's own true and false, never a text that looks like one
Count = StrictInt
Name = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=r"^[^\x00-\x1f\x7f]+$")]


class ConfigPart(BaseModel):
    """What all parts of the configuration share: nothing unknown, nothing changed later."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, arbitrary_types_allowed=True, defer_build=True
    )
