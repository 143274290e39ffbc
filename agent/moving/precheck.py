"""What must still hold just before moves start, and the reading of it.

What must still hold just before moves start: a pure comparison of what was approved with what is true now.

Moves of one group (``agent.ledger.rows``) are checked together, before the first of them: each must find room at
its turn, those before it carried out, all of them grown by what they are expected to grow until the group ends.

Reads what the precheck compares an approval with: catalog, spaces, closed arrivals, expected copy times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import ceil

from agent.config.models import DatabaseConfig
from agent.ledger.ledger import Ledger
from agent.ledger.rows import MoveRow, group_of
from agent.ledger.state_names import RANKING
from agent.model.approvals import NONE, Conditions, refuse_stall
from agent.model.proposals import UNDO, WAY_BACK
from agent.model.states import CARRIED_OUT, TO_BEGIN
from agent.moving.gate import Gate
from agent.planning.full_spaces import with_full_spaces
from agent.planning.ranking import ranking_from_arrays
from agent.planning.routing import derives
from agent.planning.single_moves import without
from agent.planning.situation import PinRule, governing_pins, pins_of, rows_of_keys
from connectors.kit.contract import Clock, Connector
from connectors.model.formatting import format_bytes, format_seconds, format_wait
from connectors.model.new_space import makes_or_drops_space
from connectors.model.observation import Home, Inspection, Space
from policies.evidence.capacity import room_bytes
from policies.model.moves import MoveReason
from policies.model.settings import Pin

MAY_PASS = frozenset({"no_room", "no_target", "lost", "not_managed", "other_tier", "closed", "room_unknown", "grown"})
FASTEST = 0  # row of a tier
SHORTEST_AGE_SECONDS = 600.0  # over which growth is seen; in less than that it says little


@dataclass(frozen=True, slots=True, kw_only=True)
class PrecheckFacts:
    """The world a moment before the first statement, as far as one move is concerned."""

    now: datetime
    fingerprint: str
    inspection: Inspection
    target: Space | None  # completed from configuration; None: it is gone
    head_room_ratio: float
    table_ids: Mapping[str, int] = field(default_factory=dict)  # UnitTable.table_ids by key, of those that are there
    conditions: Conditions = NONE  # of the approval
    rule_against: str = ""  # why the standing rule that approved it lets nothing begin now
    underivable: bool = False  # it was approved under a standing rule, and the connector makes other statements now
    carried_bytes: int = 0  # of the proposal, so far
    gain_per_hour: float | None = None  # of what is left of the proposal, by the newest plan; None: there is none
    closed: bool = False  # the target is closed to arrivals
    managed: bool = True  # a tier names the target, or the move is a way back
    other_tier: str = ""  # that the target belongs to now, where it is not the approved one and the move no way back
    seconds: float = 0.0  # that its copy is expected to take, with the safety factor
    pinned: str = ""  # the pin that wants a unit of it elsewhere, and was not known to whoever approved


@dataclass(frozen=True, slots=True)
class Allowed:
    """Nothing stands in the way."""


@dataclass(frozen=True, slots=True)
class PrecheckRefusal:
    """Something does; the code is for machines, the sentence for people."""

    code: str
    sentence: str

    @property
    def may_pass(self) -> bool:
        """Whether the facts may fit again later, so that what has to be done can wait for it."""
        return self.code in MAY_PASS


def precheck_group(rows: Sequence[MoveRow], facts: Sequence[PrecheckFacts]) -> Allowed | PrecheckRefusal:
    """Whether the moves of a group may start now. The first reason against any of them is the answer.

    Args:
        rows: in order of execution: the group, or what is left of it once it was begun.
        facts: of each, all of one instant.
    """
    for row, each in zip(rows, facts, strict=True):
        # In this order because each reason makes those after it meaningless: on another server sizes and homes say
        # nothing about the move.
        for check in (
            _check_approval,
            _same_database,
            _has_storage,
            _still_home,
            _same_object,
            _size_holds,
            _target_takes,
        ):
            refused = check(row, each)
            if refused is not None:
                return refused
    return (
        _rule_holds(rows, facts)
        or _pins_hold(facts)
        or _conditions_hold(facts)
        or _stall_allowed(rows, facts)
        or _begun_in_time(rows, facts)
        or _all_fit(rows, facts)
        or Allowed()
    )


def expected_bytes(row: MoveRow, facts: PrecheckFacts, seconds: float) -> int:
    """Bytes of a move's bundle after that many seconds, if it goes on growing as it has since it was planned.

    A burst shortly after the planning is spread over ``SHORTEST_AGE_SECONDS``.
    """
    now = facts.inspection.size_bytes
    age = max(SHORTEST_AGE_SECONDS, (facts.now - row.planned_at).total_seconds())
    return now + ceil(max(0, now - row.move.size_bytes) / age * seconds)


def transient_bytes(row: MoveRow, size_bytes: int) -> int:
    """Room that a move takes beyond a bundle of so many bytes: as approved, in proportion more where it has grown."""
    return ceil(row.move.route.transient_bytes * _growth(row, size_bytes))


def _growth(row: MoveRow, size_bytes: int) -> float:
    """How many times as large as planned a bundle of so many bytes is, 1 at least."""
    return max(1.0, size_bytes / row.move.size_bytes) if row.move.size_bytes else 1.0


def _check_approval(row: MoveRow, facts: PrecheckFacts) -> PrecheckRefusal | None:
    if not row.approved:
        return PrecheckRefusal("not_approved", f"move {row.id} was never approved")
    if facts.now >= row.expires_at:
        return PrecheckRefusal(
            "expired", f"the approval of proposal {row.proposal_id} expired at {row.expires_at:%F %T %Z}"
        )
    return None


def _same_database(row: MoveRow, facts: PrecheckFacts) -> PrecheckRefusal | None:
    if row.fingerprint != facts.fingerprint:
        return PrecheckRefusal("other_database", "the server that answers now is not the database that was approved")
    return None


def _still_home(row: MoveRow, facts: PrecheckFacts) -> PrecheckRefusal | None:
    match facts.inspection.home:
        case Home.SOURCE:
            return None
        case Home.GONE:
            return PrecheckRefusal("gone", f"{row.move.key} no longer exists")
        case Home.ELSEWHERE if not row.move.route.bundle.unit_keys:  # it is to be made, under a name that is not free
            return PrecheckRefusal("name_held", facts.inspection.sentence)
        case Home.TARGET:
            return PrecheckRefusal("already_there", f"{row.move.key} is already in {row.move.to_space}")
        case _:
            return PrecheckRefusal(
                "moved_by_others", f"{row.move.key} is not where it was: {facts.inspection.sentence}"
            )


def _has_storage(row: MoveRow, facts: PrecheckFacts) -> PrecheckRefusal | None:
    """What now has the approved name may be no unit at all: a partitioned table, whose parts are others', or a view."""
    keys = row.move.route.bundle.unit_keys
    if keys and facts.inspection.home is not Home.GONE and not facts.table_ids.keys() & set(keys):
        return PrecheckRefusal(
            "other_object",
            f"{row.move.key} is another object under the approved name, and none with storage of its own",
        )
    return None


def _same_object(row: MoveRow, facts: PrecheckFacts) -> PrecheckRefusal | None:
    """Another table under the approved name was never approved: it was dropped and made again, or renamed."""
    bundle = row.move.route.bundle
    for key, approved in zip(bundle.unit_keys, bundle.table_ids, strict=False):  # none, of what was stored before
        now = facts.table_ids.get(key, approved)
        if now != approved:
            return PrecheckRefusal(
                "other_object",
                f"{key} is another object under the approved name: its table had id {approved}, now {now}",
            )
    return None


def _size_holds(row: MoveRow, facts: PrecheckFacts) -> PrecheckRefusal | None:
    move, now = row.move, facts.inspection.size_bytes
    if now > move.largest_bytes:
        return PrecheckRefusal(
            "grown",
            f"{move.key} grew from {format_bytes(move.size_bytes)} to {format_bytes(now)}; "
            f"{format_bytes(move.largest_bytes)} were approved at most",
        )
    return None


def _target_takes(row: MoveRow, facts: PrecheckFacts) -> PrecheckRefusal | None:
    if makes_or_drops_space(row.move.route):  # nothing arrives; whether its place is fit the connector has looked
        return None
    if facts.target is None:
        return PrecheckRefusal("no_target", f"space {row.move.to_space} no longer exists")
    if facts.target.lost:
        return PrecheckRefusal("lost", f"{row.move.to_space} cannot take data: {facts.target.lost}")
    if not facts.managed:
        return PrecheckRefusal("not_managed", f"no tier of the configuration names space {row.move.to_space} any more")
    if facts.other_tier:
        return PrecheckRefusal(
            "other_tier",
            f"space {row.move.to_space} belongs to tier {facts.other_tier} now; it was approved as one of tier "
            f"{row.move.to_tier}",
        )
    if facts.closed:
        return PrecheckRefusal("closed", f"space {row.move.to_space} is closed to arrivals; hotplace reopen opens it")
    if room_bytes(facts.target, facts.head_room_ratio) is None:
        return PrecheckRefusal(
            "room_unknown", f"the room in {row.move.to_space} is not known; configure the capacity of that space"
        )
    return None


def _rule_holds(rows: Sequence[MoveRow], facts: Sequence[PrecheckFacts]) -> PrecheckRefusal | None:
    """What was approved under a standing rule begins while the rule is open, by statements of the connector's own."""
    if facts[0].rule_against:
        return PrecheckRefusal("rule", facts[0].rule_against)
    # No person has looked at these statements. A process of the agent's user could have put others into the ledger
    # before they were approved: what a rule covers is what the connector makes of the unit and its target, and no more.
    for row, each in zip(rows, facts, strict=True):
        if each.underivable:
            return PrecheckRefusal(
                "other_statements", f"{row.move.what} would be moved by other statements than the connector makes now"
            )
    return None


def _pins_hold(facts: Sequence[PrecheckFacts]) -> PrecheckRefusal | None:
    """No move brings a unit where a pin forbids it to be, unless a person has approved it who knew the pin."""
    pinned = next((each.pinned for each in facts if each.pinned), "")
    return PrecheckRefusal("pinned", pinned) if pinned else None


def _conditions_hold(facts: Sequence[PrecheckFacts]) -> PrecheckRefusal | None:
    """What the person who approved has made it depend on."""
    first, conditions = facts[0], facts[0].conditions
    if conditions.not_after is not None and first.now >= conditions.not_after:
        return PrecheckRefusal("too_late", f"it was approved to begin before {conditions.not_after.isoformat()}")
    needed = first.carried_bytes + sum(each.inspection.size_bytes for each in facts)
    if conditions.most_bytes is not None and needed > conditions.most_bytes:
        return PrecheckRefusal(
            "too_many_bytes",
            f"with this {format_bytes(needed)} of the proposal would be moved, and it was approved for at most "
            f"{format_bytes(conditions.most_bytes)}",
        )
    least, gain = conditions.least_gain_per_hour, first.gain_per_hour
    if least is not None and (gain is None or gain < least):
        now = "how much it saves is not known now" if gain is None else f"it saves {format_wait(gain)} now"
        return PrecheckRefusal("too_little_gain", f"{now}, and it was approved for at least {format_wait(least)}")
    return None


def _stall_allowed(rows: Sequence[MoveRow], facts: Sequence[PrecheckFacts]) -> PrecheckRefusal | None:
    """No move of the group keeps others out for longer than the person who approved it allowed by name."""
    most = facts[0].conditions.most_stall_seconds
    too_long = "" if most is None else refuse_stall((row.move for row in rows), most, by_name=True)
    if most is None or not too_long:
        return None
    return PrecheckRefusal("too_long_a_stall", f"{too_long}, and it was approved for {format_seconds(most)} at most")


def _begun_in_time(rows: Sequence[MoveRow], facts: Sequence[PrecheckFacts]) -> PrecheckRefusal | None:
    """The last move of a group has to begin before the approval expires, or the others would have made room in vain."""
    last = facts[0].now + timedelta(seconds=sum(each.seconds for each in facts[:-1]))
    if last >= rows[-1].expires_at:
        return PrecheckRefusal(
            "would_expire",
            f"{rows[-1].move.key} would begin at {last:%F %T %Z}, "
            f"and the approval expires at {rows[-1].expires_at:%F %T %Z}",
        )
    return None


def _all_fit(rows: Sequence[MoveRow], facts: Sequence[PrecheckFacts]) -> PrecheckRefusal | None:
    """Each at its turn: the source holds a bundle until its copy is done, and what it takes beyond the copy counts."""
    seconds = sum(each.seconds for each in facts)
    expected = [expected_bytes(row, each, seconds) for row, each in zip(rows, facts, strict=True)]
    room = {row.move.to_space: _room(each) for row, each in zip(rows, facts, strict=True)}
    for at, (row, need) in enumerate(zip(rows, expected, strict=True)):
        source, target = row.move.from_space, row.move.to_space
        # What still waits in the target for its own turn goes on growing there and takes room from what arrives before
        # it leaves.
        growing = sum(
            expected[later] - facts[later].inspection.size_bytes
            for later in range(at, len(rows))
            if rows[later].move.from_space == target
        )
        left = room[target] - growing
        if need + transient_bytes(row, need) > left:
            return PrecheckRefusal("no_room", _shortage(rows[: at + 1], facts[at], need, left))
        room[target] -= need
        if source in room:
            # The present size, not the expected one: ``room`` was read before the growth, so no more than that comes
            # back.
            present = facts[at].inspection.size_bytes
            room[source] += max(0, present - ceil(row.move.route.stays_bytes * _growth(row, present)))
    return None


def _room(facts: PrecheckFacts) -> int:
    """Bytes that the target takes above its head-room."""
    room = None if facts.target is None else room_bytes(facts.target, facts.head_room_ratio)
    return 0 if room is None else room


def _shortage(rows: Sequence[MoveRow], facts: PrecheckFacts, expected: int, left: int) -> str:
    """What the last of some moves needs, and what there is for it once the others are done."""
    row, now = rows[-1], facts.inspection.size_bytes
    parts = [f"{format_bytes(now)} now"]
    if expected > now:
        parts.append(f"{format_bytes(expected - now)} of growth until the end")
    if transient := transient_bytes(row, expected):
        parts.append(f"{format_bytes(transient)} while it is moved")
    need = format_bytes(expected + transient)
    of_it = f" ({', '.join(parts)})" if len(parts) > 1 else ""
    makers = sum(
        each.move.reason == MoveReason.MAKE_ROOM and each.move.from_space == row.move.to_space for each in rows
    )
    there = f"has {format_bytes(max(left, 0))} above its head-room"
    if makers:
        plural = "1 move has" if makers == 1 else f"{makers} moves have"
        there = f"would have {format_bytes(max(left, 0))} above its head-room once {plural} made room"
    return f"{row.move.key} needs {need} in {row.move.to_space}{of_it}, which {there}"


class FactReader:
    """Reads the facts of one database, afresh at every call."""

    def __init__(
        self, database: DatabaseConfig, connector: Connector, ledger: Ledger, clock: Clock, gate: Gate
    ) -> None:
        """Wire it up.

        Args:
            database: its configuration.
            connector: over the moving account.
            ledger: which spaces are closed to arrivals.
            clock: time.
            gate: how long a copy is expected to take.
        """
        self._database = database
        self._connector = connector
        self._ledger = ledger
        self._clock = clock
        self._gate = gate

    def read(self, rows: Sequence[MoveRow]) -> list[PrecheckFacts]:
        """The facts of each of some moves, all of one instant.

        Raises:
            ConnectorError: the engine did not answer.
        """
        # One catalog for all moves of the group: read move by move, another session's DDL in between could make each
        # fit and the group not.
        catalog = self._connector.catalog()
        storage = self._database.resolve_spaces(catalog)
        row_of = rows_of_keys(catalog.units.key, {key for row in rows for key in row.move.route.bundle.unit_keys})
        spaces = {space.name: space for space in storage.spaces}
        open_to = with_full_spaces(storage.spaces, self._ledger, self._database, self._clock.now())
        taking = {space.name: space for space in open_to}
        closed = {each.space for each in self._ledger.arrivals.rows(self._database.name)}
        fingerprint = self._connector.identify().fingerprint
        conditions = self._ledger.proposals.conditions(rows[0].proposal_id)
        siblings = self._ledger.moves.rows(proposal_id=rows[0].proposal_id)
        # A group that was begun is to be completed, whatever a rule or a pin says now.
        begun, now = any(row.state not in TO_BEGIN for row in group_of(siblings, rows[0])), self._clock.now()
        against = None if begun else self._ledger.rules.why_not_begin(rows[0].proposal_id)
        pins = {} if begun else self._pins(rows, catalog.units.key, now, by_rule=against is not None)
        tiers = {space.name: int(tier) for space, tier in zip(storage.spaces, storage.tier_of_space, strict=True)}
        template = self._ledger.rules.template_of(rows[0].proposal_id) if against == "" else None
        return [
            PrecheckFacts(
                now=now,
                fingerprint=fingerprint,
                inspection=self._connector.inspect(row.move.route),
                table_ids={
                    key: catalog.units.table_ids([row_of[key]])[0]
                    for key in row.move.route.bundle.unit_keys
                    if key in row_of
                },
                # What goes back had its room there, and its group has left sessions worse off.
                target=_target(row, spaces if row.move.reason in {WAY_BACK, UNDO} else taking),
                head_room_ratio=self._database.policy_settings().head_room_ratio,
                conditions=conditions,
                rule_against=against or "",
                underivable=against == "" and not derives(self._connector, row.move.route, template, now),
                carried_bytes=sum(each.move.size_bytes for each in siblings if each.state in CARRIED_OUT),
                gain_per_hour=self._gain(siblings) if conditions.least_gain_per_hour is not None else None,
                closed=not row.move.route.bundle.container and row.move.to_space in closed,
                managed=row.move.reason in {WAY_BACK, UNDO} or tiers.get(row.move.to_space, FASTEST) >= FASTEST,
                other_tier=_other_tier(row, [tier.name for tier in storage.tiers], tiers),
                seconds=self._gate.seconds(row),
                pinned="" if row.move.is_way_back else _pin_against(row, pins, tiers),
            )
            for row in rows
        ]

    def _pins(
        self, rows: Sequence[MoveRow], catalog: Sequence[str], now: datetime, *, by_rule: bool
    ) -> dict[str, PinRule]:
        """The pins of what some moves take elsewhere, by key, that whoever approved them did not know.

        Args:
            rows: the moves, of one proposal.
            catalog: keys of all units.
            now: when a pin must hold.
            by_rule: whether a standing rule approved them, which knows none; a person knows those of that time.
        """
        pins = pins_of(self._database, self._ledger, now)
        if not by_rule:
            decided = self._ledger.proposals.row(rows[0].proposal_id).decided_at
            pins = tuple(
                pin
                for pin in self._ledger.pins.rows(self._database.name, now)
                if decided is None or pin.created_at > decided
            )
        # Beside the units of the moves those that a pin names: its pattern, which may hold *, then means only them.
        named = rows_of_keys(catalog, {pin.pattern for pin in pins})
        keys = sorted({key for row in rows for key in row.move.all_keys} | named.keys())
        return {key: pins[at] for key, at in zip(keys, governing_pins(keys, pins).tolist(), strict=True) if at >= 0}

    def _gain(self, siblings: Sequence[MoveRow]) -> float | None:
        """Wait an hour that the moves of a proposal which have yet to begin save by the newest plan."""
        stored = self._ledger.state.load_arrays(self._database.name, RANKING)
        if stored is None:
            return None
        ranking = ranking_from_arrays(stored[1])
        keys = {row.move.key for row in siblings if row.state in TO_BEGIN}
        return float(sum(ranking.saved_if_moved[at] for at in rows_of_keys(ranking.key, keys).values()))


def _pin_against(row: MoveRow, pins: Mapping[str, PinRule], tiers: Mapping[str, int]) -> str:
    """The pin that a move contradicts, in words, by the tiers that its spaces are on; "" where there is none.

    Args:
        row: the move.
        pins: of its units and others, by key.
        tiers: of each space, 0 the fastest, -1 none.
    """
    arrives = tiers.get(row.move.to_space) == FASTEST
    leaves = tiers.get(row.move.from_space) == FASTEST and not arrives
    against = {Pin.NEVER: arrives, Pin.MUST: leaves}
    contradicted = (key for key in sorted(row.move.all_keys & pins.keys()) if against.get(pins[key].pin, False))
    key = next(contradicted, "")
    if not key:
        return ""
    return f"{key} is pinned to {pins[key].pin.name.lower()} ({pins[key].pattern}); hotplace pin --list shows by whom"


def _other_tier(row: MoveRow, names: Sequence[str], tiers: Mapping[str, int]) -> str:
    """The tier that the target of a move belongs to now; "" where that is the approved one, or does not matter.

    Args:
        row: the move.
        names: of the tiers of the configuration.
        tiers: row in ``names`` of each space, negative: none.
    """
    # A way back restores what was, whatever the configuration says of it; a container is emptied within its space.
    stays = row.move.reason in {WAY_BACK, UNDO} or bool(row.move.route.bundle.container)
    # A tier that has another name now cannot be told from one that was removed; the space alone has not changed then.
    if stays or row.move.to_tier not in names:
        return ""
    now = tiers.get(row.move.to_space, -1)
    return names[now] if now >= 0 and names[now] != row.move.to_tier else ""


def _target(row: MoveRow, spaces: Mapping[str, Space]) -> Space | None:
    """The space that a move names, without the container that it empties; None where the space is gone."""
    target, container = spaces.get(row.move.to_space), row.move.route.bundle.container
    return without(target, container) if target is not None and container else target
