"""Splitting a table: cold rows stay where they are, rows from a border on are born in another space. Optional.

A unit becomes a partitioned table of two parts without a copy of the cold one. It is an own kind of change, next to
moves from space to space: its route has statements, locks and a way back like any other, and ``Connector.inspect``
tells where it stands.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from connectors.containers import ByHand
from connectors.move_effects import Transfer
from connectors.route import Bundle, NoRoute, Route

SPLIT, REJOIN = "split", "split, back"  # Route.name, of all engines
CLOSE, REOPEN = "close", "close, back"  # the same
WAYS_BACK = {SPLIT: REJOIN, CLOSE: REOPEN}
SLOW_BYTES_PER_SECOND = 20e6  # that a slow disk reads and writes under load


@dataclass(frozen=True, slots=True, kw_only=True)
class Border:
    """Where a table is to be split: rows with ``column`` >= ``value`` belong to the new part.

    The value is user data: it stands in a proposal and its statements, never in metrics, logs or recordings.
    """

    column: str  # as the catalog has it, not quoted
    value: str  # text that the engine reads as the column's type


def held_seconds(transfers: Iterable[Transfer]) -> float:
    """For how long a table is locked while all of this is read and written, on a slow disk under load."""
    return sum(each.bytes for each in transfers) / SLOW_BYTES_PER_SECOND


@runtime_checkable
class SplitsTables(Protocol):
    """Optional in a connector: splitting a table, or the statements by which a person does it."""

    def routes_split(self, bundle: Bundle, border: Border, to_space: str) -> Route | ByHand | NoRoute:
        """The route that splits the table so that new rows are born in a space; its undo makes it one table again.

        ``ByHand``: hotplace does not do it on this engine, a person may. Changes nothing.

        Raises:
            ConnectorError: the engine did not answer.
        """
        ...


@runtime_checkable
class ClosesParts(Protocol):
    """Optional in a connector: giving the open part of a split table an end, behind which a new one is born."""

    def route_close(self, table: str, border: str, to_space: str) -> Route | NoRoute:
        """The route that ends the open part of a table at a border and makes the next one in a space; with a way back.

        Args:
            table: its key.
            border: a value of the column that it is partitioned by, ahead of its rows.
            to_space: where rows from the border on are born.

        Raises:
            ConnectorError: the engine did not answer.
        """
        ...


@runtime_checkable
class KnowsRightsToSplit(Protocol):
    """Optional in a connector that splits tables itself: whether its login may."""

    def refuse_split(self, route: Route) -> NoRoute | None:
        """Each right that this login lacks to split or close, and for the way back, by name; None: it lacks none.

        Raises:
            ConnectorError: the engine did not answer.
        """
        ...
