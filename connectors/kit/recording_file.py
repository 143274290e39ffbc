"""The file of a recording: its events, how they are written and read back.

Events come first: ``Mark`` (work begins), ``Asked`` (a query and how it ended) and ``End``. ``to_json`` and
``from_json`` convert the values of a row, exactly as drivers give them.

``Writer`` writes gzip around lines of JSON. The first line is the head; each line is ``CRC32 JSON``. Rows are written
as changes since the last answer to the same query, because most counters stay the same between two samples. However the
writing ends, everything before the last mark can be read.

``RecordingReader`` reads the events up to the end of the file, or to the place where it is damaged.
"""

from __future__ import annotations

import gzip
import json
import math
import os
import zlib
from array import array
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, TypeAlias

from connectors.kit.contract import HotplaceError, Row, Values
from connectors.kit.files import open_given, parse_json


class Work(StrEnum):
    """What the agent begins to do with the connector; everything up to the next mark belongs to it."""

    SAMPLE = "sample"
    PLAN = "plan"
    NONE = "none"  # the work before this mark was given up: what it has asked does not count


@dataclass(frozen=True, slots=True)
class Moment:
    """An instant by both clocks, in microseconds: since 1970 and since some fixed moment."""

    wall: int
    steady: int


@dataclass(frozen=True, slots=True)
class Mark:
    """Some work begins."""

    at: Moment
    work: Work


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A query and how it ended: with rows, or with an error of the connector's contract."""

    at: Moment
    until: Moment
    query: str
    values: Values
    rows: tuple[Row, ...] = ()
    error: str = ""  # the name of the error's class; "": it was answered
    native_code: str = ""


@dataclass(frozen=True, slots=True)
class End:
    """The recording is whole."""

    at: Moment
    why: str


Event: TypeAlias = Mark | Asked | End


_NUMBERS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def to_json(value: Any) -> Any:  # noqa: ANN401  # whatever a driver gives
    """The value in JSON's own types.

    Raises:
        TypeError: no driver gives such a value for a column that is recorded.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"number": str(value)}
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    if isinstance(value, datetime):
        return {"time": value.isoformat()}
    if isinstance(value, date):
        return {"day": value.isoformat()}
    if isinstance(value, timedelta):
        return {"microseconds": value // timedelta(microseconds=1)}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    raise TypeError(f"a {type(value).__name__} is never recorded")


def from_json(value: Any) -> Any:  # noqa: ANN401  # whatever ``to_json`` was given
    """What ``to_json`` was given; a tuple within a row comes back as a list.

    Raises:
        ValueError: it was not written by ``to_json``.
    """
    if isinstance(value, list):
        return [from_json(item) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, text),) = value.items()
    match kind:
        case "number":
            return _NUMBERS[text]
        case "decimal":
            return Decimal(text)
        case "time":
            return datetime.fromisoformat(text)
        case "day":
            return date.fromisoformat(text)
        case "microseconds":
            return timedelta(microseconds=text)
    raise ValueError(f"{kind!r} is no kind of value")


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


CHUNK_BYTES = 2**16
LONGEST_LINE = 2**30  # bytes; an answer of a million rows has a fifth of it
GZIP = 16 + zlib.MAX_WBITS
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class BadRecording(HotplaceError):
    """A file is no recording, ends too early or was altered; the message says where."""


class _Damage(Exception):  # as its siblings
    """What is wrong with the bytes, before it is known what came last."""


class RecordingReader:
    """Reads a recording from its beginning."""

    def __init__(self, path: Path) -> None:
        """Read the head.

        Raises:
            BadRecording: it is no recording, or one of a later version.
        """
        self._path = path
        self._known: dict[str, tuple[Row, ...]] = {}
        self._line = 0
        self._last = "its head"
        self._lines = _read_lines(path)
        try:
            self.head: dict[str, Any] = parse_json(next(self._lines).decode())
            found = self.head[NAME]
        except OSError as error:
            raise BadRecording(f"{path} cannot be read: {error.strerror}", advice="Name a recording.") from error
        except (_Damage, StopIteration, ValueError, KeyError, TypeError) as error:
            raise BadRecording(
                f"{path} is no recording, or its head is damaged", advice="hotplace lab record --output FILE makes one."
            ) from error
        if found != FORMAT:
            raise BadRecording(
                f"{path} has format {found} of recordings, and this hotplace reads {FORMAT}",
                advice="Read it with the version of hotplace that wrote it, or a later one.",
            )

    def events(self) -> Iterator[Event]:
        """What was recorded; an ``End`` is the last.

        Raises:
            BadRecording: the file ends too early or was altered, after every event that is whole.
        """
        while True:
            self._line += 1
            event = self._next()
            yield event
            if isinstance(event, End):
                return
            self._last = _in_words(event)

    def _next(self) -> Event:
        try:
            return self._event(parse_json(next(self._lines).decode()))
        except StopIteration:
            raise self._damage("it ends there") from None
        except _Damage as error:
            raise self._damage(str(error)) from None
        except (KeyError, ValueError, TypeError, AttributeError, IndexError, ArithmeticError, RecursionError) as error:
            raise self._damage(f"{type(error).__name__} in what was to be an event") from error

    def _event(self, line: dict[str, Any]) -> Event:
        at = Moment(*line["at"])
        if "work" in line:
            return Mark(at, Work(line["work"]))
        if "end" in line:
            return End(at, line["end"])
        query, values = line["query"], tuple(from_json(line.get("values", [])))
        until, key = Moment(*line["until"]), key_of(query, values)
        if "error" in line:
            return Asked(at=at, until=until, query=query, values=values, error=line["error"], native_code=line["code"])
        rows = list(self._known[key]) if "changed" in line else [tuple(from_json(row)) for row in line["rows"]]
        for number, row in line.get("changed", []):
            rows[number] = tuple(from_json(row))
        self._known[key] = tuple(rows)
        return Asked(at=at, until=until, query=query, values=values, rows=self._known[key])

    def _damage(self, why: str) -> BadRecording:
        return BadRecording(
            f"{self._path} is damaged at event {self._line}, after {self._last}: {why}",
            advice="Copy it again from where it was made; --until-damage uses what comes before.",
        )


def _in_words(event: Event) -> str:
    at = (EPOCH + timedelta(microseconds=event.at.wall)).isoformat(timespec="seconds")
    if isinstance(event, Asked):
        return f"the answer of {event.query} at {at}"
    return f"the mark at {at}"


def _read_lines(path: Path) -> Iterator[bytes]:
    """Lines whose checksum is right.

    Raises:
        _Damage: the bytes end too early or are others.
    """
    rest = bytearray()  # of a line that goes on: added to, since copying it with each chunk would take quadratic time
    for part in _unpack(path):
        *lines, last = part.split(b"\n")
        if lines:
            lines[0] = bytes(rest) + lines[0]
            rest.clear()
        rest += last
        if len(rest) > LONGEST_LINE:
            raise _Damage("a line of it has more than a gibibyte")
        for line in lines:
            checksum, _, text = line.partition(b" ")
            # By line and not for the whole file: the sum of gzip comes at the end, and says nothing of what was right
            # before the damage.
            if b"%08x" % zlib.crc32(text) != checksum:
                raise _Damage("its checksum is another")
            yield text
    if rest:
        raise _Damage("it ends in the middle of it")


def _unpack(path: Path) -> Iterator[bytes]:
    """The bytes within the gzip, as far as they can be had.

    Raises:
        _Damage: the compressed bytes are others.
    """
    unpacking = zlib.decompressobj(GZIP)
    with open_given(path) as file:
        while chunk := file.read(CHUNK_BYTES):
            # A copy before each chunk, since a failing decompressor loses what it has unpacked of the chunk before the
            # damage.
            before = unpacking.copy()
            try:
                yield unpacking.decompress(chunk)
            except zlib.error as error:
                yield _salvage(before, chunk)
                raise _Damage("the compressed bytes are others") from error


def _salvage(unpacking: Any, chunk: bytes) -> bytes:  # noqa: ANN401  # zlib does not export the type
    """What comes before the damage in a chunk."""
    found = bytearray()
    with suppress(zlib.error):
        # Byte by byte: the call that meets the damage returns nothing of what it had unpacked.
        for at in range(len(chunk)):
            found += unpacking.decompress(chunk[at : at + 1])
    return bytes(found)
