"""A retired database: left out of lists until an agent is heard of, and by a pattern with ``!``."""

from __future__ import annotations

import pytest

from agent.ledger.errors import NotFound, WrongState
from agent.ledger.ledger import Ledger
from agent.ledger.state_names import STATUS
from tests.ledger.clock import StillClock
from tests.ledger.conftest import approved

BY = {"who": "ann", "origin": "tty1", "reason": "shut down"}


def names(ledger: Ledger, pattern: str = "*") -> list[str]:
    """The databases that lists show."""
    return [row.database for row in ledger.overview.agents(pattern)]


def test_a_forgotten_database_is_left_out_until_it_is_heard_of(ledger: Ledger, clock: StillClock) -> None:
    """Its documents stay in the ledger, and the chain says who had it left out."""
    for name in ("crm", "erp"):
        ledger.state.save_document(name, STATUS, {"engine": "postgresql"})
    clock.sleep(60)
    ledger.overview.forget("crm", **BY)
    assert names(ledger) == ["erp"]
    assert list(ledger.overview.documents(STATUS)) == ["erp"]
    row = ledger.audit.rows(1)[0]
    assert (row.event, row.subject, row.facts) == ("database.forgotten", "crm", BY)
    assert ledger.audit.verify().ok
    clock.sleep(60)
    ledger.state.save_document("crm", STATUS, {"engine": "postgresql"})
    assert names(ledger) == ["crm", "erp"]


def test_nothing_is_forgotten_that_still_moves(ledger: Ledger) -> None:
    """Nor what nobody knows: a name may be mistyped."""
    approved(ledger)
    (name,) = names(ledger)
    with pytest.raises(WrongState, match="are approved or have begun"):
        ledger.overview.forget(name, **BY)
    with pytest.raises(NotFound, match="knows no database 'cmr'"):
        ledger.overview.forget("cmr", **BY)


def test_a_pattern_leaves_databases_out(ledger: Ledger) -> None:
    """All but those that match."""
    for name in ("crm", "crm-test", "erp"):
        ledger.state.save_document(name, STATUS, {"engine": "postgresql"})
    assert names(ledger, "!crm*") == ["erp"]
    assert names(ledger, "!crm") == ["crm-test", "erp"]
    assert list(ledger.overview.documents(STATUS, "!erp")) == ["crm", "crm-test"]
    assert names(ledger, "!*") == []
