"""Takes statements apart into words; what is not of the documented form is a syntax error."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tests.labs.tns.backend import OracleError

_TOKEN = re.compile(
    r"""\s+|/\*.*?\*/|--[^\n]*|(?P<string>'(?:[^']|'')*')|(?P<quoted>"[^"]+")"""
    r"""|(?P<word>[A-Za-z][\w$#]*)|(?P<number>\d+)|(?P<bind>:\s*\w+)|(?P<sign>=>|:=|\|\||[<>]=?|[(),.;=*+/-])|(?P<bad>.)""",
    re.DOTALL,
)
NOT_ENDED = OracleError(933, "SQL command not properly ended")
LONGEST_NAME = 128


@dataclass(slots=True)
class Words:
    """Words of a statement, read from the left."""

    sql: str
    _words: list[tuple[str, str]] = field(default_factory=list)
    _places: list[tuple[int, int]] = field(default_factory=list)
    _at: int = 0

    def __post_init__(self) -> None:
        for match in _TOKEN.finditer(self.sql):
            if match.lastgroup == "bad":
                raise OracleError(911, f"invalid character after {self.sql[: match.start()][-20:]!r}")
            if match.lastgroup:
                self._words.append((match.lastgroup, match.group()))
                self._places.append(match.span())

    def more(self) -> bool:
        """Whether anything is left."""
        return self._at < len(self._words)

    def next_is(self, *wanted: str) -> bool:
        """Whether these keywords come next; they stay."""
        found = self._words[self._at : self._at + len(wanted)]
        return [text.upper() for kind, text in found if kind in ("word", "sign")] == list(wanted)

    def take(self, *wanted: str) -> bool:
        """Whether these keywords come next; they are taken."""
        if not self.next_is(*wanted):
            return False
        self._at += len(wanted)
        return True

    def need(self, *wanted: str, error: OracleError | None = None) -> None:
        """As take, and an error where they do not."""
        if not self.take(*wanted):
            raise error or OracleError(905, f"missing keyword {' '.join(wanted)}")

    def name(self) -> str:
        """An identifier: upper case unless it is quoted."""
        kind, text = self._words[self._at] if self.more() else ("", "")
        if kind not in ("word", "quoted"):
            raise OracleError(903, "invalid name")
        self._at += 1
        found = text[1:-1] if kind == "quoted" else text.upper()
        if len(found.encode()) > LONGEST_NAME:
            raise OracleError(972, "identifier is too long")
        return found

    def qualified(self, owner: str) -> tuple[str, str]:
        """Owner and name; the owner may be left out."""
        first = self.name()
        return (first, self.name()) if self.take(".") else (owner, first)

    def value(self) -> str:
        """A number, a word or a string."""
        kind, text = self._words[self._at] if self.more() else ("", "")
        if kind not in ("word", "number", "string"):
            raise OracleError(2248, "invalid option")
        self._at += 1
        return text[1:-1].replace("''", "'") if kind == "string" else text

    def integer(self) -> int:
        """A whole number."""
        kind, text = self._words[self._at] if self.more() else ("", "")
        if kind != "number":
            raise OracleError(2017, "integer value required")
        self._at += 1
        return int(text)

    def end(self) -> None:
        """Nothing may follow."""
        if self.more():
            raise NOT_ENDED

    def names(self) -> tuple[str, ...]:
        """Identifiers in parentheses."""
        self.need("(")
        found = [self.name()]
        while self.take(","):
            found.append(self.name())
        self.need(")")
        return tuple(found)

    def text_until(self, *ends: str) -> str:
        """The text up to one of these words or signs outside of parentheses, which stays; or up to the end."""
        first, depth = self._at, 0
        while self.more() and (depth or not any(self.next_is(end) for end in ends)):
            depth += self.next_is("(") - self.next_is(")")
            self._at += 1
        if self._at == first:
            raise OracleError(936, "missing expression")
        return self.sql[self._places[first][0] : self._places[self._at - 1][1]]


@dataclass(slots=True)
class Move:
    """An ALTER TABLE ... MOVE as it was written."""

    part: str = ""
    sub: bool = False
    online: bool = False
    tablespace: str = ""
    overflow: str = ""
    lobs: dict[str, str] = field(default_factory=dict)  # column -> tablespace
    update_indexes: bool = False
    global_only: bool = False
    indexes: dict[str, str] = field(default_factory=dict)  # index -> tablespace
    parallel: str = ""


def read_move(words: Words) -> Move:
    """Everything after ``ALTER TABLE name MOVE``; each clause at most once."""
    move = Move()
    if words.next_is("PARTITION") or words.next_is("SUBPARTITION"):
        move.sub = words.take("SUBPARTITION")
        if not move.sub:
            words.need("PARTITION")
        move.part = words.name()
    seen: set[str] = set()
    while words.more():
        clause = _clause(words, move)
        if clause in seen:
            raise NOT_ENDED
        if clause != "LOB":
            seen.add(clause)
    return move


def _clause(words: Words, move: Move) -> str:
    if words.take("ONLINE"):
        move.online = True
        return "ONLINE"
    if words.take("TABLESPACE"):
        move.tablespace = words.name()
        return "TABLESPACE"
    if words.take("OVERFLOW", "TABLESPACE"):
        move.overflow = words.name()
        return "OVERFLOW"
    if words.take("LOB", "("):
        _lob(words, move)
        return "LOB"
    if words.take("UPDATE", "GLOBAL", "INDEXES"):
        move.update_indexes = move.global_only = True
        return "UPDATE"
    if words.take("UPDATE", "INDEXES"):
        move.update_indexes = True
        _read_indexes(words, move)
        return "UPDATE"
    return _parallel(words, move)


def _parallel(words: Words, move: Move) -> str:
    if words.take("NOPARALLEL"):
        move.parallel = "1"
        return "PARALLEL"
    if words.take("PARALLEL"):
        move.parallel = str(words.integer())
        return "PARALLEL"
    raise NOT_ENDED


def _lob(words: Words, move: Move) -> None:
    columns = [words.name()]
    while words.take(","):
        columns.append(words.name())
    words.need(")")
    words.need("STORE", "AS")
    if not words.take("SECUREFILE"):
        words.take("BASICFILE")
    words.need("(", "TABLESPACE")
    tablespace = words.name()
    words.need(")")
    move.lobs.update(dict.fromkeys(columns, tablespace))


def _read_indexes(words: Words, move: Move) -> None:
    """``(ix TABLESPACE t, ...)`` of a whole table, ``(ix (PARTITION p TABLESPACE t), ...)`` of a partition."""
    if not words.take("("):
        return
    while True:
        name = words.name()
        if move.part:
            words.need("(", "SUBPARTITION" if move.sub else "PARTITION")
            words.name()
        words.need("TABLESPACE")
        move.indexes[name] = words.name()
        if move.part:
            words.need(")")
        if not words.take(","):
            break
    words.need(")")


def read_degree(words: Words) -> str:
    """``NOPARALLEL``, ``PARALLEL n`` or ``PARALLEL`` alone, which is DEFAULT; nothing may follow."""
    if words.take("NOPARALLEL"):
        degree = "1"
    else:
        words.need("PARALLEL")
        degree = str(words.integer()) if words.more() else "DEFAULT"
    words.end()
    return degree


@dataclass(slots=True)
class Rebuild:
    """An ALTER INDEX ... REBUILD as it was written."""

    part: str = ""
    sub: bool = False
    online: bool = False
    tablespace: str = ""
    parallel: str = ""


def read_rebuild(words: Words) -> Rebuild:
    """Everything after ``ALTER INDEX name REBUILD``."""
    rebuild = Rebuild()
    if words.take("PARTITION"):
        rebuild.part = words.name()
    elif words.take("SUBPARTITION"):
        rebuild.part, rebuild.sub = words.name(), True
    while words.more():
        if words.take("ONLINE"):
            rebuild.online = True
        elif words.take("TABLESPACE"):
            rebuild.tablespace = words.name()
        elif words.take("NOPARALLEL"):
            rebuild.parallel = "1"
        elif words.take("PARALLEL"):
            rebuild.parallel = str(words.integer())
        else:
            raise NOT_ENDED
    return rebuild


@dataclass(slots=True)
class MoveFile:
    """An ALTER DATABASE MOVE DATAFILE as it was written."""

    old: str  # number or path
    new: str
    reuse: bool
    keep: bool


def read_move_file(words: Words) -> MoveFile:
    """Everything after ``ALTER DATABASE MOVE DATAFILE``."""
    old = words.value()
    words.need("TO")
    made = MoveFile(old, words.value(), reuse=words.take("REUSE"), keep=words.take("KEEP"))
    words.end()
    return made
