"""Reads what single statements did, a few times within the settle time, so that outcomes can compare them."""

from __future__ import annotations

import numpy as np

from agent.config import DatabaseConfig
from agent.config.models import Statements
from agent.ledger import Ledger
from agent.model.statements import StatementInterval
from connectors.base import Clock, Connector, ConnectorError, Retry
from connectors.recording.tap import NotRecorded
from connectors.statements.counters import ReadsStatements, StatementCounters

MOST_READ = 1000  # statements, those with most time so far
MOST_KEPT = 100  # of an interval, those with most time in it
READINGS_A_SETTLE = 6  # the first look at an outcome takes as long as settling, and wants some intervals
LONGEST_SILENCE = 3  # readings; how the work of a longer one was spread over it is not known
REST_SECONDS = 3600.0  # after a refusal that only a person can end


class StatementReader:
    """Reads the statements of one database when it is time, and stores what changed. One thread at a time."""

    def __init__(self, database: DatabaseConfig, ledger: Ledger, clock: Clock) -> None:
        """Nothing is read yet.

        Args:
            database: its configuration.
            ledger: keeps the intervals.
            clock: time.
        """
        self._database = database
        self._ledger = ledger
        self._clock = clock
        self._every = max(database.sample_seconds, database.settle_seconds / READINGS_A_SETTLE)
        self._due = -float("inf")  # on the monotonic clock
        self._before: StatementCounters | None = None

    def read_if_due(self, connector: Connector, *, may_store: bool) -> float:
        """Read them, if it is time and the engine has them; returns the seconds that the server took at most.

        Raises:
            ConnectorError: they could not be read; the next try comes in its turn, or an hour later.
        """
        now = self._clock.monotonic()
        wanted = self._database.statements is not Statements.NONE
        if not wanted or now < self._due or not isinstance(connector, ReadsStatements):
            return 0.0
        self._due = now + self._every
        try:
            found = connector.read_statements(MOST_READ)
        except NotRecorded:
            found = None
        except ConnectorError as error:
            self._before = None
            self._due = now + (REST_SECONDS if error.retry is Retry.NEVER else self._every)
            raise
        before, self._before = self._before, found
        if found is None:
            self._due = now + REST_SECONDS  # the server keeps none, and no recording has any
            return 0.0
        interval = None if before is None else difference(before, found)
        if interval is not None and may_store and interval.length <= LONGEST_SILENCE * self._every:
            self._ledger.statements.append(self._database.name, interval)
        return found.server_seconds


def difference(before: StatementCounters, after: StatementCounters) -> StatementInterval | None:
    """What statements did between two readings; None where counters restarted or time went backwards.

    A statement counts where it is in both: an engine forgets those that it needs no longer, so one that was not there
    before may have run before all the same. One whose counters fell was forgotten in between.
    """
    if before.epoch != after.epoch or after.taken_at <= before.taken_at:
        return None
    row_before = {id_: row for row, id_ in enumerate(before.ids)}
    both = [(row_before[id_], row) for row, id_ in enumerate(after.ids) if id_ in row_before]
    was, now = np.array(both, dtype=np.int64).reshape(len(both), 2).T
    deltas = {name: getattr(after, name)[now] - getattr(before, name)[was] for name in _COUNTERS}
    valid = deltas["executions"] > 0
    for values in deltas.values():
        valid &= ~(values < 0)  # NaN: not counted
    kept = np.flatnonzero(valid)
    kept = kept[np.argsort(-deltas["seconds"][kept], kind="stable")][:MOST_KEPT]
    return StatementInterval(
        started_at=before.taken_at,
        ended_at=after.taken_at,
        ids=tuple(after.ids[row] for row in now[kept]),
        executions=deltas["executions"][kept],
        seconds=deltas["seconds"][kept],
        read_wait=deltas["read_wait"][kept],
        reads=deltas["reads"][kept],
    )


_COUNTERS = ("executions", "seconds", "read_wait", "reads")
