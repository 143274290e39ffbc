"""Logs, temporary and undo space judged by their own measured waits: a faster device, one of its own, or as it is."""

from __future__ import annotations

from collections.abc import Iterator

from connectors.formatting import format_bytes, format_seconds
from connectors.model import DatabaseDemand
from connectors.storage_io import Role, RoleFigures
from policies.benefit.prices import HOUR
from policies.model.plan import Advice, AdviceCode, PolicySettings, Situation, TierSpeed

NOTICEABLE = 0.05  # share of session time; waits below it need no action
BEST_HALF = 0.5  # a device that halves a wait is worth naming
TINY = 1e-12


def is_measured(figures: RoleFigures) -> bool:
    """Whether the time that sessions wait for it is measured."""
    return figures.waited_seconds >= 0 or (figures.writes > 0 and figures.write_seconds >= 0)


def waited_seconds(figures: RoleFigures) -> float:
    """Seconds per second that sessions wait for it; where the engine does not count those, that writes took."""
    return figures.waited_seconds if figures.waited_seconds >= 0 else figures.write_seconds


def own_waits(figures: RoleFigures, database: DatabaseDemand) -> float:
    """Seconds per second that sessions of this database wait for it; 0 where it is not measured.

    The waits for one that serves other databases too are shared out by the time that sessions spend executing.
    """
    if not is_measured(figures):
        return 0.0
    others = figures.active_seconds
    return waited_seconds(figures) * (
        min(1.0, database.active / others) if others > 0 and database.active >= 0 else 1.0
    )


def advice_of_roles(situation: Situation, settings: PolicySettings) -> Iterator[Advice]:
    """Advice on each log, temporary and undo space that is worth any."""
    for figures in situation.roles:
        if is_measured(figures):
            yield _role(figures, situation, settings)
        elif figures.note and _may_matter(figures, situation, settings):
            yield _untimed_advice(figures)


def _may_matter(figures: RoleFigures, situation: Situation, settings: PolicySettings) -> bool:
    """Whether sessions could lose more than the floor, were each block of it an I/O on the slowest tier."""
    slowest = max(tier.speed.random_read_seconds + tier.speed.write_seconds for tier in situation.tiers)
    blocks = figures.written_bytes / settings.block_bytes
    most = max((count for count in (blocks, figures.reads, figures.writes) if count > 0), default=0.0)
    return most * slowest * HOUR > settings.minimum_wait_saved_per_hour


def _untimed_advice(figures: RoleFigures) -> Advice:
    """It is used, but its waits are not measured: the advice says that, and no more."""
    written = figures.written_bytes
    much = f", {format_bytes(round(written))}/s written," if written > 0 else ""
    return Advice(
        code=AdviceCode.UNKNOWN,
        subject=figures.name,
        sentence=f"{_what(figures)} is used{much} and how long sessions wait for it is not known: {figures.note}.",
        saves_per_hour=0.0,
    )


def _role(figures: RoleFigures, situation: Situation, settings: PolicySettings) -> Advice:
    """A log, temporary or undo space by its own waits: a faster device, one of its own, or as it is."""
    waited = waited_seconds(figures)
    if waited * HOUR < settings.minimum_wait_saved_per_hour or not _is_noticeable(figures, situation):
        return _leave_advice(figures, situation)
    waits = f"{_what(figures)}: sessions wait {format_seconds(waited * HOUR)} per hour for it"
    note = f" ({figures.note})" if figures.note else ""
    best = min(situation.tiers, key=lambda tier: tier.speed.write_seconds)
    spared = _spared_share(figures, best.speed)
    if spared > BEST_HALF:
        saves = waited * HOUR * spared
        return Advice(
            code=AdviceCode.FASTER_DEVICE,
            subject=figures.name,
            sentence=f"{waits}, {_latencies(figures)}; {best.name} would save about {format_seconds(saves)} per hour, "
            f"with {format_seconds(best.speed.write_seconds)} a write{note}.",
            saves_per_hour=saves,
        )
    return Advice(
        code=AdviceCode.OWN_DEVICE,
        subject=figures.name,
        sentence=f"{waits}, and no tier is known to serve it much faster than it is served now; give it a device that "
        f"it does not share{note}.",
        saves_per_hour=0.0,
    )


def _is_noticeable(figures: RoleFigures, situation: Situation) -> bool:
    share, _ = _share(figures, situation)
    return share >= NOTICEABLE


def _leave_advice(figures: RoleFigures, situation: Situation) -> Advice:
    share, of = _share(figures, situation)
    note = f" ({figures.note})" if figures.note else ""
    return Advice(
        code=AdviceCode.LEAVE,
        subject=figures.name,
        sentence=f"{_what(figures)} is best left where it is: sessions spend {share:.1%} of {of} waiting for it{note}.",
        saves_per_hour=0.0,
    )


def _share(figures: RoleFigures, situation: Situation) -> tuple[float, str]:
    """The share of session time that the waits are, and of whose; of all waits where session time is not known."""
    waited, database = waited_seconds(figures), situation.database
    if figures.active_seconds == figures.active_seconds:
        return waited / max(figures.active_seconds, waited, TINY), "the time of all sessions that it serves"
    if database.active == database.active:
        return waited / max(database.active, waited, TINY), "their time"
    others = sum(wait for wait in (database.read_wait, database.write_wait) if wait >= 0)
    return waited / max(waited + others, TINY), "all that they are known to wait for storage"


def _spared_share(figures: RoleFigures, speed: TierSpeed) -> float:
    """Share of the waits that a device of that speed would spare, by the mean times of reads and writes."""
    kinds = (
        (figures.reads, figures.read_seconds, speed.random_read_seconds),
        (figures.writes, figures.write_seconds, speed.write_seconds),
    )
    known = [(seconds, count * there) for count, seconds, there in kinds if count > 0 and seconds > 0]
    now = sum(seconds for seconds, _ in known)
    # Kind by kind the better of now and then: a tier that reads faster and writes slower must not be charged for writes
    # that would stay where they are.
    return 1.0 - sum(min(seconds, then) for seconds, then in known) / now if now > 0 else 0.0


def _what(figures: RoleFigures) -> str:
    word = _WORDS[figures.role]
    return word if figures.name in word else f"{word} ({figures.name})"


_WORDS = {Role.LOG: "the log", Role.TEMP: "the temporary space", Role.UNDO: "the undo space"}


def _latencies(figures: RoleFigures) -> str:
    kinds = ((figures.reads, figures.read_seconds, "a read"), (figures.writes, figures.write_seconds, "a write"))
    means = [f"{format_seconds(seconds / count)} {word}" for count, seconds, word in kinds if count > 0 and seconds > 0]
    return ", ".join(means)
