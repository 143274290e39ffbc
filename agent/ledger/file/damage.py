"""Where a ledger's file is damaged: the page, found through SQLite once something in it could not be read.

The file is never opened here but by SQLite: closing another handle would drop the locks that this process holds on it.
A page is found by counting rows: ``dbstat`` tells how many each page has, in the order of the table's key
(sqlite.org/dbstat.html); a library that is built without it names the row alone.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import lru_cache
from pathlib import Path

SECONDS = 10.0  # that the search may take
INSTRUCTIONS_BETWEEN = 10_000  # of SQLite's virtual machine, between two looks at the clock
HEAD = "page 1"  # has the file's header and the schema, without which nothing can be read
UNREADABLE = (sqlite3.Error, UnicodeDecodeError)  # the latter for an error whose text quotes what is damaged
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
    """The page of one row, by the columns of its primary key; "" where it cannot be told."""
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
