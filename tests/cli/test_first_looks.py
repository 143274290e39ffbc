"""Commands that only read leave nothing behind, and paths and durations mean the same everywhere."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agent.config.files import load
from agent.ledger.ledger import Ledger
from agent.model.units_of_measure import parse_seconds_of_command
from agent.service.doctor import secret_findings
from agent.terminal.errors import ExitCode
from connectors.kit.findings import Severity
from tests.cli.site import Site
from tests.ledger.clock import StillClock

READS = (
    ("status",), ("proposals",), ("units",), ("history",), ("outcomes",), ("report",), ("sizing",), ("show", "1"),
    ("explain", "shop.orders"), ("simulate",), ("top", "--once"), ("plan",), ("plan", "--mode", "usage"),
    ("split", "a"),
)  # fmt: skip


@pytest.fixture
def fresh(tmp_path: Path) -> Site:
    """A configuration, and no ledger."""
    site = Site(tmp_path)
    site.write()
    return site


def test_who_only_reads_makes_no_ledger(fresh: Site) -> None:
    """Root's look at a service that has not begun would otherwise leave a file that the service cannot write."""
    for command in READS:
        fresh.run(*command)
    assert not fresh.ledger_path.exists()
    assert not list(fresh.folder.glob("*.anchors"))
    fresh.good("run", "--once")
    assert fresh.ledger_path.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_ledger_belongs_to_the_owner_of_its_folder(tmp_path: Path) -> None:
    """What root has made in the service's folder is the service's, the file of anchors too."""
    os.chown(tmp_path, 65534, 65534)
    Ledger.open(tmp_path / "ledger.db", StillClock()).close()
    assert {path.stat().st_uid for path in tmp_path.iterdir()} == {65534}


PASSWORDS = """\
ledger: {path: h.db}
databases:
- name: shop
  engine: postgresql
  connection: {dbname: shop, user: hotplace, password: {file: secrets/watch}, sslrootcert: ca.pem}
  tiers: [{name: ssd, kind: ssd, spaces: [ssd]}, {name: hdd, kind: hdd, spaces: [pg_default]}]
"""


def test_paths_are_meant_from_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them, wherever hotplace is started: a password's and a certificate's too."""
    (tmp_path / "hotplace.yaml").write_text(PASSWORDS)
    monkeypatch.chdir("/")
    config = load(tmp_path / "hotplace.yaml")
    connection = config.databases[0].connection
    assert connection.model_dump()["password"]["file"] == tmp_path / "secrets" / "watch"
    assert connection.model_dump()["sslrootcert"] == tmp_path / "ca.pem"
    assert config.ledger.path == tmp_path / "h.db"


@pytest.mark.parametrize(("mode", "warned"), [(0o600, False), (0o640, True), (0o644, True)])
def test_a_password_that_others_may_read(tmp_path: Path, mode: int, *, warned: bool) -> None:
    """It draws a warning that names the file; one that is not there is reported by who needs it."""
    (tmp_path / "hotplace.yaml").write_text(PASSWORDS)
    config = load(tmp_path / "hotplace.yaml")
    assert list(secret_findings(config)) == []
    secret = tmp_path / "secrets" / "watch"
    secret.parent.mkdir()
    secret.write_text("x\n")
    secret.chmod(mode)
    found = list(secret_findings(config))
    assert [finding.severity for finding in found] == [Severity.WARNING] * warned
    assert all(f"chmod 600 {secret}" in finding.remedy for finding in found)


@pytest.mark.parametrize(
    ("text", "seconds"), [("60s", 60.0), ("1m", 60.0), ("60", 60.0), (" 0.5 ", 0.5), ("1h 30min", 5400.0)]
)
def test_seconds_need_no_unit_in_a_command(text: str, seconds: float) -> None:
    """A duration with its unit, or seconds."""
    assert parse_seconds_of_command(text) == seconds


def test_what_expired_is_not_open(fresh: Site) -> None:
    """Neither in proposals nor in status, although no daemon has run since to note it."""
    fresh.database["proposal_expires"] = "1s"
    fresh.write()
    number, _ = fresh.propose()
    time.sleep(1.2)  # of the clock that the programs read too
    assert fresh.good("proposals", "--json").document["proposals"] == []
    assert fresh.good("status", "--json").document["databases"][0]["proposals"] == []
    assert [each["id"] for each in fresh.good("proposals", "--past", "--json").document["proposals"]] == [number]
    assert fresh.good("proposals", "--all", "--json").document["proposals"] == []
    (standing,) = fresh.good("status", "--all", "--json").document["databases"]
    assert (standing["undecided_proposals"], standing["needs"]) == (0, "silent")
    shown = fresh.good("show", str(number))
    assert "expired: not decided in time" in shown.out
    assert "proposed:" not in shown.out


def test_a_full_disk_is_named(fresh: Site) -> None:
    """Where the output goes to one, the command says so, and not that hotplace is at fault."""
    command = [sys.executable, "-m", "hotplace", "deploy", "systemd"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=fresh.folder, check=False)
    assert done.returncode == 6
    assert "the output cannot be written: No space left on device" in done.stderr
    assert "fault of hotplace" not in done.stderr


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_streams_may_be_closed(fresh: Site, closed: str) -> None:
    """As a shell closes them: the command ends as it would have, and not by a fault of hotplace."""
    command = f'"$0" -m hotplace show 99 --config "$1" {closed}'
    done = subprocess.run(["sh", "-c", command, sys.executable, str(fresh.path)], capture_output=True, check=False)
    assert done.returncode == ExitCode.NOT_FOUND, done.stderr


def test_what_is_no_duration_is_said_in_our_words(fresh: Site) -> None:
    """And what is too short as well."""
    for text, said in (
        ("a while", "is not a duration"),
        ("60 parsecs", "is not a duration"),
        ("0", "too short"),
    ):
        done = fresh.run("plan", "--observe", text)
        assert done.code == 2
        assert said in " ".join(done.err.split())
