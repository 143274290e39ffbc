"""Takes an HTML report apart, by the standard library's parser: each table with the heading above it."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from connectors.oracle.reports.sections import Section

_HEADINGS = frozenset({"h1", "h2", "h3", "h4"})
_IGNORED = frozenset({"script", "style"})


def html_sections(text: str) -> list[Section]:
    """Every table of the report, in order; the heading or caption above it is its title."""
    reader = _Tables()
    reader.feed(text)
    reader.close()
    return reader.finished()


class _Tables(HTMLParser):
    """Collects tables. Tables within tables are layout, and the inner ones count."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.sections: list[Section] = []
        self._title = ""
        self._notes: list[str] = []
        self._open: list[Section] = []
        self._words: list[str] | None = None  # of what is being read: a heading, a cell or a list item
        self._row: list[str] | None = None
        self._is_head = False
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A table, a row, a cell or a heading begins; an end tag that is missing is taken as given."""
        if tag in _IGNORED:
            self._silent += 1
        elif tag in _HEADINGS:
            self._words, self._notes = [], []
        elif tag == "table":
            self._end_row()
            summary = dict(attrs).get("summary") or ""
            title = self._title or summary
            self._open.append(Section(title, self.getpos()[0], [], notes=list(self._notes), whole=False))
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

    def handle_endtag(self, tag: str) -> None:
        """The same ends."""
        if tag in _IGNORED:
            self._silent = max(0, self._silent - 1)
        elif tag in _HEADINGS and self._words is not None:
            self._title, self._words = self._text() or self._title, None
        elif tag == "li" and self._words is not None:
            self._notes.append(self._text())
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

    def handle_data(self, data: str) -> None:
        """Words of whatever is open."""
        if self._words is not None and not self._silent:
            self._words.append(data)
        elif not self._silent and not self._open and data.strip().startswith("->"):
            self._notes.append(data.strip())

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
