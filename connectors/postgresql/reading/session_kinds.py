"""Which sessions wait for reads, and what part of the work is theirs, from looks at what each session does.

Sessions of one role under one application name are of one kind. The server counts neither transactions nor waits by
kind, so both are estimated from looks. A kind is one of readers if a fair part of the sessions that were seen waiting
for a read were its own. How often its sessions come round follows from how long ago they began what they are doing: a
look finds a pause or a transaction half over on average, and more than half if lengths vary. That factor cancels, as
far as the lengths of both kinds vary alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

LEAST_SEEN = 20.0  # sessions waiting for reads: before that many, who reads is chance
LEAST_SHARE = 0.05  # of them, to be a kind of readers
LOOKS = 1000  # after which what was seen counts half
GONE = 0.01  # of a session seen: a kind of which so little is left is forgotten


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

    @classmethod
    def of_row(cls, row: Sequence[float | str]) -> KindLook:
        """A row of ``sql/session_kinds.sql``."""
        kind, *figures = row
        working, reading, inside, inside_seconds, *rest = map(float, figures)
        return cls(
            kind=str(kind), working=working, reading=reading, inside=inside, inside_seconds=inside_seconds,
            between=tuple(rest[0::2]), between_seconds=tuple(rest[1::2]),
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


class SessionKinds:
    """Adds up what readers have of sessions, of their time at work and of transactions, like any other counter."""

    def __init__(self) -> None:
        self._seen: dict[str, _Seen] = {}
        self._before: Mapping[str, float] = {}
        self._totals = {"readers_seconds": 0.0, "readers_active_seconds": 0.0, "readers_transactions": 0.0}

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
        for name, (whole, parts) in shares.items():
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
    """Of the readers in a sum; all of it where there is none: nobody else did anything either."""
    known = list(parts)
    total = sum(part for _, part in known)
    return sum(part for kind, part in known if kind in readers) / total if total > 0 else 1.0


def _mean(total: float, count: float) -> float:
    return total / count if count > 0 else 0.0
