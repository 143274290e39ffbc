"""Writes the file of a recording: gzip around lines of JSON, each with its own checksum.

The first line is the head. A line is ``CRC32 JSON``. Rows are written as what has changed since the same query was last
answered: between two samples most counters have not. Whatever ends the writing, all that came before the last mark can
be read.
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from array import array
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from connectors.recording.events import Asked, End, Mark, Moment
from connectors.recording.tap import Values
from connectors.recording.values import to_json

FORMAT: Final = 1
NAME: Final = "hotplace recording"
LEVEL = 6  # of gzip: higher ones take more of the processor than they save of the disk


class Writer:
    """Writes a new recording, readable by its owner only."""

    def __init__(self, path: Path, head: Mapping[str, Any]) -> None:
        """Create the file.

        Raises:
            FileExistsError: there is one already.
            OSError: it cannot be created.
        """
        self.path = path
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        self._raw = os.fdopen(number, "wb")
        self._file = gzip.GzipFile(filename="", mode="wb", fileobj=self._raw, compresslevel=LEVEL, mtime=0)
        self._known: dict[str, array[int]] = {}  # hash of each row of the last answer of a query
        self._line(_dump({NAME: FORMAT, **head}))

    def write_mark(self, mark: Mark) -> None:
        """Some work begins. All before it survives the end of this process."""
        self._line(_dump({"work": mark.work, "at": _pair(mark.at)}))
        self._file.flush()
        self._raw.flush()

    def write_answer(self, asked: Asked) -> None:
        """A query was answered, or refused."""
        line: dict[str, Any] = {"query": asked.query, "at": _pair(asked.at), "until": _pair(asked.until)}
        if asked.values:
            line["values"] = to_json(asked.values)
        if asked.error:
            self._line(_dump({**line, "error": asked.error, "code": asked.native_code}))
        else:
            self._line(f"{_dump(line)[:-1]},{self._rows(asked)}}}")

    def write_end(self, end: End) -> None:
        """Nothing follows."""
        self._line(_dump({"end": end.why, "at": _pair(end.at)}))

    def close(self) -> None:
        """Close the file; without ``end`` it counts as cut off."""
        self._file.close()
        self._raw.close()

    def _rows(self, asked: Asked) -> str:
        """All rows, or those that differ from the last answer of the same query, as one member of a JSON object."""
        rows = [_dump(to_json(row)) for row in asked.rows]
        hashes, key = array("q", map(hash, rows)), key_of(asked.query, asked.values)
        before, self._known[key] = self._known.get(key), hashes
        if before is None or len(before) != len(hashes):
            return f'"rows":[{",".join(rows)}]'
        pairs = zip(before, hashes, strict=True)
        return f'"changed":[{",".join(f"[{at},{rows[at]}]" for at, (old, new) in enumerate(pairs) if old != new)}]'

    def _line(self, line: str) -> None:
        text = line.encode()
        self._file.write(b"%08x %s\n" % (zlib.crc32(text), text))


def key_of(query: str, values: Values) -> str:
    """What tells the questions of a recording apart."""
    return _dump([query, to_json(values)])


def _dump(value: Any) -> str:  # noqa: ANN401  # JSON's own types
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _pair(moment: Moment) -> list[int]:
    return [moment.wall, moment.steady]
