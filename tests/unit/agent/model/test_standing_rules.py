"""What a standing rule covers is judged by the proposal alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from agent.model.approvals import Conditions, LockClass, StandingRule, find_refusal
from connectors.model.moves import SPLIT, Locked
from connectors.model.new_space import DROP_SPACE, NEW_SPACE
from tests.over import over
from tests.unit.samples import a_move, a_proposal

MIB = 1 << 20
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
RULE = StandingRule(
    database="shop", fingerprint="cluster 1 database 5", mode="hsm", units=("public.*", "audit.log"),
    most_bytes=64 * MIB, locks=LockClass.BRIEF, most_stall_seconds=0.5, least_gain_per_hour=700.0, most_a_day=2,
    expires_at=datetime(2026, 4, 1, tzinfo=UTC), windows=("sat 22:00-04:00",), time_zone="Europe/Berlin",
)  # fmt: skip
_MOVE = a_move()
MOVE = replace(_MOVE, route=replace(_MOVE.route, locked=Locked.BRIEFLY, lock_seconds=0.5))
_BUNDLE = replace(MOVE.route.bundle, unit_keys=(MOVE.key, "hr.salaries"))
WITH_ANOTHER = replace(MOVE, route=replace(MOVE.route, bundle=_BUNDLE))  # of another table, which moves with it
LISTED = 'public."a[1]"'
PROPOSAL = a_proposal(MOVE, wait_saved_low_per_hour=700.0)


def locking(locked: Locked | None, key: str = "public.orders") -> dict[str, Any]:
    """A proposal's move whose route locks so much."""
    return {"moves": (replace(MOVE, key=key, route=replace(MOVE.route, locked=locked)),)}


def test_at_its_limits_it_is_covered() -> None:
    """Each limit is one that may be reached."""
    assert find_refusal(RULE, PROPOSAL, NOW) == ""


BEYOND: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"mode": "usage ssd"}, {}, "it is for the mode usage ssd"),
    ({"units": ("audit.*",)}, {}, "public.orders matches none of audit.*"),
    ({"units": ("PUBLIC.*",)}, {}, "matches none"),
    ({"units": (LISTED,)}, locking(Locked.BRIEFLY, 'public."a1"'), 'public."a1" matches none'),
    ({"most_bytes": 64 * MIB - 1}, {}, "64.0 MiB would be moved"),
    ({"locks": LockClass.NONE}, {}, "it allows locks of the class none"),
    ({}, locking(Locked.WRITES), "is writes, it allows locks of the class brief"),
    ({"locks": LockClass.ANY, "most_stall_seconds": 1.9}, locking(Locked.ALL), "may hold up others for 2"),
    ({}, locking(None), "is not known, it allows locks of the class brief"),
    ({"locks": LockClass.ANY}, locking(None), "may hold up others for an unknown time"),
    ({}, locking(Locked.NOTHING, "other.orders"), "other.orders matches none"),
    ({}, {"moves": (WITH_ANOTHER,)}, "hr.salaries matches none"),
    ({"most_stall_seconds": 0.4}, {}, "may hold up others for 500 ms"),
    ({"least_gain_per_hour": 700.5}, {}, "the lower end of the gain is"),
    ({}, {"wait_saved_low_per_hour": None}, "the lower end of the gain is not known"),
    ({}, {"wait_saved_low_per_hour": float("nan")}, "the lower end of the gain"),
    ({"database": "other"}, {}, "it is for other"),
    ({"fingerprint": "cluster 2"}, {}, "with the fingerprint cluster 2"),
    ({}, {"purpose": "undo 1"}, "it is for the mode hsm"),
    ({}, {"moves": (replace(MOVE, undoes=1),)}, "it is for the mode hsm"),
    ({}, {"moves": (replace(MOVE, route=replace(MOVE.route, name=NEW_SPACE)),)}, "which a person decides each time"),
    ({}, {"moves": (replace(MOVE, route=replace(MOVE.route, name=DROP_SPACE)),)}, "which a person decides each time"),
    (
        {},
        {"moves": (replace(MOVE, route=replace(MOVE.route, name=SPLIT)),)},
        "is split for good, which a person decides",
    ),
]


@over(("limits", "proposal", "why"), BEYOND)
def test_beyond_a_limit_it_is_not(limits: dict[str, Any], proposal: dict[str, Any], why: str) -> None:
    """One limit at a time; the reason names it."""
    assert why in find_refusal(replace(RULE, **limits), replace(PROPOSAL, **proposal), NOW)


def test_a_key_means_its_unit_whatever_its_name_holds() -> None:
    """Brackets are no set of characters."""
    route = replace(MOVE.route, bundle=replace(MOVE.route.bundle, unit_keys=(LISTED, f"{LISTED}_pkey")))
    move = replace(MOVE, key=LISTED, route=route)
    assert find_refusal(replace(RULE, units=(LISTED, f"{LISTED}_p*")), replace(PROPOSAL, moves=(move,)), NOW) == ""


def test_a_stall_is_a_limit_of_its_own() -> None:
    """A route that locks all is covered by a rule that allows so long a stall."""
    rule = replace(RULE, locks=LockClass.ANY, most_stall_seconds=MOVE.copy_seconds)
    assert find_refusal(rule, replace(PROPOSAL, **locking(Locked.ALL)), NOW) == ""


def test_what_was_struck_from_is_not_covered() -> None:
    """The gain that was predicted is that of all moves."""
    assert "a move was struck" in find_refusal(RULE, PROPOSAL, NOW, struck=1)


def test_a_rule_that_is_none_is_refused() -> None:
    """For modes that do not come of their own, for no unit, no byte or no proposal."""
    for change in ({"mode": "undo 3"}, {"units": ()}, {"units": (" ",)}, {"most_bytes": 0}, {"most_a_day": 0}):
        with pytest.raises(ValueError, match="standing rule"):
            replace(RULE, **change)


def test_its_limits_are_conditions_of_what_it_approves() -> None:
    """Bytes, end, gain and windows are asked again at the first statement; all of it reads back."""
    conditions = RULE.conditions
    assert (conditions.most_bytes, conditions.not_after) == (RULE.most_bytes, RULE.expires_at)
    assert Conditions.from_facts(conditions.facts) == conditions
    assert "within sat 22:00-04:00 (Europe/Berlin)" in str(conditions)
    assert conditions.calendar is not None
    assert conditions.calendar.contains(datetime(2026, 3, 7, 21, 30, tzinfo=UTC))  # 22:30 in Berlin
    assert not conditions.calendar.contains(datetime(2026, 3, 7, 20, 30, tzinfo=UTC))
    assert StandingRule.from_facts(RULE.facts) == RULE
