"""Giving back to the file system what the ledger no longer needs: free pages, and a journal that has grown.

SQLite keeps pages that deleted rows leave for later rows. Where history is kept for a shorter time than before, that
would be hundreds of megabytes for good. A ledger is made with ``auto_vacuum=INCREMENTAL``, so that free pages can be
given back some at a time, each time for a few milliseconds of the write lock. One that an older version made becomes
such a ledger by VACUUM, once: it writes all content again under the write lock, so it is limited in time and done when
there is much to give back, which is when it has the least to write.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from agent.ledger.file.database import JOURNAL_BYTES, FileDatabase
from connectors.base import Clock

LONGEST_SECONDS = 10.0  # of giving back, half of what other writers wait for
SPARE_BYTES = 16 << 20  # free pages that are kept in any case: folding frees and takes as much every hour
SPARE_RATIO = 0.1  # of the file
STEP_BYTES = 4 << 20  # given back under one write lock
PAUSE_SECONDS = 0.02  # between two steps, for other writers
CHECKPOINT_SECONDS = 1.0  # to wait for readers of the journal
WORTH_RATIO = 0.8  # of the content that was too much for VACUUM: with less than this it is tried again
NONE, INCREMENTAL = 0, 2  # PRAGMA auto_vacuum


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenBack:
    """What became of free pages."""

    bytes: int  # given back
    free_bytes: int  # still free within the file
    sentence: str  # why no more was given back; "" where all that is not spare was


class Upkeep:
    """The size of the ledger's files."""

    def __init__(self, database: FileDatabase, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._too_much: int | None = None  # content bytes that VACUUM did not get through in time

    def give_back(self, longest_seconds: float = LONGEST_SECONDS) -> GivenBack:
        """Give back free pages beyond what is spare, and shorten the journal; readers and writers go on meanwhile.

        Args:
            longest_seconds: no step begins later, and VACUUM is broken off then.

        Raises:
            LedgerBusy: another process kept the write lock.
            LedgerFull: VACUUM found no room to write to; the ledger is as it was.
        """
        end = self._clock.monotonic() + longest_seconds
        before = self._bytes("page_count")
        free = self._bytes("freelist_count")
        sentence = ""
        if free > _spare(before):
            if self._database.pragma("auto_vacuum") == INCREMENTAL:
                self._in_steps(end)
            else:
                sentence = self._all_at_once(before - free, end)
        self._shorten_journal()
        after = self._bytes("page_count")
        return GivenBack(bytes=before - after, free_bytes=self._bytes("freelist_count"), sentence=sentence)

    def _in_steps(self, end: float) -> None:
        pages = STEP_BYTES // int(self._database.pragma("page_size"))
        while self._bytes("freelist_count") > _spare(self._bytes("page_count")):
            self._database.run(f"PRAGMA incremental_vacuum({pages})")
            if self._clock.monotonic() >= end:
                return
            # A pause between steps: SQLite does not queue for its lock, so a loop without one could keep other writers
            # out until their timeout.
            self._clock.sleep(PAUSE_SECONDS)

    def _all_at_once(self, content: int, end: float) -> str:
        """Make it a ledger that can give back in steps; why not, where that takes too long."""
        # Not tried every hour: each try writes for as long as it is allowed and is then undone.
        if self._too_much is not None and content > WORTH_RATIO * self._too_much:
            return ""
        try:
            self._database.run("PRAGMA auto_vacuum=INCREMENTAL; VACUUM", until=lambda: self._clock.monotonic() >= end)
        except sqlite3.OperationalError:  # every other error of SQLite's is translated: this one was broken off
            self._too_much = content
            return (
                f"{content >> 20} MiB of content are too much to be written again while the daemon runs; stop it once "
                f"and run: sqlite3 {self._database.path} 'PRAGMA auto_vacuum=INCREMENTAL; VACUUM'"
            )
        return ""

    def _shorten_journal(self) -> None:
        """Fold a -wal file that has grown into the ledger and cut it; readers of it may keep it for now."""
        journal = self._database.path.with_name(f"{self._database.path.name}-wal")
        if journal.exists() and journal.stat().st_size > JOURNAL_BYTES:
            self._database.run("PRAGMA wal_checkpoint(TRUNCATE)", busy_seconds=CHECKPOINT_SECONDS)

    def _bytes(self, pages: str) -> int:
        return int(self._database.pragma(pages)) * int(self._database.pragma("page_size"))


def _spare(file_bytes: int) -> float:
    return max(SPARE_BYTES, SPARE_RATIO * file_bytes)
