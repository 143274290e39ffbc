"""Reads the file of a recording, event by event, up to its end or to where it is damaged."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from connectors.base import HotplaceError
from connectors.given_files import open_given, parse_json
from connectors.recording.events import Asked, End, Event, Mark, Moment, Work
from connectors.recording.tap import Row
from connectors.recording.values import from_json
from connectors.recording.writing import FORMAT, NAME, key_of

CHUNK_BYTES = 2**16
LONGEST_LINE = 2**30  # bytes; an answer of a million rows has a fifth of it
GZIP = 16 + zlib.MAX_WBITS
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class BadRecording(HotplaceError):
    """A file is no recording, ends too early or was altered; the message says where."""


class _Damage(Exception):  # as its siblings
    """What is wrong with the bytes, before it is known what came last."""


class Reader:
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
            raise self._damaged("it ends there") from None
        except _Damage as error:
            raise self._damaged(str(error)) from None
        except (KeyError, ValueError, TypeError, AttributeError, IndexError, ArithmeticError, RecursionError) as error:
            raise self._damaged(f"{type(error).__name__} in what was to be an event") from error

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

    def _damaged(self, why: str) -> BadRecording:
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
        for at in range(len(chunk)):
            found += unpacking.decompress(chunk[at : at + 1])
    return bytes(found)
