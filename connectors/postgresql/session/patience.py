"""A connection that waits for its server no longer than it was told to.

libpq waits for an answer without end. The server's own time limits end a statement, not the silence of a server that is
frozen or cut off: its kernel, or one on the way, goes on acknowledging what is sent.
"""

from __future__ import annotations

import math
import time
from collections.abc import Generator
from typing import Any, TypeVar

import psycopg
from psycopg.pq.abc import PGconn

from connectors.formatting import format_seconds

Result = TypeVar("Result")
Waiting = Generator[Any, Any, Result]  # of psycopg: yields what it waits for, receives what has come


class ServerSilent(psycopg.OperationalError):
    """Nothing came from the server for too long; the connection was closed."""


class LimitedConnection(psycopg.Connection):
    """One that is closed where nothing comes from the server for ``patience_seconds`` while an answer is waited for."""

    patience_seconds: float = math.inf

    def wait(self, gen: Waiting[Result], *args: object, **options: object) -> Result:
        """Wait as psycopg does, which calls this for each request.

        Raises:
            ServerSilent: for too long.
        """
        return super().wait(_until_silent(gen, self.pgconn, self.patience_seconds), *args, **options)  # type: ignore[arg-type]  # handed on as they are


def _until_silent(waiting: Waiting[Result], connection: PGconn, seconds: float) -> Waiting[Result]:
    """Go through ``waiting``, which hears of nothing several times a second, until nothing came for too long."""
    last = time.monotonic()
    try:
        wants = next(waiting)
        while True:
            ready = yield wants
            now = time.monotonic()
            if ready:
                last = now
            elif now - last > seconds:
                connection.finish()
                raise ServerSilent(f"the server has not answered for {format_seconds(seconds)}")
            wants = waiting.send(ready)
    except StopIteration as end:
        result: Result = end.value
        return result
