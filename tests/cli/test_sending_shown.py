"""The same state in the same words wherever it is shown: doctor, status, lists, top, pages, metrics, readiness."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from unittest.mock import Mock

import pytest

from agent.cli.live_picture import Watching
from agent.cli.live_screen import draw
from agent.cli.live_view import View, listing_of
from agent.cli.run import ServedDocuments
from agent.config.files import load
from agent.config.models import Level
from agent.ledger.errors import LedgerUnreachable
from agent.ledger.file.database import FileDatabase
from agent.ledger.file.opening import close_for_writing
from agent.ledger.ledger import Ledger
from agent.ledger.state_names import STATUS
from agent.model.answers.watching import SendingShown
from agent.model.clock import SystemClock
from agent.pages.site import WebSite
from agent.service.daemon import Daemon
from agent.service.metrics import AgentCollector
from agent.service.sending import SAID_BESIDE, Hindrance, Sending
from agent.service.snapshot import status_document
from agent.service.watch import Watch
from tests.cli.site import Site
from tests.docs.text import ROOT

Monkey = pytest.MonkeyPatch
ALLOWED = "allowed"
BESIDE = {  # a line beside says it, in these words
    Hindrance.NO_AGENT: "no daemon has ever watched this database; start it with: hotplace run",
    Hindrance.WINDOW: "moves may run from ",
}


def as_it_was(site: Site, monkeypatch: Monkey) -> None:
    """Nothing is in the way."""


def stop(site: Site, monkeypatch: Monkey) -> None:
    """A person stops everything."""
    site.good("stop", "--all", "--reason", "storage fails", "--wait", "0s")


def run_dry(site: Site, monkeypatch: Monkey) -> None:
    """Without permission to carry anything out."""
    site.values["dry_run"] = True
    site.write()


def close_windows(site: Site, monkeypatch: Monkey) -> None:
    """The next one is on another day of the week."""
    later = (datetime.now(UTC) + timedelta(days=3)).strftime("%a").lower()
    site.database.update({"windows": [f"{later} 10:00-11:00"], "time_zone": "UTC"})
    site.write()


def fall_back(site: Site, monkeypatch: Monkey) -> None:
    """An older copy takes the ledger's place."""
    shutil.copy(site.ledger_path, site.folder / "copy")
    site.good("pin", "public.x", "must", "--reason", "later")
    for name in ("ledger.db-wal", "ledger.db-shm"):
        (site.folder / name).unlink(missing_ok=True)
    shutil.copy(site.folder / "copy", site.ledger_path)


def move_away(site: Site, monkeypatch: Monkey) -> None:
    """The ledger is on a server now."""
    with closing(FileDatabase(site.ledger_path)) as file, file.write() as transaction:
        close_for_writing(transaction, "u@db1's/d")


def let_not_see(site: Site, monkeypatch: Monkey) -> None:
    """The ledger is divided, and this login's teams own another database."""
    monkeypatch.setattr(Ledger, "owned_databases", lambda _: frozenset({"crm"}))
    monkeypatch.setattr(Ledger, "is_shared", True)


def of_version(number: str) -> Callable[[Site, Monkey], None]:
    """Tables of another version."""

    def change(site: Site, monkeypatch: Monkey) -> None:
        with closing(sqlite3.connect(site.ledger_path)) as connection, connection:
            connection.execute("UPDATE alembic_version SET version_num = ?", [number])

    return change


def take_away(site: Site, monkeypatch: Monkey) -> None:
    """The ledger does not answer."""

    def refuse(*_: object, **__: object) -> None:
        raise LedgerUnreachable("no answer from db1", advice="")

    monkeypatch.setattr(Ledger, "open", refuse)
    monkeypatch.setattr(Ledger, "as_it_is", refuse)


STATES: dict[str, Callable[[Site, Monkey], None]] = {
    ALLOWED: as_it_was,
    Hindrance.STOPPED: stop,
    Hindrance.DRY_RUN: run_dry,
    Hindrance.WINDOW: close_windows,
    Hindrance.NOT_TRUSTED: fall_back,
    Hindrance.LEDGER_MOVED: move_away,
    Hindrance.NO_AGENT: as_it_was,
    Hindrance.NOT_SEEN: let_not_see,
    Hindrance.LEDGER_NEWER: of_version("v9999"),
    Hindrance.LEDGER_EARLIER: of_version("v0010"),
    Hindrance.LEDGER_AWAY: take_away,
}
FOR_AGENTS_ONLY = {Hindrance.STANDS_BY}  # from outside the other agent is the one that acts
ENDS_COMMANDS = {Hindrance.LEDGER_NEWER: 10, Hindrance.LEDGER_AWAY: 10, Hindrance.NOT_SEEN: 5}
MIGRATED_BY_COMMANDS = {Hindrance.LEDGER_EARLIER}
BEFORE_IT_STARTS = {*ENDS_COMMANDS, *MIGRATED_BY_COMMANDS, Hindrance.NO_AGENT}  # an agent never shows these, or ends


def test_every_state_is_looked_at() -> None:
    """Whoever adds one adds how it comes about."""
    assert {*STATES, *FOR_AGENTS_ONLY} == {ALLOWED, *Hindrance}


def test_alerts_name_states_that_there_are() -> None:
    """The label of the metric, by which the rules choose."""
    rules = (ROOT / "deploy" / "prometheus" / "hotplace.rules.yml").read_text(encoding="utf-8")
    chosen = re.findall(r'hotplace_sending\{state=~"([^"]+)"\}', rules)
    assert {state for each in chosen for state in each.split("|")} <= {str(each) for each in Hindrance}
    assert chosen


def by_doctor(site: Site) -> SendingShown:
    """The finding of doctor."""
    done = site.run("doctor", "--json")
    (found,) = [f for f in done.document["databases"][0]["findings"] if f["code"] == "sending"]
    remedy = re.fullmatch(r"Next: (.*)\.", found["remedy"] or "")
    state = found["values"]["state"]
    return SendingShown(
        allowed=state == ALLOWED, state=state, sentence=found["sentence"], next_step=remedy and remedy[1]
    )


def shown(document: dict[str, object]) -> SendingShown:
    """The part of another answer."""
    return SendingShown(**document)  # type: ignore[arg-type]  # of that type


@dataclass(frozen=True, slots=True)
class FromAgent:
    """What an agent shows of itself."""

    label: str  # in the metrics
    sending: Sending
    ready: bool
    readiness: str
    page: str
    logged: list[tuple[str, str]]  # why nothing is sent, and what to do, in the first lines of its log


def let_live(site: Site, log: Mock | None = None) -> FromAgent:
    """An agent that samples once, and is heard of."""
    config, clock = load(site.path), SystemClock()
    with Ledger.open(site.ledger_path, clock) as ledger:
        watch = Watch(config.database(), ledger, clock, level=Level.PROPOSE, dry_run=config.dry_run)
        watch.sample()
        watch.acting.look_at_sending(at_once=True)
        now, snapshot = clock.now(), watch.snapshot
        living = status_document(snapshot, now, os.getppid())  # a process that is not this one
        if not ledger.moved_to():
            ledger.state.save_document("shop", STATUS, living)
        snapshot.sample_seconds = 3600.0
        sending = snapshot.sending(now)
        assert sending is not None
        families = AgentCollector(lambda: [snapshot], top_units=1, now=clock.now).collect()
        ((sample,),) = (family.samples for family in families if family.name == "hotplace_sending")
        daemon = Daemon(config, None, ledger, clock)
        daemon._watches = {"shop": watch}
        daemon._say_where_nothing_is_sent()
        fields = [] if log is None else [each.kwargs for each in log.warning.call_args_list]
        ready, sentence = daemon.readiness()
        served = ServedDocuments(lambda: config, ledger, clock)
        page = WebSite(served, lambda: [snapshot], guarded=True, monotonic=time.monotonic).answer("/")
        assert page is not None
        watch.close(save=False)
    return FromAgent(
        sample.labels["state"],
        sending,
        ready,
        sentence,
        page.body.decode(),
        [(each["why"], each["advice"]) for each in fields],
    )


@pytest.mark.parametrize("state", STATES)
def test_one_state_in_one_sentence(site: Site, state: str, monkeypatch: Monkey) -> None:
    """Whatever it is: a person at any of them reads the same, with the same next step."""
    site.database["sample_every"] = "1h"
    site.write()
    site.good("pin", "public.a", "must", "--reason", "makes the ledger")
    if state != Hindrance.NO_AGENT:
        let_live(site)
    STATES[state](site, monkeypatch)
    log = Mock()
    monkeypatch.setattr("agent.service.daemon.log", log)
    agent = None if state in BEFORE_IT_STARTS else let_live(site, log)
    said = by_doctor(site)
    assert said.state == state
    if state in ENDS_COMMANDS:
        refused(site, said, ENDS_COMMANDS[Hindrance(state)])
        return
    if state in MIGRATED_BY_COMMANDS:
        return
    status = site.good("status", "--json").document
    top = site.good("top", "--json").document
    every = site.good("status", "--all", "--json").document["databases"]
    assert [shown(each["databases"][0]["sending"]) for each in (status, top)] == [said, said]
    if state != Hindrance.NO_AGENT:  # a database that no agent ever watched is in no list of all
        assert [shown(each["sending"]) for each in every] == [said]
    texts = [site.good("status").out, site.good("top").out, screen(site)]
    if agent is not None:
        assert (agent.label, agent.sending.shown) == (state, said)
        assert agent.ready is not agent.sending.needs_a_person
        assert (said.sentence in agent.readiness) is not agent.sending.allowed
        texts.append(agent.page)
        assert agent.logged == ([] if said.allowed else [(said.sentence, said.next_step or "")])
    for text in texts:
        assert_says(text, said)


def assert_says(text: str, said: SendingShown) -> None:
    """The sentence stands there, or the one beside it."""
    flat = " ".join(re.sub("&#39;", "'", text).split())
    if said.state == ALLOWED:
        assert "nothing is sent" not in flat
    elif said.state in SAID_BESIDE:
        assert BESIDE[Hindrance(said.state)] in flat or "no daemon runs" in flat
    elif said.state == Hindrance.DRY_RUN:
        assert "approved moves are not carried out" in flat
    else:
        assert said.sentence in flat


def refused(site: Site, said: SendingShown, code: int) -> None:
    """Commands end, and say why in the words in which doctor does; status lists what this login may not see."""
    done = [site.run("status"), site.run("status", "--all", "--database", "shop"), site.run("top")]
    assert [each.code for each in done] == [0 if said.state == Hindrance.NOT_SEEN else code, code, code]
    why = said.sentence.removeprefix("nothing is sent: ").removeprefix("the ledger is away: ")
    for each in done:
        assert why.split(",")[0] in " ".join(f"{each.out} {each.err}".split())


def screen(site: Site) -> str:
    """What top draws on a terminal."""
    config, clock = load(site.path), SystemClock()
    with Ledger.open(site.ledger_path, clock) as ledger:
        picture = Watching(ledger, config.database(), dry_run=config.dry_run).look(clock.now())
    return "\n".join(line.text for line in draw(picture, listing_of(picture, View()), View(), 400, 40))
