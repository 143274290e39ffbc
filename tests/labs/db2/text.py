"""SQL text: taken apart into tokens, and Db2's names of catalog views and functions turned into the lab's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

from tests.labs.db2 import refusals
from tests.labs.db2.documented import View
from tests.labs.db2.views.projection import SCHEMA, quoted, selection

_TOKEN = re.compile(r"""\s+|--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|"(?:[^"]|"")*"|[^\W\d][\w@#$]*|\d+(?:\.\d+)?|.""", re.S)
_SYSTEM = ("SYSCAT", "SYSIBM", "SYSIBMADM", "SYSTOOLS", "SYSPROC", "QSYS2")
_ORDINARY = re.compile(r"[A-Z_@#$][A-Z0-9_@#$]*")
DATABASE = "SAMPLE"
_UTC_CLOCK = ["(", "CURRENT", "TIMESTAMP", "-", "CURRENT", "TIMEZONE", ",", "'YYYY-MM-DD HH24:MI:SS'", ")"]


def tokens(text: str) -> list[str]:
    """Every token, white space and comments included."""
    return _TOKEN.findall(text)


def words(text: str) -> list[str]:
    """The tokens that mean something; unquoted ones in upper case."""
    said = (t for t in tokens(text) if not t.isspace() and not t.startswith(("--", "/*")))
    return [t if t[0] in "'\"" else t.upper() for t in said]


def joined(said: Sequence[str]) -> str:
    """Tokens as a statement again."""
    text = ""
    for token in said:
        text += token if text[-1:] in ("|", "<", ">") and token in ("|", "=", ">") else f" {token}"
    return text.strip()


def name_of(token: str) -> str:
    """An identifier without its quotes.

    Raises:
        Refusal: SQL0104N: it is none.
    """
    if token.startswith('"'):
        return token[1:-1].replace('""', '"')
    if not _ORDINARY.fullmatch(token):
        raise refusals.syntax(token)
    return token


def string_of(token: str) -> str:
    """The value of a string literal.

    Raises:
        Refusal: SQL0104N: it is none.
    """
    if not token.startswith("'"):
        raise refusals.syntax(token)
    return token[1:-1].replace("''", "'")


class Rewriter:
    """Turns a query for Db2 into one for Derby; remembers which views it asks."""

    def __init__(self, text: str, views: dict[str, View], handle: int) -> None:
        self._in = tokens(text)
        self._views = views
        self._handle = handle
        self._at = 0
        self._said: list[str] = []  # first tokens of what was taken so far
        self.asked: set[str] = set()

    def text(self) -> str:
        """The query for Derby.

        Raises:
            Refusal: it names what this Db2 does not have.
        """
        out = []
        while self._at < len(self._in):
            token = self._in[self._at]
            out.append(self._next())
            if not token.isspace():
                self._said.append(token.upper())
        return "".join(out)

    def _next(self) -> str:
        word = self._in[self._at].upper()
        if word == "TABLE" and self._ahead(1) == ["("]:
            return self._function()
        if word == "CURRENT" and self._ahead(1) == ["SERVER"]:
            return self._take(2, f"CAST('{DATABASE}' AS VARCHAR(18))")
        if word == "CURRENT" and self._ahead(1) == ["USER"]:
            return self._take(2, "CURRENT_USER")
        if word == "CHAR" and self._said[-1:] == ["AS"]:
            return self._take(1, "VARCHAR")  # see documented._type_of
        if word == "VARCHAR_FORMAT" and self._ahead(len(_UTC_CLOCK)) == _UTC_CLOCK:
            return self._take(1 + len(_UTC_CLOCK), f"CAST('{datetime.now(UTC):%Y-%m-%d %H:%M:%S}' AS VARCHAR(19))")
        if word == "MON_GET_APPLICATION_HANDLE" and self._ahead(2) == ["(", ")"]:
            return self._take(3, f"CAST({self._handle} AS BIGINT)")
        if word in _SYSTEM and self._ahead(1) == ["."]:
            return self._qualified(word)
        self._at += 1
        return self._in[self._at - 1]

    def _qualified(self, schema: str) -> str:
        name = self._ahead(2)[-1]
        if name == "MON_GET_APPLICATION_HANDLE":
            return self._take(2, "")
        view = self._views.get(f"{schema}.{name}")
        if view is None and schema == "SYSIBM":
            return self._take(1, schema)  # Derby has some of its own, and refuses the others itself
        if view is None or view.function:
            raise refusals.undefined(f"{schema}.{name}")
        self.asked.add(view.name)
        return self._take(3, f"{SCHEMA}.{quoted(view.table)}")

    def _ahead(self, count: int) -> list[str]:
        """So many tokens after the present one that are not white space."""
        rest = (t.upper() for t in self._in[self._at + 1 :] if not t.isspace())
        return [token for token, _ in zip(rest, range(count), strict=False)]

    def _take(self, count: int, instead: str) -> str:
        """Skip so many tokens that are not white space."""
        while count:
            count -= not self._in[self._at].isspace()
            self._at += 1
        return instead

    def _function(self) -> str:
        """TABLE(SYSPROC.MON_GET_X(arguments)): a subselect that applies the arguments."""
        self._take(2, "")
        name = self._word()
        if name == "SYSPROC":
            self._take(1, "")
            name = self._word()
        view = next((v for v in self._views.values() if v.plain == name and v.function), None)
        if view is None or self._word() != "(":
            raise refusals.no_routine(name, "FUNCTION")
        self.asked.add(view.name)
        arguments = self._arguments()
        if len(arguments) != len(view.arguments) or self._word() != ")":
            raise refusals.no_routine(name, "FUNCTION")
        conditions = [_condition(a, said) for a, said in zip(view.arguments, arguments, strict=True)]
        kept = " AND ".join(condition for condition in conditions if condition)
        return f"({selection(view)}{' WHERE ' + kept if kept else ''})"

    def _word(self) -> str:
        """The next token that is not white space, in upper case."""
        while self._in[self._at].isspace():
            self._at += 1
        self._at += 1
        return self._in[self._at - 1].upper()

    def _arguments(self) -> list[str]:
        """Up to the closing parenthesis, split at commas."""
        found, depth = [""], 0
        while True:
            token = self._in[self._at]
            self._at += 1
            if token == ")" and depth == 0:
                return [argument.strip() for argument in found] if "".join(found).strip() else []
            depth += {"(": 1, ")": -1}.get(token, 0)
            if token == "," and depth == 0:
                found.append("")
            else:
                found[-1] += token


def _condition(argument: str, said: str) -> str:
    """What keeps the rows that an argument asks for; each parameter marker once."""
    if argument in ("MEMBER", "DBPARTITIONNUM"):
        member = {"-2": "", "-1": "0", "NULL": "0"}.get(said.upper(), said)
        if said.lstrip("-").isdigit() or said.upper() == "NULL":
            return f"LAB_MEMBER = {member}" if member else ""
        return f"COALESCE(NULLIF({said}, -2), LAB_MEMBER) = LAB_MEMBER"
    if argument == "AUTHIDTYPE" or said.upper() in ("''", "NULL"):
        return ""
    if argument == "SEARCH_ARGS":
        raise refusals.syntax(said)  # the lab looks through all entries
    if argument == "AUTHID":  # no column of the result: the lab's own key begins with it
        return f"LAB_KEY LIKE {said} || '.%'"
    typed = f"CAST({said} AS VARCHAR(128))" if said == "?" else said
    return f"COALESCE(NULLIF({typed}, ''), {quoted(argument)}) = {quoted(argument)}"


def matched(said: Sequence[str], pattern: str) -> list[str] | None:
    """The tokens at the places of ``<>`` in a pattern; None if it does not match."""
    wanted = pattern.split()
    if len(said) != len(wanted):
        return None
    if any(want not in ("<>", word) for want, word in zip(wanted, said, strict=True)):
        return None
    return [word for want, word in zip(wanted, said, strict=True) if want == "<>"]
