"""Killed at any moment, or written by several processes at once, the ledger is whole."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import text

from agent.ledger.errors import LedgerBusy, LedgerFull
from agent.ledger.file.database import FileDatabase
from agent.ledger.ledger import Ledger
from agent.ledger.rows import StepState
from agent.model.clock import SystemClock
from agent.model.states import MoveState, ProposalState
from connectors.kit.contract import Retry
from tests.ledger.clock import StillClock
from tests.ledger.conftest import approved, file_under, note, stored

ROOT = Path(__file__).parents[2]
KILLS = (1, 2, 7)  # after that many rounds


def _writer(path: Path, name: str, rounds: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.ledger.writer", str(path), name, str(rounds)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _rounds(ledger: Ledger, name: str) -> list[int]:
    return [row.facts["number"] for row in ledger.audit.rows(100_000) if row.event == "round" and row.actor == name][
        ::-1
    ]


def _history_rows(ledger: Ledger) -> int:
    now = SystemClock().now()
    return len(list(ledger.history.read("shop", now - timedelta(days=1), now + timedelta(days=1))))


def test_a_killed_writer_loses_at_most_its_last_round(path: Path) -> None:
    """Killed in the middle again and again: all that was reported is there, the chain holds, and goes on."""
    written = 0
    for kill, after in enumerate(KILLS):
        process = _writer(path, f"writer{kill}", 100_000)
        assert process.stdout is not None
        for _ in range(after):
            process.stdout.readline()
        process.kill()
        reported = after - 1 + len(process.stdout.read().split())
        process.communicate(timeout=30)
        with Ledger.open(path, SystemClock(), create=False) as ledger:
            assert ledger.audit.verify().ok
            rounds = _rounds(ledger, f"writer{kill}")
            assert rounds == list(range(len(rounds)))
            assert len(rounds) >= reported
            written += len(rounds)
            assert written <= _history_rows(ledger) <= written + kill + 1
            before = ledger.audit.verify().rows
            note(ledger, path.name)
            assert (ledger.audit.verify().ok, ledger.audit.verify().rows) == (True, before + 1)


def test_a_killed_writer_leaves_no_half_decision(path: Path) -> None:
    """A proposal and its moves always agree with each other."""
    process = _writer(path, "writer", 100_000)
    assert process.stdout is not None
    for _ in range(3):
        process.stdout.readline()
    process.kill()
    process.communicate(timeout=30)
    allowed = {
        ProposalState.PROPOSED: {MoveState.PROPOSED},
        ProposalState.APPROVED: {MoveState.APPROVED, MoveState.PRECHECK},
        ProposalState.FINISHED: {MoveState.SKIPPED},
        ProposalState.SUPERSEDED: {MoveState.SUPERSEDED},
    }
    with Ledger.open(path, SystemClock(), create=False) as ledger:
        for row in ledger.proposals.rows():
            states = {move.state for move in ledger.moves.rows(proposal_id=row.id)}
            assert states
            assert states <= allowed[row.state]


ON_DISK, SOON = 2, 1  # PRAGMA synchronous: FULL and NORMAL


def test_what_is_decided_or_sent_is_on_the_disk_first(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Promise 3: a power cut takes neither a decision nor the intent of a statement; only samples may be lost."""
    levels: list[int] = []
    write = FileDatabase.write

    @contextmanager
    def watched(database: FileDatabase, *, durable: bool = True) -> Iterator[Any]:
        with write(database, durable=durable) as transaction:
            yield transaction
            levels.append(int(transaction.scalar(text("PRAGMA synchronous"))))

    def level_of(act: Callable[[], Any]) -> tuple[set[int], Any]:
        levels.clear()
        answer = act()
        return set(levels), answer

    monkeypatch.setattr(FileDatabase, "write", watched)
    level, number = level_of(lambda: approved(ledger, 1))
    assert level == {ON_DISK}
    (move,) = ledger.moves.rows(proposal_id=number)
    for state in (MoveState.PRECHECK, MoveState.RUNNING):
        level, _ = level_of(partial(ledger.moves.transition, move.id, state, "as a test"))
        assert level == {ON_DISK}
    level, step = level_of(lambda: ledger.moves.step_intent(move.id, 1, move.move.route.steps[0].sql))
    assert level == {ON_DISK}
    level, _ = level_of(lambda: ledger.moves.step_result(step, StepState.DONE, ""))
    assert level == {ON_DISK}
    level, _ = level_of(lambda: note(ledger, "a decision"))
    assert level == {ON_DISK}
    for seen_again in (
        partial(ledger.state.save_document, "shop", "figures", {"seen": 1}),
        partial(ledger.state.share_arrays, "shop", "decision", StillClock().now(), {"heat": np.arange(3.0)}),
    ):
        level, _ = level_of(seen_again)
        assert level == {SOON}


def test_several_processes_write_at_once(path: Path) -> None:
    """They create the ledger together, and none loses or doubles anything."""
    rounds, names = 12, ("one", "two", "three")
    processes = [_writer(path, name, rounds) for name in names]
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    with Ledger.open(path, SystemClock(), create=False) as ledger:
        assert ledger.audit.verify().ok
        assert [row.event for row in ledger.audit.rows(100_000)].count("ledger.created") == 1
        for name in names:
            assert _rounds(ledger, name) == list(range(rounds))
        keys = [f"{name}.{n}" for name in (*names, "common") for n in range(rounds)]
        assert sorted(ledger.slots.of("shop", keys).tolist()) == list(range(len(keys)))
        assert _history_rows(ledger) == rounds * len(names)
        assert len(ledger.proposals.rows(states={ProposalState.FINISHED})) == rounds * len(names)


def test_threads_share_a_ledger(ledger: Ledger) -> None:
    """Each audit row of each thread is in the chain."""

    def write() -> None:
        for number in range(20):
            note(ledger, str(number))

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.audit.verify().ok
    assert len(ledger.audit.rows(1000)) == 81


def test_a_writer_that_never_ends_is_waited_for_only_so_long(ledger: Ledger, path: Path, clock: StillClock) -> None:
    """Then the error says so and may be tried again; readers go on all the while."""
    number = stored(ledger)
    with Ledger.open(path, clock, busy_seconds=0.05) as other:
        with ledger._database.write():
            assert other.proposals.row(number).id == number
            with pytest.raises(LedgerBusy, match=str(path)) as caught:
                note(other, "locked out")
        assert caught.value.retry is Retry.LATER
        note(other, "free again")
        assert other.audit.verify().ok


def test_a_reader_waits_for_no_writer(ledger: Ledger, path: Path, clock: StillClock) -> None:
    """Neither one that has read before nor one that connects while the other writes."""
    with ledger._database.write(), Ledger.open(path, clock, busy_seconds=0.05) as other:
        assert other.audit.rows(1)
        assert ledger.audit.rows(1)


def _limit_pages(ledger: Ledger, pages: int) -> None:
    """For the connection that writes."""
    with ledger._database.write() as transaction:
        assert transaction.scalar(text(f"PRAGMA max_page_count={pages}")) == pages


def test_a_full_disk_costs_that_write_only(ledger: Ledger, path: Path) -> None:
    """SQLite's own page limit stands for the disk: the error names the file, and what was there stays whole."""
    number = stored(ledger)
    pages = int(file_under(ledger).pragma("page_count"))
    _limit_pages(ledger, pages)
    with pytest.raises(LedgerFull, match=str(path)):
        note(ledger, "fills the file", "x" * 100_000)
    _limit_pages(ledger, 100_000)
    assert ledger.proposals.row(number).id == number
    note(ledger, "room again")
    assert ledger.audit.verify().ok
