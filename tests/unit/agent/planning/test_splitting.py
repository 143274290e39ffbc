"""A table split along a column: one move that copies nothing, to the fastest space unless another is named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from agent.config.models import DatabaseConfig
from agent.planning.single_moves import Splitting, split_table
from connectors.kit.contract import Connector
from connectors.model.moves import Border, Bundle, Locked, NoRoute, Route, Transfer, UnitKind
from connectors.model.observation import Catalog, Space, UnitTable
from policies.placement.dispatch import UnknownName
from tests.unit.samples import MADE_AT, MIB, a_route

DATABASE = DatabaseConfig.model_validate(
    {"name": "shop", "engine": "simulated", "connection": {},
     "tiers": [{"name": "ssd", "spaces": ["fast"]}, {"name": "hdd", "spaces": ["slow"]}]}
)  # fmt: skip
BORDER = Border(column="made_at", value="2026-01-01")
READ = 256 * MIB
"""Bytes of a table that are read once, for no row of it may lie behind the border."""


class Engine:
    """Two tables and an index, all on the slow space."""

    keys = ("public.first", "public.orders", "public.orders_pkey")

    def catalog(self) -> Catalog:
        """With its spaces, the slow one first."""
        units = UnitTable(
            physical_id=np.array([5, 6, 7]), key=self.keys, size_bytes=np.array([READ] * 3),
            kind=np.array([int(UnitKind.TABLE), int(UnitKind.TABLE), int(UnitKind.INDEX)], dtype=np.int8),
            space=np.array([0, 0, 0], dtype=np.int32), bundle=np.array([0, 1, 2]), parent=np.array([-1, -1, 6]),
        )  # fmt: skip
        spaces = tuple(
            Space(name=name, path="", used_bytes=0, free_bytes=None, capacity_bytes=None) for name in ("slow", "fast")
        )
        return Catalog(taken_at=MADE_AT, spaces=spaces, units=units)

    def identify(self) -> SimpleNamespace:
        """Some database."""
        return SimpleNamespace(fingerprint="this one")

    def routes_split(self, bundle: Bundle, border: Border, to_space: str) -> Route:
        """It reads the table once."""
        assert border == BORDER
        read = Transfer(space="slow", bytes=READ, written=False)
        return replace(a_route(bundle.key, to_space=to_space), bundle=bundle, copies=(read,))


def split(
    engine: object, key: str = "public.orders", to_space: str | None = None, *, mover: object | None = None
) -> Splitting:
    """How it is split, by the engine as the moving account sees it if that is given."""
    watched, moving = cast(Connector, engine), cast(Connector, mover) if mover else None
    return split_table(DATABASE, watched, moving, key, BORDER, to_space, MADE_AT, asked_by="ann")


def test_a_split_is_proposed_as_one_move_that_copies_nothing() -> None:
    """Of the table that was named, to the first space of the fastest tier; what is read takes its time."""
    found = split(Engine())
    assert (found.to_space, found.key) == ("fast", "public.orders")
    assert found.proposal is not None
    (move,) = found.proposal.moves
    assert (move.ordinal, move.key, move.size_bytes, move.route.bundle.size_bytes) == (1, "public.orders", 0, 0)
    assert move.route.bundle.physical_ids == (6,)
    assert (move.from_tier, move.to_tier) == ("hdd", "ssd")
    assert move.copy_seconds == pytest.approx(READ / DATABASE.policy_settings().copy_bytes_per_second)
    assert (found.proposal.fingerprint, found.proposal.asked_by) == ("this one", "ann")
    assert (found.proposal.wait_saved_per_hour, found.proposal.bound_per_hour) == (0.0, 0.0)
    other = split(Engine(), to_space="slow").proposal
    assert other is not None
    assert other.moves[0].to_space == "slow"


class Moving(Engine):
    """One that moves rows while it holds its lock."""

    def routes_split(self, bundle: Bundle, border: Border, to_space: str) -> Route:
        """The same, locked."""
        bundle = replace(bundle, size_bytes=16 * MIB)
        return replace(super().routes_split(bundle, border, to_space), locked=Locked.ALL)


def test_a_split_that_moves_rows_says_what_and_for_how_long() -> None:
    """Sessions wait for that."""
    proposal = split(Moving()).proposal
    assert proposal is not None
    said = "about 16.0 MiB by the server's statistics, are moved to fast while the table is locked for about"
    assert said in proposal.moves[0].sentence


class Powerless(Engine):
    """What a moving account sees that may not do it."""

    def refuse_split(self, _: Route) -> NoRoute | None:
        """It owns nothing."""
        return NoRoute(code="rights", sentence="it is not the owner")


def test_the_moving_account_is_asked_whether_it_may() -> None:
    """Its way counts where there is one, and what it lacks is said in place of a proposal."""
    assert split(Rigid(), mover=Engine()).proposal is not None
    refused = split(Engine(), mover=Powerless())
    assert refused.proposal is None
    assert refused.answer == NoRoute(code="rights", sentence="it is not the owner")


class Rigid(Engine):
    """One that splits nothing."""

    routes_split = None  # type: ignore[assignment]  # as an engine that has no such method


def test_what_cannot_be_split_is_told() -> None:
    """An index, a table of an engine that splits none, and names that are none."""
    answer = split(Engine(), "public.orders_pkey").answer
    assert isinstance(answer, NoRoute)
    assert answer.code == "no_table"
    answer = split(Rigid()).answer
    assert isinstance(answer, NoRoute)
    assert answer.code == "not_offered"
    asked: tuple[tuple[Callable[[], Splitting], str], ...] = (
        (lambda: split(Engine(), "public.none"), "no unit has the key 'public.none'"),
        (lambda: split(Engine(), to_space="nowhere"), "is named"),
    )
    for ask, said in asked:
        with pytest.raises(UnknownName, match=said):
            ask()
