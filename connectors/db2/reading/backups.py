"""Direct reads under a backup: it reads all of a table space past the buffer pool, for no session.

The counters of a table space hold both. How many requests were those of tables is known, how long they took is not: a
backup's requests are larger and wait for other devices. So requests of tables count as they usually take there, by the
last interval without a backup.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

USUAL = "usual_direct_seconds"
_SPACE = re.compile(r"direct_requests of table space (\d+)")


def space_key(word: str, number: int) -> str:
    """Under which name a figure of the table space with that number is kept in ``Sample.database``."""
    return f"{word} of table space {number}"


@dataclass(slots=True)
class UsualDirectReads:
    """Cumulative seconds of direct reads by table space, as if a backup's requests took what requests usually take."""

    _seconds_each: dict[int, float] = field(default_factory=dict)
    _before: dict[int, tuple[float, float]] = field(default_factory=dict)  # requests and seconds of the last sample
    _totals: dict[int, float] = field(default_factory=dict)

    def totals(self, counters: Mapping[str, float], *, backup: bool) -> dict[str, float]:
        """The totals after one more sample.

        Args:
            counters: of the sample; ``direct_requests`` and ``direct_seconds`` of each table space are read.
            backup: one ran since the last sample.
        """
        for name in counters:
            if (found := _SPACE.fullmatch(name)) is not None:
                self._add(int(found[1]), counters, backup=backup)
        return {space_key(USUAL, number): total for number, total in self._totals.items()}

    def _add(self, number: int, counters: Mapping[str, float], *, backup: bool) -> None:
        now = counters[space_key("direct_requests", number)], counters[space_key("direct_seconds", number)]
        requests, seconds = (new - old for new, old in zip(now, self._before.get(number, now), strict=True))
        self._before[number] = now
        if requests > 0 and seconds >= 0:
            if not backup:
                self._seconds_each[number] = seconds / requests
            elif number in self._seconds_each:
                seconds = requests * self._seconds_each[number]
        self._totals[number] = self._totals.get(number, 0.0) + max(0.0, seconds)
