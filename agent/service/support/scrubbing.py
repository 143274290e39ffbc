"""Takes out of texts what is not ours: names, hosts, literals, secrets. What stays are words that hotplace itself uses.

It does not look for what may be secret, which is never complete, nor for what looks harmless, as short numbers and
dates do: a card number is four of the one, a birthday is one of the other. A number stays where a unit of measure
follows it, an instant where we wrote one. A name that is a word of ours (a table called ``orders``) is masked where it
is known to be a name and where it is quoted.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

ROOMS = ("agent", "connectors", "policies")
NOT_OURS = "demo"  # a room whose texts are about a shop
MASK = "…"
UNITS = frozenset({  # by which a number is a measure
    "%", "ms", "s", "min", "h", "d", "us", "b", "kib", "mib", "gib", "tib", "byte", "bytes", "percent", "seconds",
    "minutes", "hours", "days", "unit", "units", "row", "rows", "move", "moves", "proposal", "proposals", "session",
    "sessions", "space", "spaces", "sample", "samples", "statement", "statements", "interval", "intervals", "times",
})  # fmt: skip
ENGINES = frozenset({"postgresql", "db2", "oracle", "sqlite", "python"})  # behind which stands a version
TIMES = frozenset({"at", "since", "until", "timestamp"})  # of documents; also what ends in _at
LONGEST_NAMES = 20_000  # that are masked by name; more make the search slow, and quotes mask them anyway
_NUMBER = re.compile(r"[-+]?[0-9]{1,4}(?:[.,][0-9]{1,4})?%?")
_VERSION = re.compile(r"[0-9]{1,4}(?:\.[0-9]{1,2})?")
_INSTANT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?:Z|[+-][0-9]{2}:[0-9]{2})?"
)
_EVENT = re.compile(r"([0-9]{4}-[0-9T:.-]{10,30}Z \[[a-z]+ *\]) (.*)", re.DOTALL)  # as agent.logs writes it to a file
_WORD = re.compile(r"[A-Za-z]{2,}")
_QUOTED = re.compile(
    r"(?<!\w)(?:[nNbBxXeE]|[uU]&)?'(?:[^']++|'')*+(?:'|\Z)"  # one within a word is an apostrophe
    r"|\"(?:[^\"]++|\"\")*+(?:\"|\Z)|`[^`]*+(?:`|\Z)|\$\w*\$.*?(?:\$\w*\$|\Z)",
    re.DOTALL,
)
# What servers quote without quotes: Key (id)=(42) already exists. Failing row contains (42, Eva).
_ENCLOSED = re.compile(r"(=|\bcontains )\((?:.*\)|.*)", re.DOTALL)
_STATEMENT = re.compile(
    r"\b(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE|ALTER|DROP|MERGE|CALL|WITH)\s"
    r"|\b(?i:insert\s+into|delete\s+from|merge\s+into|update\s+\S+\s+set)\s"
)
_SELECT, _FROM = re.compile(r"\bselect\s", re.IGNORECASE), re.compile(r"\bfrom\s", re.IGNORECASE)
_EDGES = "()[]{}<>,;:.!?…"


@cache
def own_words() -> frozenset[str]:
    """Every word of the program's texts and names, in lower case; comments and docstrings hold examples of others."""
    home = Path(__file__).resolve().parents[3]
    files = [path for room in ROOMS for path in (home / room).rglob("*.*") if NOT_OURS not in path.parts]
    texts = (text for path in files for text in _texts_in(path))
    return frozenset(word.lower() for text in texts for word in _WORD.findall(text))


def _texts_in(path: Path) -> Iterator[str]:
    if path.suffix == ".sql":
        yield from (line.partition("--")[0] for line in path.read_text(encoding="utf-8").splitlines())
    elif path.suffix == ".py":
        tree = ast.parse(path.read_text(encoding="utf-8"))
        described = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
        for node in ast.walk(tree):
            yield from (
                value for name in ("id", "attr", "arg", "name") if isinstance(value := getattr(node, name, None), str)
            )
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in described:
                yield node.value


class Scrubber:
    """Masks texts and documents; the same name has the same number throughout."""

    def __init__(self, names: Iterable[str]) -> None:
        """Know some names.

        Args:
            names: hosts, logins, databases, spaces, units, secrets: each is replaced by ``name-N`` wherever it stands.
        """
        known = sorted({name for name in names if len(name) > 1}, key=lambda name: (-len(name), name))[:LONGEST_NAMES]
        self._number = {name.casefold(): number for number, name in enumerate(sorted(known), start=1)}
        self._names = re.compile("|".join(map(re.escape, known)), re.IGNORECASE) if known else None

    def text(self, text: str, *, is_event: bool = False) -> str:
        """A text with everything masked that is neither a word of ours nor a measure.

        Args:
            text: of a server, a person or us.
            is_event: the fields of an event as ``agent.logs`` writes them, where a number behind ``=`` is ours.
        """
        if self._names is not None:
            text = self._names.sub(self._numbered, text)
        text = _ENCLOSED.sub(rf"\1{MASK}", _without_statement(_QUOTED.sub(f" {MASK} ", text)))
        words = text.split()
        return " ".join(
            word if _is_measure(words, at) else self._token(word, is_event=is_event) for at, word in enumerate(words)
        )

    def event(self, line: str) -> str:
        """A line of a log."""
        found = _EVENT.fullmatch(line)
        return self.text(line) if found is None else f"{found[1]} {self.text(found[2], is_event=True)}"

    def value(self, value: Any, key: str = "") -> Any:  # noqa: ANN401 (whatever a document holds)
        """A value with every string in it, keys too, masked; numbers and times that are a field of their own stay.

        Args:
            value: of a document of ours.
            key: under which it stands.
        """
        match value:
            case Enum():
                return value.value
            case Path():
                return MASK
            case None | bool() | int() | float():
                return value
            case date():
                return value.isoformat()
            case Mapping():
                return {self.text(str(name)): self.value(inner, str(name)) for name, inner in value.items()}
            case list() | tuple() | set() | frozenset():
                return [self.value(inner) for inner in value]
        text = str(value)
        return text if (key in TIMES or key.endswith("_at")) and _INSTANT.fullmatch(text) else self.text(text)

    def metrics(self, page: str) -> str:
        """A page of metrics: names and figures stay, the values of labels are masked."""
        return re.sub(r'="((?:[^"\\]|\\.)*)"', lambda found: f'="{self.text(found[1])}"', page)

    def _numbered(self, found: re.Match[str]) -> str:
        number = self._number.get(found[0].casefold())  # few letters have a case that only the search knows
        return f" name-{number} " if number is not None else f" {MASK} "

    def _token(self, token: str, *, is_event: bool) -> str:
        name, *values = token.split("=")
        return "=".join([
            _masked(name), *(value if is_event and _NUMBER.fullmatch(value) else _masked(value) for value in values)
        ])  # fmt: skip


def _masked(token: str) -> str:
    bare = token.strip(_EDGES)
    if not bare or bare in UNITS or re.fullmatch(r"name-[0-9]+", bare):
        return token
    parts = (part for part in re.split(r"[-_']", bare) if part)
    return token if all(map(_is_ours, parts)) else MASK


def _without_statement(text: str) -> str:
    """The text up to a statement in it: nothing in it tells a name from a word."""
    begins = [found.start() for found in (_STATEMENT.search(text),) if found is not None]
    select = _SELECT.search(text)
    if select is not None and _FROM.search(text, select.end()) is not None:
        begins.append(select.start())
    return f"{text[: min(begins)]}{MASK}" if begins else text


def _is_measure(words: Sequence[str], at: int) -> bool:
    """Whether a word is a number with its unit behind it, one of two (``13 of 18 units``), or an engine's version."""
    before, word = words[at - 1].lower() if at else "", words[at].strip(_EDGES)
    if before in ENGINES and _VERSION.fullmatch(word):
        return True
    if not _NUMBER.fullmatch(word) or any(character.isdigit() for character in before):
        return False
    after = [word.strip(_EDGES).lower() for word in words[at + 1 : at + 4]]
    if len(after) == 3 and after[0] == "of" and _NUMBER.fullmatch(after[1]):
        after = after[2:]
    return word.endswith("%") or (bool(after) and after[0] in UNITS)


def _is_ours(word: str) -> bool:
    return (len(word) == 1 and word.isascii() and word.isalpha()) or word.lower() in own_words()
