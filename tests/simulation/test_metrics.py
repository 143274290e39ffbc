"""What Prometheus sees of a simulated site."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from agent.ledger.rows import RequestKind
from agent.ledger.state_names import RANKING
from agent.model.outcomes import OutcomeVerdict
from agent.model.states import COUNTED, MoveState
from agent.pages.content import report_of
from agent.planning.ranking import SUMMED, Ordered, UnitStanding, ranking_from_arrays, ranking_of
from agent.planning.undo import propose_undo
from agent.sampling.block_looks import BlockLooker
from agent.service.metrics import OTHER, AgentCollector
from agent.service.snapshot import Snapshot
from policies.placement.granularity import closer_bound
from tests.deploy.conftest import RUNNING
from tests.simulation.site import Site


@pytest.fixture
def snapshot(tmp_path: Path) -> Iterator[Snapshot]:
    """A site after twenty minutes, a plan, a proposal and its moves."""
    site = Site(tmp_path)
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        watch.act()
        watch.count_proposals()
        yield watch.snapshot


def exposition(snapshot: Snapshot, top: int = 5, at: datetime | None = None) -> str:
    """The text of one scrape."""
    registry = CollectorRegistry()
    registry.register(AgentCollector(lambda: [snapshot], top_units=top, now=lambda: at or datetime.now(UTC)))
    return generate_latest(registry).decode()


def rows(text: str, name: str) -> dict[tuple[str, ...], float]:
    """Samples of one metric by their label values."""
    return {
        tuple(sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name
    }


def test_names_follow_the_conventions(snapshot: Snapshot) -> None:
    """Every family begins with hotplace_, has a help text, and counters end in _total."""
    for family in text_string_to_metric_families(exposition(snapshot)):
        assert family.name.startswith("hotplace_")
        assert family.documentation.endswith(".")
        if family.type == "counter":
            assert all(sample.name.endswith("_total") for sample in family.samples)


def test_units_beyond_the_top_are_summed(snapshot: Snapshot) -> None:
    """Five units and ``other``, and together they are all."""
    shown = rows(exposition(snapshot, top=5), "hotplace_unit_size_bytes")
    assert len(shown) == 6
    assert snapshot.standing is not None
    assert sum(shown.values()) == snapshot.standing.top.size_bytes.sum()
    assert any(OTHER in labels for labels in shown)


def test_units_that_are_looked_into_have_a_share(snapshot: Snapshot) -> None:
    """One series each, and none before any was."""
    assert not rows(exposition(snapshot), "hotplace_unit_hottest_tenth_ratio")
    snapshot.hottest_tenths = {"public.orders": 0.72}
    shown = rows(exposition(snapshot), "hotplace_unit_hottest_tenth_ratio")
    assert list(shown.values()) == [0.72]
    assert all("public.orders" in labels for labels in shown)


def test_control_characters_of_names_are_escapes(snapshot: Snapshot) -> None:
    """A name from a database reaches the terminal of whoever looks at the page, and is found again in its series."""
    snapshot.hottest_tenths = {'"a"."\x1b[2J\x07\r\u202eb\n"': 0.5}
    snapshot.database = "sh\x1bop"
    text = exposition(snapshot)
    assert all(line.isprintable() for line in text.split("\n"))
    (labels,) = rows(text, "hotplace_unit_hottest_tenth_ratio")
    assert labels == ("sh\\x1bop", '"a"."\\x1b[2J\\x07\\r\\u202eb\\n"')


class OneTurn:
    """A looker that takes a pair of looks at each turn."""

    server_seconds = 3.0

    def take_turn(self) -> bool:
        """It costs two seconds."""
        self.server_seconds += 2.0
        return True

    def hottest_tenths(self) -> dict[str, float]:
        """Of one unit."""
        return {"public.orders": 0.72}


def test_looks_count_as_server_time_and_show_their_share(tmp_path: Path) -> None:
    """The agent's own cost is a metric, that of looks too; none is taken while a move runs."""
    site = Site(tmp_path)
    with site.agent() as (watch, _):
        watch.observing.looker = OneTurn()  # type: ignore[assignment]  # the simulated engine has no pool to look at
        before = watch.snapshot.server_seconds
        assert watch.observing.look_at_blocks()
        assert watch.snapshot.server_seconds - before == 2.0
        assert watch.snapshot.hottest_tenths == {"public.orders": 0.72}
        watch.snapshot.running = RUNNING
        assert not watch.observing.look_at_blocks()
        watch.observing.looker = BlockLooker("sim", 0.0, lambda: watch.connector, watch._ledger, site.clock)


def test_a_standing_knows_what_is_beyond_its_top(tmp_path: Path) -> None:
    """The top and what is beyond it are all units, wherever the line is drawn and however many are kept."""
    site = Site(tmp_path)
    with site.agent() as (watch, _):
        site.observe(watch)
        planning = watch.plan()
        assert planning is not None
        ordered = Ordered(planning)
        whole, kept = ordered.ranking(), UnitStanding.of(ordered, 4)
    assert watch.snapshot.standing is not None
    assert (len(kept.top), kept.units, kept.by_verdict) == (4, len(whole), watch.snapshot.standing.by_verdict)
    assert list(kept.top.key) == list(whole.key[:4])
    for column in SUMMED:
        values = getattr(whole, column)
        assert kept.beyond(column, 3) == pytest.approx(values[3:].sum())
        assert kept.beyond(column, 4) == pytest.approx(values[4:].sum())


def test_what_is_stored_is_the_whole_ranking(tmp_path: Path) -> None:
    """Columns that are put in order one by one while they are packed come back as they would be all at once."""
    site = Site(tmp_path)
    with site.agent() as (watch, ledger):
        site.observe(watch)
        planning = watch.plan()
        assert planning is not None
        stored = ledger.state.load_arrays(watch.database.name, RANKING)
    assert stored is not None
    ranking, whole = ranking_from_arrays(stored[1]), ranking_of(planning)
    assert ranking.units() == whole.units()


def test_a_steady_state_misses_little(tmp_path: Path) -> None:
    """Once the moves are done the metric tells how little of all wait is left to gain, not that all of it is missed."""
    site = Site(tmp_path, policy="maximum_moves: 30")
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        watch.act()
        site.observe(watch)
        with patch("policies.placement.balancer.closer_bound", wraps=closer_bound) as tightened:
            planning = watch.plan()
            assert tightened.call_count == 0, "a bound is worked out when it is read"
            assert planning is not None
            shown = rows(exposition(watch.snapshot), "hotplace_plan_missed_wait_ratio")
            assert tightened.call_count == 1
        assert shown[("sim",)] == planning.plan.missed_wait_ratio < 0.05
        assert rows(exposition(watch.snapshot), "hotplace_waiting_sessions")["sim", "modelled"] > 0


def test_all_units_fit_when_there_are_few(snapshot: Snapshot) -> None:
    """With a top that holds all there is no ``other``."""
    shown = rows(exposition(snapshot, top=1000), "hotplace_unit_size_bytes")
    assert not any(OTHER in labels for labels in shown)


def test_moves_and_verdicts_are_counted(snapshot: Snapshot) -> None:
    """Placed moves, moved bytes and units by verdict agree with what happened."""
    text = exposition(snapshot)
    placed = rows(text, "hotplace_moves_total")
    assert placed[("sim", "placed")] > 0
    assert rows(text, "hotplace_moved_bytes_total")[("sim",)] == snapshot.moved_bytes > 0
    assert snapshot.standing is not None
    assert sum(rows(text, "hotplace_units_by_verdict").values()) == snapshot.standing.units
    assert rows(text, "hotplace_proposals")[("sim", "approved")] == 1


def test_counters_tell_what_the_ledger_holds(tmp_path: Path) -> None:
    """A move that failed as the agent restarted, and one that a person cancelled: their alerts count on it."""
    site = Site(tmp_path, policy="maximum_moves: 30")
    with site.agent() as (watch, ledger):
        number = site.approved(watch, ledger)
        watch.verify()
        rows_ = ledger.moves.rows(proposal_id=number)
        failed, cancelled = rows_[0], next(row for row in rows_ if row.move.group != rows_[0].move.group)
        for state in (MoveState.PRECHECK, MoveState.RUNNING, MoveState.UNKNOWN, MoveState.FAILED):
            ledger.moves.transition(failed.id, state, "as a restart finds it")
        ledger.requests.submit(cancelled.id, RequestKind.CANCEL, who="ann", origin="test", reason="not now")
        watch.verify()
        states = Counter(row.state for row in ledger.moves.rows(proposal_id=number))
        shown = rows(exposition(watch.snapshot), "hotplace_moves_total")
        assert {state for _, state in shown} == set(COUNTED)
        assert {state: shown[("sim", state)] for state in COUNTED} == {state: states[state] for state in COUNTED}
        assert shown[("sim", "failed")] == 1
        assert shown[("sim", "cancelled")] >= 1
        watch.verify()
        assert rows(exposition(watch.snapshot), "hotplace_moves_total") == shown


def test_the_time_to_decide_is_exported_until_somebody_has_decided(tmp_path: Path) -> None:
    """From the making of the proposal to its expiry, as the ledger has them; no row once it is approved."""
    site = Site(tmp_path)
    names = [f"hotplace_proposal_{each}_timestamp_seconds" for each in ("created", "expires")]
    with site.agent() as (watch, ledger):
        site.observe(watch)
        planning = watch.plan()
        assert planning is not None
        assert not rows(exposition(watch.snapshot), names[0])
        number = watch.propose(planning)
        assert number is not None
        watch.count_proposals()
        text, proposal = exposition(watch.snapshot, at=site.clock.now()), ledger.proposals.row(number).proposal
        created, expires = (rows(text, name)[("sim",)] for name in names)
        assert (created, expires) == (proposal.created_at.timestamp(), proposal.expires_at.timestamp())
        assert expires - created == 12 * 3600
        late = exposition(watch.snapshot, at=proposal.expires_at)  # of a daemon that cannot reach its server meanwhile
        assert not rows(late, names[0])
        assert rows(late, "hotplace_proposals")[("sim", "proposed")] == 0
        ledger.proposals.approve(number, who="ann", origin="test", digest=ledger.proposals.row(number).digest)
        watch.count_proposals()
        assert not rows(exposition(watch.snapshot), names[1])


def test_before_the_first_sample_the_agent_is_down() -> None:
    """A database that was never reached shows hotplace_up 0 and no stale figure."""
    text = exposition(Snapshot(database="sim", engine="simulated"))
    assert rows(text, "hotplace_up") == {("sim", "simulated"): 0.0}
    assert not rows(text, "hotplace_sample_age_seconds")


def test_awkward_names_survive(snapshot: Snapshot) -> None:
    """Quotes in unit keys are escaped and come back as they were."""
    shown = rows(exposition(snapshot), "hotplace_unit_size_bytes")
    assert any('"shop"."orders"' in labels for labels in shown)


def test_waits_for_the_log_are_exported(snapshot: Snapshot) -> None:
    """What sessions of the simulated database wait for its log, by role and name."""
    shown = rows(exposition(snapshot), "hotplace_role_wait_seconds_total")
    assert list(shown) == [("sim", "log", "log")]
    assert shown["sim", "log", "log"] > 0


def test_waits_and_reads_are_counters(tmp_path: Path) -> None:
    """They grow by each interval that counts, and what waits now is what the last one measured."""
    site = Site(tmp_path)
    with site.agent() as (watch, _):
        site.observe(watch)
        before = exposition(watch.snapshot)
        site.clock.sleep(60.0)
        figures = watch.sample().figures
        assert figures is not None
        after = exposition(watch.snapshot)
    waited, reads = "hotplace_wait_seconds_total", "hotplace_tier_sync_reads_total"
    assert rows(after, "hotplace_waiting_sessions")["sim", "measured"] == figures.waiting_sessions
    grown = rows(after, waited)["sim",] - rows(before, waited)["sim",]
    assert grown == pytest.approx(figures.waiting_sessions * figures.seconds)
    for (_, tier), count in rows(after, reads).items():
        grown = count - rows(before, reads)["sim", tier]
        assert grown == pytest.approx(figures.sync_reads[tier] * figures.seconds)


def test_series_of_a_unit_outlive_its_moves(snapshot: Snapshot) -> None:
    """No label of theirs changes with the tier: a move would end each series and begin another."""
    families = list(text_string_to_metric_families(exposition(snapshot)))
    of_units = [each for each in families if each.name.startswith("hotplace_unit_")]
    assert of_units
    assert {key for each in of_units for sample in each.samples for key in sample.labels} == {"database", "unit"}
    assert not [each.name for each in families if "per_hour" in each.name or "per_second" in each.name]


def test_outcomes_and_undone_moves_are_counted(tmp_path: Path) -> None:
    """What was measured stands beside what was predicted; a move that was taken back counts from 0 to 1."""
    site = Site(tmp_path, policy="maximum_moves: 1")
    with site.agent() as (watch, ledger):
        number = site.approved(watch, ledger)
        watch.act()
        assert rows(exposition(watch.snapshot), "hotplace_moves_total")[("sim", "undone")] == 0
        assert not rows(exposition(watch.snapshot), "hotplace_outcome_saved_ratio")
        assert not watch.verify()  # it has to settle
        site.observe(watch)
        (outcome,) = watch.verify()
        text = exposition(watch.snapshot)
        verdicts = rows(text, "hotplace_outcomes_total")
        assert verdicts == {("sim", verdict): float(verdict is outcome.verdict) for verdict in OutcomeVerdict}
        assert rows(text, "hotplace_outcome_saved_ratio") == {
            ("sim", "predicted"): outcome.predicted_saved_ratio, ("sim", "measured"): outcome.saved_ratio
        }  # fmt: skip
        moves = ledger.moves.rows(proposal_id=number)
        back = propose_undo(moves, watch.database, watch.connector, ledger, site.clock.now())
        ledger.proposals.approve(back, who="ann", origin="test", digest=ledger.proposals.row(back).digest)
        watch.act()
        watch.verify()
        watch.verify()
        assert rows(exposition(watch.snapshot), "hotplace_moves_total")[("sim", "undone")] == len(moves) == 1
        before = text
        assert set(rows(before, "hotplace_undo_outcomes_total").values()) == {0.0}
        site.observe(watch, minutes=500)  # harm alone must last for eight hours
        (undone,) = watch.verify()
        text = exposition(watch.snapshot)
        assert undone.undo
        for name in ("hotplace_outcomes_total", "hotplace_outcome_saved_ratio"):
            assert rows(text, name) == rows(before, name), "what moves brought is not what taking them back did"
        assert rows(text, "hotplace_undo_outcomes_total") == {
            ("sim", verdict): float(verdict is undone.verdict) for verdict in OutcomeVerdict
        }
        totals = report_of(ledger, "sim", site.clock.now() - timedelta(days=1), site.clock.now()).totals
        assert totals.outcomes_by_verdict == {outcome.verdict: 1}
        assert totals.undo_outcomes_by_verdict == {undone.verdict: 1}
