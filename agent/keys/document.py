"""What a person signs: one canonical text that says which moves of which proposal may run, where, and until when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

NAMESPACE = "hotplace-approval"  # of the signature: one made for another purpose does not count
HEADING = "hotplace approval 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalDocument:
    """An approval before it is signed. Equal documents have equal texts."""

    ledger: str  # hash of the first row of its audit chain
    database: str  # its name in the configuration
    fingerprint: str  # Identity.fingerprint
    proposal: int
    digest: str
    moves: tuple[int, ...]  # ordinals of the moves that remain
    conditions: str  # canonical JSON; "{}": none
    expires_at: datetime
    sequence: int  # number of the last audit row that was about the proposal: an older state has another one

    @property
    def text(self) -> str:
        """One fact a line. Names are escaped, so that none can pass for another line."""
        facts = {
            "ledger": self.ledger,
            "database": _in_one_line(self.database),
            "fingerprint": _in_one_line(self.fingerprint),
            "proposal": self.proposal,
            "digest": self.digest,
            "moves": " ".join(map(str, self.moves)),
            "conditions": self.conditions,
            # In UTC: the same instant in another zone would be another text, and the signature would not fit.
            "expires": self.expires_at.astimezone(UTC).isoformat(),
            "sequence": self.sequence,
        }
        return "".join([f"{HEADING}\n", *(f"{name}: {value}\n" for name, value in facts.items())])


def _in_one_line(name: str) -> str:
    return name.encode("unicode_escape").decode("ascii")
