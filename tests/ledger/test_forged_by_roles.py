"""Forged approvals by the logins of a ledger on a server: each role writes what the server lets it write, of any event.

The same forgeries as by the owner of a file (``test_forged``), in a transaction of the role that is taken back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random

import psycopg
import pytest
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from agent.ledger.errors import LedgerError
from agent.ledger.ledger import Ledger
from agent.ledger.store.database import Transaction
from agent.ledger.stored import load_move
from agent.model.states import ACTIONABLE, MoveState
from tests.ledger.clock import StillClock
from tests.ledger.conftest import ON_SERVER, Two
from tests.ledger.divided import ROLES, divided_ledger, user_of
from tests.ledger.forger import Forged, Target, every_row, forgeries, rows_about, set_tables, write_row
from tests.ledger.servers import LedgerServers
from tests.ledger.test_forged import SITUATIONS, forging, may_run, rows_of

pytestmark = ON_SERVER
TEAM = "sales"
DRAWN = 6  # sequences of rows for each role


@pytest.fixture
def ledger(servers: LedgerServers, tmp_path: Path, people: Two, clock: StillClock) -> Iterator[Ledger]:
    """One of two teams, as an administrator opens it; the database of the sample proposals belongs to the first."""
    with divided_ledger(servers, tmp_path, people[0]) as divided:
        with divided.session() as dba:
            dba.execute("INSERT INTO teams VALUES (%s, 'shop')", [TEAM])
        with divided.ledger("postgres", clock) as opened:
            yield opened


@pytest.mark.parametrize("situation", SITUATIONS)
def test_nothing_that_ended_comes_back_by_any_login(ledger: Ledger, people: Two, situation: str) -> None:
    """Events and sequences of them, by reader, approver and agent of the own team: no move runs that has ended."""
    number = SITUATIONS[situation](ledger, people[0])
    rows = rows_of(ledger, number)
    with ledger._database.read() as reading:
        signatures = rows_about(reading, number)
    target = Target(number, ledger.proposals.row(number).digest, rows, signatures)
    dead = [row for row in rows if row.state not in ACTIONABLE]
    random, written, ran = Random(situation), dict.fromkeys(ROLES, 0), []
    single = [[row] for row in every_row(target)]
    attempts = random.sample(single, min(DRAWN, len(single))) + [forgeries(target, random) for _ in range(DRAWN)]
    attempts.append(next(row for row in single if row[0].event == "proposal.approved"))  # an approver may write that
    for role in ROLES:
        for attempt in attempts:
            with forging(ledger) as transaction:
                written[role] += forge(transaction, role, target, attempt, ledger, random)
                ran += [(role, attempt, row.id) for row in dead if would_run(ledger, transaction, row.id)]
    assert ran == []
    assert written["reader"] == 0
    assert 0 < written["approver"] < written["agent"]
    assert ledger.audit.verify().ok


def would_run(ledger: Ledger, transaction: Transaction, move: int) -> bool:
    """Whether the tables call a move one that is yet to be carried out, and a statement of it would be sent."""
    return load_move(transaction, move).state in ACTIONABLE and may_run(ledger, transaction, move)


def forge(
    transaction: Transaction, role: str, target: Target, attempt: list[Forged], ledger: Ledger, random: Random
) -> int:
    """Write as a login of a role what the server takes of it; how many rows of the chain that was."""
    state, taken = random.choice([MoveState.APPROVED, MoveState.RUNNING]), 0
    with transaction.core() as core, acting_as(core, user_of(TEAM, role)):
        for row in attempt:
            taken += attempted(core, partial(write_row, transaction, row, ledger._clock.now()))
        attempted(core, lambda: set_tables(transaction, target, state))
    return taken


@contextmanager
def acting_as(core: Connection, user: str) -> Iterator[None]:
    """A part of a transaction in which a login acts, and not the administrator."""
    core.exec_driver_sql(f"SET LOCAL SESSION AUTHORIZATION {user}")
    yield
    core.exec_driver_sql("RESET SESSION AUTHORIZATION")


def attempted(core: Connection, write: Callable[[], object]) -> bool:
    """Whether the server took it; what it refuses leaves nothing."""
    core.exec_driver_sql("SAVEPOINT attempt")
    try:
        write()
    except (LedgerError, DBAPIError, psycopg.Error):
        core.exec_driver_sql("ROLLBACK TO SAVEPOINT attempt")
        return False
    return True
