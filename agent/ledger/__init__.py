"""The durable record: proposals, approvals, moves, steps, outcomes, pins, the audit chain, and heat history.

One SQLite file in WAL mode, mode 0600, one writing transaction at a time. Start reading at ``ledger``; ``schema`` has
the tables, ``database`` the connection and why it syncs as it does, ``audit`` the chain, ``history`` and ``codec`` the
blobs.
"""

from agent.ledger.chain.signed import ApprovalRule
from agent.ledger.errors import (
    DigestMismatch,
    LedgerBusy,
    LedgerCorrupt,
    LedgerError,
    LedgerFull,
    LedgerMissing,
    LedgerReadOnly,
    LedgerTooNew,
    NotApproved,
    NotFound,
    NotSigned,
    ProposalExpired,
    ProposalTampered,
    Refused,
    Untrusted,
    WrongState,
)
from agent.ledger.ledger import Ledger, user_name
from agent.ledger.rows import (
    AuditReport,
    AuditRow,
    ClosedSpaceRow,
    FoldReport,
    HistoryRow,
    HistorySettings,
    MoveRow,
    OperatorRequestRow,
    OutcomeRow,
    PinRow,
    ProposalRow,
    RequestKind,
    SentRow,
    StepRow,
    StepState,
)

__all__ = [
    "ApprovalRule",
    "AuditReport",
    "AuditRow",
    "ClosedSpaceRow",
    "DigestMismatch",
    "FoldReport",
    "HistoryRow",
    "HistorySettings",
    "Ledger",
    "LedgerBusy",
    "LedgerCorrupt",
    "LedgerError",
    "LedgerFull",
    "LedgerMissing",
    "LedgerReadOnly",
    "LedgerTooNew",
    "MoveRow",
    "NotApproved",
    "NotFound",
    "NotSigned",
    "OperatorRequestRow",
    "OutcomeRow",
    "PinRow",
    "ProposalExpired",
    "ProposalRow",
    "ProposalTampered",
    "Refused",
    "RequestKind",
    "SentRow",
    "StepRow",
    "StepState",
    "Untrusted",
    "WrongState",
    "user_name",
]
