"""Whether anything may be sent, and why not: one state, and all that shows it agrees."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from agent.config.models import DatabaseConfig
from agent.ledger.errors import LedgerMovedAway
from agent.ledger.file.database import FileDatabase
from agent.ledger.file.opening import close_for_writing
from agent.ledger.ledger import Ledger
from agent.ledger.rows import EVERY, StopRow
from agent.service.daemon import Daemon
from agent.service.doctor import sending_findings
from agent.service.metrics import AgentCollector
from agent.service.sending import Hindrance, SendingFacts, judge
from agent.service.watch import Watch
from connectors.kit.findings import Severity
from tests.simulation.site import Site

NOW = datetime.fromisoformat("2026-03-02T12:00:00+00:00")  # a Monday
KNOWN = SendingFacts(database="shop", ledger="/l.db")
BY = {"who": "ann", "origin": "tty1", "reason": "storage fails"}
STOP = StopRow(database=EVERY, at=NOW, **BY)
FACTS = {
    Hindrance.LEDGER_AWAY: replace(KNOWN, ledger_error="no answer"),
    Hindrance.LEDGER_MOVED: replace(KNOWN, moved_to="db1"),
    Hindrance.LEDGER_NEWER: replace(KNOWN, newer="the ledger was written by a newer hotplace"),
    Hindrance.LEDGER_EARLIER: replace(KNOWN, earlier="the tables of the ledger are of an earlier hotplace"),
    Hindrance.NOT_SEEN: replace(KNOWN, is_seen=False),
    Hindrance.NOT_TRUSTED: replace(KNOWN, untrusted="the ledger cannot be trusted, nothing was sent: row 7 is missing"),
    Hindrance.STOPPED: replace(KNOWN, stop=STOP),
    Hindrance.DRY_RUN: replace(KNOWN, dry_run=True),
    Hindrance.STANDS_BY: replace(KNOWN, stands_by=True),
    Hindrance.NO_AGENT: replace(KNOWN, silent="no agent has ever watched shop"),
    Hindrance.WINDOW: replace(KNOWN, closed="its window opens on Sunday"),
}


@pytest.mark.parametrize("hindrance", FACTS)
def test_each_hindrance_has_a_sentence(hindrance: Hindrance) -> None:
    """Which says once that nothing is sent; what only a person mends has a next step."""
    sending = judge(FACTS[hindrance], NOW)
    assert (sending.hindrance, sending.allowed, sending.state) == (hindrance, False, str(hindrance))
    assert sending.sentence.startswith("nothing is sent: ")
    assert "nothing was sent" not in sending.sentence
    assert sending.next_step or not sending.needs_a_person


def test_the_gravest_hindrance_is_shown() -> None:
    """As they are listed: a stop of a ledger that is away cannot be lifted before it is back."""
    order = list(Hindrance)
    assert order == list(FACTS)
    given = dict[str, object]()
    for hindrance in reversed(order):
        names = SendingFacts.__dataclass_fields__
        given |= {n: getattr(FACTS[hindrance], n) for n in names if getattr(FACTS[hindrance], n) != getattr(KNOWN, n)}
        assert judge(replace(KNOWN, **given), NOW).hindrance is hindrance  # type: ignore[arg-type]  # of that type


def test_nothing_in_the_way_is_said_too() -> None:
    """What is approved is carried out."""
    sending = judge(KNOWN, NOW)
    assert (sending.allowed, sending.state, sending.next_step) == (True, "allowed", "")


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Approved moves run."""
    return Site(tmp_path)


def shown(watch: Watch, site: Site) -> str:
    """What Prometheus sees."""
    collector = AgentCollector(lambda: [watch.snapshot], top_units=1, now=site.clock.now)
    (family,) = (family for family in collector.collect() if family.name == "hotplace_sending")
    (sample,) = family.samples
    assert sample.value == 1
    return sample.labels["state"]


def older_copy(site: Site, act: Callable[[Ledger], object]) -> None:
    """Put the ledger back as it was before something was decided."""
    path = site.folder / "ledger.db"
    with Ledger.open(path, site.clock):
        pass
    shutil.copy(path, site.folder / "copy")
    with Ledger.open(path, site.clock) as ledger:
        act(ledger)
    for name in ("ledger.db-wal", "ledger.db-shm"):
        (site.folder / name).unlink(missing_ok=True)
    shutil.copy(site.folder / "copy", path)


def decide(ledger: Ledger) -> None:
    """Something that an anchor is noted for."""
    ledger.stops.begin(["other"], **BY)


def of(site: Site) -> DatabaseConfig:
    """The database."""
    return site.config.database()


def test_an_older_copy_shows_without_anything_due(site: Site) -> None:
    """In the metric, in /readyz and in doctor: no approved move has to be there."""
    with site.agent() as (watch, _):
        watch.act()
        assert shown(watch, site) == "allowed"
    older_copy(site, decide)
    (finding,) = sending_findings(site.config, of(site), site.clock)
    assert (finding.severity, finding.values["state"]) == (Severity.ERROR, "ledger not trusted")
    assert "hotplace audit verify" in finding.remedy
    with site.agent() as (watch, ledger):
        watch.act()
        watch.sample()
        assert shown(watch, site) == "ledger not trusted"
        daemon = Daemon(site.config, None, ledger, site.clock)
        daemon._watches = {"sim": watch}
        ready, sentence = daemon.readiness()
        assert (ready, "is an older copy" in sentence) == (False, True)


def test_a_stop_is_shown_and_the_agent_is_ready(site: Site) -> None:
    """A person wants it so: it is no fault, and whoever looks reads who and why."""
    with site.agent() as (watch, ledger):
        watch.sample()
        ledger.stops.begin([EVERY], **BY)
        watch.acting.look_at_sending(at_once=True)
        assert shown(watch, site) == "stopped"
        daemon = Daemon(site.config, None, ledger, site.clock)
        daemon._watches = {"sim": watch}
        ready, sentence = daemon.readiness()
        assert ready
        assert "ready; sim: nothing is sent: all databases of this ledger stopped by ann" in sentence
        (finding,) = sending_findings(site.config, of(site), site.clock)
        assert (finding.severity, finding.values["state"]) == (Severity.WARNING, "stopped")
        ledger.stops.lift(None, **BY)
        watch.acting.look_at_sending(at_once=True)
        assert shown(watch, site) == "allowed"


def test_a_ledger_that_was_moved_away_ends_the_daemon(site: Site) -> None:
    """It has code 10, with which the unit is not started again; doctor says where it went."""
    with site.agent() as (_, ledger):
        with closing(FileDatabase(site.folder / "ledger.db")) as file, file.write() as transaction:
            close_for_writing(transaction, "u@db1's/d")
        assert ledger.moved_to() == "u@db1's/d"
        with pytest.raises(LedgerMovedAway, match=r"was moved to u@db1's/d"):
            Daemon(site.config, None, ledger, site.clock)._require_in_use()
        (finding,) = sending_findings(site.config, of(site), site.clock)
        assert (finding.severity, finding.values["state"]) == (Severity.ERROR, "ledger moved")


def test_doctor_makes_and_migrates_nothing(site: Site) -> None:
    """Where there is no ledger yet it says so."""
    (finding,) = sending_findings(site.config, of(site), site.clock)
    assert finding.severity is Severity.INFO
    assert not (site.folder / "ledger.db").exists()
