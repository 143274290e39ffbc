"""Results of queries as tools write them: CSV of psql, SSMS and SQL*Plus, Db2's EXPORT, tables of sqlcmd and the CLP.

``rows_of`` finds out of the text itself what the tool does not say: which character is between cells, or a ruler of
dashes that they stand under; whether there is a header line; how numbers are written. What is left open is refused,
with line and column, for a wrong guess would be a wrong figure.

``columns_of`` are the columns of a query, by which a result without a header line is known.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from connectors.kit.assessment import NamedRows, Row, UnusableFile

BETWEEN = ",", ";", "\t", "|"
LOOKED_AT = 20  # lines, by which the character between cells is found
_TEXT = ("NAME", "OWNER", "SCHEMA", "PATH", "KEY", "TYPE", "TBSP", "FILE", "VERSION", "RELEASE", "STATE", "EPOCH")
_NUMBERED = ("ID", "FILES", "NO")
_TRUTH = {"t": True, "f": False, "true": True, "false": False}
_FOOT = re.compile(
    r"\s*\(?\d{1,20}\s{1,8}(?:rows?|record\(s\)|Zeilen?|lignes?|filas?)(?:\s{1,8}(?:selected|affected))?\s{0,8}\.?\)?\.?\s*$",
    re.IGNORECASE,
)
_RULER = re.compile(r"[-\s,;|+]+$")
_PLAIN = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?$", re.ASCII)
_COMMA_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d*)?$", re.ASCII)
_DOT_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:\.\d{3})+(?:,\d*)?$", re.ASCII)
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+$", re.ASCII)
_LEFT_OPEN = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}$", re.ASCII)  # 1,234 and 1.234: thousands or a fraction
_WITHOUT_THOUSANDS = re.compile(r"[+-]?\d{4}", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Table:
    """Cells as text, with the line of each row; titles are () where there is no header line."""

    titles: Sequence[str]
    rows: Sequence[tuple[int, Sequence[str]]]


def rows_of(path: str, text: str, columns: Sequence[str] = ()) -> list[Row]:
    """Rows of a result; numbers as numbers, an empty cell as None.

    A column is one of numbers where all of its cells are, unless its heading says that it holds names.

    Args:
        path: for messages.
        text: of the file.
        columns: of the query, () where they are not known.

    Raises:
        UnusableFile: its rows are of different lengths, it has no header line and is not as wide as the query, or its
            numbers may be read in two ways.
    """
    return _parse_rows(path, _table(path, text, columns), columns)


def named_rows_of(path: str, text: str, columns: Sequence[str]) -> NamedRows:
    """The same with their lines and the names of their columns, those of the query where there is no header line.

    Raises:
        UnusableFile: see ``rows_of``.
    """
    table = _table(path, text, columns)
    lines = [line for line, _ in table.rows]
    rows = zip(lines, _parse_rows(path, table, columns), strict=True)
    return NamedRows(path=path, columns=table.titles or columns, rows=list(rows))


def _parse_rows(path: str, table: _Table, columns: Sequence[str]) -> list[Row]:
    titles = table.titles or columns
    if not table.rows:
        return []
    cells = list(zip(*(row for _, row in table.rows), strict=True))
    lines = [line for line, _ in table.rows]
    style = _number_style(path, titles, cells, lines)
    named = [titles[at] if at < len(titles) else "" for at in range(len(cells))]
    return list(
        zip(*(_parse_column(title, column, style) for title, column in zip(named, cells, strict=True)), strict=True)
    )


def titled_rows_of(path: str, text: str) -> tuple[Sequence[str], list[Row]]:
    """Titles and rows of a table that is known by its columns.

    Raises:
        UnusableFile: it has no header line, or see ``rows_of``.
    """
    table = _table(path, text, ())
    if not table.titles:
        raise UnusableFile(
            path,
            "has no header line, and its columns are known by their names",
            advice="Export it with a header line.",
            line=1,
        )
    return table.titles, _parse_rows(path, table, ())


def columns_of(query: str) -> tuple[str, ...]:
    """Names of the columns of a query's result, as far as it names them; () if it does not."""
    words = re.sub(r"--[^\n]*", " ", query)
    inner = re.match(r"\s*COPY\s*\(", words, re.IGNORECASE)
    if inner is not None:
        words = words[inner.end() :]
    chosen = _select_list(words)
    if chosen is None or any(each.strip() in {"", "*"} or each.strip().endswith(".*") for each in chosen):
        return ()
    return tuple(each.split()[-1].rpartition(".")[2].strip('"') for each in chosen)


def _select_list(words: str) -> list[str] | None:
    """What stands between the outermost SELECT and its FROM, by commas that no brackets hold."""
    depth, begun, start, end, found = 0, False, 0, len(words), list[str]()
    for match in re.finditer(r"'[^']*'|\"[^\"]*\"|[()]|,|\b(?:SELECT|FROM)\b", words, re.IGNORECASE):
        word = match[0].upper()
        if word == "(":
            depth += 1
        elif word == ")":
            if depth == 0:  # of COPY
                end = match.start()
                break
            depth -= 1
        elif depth == 0 and word == "SELECT" and not begun:
            begun, start = True, match.end()
        elif depth == 0 and begun and word == ",":
            found.append(words[start : match.start()])
            start = match.end()
        elif depth == 0 and begun and word == "FROM":
            return [*found, words[start : match.start()]]
    return [*found, words[start:end]] if begun else None


# -- cells -----------------------------------------------------------------------------------------------------------


def _table(path: str, text: str, columns: Sequence[str]) -> _Table:
    lines = _body(text)
    if not lines:
        raise UnusableFile(path, "is empty", advice="Export it again.", line=1)
    ruler = next((at for at, (_, line) in enumerate(lines[:3]) if at and "--" in line and _RULER.match(line)), None)
    if ruler is not None and not any(sign in lines[ruler][1] for sign in (*BETWEEN, "+")):
        found = _under_ruler(lines, ruler)
    else:
        if ruler is not None:
            lines = [line for line in lines if line[1] != lines[ruler][1]]
        found = _split_at_separators(path, lines, columns, stripped=ruler is not None)
    (line, head), *rows = found
    has_head = ruler is not None or _is_head(head, [row for _, row in rows], columns)
    if not has_head:
        rows = [(line, head), *rows]
        if columns and len(head) != len(columns):
            raise UnusableFile(
                path,
                f"has no header line and {len(head)} cells a row, where the query has {len(columns)} columns",
                advice="Export all columns of the query, in its order, best with a header line.",
                line=line,
            )
    for number, row in rows:
        if len(row) != len(head):
            whose = "the header has" if has_head else "the first row has"
            raise UnusableFile(
                path,
                f"has {len(row)} cells where {whose} {len(head)}",
                advice="Export it as CSV, names with commas in quotes.",
                line=number,
            )
    repeated = tuple(head)
    return _Table(head if has_head else (), [each for each in rows if not has_head or tuple(each[1]) != repeated])


def _body(text: str) -> list[tuple[int, str]]:
    """Lines with their numbers, without blank ones and what tools write below a result."""
    lines = [(number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    while lines and _FOOT.match(lines[-1][1][:200]):
        lines.pop()
    return lines


def _under_ruler(lines: Sequence[tuple[int, str]], ruler: int) -> list[tuple[int, list[str]]]:
    """Cells of fixed width: heading and rows cut at the dashes; a ruler that comes again, on another page, is none."""
    dashes = lines[ruler][1]
    starts = [match.start() for match in re.finditer(r"-+", dashes)]
    ends = [*starts[1:], None]
    return [
        (number, [line[start:end].strip() for start, end in zip(starts, ends, strict=True)])
        for number, line in lines[ruler - 1 :]
        if line != dashes
    ]


def _split_at_separators(
    path: str, lines: Sequence[tuple[int, str]], columns: Sequence[str], *, stripped: bool
) -> list[tuple[int, list[str]]]:
    numbers = [number for number, _ in lines]
    reader = csv.reader(io.StringIO("\n".join(line for _, line in lines)), delimiter=_between(lines, columns))
    found: list[tuple[int, list[str]]] = []
    try:
        for row in reader:
            at = numbers[min(reader.line_num, len(numbers)) - 1]
            found.append((at, [cell.strip() for cell in row] if stripped else row))
    except csv.Error as error:
        raise UnusableFile(path, f"is no CSV: {error}", advice="Export it again.", line=reader.line_num) from error
    return found


def _between(lines: Sequence[tuple[int, str]], columns: Sequence[str]) -> str:
    """The character between cells: by it the first lines are as wide as the query, or all as wide as each other."""
    widths = {sign: _widths(lines, sign) for sign in BETWEEN}
    right = [sign for sign in BETWEEN if columns and set(widths[sign]) == {len(columns)}]
    alike = [sign for sign in BETWEEN if len(set(widths[sign])) == 1 and widths[sign][0] > 1]
    most = max(BETWEEN, key=lambda sign: widths[sign][0])
    return (right or sorted(alike, key=lambda sign: -widths[sign][0]) or [most])[0]


def _widths(lines: Sequence[tuple[int, str]], sign: str) -> list[int]:
    try:
        rows = csv.reader(io.StringIO("\n".join(line for _, line in lines[:LOOKED_AT])), delimiter=sign)
        return [len(row) for row in islice(rows, LOOKED_AT)] or [0]
    except csv.Error:
        # Fields that csv refuses: the sign is no separator of this file.
        return [0]


def _is_head(first: Sequence[str], rows: Sequence[Sequence[str]], columns: Sequence[str]) -> bool:
    """Whether a row is of titles: of the query's, else texts above numbers."""
    words = [cell.strip().strip('"').upper() for cell in first]
    known = {column.strip('"').upper() for column in columns if column}
    if known and 2 * sum(word in known for word in words) >= len(words):
        return True
    if any(_is_number(word) or not word for word in words):
        return False
    return not columns or not rows or any(_is_number(cell) for row in rows[:LOOKED_AT] for cell in row)


def _is_number(cell: str) -> bool:
    word = cell.strip()
    return any(form.match(word) for form in (_PLAIN, _COMMA_THOUSANDS, _DOT_THOUSANDS, _DECIMAL_COMMA))


# -- numbers ---------------------------------------------------------------------------------------------------------

PLAIN, THOUSANDS, COMMA = "plain", "with commas between thousands", "with a decimal comma"


def _number_style(path: str, titles: Sequence[str], cells: Sequence[Sequence[str]], lines: Sequence[int]) -> str:
    """How numbers are written in the columns of numbers, by those that can be read in one way only.

    Raises:
        UnusableFile: they are written in two ways, or none can be read in one way only.
    """
    seen: Counter[str] = Counter()
    plain = False  # whether some number shows that a point is no sign between thousands
    open_at: tuple[int, str, str] | None = None
    for at, column in enumerate(cells):
        title = titles[at] if at < len(titles) else ""
        if _is_text(title) or not all(_is_number(cell) or _is_empty(cell) for cell in column):
            continue
        for line, cell in zip(lines, column, strict=True):
            word = cell.strip()
            style = _style_of(word)
            if style is not None:
                seen[style] += 1
            elif _LEFT_OPEN.match(word):
                # Of two signs the comma: it is open even where a point is plain.
                if open_at is None or ("," in word and "," not in open_at[2]):
                    open_at = line, title or f"column {at + 1}", word
            else:
                plain = plain or "." in word or _WITHOUT_THOUSANDS.match(word) is not None
    if len(seen) == 2:
        raise UnusableFile(
            path,
            f"numbers are written both {THOUSANDS} and {COMMA}",
            advice="Export numbers without thousands, with a decimal point.",
        )
    if seen:
        return next(iter(seen))
    if open_at is None or (plain and "," not in open_at[2]):
        return PLAIN
    line, title, cell = open_at
    raise UnusableFile(
        path,
        f"{title}: {cell} may be {re.sub('[.,]', '', cell)} or {cell.replace(',', '.')}",
        advice="Export numbers without thousands, with a decimal point.",
        line=line,
    )


def _style_of(cell: str) -> str | None:
    """The only way in which a number can be meant; None where it is plain, or may be meant in two."""
    if _LEFT_OPEN.match(cell) or _PLAIN.match(cell):
        return None
    if _COMMA_THOUSANDS.match(cell) and not cell.startswith(("0", "-0", "+0")):
        return THOUSANDS
    return COMMA if _DECIMAL_COMMA.match(cell) or _DOT_THOUSANDS.match(cell) else None


def _parse_column(title: str, column: Sequence[str], style: str) -> list[Any]:
    """The cells as numbers or truth values where all of them are, else as text; empty ones are None."""
    values = [None if _is_empty(cell) else cell for cell in column]
    if _is_text(title):
        return values
    return _read_all(values, _READERS[style]) or _read_all(values, _truth) or values


def _is_empty(cell: str) -> bool:
    return cell in {"", "NULL"} or cell.strip() in {"", "NULL", "-"}


def _read_all(values: Sequence[str | None], read: Callable[[str], Any]) -> list[Any]:
    """The values as ``read`` takes them; empty where it cannot take one."""
    try:
        return [None if value is None else read(value) for value in values]
    except ValueError:
        return []


def _is_text(title: str) -> bool:
    """Whether the title is one of names, which may look like numbers."""
    words = title.upper().replace('"', "")
    return any(word in words for word in _TEXT) and not words.endswith(_NUMBERED)


def _truth(text: str) -> bool:
    word = text.strip().lower()
    if word not in _TRUTH:
        raise ValueError(f"{text!r} is no truth value")
    return _TRUTH[word]


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        # Only here: beyond 2**53 a float would cost a counter its last digits.
        found = float(text)
    if not math.isfinite(found):
        raise ValueError(f"{text!r:.40} is no number of a counter")
    return int(found) if found.is_integer() and text.strip().endswith(".") else found


def _without_thousands(text: str) -> int | float:
    return _number(text.strip().replace(",", "")) if _COMMA_THOUSANDS.match(text.strip()) else _number(text)


def _with_comma(text: str) -> int | float:
    word = text.strip()
    if _DOT_THOUSANDS.match(word):
        word = word.replace(".", "")
    return _number(word.replace(",", "."))


_READERS: Mapping[str, Callable[[str], int | float]] = {
    PLAIN: _number, THOUSANDS: _without_thousands, COMMA: _with_comma
}  # fmt: skip
