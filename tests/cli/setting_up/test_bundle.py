"""A bundle for support helps, and tells nothing that is not ours to tell."""

from __future__ import annotations

import json
import re
import tarfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.ledger.ledger import Ledger
from agent.ledger.state_names import STATUS
from agent.model.clock import SystemClock
from agent.service.support import MASK, Scrubber, mask_events, own_words
from tests.cli.site import Site
from tests.over import over
from tests.patterns.measuring import grows

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
        ("no such relation: 'Kunden und Preise", f"no such relation: {MASK}"),
        ("key (id)=(981234567) exists", f"key (id)={MASK} exists"),
        ("Key (name, card)=(rose may, (open)) exists", f"Key (name, card)={MASK} exists"),
        ("select a from b where c", MASK),
        ("it failed: insert into orders values (open)", f"it failed: {MASK}"),
        ("orders of acme", f"name-1 of {MASK}"),
        ("used 12.5 % and 93%, read 1,234 rows", "used 12.5 % and 93%, read 1,234 rows"),
        ("this is PostgreSQL 15.14 on the server", "this is PostgreSQL 15.14 on the server"),
        ("Oracle 10.20.30.40 answered", f"Oracle {MASK} answered"),
        ("the server's own, and the user's", "the server's own, and the user's"),
    ],
)
def test_only_words_of_ours_stay(text: str, left: str) -> None:
    """Sentences stay readable with their measures; what is quoted, enclosed, a number, a path or unknown does not."""
    assert Scrubber(["orders"]).text(text) == left
    assert own_words().isdisjoint({"acme", "eva", "anna", "bob", "hara"}), "examples in comments are not our words"


LITERALS = [
    "4111 1111 1111 1111", "4111-1111-1111-1111", "4111.1111.1111.1111", "41 11 11 11", "+49 89 1234 567",
    "(555) 123-4567", "555 1234", "089/1234", "+49", "123-45-6789", "123 45 6789", "(ssn)=(123-45-6789)",
    "ssn=123", "1970-05-17", "17.05.1970", "05/17/1970", "17 05 1970", "1970-05-17 08:30", "1970-05-17T08:30:00Z",
    "08:30", "42", "-7", "3.5", "1,5", "(42)", "[1234]", "42,", "1-2-3", "4-1-1", "王", "É",
    "DE89 3704 0044 0532 0130 00", "12 EUR", "no. 42", "§ 42", "#42", "0x2a", "1e5", "v2",
    "\uff14\uff11\uff11\uff11", "\u0664\u0662", "a1b2", "x'41'", "N'Frau'", "$$Frau$$", "name=Frau", "Frau-Frau",
]  # fmt: skip


@over("literal", LITERALS)
@over("sentence", ["the move failed: {}", "{} is wrong", "value {} for the column", "it said ({}) again"])
def test_no_literal_stays(literal: str, sentence: str) -> None:
    """Card and phone numbers, dates, numbers of every script: no digit of them is left, wherever they stand."""
    left = Scrubber([]).text(sentence.format(literal))
    assert not any(character.isdigit() for character in left)
    assert not {"Frau", "EUR", "王", "É"} & set(re.findall(r"\w+", left))
    assert MASK in left
    document = Scrubber([]).value({literal: literal, "error": literal, "list": [literal]})
    assert not any(character.isdigit() for character in json.dumps(document, ensure_ascii=False))


@given(
    words=st.lists(st.integers(0, 9999).map(str), min_size=1, max_size=6),
    between=st.sampled_from([" ", "-", "/", ", ", ") ("]),
)
def test_numbers_stay_before_a_unit_only(words: list[str], between: str) -> None:
    """Several in a row are none that we wrote, whatever follows the last of them."""
    text = between.join(words)
    assert not any(character.isdigit() for character in Scrubber([]).text(f"it said {text} here"))
    left = Scrubber([]).text(f"it took {text} ms")
    assert (left == f"it took {text} ms") == (len(words) == 1)


def test_times_and_numbers_of_our_own_stay() -> None:
    """Where a field of ours holds nothing else, or an event begins with it: not within a text that a server wrote."""
    scrub = Scrubber([])
    document = {
        "at": "2026-01-05T02:00:00Z",
        "updated_at": "2026-01-05 02:00",
        "cycles": 1234567,
        "error": "2026-01-05T02:00:00Z",
    }
    assert scrub.value(document) == document | {"error": MASK}
    line = "2026-01-05T02:00:00.123456Z [error    ] sample failed   database=acme seconds=0.25 error='no 4111' who=42x"
    assert scrub.event(line) == (
        f"2026-01-05T02:00:00.123456Z [error    ] sample failed database={MASK} seconds=0.25 error= {MASK} who={MASK}"
    )
    assert scrub.event("card=4111") == f"card={MASK}"
    assert list(mask_events(['{"card": 4111}', '{"event": "failed", "level": "error", "seconds": 4}'], scrub)) == [
        f"{{ {MASK} : {MASK}", '{"event": "failed", "level": "error", "seconds": 4}'
    ]  # fmt: skip


def test_a_letter_with_two_small_forms_is_no_error() -> None:
    """The search finds a name in spellings that its lower case does not have."""
    for name, spelling in (
        ("shop", "\u017fhop"),
        ("kilo", "\u212ailo"),
        ("istanbul", "İstanbul"),
        ("straße", "STRASSE"),
    ):
        left = Scrubber([name]).text(f"it is {spelling} here")
        assert spelling not in left


@over(
    "repeated",
    ["select ", "'", '"', "$", "$a$", "=(", "contains (", "4 ", "update x ", "a=", "name-1 ", "`", "(", "orders"],
)
def test_scrubbing_takes_time_in_proportion(repeated: str) -> None:
    """Twice the text takes twice as long, whatever it repeats."""
    scrub = Scrubber(["orders", "kunden"])
    assert not grows(lambda text: scrub.text(str(text)), lambda length: repeated * (length // len(repeated)))
