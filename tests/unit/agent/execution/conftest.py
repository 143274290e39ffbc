"""What tests of execution share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.ledger.ledger import Ledger
from tests.ledger.clock import StillClock
from tests.ledger.conftest import approved


@pytest.fixture
def clock() -> StillClock:
    """Time that stands still."""
    return StillClock()


@pytest.fixture
def ledger(tmp_path: Path, clock: StillClock) -> Iterator[Ledger]:
    """With two approved moves."""
    with Ledger.open(tmp_path / "ledger.db", clock) as opened:
        approved(opened)
        yield opened
