"""A whole proof: admission, making, reading, moving, pitfalls, dropping, page.

Only what the listed statements made is dropped, by the names that they made it under; the schema was empty before.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from agent.config import DatabaseConfig, Level
from agent.execution.hooks import MoveEvent
from agent.ledger import Ledger
from agent.model.states import ACTIONABLE
from agent.prove import pitfalls, reading
from agent.prove.admission import admit, admit_watching_login
from agent.prove.bench import Approve, Bench
from agent.prove.claims import LOST, Findings, every_claim, native_code_of
from agent.prove.moving import Rounds
from agent.prove.page import Page
from agent.prove.refusals import ProofRefused
from agent.prove.script import Script
from agent.prove.witness import Witness
from agent.service.watch import Watch
from connectors.base import Clock, HotplaceError
from connectors.proving.proof import Case, Proof, ProofSession


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
    tell: Callable[[Page], None]  # given every page, also of a run that an error or Ctrl-C has ended
    say: Callable[[str], None]
    server: str = "real"
    note: str = ""


def prove(order: Order) -> Page | None:
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
        watch = Watch(
            order.database, order.ledger, order.clock, level=Level.PROPOSE, dry_run=False, listener=self._listen,
            asked_by=order.who,
        )  # fmt: skip
        self._bench = Bench(
            database=order.database, proof=order.proof, script=order.script, ledger=order.ledger, clock=order.clock,
            watch=watch, session=session, findings=Findings(every_claim(order.proof)), approve=order.approve,
            who=order.who, origin=order.origin, say=order.say,
        )  # fmt: skip

    def page(self) -> Page:
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

    def _page(self, began: float, at: datetime, failure: BaseException | None) -> Page:
        order, ended = self._order, "" if failure is None else _in_words(failure)
        return Page(
            title=order.database.engine_record.title,
            engine=order.database.engine,
            version=self._version,
            server=order.server,
            made_at=at.replace(microsecond=0),
            digest=order.script.digest,
            seconds=order.clock.monotonic() - began,
            findings=self._bench.findings.all(ended),
            note=order.note,
            ended=ended,
        )

    def _try_all(self) -> None:
        bench = self._bench
        bench.watch.hold_lease()
        self._version = bench.watch.identity.version
        self._make()
        reading.try_queries(bench)
        reading.try_answers(bench)
        reading.try_units(bench)
        reading.try_counters(bench)
        reading.try_plan(bench)
        witness = Witness(bench.script, bench.clock, bench.open_session)
        witness.start()
        try:
            self._rounds = Rounds(bench, witness)
            self._rounds.run()
            for case in bench.made:
                if case.purpose == "pitfalls":
                    pitfalls.Pitfalls(bench, witness, case).run()
        finally:
            witness.stop()

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
            for case in reversed(bench.made):
                self._drop(case)
            self._look_that_it_is_empty()
        finally:
            bench.session.close()
            bench.watch.stop()
            bench.watch.close(save=False)

    def _mend_session(self) -> None:
        """Another session, where the one at hand has been lost with what it did last."""
        bench = self._bench
        try:
            bench.session.let_go()
            bench.session.rows(bench.script.questions["schema"])
        except HotplaceError:
            with suppress(HotplaceError):
                bench.session.close()
            with suppress(HotplaceError):  # then nothing can be dropped, which is told at the end
                bench.session = bench.open_session()

    def _look_that_it_is_empty(self) -> None:
        bench = self._bench
        try:
            left = [str(row[0]) for row in bench.session.rows(bench.script.questions["schema"])]
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


def _failure_of(work: Callable[[], None]) -> BaseException | None:
    """What ended the work, Ctrl-C included, to be raised once what was seen is told."""
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
