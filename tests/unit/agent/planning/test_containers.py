"""Containers of a space: their room, and what one of them leaves to the others."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from agent.planning.containers import without
from connectors.containers import Container, Room, find_container, others, room_in
from connectors.model import Space

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
