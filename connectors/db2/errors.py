"""Turns what the driver raises into the errors of the contract: by SQLCODE, then by SQLSTATE, never by words.

The driver gives one string, ``[IBM][CLI Driver] SQL30081N  ...  SQLSTATE=08001 SQLCODE=-30081``; both codes are at its
end. Codes and states as in IBM's message reference.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from connectors.db2.names import identifier
from connectors.kit.contract import (
    AuthenticationFailed,
    CannotConnect,
    ConnectorError,
    LockNotObtained,
    ObjectGone,
    OutcomeUnknown,
    PrivilegeMissing,
    SpaceFull,
    StatementFailed,
    TimedOut,
)
from connectors.kit.findings import Remedy

_CODE = re.compile(r"SQLCODE\s*=\s*(-?\d+)")
_STATE = re.compile(r"SQLSTATE\s*=\s*([0-9A-Z]{5})")
_NUMBER = re.compile(r"SQL(\d{4,5})[NCW]\b")
_LINK_FAILED = re.compile(r"\bCLI0108E\b")  # the driver's own; it has no SQLCODE
_TLS_FAILED = re.compile(r'"sqlccSSLSocketSetup"')  # the function that SQL30081N names
_NOISE = re.compile(
    r"ibm_db_dbi::\w+:\s*|(?:Statement Execute Failed|Statement Prepare Failed|Binding Error):\s*"
    r"|\[IBM\]\[CLI Driver\](?:\[[^\]]+\])?\s*|(?:(?<!\s)\s+)?(?:SQLSTATE=\w+|SQLCODE=-?\d+)"
)

_TOKENS = re.compile(r'"([^"]*)"')  # of SQL0551N: who, what, of what; in this order in every wording
CANCELLED = -952
NOT_ALLOWED = -551
NO_ROUTINE = -440
MISSING_CODES = frozenset({-204, -440, -443})  # no such table, no such function, a routine that failed inside
_FULL = "Make room in the target, or choose another space."
_AGAIN = "It is tried again later."
_DOCTOR = "Run hotplace doctor: it prints the GRANT."

_BY_CODE: dict[int, tuple[type[ConnectorError], str]] = {
    -911: (LockNotObtained, f"Lock time-out or deadlock. {_AGAIN}"),
    -913: (LockNotObtained, f"Lock time-out or deadlock. {_AGAIN}"),
    CANCELLED: (TimedOut, "Raise query_timeout or move_timeout, or look at what the server is busy with."),
    -289: (SpaceFull, _FULL),
    -968: (SpaceFull, _FULL),
    -20170: (SpaceFull, "The other containers end below the high-water mark: lower it, or add a container first."),
    -964: (StatementFailed, "The transaction log is full: raise logsecond, or move it when less is going on."),
    -290: (StatementFailed, "The table space is in a state that allows no access: see LIST TABLESPACES SHOW DETAIL."),
    -551: (PrivilegeMissing, _DOCTOR),
    -552: (PrivilegeMissing, _DOCTOR),
    -1092: (PrivilegeMissing, "This needs membership of the instance's SYSCTRL_GROUP; see doctor."),
    -204: (ObjectGone, "It was dropped or renamed; plan again."),
    -440: (ObjectGone, "This version has no such routine, or this login may not execute it; see doctor."),
    -284: (StatementFailed, "INDEX IN and LONG IN take no SMS table space: plan again."),
    -285: (StatementFailed, "Of a table in an SMS table space everything is there: plan again."),
    -2032: (StatementFailed, "With blocknonlogged a LOAD has to leave a copy: set load_copy_to, and plan again."),
    -478: (StatementFailed, "A function uses a view of it: UPDATE DB CFG USING AUTO_REVAL DEFERRED, then again."),
    -668: (
        StatementFailed,
        "The table is restricted: reason 7 asks for REORG TABLE, 3 for LOAD ... TERMINATE, 1 and 10 for SET INTEGRITY.",
    ),
    -1477: (StatementFailed, "The table is not available: restore it, or drop it."),
    -2103: (
        StatementFailed,
        "ADMIN_MOVE_TABLE does not move such a table (reason 6: row protection): move its table space instead.",
    ),
    -2104: (
        StatementFailed,
        "ADMIN_MOVE_TABLE does not move this table; see the reason code in the message reference.",
    ),
    -2105: (StatementFailed, "An earlier move of this table is unfinished: CANCEL it, as the one who began it."),
    -30082: (AuthenticationFailed, "Check the user, where its password comes from, and authentication."),
    -1060: (AuthenticationFailed, Remedy("GRANT CONNECT ON DATABASE to this user.", "to log in")),
    -1013: (CannotConnect, "Check dbname; LIST DATABASE DIRECTORY shows them on the server."),
    -1598: (CannotConnect, "This server needs a Db2 Connect licence; Db2 for Linux, UNIX and Windows does not."),
    -20576: (CannotConnect, "The server's certificate is not for this host: name the host as the certificate does."),
    -30081: (CannotConnect, "Check host and port, and that the instance listens (db2set DB2COMM=TCPIP)."),
}
_PROCEDURE = "ADMIN_MOVE_TABLE"
# There are two of it, so a GRANT has to say which (else SQL0476N): its eleven types, whatever their lengths.
_ELEVEN = f"({', '.join(['VARCHAR()'] * 11)})"
_MOVES = "moves of every table that it may alter, by the server's own procedure"
_MOVING_GRANT = Remedy(
    f"GRANT EXECUTE ON PROCEDURE SYSPROC.{_PROCEDURE} {_ELEVEN} TO the login that moves; see db2-move.sql", _MOVES
)
# What rights give away, as remedies say it.
EXECUTE_GIVES = "what {} tells of the whole database, its statements and objects included"
SELECT_GIVES = "what {} shows of all objects"
_GRANTS = {
    "SELECT": "GRANT SELECT ON {of} TO USER {who}",
    "EXECUTE": "GRANT EXECUTE ON {routine} {of} TO USER {who}",
}
_BY_STATE: dict[str, tuple[type[ConnectorError], str]] = {
    "40001": _BY_CODE[-911],
    "57033": _BY_CODE[-913],
    "57014": _BY_CODE[CANCELLED],
    "42501": _BY_CODE[-551],
    "42704": _BY_CODE[-204],
    "42884": _BY_CODE[-440],
}
_DISTRUST = "Check server_certificate (or keystore): it has to be the server's own, or of who signed it; and the port."
_NO_FILE = "Check the path of server_certificate or keystore, and that hotplace may read it."
_FILE_STATE = "HY507"  # the driver's own, of a file that it cannot open
_BROKEN_CODES = frozenset({-1024, -1224, -1229, -1034, -20542, -30020, -30080, -30081, -30108})
_BROKEN_STATES = ("08", "40003")  # a class, and "completion unknown" as CLI has it


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What the driver's string says."""

    code: int  # 0: none
    state: str
    words: str  # on one line, without the driver's brackets and codes
    link_failed: bool = False  # CLI0108E
    tls_failed: bool = False  # the server answered, and no TLS came of it

    @property
    def native(self) -> str:
        """The code as the contract's ``native_code``."""
        return str(self.code) if self.code else self.state

    @property
    def broke(self) -> bool:
        """The session is lost, so the outcome of its statement is unknown."""
        return (
            self.code in _BROKEN_CODES or self.link_failed or (not self.code and self.state.startswith(_BROKEN_STATES))
        )


def diagnose(text: str) -> Diagnosis:
    """Read the driver's string."""
    code, state, number = _CODE.search(text), _STATE.search(text), _NUMBER.search(text)
    # The code stands in the text only: the driver's exceptions have neither code nor state as attributes.
    known = int(code[1]) if code else -int(number[1]) if number else 0
    words = " ".join(_NOISE.sub(" ", text).split())
    return Diagnosis(
        known,
        state[1] if state else "",
        words,
        _LINK_FAILED.search(text) is not None,
        _TLS_FAILED.search(text) is not None,
    )


def diagnosis_of(error: BaseException) -> Diagnosis:
    """Read an error of the driver, or the one beneath it that has a code.

    A connection that ends in a COMMIT comes as ``SystemError: <built-in function commit> returned a result with an
    exception set``, and what Db2 said is the cause of that.
    """
    found = diagnose(str(error))
    beneath = error.__cause__ or error.__context__
    if found.native or found.broke or beneath is None:
        return found
    below = diagnosis_of(beneath)
    return below if below.native or below.broke else found


def translate(found: Diagnosis, doing: str) -> ConnectorError:
    """The error of the contract for a statement that failed while its session lives on.

    Args:
        found: from ``diagnose``.
        doing: what was tried, to begin the message with; holds no secret.
    """
    kind, advice = _BY_CODE.get(found.code) or _BY_STATE.get(found.state) or (StatementFailed, "")
    if found.code == NO_ROUTINE and _PROCEDURE in found.words:
        kind, advice = PrivilegeMissing, _MOVING_GRANT  # every version has it
    if found.code == NOT_ALLOWED:
        advice = _grant(found.words) or advice
    return kind(f"{doing}: {found.words}", advice=advice, native_code=found.native)


def _grant(words: str) -> str:
    """The GRANT that SQL0551N asks for; "" where it does not say, or it is about something that is changed."""
    tokens = _TOKENS.findall(words)
    if len(tokens) < len(("who", "what", "of what")) or tokens[1] not in _GRANTS:
        return ""
    who, what, of = tokens[:3]
    moves = of.endswith(_PROCEDURE) and what == "EXECUTE"  # its protocol is a table of that name
    routine, signature = ("PROCEDURE", f" {_ELEVEN}") if moves else ("FUNCTION", "")
    gives = _MOVES if moves else (EXECUTE_GIVES if what == "EXECUTE" else SELECT_GIVES).format(of)
    return Remedy(_GRANTS[what].format(of=f"{of}{signature}", who=identifier(who), routine=routine), gives)


def outcome_unknown(found: Diagnosis, doing: str) -> OutcomeUnknown:
    """The session broke under a statement that changes something."""
    # Neither a failure nor a success: the server may have committed before the link broke. Sending it again could copy
    # twice or undo what arrived, so only the catalog decides.
    return OutcomeUnknown(
        f"{doing}: the session ended before the server answered ({found.words})",
        advice="The catalog is asked what became of it.",
        native_code=found.native,
    )


def cannot_connect(found: Diagnosis, where: str) -> CannotConnect:
    """A refused or failed connection."""
    kind, advice = _BY_CODE.get(found.code, (CannotConnect, "Check host and port, and that the server runs."))
    if not issubclass(kind, CannotConnect):
        kind = CannotConnect
    if found.tls_failed or found.state == _FILE_STATE:
        advice = _DISTRUST if found.tls_failed else _NO_FILE
    return kind(f"cannot connect to {where}: {found.words}", advice=advice, native_code=found.native)
