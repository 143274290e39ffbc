"""The samples of this machine, in a file of their own next to a ledger on a server.

The file has the tables of a ledger's file, so that it is migrated, folded and made smaller as one; only those of
samples are used, and what the agent remembers of them.
"""

from __future__ import annotations

import os
import secrets
import threading
from pathlib import Path

from agent.ledger.file.database import FileDatabase
from agent.ledger.file.opening import bring_up_to_date, prepare_file
from agent.ledger.file.reading import where
from agent.ledger.state_names import ALL_DATABASES

AGENT = "agent"  # the document with the name of the agent whose file it is


class SampleFile:
    """The file, opened when it is first needed, and made when something is first written. Safe from several threads."""

    def __init__(self, path: Path) -> None:
        """Nothing is opened yet."""
        self.path = path
        self._opened: FileDatabase | None = None
        self._lock = threading.Lock()

    def found(self) -> FileDatabase | None:
        """To read; None where there is none, or it belongs to another account of this machine.

        Raises:
            LedgerError: it cannot be used.
        """
        with self._lock:
            if self._opened is None and not os.access(self.path, os.R_OK | os.W_OK):
                return None
            return self._open()

    def made(self) -> FileDatabase:
        """To write.

        Raises:
            LedgerError: it cannot be used.
        """
        with self._lock:
            return self._open()

    def agent_name(self) -> str:
        """A word that the agent is given with its file, and keeps over restarts."""
        of_it = where("database = ?", ALL_DATABASES), where("name = ?", AGENT)
        with self.made().write() as transaction:
            found = transaction.scalar("SELECT body FROM documents", *of_it)
            if found is None:
                found = secrets.token_hex(8)
                row = {"database": ALL_DATABASES, "name": AGENT, "at": 0, "body": found}
                transaction.put("documents", [row])
            return str(found)

    def close(self) -> None:
        """Close it."""
        with self._lock:
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    def _open(self) -> FileDatabase:
        if self._opened is None:
            prepare_file(self.path, create=True)
            database = FileDatabase(self.path)
            bring_up_to_date(database)
            self._opened = database
        return self._opened
