"""Statements as engines count them, and their texts without what users entered.

Cumulative counters of statements, as engines keep them that tell statements apart.

The text of a statement without what users entered: literals become ``?``, comments go, white space is one blank.

Engines normalise texts themselves, but not all of them and not always: PostgreSQL keeps utility statements as they
were sent. Where it is unclear how a literal ends, the text ends before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from connectors.model.observation import F64


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementCounters:
    """Counters of the statements that took most time so far, one column each; NaN where the engine counts none."""

    taken_at: datetime
    epoch: str  # changes when all counters restart
    ids: tuple[str, ...]  # by the engine, each once
    executions: F64  # shape (n,), as all that follow
    seconds: F64  # elapsed, of all executions
    read_wait: F64  # of them, seconds waited for reads
    reads: F64  # physical, in blocks
    server_seconds: float  # that reading them took, at most


@runtime_checkable
class ReadsStatements(Protocol):
    """Optional in a connector: counters of single statements. No text of a statement is ever recorded."""

    def read_statements(self, most: int) -> StatementCounters | None:
        """The counters of at most so many statements, those with most time; None where the server keeps none.

        One query, under a time limit, never blocking.

        Raises:
            ConnectorError: a subclass that says what may be done.
        """
        ...

    def statement_texts(self, ids: Collection[str]) -> Mapping[str, str]:
        """Texts by id as far as the server still has them, without literals and comments (``texts``).

        Raises:
            ConnectorError: a subclass that says what may be done.
        """
        ...


LONGEST = 400  # characters that are kept
CUT = "..."
READING_TEXT = "reading the text of a statement"
_TOKEN = re.compile(
    r"""
      (?P<comment>  --[^\n]*(?:\n|$) | /\*.*?(?:\*/|$) )
    | (?P<dollar>   \$(?P<tag>[A-Za-z_]\w*)?\$.*?(?:\$(?(tag)(?P=tag))\$|$) )
    | (?P<oracle>   \b[nN]?[qQ]'(?P<open>.).*?(?:$|(?<=')) )
    | (?P<escaped>  \b[eE]'(?:[^'\\]|\\.|'')*(?:'|$) )
    | (?P<string>   (?:\b[nNxXbBgG]|\b[uU]&)?'(?:[^']|'')*(?:'|$) )
    | (?P<name>     "(?:[^"]|"")*(?:"|$) | \[[^\]]*(?:\]|$) | `[^`]*(?:`|$) )
    | (?P<word>     [^\W\d][\w$#@]* | [@:$\#][\w$\#@]+ )
    | (?P<number>   (?:0[xX][0-9A-Fa-f]+) | (?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)? )
    | (?P<space>    \s+ )
    """,
    re.VERBOSE | re.DOTALL,
)
_CLOSING = {"[": "]", "{": "}", "(": ")", "<": ">"}


def without_literals(text: str, *, quoted_names: bool = True) -> str:
    r"""The statement, normalised.

    Args:
        text: as the server gives it; it may have been cut off anywhere.
        quoted_names: double quotes enclose names; False: they may enclose texts as well, which become ``?``.

    >>> without_literals("SELECT 1 FROM t -- for Eva\nWHERE name = 'O''Hara'  AND n=17")
    'SELECT ? FROM t WHERE name = ? AND n=?'
    """
    kept: list[str] = []
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            kept.append(text[at])
            at += 1
            continue
        kind, piece, at = found.lastgroup, found[0], found.end()
        if kind == "oracle":  # q'[it's]': its end depends on how it begins
            end = text.find(_CLOSING.get(found["open"], found["open"]) + "'", found.start("open") + 1)
            kept.append("?")
            at = len(text) if end < 0 else end + 2
        elif (kind == "string" and "\\" in piece) or (kind == "comment" and "/*" in piece[2:]):
            kept.append(CUT)  # whether a backslash escapes a quote, or comments nest, is not the same everywhere
            break
        else:
            kept.append(_in_place_of(kind or "", piece, quoted_names=quoted_names))
    plain = " ".join("".join(kept).split())
    return plain if len(plain) <= LONGEST else plain[:LONGEST] + CUT


def read_all(
    ids: Iterable[str], ask: Callable[[str], Sequence[Sequence[object]]], *, quoted_names: bool = True
) -> Mapping[str, str]:
    """Texts by id, without literals; what the server has forgotten has none.

    Args:
        ids: of statements.
        ask: for the rows of one, the text in the first column of the first.
        quoted_names: as ``without_literals`` takes it.
    """
    asked = ((id_, ask(id_)) for id_ in ids)
    return {
        id_: without_literals(str(rows[0][0]), quoted_names=quoted_names) for id_, rows in asked if rows and rows[0][0]
    }


def _in_place_of(kind: str, piece: str, *, quoted_names: bool) -> str:
    """What is kept of a piece."""
    if kind in {"comment", "space"}:
        return " "
    if kind in {"dollar", "escaped", "string", "number"}:
        return "?"
    return "?" if piece.startswith('"') and not quoted_names else piece
