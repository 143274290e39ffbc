"""How commands end when something is wrong: one clear message, what to do next, and a documented code."""

from __future__ import annotations

import signal
import socket
import sqlite3
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from agent.cli.main import whole_app
from agent.ledger.ledger import Ledger
from agent.ledger.state_names import RANKING
from agent.model.clock import SystemClock
from agent.terminal.errors import ExitCode, exit_code_of
from connectors.kit.contract import DriverMissing, LeaseHeld, OutcomeUnknown, PrivilegeMissing
from tests.cli.site import Finished, Site, finish, simulated


def refused(done: Finished, code: int, *words: str) -> None:
    """It ended with that code, printed no result and no traceback, and the message holds the words."""
    assert done.code == code, done
    assert done.out == ""
    assert done.err.startswith("error: ")
    assert "Traceback" not in done.err
    for word in words:
        assert word in done.err


# -- configuration ---------------------------------------------------------------------------------------------------


def test_unknown_key(site: Site) -> None:
    """An unknown key is named with its path and the nearest right one."""
    site.database["sample_evry"] = "1s"
    site.write()
    refused(site.run("status"), 3, "databases[0].sample_evry", "sample_every")


def test_missing_file(site: Site) -> None:
    """Without a configuration the message says where it was looked for and how to get one."""
    site.path.unlink()
    refused(site.run("status"), 3, str(site.path), "hotplace setup")


def test_unknown_engine(site: Site) -> None:
    """An unknown engine is told the nearest one, in the configuration and in init."""
    site.database["engine"] = "simulate"
    site.write()
    refused(site.run("plan"), 3, "'simulate'", "simulated")
    refused(
        site.run("init", "--engine", "postgres", "--output", str(site.folder / "x")), 3, "did you mean 'postgresql'"
    )


def test_unknown_database(site: Site) -> None:
    """A database that is not configured is answered with those that are."""
    refused(site.run("--database", "shp", "units"), 3, "shop")
    refused(site.run("units", "--database", "shp"), 3, "shop")


def test_a_space_that_does_not_exist(site: Site) -> None:
    """A tier that names a space the database does not have is a mistake of the configuration."""
    site.database["tiers"][0]["spaces"] = ["sdd"]
    site.write()
    refused(site.run("plan"), 3, "'sdd'", "ssd")
    done = site.run("doctor")
    assert done.code == 5
    assert "space_missing" in done.out


def test_init_into_a_folder_that_is_not_there(tmp_path: Path) -> None:
    """A file that cannot be written is a clear message."""
    result = CliRunner().invoke(whole_app(), ["init", "--output", str(tmp_path / "no" / "x.yaml")])
    assert result.exit_code == 3
    assert "cannot be written" in result.stderr


@pytest.mark.parametrize(("command", "code"), [(["show", "7"], 7), (["proposals"], 0), (["doctor"], 5)])
def test_an_error_as_json(site: Site, command: list[str], code: int) -> None:
    """With --json there is always one document: the answer, or else the error with its code and what to do next."""
    if code == 5:
        site.database["tiers"][0]["spaces"] = ["sdd"]
        site.write()
    done = site.run(*command, "--json")
    assert done.code == code
    assert (done.document.get("error") or {}).get("exit_code") == (7 if code == 7 else None)
    assert code != 7 or done.document["error"]["next"] in done.err


# -- wrong use -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ["nosuch"], ["units", "--nosuch"], ["units", "--limit", "0"], ["units", "--verdict", "hot"], ["approve"],
        ["approve", "x"], ["reject", "1"], ["pin", "x", "always"], ["plan", "--observe", "0"], ["audit", "nosuch"],
        ["run", "--database", "shop"], ["run", "--standby"],
    ],
)  # fmt: skip
def test_wrong_use(site: Site, arguments: list[str]) -> None:
    """Whatever is wrong on the command line itself ends with 2."""
    assert site.run(*arguments).code == 2


# -- decisions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments", [["show", "7"], ["approve", "7", "--yes"], ["reject", "7", "--reason", "x"], ["explain", "nosuch"]]
)
def test_what_does_not_exist(site: Site, arguments: list[str]) -> None:
    """An unknown proposal, move or unit ends with 7."""
    number, _ = site.propose()
    assert number != 7
    refused(site.run(*arguments), 7, "next: ")
    refused(site.run("strike", str(number), "99", "--reason", "x"), 7)


def test_wrong_digest(site: Site) -> None:
    """Another digest, or too little of the right one, approves nothing."""
    number, digest = site.propose()
    refused(site.run("approve", str(number), "--digest", "0" * 64), 6, "digest", f"hotplace show {number}")
    refused(site.run("approve", str(number), "--digest", digest[:11]), 6)
    assert site.good("show", str(number), "--json").document["state"] == "proposed"


def test_nobody_to_ask(site: Site) -> None:
    """Without a terminal an approval needs --yes or --digest; typed input is no answer."""
    number, digest = site.propose()
    refused(site.run("approve", str(number), typed="y\n"), 6, "there is no terminal", digest[:12])
    assert site.good("approve", str(number), "--yes", "--json").document["digest"] == digest


def test_approved_twice(site: Site) -> None:
    """The second approval is refused, and so is a rejection after it."""
    number, digest = site.propose()
    site.good("approve", str(number), "--digest", digest)
    refused(site.run("approve", str(number), "--digest", digest), 6, "approved")
    refused(site.run("reject", str(number), "--reason", "x"), 6)


def test_a_proposal_of_a_database_that_is_gone(site: Site) -> None:
    """What nobody would carry out is not approved."""
    number, digest = site.propose()
    site.database["name"] = "other"
    site.write()
    refused(site.run("approve", str(number), "--digest", digest), 3, "'shop'")
    assert site.good("show", str(number), "--json").document["state"] == "proposed"


def test_expired(site: Site) -> None:
    """A proposal past its expiry can no longer be approved."""
    site.database["proposal_expires"] = "0.5s"
    site.write()
    number, digest = site.propose()
    time.sleep(0.6)  # the approval is another process: its clock is the machine's
    refused(site.run("approve", str(number), "--digest", digest), 6, "expired")


def test_changed_in_the_file(site: Site) -> None:
    """A stored proposal that somebody has changed is neither shown nor approved."""
    number, digest = site.propose()
    ledger = sqlite3.connect(site.ledger_path)
    with ledger:
        ledger.execute("UPDATE proposals SET body = replace(body, 'ssd', 'hdd')")
    ledger.close()
    refused(site.run("approve", str(number), "--digest", digest), 10)
    done = site.run("audit", "verify", "--json")
    assert done.code == 10
    assert done.document["ok"] is False


def test_an_audit_of_nothing(site: Site) -> None:
    """A ledger that is missing is an error, and none is made to be found in order."""
    for command in (["audit", "verify"], ["history", "--audit"]):
        refused(site.run(*command), 10, "there is no ledger")
    assert not site.ledger_path.exists()


# -- acting ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def approved(site: Site) -> Site:
    """A site with an approved proposal."""
    number, digest = site.propose()
    site.good("approve", str(number), "--digest", digest)
    return site


def test_a_failed_move(tmp_path: Path) -> None:
    """A move that the engine refused shows in the exit code of run --once, and in the history."""
    site = Site(tmp_path, simulated(tmp_path, faults=[{"kind": "space_full", "at": [1]}]))
    number, digest = site.propose()
    site.good("approve", str(number), "--digest", digest)
    done = site.run("run", "--once", "--json")
    assert done.code == 8
    assert "failed" in {move["state"] for move in done.document["moves"]}
    assert "failed" in site.good("history").out


def test_doctor_without_the_right_to_move(tmp_path: Path) -> None:
    """A missing privilege is a finding with its remedy, and ends with 5."""
    site = Site(tmp_path, simulated(tmp_path, may_move=False))
    done = site.run("doctor", "--json")
    assert done.code == 5
    assert done.document["ok"] is False
    assert [f for f in done.document["databases"][0]["findings"] if f["severity"] == "error" and f["remedy"]]


def test_two_daemons_on_one_database(site: Site) -> None:
    """The second one ends at once and says why; the first one ends well on SIGTERM, and status follows."""
    first = site.start("run")
    try:
        _wait_for_daemon(site)
        second = finish(site.start("run"))
        refused(second, 9, "acts on this database")
        refused(site.run("run"), 9)
        cycles = _status(site)["status"]["cycles"]
        once = site.run("run", "--once")
        assert (once.code, once.out) == (9, "")
        assert "acts on this database" in once.err
        assert _status(site)["status"]["cycles"] >= cycles  # the daemon's own status, not that of the refused cycle
        assert _status(site)["status"]["pid"] == first.pid
    finally:
        first.send_signal(signal.SIGTERM)
        done = finish(first)
    assert done.code == 0, done
    assert site.good("status", "--json").document["databases"][0]["daemon"]["state"] == "stopped"


def _status(site: Site) -> dict[str, Any]:
    """What `status` says of the daemon."""
    daemon: dict[str, Any] = site.good("status", "--json").document["databases"][0]["daemon"]
    return daemon


def _wait_for_daemon(site: Site) -> None:
    until = time.monotonic() + 30
    while _status(site)["state"] != "running":
        assert time.monotonic() < until, "the daemon never sampled"
        time.sleep(0.1)
    assert "running as pid" in site.good("status").out


def test_address_taken(site: Site) -> None:
    """A metrics address that somebody else has is named with the key that changes it."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        site.values["metrics"] = {"port": taken.getsockname()[1]}
        site.write()
        refused(site.run("run"), 9, "cannot listen", "metrics.port")


# -- the ledger ------------------------------------------------------------------------------------------------------


def test_corrupt_ledger(site: Site) -> None:
    """A file that is no ledger is left alone and named."""
    site.ledger_path.write_bytes(b"this is no ledger" * 100)
    refused(site.run("status"), 10, str(site.ledger_path), "next: ")
    assert site.ledger_path.read_bytes().startswith(b"this is no ledger")


def test_ledger_in_a_folder_that_cannot_be_written(site: Site) -> None:
    """Not even root can make a file in /proc; who only looks makes none."""
    site.values["ledger"] = {"path": "/proc/hotplace.db"}
    site.write()
    refused(site.run("plan", "--propose"), 10, "/proc/hotplace.db")
    assert site.run("plan").code == 0
    assert site.run("status").code == 0
    assert site.run("doctor").code == 5


# -- interrupted, cut off, broken --------------------------------------------------------------------------------------


def test_interrupt_while_watching(site: Site) -> None:
    """Ctrl-C ends a long command quietly with 130."""
    process = site.start("plan", "--observe", "60")
    until = time.monotonic() + 30
    while not (site.folder / "world.json").exists():
        assert time.monotonic() < until
        time.sleep(0.05)
    time.sleep(0.3)  # the world is there; now it waits for the next sample
    process.send_signal(signal.SIGINT)
    refused(finish(process), 130, "interrupted")


@pytest.mark.parametrize("form", [("--json",), ()], ids=["json", "text"])
def test_a_reader_that_goes_away(site: Site, form: tuple[str, ...]) -> None:
    """`hotplace units | head` says nothing about a broken pipe and ends well."""
    site.propose()
    process = site.start("units", "--all", *form)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait(timeout=30) == 0


def test_a_fault_of_our_own(site: Site) -> None:
    """Something unforeseen is one message without a traceback, which --debug shows."""
    with Ledger.open(site.ledger_path, SystemClock()) as ledger:
        ledger.state.save_arrays("shop", RANKING, SystemClock().now(), {"key": np.zeros(3)})
    refused(site.run("units"), 1, "--debug")
    assert "Traceback" in site.run("units", "--debug").err
    assert "Traceback" in site.run("--debug", "units").err


@pytest.mark.parametrize(
    ("error", "code"),
    [(LeaseHeld, 9), (PrivilegeMissing, 5), (DriverMissing, 5), (OutcomeUnknown, 1)],
)
def test_classes_of_errors(error: Any, code: int) -> None:
    """Each class of error has the code that the help promises."""
    assert exit_code_of(error("x")) == code


def test_codes_are_those_of_the_help() -> None:
    """Every code stands in the help with its meaning."""
    text = CliRunner().invoke(whole_app(), ["--help"]).stdout
    for code in ExitCode:
        assert f"{code.value:>3}  {code.meaning}" in text
