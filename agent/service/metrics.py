"""Everything that Prometheus sees, rendered from what the last cycle left in memory.

A scrape never touches a database or the ledger. Few labels, the top N units and one ``other`` row; ``hotplace units
--json`` lists all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from agent.model.outcomes import OutcomeVerdict
from agent.model.states import COUNTED, ProposalState
from agent.planning.ranking import UnitStanding
from agent.service.sending import Hindrance
from agent.service.snapshot import Snapshot
from connectors.model.formatting import printable
from policies.evidence.prices import HOUR

OTHER = "other"
DATABASE_LABELS = ("database", "engine")


class AgentCollector(Collector):
    """Renders snapshots; holds no state of its own."""

    def __init__(
        self,
        snapshots: Callable[[], Iterable[Snapshot]],
        *,
        top_units: int,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        acts: Callable[[], tuple[str, bool]] = lambda: ("observe", True),
    ) -> None:
        """Wire it up.

        Args:
            snapshots: the present snapshot of every watched database.
            top_units: how many units are exported one by one.
            now: wall-clock time.
            acts: the configured level, and whether it is a dry run.
        """
        self._snapshots = snapshots
        self._top_units = top_units
        self._now = now
        self._acts = acts

    def describe(self) -> Iterable[Metric]:
        """Nothing in advance: the registry then does not collect just to learn the names."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Every family once, with the rows of every database.

        A name of an object may hold control characters, which the format passes on to anyone who looks at a page; they
        are shown as escapes.
        """
        for family in self._families():
            family.samples = [
                sample._replace(labels={name: printable(value) for name, value in sample.labels.items()})
                for sample in family.samples
            ]
            yield family

    def _families(self) -> Iterator[Metric]:
        every = list(self._snapshots())
        yield self._info()
        yield _standing_by(every)
        snapshots = [snapshot for snapshot in every if not snapshot.stands_by]  # the other agent tells of the rest
        yield from self._agent(snapshots)
        yield _sending(snapshots, self._now())
        yield from _jobs(snapshots)
        yield _locks_taken(snapshots)
        yield from _spaces(snapshots)
        yield _lost_spaces(snapshots)
        yield _idle_rules(snapshots)
        yield from _waits(snapshots)
        yield from _roles(snapshots)
        yield from _plans(snapshots, self._now())
        yield from _time_to_decide(snapshots, self._now())
        yield from _leftovers(snapshots)
        yield _foreground(snapshots)
        yield from _outcomes(snapshots)
        yield from _units(snapshots, self._top_units)
        yield _insides(snapshots)

    def _info(self) -> Metric:
        """Which agent this is, and what it may do."""
        from importlib.metadata import version

        family = GaugeMetricFamily(
            "hotplace_info", "1: which agent this is, and what it may do.", labels=("version", "level", "dry_run")
        )
        level, dry_run = self._acts()
        family.add_metric([version("hotplace"), level, "true" if dry_run else "false"], 1.0)
        return family

    def _agent(self, snapshots: list[Snapshot]) -> Iterator[Metric]:
        """The agent's own health and cost."""
        up = GaugeMetricFamily(
            "hotplace_up", "1 if the last sampling cycle succeeded and none is overdue.", labels=DATABASE_LABELS
        )
        age = GaugeMetricFamily(
            "hotplace_sample_age_seconds", "Seconds since the last successful sample.", labels=DATABASE_LABELS
        )
        cycle = GaugeMetricFamily(
            "hotplace_cycle_seconds", "Duration of the last sampling cycle.", labels=DATABASE_LABELS
        )
        cycles = CounterMetricFamily("hotplace_cycles", "Sampling cycles that succeeded.", labels=DATABASE_LABELS)
        failures = CounterMetricFamily(
            "hotplace_cycle_failures", "Sampling cycles that failed.", labels=DATABASE_LABELS
        )
        server = CounterMetricFamily(
            "hotplace_server_seconds", "Server time spent in the agent's own queries.", labels=DATABASE_LABELS
        )
        units = GaugeMetricFamily("hotplace_units", "Units seen in the catalog.", labels=DATABASE_LABELS)
        unread = GaugeMetricFamily(
            "hotplace_units_unread",
            "Units whose counters the last sample did not read, because reading all of them takes too long.",
            labels=DATABASE_LABELS,
        )
        never = GaugeMetricFamily(
            "hotplace_units_never_read",
            "Units whose counters no sample has read yet, because reading all of them takes too long.",
            labels=DATABASE_LABELS,
        )
        oldest = GaugeMetricFamily(
            "hotplace_oldest_reading_seconds",
            "Seconds since the counters of some unit were read, of all that ever were; 0 where each sample reads all.",
            labels=DATABASE_LABELS,
        )
        for snapshot in snapshots:
            labels = _labels(snapshot)
            up.add_metric(labels, float(snapshot.is_up(self._now())))
            cycles.add_metric(labels, snapshot.cycles)
            failures.add_metric(labels, snapshot.failures)
            server.add_metric(labels, snapshot.server_seconds)
            if snapshot.cycle is not None:
                age.add_metric(labels, (self._now() - snapshot.cycle.taken_at).total_seconds())
                cycle.add_metric(labels, snapshot.cycle.seconds)
                units.add_metric(labels, snapshot.cycle.units)
                unread.add_metric(labels, snapshot.cycle.unread_units)
                coverage = snapshot.cycle.coverage
                never.add_metric(labels, coverage.never if coverage else 0)
                oldest.add_metric(labels, coverage.oldest_seconds if coverage else 0.0)
        yield from (up, age, cycle, cycles, failures, server, units, unread, never, oldest)


def _sending(snapshots: list[Snapshot], now: datetime) -> Metric:
    """Whether anything may be sent to each database, and if not, why."""
    states = ", ".join(Hindrance)
    family = GaugeMetricFamily(
        "hotplace_sending",
        f"1 for the state now: allowed, or why nothing is sent ({states}).",
        labels=("database", "state"),
    )
    for snapshot in snapshots:
        if (sending := snapshot.sending(now)) is not None:
            family.add_metric([snapshot.database, sending.state], 1)
    return family


def _standing_by(snapshots: list[Snapshot]) -> Metric:
    """Which databases another agent watches."""
    family = GaugeMetricFamily(
        "hotplace_standing_by", "1 while this agent waits for the lease of another one, else 0.", labels=("database",)
    )
    for snapshot in snapshots:
        family.add_metric([snapshot.database], float(snapshot.stands_by))
    return family


def _jobs(snapshots: list[Snapshot]) -> Iterator[Metric]:
    """How each job of a database went lately; those of the ledger are there with every database."""
    labels = ("database", "job")
    failing = GaugeMetricFamily(
        "hotplace_job_failing_seconds",
        "Time between the first and the last failure of a job since it last succeeded, else 0.",
        labels=labels,
    )
    success = GaugeMetricFamily(
        "hotplace_job_last_success_timestamp_seconds", "When a job last succeeded.", labels=labels
    )
    for snapshot in snapshots:
        for name, health in sorted(snapshot.jobs.items()):
            failing.add_metric([snapshot.database, name], health.failing_seconds)
            if health.succeeded_at is not None:
                success.add_metric([snapshot.database, name], health.succeeded_at.timestamp())
    yield from (failing, success)


def _locks_taken(snapshots: list[Snapshot]) -> Metric:
    """Where a session that is no agent has the lock that keeps agents apart."""
    family = GaugeMetricFamily(
        "hotplace_lock_taken",
        "1 while a session that is no agent has the lock of agents, else 0.",
        labels=("database",),
    )
    for snapshot in snapshots:
        family.add_metric([snapshot.database], float(bool(snapshot.lock_taken_by)))
    return family


def _labels(snapshot: Snapshot) -> list[str]:
    return [snapshot.database, snapshot.engine]


def _spaces(snapshots: list[Snapshot]) -> Iterator[Metric]:
    """Room in every managed space, and how fast its tier answers."""
    labels = ("database", "space", "tier")
    free = GaugeMetricFamily("hotplace_space_free_bytes", "Free bytes of a space, where known.", labels=labels)
    used = GaugeMetricFamily("hotplace_space_used_bytes", "Bytes of a space itself.", labels=labels)
    fill = GaugeMetricFamily(
        "hotplace_space_fill_ratio", "How full the volume of a space is, by everything on it.", labels=labels
    )
    latency = GaugeMetricFamily(
        "hotplace_tier_random_read_seconds", "Random read time of a tier.", labels=("database", "tier", "source")
    )
    for snapshot in snapshots:
        storage = snapshot.storage
        if storage is None:
            continue
        for space, tier in zip(storage.spaces, storage.tier_of_space, strict=True):
            name = storage.tiers[int(tier)].name if tier >= 0 else ""
            used.add_metric([snapshot.database, space.name, name], space.used_bytes)
            if space.free_bytes is not None:
                free.add_metric([snapshot.database, space.name, name], space.free_bytes)
            if space.volume is not None and space.volume.fill_ratio is not None:
                fill.add_metric([snapshot.database, space.name, name], space.volume.fill_ratio)
        for each in storage.tiers:
            latency.add_metric([snapshot.database, each.name, each.speed.source], each.speed.random_read_seconds)
    yield from (free, used, fill, latency)


def _lost_spaces(snapshots: list[Snapshot]) -> Metric:
    """Spaces whose storage has gone."""
    lost = GaugeMetricFamily(
        "hotplace_space_lost", "1 for a space that cannot take data now.", labels=("database", "space")
    )
    for snapshot in snapshots:
        for space in () if snapshot.storage is None else snapshot.storage.spaces:
            lost.add_metric([snapshot.database, space.name], float(bool(space.lost)))
    return lost


def _idle_rules(snapshots: list[Snapshot]) -> Metric:
    """Open standing rules over templates that are held up."""
    idle = GaugeMetricFamily(
        "hotplace_rules_idle", "Open standing rules over templates that are held up.", labels=("database",)
    )
    for snapshot in snapshots:
        idle.add_metric([snapshot.database], len(snapshot.idle_rules))
    return idle


def _roles(snapshots: list[Snapshot]) -> Iterator[Metric]:
    """Waits for logs, temporary and undo spaces, where the engine knows any."""
    wait = CounterMetricFamily(
        "hotplace_role_wait_seconds",
        "Time that sessions waited for a log, temporary or undo space, in intervals that counted.",
        labels=("database", "role", "name"),
    )
    for snapshot in snapshots:
        for (role, name), seconds in snapshot.role_wait_seconds.items():
            wait.add_metric([snapshot.database, role, name], seconds)
    yield wait


def _waits(snapshots: list[Snapshot]) -> Iterator[Metric]:
    """What sessions wait for reads, as the engine measures it, and the reads that they wait for."""
    waiting = GaugeMetricFamily(
        "hotplace_waiting_sessions",
        "Sessions that waited for reads on average: measured in the last interval, or modelled by the last plan.",
        labels=("database", "source"),
    )
    waited = CounterMetricFamily(
        "hotplace_wait_seconds",
        "Time that sessions waited for reads, as the engine measures it, in intervals that counted.",
        labels=("database",),
    )
    reads = CounterMetricFamily(
        "hotplace_tier_sync_reads",
        "Random reads of a tier that sessions waited for, in intervals that counted.",
        labels=("database", "tier"),
    )
    for snapshot in snapshots:
        if snapshot.waiting_sessions >= 0:
            waiting.add_metric([snapshot.database, "measured"], snapshot.waiting_sessions)
            waited.add_metric([snapshot.database], snapshot.wait_seconds)
        if snapshot.worth is not None:
            waiting.add_metric([snapshot.database, "modelled"], snapshot.worth.wait_per_hour / HOUR)
        for tier, count in snapshot.sync_reads.items():
            reads.add_metric([snapshot.database, tier], count)
    yield from (waiting, waited, reads)


def _leftovers(snapshots: list[Snapshot]) -> Iterator[Metric]:
    """What interrupted moves have left in the database, until it is removed."""
    number = GaugeMetricFamily(
        "hotplace_leftovers", "Leftovers of interrupted moves that are not removed yet.", labels=("database",)
    )
    size = GaugeMetricFamily(
        "hotplace_leftover_bytes", "Bytes of leftovers of interrupted moves, where known.", labels=("database",)
    )
    for snapshot in snapshots:
        number.add_metric([snapshot.database], len(snapshot.leftovers))
        size.add_metric([snapshot.database], sum(each.bytes or 0 for each in snapshot.leftovers))
    yield from (number, size)


def _foreground(snapshots: list[Snapshot]) -> Metric:
    """What sessions feel of moves, where a limit is set for it."""
    family = GaugeMetricFamily(
        "hotplace_foreground_read_seconds",
        "Mean time of sessions' reads, as of the last look while something was to be moved under read_time_limit.",
        labels=("database",),
    )
    for snapshot in snapshots:
        if not math.isnan(snapshot.foreground_read_seconds):
            family.add_metric([snapshot.database], snapshot.foreground_read_seconds)
    return family


def _plans(snapshots: list[Snapshot], now: datetime) -> Iterator[Metric]:
    """What the last plan is worth, and what became of moves."""
    saved = GaugeMetricFamily(
        "hotplace_plan_saved_waiting_sessions", "Waiting sessions that the last plan would save.", labels=("database",)
    )
    missed = GaugeMetricFamily(
        "hotplace_plan_missed_wait_ratio",
        "Share of all read wait that the best possible plan of what is proven might save and the last one does not.",
        labels=("database",),
    )
    moves = CounterMetricFamily("hotplace_moves", "Moves by the state they ended in.", labels=("database", "state"))
    proposals = GaugeMetricFamily("hotplace_proposals", "Open proposals by state.", labels=("database", "state"))
    moved = CounterMetricFamily("hotplace_moved_bytes", "Bytes of placed moves.", labels=("database",))
    running = GaugeMetricFamily(
        "hotplace_move_running_ratio",
        "Share of the running move that is done, where known.",
        labels=("database", "unit"),
    )
    left = GaugeMetricFamily(
        "hotplace_move_left_seconds",
        "Remaining time of the running move at its present speed.",
        labels=("database", "unit"),
    )
    halfway = GaugeMetricFamily(
        "hotplace_groups_left_worse",
        "Groups of moves that ended halfway, so that sessions wait more than before, and are not taken back.",
        labels=("database",),
    )
    answers = GaugeMetricFamily(
        "hotplace_ledger_up",
        "0 while the ledger takes nothing, so that nothing is sent and samples wait on the agent's machine, else 1.",
        labels=("database",),
    )
    spooled = GaugeMetricFamily(
        "hotplace_ledger_spooled_intervals",
        "Intervals on the agent's machine whose hours a ledger on a server lacks: those that are over, or it is away.",
        labels=("database",),
    )
    trusted = GaugeMetricFamily(
        "hotplace_ledger_trusted",
        "0 while nothing is sent because the audit chain, its anchors or an approval do not fit, else 1.",
        labels=("database",),
    )
    for snapshot in snapshots:
        answers.add_metric([snapshot.database], not snapshot.ledger_error)
        spooled.add_metric([snapshot.database], snapshot.spooled)
        trusted.add_metric([snapshot.database], not snapshot.untrusted)
        halfway.add_metric([snapshot.database], snapshot.groups_left_worse)
        moved.add_metric([snapshot.database], snapshot.moved_bytes)
        if snapshot.running is not None and snapshot.running.ratio is not None:
            running.add_metric([snapshot.database, snapshot.running.unit], snapshot.running.ratio)
        if snapshot.running is not None and snapshot.running.left_seconds is not None:
            left.add_metric([snapshot.database, snapshot.running.unit], snapshot.running.left_seconds)
        if snapshot.approved is not None:
            proposals.add_metric([snapshot.database, ProposalState.PROPOSED], len(snapshot.undecided_at(now)))
            proposals.add_metric([snapshot.database, ProposalState.APPROVED], snapshot.approved)
        # From 0 on: a counter that appears with its first move already at 1 shows no increase, and an alert on
        # increases misses just the first failure.
        for state in COUNTED:
            moves.add_metric([snapshot.database, state], snapshot.moves[state])
        if snapshot.worth is not None:
            saved.add_metric([snapshot.database], snapshot.worth.wait_saved_per_hour / HOUR)
            missed.add_metric([snapshot.database], snapshot.worth.missed_wait_ratio)
    yield from (saved, missed, proposals, moves, moved, running, left, halfway, trusted, answers, spooled)


def _time_to_decide(snapshots: list[Snapshot], now: datetime) -> Iterator[Metric]:
    """Since when and until when the most urgent proposal without a decision can be decided; no row without one."""
    created = GaugeMetricFamily(
        "hotplace_proposal_created_timestamp_seconds",
        "Creation time of the open proposal that expires first.",
        labels=("database",),
    )
    expires = GaugeMetricFamily(
        "hotplace_proposal_expires_timestamp_seconds",
        "Expiry time of the open proposal that expires first.",
        labels=("database",),
    )
    for snapshot in snapshots:
        if waiting := snapshot.undecided_at(now):
            first = min(waiting, key=lambda each: each.expires_at)
            created.add_metric([snapshot.database], first.created_at.timestamp())
            expires.add_metric([snapshot.database], first.expires_at.timestamp())
    yield from (created, expires)


def _outcomes(snapshots: list[Snapshot]) -> Iterator[Metric]:
    """What was measured after moves, and the last outcome compared with its prediction."""
    verdicts = CounterMetricFamily(
        "hotplace_outcomes",
        "Proposals measured after their moves, undos left out, by verdict.",
        labels=("database", "verdict"),
    )
    undos = CounterMetricFamily(
        "hotplace_undo_outcomes", "Undos measured after their moves, by verdict.", labels=("database", "verdict")
    )
    saved = GaugeMetricFamily(
        "hotplace_outcome_saved_ratio",
        "Share of the wait for the same work that the last measured proposal saved, and was predicted to.",
        labels=("database", "source"),
    )
    for snapshot in snapshots:
        for verdict in OutcomeVerdict:
            verdicts.add_metric([snapshot.database, verdict], snapshot.outcomes[verdict])
            undos.add_metric([snapshot.database, verdict], snapshot.undo_outcomes[verdict])
        last = snapshot.last_outcome
        if last is not None and not math.isnan(last.saved_ratio):
            saved.add_metric([snapshot.database, "predicted"], last.predicted_saved_ratio)
            saved.add_metric([snapshot.database, "measured"], last.saved_ratio)
    yield from (verdicts, undos, saved)


def _units(snapshots: list[Snapshot], top: int) -> Iterator[Metric]:
    """The top units one by one, the rest as ``other``."""
    labels = ("database", "unit")  # no tier: a move would end each of its series and begin others
    families = {
        "benefit_per_hour": GaugeMetricFamily(
            "hotplace_unit_benefit_waiting_sessions",
            "Waiting sessions that fast storage saves for the unit, wherever it is.",
            labels=labels,
        ),
        "saved_if_moved": GaugeMetricFamily(
            "hotplace_unit_saved_waiting_sessions", "Waiting sessions saved if the unit moved now.", labels=labels
        ),
        "size_bytes": GaugeMetricFamily("hotplace_unit_size_bytes", "Size of the unit.", labels=labels),
    }
    verdicts = GaugeMetricFamily(
        "hotplace_units_by_verdict", "Units by the last plan's verdict.", labels=("database", "verdict")
    )
    for snapshot in snapshots:
        if snapshot.standing is None:
            continue
        for column, family in families.items():
            _add_top(family, snapshot.database, snapshot.standing, column, top)
        for verdict, count in snapshot.standing.by_verdict.items():
            verdicts.add_metric([snapshot.database, verdict], count)
    yield from (*families.values(), verdicts)


def _add_top(family: GaugeMetricFamily, database: str, standing: UnitStanding, column: str, top: int) -> None:
    ranking, values = standing.top, getattr(standing.top, column)
    scale = 1.0 if column == "size_bytes" else 1.0 / HOUR  # waits of the ranking are per hour
    for row in range(min(top, len(ranking))):
        family.add_metric([database, ranking.key[row]], float(values[row]) * scale)
    if standing.units > top:
        family.add_metric([database, OTHER], standing.beyond(column, top) * scale)


def _insides(snapshots: list[Snapshot]) -> Metric:
    """How concentrated the reads of the few units are that are looked into; no more of them than looks take."""
    share = GaugeMetricFamily(
        "hotplace_unit_hottest_tenth_ratio",
        "Share of the waits for reads of a large hot unit that its hottest 10 % of blocks take.",
        labels=("database", "unit"),
    )
    for snapshot in snapshots:
        for unit, ratio in snapshot.hottest_tenths.items():
            share.add_metric([snapshot.database, unit], ratio)
    return share
