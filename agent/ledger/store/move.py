"""Moving a ledger from a file to a server: every row under its number, compared by hashes, resumable at any point.

Samples go to the file that the agent keeps next to a ledger on a server, and their hours to the server.

The file is under its write lock all the while, so an agent that runs on it waits, and is refused once it is closed.
What was written to the server stays when the move is broken off: the next run compares it by rows and writes the rest.
The server's tables carry a revision that no hotplace opens until the file is closed; so at no time are both in use.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Table,
    Text,
    bindparam,
    column,
    delete,
    func,
    select,
    table,
    tuple_,
    union_all,
    update,
)

from agent.ledger.chain.audit import AuditChain
from agent.ledger.chain.links import MOVED, AnchorFile, anchor_fault, hash_of_row
from agent.ledger.errors import LedgerCorrupt, LedgerMovedAway, Refused
from agent.ledger.file.database import FileDatabase
from agent.ledger.file.opening import close_for_writing, is_closed, went_to
from agent.ledger.measured.samples import TABLES, SampleFile, last_hour_before, send_hours
from agent.ledger.rows import AuditReport
from agent.ledger.server.database import LOCK_OPENING, ServerDatabase, divide_history, read_version, require_schema
from agent.ledger.store.database import Database, Reading, Row, Transaction, in_parts
from agent.ledger.store.schema import ARRIVING, HEAD, alembic_version, history, metadata, microseconds, work
from agent.ledger.store.tables import create_tables

_ANCHORS = "Restore the ledger that they speak of; or, if they are of another one, name another file as ledger.anchors."
MOVED_CHUNK = 100  # rows in one transaction: proposals have texts of megabytes
Key = tuple[object, ...]
Hashes = dict[Key, str]
_samples = union_all(
    select(history.c.database, history.c.ended_at), select(work.c.database, work.c.ended_at)
).subquery()
_ENDS = select(_samples.c.database, func.max(_samples.c.ended_at).label("ended_at")).group_by(_samples.c.database)
_GIVEN = select(table("sqlite_sequence", column("name", Text), column("seq")))
_SET_SEQUENCE = select(
    func.setval(func.pg_get_serial_sequence(bindparam("table", type_=Text), "id"), bindparam("last"))
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedTable:
    """One table that is the same on both sides."""

    name: str
    rows: int
    written: int  # by this run; the others were there from one before
    sha256: str  # over the hashes of its rows


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedLedger:
    """What was moved."""

    tables: tuple[MovedTable, ...]
    audit_rows: int
    head: str  # of the chain, the same before and after


class LedgerMove:
    """One run of a move."""

    def __init__(
        self, source: FileDatabase, target: ServerDatabase, own: SampleFile, chains: tuple[AuditChain, AuditChain],
        tell: Callable[[MovedTable], None],
    ) -> None:  # fmt: skip
        """Prepare.

        Args:
            source: up to date.
            target: a database that holds no ledger, or what an earlier run left.
            own: the samples of this machine next to the target.
            chains: of both.
            tell: given each table once it is the same on both sides.
        """
        self._source, self._target, self._own, self._tell = source, target, own, tell
        self._chain_before, self._chain_after = chains
        server = target.server
        self.where_to = f"{server.host}:{server.port}/{server.dbname} (schema {server.schema_name})"

    def run(self, anchors: Sequence[AnchorFile]) -> MovedLedger:
        """Move all of it, then close the file and open the server's tables for use.

        Args:
            anchors: the files that speak of the chain, before and after.

        Raises:
            LedgerCorrupt: the chain does not fit, before or after; nothing is closed.
            LedgerMoved: the file went elsewhere.
            Refused: the server holds another ledger.
        """
        with self._source.write() as held:
            before = self._require_whole(self._chain_before)
            if self._is_done(held):
                return MovedLedger(tables=(), audit_rows=before.rows, head=before.head)
            self._require_ours(held, anchors)
            self._prepare_target(held)
            tables = tuple(self._copy(held, table) for table in metadata.sorted_tables)
            self._send_hours(held)
            self._set_sequences(held)
            if self._require_whole(self._chain_after).head != before.head:
                raise LedgerCorrupt(f"the chain on {self._target.name} ends in another hash than that of the file")
            close_for_writing(held, self.where_to)
        self._open_for_use()
        return MovedLedger(tables=tables, audit_rows=before.rows, head=before.head)

    # -- before --------------------------------------------------------------------------------------------------

    def _require_whole(self, chain: AuditChain) -> AuditReport:
        report = chain.verify()
        if not report.ok:
            raise LedgerCorrupt(
                f"the audit chain does not fit, so nothing was closed: {report.sentence}",
                advice="hotplace audit verify says the same; restore a backup of the ledger whose chain fits.",
            )
        return report

    def _require_ours(self, held: Transaction, anchors: Sequence[AnchorFile]) -> None:
        if is_closed(held) and not went_to(held, self.where_to):
            raise LedgerMovedAway(
                f"the ledger {self._source.name} was moved elsewhere before",
                advice="hotplace history --audit names the first ledger it went to, or write to it to see the error.",
            )
        for file in anchors:
            anchor = file.last()
            if anchor is not None and (fault := anchor_fault(held, anchor, str(file.path))):
                raise Refused(f"the ledger does not fit its anchors: {fault}", advice=_ANCHORS)

    def _is_done(self, held: Reading) -> bool:
        """Whether an earlier run came to its end."""
        with self._target.read() as reading:
            in_use = read_version(self._target, reading) == HEAD and hash_of_row(reading, 1) == hash_of_row(held, 1)
        return in_use and went_to(held, self.where_to)

    def _prepare_target(self, held: Reading) -> None:
        """Make tables that no hotplace opens, or find those of an earlier run."""
        with self._target.write_after(LOCK_OPENING) as transaction:
            version = read_version(self._target, transaction)
            if version is None:
                require_schema(self._target, transaction)
                create_tables(transaction)
                divide_history(transaction, self._target.server.schema_name)
                version = HEAD
            first = hash_of_row(transaction, 1)
            if first not in {None, hash_of_row(held, 1)}:
                raise Refused(
                    f"{self._target.name} holds another ledger", advice="Name a schema or database without one."
                )
            if version == HEAD and first is not None:
                raise Refused(
                    f"{self._target.name} holds this ledger already, and may be in use while the file is not closed",
                    advice="Compare the two by hotplace history --audit, and move one of them away.",
                )
            _set_version(transaction, ARRIVING)

    # -- rows ----------------------------------------------------------------------------------------------------

    def _copy(self, held: Transaction, table: Table) -> MovedTable:
        """Make a table the same on the server, and see that it is."""
        to = self._own.made() if table in TABLES else self._target
        _drop_strangers(held, to, table)
        written, rows, total = 0, 0, hashlib.sha256()
        for some in in_parts(held.each(select(table).order_by(*table.primary_key)), MOVED_CHUNK):
            expected = _hashes(table, some)
            written += _write(to, table, some, expected)
            rows += len(some)
            total.update("".join(expected.values()).encode())
        with to.read() as reading:
            found = int(reading.scalar(select(func.count()).select_from(table)))
        if found != rows:
            raise LedgerCorrupt(f"{table.name} has {found} rows on {to.name}, but {rows} in the file")
        moved = MovedTable(name=table.name, rows=rows, written=written, sha256=total.hexdigest())
        self._tell(moved)
        return moved

    def _send_hours(self, held: Reading) -> None:
        """Give the server the hours of all samples that are over."""
        for row in held.rows(_ENDS):
            until = last_hour_before(row.ended_at)
            # No agent acts while the file is under its lock, and none opens what arrives.
            send_hours(self._own.made(), self._target, row.database, until, lambda *_: None)

    # -- after ---------------------------------------------------------------------------------------------------

    def _set_sequences(self, held: Transaction) -> None:
        """Let new rows get numbers that no row ever had: also those of rows that are gone are never given again."""
        given = {row.name: row.seq for row in held.rows(_GIVEN)}
        with self._target.write() as transaction:
            for name, table in metadata.tables.items():
                if _key_names(table) != ["id"]:
                    continue
                last = max(given.get(name, 0), transaction.scalar(select(func.max(table.c.id))) or 0)
                if last:
                    transaction.scalar(_SET_SEQUENCE, table=name, last=last)

    def _open_for_use(self) -> None:
        with self._target.write() as transaction:
            _set_version(transaction, HEAD)
            self._chain_after.append(transaction, MOVED, self._target.server.schema_name, was=self._source.name)


def _set_version(transaction: Transaction, version: str) -> None:
    transaction.execute(update(alembic_version), version_num=version)


def _key_names(table: Table) -> list[str]:
    return [column.name for column in table.primary_key.columns]


def _key(table: Table, row: Row) -> Key:
    return tuple(getattr(row, name) for name in _key_names(table))


def _has_one_of(table: Table, keys: Collection[Key]) -> ColumnElement[bool]:
    return tuple_(*table.primary_key).in_(keys)


def _hashes(table: Table, rows: Sequence[Row]) -> Hashes:
    return {
        _key(table, row): hashlib.sha256(repr(tuple(_plain_values(table, row))).encode()).hexdigest() for row in rows
    }


def _plain_values(table: Table, row: Row) -> Iterator[Any]:
    for each in table.columns:
        value = getattr(row, each.name)
        yield microseconds(value) if isinstance(value, datetime) else value


def _write(to: Database, table: Table, rows: Sequence[Row], expected: Hashes) -> int:
    """Write those of some rows that are lacking there or are otherwise; how many."""
    with to.write() as transaction:
        there = _there(transaction, table, expected)
        lacking = [row._asdict() for row in rows if there.get(_key(table, row)) != expected[_key(table, row)]]
        if not lacking:
            return 0
        transaction.put(table, lacking)
        # Compared as they are given back, and not as they were sent.
        if _there(transaction, table, expected) != expected:
            raise LedgerCorrupt(f"rows of {table.name} come back from {to.name} otherwise than written")
    return len(lacking)


def _there(reading: Reading, table: Table, keys: Hashes) -> Hashes:
    found = reading.rows(select(table).where(_has_one_of(table, keys)))
    return _hashes(table, found)


def _drop_strangers(held: Transaction, to: Database, table: Table) -> None:
    """Remove what an earlier run wrote and the file no longer has: another row may need its place."""
    query = select(*table.primary_key)
    with to.write() as transaction:
        there = {tuple(row) for row in transaction.rows(query)}
        for key in there - ({tuple(row) for row in held.rows(query)} if there else set()):
            transaction.execute(delete(table).where(_has_one_of(table, [key])))
