"""A bundle for support helps, and tells nothing that is not ours to tell."""

from __future__ import annotations

import json
import tarfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agent.ledger import Ledger
from agent.ledger.state_names import STATUS
from agent.model.clock import SystemClock
from agent.service.support.scrubbing import MASK, Scrubber, own_words
from tests.cli.site import Site

PLANTED = {
    "password": "Tr0ub4dor-3",
    "environment": "zwetschgendatschi",
    "hook": "https://hooks.corp.example/T0KEN/secretpart",
    "login": "kundenadmin",
    "host": "db7.corp.example",
    "literal": "4111111111111111",
    "person": "Frau Hahnenkamm",
    "table": "gehaltsliste",
    "address": "10.20.30.40",
    "mail": "eva@corp.example",
}
ERROR = (
    f"password authentication failed for user {PLANTED['login']} at {PLANTED['host']} ({PLANTED['address']}): "
    f"UPDATE {PLANTED['table']} SET card = {PLANTED['literal']} WHERE name = '{PLANTED['person']}' "
    f"-- {PLANTED['password']}"
)


@pytest.fixture
def planted(site: Site, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A site with secrets in files, environment, addresses, the ledger's last error and the log."""
    (site.folder / "password").write_text(PLANTED["password"])
    monkeypatch.setenv("HOOK", PLANTED["hook"])
    monkeypatch.setenv("MAIL_PASSWORD", PLANTED["environment"])
    mail = {"host": PLANTED["host"], "user": PLANTED["login"], "password": {"env": "MAIL_PASSWORD"},
            "from": PLANTED["mail"], "to": [PLANTED["mail"]]}  # fmt: skip
    site.values["metrics"] = {
        "port": 1, "basic_auth": {"user": PLANTED["login"], "password": {"file": str(site.folder / "password")}},
    }  # fmt: skip
    site.values["notices"] = [{"name": "chat", "webhook": {"url": {"env": "HOOK"}}}, {"name": "mail", "mail": mail}]
    site.database["pins"] = [{"unit": f"public.{PLANTED['table']}", "pin": "never", "reason": PLANTED["person"]}]
    site.write()
    site.propose()
    with Ledger.open(site.ledger_path, SystemClock()) as ledger:
        status = {"pid": 1, "host": PLANTED["host"], "error": ERROR, "cycles": 7, "at": datetime.now(UTC).isoformat()}
        ledger.state.save_document("shop", STATUS, status)
    event = {"event": "failed", "job": "sample", "error": ERROR, "level": "error", "exception": ERROR}
    (site.folder / "run.log").write_text(f"{json.dumps(event)}\n2026-01-05T02:00:00Z [error] failed error={ERROR!r}\n")
    return site


def bundle_of(site: Site) -> dict[str, str]:
    """Texts of the bundle by their names."""
    path = site.folder / "support.tar.gz"
    site.good("doctor", "--bundle", str(path), "--log", str(site.folder / "run.log"), "--json")
    assert path.stat().st_mode & 0o777 == 0o600
    with tarfile.open(path) as archive:
        assert {(member.uid, member.uname) for member in archive} == {(0, "")}
        found = {Path(member.name).name: archive.extractfile(member) for member in archive}
        return {name: file.read().decode() for name, file in found.items() if file is not None}


def test_nothing_that_was_planted_is_in_it(planted: Site) -> None:
    """No secret, host, login, literal, person or table, whole or in part, in any member."""
    together = "\n".join(bundle_of(planted).values()).lower()
    for what, text in PLANTED.items():
        for part in (text, *text.replace("//", " ").replace("/", " ").replace("@", " ").split()):
            assert part.lower() not in together, what
    for name in ("shop", "orders", "measurements_2024q4", str(planted.folder)):
        assert name not in together


def test_what_helps_is_in_it(planted: Site) -> None:
    """Versions, settings, the finding that explains, counts, events with their names, and why something is missing."""
    found = bundle_of(planted)
    assert json.loads(found["versions.json"])["packages"].keys() >= {"pydantic", "numpy"}
    config = json.loads(found["config.json"])
    assert (config["level"], config["databases"][0]["engine"]) == ("propose", "simulated")
    assert config["databases"][0]["policy"]["regret"] == 0
    (findings,) = json.loads(found["findings.json"]).values()
    assert {"connected", "ledger_path"} <= {each["code"] for each in findings}
    ledger = json.loads(found["ledger.json"])
    assert ledger["revision"] == ledger["known_revisions"][-1:]
    assert ledger["proposals_by_state"] == {"proposed": 1}
    (daemon,) = json.loads(found["daemon.json"]).values()
    assert daemon["cycles"] == 7
    assert daemon["error"].startswith("password authentication failed for user")
    as_json, as_text = found["log.txt"].splitlines()
    assert {"event": "failed", "job": "sample", "level": "error"}.items() <= json.loads(as_json).items()
    assert "failed error=" in as_text
    assert "metrics.txt: no daemon gave them" in found["absent.txt"]
    assert json.loads(found["timings.json"])


def test_it_replaces_no_file(site: Site) -> None:
    """An older bundle stays, and the command says so."""
    path = site.folder / "support.tar.gz"
    path.write_text("older")
    done = site.run("doctor", "--bundle", str(path))
    assert done.code == 6
    assert path.read_text() == "older"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("13 of 18 units had demand in 208 ms", "13 of 18 units had demand in 208 ms"),
        ("the ledger /srv/hotplace/x.db cannot be written", f"the ledger {MASK} cannot be written"),
        ("no such relation: 'Kunden'", f"no such relation: {MASK}"),
        ("key (id)=(981234567) exists", f"key (id)={MASK} exists"),
        ("select a from b where c", MASK),
        ("orders of acme", f"name-1 of {MASK}"),
    ],
)
def test_only_words_of_ours_stay(text: str, left: str) -> None:
    """Sentences stay readable; what is quoted, long, a path or unknown does not."""
    assert Scrubber(["orders"]).text(text) == left
    assert "acme" not in own_words()
