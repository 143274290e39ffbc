"""The real clock. Everything else takes a ``connectors.base.Clock`` and never asks the system for the time."""

from __future__ import annotations

import time
from datetime import UTC, datetime


class SystemClock:
    """Time as this machine tells it."""

    def now(self) -> datetime:
        """Wall-clock time, aware, UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds on a clock that never jumps."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)
