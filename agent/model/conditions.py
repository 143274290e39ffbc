"""Conditions of an approval: up to how many bytes, until when, when, and for how much gain its moves may begin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from connectors.formatting import format_bytes, format_wait

if TYPE_CHECKING:
    from policies.calendar import Calendar


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What must hold at the first statement of each group. None: it does not matter."""

    most_bytes: int | None = None  # of all moves of the proposal that are carried out
    not_after: datetime | None = None
    least_gain_per_hour: float | None = None  # seconds of wait, of what is left of the proposal, by the newest plan
    windows: tuple[str, ...] = ()  # in which they begin and are predicted to end, besides those of the database
    time_zone: str = ""  # of these windows

    @property
    def calendar(self) -> Calendar | None:
        """The windows; None: those of the database alone.

        Raises:
            ValueError: a window or the time zone is none.
        """
        if not self.windows:
            return None
        from zoneinfo import ZoneInfo

        from policies.calendar import Calendar, parse_window

        windows = tuple(map(parse_window, self.windows))
        try:
            return Calendar(ZoneInfo(self.time_zone), windows)
        except (KeyError, OSError) as error:  # a folder of zones, or a name too long for a file, is an error of I/O
            raise ValueError(f"{self.time_zone[:60]!r} is no time zone") from error

    @property
    def facts(self) -> dict[str, Any]:
        """As the audit chain holds them: only those that were given."""
        plain = {
            "most_bytes": self.most_bytes,
            "not_after": None if self.not_after is None else self.not_after.isoformat(),
            "least_gain_per_hour": self.least_gain_per_hour,
            "windows": list(self.windows) or None,
            "time_zone": self.time_zone or None,
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
            windows=tuple(facts.get("windows", ())),
            time_zone=facts.get("time_zone", ""),
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
        if self.windows:
            parts.append(f"within {', '.join(self.windows)} ({self.time_zone})")
        return "; ".join(parts)


NONE = Conditions()
