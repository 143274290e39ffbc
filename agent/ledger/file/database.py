"""The ledger's file: SQLite in WAL mode, one writer at a time, its damage and its free room.

``find_place`` names the damaged page once something in the file could not be read. It finds the page by counting rows:
``dbstat`` gives how many each page has, in the order of the table's key (sqlite.org/dbstat.html). Without ``dbstat`` in
the library only the row is named. Only SQLite ever opens the file here: closing another handle would drop the locks
that this process holds on it.

``FileDatabase`` writes in two ways. Decisions and intents (``durable``) are on the disk when the call returns
(``synchronous=FULL``): a statement must not be sent to an engine on the strength of an intent that a power cut can take
back. Samples (``durable=False``) use ``synchronous=NORMAL``: a power cut may take the last of them and nothing else.
Neither a crash nor a kill of the process loses anything that returned.

``Upkeep`` returns free pages and a grown journal to the file system. SQLite keeps the pages of deleted rows for later
rows, which can be hundreds of megabytes once history is kept for a shorter time. A ledger is made with
``auto_vacuum=INCREMENTAL``, so pages can be returned a few at a time, each time for some milliseconds of the write
lock. A ledger of an older version is converted by a single VACUUM. This rewrites all content under the write lock, so
it is limited in time, and done when there is much to return, which is when there is least to write.
"""

from __future__ import annotations

import math
import re
import sqlite3
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from sqlalchemy import Dialect, bindparam, delete, func, select
from sqlalchemy import column as a_column
from sqlalchemy import table as a_table
from sqlalchemy.dialects.sqlite import pysqlite

from agent.ledger.errors import LedgerCorrupt, LedgerError, WrongKind, corrupt, translate_error
from agent.ledger.store.database import Database, Dropped, Reading, Sight, Transaction
from agent.ledger.store.schema import MomentType, begins_with, history, one_of
from connectors.kit.contract import Clock

SECONDS = 10.0  # that the search may take
INSTRUCTIONS_BETWEEN = 10_000  # of SQLite's virtual machine, between two looks at the clock
HEAD = "page 1"  # has the file's header and the schema, which every read needs
UNREADABLE = (sqlite3.Error, UnicodeDecodeError)  # the latter for an error whose text quotes what is damaged
MOVED = "moved_away"  # how the names of the triggers of a closed file begin
MOVED_TO = "it was moved to "
MASTER = a_table("sqlite_master", a_column("type"), a_column("name"), a_column("sql"))
CLOSING = select(MASTER.c.sql).where(MASTER.c.type == "trigger", begins_with(MASTER.c.name, MOVED))
_PAGE = re.compile(r"\bpage ([0-9]+)", re.IGNORECASE)
_INDEX = re.compile(r"\bindex (\w+)")
_TEXTS = ("CHAR", "TEXT", "CLOB")  # in the declared type of a column with text (sqlite.org/datatype3.html, 3.1)


def find_place(path: Path) -> str:
    """Where the file is damaged: ``page 31``, with the row where one is known; "" where nothing was found in time.

    What SQLite's check says, where that names no page.
    """
    with suppress(OSError):
        status = path.stat()
        return _find_place(path, status.st_size, status.st_mtime_ns)
    return ""


def place_of_row(path: Path, table: str, key: Mapping[str, object]) -> str:
    """The page of one row, by the columns of its primary key; "" where it is unknown."""
    with suppress(*UNREADABLE), _opened(path) as driver:
        return _page_at(driver, table, _rank(driver, table, key))
    return ""


@lru_cache(maxsize=4)  # an agent meets the same damage in every cycle
def _find_place(path: Path, size: int, changed_at: int) -> str:
    del size, changed_at
    with suppress(*UNREADABLE), _opened(path) as driver:
        try:
            said = _as_text(driver.execute("PRAGMA integrity_check(1)").fetchone()[0])
        except UNREADABLE as error:
            return "" if _is_interrupted(error) else HEAD
        if (page := _PAGE.search(said)) is not None:
            return f"page {page[1]}"
        # An index that does not fit its table: where a text of a row is damaged, it is not the index that is.
        unreadable = next(_unreadable_texts(driver), "")
        return unreadable or ("" if said == "ok" else _index_in(driver, said) or said.splitlines()[-1])
    return ""


def _is_interrupted(error: Exception) -> bool:
    return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that only reads, for a limited time; texts come as bytes."""
    until = time.monotonic() + SECONDS
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=1.0, isolation_level=None)) as driver:
        driver.text_factory = lambda raw: raw
        driver.set_progress_handler(lambda: time.monotonic() > until, INSTRUCTIONS_BETWEEN)
        yield driver


def _index_in(driver: sqlite3.Connection, said: str) -> str:
    """Where the index begins that SQLite's check speaks of."""
    if (index := _INDEX.search(said)) is None:
        return ""
    root = driver.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (index[1],)).fetchone()
    return f"page {root[0]}, index {index[1]}" if root else ""


def _unreadable_texts(driver: sqlite3.Connection) -> Iterator[str]:
    """Rows with a text that is no UTF-8, with their pages."""
    tables = [_as_text(name) for (name,) in driver.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    for table in tables:
        columns = driver.execute(f"PRAGMA table_info({_quoted(table)})").fetchall()
        texts = [at for at, _, kind, *_ in columns if any(word in _as_text(kind).upper() for word in _TEXTS)]
        # In the order of the tree, so that a row is found by its number though its key cannot be read.
        for rank, row in enumerate(driver.execute(f"SELECT * FROM {_quoted(table)} NOT INDEXED")):  # noqa: S608  # our own names
            for column in texts:
                if (start := _first_fault(row[column])) is not None:
                    place = _page_at(driver, table, rank, _offset(row, column, start))
                    yield ", ".join(filter(None, [place, f"row {rank + 1} of {table}"]))


def _first_fault(value: object) -> int | None:
    """The byte from which on a text is no UTF-8."""
    if isinstance(value, bytes):
        try:
            value.decode()
        except UnicodeDecodeError as error:
            return error.start
    return None


def _offset(row: Sequence[object], column: int, byte: int) -> tuple[int, int]:
    """Where a byte of a column's value is in the record of a row, and how long that is (fileformat2.html, 2.1)."""
    sizes = [_stored_size(value) for value in row]
    types = [2 * size + 13 if isinstance(value, bytes) else 1 for value, size in zip(row, sizes, strict=True)]
    head = sum(map(_varint_size, types)) + 1
    head += head > 127  # its own length is a varint too
    return head + sum(sizes[:column]) + byte, head + sum(sizes)


def _stored_size(value: object) -> int:
    if isinstance(value, bytes):
        return len(value)
    if isinstance(value, int):
        return next(
            (
                size
                for size, bits in ((1, 8), (2, 16), (3, 24), (4, 32), (6, 48))
                if -(1 << bits) <= 2 * value < 1 << bits
            ),
            8,
        )
    return 0 if value is None else 8


def _varint_size(value: int) -> int:
    return max(1, -(-value.bit_length() // 7))


def _rank(driver: sqlite3.Connection, table: str, key: Mapping[str, object]) -> int:
    """How many rows the tree of a table holds before that one."""
    names, marks = ", ".join(map(_quoted, key)), ", ".join("?" * len(key))
    of_it = f"SELECT rowid FROM {_quoted(table)} WHERE ({names}) = ({marks})"  # noqa: S608  # as above
    before = f"({names}) < ({marks})" if _is_by_key(driver, table) else f"rowid < ({of_it})"
    counted = driver.execute(f"SELECT count(*) FROM {_quoted(table)} WHERE {before}", tuple(key.values()))  # noqa: S608
    return int(counted.fetchone()[0])


def _is_by_key(driver: sqlite3.Connection, table: str) -> bool:
    """Whether it has no rowid: then inner pages of its tree hold rows too, one between each two leaves."""
    found = driver.execute("SELECT upper(sql) FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    return found is not None and b"WITHOUT ROWID" in found[0]


def _page_at(driver: sqlite3.Connection, table: str, rank: int, at: tuple[int, int] | None = None) -> str:
    """The page of a row.

    Args:
        driver: of the file.
        table: of the row.
        rank: how many rows come before it.
        at: a byte of its record, and how long that is; None: where it begins.
    """
    inner = _is_by_key(driver, table)
    leaves = "SELECT path, pageno, ncell, pgsize FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path"
    for path, number, cells, size in driver.execute(leaves, (table,)).fetchall():
        if rank < cells + inner:
            cell = f"{_as_text(path)}{rank:03x}"
            further = None if at is None or inner else _overflow_page(driver, table, cell, size, *at)
            return f"page {further or number}"
        rank -= cells + inner
    return ""


def _overflow_page(driver: sqlite3.Connection, table: str, cell: str, page: int, byte: int, length: int) -> int | None:
    """The page on which a long record goes on, if a byte of it is there (fileformat2.html, 1.6)."""
    least = (page - 12) * 32 // 255 - 23
    kept = least + (length - least) % (page - 4)
    kept = length if length <= page - 35 else kept if kept <= page - 35 else least
    if byte < kept:
        return None
    path = f"{cell}+{(byte - kept) // (page - 4):06x}"
    found = driver.execute("SELECT pageno FROM dbstat WHERE name = ? AND path = ?", (table, path)).fetchone()
    return None if found is None else int(found[0])


def _as_text(raw: bytes) -> str:
    return raw.decode(errors="replace")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


# A prepared statement keeps the values that it was given last, whole proposals among them, until it is used again. With
# Python's 128 for each connection a daemon grew by 10 KiB a move; to prepare a statement again takes microseconds.
CACHED_STATEMENTS = 4
CACHE_KIB = 512  # of pages, for each of up to ten connections: what is read twice the system keeps too
JOURNAL_BYTES = 16 << 20  # of the -wal file, once what it held is in the ledger; it may grow further in between
INTERRUPT_INSTRUCTIONS = 100  # of SQLite's virtual machine: how often a statement is asked whether to go on
DROPPED_AT_ONCE = 50  # rows of history
_PAST = (
    select(history.c.id, func.length(history.c.body).label("size"))
    .where(history.c.ended_at <= bindparam("before", type_=MomentType))
    .limit(DROPPED_AT_ONCE)
)
_DROP = delete(history).where(one_of(history.c.id))


class FileDatabase(Database):
    """Short transactions on one ledger file. Safe to use from several threads."""

    # The driver raises the second where its error quotes what is no UTF-8.
    errors: ClassVar[tuple[type[Exception], ...]] = (sqlite3.Error, UnicodeDecodeError, WrongKind)
    dialect: ClassVar[Dialect] = pysqlite.dialect(dbapi=sqlite3)
    url: ClassVar[str] = "sqlite://"

    def __init__(self, path: Path, *, busy_seconds: float = 20.0) -> None:
        """Prepare; connects on first use.

        Args:
            path: absolute; the file exists (``opening.prepare_file``), SQLite never creates it here.
            busy_seconds: how long to wait for a lock before ``LedgerBusy``.
        """
        # No lease expires: who acts is a matter of the engine's own lock on one machine.
        super().__init__(str(path), math.inf)
        self.path = path
        self._busy_seconds = busy_seconds

    def read(self) -> AbstractContextManager[Reading]:
        """One consistent snapshot; writers are not blocked."""
        return self._reading("BEGIN")

    def write(self, *, durable: bool = True) -> AbstractContextManager[Transaction]:
        """One transaction that holds the write lock from its start; commits at the end, rolls back on any error.

        Raises:
            LedgerBusy: another process kept the lock.
        """
        # IMMEDIATE: a transaction that begins by reading and then wants to write fails at once with SQLITE_BUSY if
        # another one has written meanwhile, whatever the timeout. The level is set before BEGIN, since SQLite does not
        # change it within a transaction.
        return self._writing(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}", "BEGIN IMMEDIATE")

    def write_apart(self) -> AbstractContextManager[Transaction]:
        """As ``write``: a file has one writer at a time."""
        return self.write()

    def latest_possible(self, reading: Reading, now: datetime) -> datetime:
        """What the clock of who asks says: all processes that use the file have it in common."""
        del reading
        return now

    def now(self, reading: Reading) -> datetime:
        """The machine's own clock, which all processes that use the file have in common."""
        del reading
        return datetime.now(UTC)

    def size_bytes(self) -> int:
        """The file, without its journal."""
        return self.path.stat().st_size

    def find_damage(self) -> str:
        """What is wrong with the file; "" where nothing was found."""
        damage = str(self.pragma("quick_check(1)"))
        return "" if damage == "ok" else damage

    def drop_history(self, now: datetime, kept_seconds: float, databases: Collection[str]) -> Dropped:
        """Drop rows that ended before then, of all databases of the file, some under one write lock."""
        del databases
        before, rows, total = now - timedelta(seconds=kept_seconds), 0, 0
        while True:
            with self.write(durable=False) as transaction:
                # Some rows under each lock: dropping a month of history at once would make a statement wait for its
                # intent.
                found = transaction.rows(_PAST, before=before)
                if found:
                    transaction.execute(_DROP, some=[row.id for row in found])
            rows, total = rows + len(found), total + sum(row.size for row in found)
            if len(found) < DROPPED_AT_ONCE:
                return Dropped(rows=rows, bytes=total)

    def sight(self, reading: Reading) -> Sight:
        """All: who may open the file sees it."""
        del reading
        return Sight.ALL

    def find_owned(self, reading: Reading) -> frozenset[str] | None:
        """All: as above."""
        del reading
        return None

    def moved_to(self, reading: Reading) -> str:
        """Where ``hotplace ledger move`` has taken it."""
        trigger = reading.scalar(CLOSING)
        return (
            "" if trigger is None else str(trigger).partition(MOVED_TO)[2].rpartition("'); END")[0].replace("''", "'")
        )

    def pragma(self, statement: str) -> Any:  # noqa: ANN401  # whatever SQLite answers
        """Run a PRAGMA outside any transaction and return its first value."""
        with self._driver() as driver:
            answer = driver.execute(f"PRAGMA {statement}").fetchone()
            return None if answer is None else answer[0]

    def run(
        self, statement: str, *, until: Callable[[], bool] | None = None, busy_seconds: float | None = None
    ) -> None:
        """Run a statement to its end that makes a transaction of its own, as VACUUM does.

        Args:
            statement: what to run.
            until: asked now and then; the statement is broken off and undone once it says so.
            busy_seconds: how long to wait for a lock, default as ever.

        Raises:
            OperationalError: it was broken off; sqlite3's.
        """
        with self._driver() as driver:
            driver.set_progress_handler(until, INTERRUPT_INSTRUCTIONS)
            driver.execute(f"PRAGMA busy_timeout={_milliseconds(busy_seconds or self._busy_seconds)}")
            try:
                driver.executescript(statement)  # to its end, which execute() leaves out where no column comes back
            finally:
                driver.set_progress_handler(None, INTERRUPT_INSTRUCTIONS)
                driver.execute(f"PRAGMA busy_timeout={_milliseconds(self._busy_seconds)}")

    @contextmanager
    def _driver(self) -> Iterator[sqlite3.Connection]:
        """The driver's connection with no transaction, for what SQLite does outside of one."""
        with self._reading() as reading, self.own_errors:
            yield reading.driver

    def cursor_of_many(self, driver: sqlite3.Connection) -> sqlite3.Cursor:
        """Any: SQLite computes each row when it is asked for."""
        return driver.cursor()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{self.path.as_uri()}?mode=rw",
            uri=True,
            timeout=self._busy_seconds,
            isolation_level=None,  # we say BEGIN ourselves: sqlite3's own comes too late for a writer
            check_same_thread=False,  # a connection is handed to one thread at a time
            cached_statements=CACHED_STATEMENTS,
        )
        # SQLite checks foreign keys only where each connection asks for it.
        connection.execute("PRAGMA foreign_keys=ON")
        if not self.path.stat().st_size:  # of a new file only: on an existing one it would wait for the writer
            connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
        connection.execute(f"PRAGMA journal_size_limit={JOURNAL_BYTES}")
        connection.execute(f"PRAGMA cache_size=-{CACHE_KIB}")
        return connection

    # -- errors --------------------------------------------------------------------------------------------------

    def translate(self, error: BaseException) -> LedgerError | None:
        """The ledger's own error for one that SQLite raised; None where SQLite does not say more than the original."""
        if isinstance(error, WrongKind):
            return self.corrupt(str(error), error.table, **error.key)
        return translate_error(self.path, error, find_place)

    def corrupt(self, detail: str, table: str = "", **key: object) -> LedgerCorrupt:
        """The error that says that something stored is damaged, with the page."""
        if not table:
            return corrupt(self.path, detail, find_place(self.path))
        row = f"row {key['id']} of {table}" if "id" in key else ""
        return corrupt(self.path, detail, ", ".join(filter(None, [place_of_row(self.path, table, key), row])))


def _milliseconds(seconds: float) -> int:
    return round(1000 * seconds)


LONGEST_SECONDS = 10.0  # of giving back, half of what other writers wait for
SPARE_BYTES = 16 << 20  # free pages that are kept in any case: folding frees and takes as much every hour
SPARE_RATIO = 0.1  # of the file
STEP_BYTES = 4 << 20  # given back under one write lock
PAUSE_SECONDS = 0.02  # between two steps, for other writers
CHECKPOINT_SECONDS = 1.0  # to wait for readers of the journal
WORTH_RATIO = 0.8  # of the content that was too much for VACUUM: with less than this it is tried again
NONE, INCREMENTAL = 0, 2  # PRAGMA auto_vacuum


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenBack:
    """What became of free pages."""

    bytes: int  # given back
    free_bytes: int  # still free within the file
    sentence: str  # why no more was given back; "" where all that is not spare was


class Upkeep:
    """The size of the ledger's files."""

    def __init__(self, database: FileDatabase, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._too_much: int | None = None  # content bytes that VACUUM did not get through in time

    def give_back(self, longest_seconds: float = LONGEST_SECONDS) -> GivenBack:
        """Give back free pages beyond what is spare, and shorten the journal; readers and writers go on meanwhile.

        Args:
            longest_seconds: no step begins later, and VACUUM is broken off then.

        Raises:
            LedgerBusy: another process kept the write lock.
            LedgerFull: VACUUM found no room to write to; the ledger is as it was.
        """
        end = self._clock.monotonic() + longest_seconds
        before = self._bytes("page_count")
        free = self._bytes("freelist_count")
        sentence = ""
        if free > _spare(before):
            if self._database.pragma("auto_vacuum") == INCREMENTAL:
                self._in_steps(end)
            else:
                sentence = self._all_at_once(before - free, end)
        self._shorten_journal()
        after = self._bytes("page_count")
        return GivenBack(bytes=before - after, free_bytes=self._bytes("freelist_count"), sentence=sentence)

    def _in_steps(self, end: float) -> None:
        pages = STEP_BYTES // int(self._database.pragma("page_size"))
        while self._bytes("freelist_count") > _spare(self._bytes("page_count")):
            self._database.run(f"PRAGMA incremental_vacuum({pages})")
            if self._clock.monotonic() >= end:
                return
            # A pause between steps: SQLite does not queue for its lock, so a loop without one could keep other writers
            # out until their timeout.
            self._clock.sleep(PAUSE_SECONDS)

    def _all_at_once(self, content: int, end: float) -> str:
        """Make it a ledger that can give back in steps; why not, where that takes too long."""
        # Not tried every hour: each try writes for as long as it is allowed and is then undone.
        if self._too_much is not None and content > WORTH_RATIO * self._too_much:
            return ""
        try:
            self._database.run("PRAGMA auto_vacuum=INCREMENTAL; VACUUM", until=lambda: self._clock.monotonic() >= end)
        except sqlite3.OperationalError:  # every other error of SQLite's is translated: this one was broken off
            self._too_much = content
            return (
                f"{content >> 20} MiB of content are too much to be written again while the daemon runs; stop it once "
                f"and run: sqlite3 {self._database.path} 'PRAGMA auto_vacuum=INCREMENTAL; VACUUM'"
            )
        return ""

    def _shorten_journal(self) -> None:
        """Fold a -wal file that has grown into the ledger and cut it; readers of it may keep it for now."""
        journal = self._database.path.with_name(f"{self._database.path.name}-wal")
        if journal.exists() and journal.stat().st_size > JOURNAL_BYTES:
            self._database.run("PRAGMA wal_checkpoint(TRUNCATE)", busy_seconds=CHECKPOINT_SECONDS)

    def _bytes(self, pages: str) -> int:
        return int(self._database.pragma(pages)) * int(self._database.pragma("page_size"))


def _spare(file_bytes: int) -> float:
    return max(SPARE_BYTES, SPARE_RATIO * file_bytes)
