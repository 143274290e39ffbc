"""The service of systemd agrees with what the agent does."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from agent.cli.run import run
from agent.config.errors import ConfigError
from agent.ledger.errors import (
    AWAY,
    LedgerBusy,
    LedgerCorrupt,
    LedgerMissing,
    LedgerMovedAway,
    LedgerReadOnly,
    LedgerTooNew,
)
from agent.service.connections import CannotListen
from agent.terminal.errors import ExitCode, exit_code_of
from connectors.kit.contract import (
    CannotConnect,
    DriverMissing,
    HotplaceError,
    LeaseHeld,
    PrivilegeMissing,
    UnknownEngine,
)
from connectors.kit.settings import SecretSource, SecretUnavailable
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
    """The credentials that the unit loads, of both logins, are such that the configuration can name."""
    names = unit()["LoadCredential"]
    assert names == ["hotplace-password", "hotplace-move-password"]
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    for name in names:
        (tmp_path / name).write_text(f"s3cret of {name}\n")
        assert SecretSource(credential=name).read().get_secret_value() == f"s3cret of {name}"


ENDS: dict[type[HotplaceError], bool] = {  # what `run` can end with -> whether the service is started again
    HotplaceError: True,  # a fault of hotplace itself
    CannotListen: True,  # the address is free once another process has ended
    LeaseHeld: True,  # another agent acts
    LedgerBusy: True,  # of a file, while another process writes
    CannotConnect: True,
    ConfigError: False,
    SecretUnavailable: False,
    UnknownEngine: False,
    PrivilegeMissing: False,
    DriverMissing: False,
    LedgerMissing: False,
    LedgerCorrupt: False,
    LedgerTooNew: False,
    LedgerMovedAway: False,
    LedgerReadOnly: False,
}


def is_started_again(code: int) -> bool:
    """What systemd does with Restart=on-failure after an exit, by systemd.service(5)."""
    service = unit()
    assert service["Restart"] == ["on-failure"]
    clean = {0, *(int(each) for each in " ".join(service.get("SuccessExitStatus", [])).split())}
    prevented = set(service["RestartPreventExitStatus"][0].split())
    return code not in clean and str(code) not in prevented


@pytest.mark.parametrize("error", ENDS)
def test_what_may_pass_is_tried_again_and_what_a_person_mends_is_not(error: type[HotplaceError]) -> None:
    """By the exit code of each error that `run` can end with; what mends itself must never keep the service down."""
    assert is_started_again(exit_code_of(error("x"))) is ENDS[error]


def test_an_end_that_was_asked_for_is_final() -> None:
    """SIGTERM ends with code 0; a hang-up before the handler is there is not taken for one."""
    assert not is_started_again(ExitCode.OK)
    assert unit()["RestartForceExitStatus"] == ["SIGHUP"]


def test_a_ledger_that_comes_up_later_ends_no_agent() -> None:
    """Its code would keep the service down after a reboot: so `run` waits (tests/labs/test_fleet.py), standby or not.

    The unit orders nothing after the ledger's server, which is another machine's.
    """
    assert all(exit_code_of(error.__new__(error)) in {ExitCode.BUSY, ExitCode.LEDGER_UNUSABLE} for error in AWAY)
    source = inspect.getsource(inspect.unwrap(run))
    assert source.index("_wait_for_ledger(session)") < source.index("Daemon(")
