"""A proof on a real PostgreSQL: what it sees, what it refuses, what it leaves behind, what it notices."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from agent.studies.prove.claims import ClaimFinding, ProofPage, Result, claims_tried, markdown_of
from agent.studies.prove.script import ProofNotApproved, ProofRefused
from agent.terminal.errors import ExitCode
from connectors.kit.contract import CannotConnect, OutcomeUnknown
from connectors.kit.proving import NotedStatement
from connectors.postgresql.claims.proof import PostgresqlProofSession
from connectors.postgresql.mover import PostgresqlMover
from tests.conftest import MAJORS
from tests.prove.conftest import Place

Find = Callable[[ProofPage | None, str], ClaimFinding]
NEWEST = pytest.mark.parametrize("cluster", MAJORS[-1:], indirect=True)
pytestmark = [pytest.mark.postgresql, pytest.mark.xdist_group(f"postgresql {MAJORS[-1] if MAJORS else 0}"), NEWEST]


def test_from_an_empty_schema_to_a_page(place: Place, finding: Find) -> None:
    """Made, loaded, sampled, planned, moved there and back by every way, disturbed, dropped: every claim is seen.

    On a busy machine an index may be built before another session's statement ends, so it may be looked at again.
    """
    names = {"toast", "loaded", "disturbed"}
    for _ in range(4):
        page = place.prove(place.script(*names))
        if finding(page, "online reindex concurrently").result is not Result.NOT_TRIED:
            break
    assert page is not None
    assert [(each.claim.code, each.evidence) for each in page.findings if each.result is Result.CONTRADICTED] == []
    tried = {each.claim.code for each in page.findings if each.result is Result.SEEN}
    assert {"move toast", "kept toast"} | {f"units {name}" for name in names} <= tried
    assert {"counter look_ups", "counter scans", "counter untouched", "answer plan", "clean"} <= tried
    assert {f"pitfall {name}" for name in ("lock", "long transaction", "cancelled", "dropped", "grown")} <= tried
    assert {"online reindex concurrently", "query units"} <= tried
    assert place.relations() == []
    rows = place.ledger.audit.rows(event="proof.approved")
    assert rows[-1].facts["digest"] == page.digest
    text = markdown_of(claims_tried(page))
    assert all(each.claim.name in text.replace("\\", "") for each in page.findings)


def test_a_proof_can_be_made_again(place: Place, finding: Find) -> None:
    """With the same ledger: nothing that the first one approved is left to be carried out."""
    for _ in range(2):
        page = place.prove(place.script("disturbed"))
        assert finding(page, "pitfall lock").result is Result.SEEN


def test_the_lock_of_a_move_is_seen(place: Place, finding: Find) -> None:
    """By another session; on a busy machine a move may be over before it looks, so it may look several times."""
    for _ in range(10):
        found = finding(place.prove(place.script("toast")), "lock set tablespace")
        if found.result is not Result.NOT_TRIED:
            break
    words = "ACCESS EXCLUSIVE on scratch.documents while scratch.documents moved"
    assert (found.result, found.evidence) == (Result.SEEN, words)


def test_a_superuser_is_refused(place: Place) -> None:
    """Before a statement is sent, and whatever else it may do."""
    place.user = "postgres"
    with pytest.raises(ProofRefused, match="postgres is a superuser") as refused:
        place.prove(place.script("toast"))
    assert refused.value.code is ExitCode.NOT_ALLOWED
    assert (place.relations(), place.shown) == ([], [])


REFUSED = (  # what spoils it, what mends it, and the words of the refusal
    ("ALTER ROLE prover CREATEROLE", "ALTER ROLE prover NOCREATEROLE", "prover may create roles"),
    (
        "CREATE ROLE boss SUPERUSER; GRANT boss TO prover", "DROP ROLE boss",
        "prover is a member of boss, which is a superuser",
    ),
    ("CREATE SCHEMA other AUTHORIZATION prover", "DROP SCHEMA other", "prover also owns the schema other"),
    (
        "CREATE TABLE public.t (n int); ALTER TABLE public.t OWNER TO prover", "DROP TABLE public.t",
        "prover also owns public.t",
    ),
    ("CREATE TABLE scratch.mine (n int)", "DROP TABLE scratch.mine", "is not empty: it holds the relation mine"),
    (
        "CREATE FUNCTION scratch.f() RETURNS int LANGUAGE sql AS 'SELECT 1'", "DROP FUNCTION scratch.f",
        "is not empty: it holds the function f",
    ),
    (
        "ALTER SCHEMA scratch OWNER TO postgres", "ALTER SCHEMA scratch OWNER TO prover",
        "belongs to postgres, not to prover",
    ),
    (
        "REVOKE CREATE ON TABLESPACE fast FROM prover", "GRANT CREATE ON TABLESPACE fast TO prover",
        "GRANT CREATE ON TABLESPACE fast TO prover",
    ),
    ("DROP SCHEMA scratch", "CREATE SCHEMA scratch", "there is no schema scratch"),
)  # fmt: skip


def test_what_else_is_refused(place: Place) -> None:
    """A login with more rights or belongings, an unfit schema, a space it may not use."""
    for spoil, mend, why in REFUSED:
        place.dba.execute(spoil.encode())
        try:
            with pytest.raises(ProofRefused, match=why):
                place.prove(place.script("toast"))
        finally:
            place.dba.execute(mend.encode())
    assert place.shown == []


def test_what_is_not_approved_is_not_made(place: Place) -> None:
    """No to the script: there is no page, and nothing was sent."""
    place.answers = [False]
    assert place.prove(place.script("toast")) is None
    assert place.relations() == []
    assert place.ledger.audit.rows(event="proof.approved") == []


def test_what_is_not_moved_is_dropped(place: Place) -> None:
    """No to the first proposal: nothing has moved, and what was made is gone."""
    place.answers = [True, False]
    with pytest.raises(ProofNotApproved):
        place.prove(place.script("toast"))
    assert place.relations() == []
    (number,) = [row.id for row in place.ledger.proposals.rows()]
    assert {row.state for row in place.ledger.moves.rows(proposal_id=number)} == {"rejected"}


def test_ctrl_c_leaves_a_page_and_nothing_else(place: Place, finding: Find) -> None:
    """Pressed while the third move runs: all is dropped, nothing is left to run, the page says what was not tried."""

    def press(text: str) -> None:
        place.said.append(text)
        if ": running: " in text and sum(": running: " in each for each in place.said) == 3:
            os.kill(os.getpid(), signal.SIGINT)

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        place.prove(place.script("toast"), say=press)
    assert place.relations() == []
    states = {str(row.state) for row in place.ledger.moves.rows(database="real")}
    assert states.isdisjoint({"approved", "running", "precheck"})
    assert threading.active_count() <= before
    (page,) = place.pages
    assert page.ended == "interrupted from the keyboard"
    assert (finding(page, "units toast").result, finding(page, "clean").result) == (Result.SEEN, Result.SEEN)
    moved, kept = finding(page, "move toast"), finding(page, "kept toast")
    assert (moved.result, kept.result) == (Result.NOT_TRIED, Result.NOT_TRIED)
    assert moved.evidence.endswith(" moves were carried out, then the run ended")
    assert kept.evidence.endswith(" moves, then the run ended")
    assert finding(page, "pitfall lock").evidence == "the run ended before: interrupted from the keyboard"
    assert "**The run ended before its end**: interrupted from the keyboard." in markdown_of(claims_tried(page))


def test_a_lost_connection_leaves_a_page_and_nothing_else(place: Place, finding: Find) -> None:
    """The server ends the session that makes and drops: another one drops what was made, and the page has the error."""

    def cut(text: str) -> None:
        if text.startswith("round 1"):
            place.dba.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'prover'")

    with pytest.raises((CannotConnect, OutcomeUnknown)):
        place.prove(place.script("toast"), say=cut)
    assert place.relations() == []
    (page,) = place.pages
    assert "57P01" in page.ended or "terminat" in page.ended
    assert (finding(page, "units toast").result, finding(page, "clean").result) == (Result.SEEN, Result.SEEN)
    assert page.ended in finding(page, "pitfall lock").evidence


def test_a_second_ctrl_c_ends_the_dropping(place: Place, finding: Find, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page says that it did; the next run names what it finds."""
    run = PostgresqlProofSession.run

    def pressed(session: PostgresqlProofSession, statement: str) -> None:
        if statement.startswith(("DROP", "ANALYZE")):
            raise KeyboardInterrupt
        run(session, statement)

    monkeypatch.setattr(PostgresqlProofSession, "run", pressed)
    with pytest.raises(KeyboardInterrupt):
        place.prove(place.script("unlogged"))
    (page,) = place.pages
    assert finding(page, "clean").evidence == "dropping ended before its end: interrupted from the keyboard"
    monkeypatch.undo()
    with pytest.raises(ProofRefused, match="is not empty: it holds the relation kept"):
        place.prove(place.script("unlogged"))
    assert len(place.pages) == 1


def test_a_case_that_the_server_refuses_is_not_tried(place: Place, finding: Find) -> None:
    """With the native error as the reason; the others go on."""
    script = place.script("toast", "unlogged")
    toast, unlogged = script.cases
    broken = replace(
        toast, parts={**toast.parts, "make": (*toast.part("make"), NotedStatement("CREATE TABEL x (n int)"))}
    )
    page = place.prove(replace(script, cases=(broken, unlogged)))
    found = finding(page, "move toast")
    assert (found.result, found.native_code) == (Result.NOT_TRIED, "42601")
    assert finding(page, "units unlogged").result is Result.SEEN
    assert place.relations() == []


def test_a_wrong_unit_is_contradicted(place: Place, finding: Find) -> None:
    """The catalog is held against what the case says it makes, key, kind and place."""
    (toast,) = place.script("toast").cases
    wrong = replace(
        toast, units={"scratch.documents": "index", "scratch.documents_pkey": "index", "scratch.x": "table"}
    )
    found = finding(place.prove(replace(place.script(), cases=(wrong,))), "units toast")
    assert found.result is Result.CONTRADICTED
    assert "scratch.documents: table in slow, made as index in slow" in found.evidence
    assert "scratch.x: not listed" in found.evidence


def test_what_a_move_loses_is_noticed(place: Place, finding: Find, monkeypatch: pytest.MonkeyPatch) -> None:
    """A comment, a row and a right that are gone after a move are named, each with what it was."""
    execute = PostgresqlMover.execute

    def losing(mover: PostgresqlMover, step: object) -> None:
        execute(mover, step)  # type: ignore[arg-type]
        for statement in (
            "COMMENT ON TABLE scratch.documents IS 'lost'",
            "DELETE FROM scratch.documents WHERE id = 1",
            "GRANT SELECT ON scratch.documents TO PUBLIC",
        ):
            mover._session.execute(statement.encode())

    monkeypatch.setattr(PostgresqlMover, "execute", losing)
    found = finding(place.prove(place.script("toast")), "kept toast")
    assert found.result is Result.CONTRADICTED
    assert "privileges of relation documents was" in found.evidence
    assert "rows of toast 1" in found.evidence
    assert "lost" in found.evidence or "more" in found.evidence
