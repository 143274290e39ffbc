"""The demo from an empty folder to a measured outcome: observe, rank, plan, ask, move, verify, measure.

Every step is done by the parts that the daemon uses; the story only calls them in order and prints what they say.
"""

from __future__ import annotations

import math
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from prometheus_client import CollectorRegistry
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from agent.demo.load import Throughput
from agent.demo.stage import SETTLE_SECONDS, Company, Stage
from agent.ledger.rows import MoveRow
from agent.model.answers.kind import extend
from agent.model.answers.setup import (
    Decoy,
    DemoLoad,
    DemoMoveChecked,
    DemoOutcome,
    DemoPlacements,
    DemoPlan,
    DemoRun,
    FleetDemoRun,
)
from agent.model.outcomes import Outcome
from agent.model.proposals import Proposal, WorkForecast
from agent.model.states import MoveState
from agent.moving.progress import MoveEvent
from agent.planning.planner import Planning
from agent.planning.ranking import Ranking, ranking_of
from agent.service.httpd import MetricsServer
from agent.service.metrics import AgentCollector
from agent.terminal.columns import Column
from agent.terminal.deciding import print_details, print_lines, print_summary
from agent.terminal.output import Output
from agent.terminal.wording import move_sql, outcome_shown, plan_shown, print_script
from connectors.kit.contract import HotplaceError
from connectors.model.formatting import format_bytes, format_rate, format_seconds, format_sessions
from connectors.model.observation import Home
from policies.model.plan import Verdict

WARM_UP_SECONDS = 5.0  # before anything is sampled
OBSERVE_SECONDS = 20.0
PATIENCE_SECONDS = 60.0  # at most this much longer, where a slow machine has not yet seen enough
LOOK_AGAIN_SECONDS = 5.0
ENOUGH_SAMPLES = 8  # before the first move: an outcome is measured against them, and a busy machine samples late
WAITS_FOR_EVIDENCE = (int(Verdict.NOT_ENOUGH_HISTORY), int(Verdict.UNPROVEN), int(Verdict.UNCERTAIN))
MORE_LOOKS = 12  # where the first could not tell
MEASURE_SECONDS = 2 * SETTLE_SECONDS + 4.0  # settle, then as long again, and a sample or two
SHOWN_UNITS = 10
SCRAPE_LINES = (
    "hotplace_up",
    "hotplace_units",
    "hotplace_plan_wait_saved",
    "hotplace_moves_total",
    "hotplace_space_free",
)


class NothingToMove(HotplaceError):
    """The demo's plan is empty, which it never should be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """Everything the story found, and whether it went well."""

    found: DemoRun | FleetDemoRun
    approved: bool
    good: bool  # every move is placed; of a fleet, every database was measured and the standby came in time, too


class DemoStory:
    """One run of the demo."""

    def __init__(
        self, stage: Stage, company: Company, out: Output, *, approve: Callable[[str], bool], who: str
    ) -> None:
        """Take the stage.

        Args:
            stage: server, schema, configuration.
            company: ledger, watch, load, sampling.
            out: where to print.
            approve: asks the question and returns the answer.
            who: name for the approval.
        """
        self._stage = stage
        self._company = company
        self._out = out
        self._approve = approve
        self._who = who
        self._started = time.monotonic()

    def tell(self) -> Ending:
        """Run the whole story.

        Raises:
            HotplaceError: something did not work; the message says what.
        """
        self._observe()
        planning, ranking, proposal = self._plan()
        decoys = self._decoys(ranking)
        self._print_plan(proposal, decoys)
        before, homes_before = self._load_figures(OBSERVE_SECONDS), self._homes()
        number = self._company.watch.propose(planning)
        assert number is not None, "the demo's level is propose"
        digest = self._company.ledger.proposals.row(number).digest
        self._out.line()
        print_lines(self._out, proposal, proposal.moves, number)  # the first ones have left the screen
        approved = self._approve(f"carry out these {len(proposal.moves)} moves (digest {digest[:12]})?")
        moved: tuple[MoveRow, ...] = ()
        outcomes: tuple[Outcome, ...] = ()
        after = before
        if approved:
            self._company.ledger.proposals.approve(number, who=self._who, origin="hotplace demo", digest=digest)
            moved = self._move()
            outcomes = self._measure()
            after = self._load_figures(SETTLE_SECONDS)
            self._print_outcome(proposal, outcomes, before, after)
        scrape = self._scrape()
        found = DemoRun(
            engine=self._engine(),
            units=len(ranking),
            plan=extend(DemoPlan, plan_shown(proposal), digest=proposal.digest),
            statements=tuple(step.sql for move in proposal.moves for step in move.route.steps),
            placements=DemoPlacements(before=homes_before, after=self._homes(), moves=self._verify(moved)),
            decoys=decoys,
            outcomes=tuple(self._outcome_found(outcome, before, after) for outcome in outcomes),
            scrape=scrape,
            seconds=time.monotonic() - self._started,
        )
        return Ending(found=found, approved=approved, good=_all_placed(moved, proposal) if approved else True)

    # -- observe and plan ----------------------------------------------------------------------------------------

    def _observe(self) -> None:
        """Let the load run and the sampler learn, with progress."""
        self._out.note(f"watching the load for {WARM_UP_SECONDS + OBSERVE_SECONDS:.0f} s")
        self._wait(WARM_UP_SECONDS, "warming up")  # clients connect, and the buffer pool fills: no load of any day
        self._company.pulse.start()
        self._wait(OBSERVE_SECONDS, "watching")

    def _plan(self) -> tuple[Planning, Ranking, Proposal]:
        watch = self._company.watch
        planning = self._plan_when_sure()
        proposal, ranking = watch.proposal(planning), ranking_of(planning)
        self._print_ranking(ranking)
        if proposal is None:
            for sentence in ranking.sentence[:SHOWN_UNITS]:
                self._out.line(sentence)
            raise NothingToMove("nothing is worth moving", advice="The ranking above says why, unit by unit.")
        return planning, ranking, proposal

    def _plan_when_sure(self) -> Planning:
        """Plan; as long as a move waits for evidence, watch on. A slow machine's load proves its moves later."""
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            planning = self._company.watch.plan()
            assert planning is not None, "there are samples"
            unsure = np.isin(ranking_of(planning).verdict, WAITS_FOR_EVIDENCE).any()
            seen = self._company.pulse.samples
            if time.monotonic() >= end or (seen >= ENOUGH_SAMPLES and not unsure):
                return planning
            too_short = "some units have not been watched long enough to be sure of them"
            self._out.note(f"watching on: {too_short if unsure else f'only {seen} samples so far'}")
            self._wait(LOOK_AGAIN_SECONDS, "watching on")

    def _decoys(self, ranking: Ranking) -> tuple[Decoy, ...]:
        """What a simpler rule would have chosen, with the reason why this plan did not."""
        schema = self._stage.schema
        gives_way = frozenset({Verdict.DEMOTE, Verdict.STAYS_SPARE, Verdict.IDLE})
        stays = frozenset(Verdict) - {Verdict.PROMOTE}
        roles = [
            ("busiest by logical reads, fully cached", schema.cached, stays),
            ("large, read by sequential scans", schema.scanned, stays),
            ("append-only history", schema.history, stays),
            *(("cold, on ssd already", unit, gives_way) for unit in schema.cold),
            ("older partition, idle", schema.idle_partitions[0], stays),
        ]
        row_of = {key: row for row, key in enumerate(ranking.key)}
        return tuple(self._decoy(role, unit, expected, ranking, row_of[unit]) for role, unit, expected in roles)

    def _decoy(self, role: str, unit: str, expected: frozenset[Verdict], ranking: Ranking, row: int) -> Decoy:
        return Decoy(
            role=role,
            unit=unit,
            verdict=ranking.verdict_code(row),
            why=ranking.sentence[row] if row < len(ranking.sentence) else "",
            as_expected=Verdict(int(ranking.verdict[row])) in expected,
        )

    # -- act and measure -----------------------------------------------------------------------------------------

    def _move(self) -> tuple[MoveRow, ...]:
        self._out.heading("moving")
        moved = self._company.watch.act()
        for row in moved:
            if row.state is not MoveState.PLACED:
                self._out.line(f"{row.move.key}: {row.state}, {row.reason}")
        return moved

    def _measure(self) -> tuple[Outcome, ...]:
        """Keep sampling until the outcome is there."""
        outcomes = self._company.watch.verify()  # what is placed begins to settle
        self._out.note(f"caches settle for {SETTLE_SECONDS:.0f} s, then the outcome is measured")
        self._wait(MEASURE_SECONDS, "measuring")
        outcomes += self._company.watch.verify()
        for _ in range(MORE_LOOKS):  # a busy machine samples late, and its figures scatter
            if outcomes:
                break
            self._wait(SETTLE_SECONDS, "measuring on")
            outcomes += self._company.watch.verify()
        return outcomes

    def _load_figures(self, seconds: float) -> Throughput:
        """What the load's clients saw in the last so many seconds."""
        now = time.monotonic()
        return self._company.load.between(now - seconds, now)

    def _homes(self) -> dict[str, str]:
        """The space of every unit, from the catalog as it is now."""
        catalog = self._company.watch.connector.catalog()
        return {
            key: catalog.spaces[space].name for key, space in zip(catalog.units.key, catalog.units.space, strict=True)
        }

    def _verify(self, moved: tuple[MoveRow, ...]) -> tuple[DemoMoveChecked, ...]:
        """Each move as the catalog and the disk show it now."""
        connector = self._company.watch.connector
        answers = [(row, connector.inspect(row.move.route)) for row in moved]
        return tuple(
            DemoMoveChecked(
                unit=row.move.key,
                to_space=row.move.to_space,
                state=row.state,
                in_catalog=inspection.home is Home.TARGET,
                on_disk=inspection.on_disk,
                says=inspection.sentence,
            )
            for row, inspection in answers
        )

    def _outcome_found(self, outcome: Outcome, before: Throughput, after: Throughput) -> DemoOutcome:
        return extend(
            DemoOutcome,
            outcome_shown(outcome),
            measured=outcome.measured and self._stage.slow_disk is not None,
            storage=self._stage.storage_sentence,
            load_before=_load(before),
            load_after=_load(after),
        )

    def _scrape(self) -> int:
        """Serve /metrics for a moment and read it as Prometheus would; the number of bytes."""
        registry = CollectorRegistry()
        registry.register(AgentCollector(lambda: [self._company.watch.snapshot], top_units=20))
        server = MetricsServer(registry, lambda: (True, "ready"), listen="127.0.0.1", port=0)
        server.start()
        try:
            with urllib.request.urlopen(server.url, timeout=10) as answer:  # noqa: S310 (our own loopback address)
                body: bytes = answer.read()
        finally:
            server.stop()
        self._out.heading(f"metrics, as scraped from {server.url} ({len(body)} bytes)")
        for line in body.decode().splitlines():
            if line.startswith(SCRAPE_LINES):
                self._out.line(line)
        return len(body)

    def _engine(self) -> str:
        identity = self._company.watch.identity
        return f"{identity.engine} {identity.version}"

    def _wait(self, seconds: float, what: str) -> None:
        """Let the time pass with a bar on a terminal; whatever broke meanwhile ends the wait."""
        console = self._out.progress_console
        columns = (TextColumn(what), BarColumn(), TimeRemainingColumn(), TextColumn("{task.fields[rate]}"))
        end = time.monotonic() + seconds
        with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
            task = progress.add_task(what, total=seconds, rate="")
            while (left := end - time.monotonic()) > 0:
                if self._company.pulse.error is not None:
                    raise self._company.pulse.error
                time.sleep(min(left, 0.5))
                rate = f"{self._load_figures(3.0).per_second:.0f} transactions/s"
                progress.update(task, completed=seconds - left, rate=rate)

    # -- print ---------------------------------------------------------------------------------------------------

    def _print_ranking(self, ranking: Ranking) -> None:
        self._out.heading("ranking, by the waiting sessions that fast storage would save")
        rows = range(min(SHOWN_UNITS, len(ranking)))
        self._out.table(_RANKING_COLUMNS, [_ranking_cells(ranking, row) for row in rows])

    def _print_plan(self, proposal: Proposal, decoys: tuple[Decoy, ...]) -> None:
        out = self._out
        out.heading("the plan")
        print_summary(out, proposal, proposal.moves)
        print_details(out, proposal, proposal.moves)
        out.heading("what looks hot and is not, or is in the way")
        for decoy in decoys:
            out.line(f"{decoy.role}: {decoy.verdict}. {decoy.why}")
        out.heading("dry run: the exact statements")
        for move in proposal.moves:
            print_script(out, move_sql(move))

    def _print_outcome(
        self, proposal: Proposal, outcomes: tuple[Outcome, ...], before: Throughput, after: Throughput
    ) -> None:
        out = self._out
        out.heading("outcome compared with the prediction")
        out.line(self._stage.storage_sentence)
        for outcome in outcomes:
            if self._stage.slow_disk is not None:
                out.line(outcome.sentence)
            else:
                out.line(f"predicted: {outcome.predicted_saved_ratio:.0%} less read wait; not measured, see above")
        if self._stage.slow_disk is not None:
            out.table(_LOAD_COLUMNS, [_load_cells("before", before), _load_cells("after", after)])
            out.heading("forecast and measurement")
            out.table(_FORECAST_COLUMNS, _forecast_rows(proposal.forecast, outcomes))


_RANKING_COLUMNS = (
    Column("unit", name=True), Column("space", leaves=1), Column("size", number=True),
    Column("logical reads/s", number=True, leaves=2), Column("misses", number=True, leaves=3),
    Column("waited-for reads/s", number=True, leaves=4), Column("benefit", number=True),
    Column("verdict"),
)  # fmt: skip
_FORECAST_COLUMNS = (
    Column(""), Column("before", number=True), Column("forecast", number=True), Column("interval", number=True),
    Column("measured", number=True), Column("measured is"),
)  # fmt: skip
_LOAD_COLUMNS = (
    Column("load"), Column("transactions/s", number=True), Column("mean latency", number=True),
    Column("p99 latency", number=True), Column("errors", number=True),
)  # fmt: skip


def print_event(out: Output, event: MoveEvent) -> None:
    """One line as a move goes on."""
    out.line(f"{event.move.move.key} -> {event.move.move.to_space}: {event.move.state}: {event.sentence}")


def _ranking_cells(ranking: Ranking, row: int) -> tuple[str, ...]:
    return (
        ranking.key[row],
        ranking.space_names[int(ranking.space[row])],
        format_bytes(int(ranking.size_bytes[row])),
        f"{ranking.logical_reads[row]:,.0f}",
        f"{ranking.miss_ratio[row]:.1%}",
        f"{ranking.sync_reads[row]:,.1f}",
        format_sessions(float(ranking.benefit_per_hour[row])),
        ranking.verdict_code(row),
    )


def _load_cells(name: str, figures: Throughput) -> tuple[str, ...]:
    return (
        name,
        f"{figures.per_second:,.0f}",
        format_seconds(figures.latency_mean_seconds),
        format_seconds(figures.latency_p99_seconds),
        str(figures.errors),
    )


def _forecast_rows(said: WorkForecast | None, outcomes: tuple[Outcome, ...]) -> list[tuple[str, ...]]:
    """What was forecast of throughput and latency next to what the server then counted, whatever it is."""
    if said is None or not outcomes:
        return []
    came = outcomes[-1]
    rates = said.per_second_now, said.per_second, said.per_second_low, said.per_second_high
    times = said.latency_now, said.latency, said.latency_low, said.latency_high
    return [
        _forecast_cells(f"{said.work}/s", format_rate, *rates, came.transactions_per_second_after),
        _forecast_cells("latency in the server", format_seconds, *times, came.latency_after),
    ]


def _forecast_cells(
    title: str,
    written: Callable[[float], str],
    now: float | None,
    then: float | None,
    low: float | None,
    high: float | None,
    measured: float,
) -> tuple[str, ...]:
    known = None not in (now, then, low, high) and not math.isnan(measured)
    figures = (math.nan if each is None else each for each in (now, then, low, high))
    inside = "not known"
    if low is not None and high is not None and known:
        inside = "inside" if low <= measured <= high else "outside"
    before, forecast, least, most = (written(each) for each in figures)
    return title, before, forecast, f"{least} to {most}", written(measured), inside


def _load(figures: Throughput) -> DemoLoad:
    return DemoLoad(
        transactions_per_second=figures.per_second,
        latency_mean_seconds=figures.latency_mean_seconds,
        latency_p99_seconds=figures.latency_p99_seconds,
        errors=figures.errors,
        seconds=figures.seconds,
    )


def _all_placed(moved: tuple[MoveRow, ...], proposal: Proposal) -> bool:
    return len(moved) == len(proposal.moves) and all(row.state is MoveState.PLACED for row in moved)
