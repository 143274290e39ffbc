"""Links of the audit chain, their walk, and anchors outside the ledger.

``link_hash`` is the hash of a row, and ``LinkWalk`` checks one row after the other. The names of events and subjects
are here too.

``Anchor`` notes outside the ledger where the chain ended at a known time. A person who may write the ledger can replace
all of it, by an older copy or by another chain that is consistent. An anchor is one line that the ledger can no longer
take back::

    2026-03-01T12:00:00+00:00 hotplace-anchor ledger=3f0c... row=812 hash=9b1e...

``ledger`` is the hash of the first row of the chain, which holds time, host and process. Each anchor goes to a file
next to the ledger (``AnchorFile``), and to the system's log (``send_to_system_log``), which belongs to root: under
systemd that is the journal.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import syslog
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import select

from agent.ledger.errors import Untrusted
from agent.ledger.store.database import Reading, Row
from agent.ledger.store.schema import audit, audit_head, given, microseconds, value_for
from connectors.kit.files import give_to_owner_of

GENESIS = "0" * 64
CREATED, MIGRATED, MOVED = "ledger.created", "ledger.migrated", "ledger.moved"
STORED, APPROVED = "proposal.stored", "proposal.approved"
FORGOTTEN = "database.forgotten"
STOPPED, LIFTED = "sending.stopped", "sending.lifted"  # about a database, or "*": all of them
# A row that is dated further ahead than this was dated by no clock that anybody goes by.
BELIEVED_AHEAD = timedelta(days=1)
AUDIT, AUDIT_HEAD = select(audit), select(audit_head)
_HASH = select(audit.c.hash).where(given(audit.c.id))
_AFTER = AUDIT.where(audit.c.id > value_for(audit.c.id, "after")).order_by(audit.c.id)


def subject_of(kind: str, number: int) -> str:
    """How the chain names a thing: ``proposal 3``."""
    return f"{kind} {number}"


def link_hash(row: Mapping[str, Any]) -> str:
    """The hash that a row carries: over its columns and the hash of the row before it."""
    # Facts as the text that is stored: parsed and written again, a float or the order of keys may come out differently.
    parts = [row["id"], microseconds(row["at"]), *(row[k] for k in ("actor", "event", "subject", "facts", "previous"))]
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False, separators=(",", ":")).encode()).hexdigest()


def hash_of_row(reading: Reading, number: int) -> str | None:
    """The hash that a row says it has; None where there is no such row."""
    found: str | None = reading.scalar(_HASH, id=number)
    return found


class LinkWalk:
    """One walk over the rows after a given one, in one snapshot.

    Attributes:
        last: number of the last row that fits; ``hash``: what it carries.
        fault: why the next row does not fit, or the end of the chain is not where it was; "" as long as all fit.
        broken_id: number of that row.
    """

    def __init__(self, reading: Reading, after: int) -> None:
        """Begin after a row that is taken as it is; 0: at the first one."""
        self._reading = reading
        self.after = after
        self.last, self.hash = after, (hash_of_row(reading, after) or GENESIS) if after else GENESIS
        self.fault, self.broken_id = "", 0

    def rows(self) -> Iterator[Row]:
        """The rows as far as they fit."""
        for row in self._reading.each(_AFTER, after=self.after):
            self.fault = self._fault(row)
            if self.fault:
                self.broken_id = self.last + 1
                return
            self.last, self.hash = row.id, row.hash
            yield row
        self.fault, self.broken_id = self._tail_fault(), self.last + 1

    def _fault(self, row: Row) -> str:
        """Why this row is not the next one; "" where it is."""
        expected = self.last + 1
        # Asked before the hashes: a removed row also breaks the link of the next one, which would then be blamed for
        # it.
        if row.id != expected:
            return f"audit row {expected} is missing"
        if row.previous != self.hash:
            return f"audit row {row.id} does not follow the row before it"
        if row.hash != link_hash(row._asdict()):
            return f"audit row {row.id} was changed after it was written"
        return ""

    def _tail_fault(self) -> str:
        # Each remaining row of a chain without its tail still fits the one before: only the stored head shows the cut.
        head = self._reading.first(AUDIT_HEAD)
        known = (0, GENESIS) if head is None else (head.last_id, head.hash)
        if known == (self.last, self.hash):
            return ""
        return f"the chain ends at row {self.last}, but {known[0]} rows were written"


WORD = "hotplace-anchor"
LINE = re.compile(rf"{WORD} ledger=([0-9a-f]{{64}}) row=([1-9][0-9]{{0,17}}) hash=([0-9a-f]{{64}})(?![0-9a-f])")
FILE_MODE = 0o600
TAIL_BYTES = 4096  # of the file, in which its last line lies
RECENT_BYTES = 1 << 20  # the same of the last minutes, whatever is sent in them
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00")


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """One row of a chain, as it was when the anchor was noted."""

    ledger: str  # hash of the chain's first row
    row: int
    hash: str

    @property
    def text(self) -> str:
        """What a log holds of it."""
        return f"{WORD} ledger={self.ledger} row={self.row} hash={self.hash}"


def find_anchors(lines: Iterable[str]) -> Iterator[Anchor]:
    """The anchors in lines of any log, in their order; a line may hold anything before and after its anchor."""
    for line in lines:
        for ledger, row, link in LINE.findall(line):
            yield Anchor(ledger=ledger, row=int(row), hash=link)


def send_to_system_log(anchor: Anchor) -> None:
    """Hand an anchor to the log of the system; where none listens it is lost without an error."""
    syslog.openlog("hotplace", facility=syslog.LOG_AUTH)
    syslog.syslog(syslog.LOG_NOTICE, anchor.text)


class AnchorFile:
    """A file to which lines are only ever appended. It may lie on another disk, or be append-only (``chattr +a``)."""

    def __init__(self, path: Path, ledger: Path | None = None) -> None:
        """Nothing is opened yet.

        Args:
            path: of the file.
            ledger: the ledger's own file, whose owner the anchors get; None: it has none, and their folder has one.
        """
        self.path = path
        self._ledger = ledger

    def append(self, anchor: Anchor, at: datetime) -> None:
        """Add an anchor; it is on the disk when this returns.

        Raises:
            OSError: it cannot be written.
        """
        handle = self._open_to_append()
        try:
            os.write(handle, f"{at.isoformat(timespec='seconds')} {anchor.text}\n".encode())
            os.fsync(handle)
        finally:
            os.close(handle)

    def _open_to_append(self) -> int:
        """A handle of the file, which is made where it is missing.

        Raises:
            OSError: it cannot be written.
        """
        # O_APPEND and one write: on a file that is append-only (chattr +a) nothing else is allowed, and lines of two
        # processes never mix.
        flags = os.O_WRONLY | os.O_APPEND
        try:
            handle = os.open(self.path, flags | os.O_CREAT | os.O_EXCL, FILE_MODE)
        except FileExistsError:
            return os.open(self.path, flags | os.O_CREAT, FILE_MODE)
        try:
            give_to_owner_of(handle, self.path.parent if self._ledger is None else self._ledger)
        except OSError:
            os.close(handle)
            raise
        return handle

    def last(self) -> Anchor | None:
        """The newest one; None where the file is missing or holds none.

        Raises:
            Untrusted: it is there and cannot be read.
        """
        # From the end: a line comes with every statement, and this is read before every statement. The last that is
        # whole, not the last line: a full disk may have cut that one short.
        return next(find_anchors(reversed(self._tail(TAIL_BYTES))), None)

    def recent(self) -> list[tuple[datetime, Anchor]]:
        """The newest ones with their times, some thousands, the oldest first.

        Raises:
            Untrusted: the file is there and cannot be read.
        """
        lines = ((line.partition(" ")[0], line) for line in self._tail(RECENT_BYTES) if LINE.search(line))
        timed = ((at, line) for at, line in lines if TIME.fullmatch(at))
        return [(datetime.fromisoformat(at), anchor) for at, line in timed for anchor in find_anchors([line])]

    def _tail(self, length: int) -> list[str]:
        """The last lines of the file; the first one may be cut."""
        try:
            with self.path.open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - length))
                return file.read().decode(errors="replace").splitlines()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise Untrusted(
                f"the ledger cannot be trusted, nothing was sent: its anchors {self.path} cannot be read "
                f"({error.strerror})",
                advice=self._how_to_read(),
            ) from error

    def _how_to_read(self) -> str:
        """What makes the file readable; as it is, not even whether it is the ledger's own can be said."""
        beside = self.path.parent if self._ledger is None else self._ledger
        return f"Give it back to the user that runs hotplace: sudo chown --reference={beside} {self.path}"


def anchor_fault(reading: Reading, anchor: Anchor, source: str) -> str:
    """Why the chain is not the one that an anchor speaks of; "" where it is.

    Args:
        reading: of the ledger.
        anchor: what was noted.
        source: where it was noted, for people.
    """
    if hash_of_row(reading, 1) != anchor.ledger:
        return f"{source} speaks of another ledger"
    found = hash_of_row(reading, anchor.row)
    if found is None:
        return f"it has no audit row {anchor.row}, which {source} names: it was cut, or is an older copy"
    if found != anchor.hash:
        return f"audit row {anchor.row} is not the one that {source} names: the chain was rewritten"
    return ""
