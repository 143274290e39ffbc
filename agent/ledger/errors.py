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
      LeaseLost                                    (another agent acts on the database by now)
      Refused -- WrongState, DigestMismatch, ProposalExpired, NotSigned, NotApproved, NotCovered
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import ClassVar

from connectors.base import HotplaceError, Retry


class LedgerError(HotplaceError):
    """The ledger refused. Nothing was written."""


class LedgerMissing(LedgerError):
    """There is no ledger at that path, and none was to be made."""


class LedgerReadOnly(LedgerError):
    """The file or its folder cannot be written; the journal has to be, and SQLite keeps two files next to it."""


class LedgerMoved(LedgerError):
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


class FellBack(Untrusted):
    """The ledger lacks what this agent has sent, as after a failover to an older copy: that is restored first."""

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


def translate_error(path: Path, error: BaseException) -> LedgerError | None:
    """The ledger's own error for one that SQLite raised; None where SQLite does not say more than the original."""
    if not isinstance(error, sqlite3.Error):
        return None
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # extended codes carry the primary one in their low byte
    match code:
        case sqlite3.SQLITE_CONSTRAINT if error.sqlite_errorcode == sqlite3.SQLITE_CONSTRAINT_TRIGGER:
            return LedgerMoved(
                f"nothing was written to the ledger {path}: {error}",
                advice="Name that ledger in the configuration; this one can still be read.",
            )
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return LedgerBusy(
                f"the ledger {path} was locked by another process for too long",
                advice="Try again; if it persists, look for a hotplace that hangs: fuser -v on the file names it.",
            )
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return corrupt(path, str(error))
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return read_only(path, str(error))
        case sqlite3.SQLITE_FULL:
            return LedgerFull(
                f"the ledger {path} could not grow: the disk is full", advice="Make room in its folder, then try again."
            )
        case sqlite3.SQLITE_IOERR:
            return LedgerError(
                f"the ledger {path} could not be read or written: {error}",
                advice="Look at the kernel's log for errors of the disk under it.",
            )
    return None


def corrupt(path: Path, detail: str) -> LedgerCorrupt:
    """The file is damaged or something else."""
    return LedgerCorrupt(
        f"{path} is not a usable ledger: {detail}",
        advice=f"Move it away and restore a backup; or start a new ledger by running: mv {path} {path}.broken",
    )


def read_only(path: Path, detail: str) -> LedgerReadOnly:
    """The file or its folder refuses to be written."""
    return LedgerReadOnly(
        f"the ledger {path} cannot be written: {detail}",
        advice=f"Give the user that runs hotplace the right to write {path} and its folder {path.parent}.",
    )
