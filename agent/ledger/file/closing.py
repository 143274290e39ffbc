"""Closing a ledger's file for good, once what it holds is elsewhere: read on, written never again, by any process."""

from __future__ import annotations

from agent.ledger.file.reading import Condition, Reading, where
from agent.ledger.file.schema import metadata
from agent.ledger.file.transaction import Transaction

_NAME = "moved_away"
_TRIGGERS = "SELECT sql FROM sqlite_master"


def close_for_writing(transaction: Transaction, where_to: str) -> None:
    """Let the file refuse every change, also of a process that has it open; the error says where it went."""
    # Triggers and not the file's mode: a running agent has the file open, and looks at no mode again.
    text = _text(where_to)
    for table in metadata.tables:
        for change in ("INSERT", "UPDATE", "DELETE"):
            transaction.core.exec_driver_sql(
                f'CREATE TRIGGER IF NOT EXISTS "{_NAME}_{table}_{change}" BEFORE {change} ON "{table}" '
                f"BEGIN SELECT RAISE(ABORT, {text}); END"
            )


def is_closed(reading: Reading) -> bool:
    """Whether the file was closed."""
    return reading.first(_TRIGGERS, _of_closing()) is not None


def went_to(reading: Reading, where_to: str) -> bool:
    """Whether that is where it went."""
    trigger = reading.scalar(_TRIGGERS, _of_closing())
    return trigger is not None and _text(where_to) in trigger


def _of_closing() -> Condition:
    return where("type = 'trigger' AND substr(name, 1, ?) = ?", len(_NAME), _NAME)


def _text(where_to: str) -> str:
    escaped = where_to.replace("'", "''")
    return f"'it was moved to {escaped}'"
