"""What deploy/ ships agrees with what the agent does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from agent.cli.exit_codes import ExitCode
from agent.metrics import AgentCollector
from connectors.settings import SecretSource

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
RULES = DEPLOY / "prometheus" / "hotplace.rules.yml"
UNIT = DEPLOY / "systemd" / "hotplace.service"


def rules() -> list[dict[str, Any]]:
    """Every alert."""
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def exported() -> set[str]:
    """The names of all samples that the agent's collector can yield."""
    families = AgentCollector(list, top_units=1).collect()
    return {f"{family.name}_total" if family.type == "counter" else family.name for family in families}


def test_alerts_ask_for_metrics_that_exist() -> None:
    """A renamed metric would silence its alert without a word."""
    asked = {name for rule in rules() for name in re.findall(r"\bhotplace_\w+", rule["expr"])}
    assert asked
    assert asked <= exported()


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: str(rule["alert"]))
def test_every_alert_says_what_happened_and_how_bad_it_is(rule: dict[str, Any]) -> None:
    """A summary, a description with what to do next, and a severity."""
    assert {"summary", "description"} <= set(rule["annotations"])
    assert rule["labels"]["severity"] in {"info", "warning", "critical"}


def unit() -> dict[str, list[str]]:
    """Settings of the [Service] part; a key may be given more than once."""
    lines = UNIT.read_text().split("[Service]")[1].split("[Install]")[0].splitlines()
    found: dict[str, list[str]] = {}
    for line in lines:
        if "=" in line and not line.startswith("#"):
            key, _, value = line.partition("=")
            found.setdefault(key, []).append(value)
    return found


def test_the_service_stays_down_only_for_what_a_person_must_mend() -> None:
    """The exit codes that end restarts are those of wrong use, configuration, rights and ledger."""
    codes = {int(code) for code in unit()["RestartPreventExitStatus"][0].split()}
    assert codes == {ExitCode.USAGE, ExitCode.CONFIGURATION, ExitCode.NOT_ALLOWED, ExitCode.LEDGER_UNUSABLE}


def test_the_service_runs_from_a_virtual_environment_of_its_own() -> None:
    """Generic package names need it; the daemon is the documented command, reloaded by SIGHUP."""
    (start,) = unit()["ExecStart"]
    assert start.startswith("/opt/hotplace/bin/hotplace ")
    assert start.endswith(" run")
    assert unit()["ExecReload"] == ["/bin/kill -HUP $MAINPID"]


def test_the_service_reads_its_secret_where_systemd_puts_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The credential that the unit loads is one that the configuration can name."""
    (name,) = unit()["LoadCredential"]
    (tmp_path / name).write_text("s3cret\n")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    assert SecretSource(credential=name).read().get_secret_value() == "s3cret"
