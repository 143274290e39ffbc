"""A report of before and one of after: compared for equal work, or the reason why not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from agent.studies.periods_compared import compare
from tests.assess.test_assessing import TOLD, judged
from tests.assess.written_reports import Space, Told, write
from tests.cli.site import run_here

BEFORE = replace(TOLD, transactions=10.0, logical=50_000.0, segments=[])
# Twice the work in the same time, on storage that is ten times as fast.
AFTER = replace(
    BEFORE, snapshot=110, transactions=20.0, logical=100_000.0,
    events=[("db file sequential read", 2_600_000, 1_460.0), ("db file scattered read", 2_000, 2.0)],
    spaces=[Space(name="DATA", reads=2_000_000, read_ms=0.7), Space(name="IDX", reads=600_000, read_ms=0.1)],
)  # fmt: skip


@pytest.mark.parametrize("layout", ["awr11", "html19"])
def test_equal_work_is_compared_by_transaction(layout: str) -> None:
    """Wait a transaction and the time of each kind of read; the saving is for as much work as before."""
    found = compare(judged(BEFORE, layout=layout), judged(AFTER, layout=layout))
    assert found.refused == ""
    assert found.before_wait == pytest.approx(7_310 / 36_000)
    assert found.after_wait == pytest.approx(1_462 / 72_000)
    assert found.saves_per_hour == pytest.approx(7_310 - 731)
    one_block = next(kind for kind in found.kinds if kind.name == "reads of one block")
    assert one_block.before_seconds == pytest.approx(7_300 / 1_300_000)
    assert one_block.after_seconds == pytest.approx(1_460 / 2_600_000)
    assert one_block.before_per_transaction == pytest.approx(one_block.after_per_transaction)


@pytest.mark.parametrize(
    ("after", "words"),
    [
        (replace(AFTER, database="OTHER"), "of two databases, PROD and OTHER"),
        (replace(AFTER, database_id=1234567891), "of two databases PROD, 1234567890 and 1234567891"),
        (replace(AFTER, instance="prod2"), "of two instances, prod and prod2"),
        (replace(AFTER, snapshot=100), "of the same time in part, snapshots 100 to 101 and 100 to 101"),
        (replace(AFTER, snapshot=90), "the second, of snapshots 90 to 91, is the earlier one"),
        (replace(AFTER, logical=400_000.0), "a transaction reads 400% of the blocks"),
        (replace(AFTER, logical=None), "logical reads are not counted"),
        (replace(AFTER, transactions=0.0), "transactions are not counted"),
        (replace(AFTER, events=[]), "waits were not measured in both"),
    ],
)
def test_other_work_is_refused(after: Told, words: str) -> None:
    """Another database, other statements, no transactions, no measured waits: said, and nothing is compared."""
    found = compare(judged(BEFORE), judged(after))
    assert words in found.refused
    assert found.kinds == ()


def test_the_command_compares_two_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In words and as JSON; of one report or three it says nothing of a comparison."""
    monkeypatch.chdir(tmp_path)
    for name, told in (("a.txt", BEFORE), ("b.txt", AFTER), ("c.txt", replace(AFTER, logical=1.0))):
        Path(name).write_text(write(told, "awr11"), encoding="utf-8")
    done = run_here("assess", "a.txt", "b.txt")
    assert "a transaction waits 203 ms for reads before, 20.3 ms after" in done.out
    assert "not compared: a transaction reads" in run_here("assess", "a.txt", "c.txt").out
    document = json.loads(run_here("assess", "a.txt", "b.txt", "--json").out)
    assert document["compared"]["refused"] is None
    assert document["compared"]["wait_saved_per_hour_seconds"] == pytest.approx(6_579)
    assert json.loads(run_here("assess", "a.txt", "--json").out)["compared"] is None
