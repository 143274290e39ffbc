"""Who looks early is answered, next to a young daemon too, and takes nothing of what that knows."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from agent.config.files import load
from agent.config.models import Level
from agent.ledger.ledger import Ledger
from agent.ledger.rows import HistorySettings
from agent.ledger.state_names import STATUS
from agent.model.clock import SystemClock
from agent.service.jobs import Jobs
from agent.service.snapshot import status_document
from agent.service.watch import Watch
from tests.cli.site import Site

ORDERS = '"shop"."orders"'


@pytest.fixture
def patient(site: Site) -> Site:
    """A shop with the usual patience: half an hour of history, and waits that have cost what the move costs."""
    site.database["policy"] = {}
    site.database["plan_every"] = "1h"
    site.write()
    return site


@contextmanager
def young_daemon(site: Site, samples: int) -> Iterator[tuple[Jobs, Watch, Ledger]]:
    """What a daemon leaves in the ledger after so many samples, which lives as long as the block lasts."""
    config, clock = load(site.path), SystemClock()
    database = config.database()
    with Ledger.open(site.ledger_path, clock) as ledger:
        watch = Watch(database, ledger, clock, level=Level.PROPOSE, dry_run=True)
        jobs = Jobs(ledger, clock, HistorySettings())
        try:
            for _ in range(samples):
                jobs.sample(watch)
                clock.sleep(database.sample_seconds)
            living = status_document(watch.snapshot, clock.now(), os.getppid())  # a process that is not this one
            ledger.state.save_document(database.name, STATUS, living)
            yield jobs, watch, ledger
        finally:
            watch.close(save=False)


def stored(ledger: Ledger) -> dict[str, Any]:
    """Everything that the daemon has stored of what it knows, with its time."""
    names = ("heat", "tier speed", "seasons", "horizons", "known units", "ranking", "decision")
    documents = ("work of the database", "advice", "pins", "trace figures")
    found = {name: ledger.state.load_arrays("shop", name) for name in names}
    kept: dict[str, Any] = {name: None if each is None else each[0] for name, each in found.items()}
    work = ledger.work.since("shop", datetime(2000, 1, 1, tzinfo=UTC))
    history = ledger.history.read("shop", datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC))
    return {
        **kept, **{name: ledger.state.load_document("shop", name) for name in documents},
        "work": len(work), "history": len(list(history)),
    }  # fmt: skip


def test_slow_right_now_is_answered(patient: Site) -> None:
    """Without a daemon: what would be moved, how sure, what has to be seen first, and from when on it is proposed."""
    before = datetime.now(UTC)
    said = patient.good("plan", "--sql", "--observe", "0.3").out
    assert said.startswith("not proposed yet; as it looks now: ")
    assert "nothing is worth moving" not in said
    assert re.search(r"waiting sessions \S+ -> \S+ \(\S+ to \S+\)", said)
    assert 'MOVE TABLE "shop"."orders" TO SPACE "ssd"' in said
    assert "more of watching" in said
    assert "start hotplace run, which plans every 1 h" in said
    found = patient.good("plan", "--observe", "0.3", "--json").document
    prospect = found["prospect"]
    assert (found["moves"], found["proposal"]) == ([], None)
    assert ORDERS in {move["unit"] for move in prospect["moves"]}
    assert prospect["wait_saved_low_per_hour_seconds"] < prospect["wait_saved_per_hour_seconds"]
    assert datetime.fromisoformat(prospect["proposed_from"]) > before
    assert 0 < prospect["proposed_in_seconds"] <= 1800
    assert {condition["unit"] for condition in prospect["conditions"]} <= {m["unit"] for m in prospect["moves"]}


def test_before_anything_was_watched_nothing_is_claimed(patient: Site) -> None:
    """No unit is called idle, and nothing is said to be worth moving or not."""
    done = patient.good("plan")
    assert done.out.startswith("nothing was watched yet, so nothing is known of any unit")
    assert "idle" not in done.out
    assert "nothing is worth moving" not in done.out
    assert patient.good("plan", "--json").document["not_chosen"] == []


def test_what_is_proposed_needs_no_prospect(site: Site) -> None:
    """Where a plan has moves it is the answer; --propose stores it, and never what is not proposed yet."""
    assert site.good("plan", "--observe", "0.3", "--json").document["prospect"] is None


def test_a_forgotten_space_is_the_answer(patient: Site) -> None:
    """Where what waits is in no tier the first line says so and names the key, not that nothing is worth moving."""
    patient.database["tiers"] = [{"name": "ssd", "spaces": ["ssd"]}]
    patient.write()
    said = patient.good("plan", "--observe", "0.3").out
    assert said.startswith("what sessions wait for most cannot be moved: it is in hdd, for which no tier is")
    assert "(tiers: spaces)" in said.splitlines()[0]


def test_what_is_not_proposed_yet_is_not_stored(patient: Site) -> None:
    """--propose does not go round what has to be seen first."""
    assert "there is nothing to propose" in patient.good("plan", "--observe", "0.3", "--propose").out
    assert patient.good("proposals", "--json").document["proposals"] == []


def test_slow_right_now_is_answered_next_to_a_daemon(patient: Site) -> None:
    """What the daemon has learnt and what is seen meanwhile give the answer; nothing in the ledger changes."""
    with young_daemon(patient, samples=3) as (jobs, watch, ledger):
        jobs.plan(watch)
        before = stored(ledger)
        found = patient.run("plan", "--observe", "0.3", "--json")
        assert found.code == 0
        assert "a daemon watches this database" in found.err
        prospect = found.document["prospect"]
        assert prospect["moves"]
        assert min(c["watched_seconds"] for c in prospect["conditions"]) > 2 * 0.2, "the daemon's, and its own"
        at, planned = (datetime.fromisoformat(prospect[name]) for name in ("proposed_from", "daemon_plans_at"))
        assert at <= planned <= at + timedelta(minutes=1), "not only with the turn after that, an hour from the first"
        assert stored(ledger) == before
        assert before["ranking"] is not None


def test_what_a_young_daemon_knows_is_there(patient: Site) -> None:
    """After its second sample `plan` and `sizing` answer from it; before, they say when to ask again."""
    with young_daemon(patient, samples=1):
        for command in ("plan", "sizing"):
            said = patient.good(command).out
            assert "it knows something with its second sample" in said
            assert "hotplace run" not in said
            assert "nothing to buy it for" not in said
    with young_daemon(patient, samples=2):
        assert "was watched" not in (said := patient.good("plan").out)
        assert ORDERS in said
        assert patient.good("sizing", "--json").document["all_fast_wait_saved_per_hour_seconds"] > 0
        assert "share of " in patient.good("sizing").out


def test_a_command_replaces_nothing_of_the_daemons(patient: Site) -> None:
    """`plan` in any mode, watching or not, leave ranking, heat and history as the daemon has stored them."""
    with young_daemon(patient, samples=2) as (jobs, watch, ledger):
        jobs.plan(watch)
        before = stored(ledger)
        ranked = patient.good("units", "--json").document
        patient.good("trace", "on")
        for command in (("plan",), ("plan", "--observe", "0.3"), ("plan", "--mode", "usage"), ("sizing",)):
            patient.good(*command)
        assert stored(ledger) == before
        assert patient.good("units", "--json").document == ranked
    assert any(unit["sync_reads_per_second"] for unit in ranked["units"])


def test_a_daemon_of_another_version_is_shown(site: Site) -> None:
    """What its version did not write is null, what a newer one writes more is left out, and the rest is the same."""
    missing = {"untrusted", "sample_seconds"}
    with young_daemon(site, 1) as (_, watch, ledger):
        written = status_document(watch.snapshot, SystemClock().now(), os.getppid())
        other = {key: value for key, value in written.items() if key not in missing}
        ledger.state.save_document("shop", STATUS, {**other, "of_a_newer_version": 1})
        (shop,) = site.good("status", "--json").document["databases"]
        del written["process"]  # says no more than that it is still this one
        del written["sending"]  # is said of the database, whether a daemon has written it or not
        assert shop["daemon"]["status"] == written | dict.fromkeys(missing)
        assert shop["daemon"]["alive"]
        assert "room when last sampled" in site.good("status").out
