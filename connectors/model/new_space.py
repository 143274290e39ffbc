"""A space that is to be made: what is wanted, what was looked at before, and how an engine does it.

A new space is a change of its own kind: it has no units and no source. Its route has statements and a way back like any
other, and ``Connector.inspect`` tells whether the space is there. The way back drops it while it is empty.

``Check`` is one thing that must hold of the place. What could not be looked at is said by name, and neither taken for
right nor for wrong.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

from connectors.model.moves import Bundle, ByHand, NoRoute, Operation, Route, UnitKind

NEW_SPACE, DROP_SPACE = "new space", "new space, back"  # Route.name, of all engines
# Names of checks, in the order in which people read them.
EMPTY, OWNER, DEVICE, RESTART, STANDBYS = "empty", "owner", "device", "restart", "standbys"
ACCEPTABLE = frozenset({DEVICE, RESTART, STANDBYS})  # a person may know better than the server's host shows


class CheckState(StrEnum):
    """What looking at one thing has shown."""

    HOLDS = "holds"
    FAILS = "fails"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that must hold of the place, and what was seen of it."""

    name: str  # of those above
    state: CheckState
    sentence: str  # without a full stop

    @property
    def text(self) -> str:
        """The same for people: "device: holds: ...."."""
        return f"{self.name}: {self.state}: {self.sentence}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedSpace:
    """A space as a person asks for it."""

    name: str  # as the catalog is to have it, not quoted
    location: str  # folder, file or disk group, as the server sees it
    size_bytes: int | None = None  # of its first file, where the engine makes files; None: usual
    accepted: tuple[str, ...] = ()  # names of checks that may fail: a person has said so


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceAnswer:
    """How the space is made, and what was looked at before."""

    answer: Route | ByHand | NoRoute
    checks: tuple[Check, ...] = ()


@runtime_checkable
class MakesSpaces(Protocol):
    """Optional in a connector: making a space on a place that the database does not use yet."""

    def routes_new_space(self, wanted: WantedSpace, *, moves: bool) -> SpaceAnswer:
        """The route that makes the space, whose undo drops it while it is empty. Changes nothing.

        ``moves``: this is the account that would do it, so rights that it lacks count; else they are not looked at.
        ``ByHand``: a person has to do it, for example because hotplace asks for no such right.

        Raises:
            ConnectorError: the engine did not answer.
        """
        ...


def makes_or_drops_space(route: Route) -> bool:
    """Whether the route makes a space or drops one, so that there is no target that has to take something in."""
    return route.name in {NEW_SPACE, DROP_SPACE}


def bundle_of_space(name: str) -> Bundle:
    """What a route moves that makes a space: nothing."""
    return Bundle(
        key=f"space {name}", physical_ids=(), unit_keys=(), kind=UnitKind.TABLE, size_bytes=0, space=name
    )  # fmt: skip


def failing(checks: Iterable[Check], accepted: Iterable[str]) -> tuple[Check, ...]:
    """The checks that fail and may not."""
    may = ACCEPTABLE & set(accepted)
    return tuple(check for check in checks if check.state is CheckState.FAILS and check.name not in may)


def refuse_place(wanted: WantedSpace, checks: Iterable[Check]) -> NoRoute | None:
    """Why no space is made there, by the checks; None: nothing that was seen is against it."""
    against = failing(checks, wanted.accepted)
    if not against:
        return None
    said = "; ".join(check.sentence for check in against)
    names = [check.name for check in against if check.name in ACCEPTABLE]
    setting = f"--accept {' --accept '.join(names)}" if len(names) == len(against) else ""
    return NoRoute(code="place", sentence=f"{wanted.location}: {said}", setting=setting)


def notes_of(checks: Iterable[Check], accepted: Iterable[str]) -> tuple[str, ...]:
    """What was seen, for the proposal: each check by its name, and whether a person goes on although it fails."""
    may = ACCEPTABLE & set(accepted)
    return tuple(
        f"{check.text}{', accepted' if check.state is CheckState.FAILS and check.name in may else ''}"
        for check in checks
    )


def accepted_of(operation: Operation) -> tuple[str, ...]:
    """Names of the checks that may fail, as they were approved with the statement."""
    return operation.texts("accepted")
