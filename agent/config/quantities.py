"""How the quantities of the configuration are read: pydantic types over ``agent.units_of_measure``.

Every mistake is a ``ValueError`` whose text shows what was written; pydantic adds the path.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, StrictBool, StrictInt, StringConstraints

from agent.units_of_measure import parse_bytes, parse_rate, parse_ratio, parse_seconds

Bytes = Annotated[int, BeforeValidator(parse_bytes)]
BytesPerSecond = Annotated[float, BeforeValidator(parse_rate)]
Seconds = Annotated[float, BeforeValidator(parse_seconds)]
Ratio = Annotated[float, BeforeValidator(parse_ratio)]
Flag = StrictBool  # YAML's own true and false, never a text that looks like one
Count = StrictInt
Name = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=r"^[^\x00-\x1f\x7f]+$")]


class Part(BaseModel):
    """What all parts of the configuration share: nothing unknown, nothing changed later."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
