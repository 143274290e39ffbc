"""One notice: what happened, where, and the command to give next."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from agent.config.notices import NoticeEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """What a person is told."""

    key: str  # the same for the same matter: it is told once
    event: NoticeEvent
    database: str
    sentence: str
    command: str  # what to type next
    at: datetime
    lasts: bool = False  # a condition: told again when it comes again after it was over

    def document(self) -> dict[str, Any]:
        """As JSON values."""
        return {**asdict(self), "event": str(self.event), "at": self.at.isoformat()}


def read_notice(document: dict[str, Any]) -> Notice:
    """The notice of a document."""
    event, at = NoticeEvent(document["event"]), datetime.fromisoformat(document["at"])
    return Notice(**{**document, "event": event, "at": at})
