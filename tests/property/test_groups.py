"""Promise 8: whatever the sizes, growth and room on the way, a group that is begun fits; else nothing moves."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.ledger.ledger import Ledger
from agent.ledger.rows import RequestKind
from agent.model.proposals import ProposedMove
from agent.model.states import ACTIONABLE, IN_PLACE, MoveState
from agent.moving.precheck import Allowed, PrecheckFacts, precheck_group
from connectors.kit.contract import LockNotObtained, OutcomeUnknown, SpaceFull, StatementFailed
from connectors.model.moves import Step
from connectors.model.observation import Home, Inspection, Space
from connectors.simulated.mover import SimulatedSession
from policies.evidence.capacity import expected_bytes, room_bytes, without_room
from policies.model.moves import MoveReason
from policies.model.plan import Situation
from policies.placement.balancer import make_plan
from tests.examples import examples
from tests.property.strategies import Case, cases
from tests.simulation.site import Site
from tests.simulation.test_groups import COLD, HOT, a_group, between_moves, crowded, grow, rows
from tests.unit.agent.execution.test_precheck import FACTS, a_row
from tests.unit.policies.situations import MIB
from tests.unit.samples import a_move

SPARE = st.integers(-3, 12)  # MB
SOME = st.sampled_from([0, 0, 1, 2, 5, 9, 14])  # MB


@st.composite
def crowded_cases(draw: st.DrawFn) -> tuple[Case, Situation]:
    """Situations of every kind whose units grow, take room on the way, and leave some where the original is kept."""
    case = draw(cases())
    n = len(case.units)
    growth = np.array(draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)), dtype=np.int64) * MIB
    more = draw(st.lists(st.sampled_from([0, 1, 8, 40]), min_size=n, max_size=n))
    names = {unit.key: size * MIB for unit, size in zip(case.units, more, strict=True) if size}
    kept = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    stays = {unit.key: 1 << 50 for unit, stay in zip(case.units, kept, strict=True) if stay}
    staying = draw(st.sampled_from([stays, {}]))
    return case, replace(case.situation(), growth=growth, transient=names, staying=staying)


@settings(deadline=None, max_examples=examples(200))
@given(crowded_cases())
def test_a_plan_leaves_room_for_growth_and_for_the_way(crowded_case: tuple[Case, Situation]) -> None:
    """Every planned move finds its copy, its growth and its way's room at its turn; a group is all in one piece."""
    case, situation = crowded_case
    plan = make_plan(situation, case.settings)
    room = {space.name: room_bytes(space, case.settings.head_room_ratio) for space in situation.spaces}
    for move in plan.moves:
        size, free, left = expected_bytes(move, situation), room[move.to_space], room[move.from_space]
        assert free is not None, "no room is known there"
        assert size + situation.transient.get(move.name, 0) <= free
        room[move.to_space] = free - size
        room[move.from_space] = None if left is None else left + max(0, size - situation.staying.get(move.name, 0))
    assert without_room(plan.moves, situation, case.settings, situation.transient, situation.staying) is None
    numbers = [move.group for move in plan.moves]
    assert numbers == sorted(numbers)
    for number in set(numbers):
        group = [move for move in plan.moves if move.group == number]
        assert group[-1].reason is not MoveReason.MAKE_ROOM, "what makes room belongs to what it makes room for"
        forced = group[-1].reason in (MoveReason.PIN, MoveReason.GROWTH)
        assert sum(move.wait_saved_per_hour for move in group) > 0 or forced


@st.composite
def groups(draw: st.DrawFn) -> tuple[list[ProposedMove], list[PrecheckFacts]]:
    """One group of some moves between two spaces, tight ones, and the facts an hour after it was planned."""
    count = draw(st.integers(1, 4))
    spaces = [("fast", "slow")] * (count - 1) + [("slow", "fast")]
    sizes = [draw(st.integers(5, 40)) for _ in spaces]
    ways = [draw(st.sampled_from([0, 0, 3, 12])) for _ in spaces]
    kept = [draw(st.booleans()) for _ in spaces]
    grown = [draw(st.integers(-1, 8)) for _ in spaces]
    *down, up = (size + way for size, way in zip(sizes, ways, strict=True))
    free = {"slow": sum(down) + draw(st.integers(-2, 25)), "fast": max(0, up - sum(down)) + draw(st.integers(-2, 25))}
    moves, facts = [], []
    for ordinal, (source, target) in enumerate(spaces, start=1):
        move = a_move(
            ordinal, key=f"t{ordinal}", size_bytes=sizes[ordinal - 1] * MIB, from_space=source, to_space=target,
            group=1, reason="make_room" if target == "slow" else "promote",
        )  # fmt: skip
        stays = sizes[ordinal - 1] * MIB if kept[ordinal - 1] else 0
        route = replace(move.route, transient_bytes=ways[ordinal - 1] * MIB, stays_bytes=stays)
        moves.append(replace(move, route=route))
        now, room = (sizes[ordinal - 1] + grown[ordinal - 1]) * MIB, max(0, free[target]) * MIB
        facts.append(
            replace(
                FACTS,
                inspection=Inspection(home=Home.SOURCE, sentence="", size_bytes=now, on_disk=None),
                target=Space(name=target, path="", used_bytes=0, free_bytes=room, capacity_bytes=room),
                head_room_ratio=0.0,
                seconds=float(draw(st.sampled_from([0, 60, 3600, 7200]))),
            )
        )
    return moves, facts


@settings(deadline=None, max_examples=examples(300))
@given(groups())
def test_what_may_begin_fits_to_its_end(group: tuple[list[ProposedMove], list[PrecheckFacts]]) -> None:
    """Played second by second at the pace seen so far, no space is ever over its room, copies and ways included."""
    moves, facts = group
    planned = [a_row(id=move.ordinal, move=move) for move in moves]
    if not isinstance(precheck_group(planned, facts), Allowed):
        return
    age = (FACTS.now - planned[0].planned_at).total_seconds()
    free = {each.target.name: each.target.free_bytes or 0 for each in facts if each.target is not None}
    home = [move.from_space for move in moves]
    now = [each.inspection.size_bytes for each in facts]
    pace = [max(0, size - move.size_bytes) / age for size, move in zip(now, moves, strict=True)]
    passed = 0.0
    for at, (move, each) in enumerate(zip(moves, facts, strict=True)):
        passed += each.seconds  # sizes are largest at the end of a copy
        held = dict(free)
        for other, place in enumerate(home):
            if place in held:
                held[place] -= int(pace[other] * passed)
        size = now[at] + int(pace[at] * passed)
        if move.to_space in held:
            assert size + move.route.transient_bytes <= held[move.to_space]
        if move.from_space in free:
            free[move.from_space] += 0 if move.route.stays_bytes else now[at]
        free[move.to_space] -= now[at]
        home[at] = move.to_space


@settings(deadline=None, max_examples=examples(150))
@given(groups())
def test_a_group_is_never_easier_than_its_moves(group: tuple[list[ProposedMove], list[PrecheckFacts]]) -> None:
    """Where it may begin, its first move may alone."""
    moves, facts = group
    planned = [a_row(id=move.ordinal, move=move) for move in moves]
    if isinstance(precheck_group(planned, facts), Allowed):
        assert precheck_group(planned[:1], facts[:1]) == Allowed()


@settings(deadline=None, max_examples=examples(25))
@given(SPARE, SOME, SOME, SOME)
def test_all_of_a_group_is_placed_or_nothing_moves(spare: int, hot: int, cold: int, transient: int) -> None:
    """On the simulated engine it grows and its way takes room: once begun all fits, and skipped it moves nothing."""
    mb = 10**6
    with TemporaryDirectory() as folder:
        site = Site(Path(folder), scenario="eight_tables")
        crowded(site, spare=spare * mb)
        with site.agent() as (watch, ledger):
            watch.sample()
            number = a_group(site, watch, ledger, end_takes=transient * mb)
            site.clock.sleep(3600)
            before = site.homes()
            grow(site, HOT, hot * mb)
            grow(site, COLD[0], cold * mb)
            watch.act()
            states = {row.state for row in rows(ledger, number)}
            assert states in ({MoveState.PLACED}, {MoveState.SKIPPED})
            assert (site.homes() == before) == (states == {MoveState.SKIPPED})
            assert watch.snapshot.groups_left_worse == 0


class Died(Exception):
    """The agent's process ended."""


FAULTS = {
    "full": SpaceFull("no room"),
    "refused": StatementFailed("refused"),
    "locked": LockNotObtained("locked"),
    "broken": OutcomeUnknown("the session broke"),
    "died": Died(),
}


@settings(deadline=None, max_examples=examples(8))
@given(st.dictionaries(st.integers(1, 6), st.sampled_from(sorted(FAULTS)), max_size=4), st.sampled_from([0, 1, 2, 3]))
def test_no_group_ends_worse_than_it_began(faults: dict[int, str], cancelled: int) -> None:
    """Statements fail in every way, there and on the way back, a person cancels: all is there, or all is back."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        site, execute, sent = Site(Path(folder), scenario="eight_tables"), SimulatedSession.execute, [0]

        def faulty(self: SimulatedSession, step: Step) -> None:
            sent[0] += 1
            if sent[0] in faults:
                raise FAULTS[faults[sent[0]]]
            execute(self, step)

        crowded(site)
        patch.setattr(SimulatedSession, "execute", faulty)
        before = site.homes()
        with site.agent() as (watch, ledger):
            watch.sample()
            number = a_group(site, watch, ledger)
        if cancelled:
            between_moves(patch, COLD[0], lambda: _cancel(site, number, cancelled))
        for _ in range(16):
            with suppress(Died), site.agent() as (watch, ledger):
                if not ledger.moves.rows(database="sim", states=ACTIONABLE | {MoveState.UNDO_PROPOSED}):
                    break
                watch.sample()
                watch.act()
                watch.verify()
            site.clock.sleep(1000.0)
        with site.agent() as (_, ledger):
            found = rows(ledger, number)
            arrived = [row for row in found if row.state in IN_PLACE]
            assert sum(row.move.wait_saved_per_hour for row in arrived) >= 0, [row.state for row in found]
            assert len(arrived) == len(found) or site.homes() == before
            assert not ledger.moves.rows(database="sim", states=ACTIONABLE)
            assert ledger.audit.verify().ok


def _cancel(site: Site, number: int, ordinal: int) -> None:
    with Ledger.open(site.config.ledger.path, site.clock) as ledger:
        row = rows(ledger, number)[ordinal - 1]
        if row.state in ACTIONABLE:
            ledger.requests.submit(row.id, RequestKind.CANCEL, who="ann", origin="test", reason="")
