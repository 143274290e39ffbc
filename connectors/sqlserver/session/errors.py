"""Turns what pyodbc raises into the errors of the contract.

By the server's own number, because drivers disagree on the SQLSTATE, and never by the words of a message.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import pyodbc

from connectors.base import (
    AuthenticationFailed,
    CannotConnect,
    ConnectorError,
    DriverMissing,
    Interrupted,
    LockNotObtained,
    ObjectGone,
    OutcomeUnknown,
    PrivilegeMissing,
    SpaceFull,
    StatementFailed,
    TimedOut,
)

TIMED_OUT, CANCELLED = "HYT00", "HY008"  # SQLSTATEs that the drivers make themselves
NO_SUCH_DRIVER = frozenset({"IM002", "IM003", "IM004"})  # of the driver manager: unknown name, not loaded, not set up
LIBRARY_NOT_OPENED = "01000"  # of unixODBC, without a number; FreeTDS gives it to errors of its own, which have one
GONE_OR_FORBIDDEN = frozenset({1088, 3701, 4902, 15151})  # the server will not say which
NOTHING_TO_PAUSE = frozenset({10638, 10641})  # no such build, or it does not run

_LATER = "Another session uses the object; hotplace tries again later."
_PLAN = "The table or index is not what it was when this was planned; plan again."
_FALL_BACK = "This edition or version cannot do it that way; take another route."
_GRANT = "Run hotplace doctor: it prints the GRANT."
_GONE = "It was dropped or renamed; plan again."
_LOGIN = "Check the user and where its password comes from."
_DRIVER = (
    "Install that driver, or set driver to one that odbcinst -q -d lists or to a library's path: Microsoft's "
    "msodbcsql18, or FreeTDS (Debian: tdsodbc), which wants encrypt: no or trust_server_certificate."
)
_ROOM = "Make room in the target, or choose another filegroup."

Meaning = tuple[type[ConnectorError], str]


def _all(numbers: tuple[int, ...], kind: type[ConnectorError], advice: str) -> dict[int, Meaning]:
    return dict.fromkeys(numbers, (kind, advice))


_BY_NUMBER: dict[int, Meaning] = {
    **_all((18456, 18452, 18470, 18487, 18488), AuthenticationFailed, _LOGIN),
    **_all((4060, 911, 916), CannotConnect, "Check database, and that the login has a user in it."),
    **_all((40613, 976, 978, 983, 17142, 921, 922), CannotConnect, "The database is not open here now; wait."),
    **_all((1222, 1912, 49516, 10666), LockNotObtained, _LATER),
    **_all((1205, 10660), LockNotObtained, "A deadlock was resolved against this statement; it is tried again later."),
    **_all((1101, 1105), SpaceFull, _ROOM),
    9002: (SpaceFull, "Back up the log or let it grow; an online build keeps it from being truncated."),
    **_all((229, 230, 262, 297, 300, 371, 2571, 5011, 15247, 11423), PrivilegeMissing, _GRANT),
    **_all((208, 1911, 1921, 2501, 7999, 15225), ObjectGone, _GONE),
    **_all((1907, 1922, 1924, 1925, 1930, 1968, 1979, 1996, 10637), StatementFailed, _PLAN),
    **_all((1712, 2725, 10633, 10635, 10639, 10644, 10665, 10679, 10681, 11905), StatementFailed, _FALL_BACK),
    **_all(
        (823, 824, 825), StatementFailed, "The disk returned a damaged page: run DBCC CHECKDB before anything else."
    ),
    5123: (StatementFailed, "Make the folder on the server, and let its service account write there."),
    5042: (StatementFailed, "Something went into the file again; empty it once more."),
    3906: (StatementFailed, "The database is read-only here: a secondary replica; connect to the primary."),
}
# Killed or shut down; from 20000 on FreeTDS' own: read, write, end of file, bad token, dead process.
_SESSION_ENDED = frozenset({596, 6005, 6006, 10053, 10054, 20003, 20004, 20006, 20017, 20020, 20047})
_NUMBER = re.compile(r"\((-?\d+)\)(?: \(SQL\w+\))?(?=;|$)")
_TEXT = re.compile(r"^(?:\[[^\]]*\]\s*)+")


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What a driver said: SQLSTATE, the server's numbers in order, and the server's words on one line."""

    state: str
    numbers: tuple[int, ...]
    words: str

    @property
    def number(self) -> int:
        """The number that means something to us, else the first one, else 0."""
        known = (n for n in self.numbers if n in _BY_NUMBER or n in GONE_OR_FORBIDDEN)
        return next(known, self.numbers[0] if self.numbers else 0)

    @property
    def code(self) -> str:
        """For ``ConnectorError.native_code``."""
        return str(self.number) if self.number else self.state


def diagnose(error: pyodbc.Error) -> Diagnosis:
    """Take a driver's error apart.

    pyodbc gives ``(state, "[state] [vendor]...message (number) (function); [state] ... (number)")``.
    """
    state = str(error.args[0]) if error.args else ""
    text = " ".join(str(error.args[1]).split()) if len(error.args) > 1 else str(error)
    numbers = tuple(int(found) for found in _NUMBER.findall(text) if int(found) > 0)
    return Diagnosis(state, numbers, _TEXT.sub("", text))


def connection_broke(seen: Diagnosis) -> bool:
    """Whether the session is lost, so that the outcome of its statement is unknown."""
    if seen.state in {TIMED_OUT, CANCELLED}:
        return False
    if seen.state == "HY000" and not seen.numbers:
        return True  # FreeTDS of a session that ended while it was idle; whatever a server says has a number
    return seen.state.startswith("08") or any(number in _SESSION_ENDED for number in seen.numbers)


def translate(seen: Diagnosis, doing: str) -> ConnectorError:
    """The error of the contract for a statement that failed while its session lives on.

    Args:
        seen: from ``diagnose``.
        doing: what was tried, to begin the message with; holds no secret.
    """
    kind, advice = _BY_NUMBER.get(seen.number, (StatementFailed, ""))
    if seen.number in GONE_OR_FORBIDDEN:
        kind, advice = PrivilegeMissing, f"It does not exist, or this login may not alter it. {_GRANT}"
    if seen.state == TIMED_OUT:
        kind, advice = TimedOut, "Raise statement_timeout, or look at what the server is busy with."
    if seen.state == CANCELLED:
        kind, advice = Interrupted, "Ask who cancelled it before trying again."
    return kind(f"{doing}: {seen.words}", advice=advice, native_code=seen.code)


def object_gone(seen: Diagnosis, doing: str) -> ObjectGone:
    """For one of ``GONE_OR_FORBIDDEN`` when the object is not there any more."""
    return ObjectGone(f"{doing}: {seen.words}", advice=_GONE, native_code=seen.code)


def outcome_unknown(seen: Diagnosis, doing: str) -> OutcomeUnknown:
    """The session broke under a statement that changes something."""
    # Neither a failure nor a success: the server may have finished it before the link broke, or still run it. Sending
    # it again could build the index twice, so only the catalog decides.
    return OutcomeUnknown(
        f"{doing}: the session ended before the server answered ({seen.words})",
        advice="The catalog is asked what became of it.",
        native_code=seen.code,
    )


def cannot_connect(seen: Diagnosis, where: str) -> CannotConnect | DriverMissing:
    """A refused or failed connection, or no driver to try it with; the driver's words never hold the password."""
    if seen.state in NO_SUCH_DRIVER or (seen.state == LIBRARY_NOT_OPENED and not seen.numbers):
        return DriverMissing(f"cannot connect to {where}: {seen.words}", advice=_DRIVER, native_code=seen.code)
    kind, advice = _BY_NUMBER.get(seen.number, (CannotConnect, "Check host and port, and that the server runs."))
    if seen.state == "28000":
        kind, advice = AuthenticationFailed, _LOGIN
    if not issubclass(kind, CannotConnect):
        kind = CannotConnect
    return kind(f"cannot connect to {where}: {seen.words}", advice=advice, native_code=seen.code)
