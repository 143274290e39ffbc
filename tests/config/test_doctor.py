"""The doctor sees what is wrong before it hurts, and never falls over it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agent.config.files import load, parse
from agent.config.sample import sample
from agent.model.clock import SystemClock
from agent.service.doctor import examine, ledger_finding, packages_finding, policy_findings
from connectors.kit.findings import Finding, Severity
from hotplace import OURS, foreign_packages, package_folders
from tests.config.yaml_texts import values, written

REPOSITORY = Path(__file__).resolve().parents[2]


def examined(folder: Path, **database: Any) -> dict[str, Finding]:
    """Findings by code of the small configuration with some of its database's keys changed; the last of a code wins."""
    plain = values()
    plain["databases"][0] |= database
    (folder / "hotplace.yaml").write_text(written(plain))
    config = load(folder / "hotplace.yaml")
    return {finding.code: finding for finding in examine(config, config.database(), SystemClock())}


def test_all_is_well_on_a_good_configuration(tmp_path: Path) -> None:
    """Machine, account and storage are each said to be right."""
    found = examined(tmp_path)
    assert {"packages", "ledger_path", "connection", "room"} <= set(found)
    assert not [finding for finding in found.values() if finding.severity is Severity.ERROR]
    assert "head-room of 10%" in found["room"].sentence


def test_looking_leaves_nothing_behind(tmp_path: Path) -> None:
    """Trying the ledger's folder makes no file that stays."""
    examined(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["hotplace.yaml"]


def test_a_server_that_does_not_answer_is_a_finding(tmp_path: Path) -> None:
    """No connection means one more finding, not the end of the examination."""
    found = examined(
        tmp_path, engine="postgresql",
        connection={"host": str(tmp_path), "dbname": "shop", "user": "hotplace", "connect_timeout": "2s"},
    )  # fmt: skip
    assert found["connection"].severity is Severity.ERROR
    assert found["ledger_path"].severity is Severity.OK


def test_a_secret_that_is_nowhere_is_a_finding(tmp_path: Path) -> None:
    """The place is named, so that somebody can put the password there."""
    found = examined(
        tmp_path, engine="postgresql",
        connection={
            "host": str(tmp_path), "dbname": "shop", "user": "hotplace",
            "password": {"file": str(tmp_path / "no-such-secret")},
        },
    )  # fmt: skip
    assert found["secret"].severity is Severity.ERROR
    assert "no-such-secret" in found["secret"].sentence


def test_a_space_that_does_not_exist_is_a_finding(tmp_path: Path) -> None:
    """The doctor says which, where in the configuration, and what was probably meant."""
    tiers = [{"name": "ssd", "spaces": ["sdd"]}, {"name": "hdd", "spaces": ["hdd"]}]
    found = examined(tmp_path, tiers=tiers)
    assert found["space_missing"].severity is Severity.ERROR
    assert "tiers[0].spaces[0]" in found["space_missing"].sentence
    assert "did you mean" in found["space_missing"].sentence


def test_a_fast_tier_is_asked_for_its_iops(tmp_path: Path) -> None:
    """Its latency shows no queue; one that is configured, and a slow tier, whose queue shows, are not asked for."""
    tiers = [{"name": "ssd", "kind": "ssd", "spaces": ["ssd"]}, {"name": "hdd", "kind": "hdd", "spaces": ["hdd"]}]
    asked = examined(tmp_path, tiers=tiers)["iops_unknown"]
    assert (asked.severity, asked.values) == (Severity.INFO, {"tier": "ssd"})
    assert "3,000" in asked.sentence
    assert "iops_unknown" not in examined(tmp_path, tiers=[{**tiers[0], "iops": 16000}, tiers[1]])


def test_a_space_past_its_head_room_is_a_warning(tmp_path: Path) -> None:
    """A capacity below what is used leaves no room, and the doctor says how much is missing."""
    tiers = [
        {"name": "ssd", "spaces": [{"name": "ssd", "capacity": "1 KiB"}]},
        {"name": "hdd", "spaces": [{"name": "hdd", "capacity": "1 KiB"}]},
    ]
    found = examined(tmp_path, tiers=tiers)
    assert found["room_short"].severity is Severity.WARNING


def test_a_space_without_a_tier_is_mentioned(tmp_path: Path) -> None:
    """What is in it stays there: worth knowing, nothing to mend."""
    found = examined(tmp_path, tiers=[{"name": "hdd", "spaces": ["hdd"]}])
    assert found["space_not_managed"].severity is Severity.INFO


def test_a_database_that_is_mostly_in_no_tier_is_a_warning(tmp_path: Path) -> None:
    """A database created in a space of its own is easily forgotten in the tiers: how much is left out is said."""
    found = examined(tmp_path, tiers=[{"name": "ssd", "spaces": ["ssd"]}])["space_not_managed"]
    assert found.severity is Severity.WARNING
    assert re.search(r"the space hdd belongs to no tier and holds [0-9.]+ [KMGT]iB, [0-9.]+% of the d", found.sentence)
    assert found.remedy == "Name hdd below the spaces of a tier."


SHARE = "prefetched_wait_share: "


@pytest.mark.parametrize(
    ("engine", "was", "now", "twice"),
    [
        ("oracle", f"{SHARE}0% ", f"{SHARE}30%", True),
        ("sqlserver", f"{SHARE}0% ", f"{SHARE}30%", True),
        ("db2", f"{SHARE}0% ", f"{SHARE}30%", True),
        ("db2", "# platform: luw", "platform: zos", False),
        ("postgresql", f"{SHARE}30%", f"{SHARE}40%", False),
        ("oracle", f"{SHARE}0% ", f"{SHARE}0% ", False),
    ],
)
def test_a_share_of_earlier_versions_that_counts_twice_is_a_warning(
    engine: str, was: str, now: str, twice: bool
) -> None:
    """Waits of scans are measured where an engine measures waits; elsewhere, or at 0, there is nothing to say."""
    assert was in sample(engine)
    database = parse(sample(engine).replace(was, now)).database()
    found = [(each.severity, each.code) for each in policy_findings(database)]
    assert found == [(Severity.WARNING, "prefetched_wait_share")] * twice


def test_a_key_that_allows_reading_values_is_told(tmp_path: Path) -> None:
    """Off by default and then not a word; on, the doctor says what is read, or that this engine tells nothing."""
    assert "border_values" not in examined(tmp_path)
    assert examined(tmp_path, border_values=True)["border_values"].severity is Severity.WARNING


def test_the_moving_account_is_examined_too(tmp_path: Path) -> None:
    """Its findings say whose they are; one that reaches another database is an error."""
    found = examined(tmp_path, move_connection={"scenario": "oltp"})
    assert found["connection"].values["account"] == "move_connection"
    assert "other_database" not in found
    found = examined(tmp_path, move_connection={"scenario": "eight_tables"})
    assert found["other_database"].severity is Severity.ERROR


def test_a_ledger_in_a_folder_that_is_none_is_an_error(tmp_path: Path) -> None:
    """The remedy names the folder and the key."""
    finding = ledger_finding(tmp_path / "nowhere" / "ledger.db")
    assert (finding.severity, finding.code) == (Severity.ERROR, "ledger_path")
    assert "ledger.path" in finding.remedy


def test_a_ledger_where_nothing_can_be_made_is_an_error() -> None:
    """A folder that takes no files holds no ledger, not even for root."""
    assert ledger_finding(Path("/proc/ledger.db")).severity is Severity.ERROR


def test_our_packages_are_ours() -> None:
    """This very run loads all three from the repository."""
    assert packages_finding().severity is Severity.OK
    assert set(package_folders()) == set(OURS)


def test_a_stranger_before_our_package_is_named(tmp_path: Path) -> None:
    """Another program's ``policies`` that comes first on the path is found, with the place it lies in."""
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "__init__.py").write_text("")
    code = (
        "import sys; sys.path[:0] = [sys.argv[1], sys.argv[2]]\n"
        "from pathlib import Path\n"
        "from hotplace import package_folders, foreign_packages\n"
        "print(foreign_packages(package_folders(), Path(sys.argv[2])))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, tmp_path, REPOSITORY], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert ran.stdout.strip() == str({"policies": str(tmp_path / "policies")})


def test_a_package_that_is_missing_or_written_over_is_a_stranger_too(tmp_path: Path) -> None:
    """Half an installation is named as such, and so is the file that another distribution has put in ours' place."""
    for name, words in OURS.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(words)
    folders: dict[str, Path | None] = {name: tmp_path / name for name in OURS}
    assert foreign_packages(folders, tmp_path) == {}
    assert foreign_packages(folders | {"connectors": None}, tmp_path) == {"connectors": "nowhere"}
    (tmp_path / "agent" / "__init__.py").write_text("# an agent of another kind")
    assert foreign_packages(folders, tmp_path) == {"agent": str(tmp_path / "agent")}


@pytest.mark.parametrize("name", OURS)
def test_the_command_refuses_to_start_among_strangers(name: str, tmp_path: Path) -> None:
    """It ends at once with the package, its place and what to do, and no traceback."""
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("raise SystemExit('a stranger was imported')")
    code = "import sys; sys.path[:0] = sys.argv[1:]; import hotplace; hotplace.main()"
    command = [sys.executable, "-c", code, str(tmp_path), str(REPOSITORY)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert ran.returncode == 3
    assert f"stands in the way of hotplace: {name} from {tmp_path / name}" in ran.stderr
    assert "environment of its own" in ran.stderr
    assert "Traceback" not in ran.stderr
