"""What an instance remembers of statements: V$SQLSTATS, one row for each text. Times are microseconds."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

ALPHABET = "0123456789abcdfghjkmnpqrstuvwxyz"  # of a SQL_ID: digits and letters that look like no other
LONGEST = 1000  # characters of SQL_TEXT
_LITERAL = re.compile(r"'(?:[^']|'')*'|\b\d+(?:\.\d+)?\b")


@dataclass(slots=True)
class Statement:
    """One text, whatever plans it has had."""

    text: str
    schema: str
    plan: int
    loaded: datetime
    last_active: datetime
    counters: Counter[str] = field(default_factory=Counter)

    @property
    def sql_id(self) -> str:
        """Thirteen characters that the text alone decides."""
        return sql_id(self.text)


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def sql_id(text: str) -> str:
    """As the documentation describes it: a number of the text with 32 digits; the number itself is not Oracle's."""
    left, digits = _number(text), ""
    for _ in range(13):
        left, digit = divmod(left, len(ALPHABET))
        digits = ALPHABET[digit] + digits
    return digits


def exact_signature(text: str) -> int:
    """EXACT_MATCHING_SIGNATURE: without regard to blanks and the case of what is no literal."""
    return _number(" ".join(text.upper().split())) >> 1


def force_signature(text: str) -> int:
    """FORCE_MATCHING_SIGNATURE: the same for texts that differ in literals only."""
    return exact_signature(_LITERAL.sub(":x", text))
