"""What a statement of a move does, stored with it, so that no program has to read its SQL to find out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Parameter = str | bool | int | tuple[str, ...]  # what JSON has, and what reads back as the same


@dataclass(frozen=True, slots=True)
class Operation:
    """The kind of a step and what it applies to, in the connector's own terms.

    It is stored and hashed with the step: a name or parameter that was once stored keeps its meaning for ever.
    """

    name: str  # "ENGINE.WHAT", as in "db2.rebalance"
    parameters: Mapping[str, Parameter] = field(default_factory=dict, hash=False)

    def text(self, name: str) -> str:
        """A parameter that is a text, "" where there is none of that name."""
        return str(self.parameters.get(name, ""))

    def texts(self, name: str) -> tuple[str, ...]:
        """A parameter that is a list of texts, empty where there is none of that name."""
        found = self.parameters.get(name, ())
        return found if isinstance(found, tuple) else (str(found),)
