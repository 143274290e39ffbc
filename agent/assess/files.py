"""The files that a person names: reports, exports of an engine's queries, sizes. Reads them; judges nothing."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from connectors.assessment import Export, Row, UnusableFile

LARGEST_BYTES = 256 * 2**20  # of one file; an AWR report has a few MiB
_TEXT = ("NAME", "OWNER", "SCHEMA", "PATH", "KEY", "TYPE", "TBSP", "FILE", "VERSION", "RELEASE", "STATE", "EPOCH")
_NUMBERED = ("ID", "FILES", "NO")
_TRUTH = {"t": True, "f": False, "true": True, "false": False}


def read_text(path: Path) -> str:
    """A file as text: UTF-8 or UTF-16 by its mark, else UTF-8 with what is not replaced; ``.gz`` unpacked.

    Raises:
        UnusableFile: it cannot be read, is too large, empty, or no text.
    """
    try:
        raw = path.read_bytes() if path.stat().st_size <= LARGEST_BYTES else None
        if raw is not None and raw[:2] == b"\x1f\x8b":
            with gzip.open(io.BytesIO(raw)) as packed:
                raw = packed.read(LARGEST_BYTES + 1)
    except (OSError, EOFError, gzip.BadGzipFile) as error:
        said = getattr(error, "strerror", None) or str(error)
        raise UnusableFile(str(path), f"cannot be read: {said}", advice="Name a file that you may read.") from error
    if raw is None or len(raw) > LARGEST_BYTES:
        raise UnusableFile(str(path), "is larger than 256 MiB", advice="Name one report, not an archive of them.")
    if not raw.strip():
        raise UnusableFile(str(path), "is empty", advice="Make the report again.", line=1)
    text = raw.decode("utf-16" if raw[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8-sig", errors="replace")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise UnusableFile(str(path), "is no text", advice="Name a report as text or HTML, CSV or JSON.", line=line)
    return text


def is_export(path: Path) -> bool:
    """Whether it is a folder of CSV files or a JSON file."""
    return path.is_dir() or path.suffix.lower() == ".json"


def read_export(path: Path, names: Iterable[str]) -> Export:
    """Results by the name of their query.

    Args:
        path: of a folder with a file ``NAME.csv`` a query, or of a JSON file.
        names: of the engine's queries.

    Raises:
        UnusableFile: it cannot be read, or is neither.
    """
    if path.is_dir():
        found = {name: path / f"{name}.csv" for name in names if (path / f"{name}.csv").exists()}
        if not found:
            raise UnusableFile(
                str(path),
                "has none of the files that it should have",
                advice=f"Save each result under its query's name: {', '.join(sorted(names))} with .csv.",
            )
        newest = max(file.stat().st_mtime for file in found.values())
        return Export(
            path=str(path),
            taken_at=datetime.fromtimestamp(newest, UTC),
            results={name: csv_rows(file) for name, file in found.items()},
        )
    return _read_json(path)


def _read_json(path: Path) -> Export:
    try:
        document = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise UnusableFile(
            str(path), f"is no JSON: {error.msg}", advice="Export it again.", line=error.lineno
        ) from error
    results = document.get("results") if isinstance(document, dict) else None
    if not isinstance(results, dict) or not all(isinstance(rows, list) for rows in results.values()):
        raise UnusableFile(
            str(path),
            "has no results",
            advice='Write {"taken_at": "2026-01-31T12:00:00Z", "results": {"QUERY": [[...], ...]}}.',
            line=1,
        )
    return Export(
        path=str(path),
        taken_at=_when(path, document.get("taken_at")),
        results={str(name): [_json_row(path, name, row) for row in rows] for name, rows in results.items()},
    )


def _json_row(path: Path, name: str, row: Any) -> Row:  # noqa: ANN401  # whatever JSON holds
    """A list of values, or an object whose values are in the order of the query's columns."""
    if isinstance(row, Mapping):
        return tuple(row.values())
    if isinstance(row, list):
        return tuple(row)
    raise UnusableFile(
        str(path), f"a row of {name} is neither a list nor an object: {row!r}", advice="Export it again."
    )


def _when(path: Path, value: Any) -> datetime:  # noqa: ANN401  # as above
    if value is None:
        return datetime.fromtimestamp(path.stat().st_mtime, UTC)
    try:
        found = datetime.fromisoformat(str(value).replace("Z", "+00:00"))
    except ValueError as error:
        raise UnusableFile(str(path), f"taken_at is no time: {value!r}", advice="Write it as ISO 8601.") from error
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def csv_rows(path: Path) -> list[Row]:
    """Rows of a CSV file with a header line; numbers as numbers, an empty cell as None.

    A column is one of numbers where all of its cells are, unless its heading says that it holds names.

    Raises:
        UnusableFile: it cannot be read, or a row has another number of cells than the header.
    """
    text = read_text(path)
    reader = csv.reader(io.StringIO(text))
    try:
        head = next(reader)
        rows = [(reader.line_num, row) for row in reader if row]
    except (csv.Error, StopIteration) as error:
        raise UnusableFile(str(path), f"is no CSV: {error}", advice="Export it again.", line=reader.line_num) from error
    for line, row in rows:
        if len(row) != len(head):
            raise UnusableFile(
                str(path),
                f"has {len(row)} cells where the header has {len(head)}",
                advice="Export it as CSV, names with commas in quotes.",
                line=line,
            )
    columns = list(zip(*(row for _, row in rows), strict=True)) if rows else []
    return list(zip(*(_typed(title, column) for title, column in zip(head, columns, strict=False)), strict=True))


def _typed(title: str, column: Sequence[str]) -> list[Any]:
    """The cells as numbers or truth values where all of them are, else as text; empty ones are None."""
    values = [None if cell in {"", "NULL"} else cell for cell in column]
    if _is_text(title):
        return values
    return _read_all(values, _number) or _read_all(values, _truth) or values


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
    word = text.lower()
    if word not in _TRUTH:
        raise ValueError(f"{text!r} is no truth value")
    return _TRUTH[word]


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)
