"""Conditions of an approval: up to how many bytes, until when, and for how much gain its moves may begin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from connectors.formatting import format_bytes, format_wait


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What must hold at the first statement of each group. None: it does not matter."""

    most_bytes: int | None = None  # of all moves of the proposal that are carried out
    not_after: datetime | None = None
    least_gain_per_hour: float | None = None  # seconds of wait, of what is left of the proposal, by the newest plan

    @property
    def facts(self) -> dict[str, Any]:
        """As the audit chain holds them: only those that were given."""
        plain = {
            "most_bytes": self.most_bytes,
            "not_after": None if self.not_after is None else self.not_after.isoformat(),
            "least_gain_per_hour": self.least_gain_per_hour,
        }
        return {name: value for name, value in plain.items() if value is not None}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Self:
        """Inverse of ``facts``."""
        at = facts.get("not_after")
        return cls(
            most_bytes=facts.get("most_bytes"),
            not_after=None if at is None else datetime.fromisoformat(at),
            least_gain_per_hour=facts.get("least_gain_per_hour"),
        )

    def __str__(self) -> str:
        """In words; "" where there are none."""
        parts = []
        if self.most_bytes is not None:
            parts.append(f"at most {format_bytes(self.most_bytes)}")
        if self.not_after is not None:
            parts.append(f"begun before {self.not_after.isoformat()}")
        if self.least_gain_per_hour is not None:
            parts.append(f"while it saves at least {format_wait(self.least_gain_per_hour)}")
        return "; ".join(parts)


NONE = Conditions()
