"""Opening: rights, files that are no ledger, and several processes at once."""

from __future__ import annotations

import os
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import text

from agent.ledger.errors import LedgerCorrupt, LedgerError, LedgerMissing, LedgerReadOnly, LedgerTooNew, translate_error
from agent.ledger.ledger import Ledger
from tests.ledger.clock import StillClock
from tests.ledger.conftest import note, stored

NOBODY = 65534


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@contextmanager
def _as_nobody() -> Iterator[None]:
    """Give up root's rights, which no mode can take away; nothing to give up otherwise."""
    if os.geteuid() != 0:
        yield
        return
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that another user can reach; pytest's own cannot be."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_only_its_owner_may_read_it(tmp_path: Path, clock: StillClock, umask: int) -> None:
    """File, -wal and -shm have mode 0600 and a new folder 0700, whatever the umask."""
    path = tmp_path / "state" / "ledger.db"
    before = os.umask(umask)
    try:
        with Ledger.open(path, clock):
            modes = {file.name: _mode(file) for file in path.parent.iterdir()}
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(("ledger.db", "ledger.db-wal", "ledger.db-shm", "ledger.db.anchors"), 0o600)
    assert _mode(path.parent) == 0o700


def test_a_file_that_others_could_read_is_closed_to_them(ledger: Ledger, path: Path, clock: StillClock) -> None:
    """A careless chmod is undone at the next start."""
    path.chmod(0o644)
    Ledger.open(path, clock).close()
    assert _mode(path) == 0o600


def test_what_was_stored_is_there_after_reopening(path: Path, clock: StillClock) -> None:
    """Closing folds everything into one file; opening finds it, migrates nothing, audits nothing."""
    with Ledger.open(path, clock) as first:
        number = stored(first)
        rows = len(first.audit.rows(100))
    assert {file.name for file in path.parent.iterdir()} == {"ledger.db", "ledger.db.anchors"}
    with Ledger.open(path, clock, create=False) as again:
        assert again.proposals.row(number).id == number
        assert len(again.audit.rows(100)) == rows
        assert again.name == str(path)


def test_a_path_may_have_any_characters(tmp_path: Path, clock: StillClock) -> None:
    """Question marks, hashes, percent signs and spaces are no URL syntax to us."""
    path = tmp_path / "a b?c#d%20é" / "led ger?mode=ro#.db"
    with Ledger.open(path, clock) as ledger:
        note(ledger, "path")
    assert path.exists()


def test_a_relative_path_counts_from_here(tmp_path: Path, clock: StillClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """And stays there when the working folder changes."""
    monkeypatch.chdir(tmp_path)
    with Ledger.open(Path("ledger.db"), clock) as ledger:
        monkeypatch.chdir("/")
        note(ledger, "path")
    assert (tmp_path / "ledger.db").exists()


@pytest.mark.parametrize("present", [False, True])
def test_nothing_is_made_where_none_is_wanted(path: Path, clock: StillClock, present: bool) -> None:
    """Missing or empty: the error names the file, and no file appears."""
    if present:
        path.touch()
    with pytest.raises(LedgerMissing, match=str(path)) as caught:
        Ledger.open(path, clock, create=False)
    assert caught.value.advice
    assert path.exists() == present


def test_an_empty_file_is_filled(path: Path, clock: StillClock) -> None:
    """A process that died right after creating the file left this behind."""
    path.touch()
    with Ledger.open(path, clock) as ledger:
        assert ledger.audit.verify().ok


@pytest.mark.parametrize(
    "content",
    [b"no database at all " * 99, b"SQLite format 3\0" + b"\xff" * 5000, b"x", b"y" * 511, b"z" * 512, bytes(8192)],
)
def test_a_file_of_something_else_is_left_alone(path: Path, clock: StillClock, content: bytes) -> None:
    """Refused with the next step, not overwritten."""
    path.write_bytes(content)
    with pytest.raises(LedgerCorrupt, match=str(path)) as caught:
        Ledger.open(path, clock)
    assert "backup" in caught.value.advice
    assert path.read_bytes() == content


def test_another_program_s_database_is_left_alone(path: Path, clock: StillClock) -> None:
    """A valid SQLite file with other tables is not ours to migrate."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE customers (id INTEGER PRIMARY KEY)")
    with pytest.raises(LedgerCorrupt, match="something else"):
        Ledger.open(path, clock)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("customers",)]


def test_a_folder_is_no_ledger(path: Path, clock: StillClock) -> None:
    """The path may exist and still be wrong."""
    path.mkdir()
    with pytest.raises(LedgerCorrupt, match="not a file"):
        Ledger.open(path, clock)


@pytest.mark.parametrize("cut", ["middle", "tail"])
def test_a_damaged_file_is_named(path: Path, clock: StillClock, cut: str) -> None:
    """Overwritten pages or a lost tail: found by verify at the latest, as LedgerCorrupt and nothing else."""
    with Ledger.open(path, clock) as ledger:
        for number in range(200):
            note(ledger, f"row {number}", "x" * 200)
    content = bytearray(path.read_bytes())
    if cut == "middle":
        content[8192:] = b"\xa5" * (len(content) - 8192)
        path.write_bytes(content)
    else:
        path.write_bytes(content[: len(content) // 2])
    with pytest.raises(LedgerCorrupt, match=str(path)), Ledger.open(path, clock) as ledger:
        ledger.audit.verify()


def open_files(folder: Path) -> list[str]:
    """Files of a folder that this process has open."""
    names = (os.path.realpath(each) for each in Path("/proc/self/fd").iterdir())
    return [name for name in names if name.startswith(str(folder))]


def test_a_newer_ledger_is_left_alone(path: Path, clock: StillClock) -> None:
    """Tables of a revision that this version does not know are not touched, and no file of it stays open."""
    Ledger.open(path, clock).close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = 'v9999'")
    with pytest.raises(LedgerTooNew, match="v9999") as caught:
        Ledger.open(path, clock)
    assert "Upgrade" in caught.value.advice
    assert open_files(path.parent) == []


def test_a_folder_that_cannot_be_written_is_named(open_folder: Path, clock: StillClock) -> None:
    """Nothing can be created, or the ledger is there but its journal could not be written."""
    for create_first in (False, True):
        path = open_folder / f"state{create_first}" / "ledger.db"
        path.parent.mkdir()
        if create_first:
            Ledger.open(path, clock).close()
            if os.geteuid() == 0:
                os.chown(path, NOBODY, NOBODY)
        path.parent.chmod(0o555)
        with _as_nobody(), pytest.raises(LedgerReadOnly, match=str(path)) as caught:
            Ledger.open(path, clock)
        assert str(path.parent) in caught.value.advice
        path.parent.chmod(0o755)


def test_a_file_that_cannot_be_written_is_named(open_folder: Path, clock: StillClock) -> None:
    """SQLite would open it for reading and fail at the first write; we say so at the start."""
    path = open_folder / "ledger.db"
    Ledger.open(path, clock).close()
    path.chmod(0o444)
    open_folder.chmod(0o777)
    with _as_nobody(), pytest.raises(LedgerReadOnly, match=str(path)):
        Ledger.open(path, clock)


def test_an_error_of_the_disk_is_named(path: Path) -> None:
    """With the file and what to look at; what SQLite says no more of is left as it is."""
    broken = sqlite3.OperationalError("disk I/O error")
    broken.sqlite_errorcode = sqlite3.SQLITE_IOERR | 10 << 8  # as when a read gives too little
    found = translate_error(path, broken)
    assert isinstance(found, LedgerError)
    assert (str(path) in str(found), "disk I/O error" in str(found)) == (True, True)
    assert "kernel's log" in found.advice
    broken.sqlite_errorcode = sqlite3.SQLITE_ERROR
    assert translate_error(path, broken) is None


@pytest.mark.parametrize(("durable", "level"), [(True, 2), (False, 1)])
def test_what_was_decided_is_on_the_disk(ledger: Ledger, durable: bool, level: int) -> None:
    """FULL for decisions and intents, NORMAL for samples; with OFF a power cut could lose both."""
    with ledger._database.write(durable=durable) as transaction:
        assert transaction.scalar(text("PRAGMA synchronous")) == level
