"""How each database of a fleet stands, and which need a person first. Pure: no ledger, no clock."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum, StrEnum

from agent.config import STALE_SAMPLES
from agent.fleet.worth import ProposalHead
from agent.ledger.fleet.overview import AgentRow
from agent.model.states import TO_BEGIN, UNFINISHED, MoveState, ProposalState

USUAL_SAMPLE_SECONDS = 60.0  # of an agent that does not say how often it samples


class Heartbeat(StrEnum):
    """Whether the agent of a database is heard of."""

    HEARD = "heard"
    SILENT = "silent"  # for longer than a few samples take
    NEVER = "never"


class Need(IntEnum):
    """What a database needs a person for, the most urgent first."""

    UNTRUSTED = 1  # the ledger does not agree with itself
    LEFT_WORSE = 2  # a group ended halfway
    SILENT = 3  # no agent is heard of
    FAILING = 4  # its last sample failed
    DECISION = 5  # a proposal waits
    NOTHING = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One database in the view of all."""

    database: str
    engine: str  # "": no agent ever said
    heartbeat: Heartbeat
    heard_at: datetime | None
    needs: Need
    why: str  # one sentence; "" where nothing is needed
    undecided: int  # proposals that wait for a decision
    undecided_saved_per_hour: float  # wait seconds that they would save
    waiting_moves: int  # approved, not begun
    running_moves: int
    tiers: Mapping[str, tuple[int, int]]  # name -> bytes used and free, as far as they are known


def standings(
    agents: Iterable[AgentRow],
    heads: Iterable[ProposalHead],
    moves: Mapping[str, Mapping[MoveState, int]],
    now: datetime,
) -> list[Standing]:
    """Every database, what needs a person first, and of equal needs what is worth most.

    Args:
        agents: of all databases.
        heads: of their open proposals.
        moves: how many of each database are in which state, of those under way.
        now: the present time.
    """
    open_heads: dict[str, list[ProposalHead]] = {}
    for head in heads:
        if head.state is ProposalState.PROPOSED:
            open_heads.setdefault(head.database, []).append(head)
    found = [_standing(row, open_heads.get(row.database, ()), moves.get(row.database, {}), now) for row in agents]
    return sorted(found, key=lambda each: (each.needs, -each.undecided_saved_per_hour, each.database))


def heartbeat_of(row: AgentRow, now: datetime) -> Heartbeat:
    """Whether an agent is heard of: it writes at each sample."""
    if row.heard_at is None:
        return Heartbeat.NEVER
    age = (now - row.heard_at).total_seconds()
    every = float(row.status.get("sample_seconds") or USUAL_SAMPLE_SECONDS)
    return Heartbeat.HEARD if age <= STALE_SAMPLES * max(every, 1.0) else Heartbeat.SILENT


def _standing(
    row: AgentRow, undecided: Sequence[ProposalHead], moves: Mapping[MoveState, int], now: datetime
) -> Standing:
    heartbeat = heartbeat_of(row, now)
    needs, why = _need(row, heartbeat, len(undecided))
    return Standing(
        database=row.database,
        engine=str(row.status.get("engine") or ""),
        heartbeat=heartbeat,
        heard_at=row.heard_at,
        needs=needs,
        why=why,
        undecided=len(undecided),
        undecided_saved_per_hour=math.fsum(head.saved_per_hour for head in undecided),
        waiting_moves=sum(number for state, number in moves.items() if state in TO_BEGIN),
        running_moves=sum(number for state, number in moves.items() if state in UNFINISHED - TO_BEGIN),
        tiers=_tiers(row),
    )


def _need(row: AgentRow, heartbeat: Heartbeat, undecided: int) -> tuple[Need, str]:
    """The most urgent need, and why."""
    if row.status.get("untrusted"):
        return Need.UNTRUSTED, str(row.status["untrusted"])
    if row.left_worse:
        return Need.LEFT_WORSE, f"worse than before: {row.left_worse[0]}"
    if heartbeat is Heartbeat.NEVER:
        return Need.SILENT, "no agent has ever watched it"
    if heartbeat is Heartbeat.SILENT:
        return Need.SILENT, f"its agent on {row.status.get('host')} is silent"
    if row.status.get("error"):
        return Need.FAILING, f"its last sample failed: {row.status['error']}"
    if undecided:
        return Need.DECISION, "1 proposal waits" if undecided == 1 else f"{undecided} proposals wait"
    return Need.NOTHING, ""


def _tiers(row: AgentRow) -> dict[str, tuple[int, int]]:
    """Used and free bytes by tier; spaces whose room is not known are left out."""
    found: dict[str, tuple[int, int]] = {}
    for space in row.status.get("spaces") or ():
        if space["tier"] is None or space["used_bytes"] is None or space["free_bytes"] is None:
            continue
        used, free = found.get(space["tier"], (0, 0))
        found[space["tier"]] = used + space["used_bytes"], free + space["free_bytes"]
    return found


def count_heartbeats(found: Iterable[Standing]) -> Counter[Heartbeat]:
    """How many databases are heard of, silent, or never were."""
    return Counter(each.heartbeat for each in found)
