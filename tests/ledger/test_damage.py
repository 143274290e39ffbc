"""Whatever byte of the file is another: the ledger is read, or refused as damaged with the page and the next step."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from agent.cli.run import ServedDocuments
from agent.config.files import load
from agent.ledger.errors import LedgerCorrupt, LedgerError, LedgerFull, translate_error
from agent.ledger.file.database import find_place, place_of_row
from agent.ledger.ledger import Ledger
from agent.model.clock import SystemClock
from agent.sampling.learned_state import load_learned
from agent.terminal.errors import ExitCode
from connectors.kit.contract import HotplaceError
from tests.cli.site import Site
from tests.examples import by_turns

KINDS = {
    "the header", "the schema", "inner pages of tables", "leaves of tables", "inner pages of indexes",
    "leaves of indexes", "overflow", "the free list", "the map of pointers",
}  # fmt: skip
FLIPS = {"header": 4, "body": 5}  # of each kind
ASKED: tuple[tuple[str, Mapping[str, str | int]], ...] = (
    ("status", {}), ("top", {"limit": 5}), ("units", {"limit": 5}), ("proposals", {}),
    ("show", {"number": 1}), ("history", {"limit": 5}), ("outcomes", {"limit": 5}), ("pins", {}),
    ("audit", {"limit": 50}),    ("explain", {"unit": '"shop"."orders"'}), ("report", {}),
)  # fmt: skip
EVER = datetime(2000, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)


class Stored:
    """A ledger that has lived, as bytes, with its page size and what each page is."""

    def __init__(self, folder: Path) -> None:
        self.site = Site(folder)
        number, digest = self.site.propose()
        self.site.good("approve", str(number), "--digest", digest[:12], "--reason", "agreed with eva")
        self.site.good("pin", '"shop"."orders"', "must")
        for _ in range(2):
            self.site.run("run", "--once")
        with Ledger.open(self.site.ledger_path, SystemClock()) as ledger:
            for count in range(1500):
                ledger.state.save_document(
                    f"database {count:06} of some that others watch", "status", {"host": "x" * 60}
                )
            for size in (100_000, 1):  # the second leaves pages free
                ledger.state.save_document("shop", "long", "x" * size)
        self.bytes = self.site.ledger_path.read_bytes()
        self.page = int.from_bytes(self.bytes[16:18], "big")
        self.pages = self._kinds()

    def _kinds(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = defaultdict(list)
        with closing(sqlite3.connect(self.site.ledger_path)) as driver:
            indexes = {name for (name,) in driver.execute("SELECT name FROM sqlite_master WHERE type = 'index'")}
            for name, number, kind in driver.execute("SELECT name, pageno, pagetype FROM dbstat"):
                what = "indexes" if name in indexes else "tables"
                kinds = {"internal": f"inner pages of {what}", "leaf": f"leaves of {what}", "overflow": "overflow"}
                found["the schema" if name == "sqlite_schema" else kinds[kind]].append(number)
        used = {number for numbers in found.values() for number in numbers}
        found["the header"], found["the map of pointers"] = [1], [2]
        found["the free list"] = sorted(set(range(3, len(self.bytes) // self.page + 1)) - used)
        return found

    def flipped(self, page: int, byte: int, by: int) -> bytes:
        """The file with some bits of a byte changed."""
        changed = bytearray(self.bytes)
        changed[(page - 1) * self.page + byte] ^= by
        return bytes(changed)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Stored:
    """The ledger of this module."""
    return Stored(tmp_path_factory.mktemp("lived"))


def written(stored: Stored, folder: Path, data: bytes) -> Path:
    """A ledger of these bytes in a folder of its own."""
    path = folder / "ledger.db"
    for name in ("ledger.db-wal", "ledger.db-shm"):
        (folder / name).unlink(missing_ok=True)
    path.write_bytes(data)
    shutil.copy(f"{stored.site.ledger_path}.anchors", f"{path}.anchors")
    return path


def refusals(stored: Stored, path: Path) -> Iterator[HotplaceError]:
    """What commands and the agent are told of a ledger that they read and write; any other error is raised."""
    try:
        ledger = Ledger.open(path, SystemClock())
    except HotplaceError as error:
        yield error
        return
    with ledger:
        config = load(stored.site.path)
        served = ServedDocuments(lambda: config, ledger, SystemClock())
        reads: list[Callable[[], object]] = [partial(served, command, given) for command, given in ASKED]
        reads += [
            ledger.audit.verify, ledger.figures, ledger.overview.agents, partial(load_learned, ledger, "shop"),
            lambda: list(ledger.history.read("shop", *EVER)), lambda: list(ledger.work.between("shop", *EVER)),
            lambda: ledger.proposals.row(1), lambda: ledger.moves.sent_statements("shop", EVER[0]),
            partial(ledger.rules.rows, "shop"),
            partial(ledger.state.save_document, "shop", "status", {"cycles": 1}),
        ]  # fmt: skip
        for read in reads:
            try:
                read()
            except HotplaceError as error:
                yield error


def test_every_kind_of_page_is_there(stored: Stored) -> None:
    """The file of these tests has each of them."""
    assert {kind for kind, pages in stored.pages.items() if pages} == KINDS


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_flipped_byte_is_read_over_or_said(kind: str, stored: Stored, tmp_path: Path) -> None:
    """In its head or anywhere else: never an error of SQLite, of Python's codecs or of a parser."""
    draw, said = random.Random(kind), 0
    for where in [name for name, count in FLIPS.items() for _ in range(count)]:
        page = draw.choice(stored.pages[kind])
        first = draw.choice((0, 16, 18, 19, 20, 21, 44, 47, 56, 59)) if page == 1 else draw.randrange(16)
        byte = first if where == "header" else draw.randrange(stored.page)
        path = written(stored, tmp_path, stored.flipped(page, byte, draw.choice((1, 2, 8, 32, 64, 128, 255))))
        for error in refusals(stored, path):
            assert not isinstance(error, LedgerError) or error.advice, (kind, page, byte, error)
            said += isinstance(error, LedgerCorrupt)
    assert said or kind in {"the free list", "the map of pointers"}


TEXTS = (  # that the file holds once, and how the page is named: some text on each kind of page that holds any
    b'"asked_by"', b"agreed with eva", b"caches warm up", b"database 000777 of some", b'MOVE TABLE "shop"',
)  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_that_is_none_is_said_with_its_page(text: bytes, stored: Stored, tmp_path: Path) -> None:
    """The page that holds the byte, found through SQLite; what the text was is not said."""
    places = [at for at in range(len(stored.bytes)) if stored.bytes.startswith(text, at)]
    for at in places[:3]:
        page, byte = at // stored.page + 1, at % stored.page + 2
        if not any(page in stored.pages[kind] for kind in ("leaves of tables", "overflow")):
            continue
        path = written(stored, tmp_path, stored.flipped(page, byte, 0x80))
        assert find_place(path).startswith(f"page {page}, row ")
        corrupt = [error for error in refusals(stored, path) if isinstance(error, LedgerCorrupt)]
        assert corrupt
        assert any(f"page {page}, row " in str(error) for error in corrupt)
        assert not any(text[4:].decode() in str(error) for error in corrupt)
        assert all(f"mv {path} {path}.broken" in error.advice for error in corrupt)


SPOILT = (  # what no writer of these tables writes, and where
    ("UPDATE moves SET state = 'plazed' WHERE id = 1", "row 1 of moves"),
    ("UPDATE moves SET ordinal = 77 WHERE id = 1", "row 1 of moves"),
    ("UPDATE moves SET updated_at = 'now' WHERE id = 1", "row 1 of moves: an instant is 'now'"),
    ("UPDATE moves SET updated_at = 9000000000000000000 WHERE id = 1", "row 1 of moves: an instant is 9"),
    ("UPDATE proposals SET state = 'x' WHERE id = 1", "row 1 of proposals"),
    ("UPDATE proposals SET body = x'ff' WHERE id = 1", "row 1 of proposals"),
    ("UPDATE steps SET state = 'x' WHERE id = 1", "row 1 of steps"),
    ("UPDATE documents SET body = replace(body, 'cycles', 'cykles') WHERE name = 'status' AND database = 'shop'",
     "the document 'status' of shop"),
    ("UPDATE documents SET body = '{' WHERE name = 'status' AND database = 'shop'", "the document 'status' of shop"),
    ("UPDATE arrays SET body = x'00' WHERE name = 'decision'", "the arrays 'decision' of shop"),
    ("UPDATE arrays SET body = 5 WHERE name = 'decision'", "int in the column body of shop, decision in arrays"),
    ("UPDATE array_columns SET column = 'x' WHERE column = 'keys'", "the arrays 'decision' of shop"),
    ("DELETE FROM array_columns WHERE column = 'keys'", "the arrays 'decision' of shop"),
    ("UPDATE work SET body = '[]'", "of work"),
    ("UPDATE work SET body = x'ff'", "of work"),
    ("UPDATE moves SET reason = x'41' WHERE id = 1", "row 1 of moves: bytes in the column reason, which holds str"),
    ("UPDATE moves SET attempts = 'eva' WHERE id = 1", "row 1 of moves: str in the column attempts, which holds int"),
    ("UPDATE history SET body = x'ff'", "history of shop"),
    ("UPDATE audit SET facts = '{' WHERE id = 3", "row 3 of audit"),
    ("ALTER TABLE steps RENAME COLUMN sql TO statement", "no such column: steps.sql"),
    ("ALTER TABLE moves RENAME COLUMN reason TO why", "no such column: moves.reason"),
    ("DROP TABLE pins", "no such table"),
)  # fmt: skip


@pytest.mark.parametrize(("spoil", "words"), SPOILT)
def test_a_value_of_another_kind_is_damage(spoil: str, words: str, stored: Stored, tmp_path: Path) -> None:
    """Where SQLite sees nothing wrong: a state that there is not, an instant that is none, other columns, no JSON."""
    path = written(stored, tmp_path, stored.bytes)
    with closing(sqlite3.connect(path)) as driver:
        driver.executescript("PRAGMA ignore_check_constraints = ON; PRAGMA writable_schema = ON")
        with driver:
            try:
                driver.execute(spoil)
            except sqlite3.IntegrityError as error:
                pytest.skip(f"the table refuses it: {error}")
    found = [str(error) for error in refusals(stored, path) if isinstance(error, LedgerCorrupt)]
    assert any(words in error for error in found), found


@pytest.mark.parametrize("length", [0, 1, 100, 511, 512, 5000, 4096 * 3, 4096 * 20])
def test_a_file_that_is_cut_off(length: int, stored: Stored, tmp_path: Path) -> None:
    """At any length it is refused by a sentence."""
    path = written(stored, tmp_path, stored.bytes[:length])
    found = list(refusals(stored, path))
    assert found
    assert all(isinstance(error, LedgerError) and error.advice for error in found)


def test_a_page_of_a_row(stored: Stored) -> None:
    """Counted over the leaves: of a table by its rowid, of one by its key, and none for what is not there."""
    path = stored.site.ledger_path
    for number in (0, 700, 1499):
        name = f"database {number:06} of some that others watch".encode()
        holds = {at // stored.page + 1 for at in range(len(stored.bytes)) if stored.bytes.startswith(name, at)}
        (page,) = holds & set(stored.pages["leaves of tables"])  # besides that of the index
        assert place_of_row(path, "documents", {"database": name.decode(), "name": "status"}) == f"page {page}"
    assert place_of_row(path, "array_columns", {"database": "shop", "name": "decision", "column": "few"}).startswith(
        "page"
    )
    assert place_of_row(path, "nothing", {"id": 1}) == ""
    assert find_place(path) == ""
    assert find_place(path.with_name("nothing")) == ""


def test_a_command_says_so(stored: Stored, tmp_path: Path) -> None:
    """With its exit code, the page and what to do, and nothing else."""
    at = stored.bytes.index(b"caches warm up")
    written(stored, tmp_path, stored.flipped(at // stored.page + 1, at % stored.page, 0x80))
    shutil.copy(stored.site.path, tmp_path / "hotplace.yaml")
    done = Site(tmp_path).run("history")
    assert done.code == ExitCode.LEDGER_UNUSABLE
    assert f"page {at // stored.page + 1}, row " in done.err.replace("\n", " ")
    assert "next:" in done.err
    assert "Traceback" not in done.err


FOREIGN = ("x'ff'", "'x'", "9000000000000000000")


# A document that an older hotplace could have stored: it is JSON, and has no checksum yet.
WITHOUT_CHECKSUM = {("documents", "body", value) for value in ("9000000000000000000",)}


def columns(path: Path) -> list[tuple[str, str]]:
    """Each column of each table of ours that has rows."""
    with closing(sqlite3.connect(path)) as driver:
        tables = [name for (name,) in driver.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        filled = [name for name in tables if driver.execute(f'SELECT 1 FROM "{name}"').fetchone()]
        return [(name, row[1]) for name in filled for row in driver.execute(f'PRAGMA table_info("{name}")')]


@pytest.mark.parametrize("part", range(4))
def test_no_column_holds_what_stops_a_reader(part: int, stored: Stored, tmp_path: Path) -> None:
    """Bytes, another word, a number beyond every calendar: in no column of any table is it an error of Python."""
    found = columns(stored.site.ledger_path)
    every = [(*of, value) for place, of in enumerate(found) for value in by_turns(FOREIGN, place)]
    every = [each for each in every if each not in WITHOUT_CHECKSUM]
    for table, column, value in every[part::4]:
        path = written(stored, tmp_path, stored.bytes)
        with closing(sqlite3.connect(path)) as driver, driver:
            driver.execute("PRAGMA ignore_check_constraints = ON")
            with suppress(sqlite3.IntegrityError):  # a key, or two that are one
                driver.execute(f'UPDATE "{table}" SET "{column}" = {value}')
        for error in refusals(stored, path):
            assert str(error), (table, column, value)


def test_an_error_of_a_full_disk_is_told_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite calls it an I/O error where it maps the index of its journal; with room it is one of the disk."""
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_SHMSIZE
    roomy = os.statvfs(tmp_path)
    assert "kernel's log" in getattr(translate_error(tmp_path / "l.db", error), "advice", "")
    full = SimpleNamespace(f_bavail=3, f_frsize=roomy.f_frsize)
    monkeypatch.setattr("agent.ledger.errors.os.statvfs", lambda _: full)
    assert isinstance(translate_error(tmp_path / "l.db", error), LedgerFull)
