"""Making the tables of a ledger, bringing older ones up to date, and how much is in them; in a file or on a server."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Table, func, select

from agent.ledger.errors import LedgerMovedAway, LedgerTooNew
from agent.ledger.store.database import Reading, Transaction
from agent.ledger.store.schema import ARRIVING, HEAD, REVISIONS, alembic_version, metadata, moves, proposals

VERSION = select(alembic_version.c.version_num)


def require_known(revision: str, name: str) -> None:
    """Refuse tables of a revision that this version does not know.

    Raises:
        LedgerTooNew: a newer hotplace wrote them.
        LedgerMoved: they are not complete.
    """
    if revision == ARRIVING:
        raise LedgerMovedAway(
            f"the ledger {name} is not complete: another one is being moved there, or that was broken off",
            advice="Wait for hotplace ledger move, or run it again.",
        )
    if revision not in REVISIONS:
        raise LedgerTooNew(
            f"the ledger {name} was written by a newer hotplace (its tables are {revision}, ours {HEAD})",
            advice="Upgrade hotplace on this machine, or point it at another ledger.",
        )


def create_tables(transaction: Transaction) -> None:
    """All tables at once: the same as every migration one after the other (tests/ledger/test_schema.py)."""
    with transaction.core() as core:
        metadata.create_all(core, checkfirst=False)
        alembic_version.create(core)
    transaction.insert_all(alembic_version, [{"version_num": HEAD}])


def migrate(transaction: Transaction, to: str = "head") -> None:
    """Bring tables of an older revision up to date, or make those of an old one."""
    from alembic import command  # 0.1 s and 10 MB that only an old ledger has to pay
    from alembic.config import Config

    with transaction.core() as core:
        config = Config(attributes={"connection": core})
        config.set_main_option("script_location", "agent.ledger:migrations")
        command.upgrade(config, to)


def read_figures(reading: Reading) -> dict[str, Any]:
    """Revision and rows of the tables, and how many proposals and moves are in which state: no content."""
    return {
        "revision": [row.version_num for row in reading.rows(VERSION)],
        "rows": {
            name: reading.scalar(select(func.count()).select_from(table))
            for name, table in sorted(metadata.tables.items())
        },
        "proposals_by_state": _by_state(reading, proposals),
        "moves_by_state": _by_state(reading, moves),
    }


def _by_state(reading: Reading, table: Table) -> dict[str, int]:
    count = select(table.c.state, func.count().label("number")).group_by(table.c.state).order_by(table.c.state)
    return {row.state: row.number for row in reading.rows(count)}
