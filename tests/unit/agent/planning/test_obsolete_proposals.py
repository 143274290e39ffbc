"""Proposals that wait for a decision: what takes their basis away."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from agent.model.proposals import Proposal, in_words, purpose_of
from agent.planning.situation import why_obsolete
from connectors.model.moves import Container
from connectors.model.observation import NO_PARENT, Catalog, Space, UnitTable
from policies.placement.dispatch import Capacity, Drain, Hsm, HsmSubtype, Mode, Preference, Usage
from tests.unit.samples import MADE_AT, a_move, a_proposal, a_route

SPACES = ("slow", "fast")
TWO = a_proposal(a_move(1, key="a"), a_move(2, key="b"))
FILE = Container(name="one", path="/d/one", size_bytes=10, used_bytes=5)


def catalog(containers: tuple[Container, ...] = (), **homes: str) -> Catalog:
    """Units by name with their space, as read a minute after the proposals were made; containers are in ``slow``."""
    ids = np.arange(len(homes), dtype=np.int64)
    return Catalog(
        taken_at=MADE_AT + timedelta(minutes=1),
        spaces=tuple(
            Space(name=name, path="", used_bytes=0, free_bytes=None, capacity_bytes=None, containers=found)
            for name, found in zip(SPACES, (containers, ()), strict=True)
        ),
        units=UnitTable(
            physical_id=ids, key=tuple(homes), kind=np.zeros(len(ids), np.int8), size_bytes=ids,
            space=np.array([SPACES.index(home) for home in homes.values()], dtype=np.int32), bundle=ids,
            parent=np.full(len(ids), NO_PARENT),
        ),
    )  # fmt: skip


def why(proposal: Proposal, found: Catalog) -> str | None:
    """Of a database that is the one it was made for."""
    return why_obsolete(proposal, proposal.fingerprint, found)


def test_one_move_that_could_begin_is_enough() -> None:
    """Units that came, grew or went beside it take nothing away; with the last one gone there is nothing to decide."""
    assert why(TWO, catalog(a="slow", b="slow", c="slow")) is None
    assert why(TWO, catalog(b="slow")) is None
    assert why(TWO, catalog(a="fast", b="slow")) is None
    assert why(TWO, catalog(a="fast", b="fast")) == "a is in fast, not in slow"
    assert why(TWO, catalog(b="fast")) == "a is gone"


def test_another_database_or_an_older_catalog() -> None:
    """What was made for another database is void; a catalog from before the proposal cannot know its units."""
    assert why_obsolete(TWO, "another", catalog(a="slow")) is not None
    assert why(TWO, replace(catalog(), taken_at=MADE_AT - timedelta(seconds=1))) is None


def test_a_container_that_is_gone() -> None:
    """By name; unseen containers tell nothing, and one that is to be put back is not there yet."""
    route = a_route("one of slow", to_space="slow")
    route = replace(route, bundle=replace(route.bundle, unit_keys=(), container="one"))
    move = a_move(1, key="one of slow", route=route, to_space="slow")
    out, back = a_proposal(move), a_proposal(replace(move, undoes=7))
    other = replace(FILE, name="two", path="/d/two")
    assert [why(out, catalog(found)) for found in ((FILE, other), ())] == [None, None]
    assert why(out, catalog((other,))) == "slow has no container one any more"
    assert why(back, catalog((other,))) is None
    assert why(a_proposal(replace(move, from_space="tape")), catalog((FILE,))) == "space tape is gone"


@pytest.mark.parametrize(
    ("mode", "purpose", "words"),
    [
        (Hsm(), "hsm", "hot up, cold down"),
        (Hsm(subtype=HsmSubtype.SSD), "hsm ssd", "cold off the fastest tier"),
        (Hsm(subtype=HsmSubtype.HDD), "hsm hdd", "hot to the fastest tier"),
        (Usage(), "usage", "even load among the spaces"),
        (Usage(tier="ssd"), "usage ssd", "even load among the spaces of ssd"),
        (Capacity(tier="hdd"), "capacity hdd", "even fill among the spaces of hdd"),
        (Preference(), "preference", "what is pinned to where it belongs"),
        (Drain(space="usage x"), "drain usage x", "drain usage x"),
    ],
)
def test_each_mode_is_a_question_of_its_own(mode: Mode, purpose: str, words: str) -> None:
    """Stored in the words of the command that asks it, and shown in words that need no command."""
    assert purpose_of(mode) == purpose
    assert in_words(purpose) == words
    assert in_words("undo 3, 4") == "undo 3, 4"
