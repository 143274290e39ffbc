"""Open proposals that stand in each other's way."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from agent.ledger.ledger import Ledger
from agent.model.proposals import Proposal
from agent.model.states import MoveState
from agent.planning.conflicts import Conflict, conflicts_of, find_conflicts
from tests.ledger.clock import StillClock
from tests.unit.samples import MIB, a_move, a_proposal, a_route

ROOMS = {"fast": 100 * MIB, "slow": 1000 * MIB}


def between(tmp_path: Path, *proposals: Proposal, rooms: dict[str, int] = ROOMS) -> tuple[Conflict, ...]:
    """Conflicts of these, stored in this order."""
    with Ledger.open(tmp_path / "ledger.db", StillClock()) as ledger:
        rows = [ledger.proposals.row(ledger.proposals.store(proposal)) for proposal in proposals]
        return find_conflicts([(row, ledger.moves.rows(proposal_id=row.id)) for row in rows], rooms)


def test_the_same_unit_cannot_go_two_ways(tmp_path: Path) -> None:
    """Both are named with where each would bring it."""
    away = a_move(to_space="other", route=a_route(to_space="other"))
    (found,) = between(tmp_path, a_proposal(a_move()), a_proposal(away, purpose="usage"))
    assert found.numbers == (1, 2)
    assert found.why == "both move public.orders (1 to fast, 2 to other)"


@pytest.mark.parametrize(("size", "conflict"), [(50, False), (51, True), (101, False)])
def test_room_for_only_one(tmp_path: Path, size: int, conflict: bool) -> None:
    """Each fits into 100 MiB alone and both do not; what does not even fit alone is no matter of the other."""
    one, other = (a_move(key=key, size_bytes=mib * MIB) for key, mib in (("a", 50), ("b", size)))
    found = between(tmp_path, a_proposal(one), a_proposal(other, purpose="hsm hdd"))
    assert bool(found) is conflict
    if conflict:
        assert found[0].why == (
            "fast has room for one of them only: 100.0 MiB by the last plan, 1 needs 50.0 MiB and 2 51.0 MiB"
        )


def test_what_makes_room_for_itself_is_in_no_way(tmp_path: Path) -> None:
    """What a proposal takes out of a space counts against what it brings."""
    swap = a_move(1, key="out", size_bytes=60 * MIB, from_space="fast", to_space="slow"), a_move(2, key="in")
    assert not between(tmp_path, a_proposal(*swap), a_proposal(a_move(key="b"), purpose="hsm hdd"))


def test_nothing_is_brought_to_what_is_emptied(tmp_path: Path) -> None:
    """A drain and a promotion to the drained space, in either order."""
    drain = a_proposal(a_move(key="old", from_space="fast", to_space="slow"), purpose="drain fast")
    (found,) = between(tmp_path, a_proposal(a_move()), drain)
    assert found.why == "2 empties fast, to which 1 brings 64.0 MiB"
    assert "proposals 1 and 2 cannot both be carried out" in found.sentence


def test_what_is_emptied_already_is_in_nobodys_way(tmp_path: Path) -> None:
    """A drain that is carried out and still measured, or of which only other moves are left, empties nothing more."""
    with Ledger.open(tmp_path / "ledger.db", StillClock()) as ledger:
        out = a_move(key="old", from_space="fast", to_space="slow")
        aside = a_move(2, key="aside", from_space="slow", to_space="third", route=a_route("aside", to_space="third"))
        drain = ledger.proposals.store(a_proposal(out, aside, purpose="drain fast"))
        ledger.proposals.approve(drain, who="ann", origin="db1", digest=ledger.proposals.row(drain).digest)
        other = ledger.proposals.store(a_proposal(a_move()))
        assert [found.numbers for found in conflicts_of(ledger, "shop")] == [(drain, other)]
        done = ledger.moves.rows(proposal_id=drain)[0].id
        for state in (MoveState.PRECHECK, MoveState.RUNNING, MoveState.PLACED):
            ledger.moves.transition(done, state, "as a test")
        assert conflicts_of(ledger, "shop") == ()


def test_what_is_decided_or_expired_counts_no_more(tmp_path: Path) -> None:
    """Struck moves, rejected and expired proposals are in nobody's way."""
    clock = StillClock()
    with Ledger.open(tmp_path / "ledger.db", clock) as ledger:
        away = a_move(to_space="other", route=a_route(to_space="other"))
        one = ledger.proposals.store(a_proposal(a_move(), a_move(2, key="b")))
        two = ledger.proposals.store(a_proposal(away, purpose="usage"))
        three = ledger.proposals.store(
            a_proposal(
                replace(away, to_space="third"), purpose="capacity", expires_at=clock.now() + timedelta(seconds=1)
            )
        )
        assert [c.numbers for c in conflicts_of(ledger, "shop")] == [(one, two), (one, three), (two, three)]
        clock.sleep(2)
        assert [c.numbers for c in conflicts_of(ledger, "shop")] == [(one, two)]
        ledger.proposals.strike(one, 1, who="ann", origin="db1", reason="not now")
        assert ledger.moves.rows(proposal_id=one)[0].state is MoveState.REJECTED
        assert conflicts_of(ledger, "shop") == ()
