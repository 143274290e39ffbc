"""What people were told by each agent of a ledger, over a restart of one and next to the others."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from agent.config.models import NoticeConfig
from agent.ledger.ledger import Ledger
from agent.ledger.state_names import ALL_DATABASES, NOTICES, notices_of
from agent.service.channels import Notice, NoticeFailed
from agent.service.notifier import NoticeFacts, Notifier, Outbox, find_notices, outbox_document, take_in
from tests.ledger.clock import StillClock
from tests.ledger.conftest import ON_SERVER, open_ledger
from tests.ledger.servers import LedgerServers

CHAT = NoticeConfig.model_validate({"name": "chat", "command": ["/bin/true"], "every": "0s"})


@dataclass(slots=True)
class Agent:
    """One that finds its database not sampled, and notes what its channel took."""

    ledger: Ledger
    clock: StillClock
    database: str
    sent: list[str] = field(default_factory=list)
    works: bool = True  # the channel
    notifier: Notifier = field(init=False)

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Begin with what the ledger knows."""
        self.notifier = Notifier(self.ledger, self.clock, [CHAT], self.send)

    def send(self, channel: NoticeConfig, notices: Sequence[Notice], _dropped: int) -> None:
        """Take them, unless the channel is down."""
        if not self.works:
            raise NoticeFailed(f"{channel.name} is down")
        self.sent.extend(notice.database for notice in notices)

    def turn(self) -> None:
        """Look, and send what is due."""
        self.notifier.take_turn([NoticeFacts(database=self.database, now=self.clock.now(), stalled="not sampled")])


@pytest.fixture
def on_server(servers: LedgerServers, tmp_path: Path, clock: StillClock) -> Iterator[tuple[Ledger, Ledger]]:
    """The same ledger on a server, as two machines have it open."""
    place = servers.emptied()
    one, other = tmp_path / "one", tmp_path / "other"
    for machine in (one, other):
        machine.mkdir()
    with open_ledger(place, one / "ledger", clock) as of_one, open_ledger(place, other / "ledger", clock) as of_other:
        yield of_one, of_other


def test_a_restart_sends_nothing_twice(ledger: Ledger, clock: StillClock) -> None:
    """What could not be sent waits, and what was sent stays known."""
    agent = Agent(ledger, clock, "shop", works=False)
    agent.turn()
    clock.sleep(3600)
    agent.works = True
    for _ in range(2):
        agent.restart()
        agent.turn()
    assert agent.sent == ["shop"]


@pytest.mark.parametrize("document", [None, [], {"known": {}}, {"known": {"a": 1}, "lanes": {}}, "x"])
def test_what_cannot_be_read_begins_anew(ledger: Ledger, clock: StillClock, document: object) -> None:
    """Another agent of the ledger may have written it: this one starts, and tells once more what it found."""
    ledger.state.save_document(ALL_DATABASES, notices_of(ledger.agent_name), document)
    agent = Agent(ledger, clock, "shop")
    for _ in range(2):
        agent.turn()
    assert agent.sent == ["shop"]


def test_what_was_sent_under_no_name_is_known(ledger: Ledger, clock: StillClock) -> None:
    """As by an agent on a file, before its ledger moved to a server."""
    stalled = find_notices(NoticeFacts(database="shop", now=clock.now(), stalled="not sampled"))
    sent = replace(take_in(Outbox(), stalled, [CHAT], {"shop"}, clock.now()), lanes={})  # nothing waits
    ledger.state.save_document(ALL_DATABASES, NOTICES, outbox_document(sent))
    agent = Agent(ledger, clock, "shop")
    agent.turn()
    assert agent.sent == []


PAGER = NoticeConfig.model_validate({"name": "pager", "command": ["/bin/true"], "every": "0s"})


def test_a_channel_that_hangs_holds_up_no_other(
    ledger: Ledger, clock: StillClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others get all that comes, turns end soon, and it gets what waited once it answers, each matter once."""
    monkeypatch.setattr("agent.service.notifier.PATIENCE_SECONDS", 0.2)
    answers, sent = threading.Event(), list[tuple[str, str]]()

    def send(channel: NoticeConfig, notices: Sequence[Notice], _dropped: int) -> None:
        if channel.name == "chat":
            assert answers.wait(30)
        sent.extend((channel.name, notice.database) for notice in notices)

    notifier = Notifier(ledger, clock, [CHAT, PAGER], send)
    for name in ("shop", "bank", "farm"):
        began, threads = time.monotonic(), threading.active_count()
        notifier.take_turn([NoticeFacts(database=name, now=clock.now(), stalled="not sampled")])
        assert time.monotonic() - began < 2.0
        assert threading.active_count() <= threads + 1, "one thread a channel"
        clock.sleep(60)
    assert sent == [("pager", "shop"), ("pager", "bank"), ("pager", "farm")]
    answers.set()
    notifier.finish(10)
    notifier.take_turn([])
    notifier.finish(10)
    assert [name for channel, name in sent if channel == "chat"] == ["shop", "bank", "farm"]
    again = Notifier(ledger, clock, [CHAT, PAGER], send)
    again.take_turn([])
    assert len(sent) == 6


def test_a_channel_that_fails_late_is_tried_again(
    ledger: Ledger, clock: StillClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It failed between two turns: the next one notes it, and the one after its pause sends again."""
    monkeypatch.setattr("agent.service.notifier.PATIENCE_SECONDS", 0.0)
    ends, sent = threading.Event(), list[str]()

    def send(_channel: NoticeConfig, notices: Sequence[Notice], _dropped: int) -> None:
        if not ends.is_set():
            assert ends.wait(30)
            raise NoticeFailed("it took too long")
        sent.extend(notice.database for notice in notices)

    notifier = Notifier(ledger, clock, [CHAT], send)
    notifier.take_turn([NoticeFacts(database="shop", now=clock.now(), stalled="not sampled")])
    ends.set()
    notifier.finish(10)
    notifier.take_turn([])
    notifier.finish(10)
    assert sent == [], "it pauses after a failure"
    clock.sleep(3600)
    notifier.take_turn([])
    notifier.finish(10)
    assert sent == ["shop"]


def test_a_fault_in_a_channel_is_raised_after_the_others(ledger: Ledger, clock: StillClock) -> None:
    """It is of ours and is not kept quiet; the other channel has its message, and it is noted."""
    sent: list[str] = []

    def send(channel: NoticeConfig, _notices: Sequence[Notice], _dropped: int) -> None:
        if channel.name == "chat":
            raise ZeroDivisionError
        sent.append(channel.name)

    notifier = Notifier(ledger, clock, [CHAT, PAGER], send)
    with pytest.raises(ZeroDivisionError):
        notifier.take_turn([NoticeFacts(database="shop", now=clock.now(), stalled="not sampled")])
    notifier.take_turn([])
    assert sent == ["pager"]


class TestOnServer:
    """Over a real one."""

    pytestmark = ON_SERVER

    def test_agents_do_not_write_over_each_other(self, on_server: tuple[Ledger, Ledger], clock: StillClock) -> None:
        """After both have said something, each still finds what it has sent, over a restart."""
        agents = [Agent(ledger, clock, name) for ledger, name in zip(on_server, ("shop", "bank"), strict=True)]
        for agent in agents:
            agent.turn()
        for agent in agents:
            agent.restart()
            agent.turn()
        assert [agent.sent for agent in agents] == [["shop"], ["bank"]]
