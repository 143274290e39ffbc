"""``hotplace demo`` from start to end, as a script would run it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.demo import story
from agent.demo.slow_disk import available
from agent.demo.stage import company, stage
from agent.model.answers.setup import DemoRun
from agent.terminal.output import Output
from tests.documents import check_document
from tests.e2e.program import PROGRAM, wait_until

pytestmark = [pytest.mark.postgresql, pytest.mark.slow]


# Other tests keep the machine busy, more in one half of a run than in the other: a forecast cannot know, and what is
# measured may be too unsteady to tell.
MOST_RUNS = 3


def demonstrated() -> dict[str, Any]:
    """What one run of the demo says."""
    done = subprocess.run(
        [str(PROGRAM), "demo", "--yes", "--json"], capture_output=True, text=True, timeout=400, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    check_document(["demo"], document)
    return document


def test_the_demo_does_the_main_job() -> None:
    """Hot units end on ssd, decoys do not, every statement ran as shown, and the forecast holds."""
    for left in reversed(range(MOST_RUNS)):
        document = demonstrated()
        assert document["engine"].startswith("postgresql 18")
        assert all(move["in_catalog"] and move["on_disk"] is not False for move in document["placements"]["moves"])
        assert document["plan"]["gap_ratio"] >= 0
        assert document["scrape"] > 1000
        wrong = [*misplaced(document), *missed(document)]
        if not wrong:
            return
        assert left, (wrong, document["plan"], document["outcomes"])


def misplaced(document: dict[str, Any]) -> Iterator[str]:
    """What did not end where it belongs."""
    before, after = document["placements"]["before"], document["placements"]["after"]
    hot = ("shop.orders", "shop.orders_pkey", 'shop."shipments 2026-06"', 'shop."shipments 2026-06_pkey"')
    cold = ("shop.price_list", 'shop."click stream"', "shop.audit_log", "shop.invoices_2019")
    for units, space in ((hot, "ssd_space"), (cold, "hdd_space")):
        yield from (f"{unit} ended on {after[unit]}" for unit in units if after[unit] != space)
    yield from (f"{unit} began on {before[unit]}" for unit in hot if before[unit] != "hdd_space")
    yield from (str(decoy) for decoy in document["decoys"] if not (decoy["as_expected"] and decoy["why"]))
    if len(document["statements"]) < 5:
        yield f"only {document['statements']}"


def missed(document: dict[str, Any]) -> Iterator[str]:
    """What was forecast or measured otherwise than it should be."""
    (outcome,) = document["outcomes"]
    assert outcome["measured"] is available()[0]
    if not outcome["measured"]:
        return
    before, now = (outcome[f"load_{when}"]["transactions_per_second"] for when in ("before", "after"))
    low, high = (outcome[f"predicted_transactions_per_second_{end}"] for end in ("low", "high"))
    if outcome["verdict"] != "helped" or now <= before:
        yield f"{outcome['verdict']}: {before}/s became {now}/s"
    if not low <= outcome["transactions_per_second_after"] <= high:
        yield f"{outcome['transactions_per_second_after']}/s came, {low} to {high} were forecast"
    if high > 4 * low:
        yield f"an interval of {low} to {high} says nothing"


def test_without_a_slow_disk_the_counters_predict(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no compiler is, the plan still moves the hot units; a person who says no ends it."""
    monkeypatch.setattr(story, "OBSERVE_SECONDS", 8.0)
    output = Output(as_json=True, no_color=True)
    with stage(slow_disk=False) as built, company(built, lambda _event: None) as players:
        told = story.DemoStory(built, players, output, approve=lambda _question: False, who="test")
        ending = told.tell()
    assert isinstance(ending.found, DemoRun)
    moved = {move.unit: move.to_space for move in ending.found.plan.moves}
    assert {moved.get(unit) for unit in (built.schema.hot, built.schema.hot_index)} == {"ssd_space"}, moved
    assert not ending.approved


def test_without_an_answer_nothing_is_started() -> None:
    """Nobody to ask and no --yes: refused at once, with the way out."""
    done = subprocess.run(
        [str(PROGRAM), "demo"], capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 6
    assert "--yes" in done.stderr


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder for temporary files that everybody may enter, as PostgreSQL's user under root must."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_nothing_is_left_behind(open_folder: Path) -> None:
    """Ctrl-C in the middle ends with 130 and removes server and folder."""
    process = subprocess.Popen(
        [str(PROGRAM), "demo", "--yes"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": str(open_folder)}, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    wait_until("the schema", lambda: list(open_folder.glob("hotplace-demo-*/hotplace.yaml")))
    time.sleep(2)  # into the load
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert not list(open_folder.iterdir())
