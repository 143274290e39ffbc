"""Statements by interval: as they were, apart by database, dropped when they are old or too many."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from agent.ledger.ledger import Ledger
from agent.ledger.measured import work as kept
from agent.model.outcomes import StatementInterval
from tests.unit.samples import MADE_AT

MINUTE = timedelta(minutes=1)


def interval(minute: int, *ids: str) -> StatementInterval:
    """A minute in which each statement ran ten times."""
    ran = np.full(len(ids), 10.0)
    return StatementInterval(
        started_at=MADE_AT + (minute - 1) * MINUTE, ended_at=MADE_AT + minute * MINUTE, ids=ids,
        executions=ran, seconds=ran / 3, read_wait=np.full(len(ids), np.nan), reads=ran * 2,
    )  # fmt: skip


def test_intervals_come_back_as_they_were(ledger: Ledger) -> None:
    """Those that lie within two instants, the oldest first, of one database; what is not counted stays unknown."""
    for minute in (3, 1, 2):
        ledger.statements.append("shop", interval(minute, "-17", "größer"))
    ledger.statements.append("hr", interval(2, "9"))
    ledger.statements.append("shop", interval(4))
    seen = ledger.statements.between("shop", MADE_AT + MINUTE, MADE_AT + 4 * MINUTE)
    assert [(each.ended_at, each.ids) for each in seen] == [
        (MADE_AT + 2 * MINUTE, ("-17", "größer")), (MADE_AT + 3 * MINUTE, ("-17", "größer")),
        (MADE_AT + 4 * MINUTE, ()),
    ]  # fmt: skip
    assert seen[0].seconds.tolist() == [10 / 3, 10 / 3]
    assert np.isnan(seen[0].read_wait).all()
    assert seen[0].length == 60.0
    with pytest.raises(ValueError, match="lasts 0"):
        ledger.statements.append("shop", replace(interval(1), started_at=MADE_AT + MINUTE))


def test_what_is_old_or_too_much_is_dropped(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """What ended before the instant goes, and of each database the oldest beyond so many."""
    for minute in range(1, 7):
        ledger.statements.append("shop", interval(minute, "1"))
    ledger.statements.append("hr", interval(6, "1"))
    assert ledger.statements.drop(MADE_AT + 2 * MINUTE) == 1
    monkeypatch.setattr(kept, "MOST_INTERVALS", 3)
    assert ledger.statements.drop(MADE_AT) == 2
    left = [len(ledger.statements.between(name, MADE_AT, MADE_AT + 9 * MINUTE)) for name in ("shop", "hr")]
    assert left == [3, 1]


def test_an_interval_takes_little(ledger: Ledger) -> None:
    """A hundred statements with ids of 19 digits are a few kilobytes; the figures are too different to pack well."""
    random = np.random.default_rng(1)
    ids = tuple(str(each) for each in random.integers(10**18, 9 * 10**18, 100))
    busy = StatementInterval(
        started_at=MADE_AT, ended_at=MADE_AT + MINUTE, ids=ids, executions=random.uniform(1, 9999, 100),
        seconds=random.random(100), read_wait=random.random(100), reads=random.uniform(1, 9999, 100),
    )  # fmt: skip
    assert ledger.statements.append("shop", busy) < 5000
