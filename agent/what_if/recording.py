"""Records what the connector reads of a database, for as long as it is asked to; changes nothing.

The agent watches the database as ever, with a ledger of its own that is thrown away: what it decides comes from what is
in the recording and from nothing else, so that whoever replays it comes to the same plan. Pins are left out.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from agent.config import DatabaseConfig, Level
from agent.explanation.prospects import Prospect
from agent.ledger import Ledger
from agent.model.proposals import Proposal
from agent.planning.planner import Planning
from agent.service.watch import Watch
from agent.what_if.recorded_settings import NotRecordable
from connectors.base import Clock, ConnectorError
from connectors.recording.clock import moment_of, wall_time
from connectors.recording.columns import table_of
from connectors.recording.events import Work
from connectors.recording.names import Names
from connectors.recording.taps import RecordingTap, Tally
from connectors.recording.writing import Writer
from connectors.sessions.interruptible import interrupts_noted

SHORTEST_SECONDS = 0.05  # between two samples
NAP_SECONDS = 0.25  # between looks at the progress bar
WHOLE, INTERRUPTED = "whole", "interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What a recording holds."""

    path: Path
    bytes: int
    since: datetime
    until: datetime
    ended: str
    tally: Tally
    last: LastPlan


@dataclass(slots=True)
class LastPlan:
    """What was made of a database so far, while it is recorded and while it is replayed alike."""

    watch: Watch
    samples: int = 0
    failed: int = 0
    planning: Planning | None = None
    proposal: Proposal | None = None
    prospect: Prospect | None = None

    def do(self, work: Work) -> None:
        """One sample, or one plan.

        Raises:
            ConnectorError: the very first sample failed; later ones are counted.
        """
        try:
            if work is Work.SAMPLE:
                self.watch.sample()
                self.samples += 1
            else:
                self._plan()
        except ConnectorError:
            if not self.samples:
                raise
            self.failed += 1

    def _plan(self) -> None:
        planning = self.watch.plan()
        if planning is not None:
            self.planning, self.proposal = planning, self.watch.proposal(planning)
            self.prospect = self.watch.prospect(planning)


def record(
    database: DatabaseConfig,
    head: Mapping[str, Any],
    path: Path,
    names: Names,
    clock: Clock,
    *,
    seconds: float,
    progress: Callable[[float], None] = lambda _: None,
) -> Recorded:
    """Watch for so long, plan now and then and at the end, and write down what the connector reads.

    Ctrl-C ends the watching early; the plan at the end is still made, and the file is whole.

    Args:
        database: to watch.
        head: from ``head_of``.
        path: of the new file.
        names: how to write them.
        clock: time.
        seconds: to watch.
        progress: is given seconds as they pass.

    Raises:
        NotRecordable: the file exists already or cannot be written.
        ConnectorError: not even the first sample could be taken; there is no file then.
    """
    table, connect = table_of(database.engine), database.engine_record.tapped
    assert table is not None, "head_of() has seen to it"
    assert connect is not None, "an engine with a table has a tap"
    began = moment_of(clock)
    try:
        writer = Writer(path, {**head, "began": [began.wall, began.steady]})
    except OSError as error:
        raise NotRecordable(
            f"{path} cannot be written: {error.strerror}", advice="Name a new file in a folder of yours with --output."
        ) from error
    with ExitStack() as ending:
        ending.callback(writer.close)
        tap = RecordingTap(writer, table, names, clock)
        folder = Path(ending.enter_context(tempfile.TemporaryDirectory(prefix="hotplace-")))
        ledger = Ledger.open(folder / "ledger.db", tap.clock)
        ending.callback(ledger.close)
        plain = database.model_copy(update={"pins": ()})
        connector = connect(database.connection, tap.clock, tap)
        watch = Watch(plain, ledger, tap.clock, level=Level.PROPOSE, dry_run=True, connector=connector)
        ending.callback(watch.close, save=False)
        last = LastPlan(watch)
        try:
            ended = _Recording(last, tap, clock, progress).run(seconds, database.sample_seconds, database.plan_seconds)
        except BaseException:
            # A recording without its end could not be told from one that was damaged on its way.
            path.unlink(missing_ok=True)
            raise
        tap.end(ended)
        writer.close()
    return Recorded(
        path=path, bytes=path.stat().st_size, since=wall_time(began), until=wall_time(moment_of(clock)), ended=ended,
        tally=tap.tally, last=last,
    )  # fmt: skip


@dataclass(slots=True)
class _Recording:
    """One recording under way."""

    last: LastPlan
    tap: RecordingTap
    clock: Clock
    progress: Callable[[float], None]

    def run(self, seconds: float, every: float, plan_every: float) -> str:
        """Sample and plan by the clock, and plan once more at the end; why the watching ended."""
        ended = WHOLE
        try:
            with interrupts_noted() as interrupted:
                self._watch(seconds, every, plan_every, interrupted)
        except KeyboardInterrupt:
            if not self.last.samples:
                raise
            ended = INTERRUPTED
        with suppress(KeyboardInterrupt):  # a second one: the plan is not waited for
            self._do(Work.PLAN)
        return ended

    def _watch(self, seconds: float, every: float, plan_every: float, interrupted: Callable[[], bool]) -> None:
        """A sample at the beginning, one at the end, and those in between at their times; two at least."""
        begun, plan_at = self.clock.monotonic(), plan_every
        due = 0.0
        while True:
            self._do(Work.SAMPLE)
            passed = self.clock.monotonic() - begun
            if due and passed >= seconds:
                return
            if plan_at <= passed:
                self._do(Work.PLAN)
                plan_at += plan_every
            due = max(min(seconds, due + every), passed + SHORTEST_SECONDS)
            self._sleep(begun + due, interrupted)

    def _sleep(self, until: float, interrupted: Callable[[], bool]) -> None:
        before = self.clock.monotonic()
        # In naps: the bar goes on, and an interrupt that was dropped by C code is still noticed.
        while (left := until - self.clock.monotonic()) > 0:
            self.clock.sleep(min(left, NAP_SECONDS))
            if interrupted():
                raise KeyboardInterrupt
            now = self.clock.monotonic()
            self.progress(now - before)
            before = now

    def _do(self, work: Work) -> None:
        self.tap.mark(work)
        try:
            self.last.do(work)
        except KeyboardInterrupt:
            self.tap.mark(Work.NONE)
            raise
