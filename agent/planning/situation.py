"""What a plan may depend on: the picture, pins, past moves, and proposals that wait.

What waits for a decision: which questions people have asked, and which proposals have nothing left to do.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Protocol

import numpy as np

from agent.config.models import DatabaseConfig
from agent.ledger.ledger import Ledger
from agent.ledger.rows import ProposalRow, for_a_person
from agent.model.outcomes import Outcome
from agent.model.proposals import Proposal, ProposedMove
from agent.model.states import IN_HAND, MoveState, ProposalState
from agent.model.units_of_measure import format_when
from agent.planning.allowance import expiry_of, limits_of
from agent.planning.full_spaces import with_full_spaces
from agent.sampling.experience import keys_that_gave_way
from agent.sampling.picture import Picture
from agent.sampling.prediction_errors import past_predictions
from connectors.model.moves import find_container, key_matcher
from connectors.model.observation import F64, I8, I64, NO_WIDE, Catalog, Space, UnitTable
from policies.evidence.capacity import room_bytes, with_growth, with_reserved
from policies.evidence.prices import cool_down_left, copies_caused, may_return, owed_seconds, with_bounded_waits
from policies.evidence.workload import CLOSED, OPEN, UNKNOWN, load_by_hours, paced_by_hours
from policies.model.confidence import OUTCOMES, Foretold, PastForecast
from policies.model.moves import MoveReason, learn_errors
from policies.model.plan import Situation
from policies.model.settings import Pin, PolicySettings
from policies.placement.balancer import TOLERATED

LIMIT_OUTCOMES = 5  # that are looked through for a limit which is no tier's, and for who asks
NOTED_RATIO = 0.1  # by which the time outside reads must have grown
SHORTER = 0.7  # times the latency before: below it a closed load would notice
CLEARLY_MORE, AS_MANY = 1.25, 1.1  # times the throughput before
HOURS_SECONDS = 7 * 86400.0  # in whose hours a load shows what it is
LONGEST_AHEAD_SECONDS = 14 * 86400.0  # no growth is forecast for longer


class PinRule(Protocol):
    """A pin, from the configuration or from the ledger."""

    @property
    def pattern(self) -> str:
        """A unit's key, or a glob over keys."""
        ...

    @property
    def pin(self) -> Pin:
        """What is wanted of the units that match."""
        ...


def pins_of(database: DatabaseConfig, ledger: Ledger, now: datetime) -> tuple[PinRule, ...]:
    """Pins of the configuration, then those set by hand; a later one overrules an earlier one."""
    return (*database.pins, *ledger.pins.rows(database.name, now))


def situation_of(
    picture: Picture, database: DatabaseConfig, ledger: Ledger, settings: PolicySettings, now: datetime
) -> Situation:
    """Everything a plan may depend on, put together from the picture, the pins and the record of past moves."""
    units, tier_of_space = picture.catalog.units, picture.storage.tier_of_space
    found = with_full_spaces(picture.storage.spaces, ledger, database, now)
    spaces, growth = _without_closed_spaces(found, ledger, database.name), None
    ahead = seconds_to_next_plan(database, now)
    if picture.growth is not None and picture.growth.rate.any():
        growth = picture.growth.within(ahead)
        spaces = with_growth(spaces, units, growth)
    cooling, owed = np.zeros(len(units)), None
    moved = ledger.moves.last_moved(database.name)
    came_up = tier_of_space[units.space] == 0
    series = np.zeros(len(units), dtype=np.bool_) if picture.in_series is None else picture.in_series
    if moved:
        since = _seconds_since(units.key, moved, now)
        earned = np.zeros(len(units)) if picture.earned is None else picture.earned
        lately = now - timedelta(seconds=settings.cool_down_seconds)
        sent = ledger.moves.sent_statements(database.name, lately)
        gave_way = np.zeros(len(units), dtype=np.bool_)
        gave_way[list(rows_of_keys(units.key, keys_that_gave_way(sent)).values())] = True
        free = may_return(gave_way, series)
        # What may not come back for its heat does so for room, as what left for growth.
        left = np.array([*rows_of_keys(units.key, keys_that_gave_way(sent, MoveReason.GROWTH)).values()], np.int64)
        left = np.union1d(left, np.flatnonzero(gave_way & ~free))
        upper = [space for space, tier in zip(spaces, tier_of_space, strict=True) if tier == 0]
        free[left] = _is_room_for(left, units, growth, upper, settings)
        cooling = cool_down_left(
            since, earned, came_up, free, units.size_bytes, picture.work, settings, picture.dearest
        )
        owed = owed_seconds(earned, came_up, series, units.size_bytes, picture.work, settings)
    outcomes = [row.outcome for row in ledger.moves.outcomes(database=database.name, limit=OUTCOMES)]
    work = ledger.work.between(database.name, now - timedelta(seconds=HOURS_SECONDS), None)
    situation = Situation(
        units=units,
        heat=picture.heat,
        spaces=spaces,
        growth=growth,
        growth_rate=None if growth is None or picture.growth is None else picture.growth.rate,
        growth_seen=None if growth is None or picture.growth is None else picture.growth.seen,
        growth_seconds=ahead,
        tiers=picture.storage.tiers,
        tier_of_space=tier_of_space,
        pin=pin_column(units.key, pins_of(database, ledger, now)),
        cooling_seconds=cooling,
        owed_seconds=owed,
        copies_caused=copies_caused(series, came_up, units.size_bytes, picture.between_births),
        database=picture.work,
        roles=picture.roles,
        sessions=picture.sessions,
        elsewhere_alone=elsewhere_alone(outcomes[:LIMIT_OUTCOMES]),
        load=load_by_outcomes(outcomes[:LIMIT_OUTCOMES]) or load_by_hours(work),
        paced=paced_by_hours(work, settings.certainty),
        prediction_errors=learn_errors(each.residual for each in past_predictions(ledger, database.name)),
        past_forecasts=past_forecasts(outcomes),
    )
    return with_bounded_waits(_without_the_stuck(situation), settings)


def _without_the_stuck(situation: Situation) -> Situation:
    """The situation with what cannot leave its space said: no other space of a tier is of its domain."""
    spaces, tiers = situation.spaces, situation.tier_of_space.tolist()
    if len({space.domain for space in spaces}) < 2:
        return situation
    managed = Counter(space.domain for space, tier in zip(spaces, tiers, strict=True) if tier >= 0)
    stuck = {
        row: f"units stay in {space.domain or 'their storage'}, and {space.name} is its only space in any tier"
        for row, space in enumerate(spaces)
        if tiers[row] >= 0 and managed[space.domain] == 1
    }
    units = situation.units
    rows = np.flatnonzero(np.isin(units.space, list(stuck))).tolist()
    found = {units.key[at]: stuck[int(units.space[at])] for at in rows}
    return replace(situation, no_route={**situation.no_route, **found})


def _is_room_for(
    rows: I64, units: UnitTable, growth: I64 | None, spaces: Iterable[Space], settings: PolicySettings
) -> bool:
    """Whether what left for growth may come back, all of it: half of the head-room has to be free besides.

    As much as growth may take before something leaves: with less they would leave again with the next plan.
    """
    needed = int(units.size_bytes[rows].sum()) + (0 if growth is None else int(growth[rows].sum()))
    rooms = [room_bytes(space, settings.head_room_ratio * (1.0 + TOLERATED)) for space in spaces]
    return all(room is not None for room in rooms) and sum(room or 0 for room in rooms) >= needed


def elsewhere_alone(outcomes: Iterable[Outcome]) -> float:
    """Seconds that a transaction spent outside reads before moves after which something else held sessions up.

    That is so where less got done than the forecast's interval allows, although sessions waited for reads as little as
    they did: the rest of their time grew.

    Args:
        outcomes: the newest first.

    Returns:
        The least of them; NaN where none says so.
    """
    found = []
    for outcome in outcomes:
        rest = outcome.latency_before - outcome.wait_per_transaction_before
        longer = outcome.latency_after - outcome.wait_per_transaction_after > rest * (1 + NOTED_RATIO)
        short = outcome.transactions_per_second_after < outcome.predicted_transactions_per_second_low
        if outcome.measured and not outcome.undo and short and longer and rest > 0:
            found.append(rest)
    return min(found, default=math.nan)


def past_forecasts(outcomes: Iterable[Outcome]) -> tuple[PastForecast, ...]:
    """Forecasts of throughput and latency next to what came.

    An undo is no forecast's outcome, nor is what came of several proposals' moves together.
    """
    return tuple(
        PastForecast(
            rate=Foretold(
                before=outcome.transactions_per_second_before,
                said=outcome.predicted_transactions_per_second,
                came=outcome.transactions_per_second_after,
            ),
            latency=Foretold(before=outcome.latency_before, said=outcome.predicted_latency, came=outcome.latency_after),
        )
        for outcome in outcomes
        if outcome.measured and not outcome.undo and outcome.joint_share == 1.0
    )


def load_by_outcomes(outcomes: Iterable[Outcome]) -> str:
    """Whether a load is closed or open, by what moves did to it: an experiment, where hours only have happened so.

    Sessions that wait less show who asks. If clearly more gets done, they had waited for answers before they asked
    again. If no more gets done, although a closed load was forecast to, work arrives independently.

    Args:
        outcomes: the newest first.

    Returns:
        By the newest that tells; ``UNKNOWN`` where none does.
    """
    for outcome in outcomes:
        before, after = outcome.transactions_per_second_before, outcome.transactions_per_second_after
        if not outcome.measured or outcome.undo or not outcome.latency_after <= SHORTER * outcome.latency_before:
            continue
        if after >= CLEARLY_MORE * before:
            return CLOSED
        if after <= AS_MANY * before and outcome.predicted_transactions_per_second_low >= CLEARLY_MORE * before:
            return OPEN
    return UNKNOWN


def seconds_to_next_plan(database: DatabaseConfig, now: datetime) -> float:
    """How long what this plan leaves in a tier may grow before the moves of the next plan can relieve it.

    The next one is made an interval later, and acts before its approval ends. Until this one is approved it is replaced
    by such that know of more growth.
    """
    made = now + timedelta(seconds=database.plan_seconds)
    ends = expiry_of(limits_of(database), made, timedelta(seconds=database.proposal_expires_seconds))
    return min(LONGEST_AHEAD_SECONDS, (ends - now).total_seconds())


def _without_closed_spaces(spaces: tuple[Space, ...], ledger: Ledger, database: str) -> tuple[Space, ...]:
    """The spaces, those closed to arrivals or lost with their room unknown: to the policies such a space is no target.

    What is under a space is left out: no policy asks, and situations are stored.
    """
    closed = {row.space for row in ledger.arrivals.rows(database)}
    bare = (replace(space, containers=()) for space in spaces)
    return tuple(
        replace(space, free_bytes=None, capacity_bytes=None) if space.name in closed or space.lost else space
        for space in bare
    )


def with_rest(
    situation: Situation, database: DatabaseConfig, ledger: Ledger, settings: PolicySettings, now: datetime
) -> Situation:
    """The situation with what could not be moved lately resting too: tried again at once, it would fail again."""
    since = now - timedelta(seconds=settings.cool_down_seconds)
    failed = ledger.moves.rows(database=database.name, states={MoveState.FAILED}, since=since)
    instants = {key: row.updated_at for row in failed for key in row.move.route.bundle.unit_keys}
    if not instants:
        return situation
    resting = settings.cool_down_seconds - _seconds_since(situation.units.key, instants, now)
    owed = situation.owed_seconds
    return replace(
        situation, cooling_seconds=np.maximum(situation.cooling_seconds, resting),
        owed_seconds=None if owed is None else np.where(resting > 0, np.inf, owed),
    )  # fmt: skip


def around_people(situation: Situation, database: DatabaseConfig, ledger: Ledger) -> Situation:
    """The situation without what a person carries out: those units stay in this plan, and their targets keep room.

    Their sources have no more room than now, as nobody knows when they leave.
    """
    handed = for_a_person(ledger.moves.rows(database=database.name, states=IN_HAND))
    if not handed:
        return situation
    units, no_route, no_wide = situation.units, dict(situation.no_route), dict(situation.no_wide)
    taken: dict[str, int] = {}
    for row in handed:
        move = row.move
        taken[move.to_space] = taken.get(move.to_space, 0) + move.size_bytes + move.route.transient_bytes
        until = format_when(row.expires_at)
        why = f"a person is to bring it to {move.to_space} (move {row.id}), which hotplace looks for until {until}"
        rows = rows_of_keys(units.key, set(move.route.bundle.unit_keys)).values()
        no_route.update((units.key[at], why) for at in rows)
        if units.wide is not None:
            no_wide.update((units.wide_names[at], why) for at in {int(units.wide[row]) for row in rows} - {NO_WIDE})
    return replace(situation, spaces=with_reserved(situation.spaces, taken), no_route=no_route, no_wide=no_wide)


def pin_column(keys: Sequence[str], pins: Sequence[PinRule]) -> I8:
    """Pin of each unit, shape ``(len(keys),)``."""
    if not pins:
        return np.full(len(keys), Pin.NONE, dtype=np.int8)
    words = np.array([*(pin.pin for pin in pins), Pin.NONE], dtype=np.int8)
    return words[governing_pins(keys, pins)]


def governing_pins(keys: Sequence[str], pins: Sequence[PinRule]) -> I64:
    """Which pin governs each unit, -1 for none, shape ``(len(keys),)``.

    The last matching pattern wins; an exact key matches only itself.
    """
    column = np.full(len(keys), -1, dtype=np.int64)
    row_of = rows_of_keys(keys, {pin.pattern for pin in pins})
    for at, pin in enumerate(pins):
        # A key first, a pattern only where there is no such key: a key may hold *, and each pattern is a walk over all.
        if pin.pattern in row_of:
            column[row_of[pin.pattern]] = at
            continue
        means = key_matcher(pin.pattern)
        for row, key in enumerate(keys):
            if means(key):
                column[row] = at
    return column


def _seconds_since(keys: Sequence[str], instants: Mapping[str, datetime], now: datetime) -> F64:
    """How long ago the instant of each unit was, infinitely long where it has none.

    An instant yet to come was written while the clock was ahead. How far off it is counts, not on which side: a second
    ahead is just now, and a year ahead must not rest a unit for that year.
    """
    column = np.full(len(keys), np.inf)
    for key, row in rows_of_keys(keys, instants.keys()).items():
        column[row] = abs((now - instants[key]).total_seconds())
    return column


def rows_of_keys(keys: Sequence[str], wanted: Set[str]) -> dict[str, int]:
    """Rows of the few keys that are wanted; those that are not there are left out."""
    # One walk over the keys and no dictionary of all of them: that takes 100 MB at a million units, for a handful of
    # look-ups.
    return {key: row for row, key in enumerate(keys) if key in wanted} if wanted else {}


def requested_purposes(ledger: Ledger, database: str) -> frozenset[str]:
    """Purposes of the undecided proposals that were requested by a command."""
    return frozenset(row.proposal.purpose for row in _waiting(ledger, database) if row.proposal.asked_by)


def end_obsolete_proposals(ledger: Ledger, database: str, fingerprint: str, catalog: Catalog) -> None:
    """End what waits for a decision and has nothing left to do.

    Args:
        ledger: the durable record.
        database: its name in the configuration.
        fingerprint: of the database as it answers now.
        catalog: as last read.
    """
    for row in _waiting(ledger, database):
        why = why_obsolete(row.proposal, fingerprint, catalog)
        if why is not None:
            ledger.proposals.end(row.id, f"nothing of it is left to do: {why}")


def why_obsolete(proposal: Proposal, fingerprint: str, catalog: Catalog) -> str | None:
    """Why none of the proposal's moves could begin, one sentence without a full stop; None where one could.

    One is enough: prechecks skip the others, and look closer. An older catalog than the proposal says nothing about it.
    """
    if proposal.fingerprint != fingerprint:
        return "it was made for another database than the one that answers now"
    if catalog.taken_at < proposal.created_at:
        return None
    units = catalog.units
    row_of = rows_of_keys(units.key, {key for move in proposal.moves for key in move.route.bundle.unit_keys})
    home_of = {key: catalog.spaces[int(units.space[row])].name for key, row in row_of.items()}
    reasons = [_reason_it_left(move, home_of, catalog) for move in proposal.moves]
    return reasons[0] if all(reasons) else None


def _waiting(ledger: Ledger, database: str) -> list[ProposalRow]:
    ledger.proposals.expire_due()
    return ledger.proposals.rows(database=database, states={ProposalState.PROPOSED})


def _reason_it_left(move: ProposedMove, home_of: Mapping[str, str], catalog: Catalog) -> str | None:
    if move.route.bundle.container:
        return _lost_container(move, catalog)
    if not move.route.bundle.unit_keys:  # a partition that is to be made: prechecks see whether it is there
        return None
    homes = {home_of[key] for key in move.route.bundle.unit_keys if key in home_of}
    if move.from_space in homes:
        return None
    if not homes:
        return f"{move.what} is gone"
    return f"{move.what} is in {', '.join(sorted(homes))}, not in {move.from_space}"


def _lost_container(move: ProposedMove, catalog: Catalog) -> str | None:
    """Why a container that should leave is missing.

    None for one that is put back (it does not exist yet), and where the engine shows no containers.
    """
    name = move.route.bundle.container
    containers = next((space.containers for space in catalog.spaces if space.name == move.from_space), None)
    if containers is None:
        return f"space {move.from_space} is gone"
    if move.undoes is not None or not containers or find_container(containers, name) is not None:
        return None
    return f"{move.from_space} has no container {name} any more"
