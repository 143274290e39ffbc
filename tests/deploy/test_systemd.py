"""The service of systemd agrees with what the agent does."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.terminal.errors import ExitCode
from connectors.kit.settings import SecretSource
from tests.deploy.places import DEPLOY

UNIT = DEPLOY / "systemd" / "hotplace.service"


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
