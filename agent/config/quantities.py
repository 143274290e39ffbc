"""How the quantities of the configuration are read: pydantic types over ``agent.units_of_measure``.

Every mistake is a ``ValueError`` whose text shows what was written; pydantic adds the path.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, StrictBool, StrictInt, StringConstraints

from agent.config.errors import shown
from agent.units_of_measure import Quantity, parse_bytes, parse_rate, parse_ratio, parse_seconds


def _scalar(parse: Callable[[Quantity], float]) -> BeforeValidator:
    """The parser, spared of lists and mappings."""

    def validate(value: Any) -> float:  # noqa: ANN401  # whatever YAML holds
        if isinstance(value, str | int | float):
            return parse(value)
        raise ValueError(f"should be one value, not {shown(value)}")

    return BeforeValidator(validate)


Bytes = Annotated[int, _scalar(parse_bytes)]
BytesPerSecond = Annotated[float, _scalar(parse_rate)]
Seconds = Annotated[float, _scalar(parse_seconds)]
Ratio = Annotated[float, _scalar(parse_ratio)]
Flag = StrictBool  # YAML's own true and false, never a text that looks like one
Count = StrictInt
Name = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=r"^[^\x00-\x1f\x7f]+$")]


class Part(BaseModel):
    """What all parts of the configuration share: nothing unknown, nothing changed later."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
