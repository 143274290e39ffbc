"""Of what several sets of arrays have in common the ledger keeps one copy, for as long as one of them needs it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sqlalchemy import text

from agent.ledger.errors import LedgerCorrupt
from agent.ledger.ledger import Ledger
from tests.ledger.clock import StillClock
from tests.ledger.conftest import Tamper

KEYS: NDArray[np.uint8] = np.frombuffer(b"a name of a unit that is not short " * 500, dtype=np.uint8)


def sets_of(heat: float) -> dict[str, NDArray[np.generic]]:
    """What a plan is made from: keys that stay, and heat that changes."""
    return {"keys": KEYS, "heat": np.random.default_rng(int(heat)).random((2, 500)) + heat}


def columns_kept(ledger: Ledger) -> int:
    """How many columns the ledger holds."""
    with ledger._database.read() as reading:
        return int(reading.scalar(text("SELECT count(*) FROM shared_columns")))


def test_what_did_not_change_is_kept_once(ledger: Ledger, clock: StillClock) -> None:
    """Ten sets with one column in common: one copy of it, ten of the other, each set as it was saved."""
    first = ledger.state.share_arrays("shop", "set 0", clock.now(), sets_of(0))
    others = [ledger.state.share_arrays("shop", f"set {n}", clock.now(), sets_of(n)) for n in range(1, 10)]
    assert columns_kept(ledger) == 11
    assert max(others) < first
    assert ledger.state.share_arrays("hr", "set 0", clock.now(), sets_of(0)) == 0, "nothing of it is new"
    for number in range(10):
        at, back = ledger.state.load_arrays("shop", f"set {number}") or (None, {})
        assert at == clock.now()
        for name, column in sets_of(number).items():
            np.testing.assert_array_equal(back[name], column)


def test_a_column_goes_with_the_last_set_that_has_it(ledger: Ledger, clock: StillClock) -> None:
    """Forgotten, replaced by others or by arrays of their own: no copy stays that nothing refers to."""
    for number in range(3):
        ledger.state.share_arrays("shop", f"set {number}", clock.now(), sets_of(number))
    ledger.state.share_arrays("shop", "set 0", clock.now(), sets_of(7))
    assert columns_kept(ledger) == 4
    ledger.state.save_arrays("shop", "set 1", clock.now(), {"heat": np.arange(3)})
    assert columns_kept(ledger) == 3
    clock.sleep(60)
    assert ledger.state.forget_arrays("set ", clock.now(), {("shop", "set 2")}) == 2
    assert columns_kept(ledger) == 2
    np.testing.assert_array_equal((ledger.state.load_arrays("shop", "set 2") or (None, {}))[1]["keys"], KEYS)
    assert ledger.state.forget_arrays("set ", clock.now()) == 1
    assert columns_kept(ledger) == 0
    assert ledger.state.load_arrays("shop", "set 2") is None


def test_columns_are_equal_only_to_the_bit(ledger: Ledger, clock: StillClock) -> None:
    """The same bytes of another type or shape are another column; NaN, nothing and truth values come back as saved."""
    saved: dict[str, NDArray[np.generic]] = {
        "zeros": np.zeros(8), "whole": np.zeros(8, np.int64), "square": np.zeros((2, 4)), "empty": np.zeros(0, np.int8),
        "none": np.zeros((0, 3)), "nan": np.array([np.nan, -0.0, np.inf]), "is": np.array([True, False]),
        "again": np.zeros(8),
    }  # fmt: skip
    ledger.state.share_arrays("shop", "kinds", clock.now(), saved)
    assert columns_kept(ledger) == len(saved) - 1
    back = (ledger.state.load_arrays("shop", "kinds") or (None, {}))[1]
    assert back.keys() == saved.keys()
    for name, column in saved.items():
        assert (back[name].dtype, back[name].shape) == (column.dtype, column.shape)
        assert back[name].tobytes() == column.tobytes()


def test_a_damaged_column_is_named(ledger: Ledger, clock: StillClock, tamper: Tamper) -> None:
    """Refused with the set that it belongs to, never guessed at."""
    ledger.state.share_arrays("shop", "set 0", clock.now(), sets_of(0))
    assert tamper("UPDATE shared_columns SET body = x'00112233'")
    with pytest.raises(LedgerCorrupt, match="set 0"):
        ledger.state.load_arrays("shop", "set 0")
