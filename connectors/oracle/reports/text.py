"""Takes a text report apart: titles, headings above rulers of dashes, rows cut at the rulers.

A ruler gives the columns (``-------- ----- ---``). A lone dash line that is indented ends a section. Two rulers with
nothing but headings between them are of rows that take two lines: names (a tablespace; since 12.2 owner and tablespace
of a segment), then figures. SQL*Plus wraps a name that is too long: a line without figures continues the row above.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from connectors.oracle.reports.figures import number
from connectors.oracle.reports.sections import LONGEST_NAME, Section

TITLES = (
    r"Tablespace IO Stats", r"File IO Stats", r"Segments by [A-Za-z ]+?", r"Foreground Wait Events", r"Wait Events",
    r"Top \d+ (?:Timed )?(?:Foreground )?(?:Timed )?Events(?: by Total Wait Time)?", r"Top \d+ Wait Events",
    r"Background Wait Events", r"Load Profile",
)  # fmt: skip
_TITLE = re.compile(rf"^\s*({'|'.join(TITLES)})(?=\s{{2,}}|\s*$|\s+DB/Inst|\s+for DB|\s+\()", re.IGNORECASE)
_RULER = re.compile(r"^\s*-{2,}(?:\s+-+)*\s*$|^\s*-+(?:\s+-+)+\s*$")
_ALONE = re.compile(r"^(\s*)-{3,}\s*$")
_MOST_COLUMNS = 100  # of a table: no report has half as many
_END_INDENT = 6  # the dash line that ends a section is indented by more than a name's ruler


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    text: str


def text_sections(text: str) -> list[Section]:
    """Every known section of a report, in order; one that is continued on another page comes again."""
    lines = [_Line(at, line.rstrip()) for at, line in enumerate(_pages(text), start=1)]
    starts = [at for at, line in enumerate(lines) if _TITLE.match(line.text) and not _is_ruled_row(line.text)]
    sections = []
    for start, following in pairwise([*starts, len(lines)]):
        section = _section(lines[start:following], last=following == len(lines))
        if section is not None:
            sections.append(section)
    return sections


def _pages(text: str) -> list[str]:
    """Lines without tabs and page breaks."""
    return [line.expandtabs(8).replace("\f", "") for line in re.split(r"\r\n|\r|\n", text)]


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
    for position, ruler in enumerate(rulers):
        spans = [match.span() for match in re.finditer(r"-+", body[ruler].text)]
        if len(spans) > _MOST_COLUMNS:
            continue
        heading = [line.text for line in body[_heading_start(body, ruler) : ruler]]
        following = rulers[position + 1] if position + 1 < len(rulers) else len(body)
        until = _heading_start(body, following) if following < len(body) else following
        if following < len(body) and until == ruler + 1 and following > until:
            names, names_head = spans, _headings(heading, spans) if heading else ["name"] * len(spans)
            continue
        section.head = names_head + _headings(heading, spans)
        rows = [line.text for line in body[ruler + 1 : max(until, ruler + 1)]]
        section.rows += _pairs(rows, names, spans) if names else _rows(rows, spans)


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
    """Rows of names on one line and figures on the next. A name that is left out is that of the row above."""
    rows: list[list[str]] = []
    held = [""] * len(names)
    fresh = False  # names have come since the last row
    for line in lines:
        words = line.split()
        if not words or words[0] == "PDB:":
            continue
        if sum(map(_is_value, words)) >= min(2, len(spans)):
            if fresh:
                rows.append([*held, *(words if len(words) == len(spans) else _cut(line, spans))])
            fresh = False
            continue
        found = _cut(line, names)
        if fresh and len(names) == 1 and len(held[0]) < LONGEST_NAME:
            held = [held[0] + found[0]]
        else:
            held = [new or old for new, old in zip(found, held, strict=True)]
        fresh = True
    return rows


def _is_value(word: str) -> bool:
    return number(word) == number(word) or set(word) == {"#"}


def _rows(lines: Sequence[str], spans: Sequence[tuple[int, int]]) -> list[list[str]]:
    rows: list[list[str]] = []
    for line in lines:
        if not line.strip() or _is_underline(line):
            continue
        row = _cut(line, spans)
        if rows and not any(_is_value(cell.strip()) for cell in row[1:] if cell.strip()) and _continues(row, rows[-1]):
            rows[-1] = [(above.rstrip() + below.strip()) for above, below in zip(rows[-1], row, strict=True)]
        else:
            rows.append(row)
    return rows


def _continues(row: Sequence[str], above: Sequence[str]) -> bool:
    """Whether a row holds but the rest of names: its last columns, which are numbers everywhere, are empty."""
    if len(row) < 2 or max(map(len, above)) >= LONGEST_NAME:
        return False
    return not row[-1].strip() and not row[-2].strip()


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
