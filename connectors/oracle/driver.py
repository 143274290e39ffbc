"""The driver of Oracle, of either name and mode, and its errors as those of the contract.

``Driver`` is the only place that tells python-oracledb from its predecessor cx_Oracle, and thin mode from thick. Other
code uses what both have: ``connect``, cursors, ``cancel``, the session's names. cx_Oracle always needs Oracle's client
libraries, python-oracledb only in thick mode. Thin mode reaches 12.1 and later. 11.2 needs thick mode with client 19 or
older, and a python-oracledb before 4, which its makers test with that client.

``translate`` turns a driver's error into one of the contract, by ORA- or DPY- number and never by words: 23ai reworded
messages but kept the numbers. Meanings: Oracle error help; python-oracledb appendix on exceptions.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType, TracebackType
from typing import Any, Protocol, Self, cast

from connectors.kit.contract import (
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
from connectors.kit.findings import Remedy
from connectors.kit.registry import install_command
from connectors.oracle.settings import OracleSettings

MODERN, LEGACY = "oracledb", "cx_Oracle"
NO_CALL_LIMIT = "DPI-1050"
_CODE = re.compile(r"\b((?:ORA|DPY|DPI|TNS)-\d{4,5})\b")
_THICK_ADVICE = "Install Oracle Instant Client, name its folder in client_library, or use driver: thin."


class DriverCursor(Protocol):
    """What is used of a cursor (PEP 249)."""

    arraysize: int

    def execute(self, statement: str, values: Mapping[str, object] | None = None, /) -> object:
        """Send one statement, values bound by name."""
        ...

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Every row that is left."""
        ...

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class DriverConnection(Protocol):
    """What is used of a connection, and both drivers have."""

    autocommit: bool
    module: str
    action: str
    client_identifier: str

    def cursor(self) -> DriverCursor:
        """A new cursor."""
        ...

    def rollback(self) -> None:
        """End the transaction."""
        ...

    def cancel(self) -> None:
        """Break the running call; safe from another thread."""
        ...

    def ping(self) -> None:
        """One round trip."""
        ...

    def close(self) -> None:
        """End the session."""
        ...


@dataclass(frozen=True, slots=True)
class Driver:
    """A loaded driver module."""

    module: Any
    thin: bool

    @property
    def error(self) -> type[Exception]:
        """Root of what the driver raises."""
        kind: type[Exception] = self.module.Error
        return kind

    def connect(self, settings: OracleSettings) -> DriverConnection:
        """A new connection; raises what the driver raises, whose cause may hold the arguments."""
        arguments = settings.connect_arguments()
        if self.thin:
            arguments |= settings.network_arguments()
        else:
            arguments["dsn"] = settings.descriptor()
            if settings.authentication != "password" and self.module.__name__ != LEGACY:
                arguments["externalauth"] = True  # of tokens too; cx_Oracle concludes it from there being no user
        return cast(DriverConnection, self.module.connect(**arguments))

    def limit_calls(self, connection: DriverConnection, seconds: float) -> None:
        """Let no round trip last longer; 0 lifts the limit. Set it again for each use: drivers have lost it.

        A client library before 18 cannot (DPI-1050); a mover's own deadline holds there all the same.
        """
        # python-oracledb in thin mode takes the process down where it has dropped the connection after a silent call.
        # What is sent next over a dropped one fails as it should; cx_Oracle has no such question.
        is_healthy = getattr(connection, "is_healthy", None)
        if is_healthy is not None and not is_healthy():
            return
        name = "call_timeout" if hasattr(connection, "call_timeout") else "callTimeout"
        try:
            setattr(connection, name, round(seconds * 1000))
        except self.error as error:
            if code_of(error) != NO_CALL_LIMIT:
                raise


def load_driver(settings: OracleSettings) -> Driver:
    """python-oracledb, or cx_Oracle where only that is installed.

    Raises:
        DriverMissing: there is neither, or thick mode cannot be entered.
    """
    for name in (MODERN, LEGACY):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        if name == LEGACY and settings.authentication == "token":
            raise DriverMissing("cx_Oracle knows no tokens", advice=f"Run: {install_command('oracle')}")
        if name == MODERN and settings.driver == "thick":
            _enter_thick_mode(module, settings)
        return Driver(module=module, thin=name == MODERN and settings.driver == "thin")
    raise DriverMissing(
        "the Oracle driver python-oracledb is not installed", advice=f"Run: {install_command('oracle')}"
    )


def _enter_thick_mode(module: ModuleType, settings: OracleSettings) -> None:
    """Once for the whole process and before its first connection; a second time is harmless."""
    options = {"lib_dir": settings.client_library, "config_dir": settings.config_dir}
    try:
        module.init_oracle_client(**{name: str(value) for name, value in options.items() if value is not None})
    except module.Error as error:
        raise DriverMissing(
            f"thick mode cannot be entered: {words_of(error)}", advice=_THICK_ADVICE, native_code=code_of(error)
        ) from None


def code_of(error: BaseException) -> str:
    """``ORA-00054``, ``DPY-4011`` ...; "" where the driver gives none. Never taken from the text of a message.

    python-oracledb has it as ``full_code``; cx_Oracle has a number, and its own errors only begin their text with one.
    """
    details = error.args[0] if error.args else None
    full = getattr(details, "full_code", "")
    if full:
        return str(full)
    number = getattr(details, "code", 0)
    if number:
        return f"ORA-{int(number):05d}"
    begins = _CODE.match(str(getattr(details, "message", "") or details))
    return begins[1] if begins else ""


def words_of(error: BaseException) -> str:
    """The first line of what the server or driver said."""
    details = error.args[0] if error.args else error
    text = str(getattr(details, "message", "") or details)
    return text.splitlines()[0].strip() if text.strip() else type(error).__name__


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
_VECTOR = (
    "A vector index keeps its table, and its own tables, where they are: drop it, move the table, create it again."
)
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
            *("ORA-14813", "ORA-14469", "ORA-25148", "ORA-28660", "ORA-00997", "ORA-12087", "ORA-12090"),
        ),
    ),
    ((StatementFailed, _VECTOR), ("ORA-51881", "ORA-51947", "ORA-51965")),
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
