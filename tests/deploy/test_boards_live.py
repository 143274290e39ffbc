"""A real Prometheus that has seen moves answers every panel of the boards, and marks the times of the moves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from agent.model.states import MoveState
from agent.planning.undo import propose_undo
from agent.service.daemon import Daemon
from agent.service.fleet import Selection, read_standings
from agent.service.fleet_metrics import FleetCollector
from tests.deploy.prometheus import SERVER, TOOL, Asked, Scrapes, running
from tests.deploy.test_dashboard import marks, plain, queries
from tests.simulation.site import MINUTE, Site

pytestmark = [
    pytest.mark.skipif(SERVER is None or TOOL is None, reason="there is no Prometheus: apt install prometheus"),
    pytest.mark.xdist_group("boards"),  # one server for all
]
ALL = {"$engine": ".*", "$database": ".*", "$tier": ".*"}
# What a healthy site does not have: the database that is lost is one that no agent exposes any more.
# And what is looked at only with a read_time_limit, or in a buffer pool: this site has neither.
EMPTY = {"Databases lost within a day", "Reads of sessions meanwhile", "Heat inside large tables"}


@pytest.fixture(scope="session")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """A site that is watched, moves what was approved, takes some of it back, and proposes again."""
    folder = tmp_path_factory.mktemp("prometheus")
    scrapes = played(Site(tmp_path_factory.mktemp("boards")))
    with running(scrapes, folder) as server:
        yield server


def played(site: Site) -> Scrapes:
    """An hour and a half of a site's life, scraped once a minute and while statements run."""
    scrapes = Scrapes()
    with site.agent() as (watch, ledger):
        daemon = Daemon(site.config, None, ledger, site.clock)
        daemon._watches = {"sim": watch}
        registry = daemon._registry()
        # Which one machine exposes for all, by `hotplace status --all --metrics`.
        registry.register(FleetCollector(lambda: read_standings(ledger, Selection(), site.clock.now())))

        def scrape() -> None:
            scrapes.scrape(registry, site.clock.now().timestamp())

        def live(minutes: int) -> None:
            for _ in range(minutes):
                site.clock.sleep(MINUTE)
                watch.sample()
                watch.count_proposals()
                watch.verify()
                for job in ("sample", "act"):
                    watch.snapshot.note_success(job, site.clock.now())
                scrape()

        number = site.approved(watch, ledger)
        live(2)
        for second in range(30, 1800, 30):  # while the statements of the moves run
            site.clock.call_later(second, scrape)
        watch.act()
        live(25)
        moves = [row for row in ledger.moves.rows(proposal_id=number) if row.state is MoveState.KEPT]
        back = propose_undo(moves, watch.database, watch.connector, ledger, site.clock.now())
        live(2)  # the undo waits for a decision
        ledger.proposals.approve(back, who="ann", origin="test", digest=ledger.proposals.row(back).digest)
        watch.act()
        live(15)
        ledger.stops.begin(["sim"], who="ann", origin="test", reason="a look at the board")
        watch.acting.look_at_sending(at_once=True)
        live(1)
    return scrapes


def as_prometheus_gets_it(query: str) -> str:
    """With every variable on All."""
    for variable, value in ALL.items():
        query = query.replace(variable, value)
    return plain(query)


@pytest.mark.parametrize(("title", "query"), queries(), ids=lambda value: value if isinstance(value, str) else "")
def test_a_panel_has_data(title: str, query: dict[str, Any], asked: Asked) -> None:
    """Its query, with all variables on All, yields series within the last hour."""
    found = asked.range(as_prometheus_gets_it(query["expr"]))
    assert bool(found) is (title not in EMPTY), title


@pytest.mark.parametrize(("board", "query"), marks())
def test_a_move_is_marked(board: str, query: dict[str, Any], asked: Asked) -> None:
    """Where a move ran there is a mark, and there are times without."""
    found = asked.range(as_prometheus_gets_it(query["expr"]))
    assert found
    marked = {at for series in found for at, value in series["values"] if float(value) > 0}
    assert 0 < len(marked) < 60
