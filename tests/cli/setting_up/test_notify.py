"""People are told: a cycle sends what is new once, and `notify test` says whether anyone would hear of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.site import Site


@pytest.fixture(name="told")
def _told(site: Site, tmp_path: Path) -> Path:
    """A site with a channel, and the file to which it appends what it is told."""
    script, told = tmp_path / "tell", tmp_path / "told"
    script.write_text(f"#!/bin/sh\ncat >>'{told}'\necho >>'{told}'\n")
    script.chmod(0o700)
    site.values["notices"] = [{"name": "page", "command": [str(script)], "every": "0s"}]
    site.write()
    return told


def messages(told: Path) -> list[dict[str, Any]]:
    """The notices of every message so far."""
    return [notice for line in told.read_text().splitlines() for notice in json.loads(line)["notices"]]


def test_an_open_proposal_is_told_once(site: Site, told: Path) -> None:
    """The cycle that proposes tells of it, with the command that approves it; the next one is silent."""
    for _ in range(3):
        site.good("run", "--once")
    ((number, digest),) = [
        (each["id"], each["digest"]) for each in site.good("proposals", "--json").document["proposals"]
    ]
    (notice,) = messages(told)
    assert notice["event"] == "proposal"
    approve = notice["command"].split(" && ")[1].split()
    assert approve[:3] == ["hotplace", "approve", str(number)]
    assert digest.startswith(approve[approve.index("--digest") + 1])
    assert site.good(*approve[1:]).code == 0


def test_a_channel_that_fails_is_tried_again(site: Site, told: Path) -> None:
    """What could not be sent waits in the ledger and is sent later, by another process."""
    script = Path(site.values["notices"][0]["command"][0])
    works = script.read_text()
    script.write_text("#!/bin/sh\nexit 3\n")
    for _ in range(2):
        site.good("run", "--once")
    assert not told.exists()
    script.write_text(works)
    refused = site.run("notify", "test", "--channel", "pgae")
    assert (refused.code, "configured: page" in refused.err) == (3, True)
    assert site.good("notify", "test").out == "page: taken\n"
    assert messages(told)[0]["sentence"].startswith("this is a test")


def test_a_channel_that_does_not_take_it(site: Site, told: Path) -> None:
    """`notify test` says why and ends with its own code; without channels it says how to have one."""
    Path(site.values["notices"][0]["command"][0]).write_text("#!/bin/sh\nexit 3\n")
    done = site.run("notify", "test", "--json")
    assert done.code == 12
    (channel,) = done.document["channels"]
    assert "ended with 3" in channel["problem"]
    del site.values["notices"]
    site.write()
    assert site.run("notify", "test").code == 3
    assert not told.exists()


@pytest.mark.parametrize(
    ("channel", "message"),
    [
        ({"name": "a"}, "exactly one of webhook, mail, command"),
        ({"name": "a", "command": ["tell"]}, "absolute path"),
        ({"name": "a", "webhook": {"url": "https://example.com/T0K3N"}}, "notices[0].webhook.url"),
        ({"name": "a", "mail": {"host": "h", "from": "a@b", "to": ["c@d"], "user": "u"}}, "both user and password"),
        ({"name": "a", "events": ["hurts"], "command": ["/bin/true"]}, "hurts"),
    ],
)
def test_mistakes_in_channels(site: Site, channel: dict[str, Any], message: str) -> None:
    """Each is named with its place; an address that stands in the file is refused and not repeated."""
    site.values["notices"] = [channel]
    site.write()
    done = site.run("status")
    assert done.code == 3
    assert message in done.err
    assert "T0K3N" not in done.err
