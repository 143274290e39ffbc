"""The ledger's files shrink once there is less in them, in steps that hold no writer up, and lose no row."""

from __future__ import annotations

import _sqlite3
import ctypes
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import text

from agent.ledger.file import database
from agent.ledger.ledger import Ledger
from agent.ledger.rows import HistorySettings
from agent.ledger.store.schema import APPLICATION_ID
from agent.model.clock import SystemClock
from connectors.model.observation import I64
from tests.ledger.clock import StillClock
from tests.ledger.conftest import file_under, stored

OLD = Path(__file__).with_name("ledger_v0002.sql")
DAY = 86400.0
TWO_DAYS = HistorySettings(as_sampled_seconds=DAY, ten_minute_seconds=DAY, history_seconds=2 * DAY)
ROWS, UNITS = 160, 20_000  # 80 kB each, 12.5 MB in all
SPARE = 256 << 10


@pytest.fixture(autouse=True)
def _little_is_spare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Megabytes stand for the gigabytes of a real ledger."""
    monkeypatch.setattr(database, "SPARE_BYTES", SPARE)
    monkeypatch.setattr(database, "STEP_BYTES", 256 << 10)
    monkeypatch.setattr(database, "JOURNAL_BYTES", SPARE)


def filled(ledger: Ledger, clock: StillClock | SystemClock, days: float = 10.0) -> None:
    """History of some days, of demand that does not compress."""
    slots: I64 = np.arange(UNITS, dtype=np.int64)
    for row in range(ROWS):
        values = np.frombuffer(os.urandom(4 * UNITS), dtype=np.uint32).reshape(1, UNITS)
        ended = clock.now() - timedelta(days=days * (1 - row / ROWS))
        ledger.history.append("shop", ended, 60.0, slots, values)


def old_ledger(path: Path) -> None:
    """As an older version made it: free pages stay where they are."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(OLD.read_text(encoding="utf-8"))
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


@pytest.mark.parametrize("made_before", [False, True])
def test_what_is_dropped_is_given_back(path: Path, clock: StillClock, made_before: bool) -> None:
    """10 days kept, then 2: the file shrinks with its content, in a new ledger and in one of an older version."""
    if made_before:
        old_ledger(path)
    clock.sleep(4 * DAY)
    with Ledger.open(path, clock) as ledger:
        number = stored(ledger)
        filled(ledger, clock)
        ledger.history.fold(clock.now())
        assert ledger.upkeep.give_back().bytes <= SPARE, "all of it is in use"
        full = path.stat().st_size
        ledger.history.fold(clock.now(), TWO_DAYS)
        given = ledger.upkeep.give_back()
        assert given.sentence == ""
        assert given.bytes > 0.6 * full
        assert given.free_bytes <= max(SPARE, 0.1 * full)
        assert path.stat().st_size <= full - given.bytes
        assert path.with_name("ledger.db-wal").stat().st_size <= SPARE
        assert file_under(ledger).pragma("auto_vacuum") == database.INCREMENTAL
        assert ledger.audit.verify().ok
        assert ledger.proposals.row(number).id == number
        assert len(list(ledger.history.read("shop", clock.now() - timedelta(days=3), clock.now()))) > 10


def test_some_is_kept_for_the_next_hour(ledger: Ledger, path: Path, clock: StillClock) -> None:
    """What folding frees and takes again every hour is not given back and asked for in turn."""
    filled(ledger, clock)
    ledger.history.fold(clock.now(), TWO_DAYS)
    ledger.upkeep.give_back()
    size = path.stat().st_size
    assert ledger.upkeep.give_back().bytes == 0
    assert path.stat().st_size == size


@contextmanager
def sampling(path: Path, waits: list[float]) -> Iterator[None]:
    """Another process that writes a sample every few milliseconds, and how long it takes each time."""
    stop = threading.Event()

    def write() -> None:
        clock = SystemClock()
        with Ledger.open(path, clock) as ledger:
            while not stop.wait(0.01):
                started = time.perf_counter()
                ledger.state.save_document("shop", "sample", {})
                waits.append(time.perf_counter() - started)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def test_sampling_goes_on_while_pages_are_given_back(path: Path) -> None:
    """Each step holds the write lock for a moment: a writer gets its turn in between."""
    clock = SystemClock()
    with Ledger.open(path, clock) as ledger:
        filled(ledger, clock)
        waits: list[float] = []
        with sampling(path, waits):
            ledger.history.fold(clock.now(), TWO_DAYS)
            before = len(waits)
            assert ledger.upkeep.give_back(60.0).bytes > 0
            during = waits[before:]
    assert len(during) >= 5, "written in between, not before and after"
    assert max(during) < 1.0


def test_a_content_that_is_too_much_is_left_as_it_is(path: Path, clock: StillClock) -> None:
    """VACUUM is broken off in time, nothing is lost, the next step is said, and it is not tried again every hour."""
    old_ledger(path)
    clock.sleep(4 * DAY)
    with Ledger.open(path, clock) as ledger:
        filled(ledger, clock)
        ledger.history.fold(clock.now(), TWO_DAYS)
        size = path.stat().st_size
        given = ledger.upkeep.give_back(0.0)
        assert given.bytes == 0
        assert f"sqlite3 {path} 'PRAGMA auto_vacuum=INCREMENTAL; VACUUM'" in given.sentence
        assert ledger.upkeep.give_back().sentence == ""
        assert path.stat().st_size == size
        assert ledger.audit.verify().ok
    with Ledger.open(path, clock) as restarted:
        assert restarted.upkeep.give_back().bytes > 0


def test_the_journal_is_cut_once_no_reader_needs_it(path: Path, clock: StillClock) -> None:
    """A long look at history lets it grow; the next upkeep folds it into the file."""
    journal = path.with_name("ledger.db-wal")
    with Ledger.open(path, clock) as ledger:
        filled(ledger, clock, days=1.0)
        looking = ledger.history.read("shop", clock.now() - timedelta(days=2), clock.now())
        next(looking)
        filled(ledger, clock, days=1.0)
        ledger.upkeep.give_back()
        assert journal.stat().st_size > 20 * SPARE, "its reader goes on"
        looking.close()  # type: ignore[attr-defined]  # a generator's
        ledger.upkeep.give_back()
        assert journal.stat().st_size <= SPARE
        journal.unlink()
        assert ledger.upkeep.give_back().sentence == "", "where there is no journal there is none to cut"


def test_statements_do_not_hold_the_values_they_were_given_last(ledger: Ledger) -> None:
    """Forty different statements with a megabyte each leave no more than a few of those in SQLite's memory."""
    sqlite = ctypes.CDLL(_sqlite3.__file__)  # the very library that the ledger is read with
    if not hasattr(sqlite, "sqlite3_memory_used"):
        pytest.skip("this Python's SQLite does not export its account of memory")
    sqlite.sqlite3_memory_used.restype = ctypes.c_int64
    before = sqlite.sqlite3_memory_used()
    for number in range(40):
        with ledger._database.read() as reading:
            query = text(f"SELECT 1, {number} WHERE length(:words) > 0")
            assert tuple(reading.first(query, words="x" * 2**20)) == (1, number)
    assert sqlite.sqlite3_memory_used() - before < 8 * 2**20
