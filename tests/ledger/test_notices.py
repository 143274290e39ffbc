"""What people were told by each agent of a ledger, over a restart of one and next to the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from agent.config.notices import NoticeConfig
from agent.ledger import Ledger
from agent.ledger.state_names import ALL_DATABASES, NOTICES
from agent.notices.channels import NoticeFailed
from agent.notices.notice import Notice
from agent.notices.notifier import Notifier
from agent.notices.outbox import Outbox, outbox_document, take_in
from agent.notices.reasons import Facts, find_notices
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
        self.notifier.take_turn([Facts(database=self.database, now=self.clock.now(), stalled="not sampled")])


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


def test_what_was_sent_under_no_name_is_known(ledger: Ledger, clock: StillClock) -> None:
    """As by an agent on a file, before its ledger moved to a server."""
    stalled = find_notices(Facts(database="shop", now=clock.now(), stalled="not sampled"))
    sent = replace(take_in(Outbox(), stalled, [CHAT], {"shop"}, clock.now()), lanes={})  # nothing waits
    ledger.state.save_document(ALL_DATABASES, NOTICES, outbox_document(sent))
    agent = Agent(ledger, clock, "shop")
    agent.turn()
    assert agent.sent == []


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
