"""What the connector says of objects, next to what the session that read them counted itself.

A case for this has tables of known size and loads, each a statement that reads a known number of blocks in one session.
Before each load the case's ``flush`` part makes the server forget what it has in memory. The connector samples before
and after, and is held to two figures of the objects: the blocks that were read from storage, and the seconds that the
session waited for them. The session's figures come from counters of its own that no query of the connector reads.

Where an engine measures waits by object the connector says them. Where it measures one sum for the database, as
PostgreSQL does, an object's share is what agent and policies make of it: by reads of each kind and their price.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from agent.config.models import DatabaseConfig
from agent.studies.prove.bench import Bench
from agent.studies.prove.claims import LOST
from connectors.kit.contract import Connector, HotplaceError
from connectors.kit.proving import TRUTH, Case, KnownLoad, OwnReads, ProofSession, known_loads
from connectors.model.formatting import format_seconds
from connectors.model.observation import F64, Catalog, Demand, Interval
from policies.evidence.counter_deltas import difference
from policies.evidence.device import READS
from policies.evidence.prices import wait_weights

TOLERANCE = 0.05  # of either figure
# PostgreSQL cuts each read's time to whole microseconds before it adds it to the sum of the database, but not to what
# EXPLAIN shows. Of a read that the system's page cache answers in 4 us that is an eighth; of one of a disk, nothing.
CUT_OFF_SECONDS = 1e-6
MOST_TRIES = 6
LEAST_COLD = 0.5  # of the blocks of a load have to come from storage, or its figures say little
SETTLE_SECONDS = 0.6  # until servers show what an ended session has counted; PostgreSQL 14 writes it each half second
REPORT_SECONDS = 1.1  # PostgreSQL's sessions report what they have counted once a second, with the end of a statement
LONGEST_SECONDS = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One load: what the connector said of its objects, and what the session counted."""

    load: KnownLoad
    said: OwnReads
    true: OwnReads

    @property
    def blocks_error(self) -> float:
        """How far the blocks are off, as a share of the session's."""
        return abs(self.said.blocks - self.true.blocks) / self.true.blocks

    @property
    def wait_error(self) -> float:
        """How far the wait is off, as a share of the session's, beyond what the server's sum cuts off."""
        off = self.said.seconds - self.true.seconds
        return (off if off >= 0 else max(0.0, -off - CUT_OFF_SECONDS * self.true.blocks)) / self.true.seconds

    @property
    def worst_error(self) -> float:
        """The larger of both; of the blocks alone where reads were not timed."""
        return max(self.blocks_error, self.wait_error if self.is_timed else 0.0)

    @property
    def is_timed(self) -> bool:
        """Whether both have a time."""
        return self.true.seconds > 0 and not math.isnan(self.said.seconds)


class CannotCompare(Exception):
    """A load says nothing on this server; the text says why."""


def try_truth(bench: Bench) -> None:
    """Run every load whose reads are known, and hold the connector against the session's own figures."""
    for case in bench.made:
        for load in known_loads(case):
            bench.say(f"reading what is known beforehand: {load.name}")
            codes = f"reads {load.name}", f"wait {load.name}"
            try:
                judge(bench, *best_of(bench, case, load))
            except CannotCompare as why:
                for code in codes:
                    bench.findings.note_not_tried(code, str(why))
            except HotplaceError as error:
                for code in codes:
                    bench.findings.note_failure(code, error)


def best_of(bench: Bench, case: Case, load: KnownLoad) -> tuple[Compared, int]:
    """The try that agrees best, and how many there were: one, if it agrees.

    Other sessions and the machine disturb a try now and then: what takes the processor within one read of the catalog
    adds to the one sum of waits. A wrong factor is there every time.

    Raises:
        CannotCompare, ConnectorError: as ``compare``.
    """
    tries = [compare(bench, case, load)]
    while tries[-1].worst_error > TOLERANCE and len(tries) < MOST_TRIES:
        tries.append(compare(bench, case, load))
    return min(tries, key=lambda each: each.worst_error), len(tries)


def compare(bench: Bench, case: Case, load: KnownLoad) -> Compared:
    """Flush, sample, read, sample.

    Raises:
        CannotCompare: the blocks were in memory, or nothing timed or counted them.
        ConnectorError: a statement failed.
    """
    assert case.purpose == TRUTH, "others have no known loads"
    _flush(bench, case)
    connector = bench.watch.connector
    session = bench.open_session()
    try:
        _warm(bench, session, case)
        connector.sample()  # reads again what the flush has changed in the catalog
        before = connector.sample()
        true = _own_reads(bench, session, load)
    finally:
        session.close()  # with its end a session reports all of its counters
    bench.clock.sleep(SETTLE_SECONDS)
    interval = difference(before, connector.sample(), longest_seconds=LONGEST_SECONDS)
    if not isinstance(interval, Interval):
        raise CannotCompare(f"two samples have no difference: {interval.sentence}")
    if true.blocks < LEAST_COLD * load.blocks:
        raise CannotCompare(
            f"of {load.blocks:,} blocks {true.blocks:,.0f} came from storage: the flush left the others in memory"
        )
    return Compared(load=load, said=said_of(bench.database, connector, interval, load.keys), true=true)


def _flush(bench: Bench, case: Case) -> None:
    """Let the server forget what it has in memory."""
    try:
        for statement in case.part("flush"):
            bench.session.run(statement.sql)
    except LOST:
        raise
    except HotplaceError as error:
        raise CannotCompare(f"what is in memory could not be flushed: {error}") from error


def _warm(bench: Bench, session: ProofSession, case: Case) -> None:
    """Let a new session read what it needs of the catalog, and report it, before anything is counted."""
    statements = case.part("warm")
    for statement in statements:
        session.rows(statement.sql)
    if statements:
        bench.clock.sleep(REPORT_SECONDS)
        session.rows(statements[0].sql)
        bench.clock.sleep(SETTLE_SECONDS)


def _own_reads(bench: Bench, session: ProofSession, load: KnownLoad) -> OwnReads:
    """What the session counts while the load runs.

    Raises:
        CannotCompare: it may not see its own figures, or this version of the server has none.
        ConnectorError: the load failed.
    """
    question, own_reads = bench.script.questions.get("session"), bench.proof.own_reads
    if question is None:
        return own_reads(session.rows(load.sql))
    try:
        before = own_reads(session.rows(question))
    except LOST:
        raise
    except HotplaceError as error:
        raise CannotCompare(f"what the session itself counts cannot be read: {error}") from error
    session.rows(load.sql)
    after = own_reads(session.rows(question))
    return OwnReads(blocks=after.blocks - before.blocks, seconds=after.seconds - before.seconds)


def said_of(database: DatabaseConfig, connector: Connector, interval: Interval, keys: Sequence[str]) -> OwnReads:
    """What the connector says of some units in an interval, together; seconds are NaN where it measured none."""
    catalog = connector.catalog()
    demand = connector.classify(interval, catalog)
    rows = catalog.units.rows_of(demand.physical_id).tolist()
    own = np.array([row >= 0 and catalog.units.key[row] in keys for row in rows], dtype=np.bool_)
    blocks = demand.rates[list(READS)].sum(axis=0) * demand.seconds
    waits = waits_of(database, demand, catalog) * demand.seconds
    unmeasured = bool(own.any()) and bool(np.isnan(waits[own]).all())
    return OwnReads(
        blocks=float(blocks[own].sum()), seconds=float("nan") if unmeasured else float(np.nansum(waits[own]))
    )


def waits_of(database: DatabaseConfig, demand: Demand, catalog: Catalog) -> F64:
    """Seconds per second that sessions waited for each column of a demand: measured by unit, or of the one sum.

    What is no unit, as catalogs of the system, has its part of the sum by the number of its reads.
    """
    if demand.waited is not None:
        return demand.waited
    speeds = [tier.speed for tier in database.tiers]
    weights = wait_weights(speeds, database.policy_settings())[:, list(READS)]
    tier_of = {space: at for at, tier in enumerate(database.tiers) for space in tier.tier.spaces}
    slowest = len(speeds) - 1
    of_space = np.array([tier_of.get(space.name, slowest) for space in catalog.spaces], dtype=np.int64)
    row = catalog.units.rows_of(demand.physical_id)
    at = np.where(row >= 0, of_space[catalog.units.space[row]], slowest)
    by_price: F64 = (weights[at] * demand.rates[list(READS)].T).sum(axis=1)
    total, counted = float(by_price.sum()), float(demand.rates[list(READS)].sum())
    if not total > 0:
        return by_price
    of_units = min(1.0, counted / demand.database.reads) if demand.database.reads > 0 else 1.0
    return by_price * (demand.database.read_wait * of_units / total)


def judge(bench: Bench, compared: Compared, tries: int) -> None:
    """Note what came of both claims about a load: by the best of so many tries."""
    of_tries = f", at best of {tries} tries" if tries > 1 else ""
    findings, load, said, true = bench.findings, compared.load, compared.said, compared.true
    objects = " and ".join(load.keys)
    words = f"{objects}: {said.blocks:,.0f} blocks; the session counted {true.blocks:,.0f}"
    error = compared.blocks_error
    note = findings.note_seen if error <= TOLERANCE else findings.note_contradiction
    note(f"reads {load.name}", f"{words}, {error:.1%} apart{of_tries}")
    if not compared.is_timed:
        why = (
            "waits were too short for the server's clock" if true.seconds > 0 else "the session's reads were not timed"
        )
        findings.note_not_tried(f"wait {load.name}", why)
        return
    words = f"{objects}: waited {format_seconds(said.seconds)}; the session {format_seconds(true.seconds)}"
    error = compared.wait_error
    note = findings.note_seen if error <= TOLERANCE else findings.note_contradiction
    note(f"wait {load.name}", f"{words}, {error:.1%} apart{of_tries}")
