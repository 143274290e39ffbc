"""Sessions that take part in a load, and those of them that wait for reads: what samplers of all engines count alike.

``Population`` counts the sessions that take part in the load, from looks at what each session does.
``pg_stat_database`` adds up the time of every connected session: unused sessions of a pool, a monitor that asks once a
minute and the agent's own session count as much as one that asks a thousand times a second. Here a session counts if it
is at work, or idle for no longer than sessions of this load pause between transactions. By Little's law, ``N`` sessions
with ``X`` transactions a second come round every ``N / X`` seconds; a session idle for several rounds does not take
part (Denning and Buzen, "The operational analysis of queueing network models", ACM Computing Surveys 10, 1978).

``SessionKinds`` estimates which sessions wait for reads, and their part of the work. Sessions of one role under one
application name are of one kind. The server counts neither transactions nor waits by kind, so looks estimate both. A
kind is one of readers if a fair part of the sessions seen waiting for a read were its own. How often its sessions come
round follows from how long ago they began what they are doing. A look finds a pause or a transaction half over on
average, and more than half if lengths vary; that factor cancels as far as the lengths of both kinds vary alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan

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


class OpenAges:
    """Adds up for how long transactions were open at the moments they were looked at: all of them, and the oldest.

    On average a look finds as much of one behind it as is ahead. What waits for all that are open now waits for the one
    that ends last, as long as the oldest has been open: the ages together are so many times as much.
    """

    def __init__(self) -> None:
        self._totals = (0.0, 0.0)
        self._before: tuple[float, tuple[float, float]] | None = None  # time, and what the last look saw

    def total(self, looks: Sequence[KindLook], at: float) -> dict[str, float]:
        """The figure of one sample by its name in ``Sample.database``; none where sessions were not looked at.

        Args:
            looks: each kind that is there.
            at: seconds of the monotonic clock.
        """
        if not looks:
            return {}
        now = sum(each.inside_seconds for each in looks), max(each.oldest_seconds for each in looks)
        if self._before is not None:
            passed, then = max(0.0, at - self._before[0]), self._before[1]
            together, oldest = (
                total + (a + b) / 2 * passed for total, a, b in zip(self._totals, now, then, strict=True)
            )
            self._totals = together, oldest
        self._before = at, now
        ages = {"open_ages_seconds": self._totals[0]}
        # An earlier version recorded none.
        return ages if isnan(now[1]) else {**ages, "oldest_open_seconds": self._totals[1]}


LEAST_SEEN = 20.0  # sessions waiting for reads: before that many, who reads is chance
LEAST_SHARE = 0.05  # of them, to be a kind of readers
LOOKS = 1000  # after which what was seen counts half
GONE = 0.01  # of a session seen: a kind with so little left is forgotten


@dataclass(frozen=True, slots=True, kw_only=True)
class KindLook:
    """One kind of sessions at one moment. Seconds are sums over its sessions."""

    kind: str
    working: float
    reading: float  # of these
    inside: float  # in a transaction
    inside_seconds: float  # since it began
    between: tuple[float, ...]  # two transactions, for less than each of ``IDLE_SECONDS`` of ``population``
    between_seconds: tuple[float, ...]  # since the last
    oldest_seconds: float = nan  # of those in a transaction, since the first began; 0: none, NaN: not recorded

    @classmethod
    def of_row(cls, row: Sequence[float | str]) -> KindLook:
        """A row of the engine's query of kinds, in the order of the fields above."""
        kind, *figures = row
        working, reading, inside, inside_seconds, *rest = map(float, figures)
        *pairs, oldest = rest if len(rest) % 2 else (*rest, nan)
        return cls(
            kind=str(kind), working=working, reading=reading, inside=inside, inside_seconds=inside_seconds,
            between=tuple(pairs[0::2]), between_seconds=tuple(pairs[1::2]), oldest_seconds=oldest,
        )  # fmt: skip


@dataclass(slots=True)
class _Seen:
    """Sums over looks, older ones fading."""

    reading: float = 0.0
    inside: float = 0.0
    inside_seconds: float = 0.0
    between: float = 0.0
    between_seconds: float = 0.0

    def fade(self, share: float) -> None:
        """Count less than what is seen from now on."""
        self.reading *= share
        self.inside *= share
        self.inside_seconds *= share
        self.between *= share
        self.between_seconds *= share

    def per_second(self) -> float:
        """How often its sessions came round, up to a factor that all kinds have in common; 0 where none was seen."""
        seconds = _mean(self.inside_seconds, self.inside) + _mean(self.between_seconds, self.between)
        return (self.inside + self.between) / seconds if seconds > 0 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionLook:
    """One session at one moment, where an engine is asked for each."""

    kind: str
    working: bool
    reading: bool  # it is at work, and waits for a read
    transaction: bool  # one is open
    began: float  # seconds since its last request began
    changed: float  # seconds since it is at work, or since it is not


def kind_looks(sessions: Iterable[SessionLook]) -> list[KindLook]:
    """Sums by kind; a session that sits on a transaction for longer than sessions pause is in no one's use."""
    found: dict[str, list[SessionLook]] = {}
    for each in sessions:
        found.setdefault(each.kind, []).append(each)
    return [_kind_look(kind, of) for kind, of in found.items()]


def _kind_look(kind: str, sessions: Sequence[SessionLook]) -> KindLook:
    inside = [each for each in sessions if each.working or (each.transaction and each.changed < IDLE_SECONDS[-1])]
    pauses = [each.changed for each in sessions if not each.working and not each.transaction]
    between = [[pause for pause in pauses if pause < longest] for longest in IDLE_SECONDS]
    return KindLook(
        kind=kind,
        working=float(sum(each.working for each in sessions)),
        reading=float(sum(each.working and each.reading for each in sessions)),
        inside=float(len(inside)),
        inside_seconds=sum(each.began for each in inside),
        between=tuple(float(len(each)) for each in between),
        between_seconds=tuple(sum(each) for each in between),
        oldest_seconds=max((each.began for each in inside), default=0.0),
    )


def sessions_of(looks: Iterable[KindLook]) -> tuple[float, ...]:
    """What ``Population.total`` wants, where an engine is asked for kinds alone and hides no session."""
    known = list(looks)
    working = sum(each.working for each in known)
    inside = sum(each.inside for each in known) - working
    idle = [inside + sum(each.between[at] for each in known) for at in range(len(IDLE_SECONDS))]
    return (working, *idle, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCounters:
    """What one session has done so far, where the engine counts it. Seconds."""

    name: str  # the same in each sample, and of no later session
    kind: str
    thinking: float  # waiting for its client
    working: float
    reading: float  # of these, waiting for reads
    done: float  # transactions, or what is counted as such

    def since(self, before: SessionCounters | None) -> SessionCounters:
        """What it has done since then; all of it where it was not there yet."""
        if before is None:
            return self
        return SessionCounters(
            name=self.name, kind=self.kind, thinking=self.thinking - before.thinking,
            working=self.working - before.working, reading=self.reading - before.reading, done=self.done - before.done,
        )  # fmt: skip


LEAST_READ_SECONDS = 1.0  # of all sessions: before that much, who reads is chance


class CountedSessions:
    """Sessions in use and what readers have of them, by counters of each in place of looks."""

    def __init__(self) -> None:
        self._before: dict[str, SessionCounters] = {}
        self._at = nan
        self._counted: Mapping[str, float] = {}
        self._reading: dict[str, float] = {}  # seconds by kind, older ones fading
        self._population = 0.0
        self._readers = {"readers_seconds": 0.0, "readers_active_seconds": 0.0, "readers_transactions": 0.0}

    def total(self, sessions: Sequence[SessionCounters], counted: Mapping[str, float], at: float) -> dict[str, float]:
        """The figures of one sample by their names in ``Sample.database``.

        A session takes part if it worked, and paused between two transactions for no longer than ``Population`` allows.

        Args:
            sessions: all that are there.
            counted: of the database so far: ``active_seconds`` and ``transactions``, and others.
            at: seconds of the monotonic clock.
        """
        seconds, self._at = at - self._at, at
        passed = {name: max(0.0, total - self._counted.get(name, total)) for name, total in counted.items()}
        self._counted = dict(counted)
        done = [each.since(self._before.get(each.name)) for each in sessions]
        self._before = {each.name: each for each in sessions}
        if seconds > 0:  # NaN at first
            self._add(done, passed, seconds)
        known = sum(self._reading.values()) >= LEAST_READ_SECONDS
        return {"population_seconds": self._population, **(self._readers if known else {})}

    def _add(self, done: Sequence[SessionCounters], passed: Mapping[str, float], seconds: float) -> None:
        pauses = [(each, each.thinking / each.done if each.done > 0 else 0.0) for each in done if each.working > 0]
        idle = [float(sum(pause < longest for _, pause in pauses)) for longest in IDLE_SECONDS]
        longest = IDLE_SECONDS[longest_idle(0.0, idle, passed["transactions"] / seconds)]
        used = [each for each, pause in pauses if pause < longest]
        self._population += len(used) * seconds
        for kind in self._reading:
            self._reading[kind] *= 0.5 ** (1 / LOOKS)
        for each in used:
            self._reading[each.kind] = self._reading.get(each.kind, 0.0) + max(0.0, each.reading)
        self._reading = {kind: read for kind, read in self._reading.items() if read > GONE}
        readers = {kind for kind, read in self._reading.items() if read >= LEAST_SHARE * sum(self._reading.values())}
        for name, whole, parts in (
            ("readers_seconds", len(used) * seconds, [(each.kind, 1.0) for each in used]),
            ("readers_active_seconds", passed["active_seconds"], [(each.kind, each.working) for each in done]),
            ("readers_transactions", passed["transactions"], [(each.kind, each.done) for each in done]),
        ):
            self._readers[name] += whole * _share(parts, readers)


class ShareOfServer:
    """Adds up what one database has of a counter of its whole server, by where sessions were seen at work."""

    def __init__(self) -> None:
        self._here = self._anywhere = 0.0  # sessions at work, older looks fading
        self._before = nan
        self._total = 0.0

    def total(self, counter: float, here: float, elsewhere: float, *, alone: bool) -> float:
        """The database's part of the counter so far; NaN while too little was seen to tell it.

        Args:
            counter: of the server, so far.
            here: sessions at work for this database.
            elsewhere: for others.
            alone: no session is connected to any other.
        """
        fades = 0.5 ** (1 / LOOKS)
        self._here, self._anywhere = self._here * fades + here, self._anywhere * fades + here + elsewhere
        passed, self._before = counter - self._before, counter
        known = alone or self._anywhere >= LEAST_SEEN
        if passed >= 0 and known:  # NaN at first
            self._total += passed * (self._here / self._anywhere if self._anywhere > 0 and not alone else 1.0)
        return self._total if known else nan


class SessionKinds:
    """Adds up what readers have of sessions, of their time at work and of transactions, like any other counter."""

    def __init__(self, *, fine: bool = True) -> None:
        """Begin with nothing seen; ``fine``: the engine tells how long ago in less than seconds, so rates show."""
        self._seen: dict[str, _Seen] = {}
        self._before: Mapping[str, float] = {}
        self._totals = {"readers_seconds": 0.0, "readers_active_seconds": 0.0}
        if fine:
            self._totals["readers_transactions"] = 0.0

    def total(self, looks: Sequence[KindLook], idle: int, counted: Mapping[str, float]) -> dict[str, float]:
        """The figures of one sample by their names in ``Sample.database``; none where it is not known who reads.

        Args:
            looks: each kind that is there.
            idle: which of ``IDLE_SECONDS`` a session that is in use may be between two transactions for.
            counted: of all sessions, so far: ``population_seconds``, ``active_seconds``, ``transactions``, and others.
        """
        if not looks or "population_seconds" not in counted:
            return {}
        self._see(looks, idle)
        passed = {name: max(0.0, total - self._before.get(name, total)) for name, total in counted.items()}
        self._before = dict(counted)
        seen = sum(each.reading for each in self._seen.values())
        if seen < LEAST_SEEN:
            return {}
        readers = {kind for kind, each in self._seen.items() if each.reading >= LEAST_SHARE * seen}
        shares = {
            "readers_seconds": ("population_seconds", [(each.kind, _in_use(each, idle)) for each in looks]),
            "readers_active_seconds": ("active_seconds", [(each.kind, each.working) for each in looks]),
            "readers_transactions": (
                "transactions", [(kind, each.per_second()) for kind, each in self._seen.items()],
            ),
        }  # fmt: skip
        for name in self._totals:
            whole, parts = shares[name]
            self._totals[name] += passed[whole] * _share(parts, readers)
        return dict(self._totals)

    def _see(self, looks: Iterable[KindLook], idle: int) -> None:
        for each in self._seen.values():
            each.fade(0.5 ** (1 / LOOKS))
        for look in looks:
            seen = self._seen.setdefault(look.kind, _Seen())
            seen.reading += look.reading
            seen.inside += look.inside
            seen.inside_seconds += look.inside_seconds
            seen.between += look.between[idle]
            seen.between_seconds += look.between_seconds[idle]
        # Names of applications may be made up for each session.
        self._seen = {kind: each for kind, each in self._seen.items() if each.inside + each.between > GONE}


def _in_use(look: KindLook, idle: int) -> float:
    return look.inside + look.between[idle]


def _share(parts: Iterable[tuple[str, float]], readers: set[str]) -> float:
    """Of the readers in a sum; all of it where there is none: no one else did anything either."""
    known = list(parts)
    total = sum(part for _, part in known)
    return sum(part for kind, part in known if kind in readers) / total if total > 0 else 1.0


def _mean(total: float, count: float) -> float:
    return total / count if count > 0 else 0.0
