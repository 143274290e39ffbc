"""What the driver's strings become."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from connectors.db2.errors import cannot_connect, diagnose, diagnosis_of, outcome_unknown, translate
from connectors.db2.sessions import NO_SUCH_NAME, DriverError, ReadSession, execute_missing, fetch, query
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
from tests.db2.facts import SETTINGS

ELEVEN = f"({', '.join(['VARCHAR()'] * 11)})"
LOCK = (
    "ibm_db_dbi::ProgrammingError: Statement Execute Failed: [IBM][CLI Driver][DB2/LINUXX8664] SQL0911N  The current "
    'transaction has been rolled back because of a deadlock or timeout.  Reason code "68".  SQLSTATE=40001 SQLCODE=-911'
)


def test_codes_and_words() -> None:
    """The codes are at the end, the words are what a person reads."""
    found = diagnose(LOCK)
    assert (found.code, found.state) == (-911, "40001")
    assert found.words.startswith("SQL0911N The current transaction has been rolled back")
    assert "IBM" not in found.words
    assert "SQLCODE" not in found.words


@pytest.mark.parametrize(
    ("code", "state", "kind"),
    [
        (-911, "40001", LockNotObtained),
        (-913, "57033", LockNotObtained),
        (-952, "57014", TimedOut),
        (-289, "57011", SpaceFull),
        (-968, "57011", SpaceFull),
        (-20170, "57059", SpaceFull),
        (-964, "57011", StatementFailed),
        (-290, "55039", StatementFailed),
        (-551, "42501", PrivilegeMissing),
        (-1092, "00000", PrivilegeMissing),
        (-204, "42704", ObjectGone),
        (-2104, "5UA0M", StatementFailed),
        (-104, "42601", StatementFailed),
    ],
)
def test_by_code(code: int, state: str, kind: type[ConnectorError]) -> None:
    """By SQLCODE first: a full log and a full table space share their SQLSTATE."""
    error = translate(diagnose(f"[IBM][CLI Driver] SQL{-code:04}N x SQLSTATE={state} SQLCODE={code}"), "moving")
    assert type(error) is kind
    assert error.native_code == str(code)
    assert str(error).startswith("moving: ")


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (
            '"ME" does not have the required authorization to perform operation "SELECT" on object "SYSCAT.T".',
            'GRANT SELECT ON SYSCAT.T TO USER "ME"',
        ),
        (
            'The statement failed. Authorization ID: "ME". Operation: "EXECUTE". Object: "SYSPROC.MON_GET_TABLE".',
            'GRANT EXECUTE ON FUNCTION SYSPROC.MON_GET_TABLE TO USER "ME"',
        ),
        (
            '"ME" lacks "EXECUTE" on "SYSPROC.ADMIN_MOVE_TABLE".',
            f'GRANT EXECUTE ON PROCEDURE SYSPROC.ADMIN_MOVE_TABLE {ELEVEN} TO USER "ME"',
        ),
        ('"ME" lacks "INSERT" on "APP.T".', "Run hotplace doctor: it prints the GRANT."),
        ("no names", "Run hotplace doctor: it prints the GRANT."),
    ],
)
def test_a_missing_right_names_its_grant(words: str, advice: str) -> None:
    """Whoever may not even connect far enough for doctor reads the GRANT in the error; by its quoted words alone."""
    error = translate(diagnose(f"[IBM][CLI Driver] SQL0551N  {words} SQLSTATE=42501 SQLCODE=-551"), "looking")
    assert type(error) is PrivilegeMissing
    assert error.advice == advice


def test_by_state_where_there_is_no_known_code() -> None:
    """Another code with a known state is what the state says."""
    assert type(translate(diagnose("SQL0969N x SQLSTATE=42501 SQLCODE=-969"), "x")) is PrivilegeMissing


@pytest.mark.parametrize("code", [-1024, -1224, -20542, -30081, -30108])
def test_broken_sessions(code: int) -> None:
    """Nobody knows what became of a statement whose session is gone, rerouted ones included."""
    found = diagnose(f"SQL{-code}N x SQLSTATE=08001 SQLCODE={code}")
    assert found.broke
    assert outcome_unknown(found, "moving").advice


@pytest.mark.parametrize(
    "text",
    [
        "[IBM][CLI Driver] CLI0108E  Communication link failure. SQLSTATE=40003 SQLCODE=-99999",
        "[IBM][CLI Driver] CLI0106E  Connection is closed. SQLSTATE=08003",
        "[IBM][CLI Driver][DB2/LINUXX8664] SQL20542N  A communication error. SQLSTATE=08506 SQLCODE=-20542",
    ],
)
def test_what_the_driver_itself_says_of_a_lost_link(text: str) -> None:
    """CLI0108E and SQL20542N are what it says where it does not reconnect: the outcome is unknown then too."""
    assert diagnose(text).broke


HIDDEN = "<built-in function commit> returned a result with an exception set"


@pytest.mark.parametrize(
    "text",
    [f"{LOCK.replace('911', '30108')}", "[IBM][CLI Driver] CLI0108E  Communication link failure. SQLSTATE=40003"],
)
def test_a_connection_that_ends_in_its_commit_leaves_the_outcome_unknown(text: str) -> None:
    """The driver says of it that a function was wrong; what the server said is beneath."""
    from connectors.db2.mover import _send

    class Ending:
        """A connection that is lost once it is to commit."""

        def cursor(self) -> Any:
            """One that answers everything."""
            return SimpleNamespace(execute=lambda *_: None, fetchmany=lambda _: [], close=lambda: None)

        def commit(self) -> None:
            """As ibm_db_dbi raises it."""
            try:
                try:
                    raise Exception(text)  # noqa: TRY002, TRY301  # as the driver does
                except Exception as said:
                    raise SystemError(HIDDEN) from said
            except SystemError as error:
                raise DriverError(f"SystemError('{error}')")  # noqa: B904  # as the driver does

        def rollback(self) -> None:
            """Of nothing."""

    lost: Any = Ending()
    with pytest.raises(OutcomeUnknown, match="the session ended before the server answered"):
        _send(lost, "ALTER TABLESPACE", "moving")


def test_an_error_without_any_code_is_no_refusal() -> None:
    """What the driver says of itself stays, and the catalog is to be asked."""
    found = diagnosis_of(DriverError(HIDDEN))
    assert (found.native, found.broke, found.words) == ("", False, HIDDEN)


def test_a_failed_statement_is_no_broken_session() -> None:
    """A lock time-out leaves the session alone."""
    assert not diagnose(LOCK).broke


@pytest.mark.parametrize(
    ("code", "kind"),
    [(-30082, AuthenticationFailed), (-30081, CannotConnect), (-1598, CannotConnect), (-551, CannotConnect)],
)
def test_connections(code: int, kind: type[ConnectorError]) -> None:
    """Only a refused login is one; whatever else happens is a failed connection."""
    assert type(cannot_connect(diagnose(f"SQL{-code}N x SQLCODE={code}"), "u@h:1/D")) is kind


def test_a_move_that_may_not_be_called_names_its_grant() -> None:
    """SQL0440N of ADMIN_MOVE_TABLE: every version has it, so EXECUTE is missing, on the form that is called."""
    words = 'No authorized routine named "SYSPROC.ADMIN_MOVE_TABLE" of type "PROCEDURE" was found.'
    error = translate(diagnose(f"[IBM][CLI Driver] SQL0440N  {words} SQLSTATE=42884 SQLCODE=-440"), "moving")
    assert type(error) is PrivilegeMissing
    assert error.advice.startswith(f"GRANT EXECUTE ON PROCEDURE SYSPROC.ADMIN_MOVE_TABLE {ELEVEN} ")


@pytest.mark.parametrize(
    ("forms", "advice"),
    [
        (["F1"], 'GRANT EXECUTE ON FUNCTION SYSPROC.MON_GET_TABLE TO USER "ME"'),
        (
            ["F1", "F2"],
            (
                'GRANT EXECUTE ON SPECIFIC FUNCTION SYSPROC.F1 TO USER "ME"; '
                'GRANT EXECUTE ON SPECIFIC FUNCTION SYSPROC.F2 TO USER "ME"'
            ),
        ),
    ],
)
def test_a_function_of_several_forms_is_granted_by_each(forms: list[str], advice: str) -> None:
    """A GRANT by a name that several have would be SQL0476N."""
    error = ObjectGone("sampling: no authorized routine", native_code="-440")
    found = execute_missing(error, "MON_GET_TABLE", forms, "me")
    assert (found.advice, found.native_code) == (advice, "-440")
    assert "may not execute" in str(found)


class Answers:
    """A cursor whose fetch raises."""

    description: Any = None

    def __init__(self, error: Exception) -> None:
        self.error = error

    def execute(self, *_: object) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""

    def fetchmany(self, _: int) -> list[Any]:
        """Raise."""
        raise self.error


@pytest.mark.parametrize(
    ("raised", "seen"),
    [(Exception("SQL30108N  A connection failed."), DriverError), (TypeError("ours"), TypeError)],
)
def test_a_plain_exception_of_the_driver_is_an_error_of_the_driver(raised: Exception, seen: type[Exception]) -> None:
    """ibm_db raises Exception itself while fetching; a fault of our own stays one."""
    connection: Any = SimpleNamespace(cursor=lambda: Answers(raised))
    with pytest.raises(seen, match=str(raised)):
        fetch(connection, "SELECT 1")


def test_a_probe_names_no_table() -> None:
    """ADMIN_GET_TAB_INFO('', '') would look at every table of the database, only to tell the names of its columns."""
    bound: list[object] = []

    class Probed(Answers):
        description = (("DATA_OBJECT_L_SIZE",),)

        def execute(self, *asked: object) -> None:
            bound.extend(asked[1:])

    session = ReadSession(SETTINGS)
    connection: Any = SimpleNamespace(cursor=lambda: Probed(Exception()))
    assert session._columns_of(connection, query("object_sizes")) == {"DATA_OBJECT_L_SIZE"}
    assert bound == [(NO_SUCH_NAME, NO_SUCH_NAME)]
    assert NO_SUCH_NAME.strip()
