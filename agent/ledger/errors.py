"""What can go wrong with the ledger, each with the file or server and the next step.

::

    LedgerError
      LedgerMissing, LedgerReadOnly, LedgerTooNew, LedgerMoved
      LedgerCorrupt                                (the file is no ledger, or no longer a whole one)
      LedgerBusy, LedgerFull, LedgerUnreachable    (nothing was written; the same call may succeed later)
      NotFound                                     (also a LookupError)
      ProposalTampered                             (a stored proposal is not what was stored)
      Untrusted                                    (chain, anchors, approvals and moves do not agree)
        FellBack                                   (an older copy, which lacks what this agent has sent)
      Stopped                                      (a person has stopped all that is sent)
      LeaseLost                                    (another agent acts on the database by now)
      Refused -- WrongState, DigestMismatch, ProposalExpired, NotSigned, NotApproved, NotCovered
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar, Protocol

from connectors.kit.contract import HotplaceError, Retry


class LedgerError(HotplaceError):
    """The ledger refused. Nothing was written."""


class LedgerMissing(LedgerError):
    """There is no ledger at that path, and none was to be made."""


class LedgerReadOnly(LedgerError):
    """The file or its folder cannot be written; the journal has to be, and SQLite keeps two files next to it."""


class LedgerMovedAway(LedgerError):
    """What was in this ledger is in another one by now, or is still on its way into this one."""


class LedgerTooNew(LedgerError):
    """A newer hotplace wrote this ledger."""


class LedgerCorrupt(LedgerError):
    """The file is not a ledger, or is damaged."""


class LedgerUnreachable(LedgerError):
    """The server that holds the ledger does not answer, or refuses the login."""

    retry: ClassVar[Retry] = Retry.LATER


class LedgerBusy(LedgerError):
    """Another process kept the write lock for longer than the busy timeout."""

    retry: ClassVar[Retry] = Retry.LATER


class LedgerFull(LedgerError):
    """The file system under the ledger has no room left."""

    retry: ClassVar[Retry] = Retry.LATER


class NotFound(LedgerError, LookupError):
    """The ledger has nothing by that number."""


class ProposalTampered(LedgerError):
    """The stored text of a proposal no longer has the digest it was stored with."""


class Untrusted(LedgerError):
    """The audit chain, its anchors and what the ledger holds of a move do not agree: no statement is sent."""


class Spoiled(Untrusted):
    """The chain is whole, but holds a row about this proposal that no honest writer wrote: of it nothing is sent."""


class FellBack(Untrusted):
    """The ledger lacks what this agent has sent, as after a failover to an older copy: that is restored first."""

    retry: ClassVar[Retry] = Retry.LATER


class Stopped(LedgerError):
    """A person has stopped all that is sent to a database: no statement is, until that is lifted."""

    retry: ClassVar[Retry] = Retry.LATER


class LeaseLost(LedgerError):
    """Another agent has taken the lease of the database since: its token is the newer one, and only it may write."""

    retry: ClassVar[Retry] = Retry.LATER


class Refused(LedgerError):
    """The ledger is well and says no."""


class WrongState(Refused):
    """The proposal, move or step is no longer (or not yet) where this may be done."""


class DigestMismatch(Refused):
    """The digest given is not that of the stored proposal: it is not what the person looked at."""


class ProposalExpired(Refused):
    """The proposal was too old to be approved."""


class NotSigned(Refused):
    """An approval needs a signature that was not given, or that does not count."""


class NotApproved(Refused):
    """A move or statement that no approval covers was about to run."""


class NotCovered(Refused):
    """No standing rule covers the proposal now."""


# Nothing was written; what can wait is kept until the ledger takes it.
AWAY = (LedgerUnreachable, LedgerBusy, LedgerFull)


class WrongKind(ValueError):
    """What is stored in a column is not what it holds: no instant, no number, no text.

    Attributes:
        table: of the row; "": not known.
        key: columns of its primary key with their values.
    """

    def __init__(self, detail: str, table: str = "", key: Mapping[str, object] = MappingProxyType({})) -> None:
        """Arguments as the attributes, after what is wrong."""
        super().__init__(detail)
        self.table = table
        self.key = key


class Keeper(Protocol):
    """Where rows are stored."""

    def corrupt(self, detail: str, table: str = "", **key: object) -> LedgerCorrupt:
        """The error that says that something stored is damaged."""
        ...


@contextmanager
def readable(keeper: Keeper, table: str, what: str = "", **key: object) -> Iterator[None]:
    """Within, a stored row is taken apart: what no writer writes is damage.

    Args:
        keeper: where the row is stored.
        table: of the row.
        what: the row in words, where its key is no number.
        key: columns of its primary key with their values.

    Raises:
        LedgerCorrupt: a value of the row is of another kind, or no JSON, or not one of those there are.
    """
    try:
        yield
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError) as error:
        said = f"{error!s:.200}" if isinstance(error, ValueError) else f"{type(error).__name__}: {error!s:.200}"
        raise keeper.corrupt(f"{what}: {said}" if what else said, table, **key) from error


# How SQLite and its driver say that a schema, a header or a text is not what was written; these have no code of their
# own. Our statements are fixed: a table or column that one of them misses was there.
LEAST_ROOM_BYTES = 64 * 1024  # in a folder: with less SQLite cannot even map the index of its journal
_DAMAGED = re.compile(
    "no such (?:table|column|index|collation|function|module)|has no column|unsupported file format|malformed|"
    "Could not decode to UTF-8|datatype mismatch"
)


def find_no_place(path: Path) -> str:
    """Nothing is known of where a file is damaged."""
    del path
    return ""


def translate_error(
    path: Path, error: BaseException, find_place: Callable[[Path], str] = find_no_place
) -> LedgerError | None:
    """The ledger's own error for one that SQLite raised; None where SQLite does not say more than the original.

    Args:
        path: of the file.
        error: whatever was raised.
        find_place: where a file is damaged, once it is.
    """
    if isinstance(error, UnicodeDecodeError) or (isinstance(error, sqlite3.Error) and _DAMAGED.search(str(error))):
        said = str(error).partition(" with text")[0]  # the text itself is private
        return corrupt(path, said, find_place(path))
    if not isinstance(error, sqlite3.Error):
        return None
    if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_IOERR_SHORT_READ:
        return corrupt(path, "it is shorter than it says", find_place(path))
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # extended codes carry the primary one in their low byte
    match code:
        case sqlite3.SQLITE_CONSTRAINT if error.sqlite_errorcode == sqlite3.SQLITE_CONSTRAINT_TRIGGER:
            return LedgerMovedAway(
                f"nothing was written to the ledger {path}: {error}",
                advice="Name that ledger in the configuration; this one can still be read.",
            )
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return LedgerBusy(
                f"the ledger {path} was locked by another process for too long",
                advice="Try again; if it persists, look for a hotplace that hangs: fuser -v on the file names it.",
            )
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return corrupt(path, str(error), find_place(path))
        # An index that has lost a row, or a length that cannot be: else it is what SQLite says, and ours.
        case sqlite3.SQLITE_CONSTRAINT | sqlite3.SQLITE_TOOBIG | sqlite3.SQLITE_NOMEM if place := find_place(path):
            return corrupt(path, str(error), place)
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return read_only(path, str(error))
        case sqlite3.SQLITE_FULL | sqlite3.SQLITE_IOERR if code == sqlite3.SQLITE_FULL or _is_disk_full(path):
            return LedgerFull(
                f"the ledger {path} could not grow: the disk is full", advice="Make room in its folder, then try again."
            )
        case sqlite3.SQLITE_IOERR:
            return LedgerError(
                f"the ledger {path} could not be read or written: {error}",
                advice="Look at the kernel's log for errors of the disk under it, and at quotas there.",
            )
    return None


def _is_disk_full(path: Path) -> bool:
    """Whether its folder has no room left: SQLite has an I/O error then where it maps a file or extends its journal."""
    try:
        found = os.statvfs(path.parent)
    except OSError:
        return False
    return found.f_bavail * found.f_frsize < LEAST_ROOM_BYTES


def corrupt(path: Path, detail: str, place: str = "") -> LedgerCorrupt:
    """The file is damaged, at a place that may be known, or something else."""
    return LedgerCorrupt(
        f"{path} is not a usable ledger: {f'{place}: ' if place else ''}{detail}",
        advice=f"Move it away and restore a backup; or start a new ledger by running: mv {path} {path}.broken, and the "
        "same with its anchors",
    )


def read_only(path: Path, detail: str) -> LedgerReadOnly:
    """The file or its folder refuses to be written."""
    return LedgerReadOnly(
        f"the ledger {path} cannot be written: {detail}",
        advice=f"Give the user that runs hotplace the right to write {path} and its folder {path.parent}.",
    )
