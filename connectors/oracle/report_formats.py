"""Takes Statspack and AWR reports apart, as text and as HTML.

``number`` and ``seconds`` read the figures as reports print them.

``Section`` is the common form of both kinds: a titled table of text cells, with the line at which each begins.

``html_sections`` reads an HTML report: each table, titled by the heading above it. The reader is our own, because that
of the standard library takes quadratic time over tags and comments that do not end.

``text_sections`` reads a text report: titles, headings above rulers of dashes, and rows cut at the rulers. A ruler
(``-------- ----- ---``) gives the columns. A lone dash line that is indented ends a section. Two rulers with only
headings between them announce rows of two lines: names (a tablespace; since 12.2 owner and tablespace of a segment),
then figures. SQL*Plus wraps a name that is too long: a line without figures continues the row above.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html import unescape
from itertools import pairwise
from typing import NamedTuple

UNKNOWN = float("nan")
LARGEST = 1e20  # that a server counts to: 64 bits; a larger figure is none
_PLAIN = re.compile(r"-?(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
_SCALES = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_TIMES = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "min": 60.0, "mins": 60.0, "h": 3600.0}
_FOREIGN = re.compile(
    r"\d{1,3}(?:\.\d{3}){2,}(?:,\d+)?|\d{1,3}(?:\.\d{3})+,\d+|\d+,\d{1,2}|\d{4,},\d+"
    # Apostrophes, blanks, and what is left of either in another code page.
    r"|\d{1,3}(?:['\u2019\xa0\u202f\ufffd ]\d{3})+(?:[.,]\d*)?",
    re.ASCII,
)


def number(text: str) -> float:
    """The value of a cell; NaN where it is empty, not applicable or ``####`` (too wide for its column).

    ``K``, ``M``, ``G``, ``T`` and ``P`` are multiples of 1000.

    >>> number("1,234.5"), number("12.5K"), number(".5"), number("#######")
    (1234.5, 12500.0, 0.5, nan)
    """
    cell = text.strip().rstrip("%").strip()
    scale = cell[-1:].upper() if cell[-1:].isalpha() else ""
    digits = cell[: len(cell) - len(scale)].strip()
    if scale not in _SCALES or not _PLAIN.fullmatch(digits):
        return UNKNOWN
    value = float(digits.replace(",", "")) * _SCALES[scale]
    return value if value <= LARGEST else UNKNOWN


def seconds(text: str, usual: str) -> float:
    """A duration in seconds: in the unit that it names (``500.12us``, since 12.2), else in the usual one.

    >>> seconds("1.20ms", "ms"), seconds("250us", "ms"), seconds("5", "ms")
    (0.0012, 0.00025, 0.005)
    """
    found = re.fullmatch(r"\s*([-\d.,]+)\s*(ns|us|ms|s|sec|mins?|h)\s*", text)
    if found is not None:
        return number(found[1]) * _TIMES[found[2]]
    return number(text) * _TIMES[usual]


def is_foreign(text: str) -> bool:
    """Whether a number is written as other languages do: ``1.234.567``, ``60,12``, ``1'234`` or ``1 234``."""
    return _FOREIGN.fullmatch(text.strip()) is not None


LONGEST_NAME = 1000  # characters that the lines of a wrapped name make together; Oracle's have 128 at most


@dataclass(slots=True)
class Section:
    """One table of a report."""

    title: str
    line: int  # of the file, from 1
    head: list[str]  # headings, several lines joined by a space
    rows: list[list[str]] = field(default_factory=list)  # as many cells as headings
    notes: list[str] = field(default_factory=list)  # lines that explain it: "-> Total Physical Reads: 1,234"
    whole: bool = True  # False: the file ends within it

    def column(self, *patterns: str) -> int | None:
        """The first heading that one of the patterns matches from its start, whatever its case; None: there is none."""
        for pattern in patterns:
            for at, heading in enumerate(self.head):
                if re.match(pattern, heading, re.IGNORECASE):
                    return at
        return None


def named(sections: Iterable[Section], pattern: str) -> list[Section]:
    """The sections whose title matches from its start, whatever its case."""
    return [section for section in sections if re.match(pattern, section.title, re.IGNORECASE)]


def cells(row: Sequence[str], *columns: int | None) -> list[str]:
    """Cells of a row; "" where the table has no such column."""
    return ["" if at is None or at >= len(row) else row[at].strip() for at in columns]


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


TITLES = (
    r"Tablespace IO Stats", r"File IO Stats", r"Segments by [A-Za-z ]+?", r"Foreground Wait Events", r"Wait Events",
    r"Top \d+ (?:Timed )?(?:Foreground )?(?:Timed )?Events(?: by Total Wait Time)?", r"Top \d+ Wait Events",
    r"Background Wait Events", r"Load Profile", r"(?:Key |Other )?Instance Activity Stats",
)  # fmt: skip
_TITLE = re.compile(rf"^\s*({'|'.join(TITLES)})(?=\s{{2,}}|\s*$|\s+DB/Inst|\s+for DB|\s+\()", re.IGNORECASE)
_RULER = re.compile(r"^\s*-{2,}(?:\s+-+)*\s*$|^\s*-+(?:\s+-+)+\s*$")
_ALONE = re.compile(r"^(\s*)-{3,}\s*$")
CONTAINER = "PDB Name"  # as HTML reports head the column
PAGE_HEADINGS = frozenset({"OUTPUT", "COLUMN_VALUE"})  # of DBMS_WORKLOAD_REPOSITORY.AWR_REPORT_TEXT
_PAGE_RULER = re.compile(r"-{40,}$")
_MOST_HEADING_LINES = 8
_MOST_COLUMNS = 100  # of a table: no report has half as many
_END_INDENT = 6  # the dash line that ends a section is indented by more than a name's ruler


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    text: str


def text_sections(text: str) -> list[Section]:
    """Every known section of a report, in order; one that is continued on another page comes again."""
    lines = _without_page_headings(_lines(text))
    starts = [at for at, line in enumerate(lines) if _TITLE.match(line.text) and not _is_ruled_row(line.text)]
    sections = []
    for start, following in pairwise([*starts, len(lines)]):
        section = _section(lines[start:following], last=following == len(lines))
        if section is not None:
            sections.append(section)
    return sections


def _lines(text: str) -> list[_Line]:
    """Lines without tabs; a page break is a blank line before the line that it stands in."""
    found: list[_Line] = []
    for number, line in enumerate(re.split(r"\r\n|\r|\n", text), start=1):
        if "\f" in line:
            found.append(_Line(number, ""))
        found.append(_Line(number, line.expandtabs(8).replace("\f", "").rstrip()))
    return found


def _without_page_headings(lines: Sequence[_Line]) -> list[_Line]:
    """The lines without what SQL*Plus prints on each page above a report that is one column of a query.

    That is the name of the column, OUTPUT, over dashes from the left margin as wide as the line, or over none, and a
    blank line before it. The rows of one table go on below, so nothing may be left of it.
    """
    found: list[_Line] = []
    at = 0
    while at < len(lines):
        under = lines[at + 1].text if at + 1 < len(lines) else ""
        heads = lines[at].text.strip().upper() in PAGE_HEADINGS
        if heads and (_PAGE_RULER.match(under) or (found and not found[-1].text)):
            if found and not found[-1].text:
                found.pop()
            at += 2 if _PAGE_RULER.match(under) else 1
        else:
            found.append(lines[at])
            at += 1
    return found


def _is_ruled_row(text: str) -> bool:
    return bool(re.search(r"\d\s*$", text)) and "DB/Inst" not in text and "Snaps" not in text


def _is_underline(text: str) -> bool:
    """Whether a line is tildes, with a note in percent behind them or not."""
    tildes = text.partition("%")[0]
    return "~~~" in tildes and not tildes.replace("~", "").strip()


def _section(lines: Sequence[_Line], *, last: bool) -> Section | None:
    """The table below a title; None where there is none."""
    title = _TITLE.match(lines[0].text)
    assert title is not None, "it was found by it"
    end = next((at for at, line in enumerate(lines) if at and _is_end(line.text, lines, at)), None)
    body = list(lines[1 : end if end is not None else len(lines)])
    rulers = [at for at, line in enumerate(body) if _RULER.match(line.text)]
    notes = [line.text.strip() for line in body if line.text.lstrip().startswith("->")]
    if not rulers:
        whole = end is not None or not last
        return Section(title[1], lines[0].number, [], notes=notes, whole=whole)
    section = Section(title[1], lines[0].number, [], notes=notes, whole=end is not None or not last)
    _fill(section, body, rulers)
    return section


def _is_end(text: str, lines: Sequence[_Line], at: int) -> bool:
    alone = _ALONE.match(text)
    if alone is None:
        return False
    return len(alone[1]) >= _END_INDENT or (at > 1 and "-" * 40 in text and not _is_name_ruler(lines, at))


def _is_name_ruler(lines: Sequence[_Line], at: int) -> bool:
    """Whether another ruler follows soon: then this one is of the name that has a line of its own."""
    return any(_RULER.match(line.text) and not _ALONE.match(line.text) for line in lines[at + 1 : at + 5])


def _fill(section: Section, body: Sequence[_Line], rulers: Sequence[int]) -> None:
    """Headings and rows. A ruler that only headings follow, up to the next one, is of names on a line of their own."""
    names: list[tuple[int, int]] = []
    names_head: list[str] = []
    starts = _heading_starts(body, rulers)
    for position, ruler in enumerate(rulers):
        spans = [match.span() for match in re.finditer(r"-+", body[ruler].text)]
        if len(spans) > _MOST_COLUMNS:
            continue
        heading = [line.text for line in body[starts[position] : ruler]]
        following = rulers[position + 1] if position + 1 < len(rulers) else len(body)
        until = starts[position + 1] if position + 1 < len(rulers) else following
        if following < len(body) and until == ruler + 1 and following > until:
            names, names_head = spans, _headings(heading, spans) if heading else ["name"] * len(spans)
            continue
        section.head = names_head + _headings(heading, spans)
        rows = [line.text for line in body[ruler + 1 : max(until, ruler + 1)]]
        section.rows += _pairs(rows, names, spans) if names else _rows(rows, spans)
    if any(len(row) > len(section.head) for row in section.rows):
        section.head.append(CONTAINER)


def _heading_starts(body: Sequence[_Line], rulers: Sequence[int]) -> list[int]:
    """First line of the heading above each ruler. One that comes again, on another page, is as high as the first."""
    heights: dict[str, tuple[str, ...]] = {}
    found: list[int] = []
    for ruler in rulers:
        first = heights.get(body[ruler].text)
        at = ruler - len(first) if first is not None else 0
        if first is not None and first == tuple(line.text for line in body[max(0, at) : ruler]):
            found.append(at)
            continue
        start = _heading_start(body, ruler)
        if ruler - start <= _MOST_HEADING_LINES:
            heights.setdefault(body[ruler].text, tuple(line.text for line in body[start:ruler]))
        found.append(start)
    return found


def _heading_start(body: Sequence[_Line], ruler: int) -> int:
    """First line of the heading above a ruler."""
    at = ruler
    while at > 0:
        above = body[at - 1].text
        if not above.strip() or above.lstrip().startswith("->") or _RULER.match(above) or _is_underline(above):
            break
        if _TITLE.match(above):
            break
        at -= 1
    return at


def _headings(lines: Sequence[str], spans: Sequence[tuple[int, int]]) -> list[str]:
    """Words of each column; a word belongs to the column that it overlaps most."""
    found: list[list[str]] = [[] for _ in spans]
    for line in lines:
        for word in re.finditer(r"\S+", line):
            overlaps = [min(end, word.end()) - max(start, word.start()) for start, end in spans]
            found[max(range(len(spans)), key=overlaps.__getitem__)].append(word[0])
    return [" ".join(words) for words in found]


def _pairs(lines: Sequence[str], names: Sequence[tuple[int, int]], spans: Sequence[tuple[int, int]]) -> list[list[str]]:
    """Rows of names on one line and figures on the next. A name that is left out is that of the row above.

    A line below may say the pluggable database; that is a cell more.
    """
    rows: list[list[str]] = []
    held = [""] * len(names)
    fresh = False  # names have come since the last row
    for line in lines:
        words = line.split()
        if not words:
            continue
        if words[0] == "PDB:":
            if rows and not fresh and len(rows[-1]) == len(names) + len(spans):
                rows[-1].append(" ".join(words[1:]))
            continue
        if sum(map(_is_value, words)) >= min(2, len(spans)):
            if fresh:
                rows.append([*held, *_figures(line, words, spans)])
            fresh = False
            continue
        found = _cut(line, names)
        if fresh and len(names) == 1 and len(held[0]) < LONGEST_NAME:
            held = [held[0] + found[0]]
        else:
            held = [new or old for new, old in zip(found, held, strict=True)]
        fresh = True
    return rows


def _figures(line: str, words: Sequence[str], spans: Sequence[tuple[int, int]]) -> Sequence[str]:
    """Cells by the ruler, where each number has one of its own; else by words: a name of several bytes shifts them."""
    found = _cut(line, spans)
    shifted = sum(map(_is_value, found)) != sum(map(_is_value, words))
    return words if shifted and len(words) == len(spans) else found


def _is_value(word: str) -> bool:
    return number(word) == number(word) or set(word) == {"#"}


def _rows(lines: Sequence[str], spans: Sequence[tuple[int, int]]) -> list[list[str]]:
    rows: list[list[str]] = []
    for line in lines:
        words = line.split()
        if not words or _is_underline(line):
            continue
        row = _cut(line, spans)
        if words[0] == "PDB:":
            if rows and len(rows[-1]) == len(spans):
                rows[-1].append(" ".join(words[1:]))
        elif rows and _continues(row, rows[-1]):
            rows[-1] = [(above.rstrip() + below.strip()) for above, below in zip(rows[-1], row, strict=True)]
        else:
            rows.append(row)
    return rows


def _continues(row: Sequence[str], above: Sequence[str]) -> bool:
    """Whether a row holds but the rest of names: no number, and nothing in its last columns, where numbers are."""
    if len(row) < 2 or len(row) != len(above) or max(map(len, above)) >= LONGEST_NAME:
        return False
    return not any(_is_value(cell.strip()) for cell in row[1:] if cell.strip()) and not (row[-1] + row[-2]).strip()


def _cut(line: str, spans: Sequence[tuple[int, int]]) -> list[str]:
    """Cells by the ruler; where a word lies across a border, the columns were shifted: by words from the right."""
    if all(line[end : end + 1].strip() == "" for _, end in spans[:-1]):
        ends = [end for _, end in spans[:-1]] + [None]
        return [line[start:end].strip() for (start, _), end in zip(spans, ends, strict=True)]
    words = line.split()
    if len(words) >= len(spans):
        extra = len(words) - len(spans)
        return [" ".join(words[: extra + 1]), *words[extra + 1 :]]
    return words + [""] * (len(spans) - len(words))
