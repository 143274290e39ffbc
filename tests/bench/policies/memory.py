"""A ledger that forgets when the play is over."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agent.ledger.ledger import Ledger
from agent.ledger.rows import StepState
from agent.model.states import MoveState
from connectors.model.moves import SPLIT
from policies.model.moves import RouteCost
from tests.virtual_clock import EPOCH, VirtualClock


class Memory:
    """A ledger whose columns and moves are kept in memory; whatever else is asked, an empty real one answers."""

    def __init__(self, clock: VirtualClock) -> None:
        folder = tempfile.mkdtemp(prefix="hotplace-stage-")
        self._empty = Ledger.open(Path(folder) / "ledger.db", clock)
        weakref.finalize(self, _discard, self._empty, folder)
        self.moved: dict[str, datetime] = {}
        self._sent: list[SimpleNamespace] = []  # all moves of an hour and a direction, as if they were one
        self._kept: dict[str, tuple[datetime, Any]] = {}
        self.moves = SimpleNamespace(
            sent_statements=self.sent_statements,
            last_moved=self.last_moved,
            rows=self._empty.moves.rows,
            outcomes=self._empty.moves.outcomes,
        )
        self.pins = SimpleNamespace(rows=lambda _database, _now: [])  # nobody wishes for anything here
        self.slots = SimpleNamespace(  # no unit comes or goes
            of=lambda _database, keys: np.arange(len(keys), dtype=np.int64), count=lambda _database: 0
        )
        self.history = SimpleNamespace(append=lambda *_facts: 0)  # nobody asks for it here
        self.state = SimpleNamespace(
            save_arrays=self.save_arrays, save_document=self.save_document, load_arrays=self.load,
            load_document=self.load,
        )  # fmt: skip

    def __getattr__(self, name: str) -> Any:
        return getattr(self._empty, name)

    def note(
        self, down: Mapping[str, int], up: Mapping[str, int], started_at: datetime, seconds: float,
        costs: Mapping[str, RouteCost] | None = None,
    ) -> None:  # fmt: skip
        """Moves that are done, bytes by unit, what goes down first, in so many seconds together.

        ``costs``: predicted of each, from which the ledger learns how long copies take; None: they teach nothing.
        """
        rate = sum((*down.values(), *up.values())) / seconds
        ended_at = started_at + timedelta(seconds=seconds)
        self.moved.update(dict.fromkeys((*down, *up), ended_at))
        begin = started_at
        for units, way, reason in ((down, ("ssd", "hdd"), "make_room"), (up, ("hdd", "ssd"), "promote")):
            size, route = (
                sum(units.values()),
                SimpleNamespace(name="copy", bundle=SimpleNamespace(unit_keys=tuple(units))),
            )
            move = SimpleNamespace(
                size_bytes=size,
                reason=reason,
                from_tier=way[0],
                to_tier=way[1],
                route=route,
                cost=_added_up([costs[key] for key in units]) if costs and units else None,
            )
            end = begin + timedelta(seconds=size / rate)
            self._sent.append(
                SimpleNamespace(
                    move_id=len(self._sent), move=move, move_state=MoveState.KEPT, state=StepState.DONE,
                    intended_at=begin, ended_at=end,
                )
            )  # fmt: skip
            begin = end

    def note_split(self, size_bytes: int, cost: RouteCost, started_at: datetime, seconds: float) -> None:
        """A table that was split, which teaches how long splits take: ``size_bytes`` moved, predicted at a cost."""
        route = SimpleNamespace(name=SPLIT, bundle=SimpleNamespace(unit_keys=()))
        move = SimpleNamespace(
            size_bytes=size_bytes, reason="split", from_tier="hdd", to_tier="ssd", route=route, cost=cost
        )
        self._sent.append(
            SimpleNamespace(
                move_id=len(self._sent), move=move, move_state=MoveState.KEPT, state=StepState.DONE,
                intended_at=started_at, ended_at=started_at + timedelta(seconds=seconds),
            )
        )  # fmt: skip

    def sent_statements(self, database: str, since: datetime) -> list[Any]:
        """Those that had not ended before that, all carried out well."""
        return [row for row in self._sent if row.ended_at > since]

    def last_moved(self, database: str) -> dict[str, datetime]:
        """When each unit last arrived in a new home."""
        return self.moved

    def save_arrays(self, database: str, name: str, at: datetime, columns: Mapping[str, NDArray[Any]]) -> int:
        """Keep them; the bytes that they take."""
        self._kept[name] = (at, dict(columns))
        return sum(column.nbytes for column in columns.values())

    def save_document(self, database: str, name: str, document: object) -> None:
        """Keep it."""
        self._kept[name] = (EPOCH, document)

    def load(self, database: str, name: str) -> tuple[datetime, Any] | None:
        """What was kept."""
        return self._kept.get(name)


def _added_up(costs: Sequence[RouteCost]) -> RouteCost:
    """What was predicted of several moves, as of one."""
    return RouteCost(
        log_seconds=sum(cost.log_seconds for cost in costs),
        blocked_seconds=sum(cost.blocked_seconds for cost in costs),
        follow_up_seconds=sum(cost.follow_up_seconds for cost in costs),
        copying=tuple(part for cost in costs for part in cost.copying or ()),
        around_seconds=sum(cost.around_seconds for cost in costs),
    )


def _discard(ledger: Ledger, folder: str) -> None:
    ledger.close()
    shutil.rmtree(folder, ignore_errors=True)
