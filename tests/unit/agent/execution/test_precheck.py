"""What must still hold just before a move starts."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from agent.ledger.rows import MoveRow
from agent.model.approvals import Conditions
from agent.model.proposals import UNDO, WAY_BACK
from agent.model.states import MoveState
from agent.moving.precheck import (
    Allowed,
    PrecheckFacts,
    PrecheckRefusal,
    _other_tier,
    _pin_against,
    precheck_group,
)
from connectors.model.observation import Home, Inspection, Space
from policies.model.settings import Pin
from tests.unit.samples import MADE_AT, MIB, a_move, a_proposal

INSPECTION = Inspection(home=Home.SOURCE, sentence="it is in slow", size_bytes=64 * MIB, on_disk=True)
TARGET = Space(name="fast", path="", used_bytes=0, free_bytes=200 * MIB, capacity_bytes=200 * MIB)
FACTS = PrecheckFacts(
    now=MADE_AT + timedelta(hours=1),
    fingerprint=a_proposal().fingerprint,
    inspection=INSPECTION,
    target=TARGET,
    head_room_ratio=0.1,
    table_ids=dict.fromkeys(a_move().route.bundle.unit_keys, 5),
)


def a_row(**changes: Any) -> MoveRow:
    """An approved move of 64 MiB to the space fast."""
    row = MoveRow(
        id=7, proposal_id=3, database="shop", fingerprint=FACTS.fingerprint, digest="d", move=a_move(),
        state=MoveState.PRECHECK, reason="", attempts=0, updated_at=MADE_AT, approved=True,
        planned_at=MADE_AT, expires_at=MADE_AT + timedelta(days=1),
    )  # fmt: skip
    return replace(row, **changes)


def alone(row: MoveRow, facts: PrecheckFacts) -> Allowed | PrecheckRefusal:
    """The precheck of a group of one move."""
    return precheck_group([row], [facts])


def test_nothing_stands_in_the_way() -> None:
    """As approved, with room: allowed."""
    assert alone(a_row(), FACTS) == Allowed()


@pytest.mark.parametrize(
    ("row", "facts", "code"),
    [
        ({"approved": False}, {}, "not_approved"),
        ({}, {"now": MADE_AT + timedelta(days=1)}, "expired"),
        ({}, {"fingerprint": "another cluster"}, "other_database"),
        ({}, {"inspection": replace(INSPECTION, home=Home.GONE)}, "gone"),
        ({}, {"inspection": replace(INSPECTION, home=Home.TARGET)}, "already_there"),
        ({}, {"inspection": replace(INSPECTION, home=Home.ELSEWHERE)}, "moved_by_others"),
        ({}, {"inspection": replace(INSPECTION, home=Home.SPLIT)}, "moved_by_others"),
        ({}, {"inspection": replace(INSPECTION, size_bytes=80 * MIB)}, "grown"),
        ({}, {"target": None}, "no_target"),
        ({}, {"other_tier": "hdd"}, "other_tier"),
        ({}, {"target": replace(TARGET, free_bytes=None, capacity_bytes=None)}, "room_unknown"),
        ({}, {"target": replace(TARGET, free_bytes=80 * MIB)}, "no_room"),
    ],
)
def test_each_reason_has_its_code(row: dict[str, Any], facts: dict[str, Any], code: str) -> None:
    """Whatever no longer holds is named, and the sentence says more."""
    answer = alone(a_row(**row), replace(FACTS, **facts))
    assert isinstance(answer, PrecheckRefusal)
    assert answer.code == code
    assert len(answer.sentence) > 20


@pytest.mark.parametrize(
    ("names", "tier", "reason", "found"),
    [
        (["ssd", "hdd"], 0, "promote", ""),
        (["ssd", "hdd"], 1, "promote", "hdd"),
        (["nvme", "ssd", "hdd"], 1, "promote", ""),
        (["flash", "hdd"], 0, "promote", ""),  # the tier has another name now
        (["ssd", "hdd"], -1, "promote", ""),  # in no tier: ``managed`` says so
        (["ssd", "hdd"], 1, UNDO, ""),
        (["ssd", "hdd"], 1, WAY_BACK, ""),
    ],
)
def test_the_tier_of_the_target_is_compared_by_its_name(names: list[str], tier: int, reason: str, found: str) -> None:
    """Only of what does not go back, and only where the approved name is still one of a tier."""
    row = a_row(move=replace(a_move(), reason=reason))
    assert _other_tier(row, names, {"fast": tier, "slow": 1}) == found


def test_another_table_under_the_approved_name_is_skipped() -> None:
    """By the id of the table, or as no unit is called that; what was stored before ids were recorded has the rest."""
    move = a_move()
    bundle = replace(move.route.bundle, table_ids=(5,))
    row = a_row(move=replace(move, route=replace(move.route, bundle=bundle)))
    (key,) = bundle.unit_keys
    assert alone(row, replace(FACTS, table_ids={key: 5})) == Allowed()
    answer = alone(row, replace(FACTS, table_ids={key: 6}))
    assert isinstance(answer, PrecheckRefusal)
    assert (answer.code, "had id 5, now 6" in answer.sentence) == ("other_object", True)
    assert alone(a_row(), replace(FACTS, table_ids={key: 6})) == Allowed()
    answer = alone(row, replace(FACTS, table_ids={}))
    assert isinstance(answer, PrecheckRefusal)
    assert (answer.code, "none with storage of its own" in answer.sentence) == ("other_object", True)


@pytest.mark.parametrize(
    ("limit", "now", "code"),
    [(None, 76, ""), (None, 78, "grown"), (90 * MIB, 90, ""), (90 * MIB, 91, "grown")],
)
def test_the_approved_limit_counts(limit: int | None, now: int, code: str) -> None:
    """What was approved with its growth may grow so far; of what an older version stored, by a fifth."""
    move = replace(a_move(), limit_bytes=limit)
    answer = alone(a_row(move=move), replace(FACTS, inspection=replace(INSPECTION, size_bytes=now * MIB)))
    assert (answer.code if isinstance(answer, PrecheckRefusal) else "") == code
    assert not isinstance(answer, PrecheckRefusal) or "were approved at most" in answer.sentence


@pytest.mark.parametrize(
    ("conditions", "facts", "code"),
    [
        ({"not_after": FACTS.now}, {}, "too_late"),
        ({"not_after": FACTS.now + timedelta(seconds=1)}, {}, ""),
        ({"most_bytes": 64 * MIB - 1}, {}, "too_many_bytes"),
        ({"most_bytes": 64 * MIB}, {}, ""),
        ({"most_bytes": 64 * MIB}, {"carried_bytes": 1}, "too_many_bytes"),
        ({"least_gain_per_hour": 60.0}, {"gain_per_hour": 59.0}, "too_little_gain"),
        ({"least_gain_per_hour": 60.0}, {"gain_per_hour": None}, "too_little_gain"),
        ({"least_gain_per_hour": 60.0}, {"gain_per_hour": 60.0}, ""),
    ],
)
def test_conditions_of_the_approval(conditions: dict[str, Any], facts: dict[str, Any], code: str) -> None:
    """A group that does not meet one of them is not begun, and the sentence names both figures."""
    answer = alone(a_row(), replace(FACTS, conditions=Conditions(**conditions), **facts))
    assert (answer.code if isinstance(answer, PrecheckRefusal) else "") == code


@pytest.mark.parametrize(("left", "allowed"), [(80.5, False), (82.0, True)])
def test_transient_space_grows_with_what_is_moved(left: float, allowed: bool) -> None:
    """8 MiB of transient space were approved for 64 MiB; 72 MiB take 9."""
    move = a_move()
    row = a_row(move=replace(move, route=replace(move.route, transient_bytes=8 * MIB)))
    free = round((20 + left) * MIB)
    target = replace(TARGET, used_bytes=200 * MIB - free, free_bytes=free)
    answer = alone(row, replace(FACTS, target=target, inspection=replace(INSPECTION, size_bytes=72 * MIB)))
    assert (answer == Allowed()) == allowed
    assert allowed or (isinstance(answer, PrecheckRefusal) and answer.code == "no_room")


def test_head_room_and_transient_space_count() -> None:
    """64 MiB into 84 MiB free of 200 fit above a head-room of 20, but not with 1 MiB of transient space more."""
    tight = replace(FACTS, target=replace(TARGET, used_bytes=116 * MIB, free_bytes=84 * MIB))
    assert alone(a_row(), tight) == Allowed()
    move = a_move()
    transient = replace(move, route=replace(move.route, transient_bytes=MIB))
    answer = alone(a_row(move=transient), tight)
    assert isinstance(answer, PrecheckRefusal)
    assert answer.code == "no_room"


def test_the_pin_of_what_a_split_takes_apart_is_known() -> None:
    """A split's bundle has no units, since its rows stay one table; the pin is the table's."""
    move = a_move()
    split = replace(move, route=replace(move.route, bundle=replace(move.route.bundle, unit_keys=())))
    pins = {"public.orders": SimpleNamespace(pattern="public.o*", pin=Pin.NEVER)}
    for each in (move, split):
        assert "is pinned to never" in _pin_against(a_row(move=each), pins, {"slow": 1, "fast": 0})
        assert _pin_against(a_row(move=each), pins, {"slow": 1, "fast": 2}) == ""
    assert _pin_against(a_row(), {"public.other": pins["public.orders"]}, {"slow": 1, "fast": 0}) == ""
