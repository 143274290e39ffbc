"""Numbers that no row can have: what people mistype, or a script makes up."""

from __future__ import annotations

import pytest

from agent.ledger.errors import NotFound
from agent.ledger.ledger import Ledger
from tests.ledger.conftest import stored

LARGE = (2**63, 10**23, -(2**63) - 1)


@pytest.mark.parametrize("number", LARGE)
def test_there_is_no_such_row(ledger: Ledger, number: int) -> None:
    """The same answer as for any number that is not there."""
    with pytest.raises(NotFound, match=str(number)):
        ledger.moves.row(number)
    with pytest.raises(NotFound, match=str(number)):
        ledger.proposals.row(number)
    with pytest.raises(NotFound):
        ledger.proposals.strike(stored(ledger), number, who="ann", origin="test", reason="")
    assert ledger.moves.steps(number) == []


def test_as_many_rows_as_that_are_all(ledger: Ledger) -> None:
    """A limit beyond everything is none."""
    stored(ledger)
    assert len(ledger.audit.rows(10**23)) == len(ledger.audit.rows(100)) > 0
    assert len(ledger.moves.latest("shop", 10**23)) == len(ledger.moves.latest("shop", 100)) > 0
