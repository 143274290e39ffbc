"""A small SQLite file of this machine next to a ledger on a server, with the ledger's own errors."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agent.ledger.errors import read_only, translate_error

FILE_MODE = 0o600


class LocalFile:
    """The file. For one thread at a time, in any number of processes."""

    def __init__(self, path: Path, tables: str, *, durable: bool) -> None:
        """Open it, or make it.

        Args:
            path: where it is.
            tables: statements that make what is missing.
            durable: what was written survives a power cut.

        Raises:
            LedgerError: it cannot be read or written.
        """
        self.path = path
        with self.own_errors():
            path.touch(FILE_MODE)
            self.file = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self.file.execute("PRAGMA journal_mode=WAL")
            self.file.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
            self.file.executescript(tables)

    def close(self) -> None:
        """Close the file."""
        self.file.close()

    @contextmanager
    def own_errors(self) -> Iterator[None]:
        """Within, what SQLite or the file system raises becomes the ledger's own error."""
        try:
            yield
        except OSError as error:
            raise read_only(self.path, str(error.strerror)) from error
        except sqlite3.Error as error:
            ours = translate_error(self.path, error)
            if ours is None:
                raise
            raise ours from error
