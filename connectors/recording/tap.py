"""Where a reading session lets someone listen to its queries, or answer them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from connectors.base import PrivilegeMissing

Row: TypeAlias = tuple[Any, ...]
Values: TypeAlias = tuple[object, ...]  # parameters of a query, in the order in which its table lists them


class NotRecorded(PrivilegeMissing):
    """A recording has no answer to this query: as on a server where the login may not ask it."""


class Tap(Protocol):
    """Between a reading session and its server."""

    def answer(self, name: str, values: Values, ask: Callable[[], list[Row]], *, doing: str) -> list[Row]:
        """Every row of a query.

        Args:
            name: of its ``.sql`` file, or of something else that the table of the engine lists.
            values: its parameters.
            ask: asks the server.
            doing: what the query is for; begins the message when it fails.

        Raises:
            ConnectorError: as the server refuses, or once refused.
        """
        ...
