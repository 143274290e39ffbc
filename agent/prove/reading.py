"""What the connector reads: its queries, their answers, the units of the cases and the counters of a known load."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agent.prove.bench import Bench
from agent.prove.claims import Findings
from connectors.base import HotplaceError, PrivilegeMissing
from connectors.model import Catalog, Demand, Interval, Signal, UnitKind
from connectors.proving.proof import Case, Statement
from policies.demand.counter_deltas import difference

BLOCK_BYTES = 8192  # of engines whose blocks have one size
LOOK_UP_MOST, SCAN_LEAST = 1.5, 0.9  # logical reads a look-up, and blocks read of those there are
LONGEST_SECONDS = 3600.0
IN_WORDS = {
    UnitKind.TABLE: "table",
    UnitKind.INDEX: "index",
    UnitKind.TABLE_PARTITION: "table partition",
    UnitKind.INDEX_PARTITION: "index partition",
    UnitKind.LOB: "lob",
    UnitKind.MATERIALIZED_VIEW: "materialized view",
}


def try_queries(bench: Bench) -> None:
    """Ask the server to describe each query, and for no row."""
    other = bench.proof.of_other_versions(bench.watch.identity.version_number)
    for name, query in bench.script.queries.items():
        if name in other:
            bench.findings.note_not_tried(f"query {name}", "this version of the server is not asked it")
            continue
        began = bench.clock.monotonic()
        try:
            bench.session.rows(query)
        except PrivilegeMissing as error:
            bench.findings.note_not_tried(f"query {name}", str(error), error.native_code)
        except HotplaceError as error:
            bench.findings.note_failure(f"query {name}", error)
        else:
            bench.findings.note_seen(f"query {name}", "described", bench.clock.monotonic() - began)


def try_answers(bench: Bench) -> None:
    """Ask the connector what it is asked in every run."""
    connector = bench.watch.connector
    calls: dict[str, Callable[[], str]] = {
        "identify": lambda: f"{connector.identify().engine} {connector.identify().version}",
        "capabilities": lambda: ", ".join(each.name for each in connector.capabilities() if each.available),
        "catalog": lambda: f"{len(connector.catalog().units)} units in {len(connector.catalog().spaces)} spaces",
        "sample": lambda: f"{len(connector.sample().physical_id)} units with counters",
        "doctor": lambda: _findings(bench),
    }
    for name, call in calls.items():
        _time_call(bench, f"answer {name}", call)


def _findings(bench: Bench) -> str:
    found = bench.watch.connector.doctor()
    counts = {severity: sum(each.severity == severity for each in found) for severity in ("error", "warning", "ok")}
    return ", ".join(f"{count} {severity}" for severity, count in counts.items())


def _time_call(bench: Bench, code: str, call: Callable[[], str]) -> None:
    began = bench.clock.monotonic()
    try:
        evidence = call()
    except HotplaceError as error:
        bench.findings.note_failure(code, error)
    else:
        bench.findings.note_seen(code, evidence, bench.clock.monotonic() - began)


def try_units(bench: Bench) -> None:
    """Hold the catalog against the units that each case says it makes."""
    catalog = bench.watch.connector.catalog()
    units = catalog.units
    there = {
        key: f"{IN_WORDS[UnitKind(int(kind))]} in {catalog.spaces[int(space)].name}"
        for key, kind, space in zip(units.key, units.kind, units.space, strict=True)
    }
    for case in bench.made:
        wanted = {key: f"{kind} in {bench.script.scratch.slow}" for key, kind in case.units.items()}
        wrong = [
            f"{key}: {there.get(key, 'not listed')}, made as {want}"
            for key, want in wanted.items()
            if there.get(key) != want
        ]
        if wrong:
            bench.findings.note_contradiction(f"units {case.name}", "; ".join(wrong))
        else:
            bench.findings.note_seen(f"units {case.name}", f"{len(wanted)} units")


def try_counters(bench: Bench) -> None:
    """Run the load of the cases that have one, between two samples, and hold the demand against it."""
    cases = [case for case in bench.made if case.part("load")]
    connector = bench.watch.connector
    bench.watch.sample()
    before = connector.sample()
    session = bench.open_session()
    try:
        for case in cases:
            for statement in case.part("load"):
                session.rows(statement.sql)
    except HotplaceError as error:
        for code in ("look_ups", "scans", "untouched"):
            bench.findings.note_not_tried(f"counter {code}", f"the load was refused: {error}")
        return
    finally:
        session.close()  # with its end a session reports all of its counters
    bench.clock.sleep(0.2)
    interval = difference(before, connector.sample(), longest_seconds=LONGEST_SECONDS)
    bench.watch.sample()
    if not isinstance(interval, Interval):
        for code in ("look_ups", "scans", "untouched"):
            bench.findings.note_contradiction(f"counter {code}", f"two samples have no difference: {interval}")
        return
    catalog = connector.catalog()
    demand = connector.classify(interval, catalog)
    judge_counters(bench.findings, cases, catalog, demand, _block_bytes(bench))


def _block_bytes(bench: Bench) -> int:
    """Of the slow space, where the engine has a question for it."""
    question = bench.script.questions.get("block")
    rows = bench.session.rows(question) if question is not None else []
    return int(rows[0][0]) if rows else BLOCK_BYTES


def judge_counters(
    findings: Findings, cases: Sequence[Case], catalog: Catalog, demand: Demand, block_bytes: int = BLOCK_BYTES
) -> None:
    """Hold logical reads against the notes of the load: ``look_ups N KEY`` and ``scans N KEY``."""
    rows = catalog.units.rows_of(demand.physical_id)
    pages = demand.rates[Signal.LOGICAL_READ] * demand.seconds
    read = {catalog.units.key[row]: float(n) for row, n in zip(rows, pages, strict=True) if row >= 0}
    size = dict(zip(catalog.units.key, catalog.units.size_bytes, strict=True))
    for case in cases:
        expected = {key: (what, int(times)) for what, times, key in map(_note, case.part("load"))}
        for key, (what, times) in expected.items():
            blocks = times if what == "look_ups" else times * int(size.get(key, 0)) / block_bytes
            least = blocks if what == "look_ups" else SCAN_LEAST * blocks
            got, words = read.get(key, 0.0), f"{times} {what.replace('_', '-')} of {key}: "
            words += f"{read.get(key, 0.0):,.0f} logical reads for {blocks:,.0f}"
            right = least - 0.5 <= got <= LOOK_UP_MOST * blocks
            (findings.note_seen if right else findings.note_contradiction)(f"counter {what}", words)
        idle = [key for key, kind in case.units.items() if kind == "table" and key not in expected]
        noise = {key: read.get(key, 0.0) for key in idle if read.get(key, 0.0) > 0.5}
        if noise:
            findings.note_contradiction("counter untouched", f"reads of what was not read: {noise}")
        elif idle:
            findings.note_seen("counter untouched", f"no reads of {', '.join(idle)}")


def _note(statement: Statement) -> tuple[str, str, str]:
    what, times, key = statement.note.split(" ", 2)
    return what, times, key


def try_plan(bench: Bench) -> None:
    """Make a plan as the agent does, and look that every unit of the scratch schema has a verdict."""
    began = bench.clock.monotonic()
    try:
        planning = bench.watch.plan()
    except HotplaceError as error:
        bench.findings.note_failure("answer plan", error)
        return
    assert planning is not None, "there are samples"
    known = set(planning.situation.units.key)
    missing = [key for case in bench.made for key in case.units if key not in known]
    if missing:
        bench.findings.note_contradiction("answer plan", f"not ranked: {', '.join(missing[:5])}")
        return
    evidence = f"{len(known)} units, {len(planning.plan.moves)} moves worth proposing"
    bench.findings.note_seen("answer plan", evidence, bench.clock.monotonic() - began)
