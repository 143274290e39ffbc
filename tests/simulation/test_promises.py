"""The promises of ARCHITECTURE.md that one agent on one simulated database can break."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.ledger.ledger import Ledger
from agent.model.outcomes import Outcome, OutcomeVerdict
from agent.model.states import MoveState
from agent.planning.undo import propose_undo
from agent.service.metrics import AgentCollector
from agent.service.watch import Watch
from connectors.kit.contract import ConnectorError, LeaseHeld
from connectors.simulated.connector import SimulatedConnector
from connectors.simulated.settings import FaultKind
from policies.model.moves import MoveReason
from policies.model.plan import Verdict
from policies.model.settings import Pin
from tests.simulation.site import MINUTE, Site


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A simulated shop with one hot table and its decoys."""
    return Site(tmp_path)


def forbid_writing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make opening a session that could write an error."""

    def refuse(_: SimulatedConnector) -> None:
        raise AssertionError("a session that could write was opened")

    monkeypatch.setattr(SimulatedConnector, "open_mover", refuse)


def test_nothing_runs_without_approval(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Promise 1: a proposal alone opens no session that could write."""
    forbid_writing(monkeypatch)
    before = site.homes()
    with site.agent() as (watch, _):
        site.observe(watch)
        planning = watch.plan()
        assert planning is not None
        assert watch.propose(planning) == 1
        assert watch.act() == ()
    assert site.homes() == before


def test_a_dry_run_opens_no_writing_session(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Promise 2: with dry_run on even an approved proposal opens none, and shows the statements all the same."""
    forbid_writing(monkeypatch)
    site.dry_run = True
    with site.agent() as (watch, ledger):
        number = site.approved(watch, ledger)
        assert watch.act() == ()
        statements = [step.sql for move in ledger.proposals.row(number).proposal.moves for step in move.route.steps]
    assert statements
    assert all("MOVE" in sql for sql in statements)


def test_an_expired_approval_runs_nothing(site: Site) -> None:
    """Promise 1: an approval is good until its expiry and no longer."""
    before = site.homes()
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        site.clock.sleep(12 * 3600 + 1)
        assert watch.act() == ()
        assert {row.state for row in ledger.moves.rows(database="sim")} == {MoveState.EXPIRED}
    assert site.homes() == before


def test_the_statements_that_run_are_those_that_were_shown(site: Site) -> None:
    """Promise 2: the journal holds, to the character, what the proposal showed."""
    with site.agent() as (watch, ledger):
        number = site.approved(watch, ledger)
        shown = [step.sql for move in ledger.proposals.row(number).proposal.moves for step in move.route.steps]
        done = watch.act()
        sent = [step.sql for row in done for step in ledger.moves.steps(row.id)]
    assert sent == shown


def test_a_unit_that_somebody_moved_is_skipped(site: Site) -> None:
    """What was approved no longer holds, so nothing is done; the reason names what happened."""
    with site.agent() as (watch, ledger):
        number = site.approved(watch, ledger)
        move = ledger.proposals.row(number).proposal.moves[0]
        with watch.connector.open_mover() as somebody:
            for step in move.route.steps:
                somebody.execute(step)
        first = watch.act()[0]
    assert first.state is MoveState.SKIPPED
    assert "already in" in first.reason


def test_a_unit_that_was_dropped_is_skipped(site: Site) -> None:
    """A dropped table ends its move with a sentence, not with an error."""
    with site.agent() as (watch, ledger):
        number = site.approved(watch, ledger)
        key = ledger.proposals.row(number).proposal.moves[0].key
        with site.world.turn():
            site.world.drop(key)
        first = watch.act()[0]
    assert first.state is MoveState.SKIPPED
    assert "no longer exists" in first.reason


def test_head_room_is_never_used(site: Site) -> None:
    """Promise 4: after every single move each managed space has its head-room left."""
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        watch.act()
        settings = watch.database.policy_settings()
        for space in watch.connector.catalog().spaces:
            assert space.capacity_bytes is not None
            assert space.free_bytes is not None
            assert space.free_bytes >= settings.head_room_ratio * space.capacity_bytes


@pytest.mark.parametrize("kind", [FaultKind.COUNTER_RESET, FaultKind.UNIT_RESET])
def test_resets_make_nothing_hot_or_cold(tmp_path: Path, kind: FaultKind) -> None:
    """Promise 6: verdicts with a reset in the middle are those without."""
    verdicts = []
    for disturbed in (False, True):
        (tmp_path / str(disturbed)).mkdir()
        site = Site(tmp_path / str(disturbed))
        with site.agent() as (watch, _):
            site.observe(watch)
            if disturbed:
                site.world.faults.arm(kind)
            site.observe(watch, 5)
            planning = watch.plan()
            assert planning is not None
            verdicts.append([int(verdict) for verdict in planning.plan.verdict])
    assert verdicts[0] == verdicts[1]


def test_lost_samples_and_clock_jumps_make_nothing_hot_or_cold(site: Site) -> None:
    """Promise 6: a missed sample, and a wall clock set an hour forward or back, change no verdict."""
    with site.agent() as (watch, _):
        site.observe(watch)
        before = _verdicts(watch)
        site.world.faults.arm(FaultKind.LOST_SAMPLE)
        with pytest.raises(ConnectorError):
            watch.sample()
        for jump in (3600.0, -7200.0):
            site.clock.jump(jump)
            site.observe(watch, 3)
        assert _verdicts(watch) == before


def _verdicts(watch: Watch) -> list[int]:
    planning = watch.plan()
    assert planning is not None
    return [int(verdict) for verdict in planning.plan.verdict]


def test_nothing_moves_twice_within_its_cool_down(site: Site) -> None:
    """Promise 7: right after the moves, no plan names any of them again."""
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        moved = {row.move.key for row in watch.act()}
        site.observe(watch)
        planning = watch.plan()
        assert planning is not None
        assert not moved & {move.key for move in planning.plan.moves}


@pytest.mark.parametrize(("cool_down", "goes_back"), [("24h", False), ("0s", True)])
def test_what_should_go_back_waits_for_its_cool_down(site: Site, cool_down: str, goes_back: bool) -> None:
    """Promise 7: a hot table that a person moved to the slow tier stays there until its cool-down is over."""
    site.policy = f"cool_down: {cool_down}, minimum_gain: 0s"
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        moved = {row.move.key for row in watch.act()}
        number = propose_undo(
            ledger.moves.rows(database="sim"), watch.database, watch.connector, ledger, site.clock.now()
        )
        ledger.proposals.approve(number, who="ann", origin="test", digest=ledger.proposals.row(number).digest)
        watch.act()
        watch.verify()
        site.observe(watch)
        planning = watch.plan()
        assert planning is not None
        assert bool(moved & {move.key for move in planning.plan.moves}) is goes_back


def test_what_the_agent_costs_the_server_is_counted(site: Site) -> None:
    """Promise 11: the metric is the sum of what each sample cost."""
    with site.agent() as (watch, _):
        costs = []
        for _ in range(5):
            costs.append(watch.sample().server_seconds)
            site.clock.sleep(MINUTE)
        families = {family.name: family for family in AgentCollector(lambda: [watch.snapshot], top_units=1).collect()}
        (sample,) = families["hotplace_server_seconds"].samples
        assert min(costs) > 0
        assert sample.value == pytest.approx(sum(costs))


def test_a_long_silence_keeps_what_was_learnt(site: Site) -> None:
    """Promise 6: two weeks without the agent change no verdict, and a restarted agent goes on where it left off."""
    with site.agent() as (watch, _):
        site.observe(watch)
        before = _verdicts(watch)
    site.clock.sleep(14 * 86400)
    with site.agent() as (watch, _):
        watch.sample()
        assert _verdicts(watch) == before


def test_one_agent_acts_at_a_time(site: Site) -> None:
    """Promise 10: a second agent on the same database is refused, by name of the first, until that one is gone."""
    with site.agent() as (first, _):
        first.hold_lease()
        with site.agent() as (second, _), pytest.raises(LeaseHeld, match=r"agent pid \d+ [0-9a-f]{16} for sim"):
            second.hold_lease()
    with site.agent() as (third, _):
        third.hold_lease()


def test_the_outcome_stands_beside_the_prediction(site: Site) -> None:
    """After the settle time the measured change is there, near what was predicted, for every move."""
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        watch.act()
        outcomes: list[Outcome] = []
        for _ in range(20):
            site.clock.sleep(MINUTE)
            watch.sample()
            outcomes += watch.verify()
        (outcome,) = outcomes
        assert outcome.verdict is OutcomeVerdict.HELPED
        measured = 1 - outcome.wait_per_transaction_after / outcome.wait_per_transaction_before
        assert abs(measured - outcome.predicted_saved_ratio) < 0.1
        assert {row.state for row in ledger.moves.rows(database="sim")} == {MoveState.KEPT}


def test_pins_are_obeyed(site: Site) -> None:
    """A unit pinned off the fast tier is not promoted, however hot; the verdict says pinned."""
    with site.agent() as (watch, ledger):
        site.observe(watch)
        hottest = _first_key(watch)
        ledger.pins.pin("sim", hottest, Pin.NEVER, who="ann", reason="audit", until=None)
        planning = watch.plan()
        assert planning is not None
        assert hottest not in {move.key for move in planning.plan.moves}
        row = list(planning.situation.units.key).index(hottest)
        assert Verdict(int(planning.plan.verdict[row])) is Verdict.PINNED


def _first_key(watch: Watch) -> str:
    planning = watch.plan()
    assert planning is not None
    return next(move.key for move in planning.plan.moves if move.reason is MoveReason.PROMOTE)


def test_the_same_site_tells_the_same_story(tmp_path: Path) -> None:
    """A run repeats exactly: same digests, same order, same words."""
    told = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        site = Site(tmp_path / name)
        with site.agent() as (watch, ledger):
            number = site.approved(watch, ledger)
            digest = ledger.proposals.row(number).digest
            watch.act()
            told.append((digest, list(site.told), _audit(ledger)))
    assert told[0] == told[1]


def _audit(ledger: Ledger) -> str:
    return ledger.audit.verify().head
