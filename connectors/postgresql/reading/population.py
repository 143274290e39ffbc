"""How many sessions a load consists of, from looks at what each session does.

``pg_stat_database`` adds up the time of every session that is connected: those of a pool that are not in use, a monitor
that asks once a minute and the agent's own count as much as one that asks a thousand times a second. So sessions are
counted where they take part: at work, or idle for no longer than a session of this load is between two transactions.

By Little's law (Denning and Buzen, "The operational analysis of queueing network models", ACM Computing Surveys 10,
1978) ``N`` sessions with ``X`` transactions a second come round every ``N / X`` seconds. A session that has been idle
for several rounds is not one of them.
"""

from __future__ import annotations

from collections.abc import Sequence

IDLE_SECONDS = (1.0, 10.0, 60.0)  # idle for less than: columns of ``sql/database.sql``
ROUNDS = 5.0  # that a session of the load may be idle for: of a pause of exponential length 0.7 % are longer


def longest_idle(working: float, idle: Sequence[float], per_second: float) -> int:
    """Which of ``IDLE_SECONDS`` a session of the load may be idle for, at the moment of one look.

    Args:
        working: sessions that execute a statement.
        idle: sessions that do not, idle for less than each of ``IDLE_SECONDS``; rising.
        per_second: transactions.

    Returns:
        The shortest that holds ``ROUNDS`` rounds; where none does, the longest.
    """
    for at, (longest, count) in enumerate(zip(IDLE_SECONDS, idle, strict=True)):
        if per_second * longest >= ROUNDS * (working + count):
            return at
    return len(IDLE_SECONDS) - 1


def sessions_in_use(working: float, idle: Sequence[float], per_second: float) -> float:
    """Sessions that take part in the load: those at work, and those idle for no longer; arguments as above."""
    return working + idle[longest_idle(working, idle, per_second)]


class Population:
    """Adds the sessions in use up over time, so that two samples tell their mean like any other counter."""

    def __init__(self) -> None:
        self._total = 0.0
        self._before: tuple[float, float] | None = None  # transactions and time of the last look
        self._sessions = 0.0  # in use then
        self.idle = len(IDLE_SECONDS) - 1  # which of IDLE_SECONDS they may have been idle for

    def total(self, sessions: Sequence[float | None], *, transactions: float, at: float) -> dict[str, float]:
        """The figure of one sample by its name in ``Sample.database``; none where the server does not tell.

        Args:
            sessions: working, idle for less than each of ``IDLE_SECONDS``, and hidden; empty: not asked.
            transactions: so far.
            at: seconds of the monotonic clock.
        """
        known = [float(each) for each in sessions if each is not None]
        before, self._before = self._before, (transactions, at)
        if len(known) != len(IDLE_SECONDS) + 2 or known[-1]:
            return {}
        if before is not None and at > before[1]:
            seconds = at - before[1]
            rate = max(0.0, transactions - before[0]) / seconds
            now = sessions_in_use(known[0], known[1:-1], rate)
            self.idle = longest_idle(known[0], known[1:-1], rate)
            self._total += (now + self._sessions if self._sessions else 2 * now) / 2 * seconds
            self._sessions = now
        return {"population_seconds": self._total}
