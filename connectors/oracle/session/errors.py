"""Turns what the driver raises into the errors of the contract: by ORA- and DPY- number, never by words.

23ai has re-worded messages; numbers stayed. Meanings: Oracle error help, python-oracledb appendix on exceptions.
"""

from __future__ import annotations

from connectors.base import (
    AuthenticationFailed,
    CannotConnect,
    ConnectorError,
    Interrupted,
    LockNotObtained,
    ObjectGone,
    OutcomeUnknown,
    PrivilegeMissing,
    SpaceFull,
    StatementFailed,
    TimedOut,
)
from connectors.findings import Remedy
from connectors.oracle.session.driver import code_of, words_of

CANCELLED = "ORA-01013"
CALL_TIMED_OUT = frozenset({"DPY-4024", "DPI-1067"})
BROKEN = frozenset(
    {
        *("DPY-4011", "DPY-1001", "DPY-4005", "DPI-1010", "DPI-1080"),
        *("ORA-00028", "ORA-00031", "ORA-01012", "ORA-01041", "ORA-01089", "ORA-01092", "ORA-02396"),
        *("ORA-03113", "ORA-03114", "ORA-03135", "ORA-12537", "ORA-12547", "ORA-12570", "ORA-25402", "ORA-25408"),
    }
)
_LOGIN = "Check the user and where its password or token comes from."
_PLACE = "Check host, port and service; lsnrctl services lists them."
_ROOM = "Make room in the target, or choose another space."
_FORM = "The object has changed its kind; plan again."
_QUOTA = "The owner of the object needs it: ALTER USER owner QUOTA UNLIMITED ON target;"
_GONE = "It was dropped or renamed; plan again."
_GRANT = "Run hotplace doctor: it prints the GRANT."
_INDEX = "An online rebuild was interrupted; have a DBA run DBMS_REPAIR.ONLINE_INDEX_CLEAN(object_id)."
_FILE_CODES = ("ORA-01119", "ORA-01276", "ORA-01565", "ORA-27038", "ORA-45906", "ORA-63001")

_Kinds = tuple[type[ConnectorError], str]
_GROUPS: tuple[tuple[_Kinds, tuple[str, ...]], ...] = (
    ((AuthenticationFailed, _LOGIN), ("ORA-01017", "ORA-01005", "ORA-01004", "ORA-28009", "DPY-4001")),
    ((AuthenticationFailed, "The token has expired: whatever writes it has to renew it."), ("DPY-2033",)),
    (
        (AuthenticationFailed, "What token and token_key name is no token of the identity service."),
        ("DPY-2031", "DPY-2032"),
    ),
    ((CannotConnect, "A token travels over TLS only: tcps in the dsn."), ("DPY-2034",)),
    ((AuthenticationFailed, "The account is locked; a DBA unlocks it."), ("ORA-28000",)),
    ((AuthenticationFailed, "The password has expired; set a new one."), ("ORA-28001", "ORA-28002")),
    ((AuthenticationFailed, Remedy("GRANT CREATE SESSION to the user.", "to log in")), ("ORA-01045",)),
    ((AuthenticationFailed, "Its password verifier is too old for thin mode; set the password again."), ("DPY-3015",)),
    ((CannotConnect, _PLACE), ("DPY-6001", "DPY-6003", "DPY-6005", "DPY-4027", "ORA-12514", "ORA-12541", "ORA-12505")),
    ((CannotConnect, "The release is too old for thin mode; use driver: thick with client 19."), ("DPY-3010",)),
    ((CannotConnect, "The server wants native encryption; use tcps, or driver: thick."), ("DPY-3001", "DPY-6000")),
    ((CannotConnect, "The database is starting or stopping; wait."), ("ORA-01033", "ORA-01034", "ORA-12528")),
    ((CannotConnect, "All processes or sessions are in use; wait."), ("ORA-00018", "ORA-00020", "ORA-12516")),
    (
        (LockNotObtained, "Another session uses the object; hotplace tries again later."),
        ("ORA-00054", "ORA-04021", "ORA-04020"),
    ),
    ((LockNotObtained, "Another session moves that data file; hotplace tries again later."), ("ORA-63000",)),
    ((LockNotObtained, "A deadlock was resolved against it; it is tried again later."), ("ORA-00060",)),
    (
        (SpaceFull, _ROOM),
        (
            *("ORA-01652", "ORA-01653", "ORA-01654", "ORA-01658", "ORA-01659", "ORA-01683", "ORA-01688", "ORA-01691"),
            *("ORA-01692", "ORA-01655", "ORA-01630", "ORA-01631", "ORA-01632", "ORA-60001", "ORA-60004", "ORA-60012"),
        ),
    ),
    ((SpaceFull, "Undo is exhausted; move it when less is going on."), ("ORA-30036",)),
    ((SpaceFull, _QUOTA), ("ORA-01536", "ORA-01950")),
    ((PrivilegeMissing, _GRANT), ("ORA-01031", "ORA-41900")),
    ((ObjectGone, _GONE), ("ORA-00942", "ORA-04043", "ORA-01418", "ORA-02149", "ORA-14006", "ORA-14010", "ORA-14251")),
    ((ObjectGone, "There is no such tablespace; plan again."), ("ORA-00959",)),
    ((ObjectGone, "There is no such data file; plan again."), ("ORA-01516",)),
    (
        (StatementFailed, _FORM),
        (
            *("ORA-14044", "ORA-14086", "ORA-14167", "ORA-14257", "ORA-14511", "ORA-14808", "ORA-14810", "ORA-14812"),
            *("ORA-14813", "ORA-14469", "ORA-25148", "ORA-28660", "ORA-51947", "ORA-00997", "ORA-12087", "ORA-12090"),
        ),
    ),
    ((StatementFailed, "The place or the name does not suit the data file; plan again."), _FILE_CODES),
    ((StatementFailed, "A materialized view log by ROWID is broken: refresh its views completely."), ("ORA-12034",)),
    ((StatementFailed, "An index is unusable: rebuild it now, ALTER INDEX ... REBUILD."), ("ORA-01502",)),
    ((StatementFailed, "This edition does not have the feature; plan again."), ("ORA-00439",)),
    ((StatementFailed, _INDEX), ("ORA-08104", "ORA-08106", "ORA-08107", "ORA-08122")),
    ((StatementFailed, "The database is open read-only."), ("ORA-16000", "ORA-01456")),
    (
        (StatementFailed, "Query servers could not start on every instance; look at all of them."),
        ("ORA-12850", "ORA-12801"),
    ),
)
_BY_CODE = {code: kinds for kinds, codes in _GROUPS for code in codes}


def connection_broke(error: BaseException) -> bool:
    """Whether the session itself is gone, so that the outcome of its statement is unknown."""
    return code_of(error) in BROKEN


def translate(error: BaseException, doing: str, *, reading: bool = False) -> ConnectorError:
    """The error of the contract for a statement that failed while its session lives on.

    Args:
        error: from the driver.
        doing: what was tried, to begin the message with; holds no secret.
        reading: a view that is not there for a reader (ORA-00942) is a grant that is not there.
    """
    code = code_of(error)
    kind, advice = _BY_CODE.get(code, (StatementFailed, ""))
    if reading and code == "ORA-00942":
        kind, advice = PrivilegeMissing, _GRANT
    if code in CALL_TIMED_OUT:
        kind, advice = TimedOut, "Raise statement_timeout, or look at what the server is busy with."
    if code == CANCELLED:
        kind, advice = Interrupted, "Ask who cancelled it before trying again."
    return kind(f"{doing}: {words_of(error)}", advice=advice, native_code=code)


def outcome_unknown(error: BaseException, doing: str) -> OutcomeUnknown:
    """The session broke, or stopped answering, under a statement that changes something."""
    # Neither a failure nor a success: the server may still run the statement or have finished it. DDL commits on its
    # own, so a rollback must not be assumed, and only the catalog decides.
    return OutcomeUnknown(
        f"{doing}: the session ended before the server answered ({words_of(error)})",
        advice="The catalog is asked what became of it.",
        native_code=code_of(error),
    )


def no_answer(words: str, where: str) -> CannotConnect:
    """An attempt to connect that was left behind."""
    return CannotConnect(
        f"cannot connect to {where}: {words}", advice="Look at whether the server or the network is stuck."
    )


def cannot_connect(error: BaseException, where: str) -> CannotConnect:
    """A refused or failed connection; of one that the driver itself refuses (DPY-6005) its reason."""
    if error.__cause__ is not None and code_of(error.__cause__) in _BY_CODE:
        error = error.__cause__
    code = code_of(error)
    kind, advice = _BY_CODE.get(code, (CannotConnect, _PLACE))
    if not issubclass(kind, CannotConnect):
        kind = CannotConnect
    return kind(f"cannot connect to {where}: {words_of(error)}", advice=advice, native_code=code)
