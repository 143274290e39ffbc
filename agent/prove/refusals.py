"""Why a proof is not begun, or not gone on with."""

from __future__ import annotations

from agent.terminal.errors import CommandError
from agent.terminal.exit_codes import ExitCode


class ProofRefused(CommandError):
    """This login, schema or space is not one to prove on; the message has every reason. Nothing was made."""

    def __init__(self, message: str, *, advice: str = "") -> None:
        super().__init__(message, code=ExitCode.NOT_ALLOWED, advice=advice)


class NotApproved(CommandError):
    """A person said no; what was made is dropped again."""

    def __init__(self, message: str, *, advice: str = "") -> None:
        super().__init__(message, code=ExitCode.REFUSED, advice=advice)
