"""A proof on the emulated SQL Server: logins that are refused, a whole run, and what it notices."""

from __future__ import annotations

import os
import signal
import threading
import time
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
from connectors.kit.contract import ConnectorError
from connectors.kit.proving import Proof, Scratch
from connectors.kit.registry import find_engine
from connectors.model.observation import Catalog, Demand, Interval
from connectors.sqlserver.claims.proof import SqlserverProofSession
from connectors.sqlserver.connector import SqlserverConnector
from connectors.sqlserver.settings import SqlserverSettings
from tests.labs.sqlserver.instance import Account
from tests.labs.sqlserver.lab import Lab
from tests.labs.sqlserver.world import ADMINISTRATOR, FAST, MOVER, OWNER, PROVER, SLOW, add_table
from tests.prove.places import SPARE, give_away, scratch_lab, sqlserver_values

Find = Callable[[ProofPage | None, str], ClaimFinding]


@dataclass(slots=True)
class Place:
    """An emulated server with an empty scratch schema."""

    lab: Lab
    folder: Path
    ledger: Ledger
    pages: list[ProofPage] = field(default_factory=list)
    shown: list[Script] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    @property
    def proof(self) -> Proof:
        """Of the engine."""
        found = find_engine("sqlserver").proof
        assert found is not None
        return found

    def script(self, *names: str, slow: str = SLOW, quick: bool = False) -> Script:
        """The script with the cases of those names alone."""
        script = script_of(self.proof, Scratch(schema="scratch", slow=slow, fast=FAST), quick=quick)
        return replace(script, cases=tuple(case for case in script.cases if case.name in names))

    def prove(self, script: Script, account: Account = PROVER, **other: Any) -> ProofPage | None:
        """Run it to its page."""
        values = sqlserver_values(self.lab, self.folder, account=account, **other)
        order = Order(
            database=DatabaseConfig.model_validate(values), proof=self.proof, script=script, ledger=self.ledger,
            clock=SystemClock(), who="ann", origin="test", approve_script=self._approve, approve=lambda *_: True,
            tell=self.pages.append, say=self.said.append, server="emulated",
        )  # fmt: skip
        return prove(order)

    def _approve(self, script: Script) -> bool:
        self.shown.append(script)
        return True

    def tables(self) -> list[str]:
        """What the scratch schema holds."""
        return sorted(table.name for table in self.lab.shop.tables.values() if table.schema == "scratch")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """SQL Server 2022 Enterprise, emulated."""
    monkeypatch.setattr(moving, "HELD_SECONDS", 0.7)
    for name in ("SETTLE_SECONDS", "REPORT_SECONDS"):  # of PostgreSQL
        monkeypatch.setattr(truth, name, 0.0)
    with scratch_lab() as lab, Ledger.open(tmp_path / "ledger.db", SystemClock()) as ledger:
        yield Place(lab=lab, folder=tmp_path, ledger=ledger)


def test_from_an_empty_schema_to_a_page(server: Place, finding: Find) -> None:
    """Made, described, sampled, planned, moved there and back, dropped: nothing is contradicted."""
    page = server.prove(server.script("columnstore"))
    assert page is not None
    assert [(each.claim.code, each.evidence) for each in page.findings if each.result is Result.CONTRADICTED] == []
    seen = {each.claim.code for each in page.findings if each.result is Result.SEEN}
    assert {"units columnstore", "move columnstore", "kept columnstore", "clean"} <= seen
    assert {f"answer {name}" for name in ("identify", "catalog", "sample", "doctor", "plan")} <= seen
    assert {"lock rebuild offline", "online rebuild offline", "query units", "query indexes of 15"} <= seen
    assert finding(page, "lock rebuild offline").evidence.startswith("Sch-M on [scratch].[facts]")
    assert finding(page, "query indexes of 12 to 12").evidence == "this version of the server is not asked it"
    assert server.tables() == []


REFUSED = (
    (ADMINISTRATOR, "sa is sysadmin"),
    (OWNER, "owner owns the database: it is in db_owner"),
    (MOVER, "mover may alter whatever is in the database"),
    (replace(PROVER, database_rights=frozenset()), "prover may not make tables: GRANT CREATE TABLE TO .prover."),
)


def test_who_and_what_is_refused(server: Place) -> None:
    """Logins that may do more, another schema of its own, an unfit schema, a filegroup that is not there."""
    accounts, shop = server.lab.instance.accounts, server.lab.shop
    for account, why in REFUSED:
        accounts[account.name] = account
        with pytest.raises(ProofRefused, match=why):
            server.prove(server.script(), account)
    accounts[PROVER.name] = PROVER
    with pytest.raises(ProofRefused, match=r"there is no filegroup \[other\]"):
        server.prove(server.script(slow="other"))
    add_table(shop, "theirs", schema="scratch", pages=8)
    with pytest.raises(ProofRefused, match=r"is not empty: it holds \[theirs\]"):
        server.prove(server.script())
    shop.tables.clear()
    shop.schemas.append("more")
    shop.owners["more"] = PROVER.name
    with pytest.raises(ProofRefused, match=r"prover also owns the schema \[more\]"):
        server.prove(server.script())
    shop.owners["scratch"] = "somebody"
    with pytest.raises(ProofRefused, match=r"the schema \[scratch\] does not belong to prover"):
        server.prove(server.script())
    assert (server.shown, server.pages) == ([], [])


def test_what_an_older_server_does_not_know(tmp_path: Path, finding: Find) -> None:
    """Standard edition of 2014 has no partition functions: 7736, not tried. An unknown column of a query is 207."""
    with (
        scratch_lab(major=12, engine_edition=2) as lab,
        Ledger.open(tmp_path / "ledger.db", SystemClock()) as ledger,
    ):
        place = Place(lab=lab, folder=tmp_path, ledger=ledger)
        script = place.script("partitioned")
        units = script.queries["units"].replace("s.name", "s.nonsense", 1)
        page = place.prove(replace(script, queries={**script.queries, "units": units}))
        found, wrong = finding(page, "move partitioned"), finding(page, "query units")
        assert (found.result, found.native_code) == (Result.NOT_TRIED, "7736")
        assert (wrong.result, wrong.native_code) == (Result.CONTRADICTED, "207")
        assert (finding(page, "clean").result, place.tables()) == (Result.SEEN, [])


def test_what_a_rebuild_loses_is_noticed(server: Place, finding: Find) -> None:
    """A server that loses rights and extended properties with every DROP_EXISTING contradicts that all is kept."""
    server.lab.instance.rebuild_loses = frozenset({"permission", "extended property"})
    (case,) = server.script("clustered").cases
    key = next(key for key in case.units if key.endswith("[orders_customer]"))
    script = replace(server.script(), cases=(replace(case, units={key: case.units[key]}),))
    found = finding(server.prove(script, offline_moves=False), "kept clustered")
    assert found.result is Result.CONTRADICTED
    assert "privileges of SELECT on orders" in found.evidence
    assert "property what of orders.orders_customer is gone" in found.evidence


def test_a_lost_connection_is_told_from_an_error(server: Place) -> None:
    """What the session says counts for a claim, its loss does not; to let go and to close are harmless."""
    values = sqlserver_values(server.lab, server.folder)
    settings = DatabaseConfig.model_validate(values).connection
    assert isinstance(settings, SqlserverSettings)
    session = SqlserverProofSession(settings, SystemClock())
    session.let_go()
    with pytest.raises(ConnectorError) as refused:
        session.rows("SELECT COUNT_BIG(*) AS n FROM scratch.gone")
    assert refused.value.native_code == "208"
    for connected in server.lab.instance.sessions.values():
        connected.cut.set()
    with pytest.raises(ConnectorError, match="the session ended"):
        _ask_for_long(session)
    session.close()
    session.close()


def _ask_for_long(session: SqlserverProofSession) -> None:
    """On a busy machine a statement may be answered before the session's end is noticed."""
    for _ in range(100):
        session.rows("SELECT 1 AS n")
        time.sleep(0.05)


TRUTH = tuple(f"{sort} {load}" for load in ("look-ups", "index reads", "a scan") for sort in ("reads", "wait"))


@pytest.mark.parametrize("ramps_up", [False, True], ids=["full pool", "pool that fills"])
def test_reads_and_waits_of_objects_are_what_the_session_counted(server: Place, finding: Find, ramps_up: bool) -> None:
    """Its own rows of sys.dm_exec_session_wait_stats and sys.dm_exec_sessions against the connector."""
    server.lab.instance.flushers, server.lab.instance.ramps_up = {PROVER.name}, ramps_up
    page = server.prove(server.script("truth", quick=True))
    found = {code: finding(page, code) for code in TRUTH}
    assert [(code, each.evidence) for code, each in found.items() if each.result is not Result.SEEN] == []
    assert "1,495 blocks; the session counted 1,495" in found["reads a scan"].evidence
    assert server.tables() == []


def test_a_wrong_factor_of_the_connector_is_contradicted(
    server: Place, finding: Find, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A demand that counts a tenth too much in reads, and a tenth too little in waits."""
    classify = SqlserverConnector.classify

    def wrong(connector: SqlserverConnector, interval: Interval, catalog: Catalog) -> Demand:
        demand = classify(connector, interval, catalog)
        waited = None if demand.waited is None else demand.waited * 0.9
        return replace(demand, rates=demand.rates * 1.1, waited=waited)

    monkeypatch.setattr(SqlserverConnector, "classify", wrong)
    monkeypatch.setattr(truth, "MOST_TRIES", 1)
    server.lab.instance.flushers = {PROVER.name}
    page = server.prove(server.script("truth", quick=True))
    assert {finding(page, code).result for code in TRUTH} == {Result.CONTRADICTED}
    assert "10.0% apart" in finding(page, "wait index reads").evidence


def test_without_the_procedure_or_the_figures_nothing_is_said_about_waits(tmp_path: Path, finding: Find) -> None:
    """No procedure is installed, or the version has no waits by session: not tried, with the server's words."""
    for major, flushers, why in ((16, set[str](), "2812"), (12, {PROVER.name}, "dm_exec_session_wait_stats")):
        folder = tmp_path / str(major)
        folder.mkdir()
        with scratch_lab(major=major) as lab, Ledger.open(folder / "ledger.db", SystemClock()) as ledger:
            lab.instance.flushers = flushers
            place = Place(lab=lab, folder=folder, ledger=ledger)
            page = place.prove(place.script("truth", quick=True))
            for code in TRUTH:
                assert finding(page, code).result is Result.NOT_TRIED
                assert why in finding(page, code).evidence


MOVED_BY = ("copy and SWITCH of one partition", "NEXT USED and SPLIT of an empty partition")


def test_partitions_that_are_switched_emptied_or_guarded(server: Place, finding: Find) -> None:
    """Copy and SWITCH there and back, an empty range by the catalog alone, and a security policy that forbids both."""
    page = server.prove(server.script("switched", "emptied", "guarded"))
    assert page is not None
    assert [(each.claim.code, each.evidence) for each in page.findings if each.result is Result.CONTRADICTED] == []
    for name, way in zip(("switched", "emptied"), MOVED_BY, strict=True):
        assert (finding(page, f"move {name}").result, finding(page, f"kept {name}").result) == (
            Result.SEEN,
            Result.SEEN,
        )
        assert way in finding(page, f"move {name}").evidence
    assert finding(page, "move guarded").evidence.startswith(
        "2 units are refused: SWITCH is not for [scratch].[guarded]"
    )
    assert "security policy" in finding(page, "move guarded").evidence
    assert (finding(page, "clean").result, server.tables(), server.lab.shop.modules) == (Result.SEEN, [], {})
    assert finding(page, "move files").evidence == "no space was given away whose files may move: --throw-away"


def files_alone(server: Place) -> tuple[Script, Account]:
    """The script of the files of a filegroup that is given away, and a login that owns the database."""
    owner = give_away(server.lab)
    given = Scratch(schema="scratch", slow=SLOW, fast=FAST, throw_away=SPARE, to_folder="S:\\moved\\")
    script = script_of(server.proof, given, quick=True)
    return replace(script, cases=tuple(case for case in script.cases if case.name == "files")), owner


def folders(server: Place) -> list[str]:
    """Of the files of the filegroup that is given away."""
    group = server.lab.shop.storage.filegroup_named(SPARE)
    assert group is not None
    return [file.path.rpartition("\\")[0] for file in server.lab.shop.storage.files_of(group.space_id)]


def test_files_of_a_filegroup_that_is_given_away_go_and_come_back(server: Place, finding: Find) -> None:
    """By a login that may empty files; another filegroup, or one that is not empty, is refused."""
    script, owner = files_alone(server)
    page = server.prove(script, owner)
    assert finding(page, "move files").evidence.startswith("2 by files of the filegroup")
    assert [finding(page, f"{sort} files").result for sort in ("units", "kept")] == [Result.SEEN, Result.SEEN]
    assert (finding(page, "clean").result, server.tables(), folders(server)) == (Result.SEEN, [], ["D:"])
    server.lab.instance.accounts[PROVER.name] = PROVER
    with pytest.raises(ProofRefused, match="prover may not empty files"):
        server.prove(script, PROVER)
    server.lab.instance.accounts[owner.name] = owner
    add_table(server.lab.shop, "theirs", space=SPARE, pages=8)
    with pytest.raises(ProofRefused, match=r"the filegroup \[spare\] is not empty: 2 allocation units lie in it"):
        server.prove(script, owner)


def test_ctrl_c_brings_files_back(server: Place, finding: Find) -> None:
    """Pressed while a file is emptied: what has left it goes back, and the new file is removed."""
    script, owner = files_alone(server)
    server.lab.instance.build_seconds = 2.0

    class Pressing(list[str]):
        def append(self, text: str) -> None:
            if "running: move the pages" in text:
                threading.Timer(0.7, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            super().append(text)

    server.said = Pressing()
    with pytest.raises(KeyboardInterrupt):
        server.prove(script, owner)
    (page,) = server.pages
    assert page.ended == "interrupted from the keyboard"
    assert finding(page, "move files").result is Result.NOT_TRIED
    assert (finding(page, "clean").evidence, server.tables(), folders(server)) == (
        "all that was made is dropped", [], ["D:"],
    )  # fmt: skip
