"""The file of a recording: what was written is read, and damage is named with its place."""

from __future__ import annotations

import stat
import zlib
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.kit.recording_file import (
    Asked,
    BadRecording,
    End,
    Event,
    Mark,
    Moment,
    RecordingReader,
    Work,
    Writer,
    from_json,
    to_json,
)
from tests.examples import examples

HEAD = {"hotplace": "1", "names": "plain"}


def at(steady: int) -> Moment:
    """So many microseconds after the beginning."""
    return Moment(1_700_000_000_000_000 + steady, steady)


def events() -> list[Event]:
    """Three samples, of which two answers differ in one row, and an error."""
    found: list[Event] = []
    for turn in range(3):
        found.append(Mark(at(turn * 100), Work.SAMPLE))
        rows = tuple((row, row * 7 + (turn if row == 5 else 0), "SLOW") for row in range(40))
        asked, until = at(turn * 100 + 1), at(turn * 100 + 2)
        found.append(Asked(at=asked, until=until, query="sample", values=(), rows=rows))
        found.append(
            Asked(at=asked, until=until, query="sizes", values=([turn],), error="TimedOut", native_code="57014")
        )
    return [*found, End(at(400), "whole")]


def written(path: Path) -> Path:
    """A file with them."""
    writer = Writer(path, HEAD)
    for event in events():
        if isinstance(event, Mark):
            writer.write_mark(event)
        elif isinstance(event, End):
            writer.write_end(event)
        else:
            writer.write_answer(event)
    writer.close()
    return path


def read(path: Path) -> tuple[list[Event], str]:
    """What can be read, and what is said of the rest."""
    found: list[Event] = []
    try:
        found.extend(RecordingReader(path).events())
    except BadRecording as error:
        return found, f"{error} {error.advice}"
    return found, ""


def test_what_was_written_is_read(tmp_path: Path) -> None:
    """Head and events come back, and the file is its owner's alone."""
    path = written(tmp_path / "a")
    assert RecordingReader(path).head == {**HEAD, "hotplace recording": 1}
    assert read(path) == (events(), "")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(FileExistsError):
        Writer(path, HEAD)


def test_an_answer_that_has_hardly_changed_takes_hardly_any_room(tmp_path: Path) -> None:
    """Of forty rows the second answer has one."""
    lines = zlib.decompress(written(tmp_path / "a").read_bytes(), 31).splitlines()
    first, *others = [len(line) for line in lines if b'"query":"sample"' in line]
    assert first > 500
    assert max(others) < 200


@settings(max_examples=examples(60))
@given(cut=st.floats(0, 1, exclude_max=True))
def test_a_file_that_is_cut_off_gives_what_is_whole(cut: float, tmp_path_factory: pytest.TempPathFactory) -> None:
    """All events before the cut are read as they were, and the message says where it ends."""
    path = written(tmp_path_factory.mktemp("cut") / "a")
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * cut)])
    _holds_the_beginning(
        path, may_be_whole=len(whole) - int(len(whole) * cut) <= 16
    )  # of gzip's own end, the last empty block before it included


@settings(max_examples=examples(120))
@given(where=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_an_altered_file_gives_no_other_event(where: float, bit: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    """One bit is another: every event that is read is one that was written, and the message says where it ends."""
    path = written(tmp_path_factory.mktemp("bit") / "a")
    data = bytearray(path.read_bytes())
    data[int(len(data) * where)] ^= 1 << bit
    path.write_bytes(bytes(data))
    _holds_the_beginning(path, may_be_whole=True)


def _holds_the_beginning(path: Path, *, may_be_whole: bool = False) -> None:
    found, said = read(path)
    assert found == events()[: len(found)]
    if len(found) == len(events()):
        assert may_be_whole  # a bit of gzip's own head or end, which says nothing of the lines
        return
    assert str(path) in said
    assert "is no recording" in said or ("damaged at event" in said and "--until-damage" in said)


def test_what_was_flushed_with_the_last_mark_survives_the_end_of_the_process(tmp_path: Path) -> None:
    """A file that was never closed has everything before its last mark."""
    writer = Writer(tmp_path / "a", HEAD)
    for event in events()[:6]:
        writer.write_mark(event) if isinstance(event, Mark) else writer.write_answer(event)  # type: ignore[arg-type]  # no End yet
    writer.write_mark(Mark(at(300), Work.PLAN))
    copy = tmp_path / "copy"
    copy.write_bytes((tmp_path / "a").read_bytes())
    writer.close()
    assert read(copy)[0][:6] == events()[:6]


def test_a_later_format_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of a format to come says so."""
    with monkeypatch.context() as later:
        later.setattr("connectors.kit.recording_file.FORMAT", 2)
        path = written(tmp_path / "a")
    with pytest.raises(BadRecording, match=r"has format 2 .* reads 1"):
        RecordingReader(path)


@pytest.mark.parametrize("content", [b"", b"hello", zlib.compress(b"x")])
def test_another_file_is_no_recording(tmp_path: Path, content: bytes) -> None:
    """What is no recording is called so."""
    path = tmp_path / "a"
    path.write_bytes(content)
    with pytest.raises(BadRecording, match="is no recording"):
        RecordingReader(path)


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, 3, 2**70, 1.5, float("inf"), "ü\udc80", Decimal("1.50"), [1, None, ["a"]]),
        *(datetime(2026, 1, 1, 12, tzinfo=UTC), datetime(2026, 1, 1, 0, 0, 0, 5), date(2026, 1, 1)),  # noqa: DTZ001 (on purpose)
        timedelta(days=-1, microseconds=3),
    ],
)
def test_every_value_of_a_driver_comes_back(value: object) -> None:
    """With its type."""
    again = from_json(to_json(value))
    assert again == value
    assert type(again) is type(value)
