"""How a command ends, as a number that scripts can act on."""

from __future__ import annotations

from enum import IntEnum

from agent.config import ConfigError, NothingToSize
from agent.ledger import LedgerBusy, LedgerError, NotFound, Refused
from agent.planning.undo import CannotUndo
from agent.service.httpd import CannotListen
from connectors.base import CannotConnect, DriverMissing, HotplaceError, LeaseHeld, PrivilegeMissing, UnknownEngine
from connectors.settings import SecretUnavailable


class ExitCode(IntEnum):
    """Every exit code; ``meaning`` is what the help shows."""

    meaning: str

    def __new__(cls, value: int, meaning: str) -> ExitCode:
        """Attach the meaning to the number."""
        member = int.__new__(cls, value)
        member._value_ = value
        member.meaning = meaning
        return member

    OK = 0, "done"
    INTERNAL = 1, "a fault of hotplace itself, or an error that has no code of its own"
    USAGE = 2, "the command line is wrong"
    CONFIGURATION = 3, "the configuration is missing or wrong, a secret cannot be read"
    CANNOT_CONNECT = 4, "the database does not answer or refuses the login"
    NOT_ALLOWED = 5, "a privilege or driver is missing, or doctor found an error"
    REFUSED = 6, "refused: expired, another digest, another state, or not confirmed"
    NOT_FOUND = 7, "there is no such proposal, move, unit, pin, space or container"
    MOVE_FAILED = 8, "a move failed"
    BUSY = 9, "another agent has the database, or the address or the ledger is taken"
    LEDGER_UNUSABLE = 10, "the ledger is damaged or cannot be opened or written"
    INTERRUPTED = 130, "interrupted from the keyboard"


# The first class that matches decides, so the narrower ones come first.
_BY_CLASS: tuple[tuple[type[HotplaceError], ExitCode], ...] = (
    (ConfigError, ExitCode.CONFIGURATION),
    (UnknownEngine, ExitCode.CONFIGURATION),
    (NothingToSize, ExitCode.CONFIGURATION),
    (SecretUnavailable, ExitCode.CONFIGURATION),
    (LeaseHeld, ExitCode.BUSY),
    (CannotListen, ExitCode.BUSY),
    (LedgerBusy, ExitCode.BUSY),
    (CannotConnect, ExitCode.CANNOT_CONNECT),
    (PrivilegeMissing, ExitCode.NOT_ALLOWED),
    (DriverMissing, ExitCode.NOT_ALLOWED),
    (NotFound, ExitCode.NOT_FOUND),
    (Refused, ExitCode.REFUSED),
    (CannotUndo, ExitCode.REFUSED),
    (LedgerError, ExitCode.LEDGER_UNUSABLE),
)


class CommandError(HotplaceError):
    """A command cannot do what was asked.

    Attributes:
        code: how the command ends.
    """

    def __init__(self, message: str, *, code: ExitCode, advice: str = "") -> None:
        super().__init__(message, advice=advice)
        self.code = code


def exit_code_of(error: HotplaceError) -> ExitCode:
    """How a command ends that ran into this error."""
    if isinstance(error, CommandError):
        return error.code
    return next((code for kind, code in _BY_CLASS if isinstance(error, kind)), ExitCode.INTERNAL)


def exit_code_table() -> str:
    """Every code with its meaning, one line each, for ``hotplace --help``."""
    return "\n".join(f"{code.value:>3}  {code.meaning}" for code in ExitCode)
