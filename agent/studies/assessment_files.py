"""The files that a person names: reports, exports of an engine's queries, sizes. Reads them; judges nothing."""

from __future__ import annotations

import errno
import gzip
import io
import json
import math
import zlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agent.studies.exported_tables import columns_of, named_rows_of, rows_of
from connectors.kit.assessment import Export, NamedRows, Row, UnusableFile
from connectors.kit.files import MOST_VALUES, parse_json, read_given
from connectors.model.formatting import format_bytes

LARGEST_REPORT_BYTES = 64 * 2**20  # an AWR report has a few MiB
LARGEST_EXPORT_BYTES = 256 * 2**20  # of one file: a million units
EARLIEST, LATEST = datetime(1990, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)  # that an export may be of


def read_text(path: Path, most_bytes: int = LARGEST_REPORT_BYTES) -> str:
    """A file as text: UTF-8 or UTF-16 by its mark, else UTF-8 with what is not replaced; ``.gz`` unpacked.

    Raises:
        UnusableFile: it cannot be read, is no file (a pipe, a device), is too large, empty, or no text.
    """
    try:
        raw = read_given(path, most_bytes)
        if raw[:2] == b"\x1f\x8b":
            raw = _unpack(raw, most_bytes)
    except (OSError, EOFError, zlib.error) as error:
        said = getattr(error, "strerror", None) or str(error)
        raise UnusableFile(
            str(path), f"cannot be read: {said}", advice="Name a file that you may read: one report, or one export."
        ) from error
    if not raw.strip():
        raise UnusableFile(str(path), "is empty", advice="Make the report again.", line=1)
    text = raw.decode("utf-16" if raw[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8-sig", errors="replace")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise UnusableFile(str(path), "is no text", advice="Name a report as text or HTML, CSV or JSON.", line=line)
    return text


def _unpack(raw: bytes, most_bytes: int) -> bytes:
    with gzip.open(io.BytesIO(raw)) as packed:
        found = packed.read(most_bytes + 1)
    if len(found) > most_bytes:
        raise OSError(errno.EFBIG, f"unpacked it is larger than {format_bytes(most_bytes)}")
    return found


def is_export(path: Path) -> bool:
    """Whether it is a folder of CSV files or a JSON file."""
    return path.is_dir() or path.suffix.lower() == ".json"


def read_export(path: Path, queries: Mapping[str, str]) -> Export:
    """Results by the name of their query.

    Args:
        path: of a folder with a file ``NAME.csv`` a query, or of a JSON file.
        queries: of the engine, by name.

    Raises:
        UnusableFile: it cannot be read, or is neither.
    """
    if path.is_dir():
        found = {name: path / f"{name}.csv" for name in queries if (path / f"{name}.csv").exists()}
        if not found:
            raise UnusableFile(
                str(path),
                "has none of the files that it should have",
                advice=f"Save each result under its query's name: {', '.join(sorted(queries))} with .csv.",
            )
        return Export(
            path=str(path),
            taken_at=None,
            results={name: csv_rows(file, columns_of(queries[name])) for name, file in found.items()},
        )
    return _read_json(path)


def _read_json(path: Path) -> Export:
    text = read_text(path, LARGEST_EXPORT_BYTES)
    try:
        document = parse_json(text)
    except ValueError as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else 0
        said = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise UnusableFile(str(path), f"is no JSON: {said}", advice="Export it again.", line=line) from error
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
    found = tuple(row.values()) if isinstance(row, Mapping) else tuple(row) if isinstance(row, list) else None
    if found is None:
        problem = f"a row of {name} is neither a list nor an object, but a {type(row).__name__}"
    elif any(
        isinstance(cell, list | Mapping) or (isinstance(cell, float) and not math.isfinite(cell)) for cell in found
    ):
        problem = f"a row of {name} holds what is neither a text nor a number"
    else:
        return found
    raise UnusableFile(str(path), problem, advice="Export it again.")


def _when(path: Path, value: Any) -> datetime | None:  # noqa: ANN401  # as above
    """When an export says that it was taken; None: it does not. The time of a file is that of its last copy."""
    if value is None:
        return None
    try:
        found = datetime.fromisoformat(str(value).replace("Z", "+00:00"))
    except ValueError as error:
        shown = f"{value!r:.40}" if isinstance(value, str | int | float) else f"a {type(value).__name__}"
        raise UnusableFile(str(path), f"taken_at is no time: {shown}", advice="Write it as ISO 8601.") from error
    return _within(path, found if found.tzinfo else found.replace(tzinfo=UTC))


def _within(path: Path, at: datetime) -> datetime:
    if not EARLIEST <= at <= LATEST:
        raise UnusableFile(
            str(path),
            f"is of {at.isoformat(timespec='seconds')}, which cannot be",
            advice="Write taken_at as ISO 8601.",
        )
    return at


def csv_rows(path: Path, columns: Sequence[str] = ()) -> list[Row]:
    """Rows of a file with the result of a query, see ``exported_tables.rows_of``.

    Raises:
        UnusableFile: it cannot be read, is too large, or is not the result of a query.
    """
    return rows_of(str(path), _read_csv(path), columns)


def named_csv_rows(path: Path, columns: Sequence[str]) -> NamedRows:
    """The same by the names of their columns, see ``exported_tables.named_rows_of``.

    Raises:
        UnusableFile: as ``csv_rows``.
    """
    return named_rows_of(str(path), _read_csv(path), columns)


def _read_csv(path: Path) -> str:
    text = read_text(path, LARGEST_EXPORT_BYTES)
    if sum(map(text.count, (",", ";", "\t", "|", "\n"))) > MOST_VALUES:
        raise UnusableFile(
            str(path), f"has more than {MOST_VALUES:,} cells", advice="Export the columns of the query and no others."
        )
    return text
