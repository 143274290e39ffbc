"""Takes an HTML report apart: each table with the heading above it.

By a reader of our own: the standard library's takes quadratic time over tags and comments that do not end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import NamedTuple

from connectors.oracle.reports.sections import Section

_HEADINGS = frozenset({"h1", "h2", "h3", "h4"})
_IGNORED = frozenset({"script", "style"})
_NAME = re.compile(r"(/?)([a-zA-Z][a-zA-Z0-9]*)")
_SUMMARY = re.compile(r"""\bsummary\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)
_MOST_NOTES = 20  # above a table


class _Token(NamedTuple):
    text: str  # of a tag: what stands between its brackets
    is_tag: bool
    line: int


def html_sections(text: str) -> list[Section]:
    """Every table of the report, in order; the heading or caption above it is its title."""
    reader = _Tables()
    for token in _tokens(text):
        reader.read(token)
    return reader.finished()


def _tokens(text: str) -> Iterator[_Token]:
    """Tags and the text between them, in order; comments are left out.

    A bracket that no other one ends, or within which another one begins, is text: no tag of a report holds one.
    """
    at, end, line = 0, -1, 1
    while (begin := text.find("<", at)) >= 0:
        if begin > at:
            yield _Token(text[at:begin], is_tag=False, line=line)
        line += text.count("\n", at, begin)
        if text.startswith("<!--", begin):
            after = text.find("-->", begin + 4)
            if after < 0:
                return
            after += 3
        else:
            if end < begin and (end := text.find(">", begin)) < 0:  # looked for once for all brackets before it
                yield _Token(text[begin:], is_tag=False, line=line)
                return
            following = text.find("<", begin + 1, end)
            after = following if following >= 0 else end + 1
            inside = text[begin + 1 : end] if following < 0 else text[begin:following]
            yield _Token(inside, is_tag=following < 0, line=line)
        line += text.count("\n", begin, after)
        at = after
    yield _Token(text[at:], is_tag=False, line=line)


class _Tables:
    """Collects tables. Tables within tables are layout, and the inner ones count."""

    def __init__(self) -> None:
        self.sections: list[Section] = []
        self._title = ""
        self._notes: list[str] = []
        self._open: list[Section] = []
        self._words: list[str] | None = None  # of what is being read: a heading, a cell or a list item
        self._row: list[str] | None = None
        self._is_head = False
        self._silent = ""  # what holds no text of the report and is open

    def read(self, token: _Token) -> None:
        """A tag or a text."""
        found = _NAME.match(token.text) if token.is_tag else None
        name = found[2].lower() if found else ""
        if self._silent:
            if found and found[1] and name == self._silent:
                self._silent = ""
        elif not token.is_tag:
            self._read_text(unescape(token.text))
        elif found and found[1]:
            self._end(name)
        elif found:
            self._begin(name, token)

    def _begin(self, tag: str, token: _Token) -> None:
        """A table, a row, a cell or a heading begins; an end tag that is missing is taken as given."""
        if tag in _IGNORED:
            self._silent = tag
        elif tag in _HEADINGS:
            self._words, self._notes = [], []
        elif tag == "table":
            self._end_row()
            title = self._title or _summary_of(token.text)
            self._open.append(Section(title, token.line, [], notes=list(self._notes), whole=False))
        elif tag == "tr":
            self._end_row()
            self._row, self._is_head = [], False
        elif tag in {"td", "th"} and self._row is not None:
            self._end_cell()
            self._words = []
            self._is_head = self._is_head or tag == "th"
        elif tag == "li":
            self._words = []
        elif tag == "br" and self._words is not None:
            self._words.append(" ")

    def _end(self, tag: str) -> None:
        """The same ends."""
        if tag in _HEADINGS and self._words is not None:
            self._title, self._words = self._text() or self._title, None
        elif tag == "li" and self._words is not None:
            self._note(self._text())
            self._words = None
        elif tag in {"td", "th"}:
            self._end_cell()
        elif tag == "tr":
            self._end_row()
        elif tag == "table" and self._open:
            self._end_row()
            section = self._open.pop()
            section.whole = True
            self.sections.append(section)

    def _read_text(self, text: str) -> None:
        """Words of whatever is open."""
        if self._words is not None:
            self._words.append(text)
        elif not self._open and text.strip().startswith("->"):
            self._note(text.strip())

    def _note(self, text: str) -> None:
        if len(self._notes) < _MOST_NOTES:  # every table up to the next heading has all of them
            self._notes.append(text)

    def finished(self) -> list[Section]:
        """What was found, tables that the file breaks off in included."""
        self._end_row()
        return sorted([*self.sections, *self._open], key=lambda section: section.line)

    def _text(self) -> str:
        return re.sub(r"\s+", " ", "".join(self._words or ())).strip()

    def _end_cell(self) -> None:
        if self._words is not None and self._row is not None:
            self._row.append(self._text())
            self._words = None

    def _end_row(self) -> None:
        self._end_cell()
        row, self._row = self._row, None
        if not row or not self._open:
            return
        section = self._open[-1]
        if self._is_head and not section.head:
            section.head = row
        else:
            section.rows.append(row)


def _summary_of(tag: str) -> str:
    found = _SUMMARY.search(tag)
    return unescape(found[1] or found[2] or "") if found else ""
