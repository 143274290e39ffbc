"""The error of a command that cannot do what was asked, and the exit code of every error."""

from __future__ import annotations

from agent.terminal.exit_codes import ExitCode
from connectors.base import HotplaceError


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
    from agent.config import ConfigError, NothingToSize
    from agent.keys import SignatureInvalid
    from agent.ledger import LeaseLost, LedgerBusy, LedgerError, NotFound, Refused
    from agent.planning.refusals import CannotUndo
    from agent.service.connections import CannotListen
    from connectors.base import CannotConnect, DriverMissing, LeaseHeld, PrivilegeMissing, UnknownEngine
    from connectors.settings import SecretUnavailable

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
