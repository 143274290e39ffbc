"""How a command ends, as a number that scripts can act on."""

from __future__ import annotations

from enum import IntEnum


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
    CONTRADICTED = 11, "prove saw a claim contradicted"
    NOT_SENT = 12, "a channel did not take a notice"
    INTERRUPTED = 130, "interrupted from the keyboard"


def exit_code_table() -> str:
    """Every code with its meaning, one line each, for ``hotplace --help``."""
    return "\n".join(f"{code.value:>3}  {code.meaning}" for code in ExitCode)
