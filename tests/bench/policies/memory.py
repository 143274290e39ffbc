"""A ledger that forgets when the play is over."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agent.ledger import Ledger, StepState
from connectors.model import I64
from connectors.simulated.clock import EPOCH, VirtualClock


class Memory:
    """A ledger whose columns and moves are kept in memory; whatever else is asked, an empty real one answers."""

    def __init__(self, clock: VirtualClock) -> None:
        folder = tempfile.mkdtemp(prefix="hotplace-stage-")
        self._empty = Ledger.open(Path(folder) / "ledger.db", clock)
        weakref.finalize(self, _discard, self._empty, folder)
        self.moved: dict[str, datetime] = {}
        self._runs: list[SimpleNamespace] = []  # all moves of an hour, as if they were one
        self._kept: dict[str, tuple[datetime, Any]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._empty, name)

    def note(self, keys: Iterable[str], size_bytes: int, started_at: datetime, ended_at: datetime) -> None:
        """Moves that are done."""
        self.moved.update(dict.fromkeys(keys, ended_at))
        step = SimpleNamespace(state=StepState.DONE, intended_at=started_at, ended_at=ended_at)
        move = SimpleNamespace(size_bytes=size_bytes)
        self._runs.append(SimpleNamespace(id=len(self._runs), move=move, updated_at=ended_at, steps=[step]))

    def moves(self, **asked: object) -> list[Any]:
        """Those that ended well, which are all."""
        return list(self._runs)

    def steps(self, move_id: int) -> list[Any]:
        """One a move."""
        steps: list[Any] = self._runs[move_id].steps
        return steps

    def last_moved(self, database: str) -> dict[str, datetime]:
        """When each unit last arrived in a new home."""
        return self.moved

    def slots(self, database: str, keys: Sequence[str]) -> I64:
        """Nobody comes or goes."""
        return np.arange(len(keys), dtype=np.int64)

    def append_history(self, *facts: object) -> int:
        """Nobody asks for history here."""
        return 0

    def save_arrays(self, database: str, name: str, at: datetime, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Keep them."""
        self._kept[name] = (at, dict(arrays))

    def save_document(self, database: str, name: str, document: object) -> None:
        """Keep it."""
        self._kept[name] = (EPOCH, document)

    def load(self, database: str, name: str) -> tuple[datetime, Any] | None:
        """What was kept."""
        return self._kept.get(name)

    load_arrays = load_document = load


def _discard(ledger: Ledger, folder: str) -> None:
    ledger.close()
    shutil.rmtree(folder, ignore_errors=True)
