"""Looks at the buffer pool through the extension ``pg_buffercache``, over a session of their own."""

from __future__ import annotations

import numpy as np

from connectors.base import Clock, PrivilegeMissing
from connectors.blocks import BLOCK_HEAT, BlockLook, BlockReader, ResidentBlocks, one_block_in
from connectors.findings import Capability, Finding, Remedy
from connectors.model import I64
from connectors.postgresql.rights import MONITOR_GIVES, monitor_remedy
from connectors.postgresql.session.queries import in_extension, query
from connectors.postgresql.session.sessions import ReadSession
from connectors.postgresql.settings import PostgresqlSettings

SESSION = "hotplace looking at blocks"
MOST_LISTED = 1 << 18  # blocks of all units, eight bytes each on the wire, sixteen as text


def block_capability(session: ReadSession) -> Capability:
    """Whether this login may look at the buffer pool, and the statements that let it."""
    _, may, available, login, _, _ = session.rows(query("blocks_may"), doing="looking for pg_buffercache")[0]
    first = "" if available else "Install the server's contrib modules, then: "
    advice = Remedy(f"{first}CREATE EXTENSION pg_buffercache; {monitor_remedy(login)}", MONITOR_GIVES)
    return Capability.of(BLOCK_HEAT, may, "pg_buffercache in this database with the right to read it", advice)


def block_finding(session: ReadSession) -> Finding:
    """For the doctor; nothing else of hotplace needs it, so that it is no warning."""
    found = block_capability(session)
    if found.available:
        return Finding.ok("block_looks", "the hot blocks of large tables can be looked for")
    # Without the login, so that what both accounts find is said once; that it lacks pg_monitor is another finding.
    return Finding.info(
        "block_looks", f"large tables are not looked into: {found.because}", "CREATE EXTENSION pg_buffercache;"
    )


class PoolReader(BlockReader):
    """Reads ``pg_buffercache``."""

    def __init__(self, settings: PostgresqlSettings, clock: Clock) -> None:
        # Not over the session that samples: a look takes seconds where the pool is large. Nor is it recorded: a
        # recording holds no lists of blocks.
        self._session = ReadSession(settings, name=SESSION)
        self._clock = clock

    def look(self, physical_ids: I64) -> BlockLook:
        """One query over the whole pool.

        Raises:
            PrivilegeMissing: the extension is not there, or not for this login.
            ConnectorError: a subclass that says what may be done.
        """
        # For each look, since the extension may have gone elsewhere.
        asked = self._session.rows(query("blocks_may"), doing="looking for pg_buffercache")[0]
        schema, may, _, _, block_bytes, buffers = asked
        if not may:
            capability = block_capability(self._session)
            raise PrivilegeMissing(f"looking at blocks: {capability.because}", advice=capability.advice)
        one_in = one_block_in(buffers, MOST_LISTED)
        started = self._clock.monotonic()
        values = {"units": physical_ids.tolist(), "one_in": one_in}
        statement = in_extension(query("blocks"), schema)
        rows = self._session.rows(statement, values, doing="looking at blocks", name="blocks")
        return BlockLook(
            monotonic_seconds=started,
            server_seconds=self._clock.monotonic() - started,
            block_bytes=block_bytes,
            one_in=one_in,
            units=tuple(
                ResidentBlocks(physical_id=oid, blocks=blocks, reads=float(reads), resident=_numbers(resident))
                for oid, blocks, reads, resident in rows
            ),
        )

    def close(self) -> None:
        """End the session."""
        self._session.close()


def _numbers(packed: bytes | None) -> I64:
    return np.frombuffer(packed or b"", dtype=">i8").astype(np.int64)
