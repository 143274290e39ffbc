"""What other sessions saw of the moves: the strongest lock of each way, and whether reads and writes went on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from agent.ledger import MoveRow
from agent.model.states import CARRIED_OUT
from agent.prove.bench import Bench
from agent.prove.claims import Findings
from agent.prove.witness import Probe, SeenLock, Witness
from connectors.formatting import format_seconds
from connectors.move_effects import Locked
from connectors.proving.proof import Case

LONG_SECONDS = 1.0  # a statement of another session that takes so long was held up
WHO_WAITS: dict[Locked | None, str] = {
    Locked.ALL: "all others",
    Locked.WRITES: "writers",
}  # for a way that locks like this; else some


@dataclass(frozen=True, slots=True)
class Window:
    """While the statements of one move ran."""

    row: MoveRow
    began: datetime
    ended: datetime

    @property
    def seconds(self) -> float:
        """How long that was."""
        return (self.ended - self.began).total_seconds()


def windows(bench: Bench) -> Iterator[Window]:
    """Of each move of this proof that was carried out, by the journal."""
    for row in (row for number in bench.proposals for row in bench.rows(number) if row.state in CARRIED_OUT):
        steps = [step for step in bench.ledger.moves.steps(row.id) if step.ended_at is not None]
        if steps:
            yield Window(row, steps[0].intended_at, max(step.ended_at for step in steps if step.ended_at))


def judge_locks(findings: Findings, witness: Witness, bench: Bench) -> None:
    """Hold the strongest lock that was seen on the case's units against the words of the route; no move, no finding."""
    if not any(windows(bench)):
        return
    strongest: dict[str, tuple[SeenLock, Window]] = {}
    for window in windows(bench):
        case = bench.case_of(window.row.move.key)
        for lock in _within(witness.locks, window):
            if case is None or not belongs(case, lock.relation):
                continue
            name = window.row.move.route.name
            if name not in strongest or lock.rank > strongest[name][0].rank:
                strongest[name] = lock, window
    for name in bench.proof.routes:
        if name not in strongest:
            why = witness.fault or "every move was over before another session looked"
            findings.note_not_tried(f"lock {name}", why)
            continue
        lock, window = strongest[name]
        words = f"{lock.mode} on {lock.relation} while {window.row.move.key} moved"
        named = is_named(lock.mode, window.row.move.route.locks)
        (findings.note_seen if named else findings.note_contradiction)(f"lock {name}", words)


def belongs(case: Case, relation: str) -> bool:
    """Whether a relation is a unit of the case, or the table of one.

    >>> case = Case(name="", sentence="", purpose="", units={"[s].[t].[i] partition 1": "index partition"})
    >>> belongs(case, "[s].[t]"), belongs(case, "[s].[u]")
    (True, False)
    """
    return any(key == relation or key.startswith((f"{relation}.", f"{relation} ")) for key in case.units)


def is_named(mode: str, locks: str) -> bool:
    """Whether the words of a route begin with that mode or name it as one that comes later.

    >>> words = "IS on the table while it is built, Sch-M for a moment at the end; waits at most 10 s"
    >>> is_named("IS", words), is_named("Sch-M", words), is_named("S", words), is_named("X", words)
    (True, True, False, False)
    """
    return re.search(rf"(?:^|[,;] ){re.escape(mode)} (?:on|for) ", locks) is not None


def _within(locks: list[SeenLock], window: Window) -> Iterator[SeenLock]:
    return (lock for lock in locks if window.began <= lock.at <= window.ended)


def judge_others(findings: Findings, witness: Witness, bench: Bench) -> None:
    """Hold what reads and writes took meanwhile against what each way says of others; no move, no finding."""
    if not any(windows(bench)):
        return
    by_name: dict[str, list[tuple[Window, list[Probe]]]] = {}
    for window in windows(bench):
        if met := _overlapping(witness.probes, window):
            by_name.setdefault(window.row.move.route.name, []).append((window, met))
    for name in bench.proof.routes:
        moves = by_name.get(name, [])
        if not moves:
            findings.note_not_tried(f"online {name}", "every move was over before another session asked")
        elif moves[0][0].row.move.route.online:
            _judge_online(findings, name, moves)
        else:
            _judge_waiting(findings, name, moves)


def _overlapping(probes: list[Probe], window: Window) -> list[Probe]:
    return [each for each in probes if each.began < window.ended and each.ended > window.began]


def _judge_online(findings: Findings, name: str, met: list[tuple[Window, list[Probe]]]) -> None:
    """Reads and writes have to end while it runs, and none may take long or fail."""
    probes = _probes(met)
    # Only what began and ended while the move ran shows that others went on; one that merely overlaps may have waited
    # for its end.
    within = sum(window.began <= probe.began and probe.ended <= window.ended for window, some in met for probe in some)
    longest, failed = max(probe.seconds for probe in probes), _first_error(probes)
    words = f"{within} reads and writes ended while it ran, the longest took {format_seconds(longest)}"
    if failed or longest > LONG_SECONDS:
        findings.note_contradiction(f"online {name}", f"{words}; {failed}".rstrip("; "))
    elif within:
        findings.note_seen(f"online {name}", words)
    else:
        findings.note_not_tried(f"online {name}", "every move was over before another session's statement ended")


def _judge_waiting(findings: Findings, name: str, met: list[tuple[Window, list[Probe]]]) -> None:
    """Others may be held up, but no longer than the statement of the move takes."""
    probes = _probes(met)
    failed = _first_error(probes)
    late = any(probe.seconds > window.seconds + LONG_SECONDS for window, some in met for probe in some)
    longest = max(probe.seconds for probe in probes)
    who = WHO_WAITS.get(met[0][0].row.move.route.locked, "some")
    words = f"{who} wait: the longest read or write took {format_seconds(longest)}"
    if failed or late:
        findings.note_contradiction(f"online {name}", f"{words}; {failed}".rstrip("; "))
    else:
        findings.note_seen(f"online {name}", words)


def _probes(met: list[tuple[Window, list[Probe]]]) -> list[Probe]:
    """Of all moves together."""
    return [probe for _, some in met for probe in some]


def _first_error(probes: list[Probe]) -> str:
    return next((probe.error for probe in probes if probe.error), "")
