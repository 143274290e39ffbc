"""What a person signs: one canonical text that says which of a proposal's moves may run, where, and until when.

Or of several proposals at once, and in which order. Or a standing rule: within which limits proposals of a database
may be approved without asking again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ClassVar, Protocol

NAMESPACE = "hotplace-approval"  # of the signature: one made for another purpose does not count
# Another one, so that a line of allowed_signers can let a person approve proposals and no rules: namespaces="...".
RULE_NAMESPACE = "hotplace-rule"
HEADING = "hotplace approval 1"
LIST_HEADING = "hotplace approval list 1"
RULE_HEADING = "hotplace standing rule 1"


class Signable(Protocol):
    """A document whose text people sign."""

    namespace: ClassVar[str]

    @property
    def databases(self) -> frozenset[str]:
        """Those that it is about, by their names in the configuration."""
        ...

    @property
    def text(self) -> str:
        """What is signed, letter by letter."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalDocument:
    """An approval before it is signed. Equal documents have equal texts."""

    namespace: ClassVar[str] = NAMESPACE
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
        return _lines(HEADING, {"ledger": self.ledger, **self.facts})

    @property
    def databases(self) -> frozenset[str]:
        """The one that it is about."""
        return frozenset({self.database})

    @property
    def facts(self) -> dict[str, object]:
        """What it says of its proposal, by name, as it is written."""
        return {
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedApproval:
    """One approval of a list, and its turn."""

    document: ApprovalDocument
    wave: int  # from 1: it begins once all of the waves before are measured and did not hurt


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalList:
    """Approvals of several proposals before they are signed together. Equal lists have equal texts.

    One signature is over all of it, so that no member can be added, left out, or given another turn.
    """

    namespace: ClassVar[str] = NAMESPACE
    ledger: str  # as of each member
    members: tuple[ListedApproval, ...]  # in the order in which they were asked for

    @property
    def text(self) -> str:
        """One fact a line; those of a member begin with its place, counted from 1."""
        facts: dict[str, object] = {"ledger": self.ledger, "members": len(self.members)}
        for place, member in enumerate(self.members, start=1):
            facts[f"{place} wave"] = member.wave
            facts |= {f"{place} {name}": value for name, value in member.document.facts.items()}
        return _lines(LIST_HEADING, facts)

    @property
    def databases(self) -> frozenset[str]:
        """Those of all members."""
        return frozenset(member.document.database for member in self.members)

    @property
    def digest(self) -> str:
        """SHA-256 over the text, in hexadecimal: the list's name."""
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleDocument:
    """A standing rule before it is signed. Equal documents have equal texts."""

    namespace: ClassVar[str] = RULE_NAMESPACE
    ledger: str  # as of ``ApprovalDocument``
    database: str
    fingerprint: str
    rule: int  # its number
    limits: Mapping[str, str]  # each in words
    sequence: int  # of the audit row that proposed the rule or closed it last: opened again, it is signed again

    @property
    def text(self) -> str:
        """One fact a line, as of ``ApprovalDocument``."""
        facts = {
            "ledger": self.ledger,
            "database": _in_one_line(self.database),
            "fingerprint": _in_one_line(self.fingerprint),
            "rule": self.rule,
            **{name: _in_one_line(words) for name, words in self.limits.items()},
            "sequence": self.sequence,
        }
        return _lines(RULE_HEADING, facts)

    @property
    def databases(self) -> frozenset[str]:
        """The one that it is for."""
        return frozenset({self.database})


def _lines(heading: str, facts: Mapping[str, object]) -> str:
    return "".join([f"{heading}\n", *(f"{name}: {value}\n" for name, value in facts.items())])


def _in_one_line(name: str) -> str:
    return name.encode("unicode_escape").decode("ascii")
