"""What ``history --audit`` and ``audit verify`` answer."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from agent.answers.kind import answer


@answer
class AuditLink:
    """A link of the audit chain."""

    id: int
    at: datetime
    actor: str
    event: str
    subject: str
    facts: Mapping[str, Any]
    """They differ by event."""
    previous: str
    hash: str


@answer
class AuditLinks:
    """The newest links, which are not verified here."""

    audit: tuple[AuditLink, ...]
    events: tuple[str, ...]
    """Every kind that the chain has."""


@answer
class AuditVerified:
    """What checking the whole chain found."""

    ok: bool
    rows: int
    """That fit, before the first that does not."""
    head: str
    broken_id: int | None
    sentence: str
    anchors: int | None
    """Anchors of this ledger in the log that was given; null: none was."""
