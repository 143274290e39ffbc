"""Takes out of texts what is not ours: names, hosts, literals, secrets. What stays are words that hotplace itself uses.

It does not look for what may be secret, which is never complete, but for what is not: the words of our own program and
short numbers. A name that is such a word (a table called ``orders``) is masked where it is known to be a name and where
it is quoted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

ROOMS = ("agent", "connectors", "policies")
MASK = "…"
SHORT_NUMBER = re.compile(r"[-+]?\d{1,4}([.,]\d{1,4})?%?")
INSTANT = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?")
LONGEST_NAMES = 20_000  # that are masked by name; more make the search slow, and quotes mask them anyway
_WORD = re.compile(r"[A-Za-z]{2,}")
_QUOTED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|\$\w*\$.*?\$\w*\$", re.DOTALL)
_STATEMENT = re.compile(
    r"\b(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE|ALTER|DROP|MERGE|CALL|WITH)\s.*|\b(?i:select\s.*\bfrom)\s.*",
    re.DOTALL,
)
_EDGES = "()[]{}<>,;:.!?…"


@cache
def own_words() -> frozenset[str]:
    """Every word of the program's own files, in lower case."""
    home = Path(__file__).resolve().parents[3]
    files = (path for room in ROOMS for ending in ("py", "sql") for path in (home / room).rglob(f"*.{ending}"))
    return frozenset(word.lower() for path in files for word in _WORD.findall(path.read_text(encoding="utf-8")))


class Scrubber:
    """Masks texts and documents; the same name has the same number throughout."""

    def __init__(self, names: Iterable[str]) -> None:
        """Know some names.

        Args:
            names: hosts, logins, databases, spaces, units, secrets: each is replaced by ``name-N`` wherever it stands.
        """
        known = sorted({name for name in names if len(name) > 1}, key=lambda name: (-len(name), name))[:LONGEST_NAMES]
        self._number = {name.lower(): number for number, name in enumerate(sorted(known), start=1)}
        self._names = re.compile("|".join(map(re.escape, known)), re.IGNORECASE) if known else None

    def text(self, text: str) -> str:
        """A text with everything masked that is neither a word of ours nor a short number."""
        if self._names is not None:
            text = self._names.sub(lambda found: f" name-{self._number[found[0].lower()]} ", text)
        text = _STATEMENT.sub(MASK, _QUOTED.sub(f" {MASK} ", text))
        return " ".join(self._token(token) for token in text.split())

    def value(self, value: Any) -> Any:  # noqa: ANN401 (whatever a document holds)
        """A value with every string in it, keys too, masked; numbers that a document states stay."""
        match value:
            case Enum():
                return value.value
            case Path():
                return MASK
            case None | bool() | int() | float():
                return value
            case Mapping():
                return {self.text(str(key)): self.value(inner) for key, inner in value.items()}
            case list() | tuple() | set() | frozenset():
                return [self.value(inner) for inner in value]
        return self.text(str(value))

    def metrics(self, page: str) -> str:
        """A page of metrics: names and figures stay, the values of labels are masked."""
        return re.sub(r'="((?:[^"\\]|\\.)*)"', lambda found: f'="{self.text(found[1])}"', page)

    def _token(self, token: str) -> str:
        bare = token.strip(_EDGES)
        if not bare or re.fullmatch(r"name-\d+", bare) or SHORT_NUMBER.fullmatch(bare) or INSTANT.fullmatch(bare):
            return token
        name, equals, value = token.partition("=")
        if equals:
            return f"{self._token(name)}={self._token(value)}"
        parts = (part for part in re.split(r"[-_']", bare) if part)
        return token if all(map(_is_ours, parts)) else MASK


def _is_ours(word: str) -> bool:
    return len(word) == 1 or word.lower() in own_words() or SHORT_NUMBER.fullmatch(word) is not None
