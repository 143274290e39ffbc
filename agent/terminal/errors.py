"""How a command ends: exit codes, its errors, and files that it writes for people.

The error of a command that cannot do what was asked, and the exit code of every error.

Files that a command writes for people: a page, a picture, a table, a configuration.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from pathlib import Path

from connectors.kit.contract import HotplaceError


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
    REFUSED = 6, "refused or not stored: expired, another digest or state, not confirmed"
    NOT_FOUND = 7, "there is no such proposal, move, unit, pin, space or container"
    MOVE_FAILED = 8, "a move failed"
    BUSY = 9, "another agent has the database, or the address or the ledger is taken"
    LEDGER_UNUSABLE = 10, "the ledger is damaged or cannot be opened or written"
    CONTRADICTED = 11, "prove saw a claim contradicted"
    NOT_SENT = 12, "a channel did not take a notice"
    INTERRUPTED = 130, "interrupted from the keyboard"


def exit_code_table() -> str:
    """Every code with its meaning, one line each, for ``hotplace --help``."""
    return "\n".join(f"{code.value:>3}  {code.meaning}" for code in ExitCode)


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
    return next((code for kind, code in _codes() if isinstance(error, kind)), ExitCode.INTERNAL)


def _codes() -> tuple[tuple[type[HotplaceError], ExitCode], ...]:
    """Exit codes by class of error; the first that matches decides, so the narrower classes come first."""
    from agent.config.errors import ConfigError, NothingToSize
    from agent.ledger.errors import LeaseLost, LedgerBusy, LedgerError, NotFound, Refused
    from agent.model.proposals import CannotUndo
    from agent.model.signatures import SignatureInvalid
    from agent.service.connections import CannotListen
    from connectors.kit.contract import CannotConnect, DriverMissing, LeaseHeld, PrivilegeMissing, UnknownEngine
    from connectors.kit.settings import SecretUnavailable

    return (
        (ConfigError, ExitCode.CONFIGURATION),
        (UnknownEngine, ExitCode.CONFIGURATION),
        (NothingToSize, ExitCode.CONFIGURATION),
        (SecretUnavailable, ExitCode.CONFIGURATION),
        (LeaseHeld, ExitCode.BUSY),
        (CannotListen, ExitCode.BUSY),
        (LedgerBusy, ExitCode.BUSY),
        (LeaseLost, ExitCode.BUSY),
        (CannotConnect, ExitCode.CANNOT_CONNECT),
        (PrivilegeMissing, ExitCode.NOT_ALLOWED),
        (DriverMissing, ExitCode.NOT_ALLOWED),
        (NotFound, ExitCode.NOT_FOUND),
        (Refused, ExitCode.REFUSED),
        (CannotUndo, ExitCode.REFUSED),
        (SignatureInvalid, ExitCode.REFUSED),
        (LedgerError, ExitCode.LEDGER_UNUSABLE),
    )


def write_file(path: Path, text: str) -> None:
    """Write the file, over an older one too.

    Raises:
        CommandError: it cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise not_written(path, error, "Name a file in a folder of yours.", code=ExitCode.REFUSED) from error


def not_written(path: Path, error: OSError, advice: str, code: ExitCode = ExitCode.CONFIGURATION) -> CommandError:
    """The error of a file or folder that the system does not let us write."""
    return CommandError(f"{path} cannot be written: {error.strerror}", code=code, advice=advice)


def exists_already(paths: Iterable[Path]) -> CommandError:
    """The error of files that are there and are not to be lost."""
    return CommandError(
        f"{', '.join(map(str, paths))} exists already",
        code=ExitCode.REFUSED,
        advice="--force overwrites it; --output names another place.",
    )
