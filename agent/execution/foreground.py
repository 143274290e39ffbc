"""How long sessions' reads take while moves wait, run or are held: above a limit none begins, above another it ends.

The engine's own counters of reads that no move makes, asked every few seconds while there is something to move. So are
replicas, where the connector tells how far they are behind.
"""

from __future__ import annotations

import math
from contextlib import suppress

from agent.config import DatabaseConfig
from connectors.base import Clock, ConnectorError, Crowding, ForegroundReads, SeesForeground, SeesQueues
from connectors.formatting import format_seconds

LOOK_EVERY_SECONDS = 2.0
LEAST_READS = 20  # of fewer the mean says little; they are counted together with the next ones
LONGEST_SECONDS = 30.0  # for which fewer reads are waited for: sessions that read less are not held up
FORGET_AFTER_SECONDS = 60.0  # of no look
REST_SECONDS = 30.0  # after a limit was passed: what was held relieves the disk at once, and would go on and off


class Foreground:
    """The mean time of sessions' reads, against the limits of one database. Looks from one thread at a time."""

    def __init__(self, database: DatabaseConfig, clock: Clock) -> None:
        """Wire it up.

        Args:
            database: its limits; without one it is never asked.
            clock: time.
        """
        self._abort = database.read_time_abort_seconds
        # What is given up above the second limit must not begin there: it is the first one where there is no other.
        self._key = "read_time_abort" if database.read_time_limit_seconds is None else "read_time_limit"
        self._limit = self._abort if database.read_time_limit_seconds is None else database.read_time_limit_seconds
        self._clock = clock
        self._looks = 0  # in a row
        self._before: ForegroundReads | None = None
        self._before_at = -math.inf  # on the monotonic clock, as the others
        self._looked_at = self._asked_at = -math.inf
        self._behind, self._behind_until = Crowding(), -math.inf
        self._crowded_until = -math.inf
        self._passed = math.nan  # the mean that passed the limit last
        self.seconds = math.nan  # mean of one read at the last look; NaN: not known, or there were few

    @property
    def limited(self) -> bool:
        """Whether there is anything to look for."""
        return self._limit is not None

    def look(self, source: object) -> None:
        """Ask what can tell, a connector or a mover, unless that was done a moment ago."""
        now = self._clock.monotonic()
        if now - self._asked_at < LOOK_EVERY_SECONDS:
            return
        self._asked_at = now
        with suppress(ConnectorError):  # a move must not fail because this cannot be read
            if isinstance(source, SeesQueues) and (found := source.crowding()).hold:
                self._behind, self._behind_until = found, now + REST_SECONDS
        if not self.limited or not isinstance(source, SeesForeground):
            return
        if now - self._looked_at > FORGET_AFTER_SECONDS:
            self._looks, self._before, self.seconds = 0, None, math.nan
        self._looks, self._looked_at = self._looks + 1, now
        with suppress(ConnectorError):  # as above
            self._see(source.foreground_reads(), now)

    @property
    def unknown(self) -> bool:
        """Whether it was looked at once only: what a read takes is known at the next look."""
        return self.limited and self._looks == 1

    @property
    def crowded(self) -> str:
        """Why no move should run now, in words; "" where it may."""
        if self._clock.monotonic() < self._behind_until:
            return self._behind.hold
        if self._limit is None or self._clock.monotonic() >= self._crowded_until:
            return ""
        return self._words(self._key, self._limit)

    @property
    def hopeless(self) -> str:
        """Why what runs should be given up now, in words; "" where it need not."""
        if self._clock.monotonic() < self._behind_until and self._behind.abort:
            return self._behind.abort
        stale = self._clock.monotonic() - self._looked_at > FORGET_AFTER_SECONDS
        if self._abort is None or stale or not self.seconds > self._abort:
            return ""
        return self._words("read_time_abort", self._abort)

    def _words(self, key: str, limit: float) -> str:
        took = self.seconds if self.seconds > limit else self._passed
        return f"reads of sessions take {format_seconds(took)} on average ({key}: {format_seconds(limit)})"

    def _see(self, reads: ForegroundReads | None, now: float) -> None:
        before, since = self._before, self._before_at
        if reads is None or before is None or reads.reads < before.reads or reads.seconds < before.seconds:
            self._before, self._before_at = reads, now  # the first look, or the counters began again
            return
        count = reads.reads - before.reads
        if count < LEAST_READS and now - since < LONGEST_SECONDS:
            return
        self.seconds = (reads.seconds - before.seconds) / count if count >= LEAST_READS else math.nan
        self._before, self._before_at = reads, now
        if self._limit is not None and self.seconds > self._limit:
            self._passed, self._crowded_until = self.seconds, now + REST_SECONDS
