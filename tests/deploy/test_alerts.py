"""Prometheus itself evaluates the alert rules on series as agents leave them, by ``promtool test rules``."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
import yaml

from tests.deploy.places import DEPLOY, rules

PROMTOOL = shutil.which("promtool")
HOUR = 60  # in minutes, which is how often is scraped here
DAY = 24 * HOUR
ONE, OTHER = {"job": "hotplace", "instance": "db1:9477"}, {"job": "hotplace", "instance": "db2:9477"}
SHOP, BANK = {"database": "shop", "engine": "db2"}, {"database": "bank", "engine": "oracle"}
Labels = Mapping[str, str]
Series = dict[str, str]

pytestmark = pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed: apt install prometheus")


def series(name: str, labels: Labels, values: str) -> Series:
    """One series in promtool's notation: ``1x9`` is ten times 1, ``_x9`` nine scrapes without a value."""
    listed = ",".join(f'{key}="{value}"' for key, value in labels.items())
    return {"series": f"{name}{{{listed}}}", "values": values}


def agent(target: Labels, watches: Labels, up: str, exposed: str) -> list[Series]:
    """What Prometheus has of one agent: whether it answered, and what it exposed of its database."""
    return [series("up", target, up), series("hotplace_up", {**target, **watches}, exposed)]


def verdict(folder: Path, given: list[Series], alert: str, at: int, fires: Sequence[Labels], every: int = 1) -> str:
    """What promtool says; empty where exactly those alerts fire at that minute.

    Args:
        folder: for the files that promtool reads.
        given: series from minute 0 on.
        alert: its name; its words are held to its labels elsewhere and left out here.
        at: minute.
        fires: labels of each alert that fires, without its severity.
        every: minutes between two evaluations.
    """
    (rule,) = [{**rule, "annotations": {}} for rule in rules() if rule["alert"] == alert]
    (folder / "rules.yml").write_text(yaml.safe_dump({"groups": [{"name": "tried", "rules": [rule]}]}))
    expected = [{"exp_labels": {**labels, **rule["labels"]}} for labels in fires]
    test = {"eval_time": f"{at}m", "alertname": alert, "exp_alerts": expected}
    unit = {"interval": "1m", "input_series": given, "alert_rule_test": [test]}
    whole = {"rule_files": ["rules.yml"], "evaluation_interval": f"{every}m", "tests": [unit]}
    (folder / "test.yml").write_text(yaml.safe_dump(whole))
    command = [str(PROMTOOL), "test", "rules", "test.yml"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_promtool_finds_no_mistake_in_the_rules() -> None:
    """As the file says it may be checked."""
    command = [str(PROMTOOL), "check", "rules", str(DEPLOY / "prometheus" / "hotplace.rules.yml")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


ALIVE = agent(OTHER, BANK, "1x2000", "1x2000")


@pytest.mark.parametrize("target", [ONE, {"job": "node", "instance": "db1:9477"}])
def test_one_dead_agent_of_several_is_no_silence(tmp_path: Path, target: Labels) -> None:
    """It stops answering after an hour; found by its job's name, or by what it exposed before."""
    given = [*ALIVE, *agent(target, SHOP, "1x59 0x1000", "1x59 stale")]
    assert not verdict(tmp_path, given, "HotplaceAgentDown", HOUR + 5, [])
    assert not verdict(tmp_path, given, "HotplaceAgentDown", HOUR + 11, [target])
    assert not verdict(tmp_path, given, "HotplaceDatabaseLost", 2 * HOUR, [])


def test_an_agent_that_never_answered_is_no_silence(tmp_path: Path) -> None:
    """Of those whose job says what they are."""
    given = [*ALIVE, series("up", ONE, "0x60"), series("up", {"job": "node", "instance": "db1:9100"}, "0x60")]
    assert not verdict(tmp_path, given, "HotplaceAgentDown", 30, [ONE])


def test_an_agent_that_is_scraped_no_more_is_no_silence(tmp_path: Path) -> None:
    """Its target is gone and with it all of its series; for a day after."""
    given = [*ALIVE, *agent(ONE, SHOP, "1x59 stale", "1x59 stale")]
    lost = {"job": "hotplace", **SHOP}
    assert not verdict(tmp_path, given, "HotplaceDatabaseLost", HOUR + 10, [])
    assert not verdict(tmp_path, given, "HotplaceDatabaseLost", HOUR + 16, [lost])
    assert not verdict(tmp_path, given, "HotplaceDatabaseLost", DAY + HOUR - 2, [lost])
    assert not verdict(tmp_path, given, "HotplaceDatabaseLost", DAY + HOUR + 2, [])


def test_a_database_that_its_agent_exposes_no_more_is_no_silence(tmp_path: Path) -> None:
    """The agent goes on, without it."""
    given = [*agent(ONE, BANK, "1x200", "1x200"), series("hotplace_up", {**ONE, **SHOP}, "1x59 stale")]
    assert not verdict(tmp_path, given, "HotplaceDatabaseLost", HOUR + 20, [{"job": "hotplace", **SHOP}])


def test_an_agent_that_moves_to_another_address_is_no_loss(tmp_path: Path) -> None:
    """As a new pod has one."""
    given = [*agent(ONE, SHOP, "1x59 stale", "1x59 stale"), *agent(OTHER, SHOP, "_x62 1x200", "_x62 1x200")]
    assert not verdict(tmp_path, given, "HotplaceDatabaseLost", 2 * HOUR, [])
    assert not verdict(tmp_path, given, "HotplaceAgentDown", 2 * HOUR, [])


def test_no_agent_at_all_is_no_silence(tmp_path: Path) -> None:
    """Where none was ever scraped there is nothing to miss but all of them."""
    given = [series("up", {"job": "node", "instance": "db1:9100"}, "1x60")]
    assert not verdict(tmp_path, given, "HotplaceAbsent", 30, [{}])


@pytest.mark.parametrize("minutes", [10, HOUR, DAY, 7 * DAY])
def test_an_open_proposal_raises_an_alert_in_time(tmp_path: Path, minutes: int) -> None:
    """At half of its time, whatever ``proposal_expires`` is; once decided upon, or in a dry run, it is quiet."""
    labels, until = {**ONE, "database": "shop"}, round(minutes * 0.8)
    made, expires = 5 * 60, (5 + minutes) * 60
    given = [
        series("hotplace_proposal_created_timestamp_seconds", labels, f"_x5 {made}x{until} stale"),
        series("hotplace_proposal_expires_timestamp_seconds", labels, f"_x5 {expires}x{until} stale"),
    ]
    dry, acting = (
        series("hotplace_info", {**ONE, "version": "1", "level": "propose", "dry_run": word}, f"1x{2 * minutes}")
        for word in ("true", "false")
    )
    for share, fires in ((0.4, []), (0.6, [labels]), (0.9, [])):
        at = 5 + round(minutes * share)
        every = max(1, minutes // 100)
        assert not verdict(tmp_path, [*given, acting], "HotplaceProposalExpires", at, fires, every=every), share
        assert not verdict(tmp_path, [*given, dry], "HotplaceProposalExpires", at, [], every=every), "nothing would run"


@pytest.mark.parametrize(("minutes", "fires"), [(5, []), (30, [{"agent": "silent"}])])
def test_an_agent_that_is_not_heard_of_is_no_silence(tmp_path: Path, minutes: int, fires: Sequence[Labels]) -> None:
    """After ten minutes, whoever exposes the figure; agents that are heard of raise none."""
    given = [
        series("hotplace_fleet_databases", {"agent": "silent"}, "2x60"),
        series("hotplace_fleet_databases", {"agent": "heard"}, "9x60"),
    ]
    assert verdict(tmp_path, given, "HotplaceFleetSilent", minutes, fires) == ""


def figures_of(metric: str, values: str) -> list[Series]:
    """A figure of one agent, and the same figure of an agent whose ledger answers."""
    well = "1x60" if metric == "hotplace_ledger_up" else "0x60"
    return [
        series(metric, {**ONE, "database": "shop"}, values),
        series(metric, {**OTHER, "database": "bank"}, well),
    ]


@pytest.mark.parametrize(
    ("values", "fires"), [("1x10 0x50", True), ("1x10 0x3 1x50", False), ("1x10 0x16 1x40", False)]
)
def test_a_ledger_that_stays_away_raises_an_alert(tmp_path: Path, values: str, fires: bool) -> None:
    """Of the agent that cannot reach it, after five minutes; not for a restart of the server, nor once it answers."""
    away = [{**ONE, "database": "shop"}] if fires else []
    given = figures_of("hotplace_ledger_up", values)
    assert verdict(tmp_path, given, "HotplaceLedgerAway", 14, []) == ""
    assert verdict(tmp_path, given, "HotplaceLedgerAway", 30, away) == ""


@pytest.mark.parametrize(
    ("values", "fires"), [("0x5 1+1x60", True), ("0x5 7x60", True), ("0x5 1+1x20 0x40", False), ("0x60", False)]
)
def test_a_spool_that_does_not_empty_raises_an_alert(tmp_path: Path, values: str, fires: bool) -> None:
    """After half an hour, while it grows and when it is full; one that was handed over raises none."""
    behind = [{**ONE, "database": "shop"}] if fires else []
    given = figures_of("hotplace_ledger_spooled_intervals", values)
    assert verdict(tmp_path, given, "HotplaceSpoolGrows", 30, []) == ""
    assert verdict(tmp_path, given, "HotplaceSpoolGrows", 45, behind) == ""


DATABASE = {**ONE, "database": "shop"}
WATCHED = {**ONE, **SHOP}
# Of each alert: series that have a cause from minute 60 to 120 and none before and after, when it has surely fired, and
# when it is surely over.
ENDS: dict[str, tuple[list[Series], int, int]] = {
    "HotplaceAbsent": ([series("hotplace_up", WATCHED, "1x59 stale _x59 1x200")], 100, 130),
    "HotplaceAgentDown": (agent(ONE, SHOP, "1x59 0x59 1x200", "1x59 stale _x59 1x200"), 100, 130),
    "HotplaceDatabaseLost": (agent(ONE, SHOP, "1x400", "1x59 stale _x59 1x200"), 100, 130),
    "HotplaceNotSampling": ([series("hotplace_up", WATCHED, "1x59 0x59 1x200")], 100, 130),
    "HotplaceSampleStale": ([series("hotplace_sample_age_seconds", WATCHED, "60x59 1000x59 60x200")], 100, 130),
    "HotplaceCycleFailures": ([series("hotplace_cycle_failures_total", WATCHED, "0x59 0+1x59 60x200")], 100, 190),
    "HotplaceCycleSlow": ([series("hotplace_cycle_seconds", WATCHED, "1x59 40x59 1x200")], 100, 130),
    "HotplaceUnitsUnread": ([series("hotplace_units_unread", WATCHED, "0x59 480x180 0x300")], 230, 250),
    "HotplaceJobFails": (
        [series("hotplace_job_failing_seconds", {**DATABASE, "job": "act"}, "0x59 0+60x59 0x200"),
         series("hotplace_job_failing_seconds", {**DATABASE, "job": "sample"}, "0x59 0+60x59 0x200")], 100, 130,
    ),
    "HotplaceCostsTheServer": ([series("hotplace_server_seconds_total", WATCHED, "0x30 0+6x120 720x300")], 120, 220),
    "HotplaceSpaceNearlyFull": (
        [series("hotplace_space_fill_ratio", {**DATABASE, "space": "s", "tier": "ssd"}, "0.5x59 0.99x59 0.5x200")],
        100, 130,
    ),
    "HotplaceSpaceLost": ([series("hotplace_space_lost", {**DATABASE, "space": "s"}, "0x59 1x59 0x200")], 100, 130),
    "HotplaceRuleIdle": ([series("hotplace_rules_idle", DATABASE, "0x59 1x59 0x200")], 100, 130),
    "HotplaceMoveFailed": ([series("hotplace_moves_total", {**DATABASE, "state": "failed"}, "0x89 1x300")], 100, 155),
    "HotplaceLedgerNotTrusted": ([series("hotplace_ledger_trusted", DATABASE, "1x59 0x59 1x200")], 100, 130),
    "HotplaceSendsNothing": (
        [series("hotplace_sending", {**DATABASE, "state": "stopped"}, "_x59 1x120 stale")], 130, 190
    ),
    "HotplaceLedgerAway": ([series("hotplace_ledger_up", DATABASE, "1x59 0x59 1x200")], 100, 130),
    "HotplaceSpoolGrows": ([series("hotplace_ledger_spooled_intervals", DATABASE, "0x59 1+1x59 0x200")], 100, 130),
    "HotplaceGroupLeftWorse": ([series("hotplace_groups_left_worse", DATABASE, "0x59 1x59 0x200")], 100, 130),
    "HotplaceLeftover": ([series("hotplace_leftovers", DATABASE, "0x59 1x59 0x200")], 100, 130),
    "HotplaceLockTaken": ([series("hotplace_lock_taken", DATABASE, "0x59 1x59 0x200")], 100, 130),
    "HotplaceGainWaits": (
        [series("hotplace_plan_saved_waiting_sessions", DATABASE, "0x59 0.03x1600 0x200")], 59 + 1500, 59 + 1620
    ),
    "HotplaceProposalExpires": (
        [series("hotplace_proposal_created_timestamp_seconds", DATABASE, "_x59 3600x59 stale"),
         series("hotplace_proposal_expires_timestamp_seconds", DATABASE, "_x59 7200x59 stale"),
         series("hotplace_info", {**ONE, "version": "1", "level": "propose", "dry_run": "false"}, "1x400")], 100, 130,
    ),
    "HotplaceFleetSilent": ([series("hotplace_fleet_databases", {"agent": "silent"}, "0x59 1x59 0x200")], 100, 130),
}  # fmt: skip


def test_every_alert_ends_once_its_cause_has(tmp_path: Path) -> None:
    """It fires while there is a cause, and no longer than its rule looks back after that."""
    every = {rule["alert"]: {**rule, "annotations": {}} for rule in rules()}
    assert ENDS.keys() == every.keys()
    (tmp_path / "rules.yml").write_text(yaml.safe_dump({"groups": [{"name": "all", "rules": list(every.values())}]}))
    expressions = {alert: f"count(ALERTS{{alertname='{alert}', alertstate='firing'}}) or vector(0)" for alert in ENDS}
    units = [
        {"interval": "1m", "input_series": given, "promql_expr_test": [
            {"expr": expressions[alert], "eval_time": f"{at}m", "exp_samples": [{"labels": "{}", "value": firing}]}
            for at, firing in ((30, 0), (fires, 1), (over, 0))
        ]}
        for alert, (given, fires, over) in ENDS.items()
    ]  # fmt: skip
    whole = {"rule_files": ["rules.yml"], "evaluation_interval": "1m", "tests": units}
    (tmp_path / "test.yml").write_text(yaml.safe_dump(whole))
    command = [str(PROMTOOL), "test", "rules", "test.yml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
