"""The doctor on a real server: who is let in, who may move, and whose database it is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from agent.config.files import load
from agent.model.clock import SystemClock
from agent.service.doctor import examine
from connectors.kit.findings import Finding, Severity
from tests.config.yaml_texts import values, written
from tests.labs.postgresql import WRONG_PASSWORD, Cluster


def examined(
    folder: Path,
    cluster: Cluster,
    dbname: str,
    *,
    mover: dict[str, Any] | None = None,
    dry_run: bool = True,
    **connection: Any,
) -> list[Finding]:
    """Every finding about a database of the cluster, as the configuration says it."""
    plain = values() | {"dry_run": dry_run}
    usual = {"host": str(cluster.server.folder), "dbname": dbname, "user": "postgres"}
    plain["databases"][0] |= {
        "engine": "postgresql",
        "connection": usual | connection,
        "tiers": [{"name": "ssd", "spaces": ["fast"]}, {"name": "hdd", "spaces": ["slow"]}],
    }
    if mover is not None:
        plain["databases"][0]["move_connection"] = usual | mover
    (folder / "hotplace.yaml").write_text(written(plain))
    config = load(folder / "hotplace.yaml")
    return examine(config, config.database(), SystemClock())


def codes(findings: list[Finding], *severities: Severity) -> set[str]:
    """Codes of the findings of those severities."""
    return {finding.code for finding in findings if finding.severity in severities}


def test_a_ready_server_gets_no_errors(cluster: Cluster, dbname: str, tmp_path: Path) -> None:
    """Connection, storage and rights are each said to be right."""
    found = examined(tmp_path, cluster, dbname)
    assert not codes(found, Severity.ERROR)
    assert {"connection", "room", "track_io_timing"} <= codes(found, Severity.OK)


def test_a_wrong_password_is_a_finding_that_does_not_show_it(cluster: Cluster, dbname: str, tmp_path: Path) -> None:
    """The server's refusal becomes a finding of its own kind; neither password nor a traceback appears."""
    (tmp_path / "password").write_text(WRONG_PASSWORD)
    found = examined(tmp_path, cluster, dbname, user="guarded", password={"file": str(tmp_path / "password")})
    assert codes(found, Severity.ERROR) == {"authentication"}
    assert WRONG_PASSWORD not in str(found)


def test_a_login_that_may_not_move_is_told_the_grant(cluster: Cluster, dbname: str, tmp_path: Path) -> None:
    """Missing rights come with the statement that gives them, and say whose account lacks them."""
    found = examined(tmp_path, cluster, dbname, mover={"user": "looker"})
    missing = [finding for finding in found if finding.code == "space_create_missing"]
    assert missing
    assert all(finding.values["account"] == "move_connection" for finding in missing)
    assert any("GRANT CREATE ON TABLESPACE" in finding.remedy for finding in missing)


def test_without_a_moving_account_one_is_asked_for(cluster: Cluster, dbname: str, tmp_path: Path) -> None:
    """The login that watches is never to get the mover's rights; only where moves are wanted is it a warning."""
    for dry_run, severity in ((True, Severity.INFO), (False, Severity.WARNING)):
        found = examined(tmp_path, cluster, dbname, user="looker", dry_run=dry_run)
        (asked,) = (finding for finding in found if finding.code == "move_connection_missing")
        assert (asked.severity, "move_connection" in asked.remedy) == (severity, True)
        assert "space_create_missing" in asked.values["lacking"]
        assert not [finding for finding in found if "GRANT CREATE ON TABLESPACE" in finding.remedy]


def test_only_spaces_of_tiers_need_the_right_to_move(cluster: Cluster, dbname: str, tmp_path: Path) -> None:
    """A tablespace that no tier has is no reason to warn: nothing will be moved there."""
    found = examined(tmp_path, cluster, dbname, mover={"user": "looker"})
    spaces = {finding.values["space"] for finding in found if finding.code.startswith("space_create")}
    assert spaces == {"fast", "slow"}


def test_what_both_accounts_find_is_said_once(cluster: Cluster, dbname: str, tmp_path: Path) -> None:
    """Findings of the server are the same over both connections; one line names both accounts."""
    found = examined(tmp_path, cluster, dbname, user="looker", mover={"user": "postgres"})
    timing = [finding for finding in found if finding.code == "track_io_timing"]
    assert [finding.values["account"] for finding in timing] == ["connection and move_connection"]
    assert timing[0].sentence.startswith("connection and move_connection: ")
    of_accounts = re.compile(r"^(connection|move_connection|connection and move_connection): ")
    texts = [of_accounts.sub("", finding.sentence) for finding in found if finding.code != "connection"]
    assert len(texts) == len(set(texts))


def test_a_moving_account_of_another_database_is_an_error(cluster: Cluster, dbname: str, tmp_path: Path) -> None:
    """Watching one database and moving in another would move the wrong things."""
    found = examined(tmp_path, cluster, dbname, mover={"dbname": "postgres"})
    assert "other_database" in codes(found, Severity.ERROR)


def test_a_login_that_only_watches_needs_no_right_to_move(cluster: Cluster, dbname: str, tmp_path: Path) -> None:
    """With an account of its own for moving, the watching one is never told to get more rights than it needs."""
    found = examined(tmp_path, cluster, dbname, user="looker", mover={"user": "postgres"})
    assert not {"space_create_missing", "ownership_missing"} & codes(found, *Severity)
    assert "space_create" in codes(found, Severity.OK)


@pytest.mark.parametrize("dry_run", [True, False])
def test_the_account_that_moves_tries_a_move(cluster: Cluster, dbname: str, tmp_path: Path, dry_run: bool) -> None:
    """To each space of a tier, and it is rolled back; in a dry run no session is opened that could write."""
    found = examined(tmp_path, cluster, dbname, mover={"user": "postgres"}, dry_run=dry_run)
    tried = [each.sentence for each in found if each.code == "moves_tried"]
    assert tried == [
        "move_connection: a table of one row was moved to fast, slow and rolled back" for _ in range(not dry_run)
    ]
    found = examined(tmp_path, cluster, dbname, mover={"user": "looker"}, dry_run=dry_run)
    assert ("move_refused" in codes(found, Severity.ERROR)) is not dry_run
