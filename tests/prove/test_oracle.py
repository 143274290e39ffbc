"""A proof on the emulated Oracle server over the real driver: whom it refuses, what it sees, what it leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from agent.config.models import DatabaseConfig
from agent.ledger.ledger import Ledger
from agent.model.clock import SystemClock
from agent.studies.prove import moving, truth
from agent.studies.prove.claims import ClaimFinding, ProofPage, Result
from agent.studies.prove.run import Order, prove
from agent.studies.prove.script import ProofRefused, Script, script_of
from connectors.kit.proving import Proof, Scratch
from connectors.model.observation import Catalog, Demand, Interval
from connectors.oracle.claims.proof import LICENSED
from connectors.oracle.connector import OracleConnector
from connectors.oracle.engine import ENGINE
from tests.labs.oracle.harness import PASSWORD, OracleHarness, running_harness
from tests.labs.oracle.model import Quirks, User

OWNER = "SCRATCH"
SCRATCH = Scratch(schema=OWNER, slow="SLOW", fast="FAST")
Spoil = Callable[[OracleHarness, User], None]


def proof_of_engine() -> Proof:
    """That of Oracle."""
    assert ENGINE.proof is not None
    return ENGINE.proof


@dataclass(slots=True)
class Place:
    """Where one proof runs; every question is answered with yes."""

    lab: OracleHarness
    folder: Path
    ledger: Ledger
    pages: list[ProofPage] = field(default_factory=list)
    shown: list[object] = field(default_factory=list)

    def script(self, *names: str) -> Script:
        """The script with the cases of those names alone."""
        script = script_of(proof_of_engine(), SCRATCH)
        return replace(script, cases=tuple(case for case in script.cases if case.name in names))

    def prove(self, script: Script, user: str = OWNER) -> dict[str, ClaimFinding]:
        """Run it; its findings by the codes of their claims."""
        password = self.folder / "password"
        password.write_text(PASSWORD)
        password.chmod(0o600)
        connection = {
            "host": "127.0.0.1", "port": self.lab.server.port, "service": "orclpdb1", "user": user,
            "password": {"file": str(password)}, "lock_timeout": "1s",
        }  # fmt: skip
        tiers = (("ssd", "FAST"), ("hdd", "SLOW"))
        values: dict[str, Any] = {
            "name": "real", "engine": "oracle", "connection": connection,
            "tiers": [{"name": tier, "spaces": [{"name": space, "capacity": "1 GiB"}]} for tier, space in tiers],
        }  # fmt: skip
        order = Order(
            database=DatabaseConfig.model_validate(values), proof=proof_of_engine(), script=script, ledger=self.ledger,
            clock=SystemClock(), who="ann", origin="test", approve_script=self._agree,
            approve=lambda _, proposal: self._agree(proposal), say=lambda _: None, tell=self.pages.append,
            server="emulated",
        )  # fmt: skip
        prove(order)
        return {each.claim.code: each for each in self.pages[-1].findings}

    def _agree(self, shown: object) -> bool:
        self.shown.append(shown)
        return True

    def tables(self) -> list[str]:
        """What the scratch schema holds."""
        return [name for owner, name in self.lab.database.tables if owner == OWNER]


@pytest.fixture(scope="module")
def lab() -> Iterator[OracleHarness]:
    """Standard Edition of 12.1, which has one way for each unit; its copies last long enough to be seen."""
    with running_harness("prove", (12, 1, 0, 2, 0), Quirks(edition="SE2")) as running:
        running.add_owner(OWNER)
        running.database.least_seconds = 0.05
        yield running


@pytest.fixture
def place(lab: OracleHarness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """An empty scratch schema."""
    monkeypatch.setattr(moving, "HELD_SECONDS", 0.7)
    with Ledger.open(tmp_path / "ledger.db", SystemClock()) as ledger:
        yield Place(lab, tmp_path, ledger)


def test_from_an_empty_schema_to_a_page(place: Place) -> None:
    """Made, loaded, moved there and back, disturbed, dropped; what this edition lacks is not tried, with its error."""
    found = place.prove(place.script("names", "bitmap", "loaded", "disturbed"))
    assert {code: each.evidence for code, each in found.items() if each.result is Result.CONTRADICTED} == {}
    seen = {code for code, each in found.items() if each.result is Result.SEEN}
    assert {"move names", "kept names", "units names", "units loaded", "units disturbed", "clean"} <= seen
    assert {"counter look_ups", "counter scans", "counter untouched", "answer plan", "query units"} <= seen
    assert {"pitfall lock", "pitfall dropped", "pitfall grown", "lock move", "online move", "online rebuild"} <= seen
    assert (found["units bitmap"].result, found["units bitmap"].native_code) == (Result.NOT_TRIED, "ORA-00439")
    assert "no online way" in found["pitfall long transaction"].evidence
    assert found["query cloud"].result is Result.NOT_TRIED
    assert place.tables() == []


def _give(privilege: str) -> Spoil:
    return lambda _, user: user.privileges.add(privilege)


def _make(lab: OracleHarness, _: User) -> None:
    lab.database.add_table(OWNER, "MINE", "SLOW", 1 << 20)


def _take_quota(_: OracleHarness, user: User) -> None:
    del user.quotas["FAST"]


REFUSED: tuple[tuple[Spoil, str], ...] = (
    (lambda _, user: user.roles.add("DBA"), "SCRATCH has the role DBA"),
    (_give("SYSDBA"), "SCRATCH may SYSDBA"),
    (_give("DROP ANY TABLE"), "SCRATCH may DROP ANY TABLE"),
    (_give("ALTER SYSTEM"), "SCRATCH may ALTER SYSTEM"),
    (_make, "SCRATCH is not empty: it holds the TABLE MINE"),
    (_take_quota, "no quota in FAST: ALTER USER SCRATCH QUOTA UNLIMITED ON FAST;"),
)


@pytest.mark.parametrize(("spoil", "why"), REFUSED, ids=[why for _, why in REFUSED])
def test_who_is_refused(place: Place, spoil: Spoil, why: str) -> None:
    """A DBA, whoever reaches other schemas, a schema that is not empty, a space without a quota; nothing is asked."""
    user = place.lab.database.users[OWNER]
    before = set(user.privileges), set(user.roles), dict(user.quotas)
    spoil(place.lab, user)
    place.lab.database.generation += 1
    try:
        with pytest.raises(ProofRefused, match=why):
            place.prove(place.script("names"))
    finally:
        user.privileges, user.roles, user.quotas = before
        for name in place.tables():
            place.lab.database.drop_table(OWNER, name)
    assert place.shown == []


def test_another_schema_is_refused(place: Place) -> None:
    """A login that is not its owner, even one that may do nothing else."""
    place.lab.add_owner("OTHER")
    with pytest.raises(ProofRefused, match="the schema SCRATCH is not that of the login, OTHER"):
        place.prove(place.script("names"), user="OTHER")


def test_views_that_need_a_licence_are_not_asked() -> None:
    """Not even for no row: reading them is what the licence is for."""
    script = script_of(proof_of_engine(), SCRATCH)
    assert LICENSED.isdisjoint(script.queries)
    assert not [text for _, text in script.statements() if "DBA_HIST" in text or "DBA_ILM" in text]
    assert "units" in script.queries


TRUTH = ("reads look-ups", "wait look-ups", "reads a scan", "wait a scan")


def test_reads_and_waits_of_objects_are_what_the_session_counted(place: Place) -> None:
    """V$MYSTAT and V$SESSION_EVENT against the connector: look-ups through the index, and a scan; 1,500 blocks each."""
    found = place.prove(place.script("truth"))
    assert [(code, found[code].evidence) for code in TRUTH if found[code].result is not Result.SEEN] == []
    assert "1,500 blocks; the session counted 1,500" in found["reads a scan"].evidence


def test_a_wrong_factor_of_the_connector_is_contradicted(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A demand that counts a tenth too much in reads and waits."""
    classify = OracleConnector.classify

    def wrong(connector: OracleConnector, interval: Interval, catalog: Catalog) -> Demand:
        demand = classify(connector, interval, catalog)
        waited = None if demand.waited is None else demand.waited * 1.1
        return replace(demand, rates=demand.rates * 1.1, waited=waited)

    monkeypatch.setattr(OracleConnector, "classify", wrong)
    monkeypatch.setattr(truth, "MOST_TRIES", 1)
    found = place.prove(place.script("truth"))
    assert {found[code].result for code in TRUTH} == {Result.CONTRADICTED}


def test_without_the_procedure_nothing_is_said_about_waits(place: Place) -> None:
    """The DBA has installed none that flushes: not tried, with the server's own words."""
    place.lab.database.users[OWNER].grants.discard(("EXECUTE", "HOTPLACE_FLUSH.FLUSH_CACHE"))
    found = place.prove(place.script("truth"))
    assert {found[code].result for code in TRUTH} == {Result.NOT_TRIED}
    assert "what is in memory could not be flushed" in found["wait look-ups"].evidence
    assert "PLS-00201" in found["wait look-ups"].evidence


def test_data_files_of_a_tablespace_that_is_given_away_go_and_come_back(place: Place) -> None:
    """By a login with ALTER DATABASE, which is refused else; this needs Enterprise Edition."""
    given = Scratch(schema=OWNER, slow="SLOW", fast="FAST", throw_away="SPARE", to_folder="/ssd/oradata")
    script = script_of(proof_of_engine(), given, quick=True)
    script = replace(script, cases=tuple(case for case in script.cases if case.name == "files"))
    with running_harness("files") as lab:
        lab.add_owner(OWNER)
        user = lab.database.users[OWNER]
        lab.database.add_tablespace("SPARE", "/hdd/oradata/spare01.dbf", 64 << 20, 1 << 30)
        user.quotas["SPARE"] = -1
        here = Place(lab, place.folder, place.ledger)
        with pytest.raises(ProofRefused, match="SCRATCH may not move data files: GRANT ALTER DATABASE TO SCRATCH;"):
            here.prove(script)
        user.privileges.add("ALTER DATABASE")
        found = here.prove(script)
        assert found["move files"].evidence.startswith("2 by move datafile")
        assert [found[f"{sort} files"].result for sort in ("units", "kept")] == [Result.SEEN, Result.SEEN]
        assert found["clean"].result is Result.SEEN
        assert [file.path for file in lab.database.tablespaces["SPARE"].files] == ["/hdd/oradata/spare01.dbf"]
