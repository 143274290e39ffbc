"""What agents have measured, by the clock of the simulation: theirs may say anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from agent.ledger.measured.samples import number_of


@dataclass(frozen=True, slots=True)
class Measured:
    """An interval of one agent."""

    agent: str
    ended_at: datetime  # as it was stored
    at: float  # the end on the monotonic clock
    seconds: float


@dataclass(slots=True)
class Measurements:
    """All intervals of the work of databases."""

    _every: dict[str, list[Measured]] = field(default_factory=dict)  # by database

    def note(self, agent: str, at: float, table: str, values: Mapping[str, Any]) -> None:
        """An agent stores a row."""
        if table == "work":
            made = Measured(agent, values["ended_at"], at, values["seconds"])
            self._every.setdefault(values["database"], []).append(made)

    def parts_of(self, database: str, ended_at: datetime) -> list[Measured]:
        """The intervals of the hour whose last one ended then, all of one agent; none where nobody measured that."""
        every = self._every.get(database, [])
        agents = {each.agent for each in every if each.ended_at == ended_at}
        return [
            each for each in every
            if each.agent in agents and each.ended_at <= ended_at and number_of(each.ended_at) == number_of(ended_at)
        ]  # fmt: skip
