"""What the account that moves takes over from the account that watches the same database.

Only what says where the database is and how its server is reached; who logs in is each account's own. A password goes
along for the same user on the same server and never for another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Inheritance:
    """Names of an engine's settings, by the condition under which ``move_connection`` takes them over."""

    # Alternative ways of saying where the database is, the server first in each. Within the way that move_connection
    # uses, what it does not name is taken over; all of it where it uses none.
    place: tuple[tuple[str, ...], ...] = ()
    server: tuple[str, ...] = ()  # how the server is reached, its encryption above all: while the server is the same
    login: tuple[str, ...] = ()  # secrets: while server and user are the same

    def complete(self, moving: Mapping[str, Any], watching: BaseModel) -> dict[str, Any]:
        """The settings of the account that moves, with what it takes over.

        Args:
            moving: what the file names under ``move_connection``.
            watching: settings of the account that watches; only what was given in the file is taken over.
        """
        return {**_explicit_settings(watching, self._taken_over(moving, watching)), **moving}

    def _taken_over(self, moving: Mapping[str, Any], watching: BaseModel) -> Iterable[str]:
        used = [way for way in self.place if any(name in moving for name in way)] or self.place
        yield from (name for way in used for name in way)
        if not all(_is_same(name, moving, watching) for name, *_ in self.place):
            return
        yield from self.server
        if moving.get("user") is not None and _is_same("user", moving, watching):
            yield from self.login


def _is_same(name: str, moving: Mapping[str, Any], watching: BaseModel) -> bool:
    """Whether the moving account has the watching one's value, named or not."""
    return name not in moving or moving[name] == getattr(watching, name)


def _explicit_settings(settings: BaseModel, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(settings, name) for name in names if name in settings.model_fields_set}
