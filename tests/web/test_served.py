"""Over HTTP there are the documents of ``--json`` and the live page, for who may see them, and nothing changes."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from html.parser import HTMLParser
from http import HTTPStatus
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from openapi_spec_validator import validate
from pydantic import TypeAdapter

from agent.cli.run import ServedDocuments
from agent.config.files import load
from agent.config.models import DatabaseConfig
from agent.ledger.ledger import Ledger
from agent.model.answers.catalog import ANSWERS
from agent.model.answers.watching import TopShown
from agent.model.clock import SystemClock
from agent.pages.site import BY_NAME, ENDPOINTS, MOST_KEPT, PREFIX, Cache
from agent.pages.site import WebSite as Pages
from agent.service.httpd import Answer
from agent.terminal.output import plain_value
from tests.cli.site import Site

HOSTILE = '"shop"."<script>alert(1)</script>\x1b[31m"'
ASKED = {  # what is asked of each endpoint, as a query and on the command line
    "status": ("database=shop", ("status", "--database", "shop")),
    "top": ("limit=3", ("top", "--once", "--limit", "3")),
    "units": ("limit=4&sort=size&like=*orders*", ("units", "--limit", "4", "--sort", "size", "--like", "*orders*")),
    "proposals": ("", ("proposals",)),
    "show": ("proposal=1", ("show", "1")),
    "history": ("limit=2", ("history", "--limit", "2")),
    "outcomes": ("", ("outcomes",)),
    "pins": ("", ("pin", "--list")),
    "audit": ("limit=3&event=proposal.*", ("history", "--audit", "--limit", "3", "--event", "proposal.*")),
}  # fmt: skip
OF_THE_MOMENT = {"at", "age_seconds"}


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """A site where a proposal was approved with a reason and carried out, a unit is pinned, and another waits."""
    site = Site(tmp_path_factory.mktemp("served"))
    number, digest = site.propose()
    site.good("approve", str(number), "--digest", digest[:12], "--reason", "agreed with eva")
    site.good("pin", '"shop"."orders"', "must")
    site.run("run", "--once")
    return site


@contextmanager
def opened(site: Site) -> Iterator[ServedDocuments]:
    """The documents of a site as a daemon makes them."""
    clock = SystemClock()
    config = load(site.path)
    with Ledger.open(config.ledger.path, clock) as ledger:
        yield ServedDocuments(lambda: config, ledger, clock)


@pytest.fixture
def documents(lived: Site) -> Iterator[ServedDocuments]:
    """Those of the site that has lived."""
    with opened(lived) as found:
        yield found


def pages(documents: Callable[..., object], *, guarded: bool = True) -> Pages:
    """What is served, with no watch in memory."""
    return Pages(documents, list, guarded=guarded, monotonic=time.monotonic)


def get(served: Pages, target: str) -> Answer:
    """An answer that there has to be."""
    found = served.answer(target)
    assert found is not None, target
    return found


def settled(value: Any) -> Any:
    """A document without what differs from one moment to the next, and what a command thinks of its own process."""
    if isinstance(value, dict):
        return {key: settled(inner) for key, inner in value.items() if key not in OF_THE_MOMENT | {"daemon", "sending"}}
    return [settled(inner) for inner in value] if isinstance(value, list) else value


def test_every_endpoint_is_tried() -> None:
    """The list of this test is the list of what is served."""
    assert ASKED.keys() == BY_NAME.keys()


@pytest.mark.parametrize("name", ASKED)
def test_what_is_served_is_what_is_printed(name: str, lived: Site, documents: ServedDocuments) -> None:
    """The document of an endpoint is the command's own, and fits its schema."""
    query, command = ASKED[name]
    answer = get(pages(documents), f"{PREFIX}{name}?{query}")
    assert (answer.status, answer.content_type) == (HTTPStatus.OK, "application/json; charset=utf-8")
    served = json.loads(answer.body)
    assert settled(served) == settled(lived.good(*command, "--json").document)
    jsonschema.validate(served, json.loads(get(pages(documents), f"{PREFIX}schemas/{BY_NAME[name].schema}.json").body))


def test_no_answer_touches_a_database_or_changes_the_ledger(
    lived: Site, documents: ServedDocuments, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without any way to connect all is served, and no row of the ledger differs afterwards."""

    def refuse(*_: object) -> None:
        raise AssertionError("a page connects to a database")

    monkeypatch.setattr(DatabaseConfig, "connect", refuse)
    monkeypatch.setattr(DatabaseConfig, "connect_mover_side", refuse)
    before = dump(lived.ledger_path)
    served = pages(documents)
    for name, (query, _) in ASKED.items():
        assert get(served, f"{PREFIX}{name}?{query}").status is HTTPStatus.OK
    assert get(served, "/").status is HTTPStatus.OK
    assert dump(lived.ledger_path) == before


def dump(path: Path) -> list[str]:
    """Every row of a ledger, as statements."""
    import sqlite3

    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return list(connection.iterdump())
    finally:
        connection.close()


def test_a_daemon_knows_that_it_runs(documents: ServedDocuments, lived: Site) -> None:
    """Asked from within, the process that wrote the status is the daemon; to a command in it, it is not."""
    (served,) = plain_value(documents("status", {}))["databases"]
    (printed,) = lived.good("status", "--json").document["databases"]
    assert (served["daemon"]["alive"], printed["daemon"]["alive"]) == (True, False)


def test_the_description_is_openapi(documents: ServedDocuments) -> None:
    """It validates as OpenAPI 3.1 and describes every endpoint with its parameters and schema."""
    described = json.loads(get(pages(documents), f"{PREFIX}openapi.json").body)
    validate(described)
    assert {path.strip("/") for path in described["paths"]} == BY_NAME.keys()
    for endpoint in ENDPOINTS:
        operation = described["paths"][f"/{endpoint.command}"]["get"]
        assert [each["name"] for each in operation["parameters"]] == [each.name for each in endpoint.parameters]
        assert list(described["paths"][f"/{endpoint.command}"]) == ["get"]
    assert described["servers"] == [{"url": "/api/v1"}]


@pytest.mark.parametrize(
    ("target", "status", "said"),
    [
        ("units?limit=0", 400, "1 to 500"),
        ("units?limit=501", 400, "1 to 500"),
        ("units?limit=²", 400, "1 to 500"),
        ("units?limit=1&limit=2", 400, "2 times"),
        ("units?colour=red", 400, "no parameter 'colour'"),
        (f"units?like={'x' * 600}", 400, "600 characters"),
        ("units?sort=colour", 400, "colour"),
        ("units?verdict=colour", 400, "colour"),
        ("units?database=other", 400, "other"),
        ("show", 400, "proposal is missing"),
        ("show?proposal=99", 404, "no proposal 99"),
    ],
)
def test_a_wrong_question_is_answered_with_what_is_wrong(
    target: str, status: int, said: str, documents: ServedDocuments
) -> None:
    """The error is the one of ``--json``, fits its schema, and names what there is."""
    served = pages(documents)
    answer = get(served, PREFIX + target)
    assert answer.status == status
    assert said in answer.body.decode()
    jsonschema.validate(json.loads(answer.body), json.loads(get(served, f"{PREFIX}schemas/error.json").body))


@pytest.mark.parametrize("path", ["/api", "/api/v2/status", f"{PREFIX}approve", f"{PREFIX}schemas/../site", "/x"])
def test_there_is_nothing_else(path: str, documents: ServedDocuments) -> None:
    """No other version, no command that decides, no other file."""
    assert pages(documents).answer(path) is None


class Page(HTMLParser):
    """What a page holds: tags, attributes and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note it."""
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        """Note it."""
        self.text += data


def test_the_page_shows_room_moves_and_units(documents: ServedDocuments) -> None:
    """Tiers with their fill, what moves, and the top units; nothing is loaded, run or sent."""
    answer = get(pages(documents), "/")
    page = Page(answer.body.decode())
    (database,) = plain_value(documents("status", {}))["databases"]
    (top,) = plain_value(documents("top", {}))["databases"]
    for shown in ("shop", top["window"]["sentence"], *(space["space"] for space in database["spaces"])):
        assert shown in page.text
    assert [unit["unit"] for unit in top["units"] if unit["unit"] not in page.text] == []
    assert top["moves"]
    assert [move["unit"] for move in top["moves"] if move["unit"] not in page.text] == []
    assert not page.tags & {"script", "img", "link", "iframe", "form", "button", "input"}
    assert not {name for name in page.attributes if name.startswith("on")} | (page.attributes & {"src", "style"})
    policy = dict(answer.headers)["Content-Security-Policy"]
    assert policy.startswith("default-src 'none';")
    assert "script-src" not in policy
    assert "frame-ancestors 'none'" in policy


def test_names_from_a_database_are_text(documents: ServedDocuments) -> None:
    """A table may be called anything: it never becomes a tag, and control characters are seen."""

    def renamed(command: str, given: Mapping[str, str | int]) -> object:
        text = json.dumps(plain_value(documents(command, given)))
        text = text.replace(json.dumps('"shop"."orders"')[1:-1], json.dumps(HOSTILE)[1:-1])
        return TypeAdapter(ANSWERS[command]).validate_json(text)

    page = get(pages(renamed), "/").body.decode()
    assert "&lt;script&gt;alert(1)" in page
    assert "<script" not in page
    assert "\\x1b[31m" in page
    assert "\x1b" not in page


def test_without_a_password_documents_are_closed(documents: ServedDocuments) -> None:
    """They name people and statements; the page shows what metrics show, and says who asked for nothing."""
    served = pages(documents, guarded=False)
    for name, (query, _) in ASKED.items():
        answer = get(served, f"{PREFIX}{name}?{query}")
        assert answer.status is HTTPStatus.FORBIDDEN
        assert "metrics.basic_auth" in answer.body.decode()
    page = get(served, "/").body.decode()
    assert "orders" in page
    assert "agreed with eva" not in page
    assert get(served, f"{PREFIX}openapi.json").status is HTTPStatus.OK


def test_who_held_a_move_is_for_those_who_may_know(documents: ServedDocuments) -> None:
    """A reason that names a person stands on the page behind a password only."""

    def with_reason(command: str, given: Mapping[str, str | int]) -> object:
        found = documents(command, given)
        if not isinstance(found, TopShown):
            return found
        (shop,) = found.databases
        moves = tuple(replace(move, sentence="held by eva: the month ends") for move in shop.moves)
        return replace(found, databases=(replace(shop, moves=moves),))

    assert "held by eva" in get(pages(with_reason), "/").body.decode()
    assert "eva" not in get(pages(with_reason, guarded=False), "/").body.decode()


def test_the_same_question_is_worked_out_once_a_second() -> None:
    """However many ask; what fails is tried again, and only so many answers are kept."""
    now, made = [0.0], []

    def make() -> int:
        made.append(now[0])
        return len(made)

    kept: Cache[int] = Cache(lambda: now[0])
    assert [kept.get("a", make) for _ in range(3)] == [1, 1, 1]
    assert kept.get("b", make) == 2
    now[0] = 1.0
    assert kept.get("a", make) == 3
    for key in range(MOST_KEPT + 5):
        kept.get(key, make)
    assert len(kept._kept) == MOST_KEPT

    def fail() -> int:
        raise KeyError

    for _ in range(2):
        with pytest.raises(KeyError):
            kept.get("c", fail)


def test_a_running_daemon_serves_behind_its_password(tmp_path: Path) -> None:
    """The daemon itself: the page with its waits and the documents for who has the password, POST for no one."""
    site = Site(tmp_path)
    import urllib.error
    import urllib.request
    from base64 import b64encode

    (site.folder / "password").write_text("correct horse")
    (site.folder / "password").chmod(0o600)
    site.values["metrics"] = {
        "enabled": True, "port": 0, "basic_auth": {"user": "eva", "password": {"file": str(site.folder / "password")}},
    }  # fmt: skip
    site.values["log"] = {"level": "info"}
    site.write()
    process = site.start("run")
    try:
        assert process.stderr is not None
        url = next(found[1] for line in process.stderr if (found := re.search(r"url=(\S+)/metrics", line)))

        def ask(path: str, password: str = "correct horse", **more: Any) -> tuple[int, str]:
            login = b64encode(f"eva:{password}".encode()).decode()
            request = urllib.request.Request(url + path, headers={"Authorization": f"Basic {login}"}, **more)
            try:
                with urllib.request.urlopen(request, timeout=20) as answer:
                    return answer.status, answer.read().decode()
            except urllib.error.HTTPError as error:
                with error:
                    return error.code, error.read().decode()

        assert ask("/", "wrong")[0] == 401
        assert ask(f"{PREFIX}status", "wrong")[0] == 401
        assert ask(f"{PREFIX}proposals", data=b"{}")[0] == 501
        assert ask("/healthz", method="HEAD") == (200, "")
        deadline = time.monotonic() + 30
        while "Sessions that wait" not in (page := ask("/")[1]):
            assert time.monotonic() < deadline, page
            time.sleep(0.3)
        status, text = ask(f"{PREFIX}status")
        assert status == 200
        assert json.loads(text)["databases"][0]["daemon"]["state"] == "running"
        assert ask(f"{PREFIX}show?proposal=99")[0] == 404
        assert ask("/nothing")[0] == 404
    finally:
        process.terminate()
        process.communicate(timeout=30)
