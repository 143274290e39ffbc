"""A ledger that is divided among roles: what hotplace says of it, and what it still does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from agent.config.models import LedgerConfig
from agent.ledger.errors import LedgerReadOnly, Untrusted
from agent.ledger.server.roles import grants_script
from agent.ledger.store.schema import REVISIONS
from agent.service.doctor import ledger_findings
from connectors.kit.findings import Severity
from policies.model.settings import Pin
from tests.keys import Person
from tests.ledger.clock import StillClock
from tests.ledger.conftest import ON_SERVER, approved, open_ledger
from tests.ledger.divided import TEAMS, DividedLedger, chain_row, divided_ledger, tables
from tests.ledger.servers import LedgerServers

pytestmark = ON_SERVER


@pytest.fixture(scope="module")
def divided(servers: LedgerServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DividedLedger]:
    """A ledger of two teams."""
    folder = tmp_path_factory.mktemp("divided")
    with divided_ledger(servers, folder, Person.new(folder, "anna")) as made:
        yield made


def errors(divided: DividedLedger, user: str, *databases: str) -> dict[str, str]:
    """What doctor finds wrong for a login, with the remedies."""
    config = LedgerConfig(postgresql=divided.place(user), anchors=divided.folder / "anchors")
    found = ledger_findings(config, databases)
    return {each.sentence: each.remedy for each in found if each.severity is Severity.ERROR}


def test_doctor_says_what_a_login_lacks(divided: DividedLedger) -> None:
    """Nothing for an agent with its team; else the role, the team, or that the script has to be run again."""
    assert errors(divided, "sales_agent", "sim") == {}
    (lacking,) = errors(divided, "sales_agent", "sim", "pay").items()
    assert "lacks a team that owns the database pay" in lacking[0]
    assert "hotplace ledger grants --team TEAM=pay" in lacking[1]
    (lacking,) = errors(divided, "sales_approver", "sim").items()
    assert lacking[1] == 'GRANT "hotplace_agent" TO "sales_approver";'
    with divided.session() as dba:
        dba.execute("CREATE TABLE hotplace.later (id int)")
        assert [remedy for remedy in errors(divided, "sales_agent", "sim").values() if "ledger grants" in remedy]
        dba.execute("DROP TABLE hotplace.later")
        dba.execute("CREATE ROLE stranger LOGIN")
        try:
            (lacking,) = errors(divided, "stranger").items()
            assert "hotplace ledger grants" in lacking[1]
        finally:
            dba.execute("DROP ROLE stranger")


def test_every_table_is_under_the_rules(divided: DividedLedger) -> None:
    """A new one needs its lines in the script: its rows are hidden from all until it has a policy."""
    with divided.session() as dba:
        guarded = {name for (name,) in dba.execute("SELECT tablename FROM pg_policies").fetchall()}
        assert guarded == set(tables(dba)) - {"teams", "alembic_version"}


def test_the_script_can_be_run_again(divided: DividedLedger) -> None:
    """What was granted meanwhile is taken back, and a team has the databases that it is given last."""
    with divided.session() as dba:
        dba.execute("GRANT UPDATE ON audit TO sales_reader; GRANT UPDATE (body) ON proposals TO PUBLIC")
        dba.execute(grants_script("hotplace", {"hr": ["pay", "people"], "sales": ["sim"]}).encode())
    with divided.session("sales_reader") as reader:
        for statement in ("UPDATE audit SET facts = ''", "UPDATE proposals SET body = ''"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                reader.execute(statement.encode())
    with divided.session("hr_reader") as reader:
        assert reader.execute("SELECT own_databases()").fetchone() == (["pay", "people"],)


def test_the_server_computes_the_hash_that_hotplace_does(divided: DividedLedger) -> None:
    """Of any text that it can store; else it would take no row of such a text."""
    text = "".join(map(chr, range(1, 0x2FF))) + "\u2028\ufeff\U0001f600 \\u0041 \"'"
    with divided.ledger("sales_agent", StillClock()) as ledger:
        ledger.pins.pin("sim", text, Pin.NEVER, who=text, reason=text)
        assert ledger.audit.verify().ok


def test_who_sees_a_part_is_not_told_that_rows_are_gone(divided: DividedLedger) -> None:
    """An agent checks the whole chain and its teams' proposals; others are refused with the next step."""
    clock = StillClock()
    with divided.ledger("sales_agent", clock) as ledger:
        report = ledger.audit.verify()
        assert (report.ok, "of this login's teams" in report.sentence) == (True, True)
        with divided.session() as dba:
            dba.execute("UPDATE audit SET actor = actor || 'x' WHERE id = 2")
            assert not ledger.audit.verify().ok
            dba.execute("UPDATE audit SET actor = left(actor, -1) WHERE id = 2")
    with divided.ledger("sales_approver", clock) as ledger, pytest.raises(LedgerReadOnly, match="only what its teams"):
        ledger.audit.verify()


def test_only_the_owner_brings_tables_up_to_date(divided: DividedLedger, servers: LedgerServers) -> None:
    """An agent of a newer version says who may, and that the script is to be run again; it changes nothing."""
    with servers.database(divided.dbname) as place:
        older = DividedLedger(servers, place.dbname, divided.folder, divided.signers)
        with older.session() as dba:
            dba.execute(f"UPDATE alembic_version SET version_num = '{REVISIONS[0]}'".encode())
            before = tables(dba)
            with (
                pytest.raises(LedgerReadOnly, match="older than this hotplace") as caught,
                older.ledger("sales_agent", StillClock()),
            ):
                pass
            assert "ledger grants" in caught.value.advice
            assert tables(dba) == before
            assert dba.execute("SELECT version_num FROM alembic_version").fetchone() == (REVISIONS[0],)


def test_a_backup_is_restored_with_its_rules(servers: LedgerServers, path: Path, clock: StillClock) -> None:
    """By pg_dump: nothing is sent before the newer anchors are moved away; rows, chain and policies are the same."""
    with servers.database() as place, servers.database("template1") as restored:
        with servers.session(place.dbname) as dba:
            dba.execute(grants_script("hotplace", TEAMS).encode())
        with open_ledger(place, path, clock) as ledger:
            number = approved(ledger)
            dump = str(servers.server.folder / f"{place.dbname}.sql")
            at = ("-h", str(servers.server.folder), "-U", "postgres")
            servers.server.run("pg_dump", *at, "--schema=hotplace", "-f", dump, place.dbname)
            ledger.proposals.strike(number, 2, who="anna", origin="tty", reason="after the backup")
        servers.server.run("psql", *at, "-q", "-v", "ON_ERROR_STOP=1", "-f", dump, restored.dbname)
        with open_ledger(restored, path, clock) as ledger:
            (row, *_) = ledger.moves.rows(proposal_id=number)
            with pytest.raises(Untrusted, match="was cut, or is an older copy"):
                ledger.moves.require_trust(row)
            path.with_name("ledger.db.anchors").unlink()
            ledger.moves.require_trust(row)
            assert ledger.audit.verify().ok
            ledger.proposals.strike(number, 2, who="anna", origin="tty", reason="")
        with servers.session(restored.dbname) as dba:
            dba.execute("SET search_path = hotplace")
            with pytest.raises(psycopg.errors.CheckViolation, match="does not follow"):
                chain_row(dba, "test", "test", "{}", previous="0" * 64)
            assert dba.execute("SELECT count(*) FROM pg_policies").fetchone() != (0,)
