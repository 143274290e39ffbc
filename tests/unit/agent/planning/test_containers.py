"""Containers of a space: their room, and what one of them leaves to the others."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.config.models import DatabaseConfig
from agent.model.proposals import CONTAINER
from agent.planning.single_moves import TakingOut, take_out, without
from connectors.kit.contract import Connector
from connectors.model.moves import Bundle, ByHand, Container, NoRoute, Room, Route, find_container, others, room_in
from connectors.model.observation import Catalog, Space, UnitTable
from policies.placement.dispatch import UnknownName
from tests.unit.samples import MADE_AT, a_route

ONE = Container(name="one", path="/d/one", size_bytes=100, used_bytes=60, growth_bytes=50, device="d", holder="A")
TWO = replace(ONE, name="two", path="/d/two", used_bytes=30, growth_bytes=200)
ELSEWHERE = replace(ONE, name="three", path="/e/three", used_bytes=10, growth_bytes=0, device="e")
FOREIGN = replace(ONE, name="four", path="/d/four", holder="B")
ALL = (ONE, TWO, ELSEWHERE, FOREIGN)


def test_room_on_one_device_counts_once() -> None:
    """40 + 70 + 90 inside; on d the two grow into the same bytes, as far as the one that may grow most: 200."""
    assert room_in((ONE, TWO, ELSEWHERE)) == Room(used_bytes=100, free_bytes=400)
    assert room_in((ONE, replace(TWO, used_bytes=None))) is None
    assert room_in((ONE, replace(TWO, growth_bytes=None))) is None
    assert room_in(()) == Room(used_bytes=0, free_bytes=0)


def test_bytes_stay_with_their_holder() -> None:
    """By name or path; a file of another table space on the same disk takes nothing in."""
    assert find_container(ALL, "two") is find_container(ALL, "/d/two") is TWO
    assert find_container(ALL, "/d") is None
    assert others(ALL, "one") == (TWO, ELSEWHERE)
    assert others(ALL, "gone") == ALL


containers = st.lists(
    st.builds(
        Container,
        name=st.just(""), path=st.just(""), size_bytes=st.integers(0, 1000), used_bytes=st.integers(0, 1000),
        growth_bytes=st.integers(0, 1000), device=st.sampled_from(["", "d", "e"]), holder=st.just("A"),
    ),
    min_size=1, max_size=6,
)  # fmt: skip


@given(containers)
def test_less_containers_have_less_room(found: list[Container]) -> None:
    """Whichever goes, the rest never has more than all, nor more than each for itself; and what is used adds up."""
    own = tuple(replace(each, name=str(at)) for at, each in enumerate(found))
    whole = room_in(own)
    assert whole is not None
    assert whole.free_bytes <= sum(each.free_bytes or 0 for each in own)
    space = Space(name="A", path="", used_bytes=0, free_bytes=None, capacity_bytes=None, containers=own)
    for each in own:
        rest = without(space, each.name)
        assert rest.free_bytes is not None
        assert rest.free_bytes <= whole.free_bytes
        assert rest.used_bytes + (each.used_bytes or 0) == whole.used_bytes
        assert rest.capacity_bytes == rest.used_bytes + rest.free_bytes


SLOW = Space(name="slow", path="", used_bytes=100, free_bytes=400, capacity_bytes=500, containers=ALL)
DATABASE = DatabaseConfig.model_validate(
    {"name": "shop", "engine": "simulated", "connection": {}, "tiers": [{"name": "hdd", "spaces": ["slow"]}],
     "policy": {"head_room": "10%"}}
)  # fmt: skip
BY_HAND = ByHand(statements=("REMOVE",), because="only a person may")


class Engine:
    """One space, and a way for each container of it."""

    def __init__(self, *containers: Container, answer: ByHand | NoRoute | None = None) -> None:
        self.space, self._answer = replace(SLOW, containers=containers), answer

    def catalog(self) -> Catalog:
        """Without units."""
        none = np.empty(0, dtype=np.int64)
        units = UnitTable(
            physical_id=none, key=(), kind=none.astype(np.int8), size_bytes=none, space=none.astype(np.int32),
            bundle=none, parent=none,
        )  # fmt: skip
        return Catalog(taken_at=MADE_AT, spaces=(self.space,), units=units)

    def identify(self) -> SimpleNamespace:
        """Some database."""
        return SimpleNamespace(fingerprint="this one")

    def routes_out(self, bundle: Bundle) -> Route | ByHand | NoRoute:
        """The answer that was given, else a route."""
        return self._answer or replace(a_route(), bundle=bundle, to_space="")


def taken_out(engine: Engine, name: str = "one") -> TakingOut | None:
    """What there is to do about it."""
    return take_out(DATABASE, cast(Connector, engine), "slow", name, MADE_AT, asked_by="ann")


def test_a_container_that_others_can_take_in_leaves() -> None:
    """Proposed as one move of the bytes that it holds, by whom, until when, and on what tier it stays."""
    found = taken_out(Engine(*ALL))
    assert found is not None
    assert isinstance(found.answer, Route)
    assert (found.container, found.space.name) == (ONE, "slow")
    assert found.proposal is not None
    (move,) = found.proposal.moves
    assert (move.size_bytes, move.to_tier, move.reason) == (60, "hdd", CONTAINER)
    assert (found.proposal.fingerprint, found.proposal.asked_by) == ("this one", "ann")
    assert found.proposal.expires_at - MADE_AT == timedelta(seconds=DATABASE.proposal_expires_seconds)


def test_the_last_bytes_of_the_others_count() -> None:
    """30 of 72 are used, and a tenth of 72 is head-room: 34 fit; one byte less room and they do not."""
    fits = replace(ONE, size_bytes=34, used_bytes=34)
    other = replace(TWO, size_bytes=72, used_bytes=30, growth_bytes=0)
    found = taken_out(Engine(fits, other))
    assert found is not None
    assert isinstance(found.answer, Route)
    found = taken_out(Engine(fits, replace(other, size_bytes=70)))
    assert found is not None
    assert isinstance(found.answer, NoRoute)
    assert (found.answer.code, found.proposal) == ("no_room", None)


@pytest.mark.parametrize(("answer", "shown"), [(None, NoRoute), (BY_HAND, ByHand)])
def test_where_room_is_unknown_only_a_person_goes_on(answer: ByHand | None, shown: type) -> None:
    """He can look; the agent must not guess. What is known not to fit is refused to both."""
    found = taken_out(Engine(ONE, replace(TWO, used_bytes=None), answer=answer))
    assert found is not None
    assert isinstance(found.answer, shown)
    assert found.proposal is None
    full = taken_out(Engine(ONE, replace(TWO, used_bytes=TWO.size_bytes, growth_bytes=0), answer=answer))
    assert full is not None
    assert isinstance(full.answer, NoRoute)
    assert full.answer.code == "no_room"


def test_what_cannot_leave_is_told() -> None:
    """The only container of its holder, the only one at all, one that the engine keeps, and names that are none."""
    alone = taken_out(Engine(ONE, FOREIGN))
    assert alone is not None
    assert isinstance(alone.answer, NoRoute)
    assert alone.answer.code == "only_one"
    assert taken_out(Engine(ONE)) is None
    kept = taken_out(Engine(*ALL, answer=NoRoute(code="in_use", sentence="it is in use")))
    assert kept is not None
    assert kept.answer == NoRoute(code="in_use", sentence="it is in use")
    for space, name in (("fast", "one"), ("slow", "five")):
        with pytest.raises(UnknownName, match="there are"):
            take_out(DATABASE, cast(Connector, Engine(*ALL)), space, name, MADE_AT)
