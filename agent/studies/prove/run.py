"""A whole proof: admission, making, reading, moving, pitfalls, dropping, page.

What the connector reads: its queries, their answers, the units of the cases and the counters of a known load.

A whole proof: admission, making, reading, moving, pitfalls, dropping, page.

Only what the listed statements made is dropped, by the names that they made it under; the schema was empty before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from agent.config.models import DatabaseConfig, Level
from agent.config.tiers import SpaceConfig
from agent.ledger.ledger import Ledger
from agent.ledger.rows import RequestKind
from agent.model.states import ACTIONABLE
from agent.moving.progress import MoveEvent
from agent.service.watch import Watch
from agent.studies.prove import moving
from agent.studies.prove.bench import Approve, Bench, Witness
from agent.studies.prove.claims import (
    LOST,
    NAMES,
    ClaimFindings,
    ProofPage,
    every_claim,
    native_code_of,
    quick_claims,
)
from agent.studies.prove.moving import Rounds
from agent.studies.prove.script import ProofRefused, Script, admit, admit_watching_login
from agent.studies.prove.truth import SETTLE_SECONDS, try_truth
from connectors.kit.contract import Clock, HotplaceError, PrivilegeMissing
from connectors.kit.proving import FILES, MOVES, Case, NotedStatement, Proof, ProofSession
from connectors.model.moves import UnitKind
from connectors.model.observation import Catalog, Demand, Interval, Signal
from policies.evidence.counter_deltas import difference

BLOCK_BYTES = 8192  # of engines whose blocks have one size
LOOK_UP_MOST, SCAN_LEAST = 1.5, 0.9  # logical reads a look-up, and blocks read of those there are
LONGEST_SECONDS = 3600.0
ROOM_OF_A_FOLDER = 1 << 50  # bytes: more than any has, so that the engine says when it is full
ENDING_SECONDS = 300.0  # in which files that were cut off are brought back
QUICK_NOTE = "Made with --quick: of the cases that move, the first table and the first index alone; no pitfalls."
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
        space = bench.script.scratch.throw_away if case.setup == FILES else bench.script.scratch.slow
        wanted = {key: f"{kind} in {space}" for key, kind in case.units.items()}
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
    cases = [case for case in bench.made if case.purpose == "demand"]
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
    bench.clock.sleep(SETTLE_SECONDS)
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
    findings: ClaimFindings, cases: Sequence[Case], catalog: Catalog, demand: Demand, block_bytes: int = BLOCK_BYTES
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


def _note(statement: NotedStatement) -> tuple[str, str, str]:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a person has ordered, and how they are asked."""

    database: DatabaseConfig
    proof: Proof
    script: Script
    ledger: Ledger
    clock: Clock
    who: str
    origin: str
    approve_script: Callable[[Script], bool]  # shows the script and asks
    approve: Approve
    tell: Callable[[ProofPage], None]  # given every page, also of a run that an error or Ctrl-C has ended
    say: Callable[[str], None]
    server: str = "real"
    note: str = ""


def prove(order: Order) -> ProofPage | None:
    """Run it to a page, given to ``order.tell`` before anything is raised; None where the script was not approved.

    Raises:
        ProofRefused: login, schema or spaces are not fit for it; there is no page.
        NotApproved: a person said no to a move; what was made is dropped.
        ConnectorError: the engine did not answer, or another agent acts here; what could be dropped is dropped.
    """
    settings = order.database.move_connection or order.database.connection
    session = order.proof.open_session(settings, order.clock)
    try:
        _refuse_ledger(order)
        admit(session, order.script)
        admit_watching_login(order.proof, order.database, order.script, order.clock)
        if not order.approve_script(order.script):
            return None
        order.ledger.audit.record(
            "proof.approved", order.database.name, who=order.who, origin=order.origin, digest=order.script.digest
        )
        return _Run(order, session).page()
    finally:
        session.close()


def _refuse_ledger(order: Order) -> None:
    if order.ledger.proposals.rule.signers is not None:
        raise ProofRefused(
            "nothing was made: approvals have to be signed here, and prove asks on the terminal",
            advice="Give prove a configuration with a ledger of its own, without `approval: signed`.",
        )
    rows = order.ledger.moves.rows(database=order.database.name, states=ACTIONABLE)
    if rows:
        raise ProofRefused(
            f"nothing was made: the ledger has approved moves of {order.database.name}, the first is {rows[0].id}",
            advice="Give prove a configuration with a ledger of its own.",
        )


class _Run:
    """One run on an approved script."""

    def __init__(self, order: Order, session: ProofSession) -> None:
        self._order = order
        self._rounds: Rounds | None = None
        self._version = "of an unknown version"
        self._database = order.database.model_copy(update={"by_hand": False})  # whoever moves tables: its own are moved
        self._bench = Bench(
            database=self._database,
            proof=order.proof, script=order.script, ledger=order.ledger, clock=order.clock,
            watch=self._watch(order.database), session=session, findings=_findings_of(order), approve=order.approve,
            who=order.who, origin=order.origin, say=order.say,
        )  # fmt: skip

    def _watch(self, database: DatabaseConfig) -> Watch:
        order = self._order
        return Watch(
            database, order.ledger, order.clock, level=Level.PROPOSE, dry_run=False, listener=self._listen,
            asked_by=order.who,
        )  # fmt: skip

    def page(self) -> ProofPage:
        """Everything, from the first statement to the last DROP."""
        began, at = self._order.clock.monotonic(), self._order.clock.now()
        failure, of_clearing = _failure_of(self._try_all), _failure_of(self._clear)
        if of_clearing is not None:  # a second Ctrl-C ends the dropping
            self._bench.findings.note_not_tried("clean", f"dropping ended before its end: {_in_words(of_clearing)}")
        failure = failure or of_clearing
        page = self._page(began, at, failure)
        self._order.tell(page)
        if failure is not None:
            raise failure
        return page

    def _page(self, began: float, at: datetime, failure: BaseException | None) -> ProofPage:
        order, ended = self._order, "" if failure is None else _in_words(failure)
        return ProofPage(
            title=order.database.engine_record.title,
            engine=order.database.engine,
            version=self._version,
            server=order.server,
            made_at=at.replace(microsecond=0),
            digest=order.script.digest,
            seconds=order.clock.monotonic() - began,
            findings=self._bench.findings.all(ended),
            note=" ".join(filter(None, (order.note, QUICK_NOTE if order.script.quick else ""))),
            ended=ended,
        )

    def _try_all(self) -> None:
        bench = self._bench
        bench.watch.hold_lease()
        self._version = bench.watch.identity.version
        quick = self._order.script.quick
        parts: tuple[tuple[str, Callable[[Bench], None], bool], ...] = (
            ("making what is tried", lambda _: self._make(), True),
            ("queries", try_queries, not quick),
            ("what is asked in every run", try_answers, True),
            ("units of the catalog", try_units, True),
            ("counters", try_counters, not quick),
            ("reads that are known", try_truth, True),
            ("a plan", try_plan, not quick),
            ("moves", lambda _: self._move(), True),
        )
        tried = [(name, work) for name, work, wanted in parts if wanted]
        for number, (name, work) in enumerate(tried, start=1):
            later = [*(each for each, _ in tried[number:]), "dropping"]
            bench.say(f"part {number} of {len(tried) + 1}: {name}; then {', '.join(later)}")
            work(bench)

    def _move(self) -> None:
        """Every unit there and back, then the pitfalls, while others work and look."""
        bench = self._bench
        witness = Witness(bench.script, bench.clock, bench.open_session)
        witness.start()
        try:
            cases = [case for case in bench.made if case.purpose == MOVES]
            self._rounds = Rounds(bench, witness)
            self._rounds.run([case for case in cases if not case.setup])
            for case in bench.made:
                if case.purpose == "pitfalls":
                    moving.Pitfalls(bench, witness, case).run()
            for setup in dict.fromkeys(case.setup for case in cases if case.setup):
                bench.say(f"under other settings: {setup}")
                self._set_up(setup)
                self._rounds = Rounds(bench, witness)
                self._rounds.run([case for case in cases if case.setup == setup])
        finally:
            witness.stop()

    def _set_up(self, name: str) -> None:
        """Move all that follows under other settings: by another connector, of the same database and ledger."""
        bench, order, scratch = self._bench, self._order, self._order.script.scratch
        wanted = order.proof.set_up(name, scratch, self._given_paths() if name == FILES else ())
        spaces = {scratch.slow: wanted.slow, scratch.fast: wanted.fast}
        bench.watch.close(save=False)
        bench.database = _under(self._database, wanted.settings, spaces)
        bench.script = replace(order.script, scratch=replace(scratch, slow=wanted.slow, fast=wanted.fast))
        bench.watch = self._watch(bench.database)
        bench.watch.hold_lease()

    def _listen(self, event: MoveEvent) -> None:
        self._bench.say(f"{event.move.move.key} -> {event.move.move.to_space}: {event.move.state}: {event.sentence}")
        if self._rounds is not None:
            self._rounds.listen(event)

    # -- making and dropping -------------------------------------------------------------------------------------

    def _make(self) -> None:
        """Each case that the server lets us make; of others the claims say why they were not tried."""
        bench = self._bench
        for case in bench.script.cases:
            bench.say(f"making {case.name}: {case.sentence}")
            bench.made.append(case)  # before its first statement: a part of it may be there if one fails
            try:
                for statement in case.part("make"):
                    bench.session.run(statement.sql)
            except LOST:
                raise
            except HotplaceError as error:
                self._drop(case)
                bench.made.remove(case)
                self._not_made(case, error)

    def _not_made(self, case: Case, error: HotplaceError) -> None:
        findings, native = self._bench.findings, getattr(error, "native_code", "")
        for finding in findings.all():
            if finding.claim.name == case.name and finding.claim.sort in ("units", "move", "kept"):
                findings.note_not_tried(finding.claim.code, f"the server did not make it: {error}", native)

    def _drop(self, case: Case) -> None:
        for statement in case.part("drop"):
            with suppress(HotplaceError):  # what is left is named at the end
                self._bench.session.run(statement.sql)

    def _clear(self) -> None:
        """Let nothing run any more, and drop what was made."""
        bench = self._bench
        try:
            for number in bench.proposals:
                bench.strike_rest(number)
            self._mend_session()
            self._end_files()
            for case in reversed(bench.made):
                self._drop(case)
            self._look_that_it_is_empty()
        finally:
            bench.session.close()
            bench.watch.acting.stop()
            bench.watch.close(save=False)

    def _end_files(self) -> None:
        """Bring files back that a move was cut off with, which no DROP of a table does."""
        bench, script = self._bench, self._order.script
        begun = [row for number in bench.proposals for row in bench.rows(number) if row.state in ACTIONABLE]
        if not script.scratch.throw_away or not begun or bench.script is script:
            return
        bench.say(f"bringing back the files of {script.scratch.throw_away}")
        for row in begun:
            bench.ledger.requests.submit(
                row.id, RequestKind.CANCEL, who=bench.who, origin=bench.origin, reason="the proof has ended"
            )
        with suppress(HotplaceError):  # what is left is named at the end
            bench.watch.close(save=False)
            bench.watch = self._watch(bench.database)
            bench.watch.hold_lease()
            until = bench.clock.monotonic() + ENDING_SECONDS
            while bench.clock.monotonic() < until:
                bench.watch.act()
                left = [row for row in begun if bench.ledger.moves.row(row.id).state in ACTIONABLE]
                if not left and not bench.watch.executor.leftovers():
                    return
                bench.clock.sleep(0.1)

    def _files_left(self) -> list[str]:
        """Files of the space that is given away that are not where they were."""
        scratch = self._order.script.scratch
        if not scratch.throw_away:
            return []
        left = [path for path in self._given_paths() if path.startswith(scratch.to_folder)]
        return [f"{path}, a file of {scratch.throw_away}" for path in left]

    def _given_paths(self) -> list[str]:
        """Paths of the files of the space that is given away."""
        bench = self._bench
        return [str(row[0]) for row in bench.session.rows(bench.script.questions["given_paths"])]

    def _mend_session(self) -> None:
        """Another session, where the one at hand has been lost with what it did last."""
        bench = self._bench
        try:
            bench.session.let_go()
            bench.session.rows(bench.script.questions["schema"])
        except HotplaceError:
            with suppress(HotplaceError):
                bench.session.close()
            with suppress(HotplaceError):  # then no object can be dropped, which is reported at the end
                bench.session = bench.open_session()

    def _look_that_it_is_empty(self) -> None:
        bench = self._bench
        try:
            left = [str(row[0]) for row in bench.session.rows(bench.script.questions["schema"])] + self._files_left()
        except HotplaceError as error:
            words = f"it may hold {', '.join(case.name for case in bench.made)}" if bench.made else "nothing was made"
            bench.findings.note_not_tried("clean", f"{error}; {words}", native_code_of(error))
            bench.say(f"could not look whether all that was made is dropped: {words}")
            return
        if left:
            bench.findings.note_contradiction("clean", "; ".join(left))
            bench.say(f"left behind: {'; '.join(left)}")
        else:
            bench.findings.note_seen("clean", "all that was made is dropped")


def _findings_of(order: Order) -> ClaimFindings:
    every = every_claim(order.proof)
    findings = ClaimFindings(quick_claims(order.proof), every) if order.script.quick else ClaimFindings(every)
    if not order.script.scratch.throw_away:
        given = {case.name for case in order.proof.cases(NAMES) if case.setup == FILES}
        for claim in every:
            if claim.name in given and claim.sort in ("units", "move", "kept"):
                findings.note_not_tried(claim.code, "no space was given away whose files may move: --throw-away")
    return findings


def _under(database: DatabaseConfig, settings: Mapping[str, object], spaces: Mapping[str, str]) -> DatabaseConfig:
    """The database under other settings, its tiers with other spaces in the place of the scratch spaces."""
    tiers = [
        tier.model_copy(
            update={"spaces": tuple(_with_space_name(each, spaces) for each in tier.spaces if each.name in spaces)}
        )
        for tier in database.tiers
    ]
    moving = database.move_connection
    return database.model_copy(
        update={
            "connection": database.connection.model_copy(update=dict(settings)),
            "move_connection": None if moving is None else moving.model_copy(update=dict(settings)),
            "tiers": tuple(tier for tier in tiers if tier.spaces),
        }
    )


def _with_space_name(space: SpaceConfig, spaces: Mapping[str, str]) -> SpaceConfig:
    """The space by its name under the settings; what room a folder has is not configured, and the engine says it."""
    name = spaces[space.name]
    return space if name == space.name else space.model_copy(update={"name": name, "capacity": ROOM_OF_A_FOLDER})


def _failure_of(work: Callable[[], None]) -> BaseException | None:
    """What ended the work, Ctrl-C included, to be raised once what was seen is reported."""
    try:
        work()
    except BaseException as error:  # noqa: BLE001  # returned to who raises it
        return error
    return None


def _in_words(error: BaseException) -> str:
    """Why a run ended, for its page."""
    match error:
        case KeyboardInterrupt():
            return "interrupted from the keyboard"
        case HotplaceError():
            return str(error)
        case _:
            return f"a fault of hotplace itself, {type(error).__name__}: {error}"
