"""Stops, and what a login is told, in a ledger that is divided among teams."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.ledger.errors import LedgerReadOnly
from agent.ledger.rows import EVERY
from agent.service.sending import facts_of
from agent.terminal.errors import ExitCode
from tests.cli.site import run_here
from tests.keys import Person
from tests.ledger.clock import StillClock
from tests.ledger.conftest import ON_SERVER
from tests.ledger.divided import DividedLedger, divided_ledger
from tests.ledger.servers import LedgerServers
from tests.simulation.site import Site

pytestmark = ON_SERVER
BY = {"who": "ann", "origin": "tty1", "reason": "storage fails"}


@pytest.fixture(scope="module")
def divided(servers: LedgerServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DividedLedger]:
    """A ledger of two teams: sales owns sim, hr owns pay."""
    folder = tmp_path_factory.mktemp("stops")
    with divided_ledger(servers, folder, Person.new(folder, "anna")) as made:
        yield made


def test_an_approver_stops_the_databases_of_its_teams(divided: DividedLedger) -> None:
    """The agent of that team obeys, that of another goes on; all databases are not for a team to stop."""
    clock = StillClock()
    with divided.ledger("sales_approver", clock) as people:
        assert people.owned_databases() == frozenset({"sim"})
        assert people.stops.begin(["sim"], **BY) == ["sim"]
        for foreign in (EVERY, "pay"):
            with pytest.raises(LedgerReadOnly):
                people.stops.begin([foreign], **BY)
        with divided.ledger("sales_agent", clock) as agent, divided.ledger("hr_agent", clock) as other:
            stop = agent.stops.in_force("sim")
            assert stop is not None
            assert "sim stopped by ann" in stop.sentence
            assert other.stops.in_force("pay") is None
            assert agent.audit.verify().ok
        assert people.stops.lift(None, **BY) == ["sim"]


def test_what_a_login_may_not_see_is_not_told_as_a_fact(divided: DividedLedger, tmp_path: Path) -> None:
    """An agent of another team is in the way of nothing, but says that it knows nothing; a command is refused."""
    clock = StillClock()
    site = Site(tmp_path)
    with divided.ledger("hr_agent", clock) as ledger:
        assert not facts_of(ledger, site.config.database(), dry_run=False).is_seen
    text = (tmp_path / "hotplace.yaml").read_text().replace("{path: ledger.db}", divided.config("hr_agent"))
    (tmp_path / "hotplace.yaml").write_text(text)
    shown = run_here("--config", str(tmp_path / "hotplace.yaml"), "status").out
    assert "nothing is sent: this login may not see sim" in shown
    assert "never" not in shown
    for command in ("history", "proposals", "outcomes", "units"):
        done = run_here("--config", str(tmp_path / "hotplace.yaml"), command)
        assert (done.code, "this login may not see sim" in done.err) == (ExitCode.NOT_ALLOWED, True), (command, done)


def test_a_number_that_a_login_may_not_see_is_not_said_to_be_nobodys(divided: DividedLedger, tmp_path: Path) -> None:
    """A proposal, a move and a rule by their numbers: perhaps they are another team's."""
    path = tmp_path / "approver.yaml"
    path.write_text(f"ledger: {divided.config('hr_approver')}\n")
    for words in (("show", "9999"), ("cancel", "9999", "--reason", "x"), ("rules", "show", "9999")):
        done = run_here("--config", str(path), *words)
        assert done.code != ExitCode.OK
        assert "9999 that this login may see" in done.err, (words, done)


@pytest.mark.parametrize("command", ["status", "proposals", "outcomes", "report"])
def test_lists_of_all_say_which_databases_they_leave_out(divided: DividedLedger, tmp_path: Path, command: str) -> None:
    """Those of the configuration in a line and in the document; one that is asked for by its name is refused."""
    site = Site(tmp_path, ledger=divided.config("hr_agent"))
    path = str((tmp_path / "hotplace.yaml").absolute())
    assert site.config.database().name == "sim"
    done = run_here("--config", path, command, "--all")
    assert (done.code, "this login may not see sim" in done.out) == (ExitCode.OK, True), done
    assert run_here("--config", path, command, "--all", "--json").document["not_seen"] == ["sim"]
    named = run_here("--config", path, "--database", "sim", command, "--all")
    assert (named.code, "this login may not see sim" in named.err) == (ExitCode.NOT_ALLOWED, True), named
    other = run_here("--config", path, "--database", "pay", command, "--all")
    assert (other.code, "may not see" in other.out) == (ExitCode.OK, False), other


def test_a_machine_of_approvers_needs_no_database(divided: DividedLedger, tmp_path: Path) -> None:
    """Its doctor asks for no agent's role; lists and decisions take --all."""
    path = tmp_path / "approver.yaml"
    path.write_text(f"ledger: {divided.config('hr_approver')}\n")
    done = run_here("--config", str(path), "doctor")
    assert (done.code, "ready: hotplace proposals --all" in done.out) == (0, True), done
    assert "pay" in run_here("--config", str(path), "proposals", "--all", "--state", "expired").out
    (shown,) = run_here("--config", str(path), "status", "--all", "--json").document["databases"]
    assert shown["database"] == "pay"
    assert shown["sending"]["state"] == "no agent"
    refused = run_here("--config", str(path), "plan")
    assert (refused.code, "--all" in refused.err) == (ExitCode.CONFIGURATION, True)
    refused = run_here("--config", str(path), "run")
    assert refused.code == ExitCode.CONFIGURATION
