"""What an undo sends: the bytes that units have now, and the way back of a container by its own statements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from agent.config.models import DatabaseConfig
from agent.ledger.ledger import Ledger
from agent.ledger.rows import MoveRow
from agent.model.proposals import CONTAINER, CannotUndo, ProposedMove
from agent.model.states import MoveState
from agent.planning.undo import propose_undo
from connectors.kit.contract import Connector
from connectors.model.moves import Bundle, Route, UnitKind
from connectors.model.observation import I64, Catalog, Space, UnitTable
from tests.ledger.clock import StillClock
from tests.unit.samples import MADE_AT, MIB, a_move, a_proposal, a_route

KEY = "public.orders"
DATABASE = DatabaseConfig.model_validate(
    {"name": "shop", "engine": "simulated", "connection": {},
     "tiers": [{"name": "ssd", "spaces": ["fast"]}, {"name": "hdd", "spaces": ["slow"]}]}
)  # fmt: skip


class Engine:
    """One table, on the fast space by now; ``exactly``: its bytes, less than 0 where they are not known."""

    def __init__(self, exactly: int) -> None:
        self._exactly = exactly

    def catalog(self) -> Catalog:
        """As a catalog has it: 48 MiB, about."""
        units = UnitTable(
            physical_id=np.array([7]), key=(KEY,), kind=np.array([int(UnitKind.TABLE)], dtype=np.int8),
            size_bytes=np.array([48 * MIB]), space=np.array([0], dtype=np.int32), bundle=np.array([0]),
            parent=np.array([-1]),
        )  # fmt: skip
        spaces = (
            Space(name=name, path="", used_bytes=0, free_bytes=None, capacity_bytes=None) for name in ("fast", "slow")
        )
        return Catalog(taken_at=MADE_AT, spaces=tuple(spaces), units=units)

    def exact_sizes(self, physical_ids: I64) -> I64:
        """Of that table; asked about nothing else."""
        assert physical_ids.tolist() == [7]
        return np.array([self._exactly])

    def identify(self) -> SimpleNamespace:
        """The database of the samples."""
        return SimpleNamespace(fingerprint=a_proposal().fingerprint)

    def routes(self, bundle: Bundle, to_space: str) -> tuple[Route, ...]:
        """One way for everything."""
        return (replace(a_route(bundle.key, to_space=to_space), bundle=bundle),)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """Empty."""
    with Ledger.open(tmp_path / "ledger.db", StillClock()) as opened:
        yield opened


def placed(ledger: Ledger, move: ProposedMove) -> MoveRow:
    """That move, approved and carried out."""
    number = ledger.proposals.store(a_proposal(move))
    ledger.proposals.approve(number, who="anna", origin="test", digest=ledger.proposals.row(number).digest)
    for state in (MoveState.PRECHECK, MoveState.RUNNING, MoveState.PLACED):
        ledger.moves.transition(1, state, "as a test")
    return ledger.moves.row(1)


def undo_of(ledger: Ledger, row: MoveRow, exactly: int) -> ProposedMove:
    """The move that is proposed to take another back."""
    engine = cast(Connector, Engine(exactly))
    number = propose_undo([row], DATABASE, engine, ledger, MADE_AT, asked_by="ann")
    (back,) = ledger.proposals.row(number).proposal.moves
    return back


@pytest.mark.parametrize(("exactly", "size"), [(50 * MIB, 50 * MIB), (0, 0), (-1, 48 * MIB)])
def test_an_undo_copies_the_bytes_that_there_are_now(ledger: Ledger, exactly: int, size: int) -> None:
    """An emptied table has none; where the engine knows no better, the catalog's count."""
    back = undo_of(ledger, placed(ledger, a_move(key=KEY)), exactly)
    assert (back.key, back.to_space, back.size_bytes) == (KEY, "slow", size)


def test_a_container_goes_back_by_what_was_shown(ledger: Ledger) -> None:
    """It holds no unit whose bytes could be asked for; its statements were known when it left."""
    bundle = Bundle(
        key="one of TS", physical_ids=(), unit_keys=(), kind=UnitKind.TABLE, size_bytes=MIB, space="fast",
        container="one",
    )  # fmt: skip
    route = replace(a_route("one"), bundle=bundle, to_space="fast", undo_bytes=2 * MIB)
    move = a_move(key=bundle.key, route=route, from_space="fast", reason=CONTAINER, size_bytes=MIB)
    back = undo_of(ledger, placed(ledger, move), -1)
    assert (back.route.steps, back.size_bytes) == (route.undo_steps, 2 * MIB)


def test_what_was_made_is_not_taken_away(ledger: Ledger) -> None:
    """A new partition may hold rows by now."""
    route = replace(a_route(KEY), bundle=replace(a_route(KEY).bundle, unit_keys=(), physical_ids=()))
    row = placed(ledger, a_move(key=KEY, route=route))
    with pytest.raises(CannotUndo, match=r"made public\.orders, which is not taken away"):
        undo_of(ledger, row, -1)
