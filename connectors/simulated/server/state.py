"""The state file: what differs from the scenario, as JSON, replaced atomically, one process at a time."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from connectors.base import CannotConnect


class StateFile:
    """One file, with a lock file next to it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: tuple[int, int, int] | None = None
        self._lock_handle = -1

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keep other processes out.

        Raises:
            CannotConnect: the folder does not let us.
        """
        try:
            handle = os.open(
                self.path.with_name(self.path.name + ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
            )
        except OSError as error:
            raise CannotConnect(
                f"cannot lock the state file {self.path}: {error.strerror}",
                advice="Create its folder and let this user write there.",
            ) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            self._lock_handle = handle
            yield
        finally:
            os.close(handle)

    def read_change(self) -> dict[str, Any] | None:
        """The content of the file; None if it is unchanged since we last read or wrote it, or missing.

        Raises:
            CannotConnect: it is no state file.
        """
        if not self.path.exists() or self._stamp() == self._seen:
            return None
        try:
            content = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise CannotConnect(
                f"the state file {self.path} cannot be read: {error}", advice="Restore it, or remove it to start over."
            ) from error
        if not isinstance(content, dict):
            raise CannotConnect(f"{self.path} is no state file", advice="Name another file in `state`.")
        return content

    def accept(self) -> None:
        """Note that the content of ``read_change`` was taken over. Without this nothing overwrites the file."""
        self._seen = self._stamp()

    def write(self, content: dict[str, Any]) -> None:
        """Replace the file atomically: a reader sees the old or the new one.

        Raises:
            CannotConnect: the folder does not let us.
        """
        new = self.path.with_name(self.path.name + ".new")
        try:
            # Before the file is replaced: a death in between makes others read an unchanged file once more, where the
            # other order would let them miss a change.
            os.pwrite(self._lock_handle, b"%020d" % (self._serial() + 1), 0)
            # It holds names of units and what a ledger would: for this user alone, whatever the umask says.
            handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                os.fchmod(file.fileno(), 0o600)  # one that a dead process has left may have other rights
                file.write(json.dumps(content))
            new.replace(self.path)
        except OSError as error:
            raise CannotConnect(
                f"cannot write the state file {self.path}: {error.strerror}", advice="Check its folder and its room."
            ) from error
        self._seen = self._stamp()

    def _serial(self) -> int:
        """How often the file was written; kept in the lock file, as times and inodes are too coarse to tell."""
        return int(os.pread(self._lock_handle, 20, 0) or b"0")

    def _stamp(self) -> tuple[int, int, int]:
        """Identifies a version of the file; only while we hold the lock."""
        status = self.path.stat()
        return self._serial(), status.st_ino, status.st_mtime_ns


def process_lives(process: int) -> bool:
    """Whether a process of that id runs."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
