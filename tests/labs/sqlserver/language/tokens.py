"""T-SQL in pieces: what statements that sqlglot leaves unparsed are read from."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from tests.labs.tds.backend import ServerError

_PIECES = re.compile(
    r"""(?P<blank>\s+|--[^\n]*|/\*.*?\*/)
      | (?P<name>\[(?:[^\]]|\]\])*\]|"(?:[^"]|"")*")
      | (?P<string>N?'(?:[^']|'')*')
      | (?P<number>\d+(?:\.\d+)?)
      | (?P<word>[@#\w$]+)
      | (?P<sign><>|<=|>=|!=|.)""",
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Piece:
    """One token; ``text`` without quotes."""

    kind: str  # name, string, number, word, sign
    text: str
    begin: int
    end: int

    def says(self, *words: str) -> bool:
        """Whether it is one of these keywords or signs."""
        return self.kind in ("word", "sign") and self.text.upper() in words


@lru_cache(maxsize=512)  # clients send the same statements again and again
def pieces_of(sql: str) -> tuple[Piece, ...]:
    """Every token but blanks and comments."""
    found = []
    for match in _PIECES.finditer(sql):
        kind = str(match.lastgroup)
        if kind != "blank":
            found.append(Piece(kind, _unquoted(kind, match[0]), match.start(), match.end()))
    return tuple(found)


def _unquoted(kind: str, text: str) -> str:
    if kind == "name":
        close = text[-1]
        return text[1:-1].replace(close * 2, close)
    if kind == "string":
        return text[text.index("'") + 1 : -1].replace("''", "'")
    return text


def statements_of(sql: str) -> list[str]:
    """Statements of a batch, told apart by semicolons."""
    ends = [piece.begin for piece in pieces_of(sql) if piece.says(";")]
    parts = [sql[begin + bool(begin) : end] for begin, end in zip([0, *ends], [*ends, len(sql)], strict=True)]
    return [part for part in parts if pieces_of(part)]


class Parser:
    """Reads one statement from left to right; raises ServerError 102 where it is not what was expected."""

    def __init__(self, sql: str) -> None:
        self.sql = sql
        self._pieces = pieces_of(sql)
        self._at = 0

    @property
    def ended(self) -> bool:
        """Whether nothing is left."""
        return self._at >= len(self._pieces)

    def peek(self, *words: str) -> bool:
        """Whether one of these comes next."""
        return not self.ended and self._pieces[self._at].says(*words)

    def take(self, *words: str) -> bool:
        """Take the words, in this order, if they come next."""
        coming = self._pieces[self._at : self._at + len(words)]
        if len(coming) < len(words) or not all(p.says(w) for p, w in zip(coming, words, strict=True)):
            return False
        self._at += len(words)
        return True

    def need(self, *words: str) -> None:
        """Take them or fail."""
        if not self.take(*words):
            raise self.near()

    def near(self) -> ServerError:
        """Error 102 at this place."""
        text = "the end" if self.ended else self._pieces[self._at].text
        return ServerError(102, f"Incorrect syntax near '{text}'.", severity=15)

    def next(self, *kinds: str) -> Piece:
        """The next piece, which must be of one of these kinds."""
        if self.ended or self._pieces[self._at].kind not in kinds:
            raise self.near()
        self._at += 1
        return self._pieces[self._at - 1]

    def name(self) -> str:
        """An identifier, quoted or not."""
        return self.next("name", "word").text

    def table(self) -> tuple[str, str]:
        """Schema and name."""
        parts = [self.name()]
        while self.take("."):
            parts.append(self.name())
        return (parts[-2] if len(parts) > 1 else "dbo"), parts[-1]

    def names(self) -> list[str]:
        """(a, b, c)."""
        self.need("(")
        found = [self.name()]
        while self.take(","):
            found.append(self.name())
        self.need(")")
        return found

    def keys(self) -> tuple[tuple[str, bool], ...]:
        """(a ASC, b DESC): names, and whether they descend."""
        self.need("(")
        found = []
        while True:
            column = self.name()
            descending = self.take("DESC")
            if not descending:
                self.take("ASC")
            found.append((column, descending))
            if not self.take(","):
                break
        self.need(")")
        return tuple(found)

    def raw(self) -> str:
        """The next piece as it stands."""
        if self.ended:
            raise self.near()
        piece = self._pieces[self._at]
        self._at += 1
        return self.sql[piece.begin : piece.end]

    def number(self) -> int:
        """A whole number, negative ones included."""
        sign = -1 if self.take("-") else 1
        return sign * int(self.next("number").text)

    def until(self, *words: str) -> str:
        """Raw text up to one of these words outside parentheses, or the end."""
        begin = self._pieces[self._at].begin if not self.ended else len(self.sql)
        end, depth = begin, 0
        while not self.ended and not (depth == 0 and self.peek(*words)):
            piece = self._pieces[self._at]
            depth += piece.says("(") - piece.says(")")
            end, self._at = piece.end, self._at + 1
        return self.sql[begin:end]

    def finish(self) -> None:
        """Nothing may be left."""
        if not self.ended:
            raise self.near()
