"""A proof on the emulated Db2 over IBM's driver: whom it refuses, what it sees and notices, what it leaves behind."""

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
from connectors.db2.connector import Db2Connector
from connectors.db2.engine import ENGINE
from connectors.kit.contract import ConnectorError, StatementFailed
from connectors.kit.proving import Proof, Scratch
from connectors.model.observation import Catalog, Demand, Interval
from tests.labs.db2.client import Db2
from tests.labs.db2.server import ADMIN, LOOKER, PROVER, TS_FAST, TS_SLOW
from tests.labs.db2.sessions import User
from tests.prove.places import SCRATCH, db2_values, scratch_db2

pytestmark = [pytest.mark.db2, pytest.mark.xdist_group("db2")]
Spoil = Callable[[Any], None]
QUERIES = ("storage_groups", "sample_tables")


def proof_of_engine() -> Proof:
    """That of Db2."""
    assert ENGINE.proof is not None
    return ENGINE.proof


@dataclass(slots=True)
class Place:
    """Where one proof runs; every question is answered with yes."""

    server: Db2
    folder: Path
    ledger: Ledger
    pages: list[ProofPage] = field(default_factory=list)
    shown: list[object] = field(default_factory=list)

    def script(self, *names: str, fast: str = TS_FAST) -> Script:
        """The script with the cases of those names, and a few queries; ``python -m tests.prove db2`` tries all."""
        script = script_of(proof_of_engine(), Scratch(schema=SCRATCH, slow=TS_SLOW, fast=fast))
        queries = {name: text for name, text in script.queries.items() if name.startswith(QUERIES)}
        cases = tuple(case for case in script.cases if case.name in names)
        return replace(script, cases=cases, queries=queries)

    def prove(self, script: Script, user: User = PROVER, **other: Any) -> dict[str, ClaimFinding]:
        """Run it; its findings by the codes of their claims."""
        order = Order(
            database=DatabaseConfig.model_validate(db2_values(self.server, self.folder, user, **other)),
            proof=proof_of_engine(), script=script, ledger=self.ledger, clock=SystemClock(), who="ann", origin="test",
            approve_script=self._agree, approve=lambda _, proposal: self._agree(proposal), say=lambda _: None,
            tell=self.pages.append, server="emulated",
        )  # fmt: skip
        prove(order)
        return {each.claim.code: each for each in self.pages[-1].findings}

    def _agree(self, shown: object) -> bool:
        self.shown.append(shown)
        return True


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """An empty scratch schema on 11.5."""
    monkeypatch.setattr(moving, "HELD_SECONDS", 0.7)
    with scratch_db2() as server, Ledger.open(tmp_path / "ledger.db", SystemClock()) as ledger:
        yield Place(server, tmp_path, ledger)


def test_emulated_server_from_an_empty_schema_to_a_page(place: Place) -> None:
    """Made, loaded, moved there and back by both ways, disturbed, dropped."""
    found = place.prove(place.script("column_organised", "names", "loaded", "disturbed"))
    assert {code: each.evidence for code, each in found.items() if each.result is Result.CONTRADICTED} == {}
    seen = {code for code, each in found.items() if each.result is Result.SEEN}
    assert {"move names", "kept names", "move column_organised", "units loaded", "units disturbed", "clean"} <= seen
    assert {"counter look_ups", "counter scans", "counter untouched", "answer plan", "answer doctor"} <= seen
    assert {"pitfall long transaction", "pitfall cancelled", "pitfall dropped", "pitfall grown"} <= seen
    assert {"lock admin_move_table", "online admin_move_table", "online admin_move_table by load"} <= seen
    assert {"query storage_groups", "query sample_tables of 10.5"} <= seen
    assert "no locking way" in found["pitfall lock"].evidence
    assert found["query sample_tables of 9.7"].result is Result.NOT_TRIED
    assert place.server.lab.tables(SCRATCH) == []


def test_emulated_server_what_a_swap_loses_is_noticed(place: Place) -> None:
    """Rights and statistics that are gone afterwards are named, each with what it was."""
    place.server.lab.behave(swap_loses=("grant", "statistics"))
    found = place.prove(place.script("heap"))["kept heap"]
    assert found.result is Result.CONTRADICTED
    assert "privileges of HEAP for PUBLIC G is gone" in found.evidence
    assert "statistics of rows of HEAP was '1000', is '-1'" in found.evidence


TRUTH = ("reads look-ups", "wait look-ups")


def test_emulated_server_reads_and_waits_are_what_the_session_counted(place: Place) -> None:
    """MON_GET_CONNECTION against the connector: 3,000 look-ups, each with a leaf and a data page of 8 ms."""
    found = place.prove(place.script("truth"))
    assert [(code, found[code].evidence) for code in TRUTH if found[code].result is not Result.SEEN] == []
    assert "6,000 blocks; the session counted 6,000" in found["reads look-ups"].evidence
    assert "the session 48 s" in found["wait look-ups"].evidence
    assert place.server.lab.tables(SCRATCH) == []


@pytest.mark.soak  # in `make test`: the same of Oracle and PostgreSQL, whose figures go through the same comparison
def test_emulated_server_a_wrong_factor_is_contradicted(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A demand that counts a tenth too much in reads and waits."""
    classify = Db2Connector.classify

    def wrong(connector: Db2Connector, interval: Interval, catalog: Catalog) -> Demand:
        demand = classify(connector, interval, catalog)
        waited = None if demand.waited is None else demand.waited * 1.1
        return replace(demand, rates=demand.rates * 1.1, waited=waited)

    monkeypatch.setattr(Db2Connector, "classify", wrong)
    monkeypatch.setattr(truth, "MOST_TRIES", 1)
    found = place.prove(place.script("truth"))
    assert {found[code].result for code in TRUTH} == {Result.CONTRADICTED}


def test_emulated_server_a_pool_that_keeps_the_table_says_nothing(place: Place) -> None:
    """Larger than the table: no page came from storage, so nothing is said about waits."""
    place.server.lab.behave(pool_keeps=True)
    found = place.prove(place.script("truth"))
    assert {found[code].result for code in TRUTH} == {Result.NOT_TRIED}
    assert "the flush left the others in memory" in found["wait look-ups"].evidence


REFUSED: tuple[tuple[Spoil, str], ...] = (
    (lambda lab: lab.grant("PROVER", "SQLADM", "DBADM", "CREATETAB"), "PROVER holds DBADM"),
    (lambda lab: lab.grant("PROVER", "SQLADM", "CREATETAB", "SYSADM"), "PROVER holds SYSADM"),
    (lambda lab: lab.grant("PUBLIC", "DATAACCESS"), "PROVER holds DATAACCESS"),
    (lambda lab: lab.grant("PROVER", "SQLADM"), "GRANT CREATETAB ON DATABASE TO USER PROVER"),
    (lambda lab: lab.grant("PROVER", "CREATETAB"), "GRANT SQLADM ON DATABASE TO USER PROVER"),
    (
        lambda lab: lab.grant("PROVER", "SQLADM", "CREATETAB", f"USE {TS_SLOW}"),
        f"GRANT USE OF TABLESPACE {TS_FAST} TO USER PROVER",
    ),
    (lambda lab: lab.create_schema("MORE", "PROVER"), "PROVER also owns the schema MORE"),
    (lambda lab: lab.create_schema(SCRATCH, "SOMEBODY"), "the schema SCRATCH belongs to SOMEBODY, not to PROVER"),
    (
        lambda lab: lab.create_table(SCRATCH, "THEIRS", "THEIRS_PK", TS_SLOW, 8),
        "the schema SCRATCH is not empty: it holds THEIRS",
    ),
)


@pytest.mark.parametrize(("spoil", "why"), REFUSED, ids=[why for _, why in REFUSED])
def test_emulated_server_who_is_refused(place: Place, spoil: Spoil, why: str) -> None:
    """Whoever may do or owns more, or lacks a right; a schema of another, or with something in it. Nothing is asked."""
    spoil(place.server.lab)
    with pytest.raises(ProofRefused, match=why):
        place.prove(place.script("names"))
    assert (place.shown, place.pages) == ([], [])


def test_emulated_server_spaces_that_take_no_case(place: Place) -> None:
    """One that is not there, a temporary one, one that the system manages."""
    place.server.lab.create_sms("TS_SMS", "/db2/slow/sms")
    for fast, why in (
        ("NOTHING", "there is no table space NOTHING"),
        ("TEMPSPACE1", "TEMPSPACE1 takes no tables"),
        ("TS_SMS", "TS_SMS is managed by the system"),
    ):
        with pytest.raises(ProofRefused, match=why):
            place.prove(place.script("names", fast=fast))


def test_emulated_server_keys_go_and_come_back(place: Place) -> None:
    """Parent and child move, and each key is there afterwards as before; by default such tables are refused."""
    found = place.prove(place.script("referring"))
    assert {code: each.evidence for code, each in found.items() if each.result is Result.CONTRADICTED} == {}
    assert found["move referring"].evidence.startswith("6 by admin_move_table without its foreign keys")
    assert {found[f"{sort} referring"].result for sort in ("units", "move", "kept")} == {Result.SEEN}
    assert found["lock admin_move_table without its foreign keys"].result is Result.SEEN
    refused = place.prove(place.script("referring"), foreign_keys="refuse")
    assert refused["move referring"].result is Result.NOT_TRIED
    assert "refused by foreign_keys: refuse" in refused["move referring"].evidence


def test_emulated_server_only_single_tables_are_proved(place: Place) -> None:
    """With storage groups for spaces the cases would have no place; another user than the owner is refused as ever."""
    with pytest.raises(StatementFailed, match="move_by is both") as refused:
        place.prove(place.script("names"), move_by="both")
    assert isinstance(refused.value, ConnectorError)
    assert "move_by: table" in refused.value.advice
    for user, why in ((ADMIN, "DB2INST1 holds DBADM"), (LOOKER, "belongs to PROVER, not to LOOKER")):
        with pytest.raises(ProofRefused, match=why):
            place.prove(place.script("names"), user)


def test_each_version_is_asked_its_own_form_of_a_query() -> None:
    """One form of each, with the columns that the version has; a name that nothing has is asked for."""
    texts = proof_of_engine().queries()
    for version in ((9, 7), (10, 1), (10, 5, 0, 9), (11, 5), (12, 1)):
        asked = texts.keys() - proof_of_engine().of_other_versions(version)
        assert len({label.partition(" of ")[0] for label in asked}) == len(asked)
    assert "CAST(NULL AS CHAR(1)) AS TABLEORG" in texts["table of 10.1"]
    assert "B.TABLEORG" in texts["table of 10.5"]
    assert not [text for text in texts.values() if "?" in text or "--" in text or "WITH UR" in text]
