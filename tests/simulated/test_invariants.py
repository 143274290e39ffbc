"""What no sequence of statements, faults and drops can break."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.kit.contract import ConnectorError
from connectors.model.moves import UnitKind
from connectors.simulated.language import Move, parse, qualify, quote
from connectors.simulated.scenarios import UnitSpec
from tests.examples import examples
from tests.simulated.worlds import make

NAMES = ["orders", "orders_pkey", "archive_2019", "documents", "events", "history", "no such table", "products_pkey"]
ACTIONS = st.one_of(
    st.tuples(
        st.just("move"),
        st.sampled_from(["TABLE", "INDEX"]),
        st.sampled_from(NAMES),
        st.sampled_from(["hdd", "ssd", "none"]),
        st.booleans(),
    ),
    st.tuples(st.just("drop"), st.sampled_from(NAMES)),
    st.tuples(st.just("create"), st.sampled_from(NAMES), st.integers(0, 9 * 10**9)),
    st.tuples(st.just("interrupt"), st.floats(0.0, 20.0)),
)
FAULTS = [{"kind": kind, "probability": 0.1} for kind in ("lock_not_obtained", "broken_before", "broken_after")]


class _Run:
    """A world that things are done to, and what its bytes must be."""

    def __init__(self, seed: int) -> None:
        self.world, self.connector, self.clock = make(seed=seed, faults=FAULTS)
        self.mover: Any = None
        self.expected_bytes = int(self.world.placement.used_bytes().sum())

    def do(self, action: tuple[Any, ...]) -> None:
        """One action; refusals are part of the game."""
        before = self.total()
        if action[0] == "move":
            self.move(*action[1:])
            assert self.total() == before
        elif action[0] == "drop":
            self.world.drop(qualify("shop", action[1]))
            assert self.total() <= before
        elif action[0] == "create":
            self.create(action[1], action[2], before)
        elif self.mover is None:
            self.clock.call_later(action[1], self.interrupt)
        assert np.all(self.world.placement.free_bytes() >= 0)
        assert not self.world.placement.running

    def move(self, word: str, name: str, space: str, online: bool) -> None:
        """While the copy runs, nobody sees a space beyond its capacity either."""
        self.clock.call_later(0.2, self.look)
        with self.connector.open_mover() as self.mover:
            try:
                suffix = " ONLINE" if online else ""
                self.mover.run(f"MOVE {word} {qualify('shop', name)} TO SPACE {quote(space)}{suffix}")
            except ConnectorError:
                pass
        self.mover = None

    def create(self, name: str, size_bytes: int, before: int) -> None:
        """Refused when it does not fit or is there already."""
        spec = UnitSpec(key=qualify("shop", name), kind=UnitKind.TABLE, size_bytes=size_bytes, space="ssd")
        try:
            self.world.create([spec])
        except ConnectorError:
            assert self.total() == before
        else:
            assert self.total() == before + size_bytes

    def look(self) -> None:
        """Free room as anybody sees it."""
        assert np.all(self.world.placement.free_bytes() >= 0)

    def interrupt(self) -> None:
        """Whatever runs now."""
        if self.mover is not None:
            self.mover.interrupt()

    def total(self) -> int:
        """Bytes of all living units."""
        return int(self.world.placement.used_bytes().sum())


@settings(max_examples=examples(60), deadline=None)
@given(seed=st.integers(0, 1000), actions=st.lists(ACTIONS, max_size=12))
def test_capacity_holds_and_bytes_are_conserved(seed: int, actions: list[tuple[Any, ...]]) -> None:
    """No space is ever beyond its capacity, and moves neither make nor lose a byte."""
    run = _Run(seed)
    for action in actions:
        run.do(action)
    assert np.array_equal(
        run.world.placement.used_bytes(), [space.used_bytes for space in run.connector.catalog().spaces]
    )


@given(schema=st.text(min_size=1), name=st.text(min_size=1), space=st.text(min_size=1), online=st.booleans())
def test_any_name_survives_quoting(schema: str, name: str, space: str, online: bool) -> None:
    """What is quoted is parsed back as the same names, whatever they hold."""
    sql = f"/* hotplace */ MOVE TABLE {qualify(schema, name)} TO SPACE {quote(space)}{' ONLINE' if online else ''}"
    assert parse(sql) == Move("TABLE", qualify(schema, name), space, online)
