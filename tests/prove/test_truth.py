"""What the connector says of objects, next to what the session itself counted: on a real PostgreSQL, and what fails."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import pytest

from agent.studies.prove.claims import ClaimFinding, ProofPage, Result, quick_claims
from agent.studies.prove.script import Script, script_of
from agent.studies.prove.truth import TOLERANCE
from connectors.kit.registry import engine_names, find_engine
from connectors.model.observation import Catalog, Demand, Interval
from connectors.postgresql.connector import PostgresqlConnector
from tests.conftest import MAJORS
from tests.prove.conftest import SCRATCH, Place

Find = Callable[[ProofPage | None, str], ClaimFinding]
Test = TypeVar("Test", bound=Callable[..., object])
BUSY = 0.25  # that waits may be off on a machine that does other things too
LOADS = ("single reads", "look-ups", "index reads", "a scan")
REAL = (
    pytest.mark.postgresql,
    pytest.mark.xdist_group(f"postgresql {MAJORS[-1] if MAJORS else 0}"),
    pytest.mark.parametrize("cluster", MAJORS[-1:], indirect=True),
)


def on_a_real_server(test: Test) -> Test:
    """Marks of a test on the newest PostgreSQL here."""
    for mark in REAL:
        test = mark(test)
    return test


def apart(evidence: str) -> float:
    """How far two figures are from one another, as a share of what the session counted; inf where it is not said."""
    said = re.search(r"([\d.]+)% apart", evidence)
    return float(said[1]) / 100 if said else math.inf


def only(script: Script, load: str) -> Script:
    """The script with one load of its truth case."""
    (case,) = script.cases
    loads = tuple(each for each in case.part("load") if each.note.startswith(f"{load},"))
    return replace(script, cases=(replace(case, parts={**case.parts, "load": loads}),))


@on_a_real_server
def test_reads_and_waits_of_objects_are_what_the_session_counted(place: Place, finding: Find) -> None:
    """Single reads, look-ups, an index alone, a scan: blocks within the tolerance, waits as far as a busy machine lets.

    Reads that the page cache answers take microseconds, and other programs come between the two clocks: how near waits
    are where nothing else runs is a row of ``make bench`` (``prove.wait_error_max.postgresql``).
    """
    page = place.prove(place.script("truth"))
    found = {code: finding(page, code) for name in LOADS for code in (f"reads {name}", f"wait {name}")}
    wrong = {code: each.evidence for code, each in found.items() if each.result is not Result.SEEN}
    assert [evidence for code, evidence in wrong.items() if code.startswith("reads") or apart(evidence) > BUSY] == []
    assert found["reads single reads"].evidence.startswith("scratch.cold: 3,000 blocks; the session counted 3,00")
    assert TOLERANCE == 0.05
    assert place.relations() == []


@on_a_real_server
def test_a_wrong_factor_of_the_connector_is_contradicted(
    place: Place, finding: Find, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reads that count a tenth too much, and a read time that is taken for half of it; the best of all tries fails."""
    classify = PostgresqlConnector.classify

    def wrong(connector: PostgresqlConnector, interval: Interval, catalog: Catalog) -> Demand:
        demand = classify(connector, interval, catalog)
        database = replace(
            demand.database, reads=demand.database.reads * 1.1, read_wait=demand.database.read_wait * 0.5
        )
        return replace(demand, rates=demand.rates * 1.1, database=database)

    monkeypatch.setattr(PostgresqlConnector, "classify", wrong)
    page = place.prove(only(place.script("truth"), "single reads"))
    reads, wait = finding(page, "reads single reads"), finding(page, "wait single reads")
    assert (reads.result, wait.result) == (Result.CONTRADICTED, Result.CONTRADICTED)
    assert reads.evidence.endswith("3,300 blocks; the session counted 3,000, 10.0% apart, at best of 6 tries")


@on_a_real_server
def test_what_was_in_memory_proves_nothing(place: Place, finding: Find) -> None:
    """A load of which most blocks were not read from storage is not tried, and says why."""
    script = only(place.script("truth"), "look-ups")
    (case,) = script.cases
    (load,) = case.part("load")
    more = replace(load, note=load.note.replace("3000", "30000"))
    page = place.prove(replace(script, cases=(replace(case, parts={**case.parts, "load": (more,)}),)))
    found = finding(page, "wait look-ups")
    assert found.result is Result.NOT_TRIED
    assert found.evidence.startswith("of 30,000 blocks 5,")


@on_a_real_server
def test_a_quick_proof_says_what_it_leaves_out(place: Place, finding: Find) -> None:
    """One table and one index there and back, the known loads, progress with what is left; no pitfall, no query."""
    proof = place.proof
    script = script_of(proof, SCRATCH, quick=True)
    script = replace(script, cases=tuple(case for case in script.cases if case.name == "heap"))
    page = place.prove(script)
    assert page is not None
    assert "the first table and the first index alone" in page.note
    assert {each.claim.sort for each in page.findings} == {"answer", "units", "reads", "wait", "move", "kept", "clean"}
    assert finding(page, "move heap").result is Result.SEEN
    assert {row.move.key for row in place.ledger.moves.rows(database="real")} == {"scratch.heap", "scratch.heap_pkey"}
    assert any(said.startswith("part 1 of 6: making what is tried; then ") for said in place.said)


@pytest.mark.parametrize("engine", [name for name in engine_names() if find_engine(name).proof is not None])
def test_every_engine_has_a_quick_case(engine: str) -> None:
    """A table and an index to be moved, and nothing among the quick claims that no part of it tries."""
    proof = find_engine(engine).proof
    assert proof is not None
    script = script_of(proof, SCRATCH, quick=True)
    assert not script.queries
    (heap,) = (case for case in script.cases if case.quick)
    assert {"table", "index"} <= set(heap.units.values())
    assert {"move heap", "kept heap", "clean"} <= {claim.code for claim in quick_claims(proof)}
