"""Sessions come first: while their reads take too long nothing begins, what runs is held, and beyond that given up."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from agent.ledger.ledger import Ledger
from agent.ledger.state_names import PROGRESS, WAITING_MOVES
from agent.model.states import MoveState
from agent.moving.gate import REST_SECONDS, Foreground
from agent.service.metrics import AgentCollector
from agent.service.watch import Watch
from connectors.kit.contract import Crowding, ForegroundReads
from tests.simulation.site import Site
from tests.virtual_clock import VirtualClock

CALM, COPYING = 0.0525, 0.106  # seconds of a read in this world before its moves, and while the first one runs


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Site, int]:
    """A site with a proposal that a person has approved."""
    site = Site(tmp_path_factory.mktemp("observed"))
    with site.agent() as (watch, ledger):
        return site, site.approved(watch, ledger)


@pytest.fixture
def site(tmp_path: Path, observed: tuple[Site, int]) -> Site:
    """That site, for one test alone."""
    return observed[0].copy(tmp_path / "site")


def act(site: Site, watch: Watch, seconds: float) -> None:
    """The daemon for so long."""
    until = site.clock.monotonic() + seconds
    while site.clock.monotonic() < until:
        watch.act()
        site.clock.sleep(1.0)


def metric(watch: Watch) -> list[float]:
    """What Prometheus sees of it."""
    families = {family.name: family for family in AgentCollector(lambda: [watch.snapshot], top_units=1).collect()}
    return [sample.value for sample in families["hotplace_foreground_read_seconds"].samples]


def waiting(ledger: Ledger) -> str:
    """Why the next move waits, as other processes read it."""
    stored = ledger.state.load_document("sim", WAITING_MOVES)
    return "" if stored is None else "; ".join(stored[1].values())


def test_nothing_begins_while_reads_take_too_long(site: Site) -> None:
    """The reason and the figure are there for everybody; with another limit it begins."""
    site.windows = "read_time_limit: 50ms"
    with site.agent() as (watch, ledger):
        act(site, watch, 8.0)
        assert {row.state for row in ledger.moves.rows(database="sim")} == {MoveState.APPROVED}
        assert "(read_time_limit: 50 ms)" in waiting(ledger)
        assert metric(watch) == [pytest.approx(CALM, rel=0.05)]
    site.windows = "read_time_limit: 1s"
    with site.agent() as (watch, ledger):
        act(site, watch, 8.0)
        assert MoveState.PLACED in {row.state for row in ledger.moves.rows(database="sim")}


def test_without_a_limit_nobody_asks(site: Site) -> None:
    """No statement more than before there were limits, and no figure."""
    with site.agent() as (watch, _):
        act(site, watch, 2.0)
        assert (math.isnan(watch.executor.foreground_seconds), metric(watch)) == (True, [])
    clock, counters = VirtualClock(), Counters()
    foreground = Foreground(site.config.database(), clock)
    for _ in range(3):
        counters.add(1000, 1.0)
        clock.sleep(2.5)
        foreground.look(counters)
    assert math.isnan(foreground.seconds)


def test_what_runs_is_held_and_goes_on(site: Site) -> None:
    """The engine can hold it: it waits for half a minute, and goes on where it was until it is done."""
    site.windows = f"read_time_limit: {round(500 * (CALM + COPYING))}ms"
    with site.agent() as (watch, ledger):
        act(site, watch, 12.0)
        (held,) = ledger.moves.rows(database="sim", states={MoveState.PAUSED})
        assert "held: reads of sessions take 106 ms on average" in held.reason
        assert not ledger.requests.in_force("sim")
        act(site, watch, REST_SECONDS + 10.0)
        assert len(ledger.audit.rows(event="move.paused")) > 1
    site.windows = ""
    with site.agent() as (watch, ledger):
        act(site, watch, 3.0)
        assert ledger.moves.row(held.id).state is MoveState.PLACED


def test_what_runs_is_given_up_beyond_the_second_limit(site: Site) -> None:
    """It is rolled back and rests; its approval stands, and the reason says for whose sake."""
    site.windows = f"read_time_abort: {round(500 * (CALM + COPYING))}ms"
    with site.agent() as (watch, ledger):
        before = site.homes()
        act(site, watch, 60.0)
        assert site.homes() == before
        first = ledger.moves.rows(database="sim")[0]
        assert first.state is MoveState.APPROVED
        assert "given up: reads of sessions take 106 ms on average (read_time_abort:" in first.reason
        assert "given up" in waiting(ledger)
        assert len(ledger.moves.steps(first.id)) == 1


def test_what_runs_says_for_whom_it_will_be_held(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the document that `top` and `status` read."""
    site.windows = f"read_time_limit: {round(500 * (CALM + COPYING))}ms"
    said = set()
    with site.agent() as (watch, ledger):
        save = ledger.state.save_document

        def noting(database: str, name: str, document: object) -> None:
            if name == PROGRESS and isinstance(document, dict) and document:
                said.add(document["sentence"])
            save(database, name, document)

        monkeypatch.setattr(ledger.state, "save_document", noting)
        act(site, watch, 12.0)
    assert any("reads of sessions take 106 ms on average" in sentence for sentence in said)


class Counters:
    """Reads as a server counts them."""

    def __init__(self) -> None:
        self.now = ForegroundReads(0.0, 0.0)

    def add(self, reads: int, each: float) -> None:
        """So many more, of that time each."""
        self.now = ForegroundReads(self.now.reads + reads, self.now.seconds + reads * each)

    def foreground_reads(self) -> ForegroundReads | None:
        """As the protocol says."""
        return self.now


def test_few_reads_and_counters_that_began_again_say_nothing(site: Site) -> None:
    """A mean of a handful of reads would hold up moves where nobody reads; a reset is no read of negative time."""
    site.windows = "read_time_limit: 10ms"
    clock, counters = VirtualClock(), Counters()
    foreground = Foreground(site.config.database(), clock)

    def look(reads: int, each: float) -> float:
        counters.add(reads, each)
        clock.sleep(2.5)
        foreground.look(counters)
        return foreground.seconds

    assert math.isnan(look(1000, 1.0))
    assert foreground.unknown
    assert math.isnan(look(5, 1.0))
    assert look(95, 0.001) == pytest.approx(0.051, rel=0.05)
    assert foreground.crowded
    counters.now = ForegroundReads(0.0, 0.0)
    assert look(0, 0.0) == pytest.approx(0.051, rel=0.05)
    assert look(100, 0.001) == pytest.approx(0.001)
    clock.sleep(REST_SECONDS)
    assert foreground.crowded == ""
    clock.sleep(70.0)
    assert math.isnan(look(100, 1.0))


class Followed:
    """A server with replicas."""

    now = Crowding()

    def crowding(self) -> Crowding:
        """As the protocol says."""
        return self.now


def test_replicas_that_are_behind_hold_moves_without_any_limit_on_reads(site: Site) -> None:
    """What follows this database has limits of its own; both reasons are those of the connector."""
    clock, server = VirtualClock(), Followed()
    foreground = Foreground(site.config.database(), clock)
    foreground.look(server)
    assert (foreground.limited, foreground.crowded, foreground.hopeless) == (False, "", "")
    clock.sleep(2.5)
    server.now = Crowding(hold="2 GiB behind")
    foreground.look(server)
    assert (foreground.crowded, foreground.hopeless) == ("2 GiB behind", "")
    clock.sleep(2.5)
    server.now = Crowding(hold="9 GiB behind", abort="far behind")
    foreground.look(server)
    assert foreground.hopeless == "far behind"
    server.now = Crowding()
    clock.sleep(REST_SECONDS)
    foreground.look(server)
    assert (foreground.crowded, foreground.hopeless) == ("", "")
