"""What was made within the last moments, for whoever asks for the same."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

_V = TypeVar("_V")
KEPT_SECONDS = 1.0
MOST = 32  # answers that are kept


class Cache(Generic[_V]):
    """Makes one answer at a time, and the same one once a second at most. Safe from several threads."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        """Tell time by ``monotonic``."""
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._kept: dict[object, tuple[float, _V]] = {}

    def get(self, key: object, make: Callable[[], _V]) -> _V:
        """The answer to a question; what ``make`` raises is not kept."""
        with self._lock:
            found = self._kept.get(key)
            if found is not None and self._monotonic() - found[0] < KEPT_SECONDS:
                return found[1]
            made = make()
            self._kept.pop(key, None)  # so that the oldest stays the first
            self._kept[key] = (self._monotonic(), made)
            if len(self._kept) > MOST:
                del self._kept[next(iter(self._kept))]
            return made
