"""What is found to have changed about a server between two readings."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent.service.server_facts import ServerFacts, find_changes
from connectors.model.observation import Identity

IDENTITY = Identity(
    engine="postgresql", version="16.4", version_number=(16, 4), edition="", database="shop", fingerprint="7-1",
    topology="single", writable=True,
)  # fmt: skip
FACTS = ServerFacts(identity=IDENTITY, capabilities={"moves": True, "read_times": True})
STANDBY = replace(IDENTITY, topology="replica", writable=False)


@pytest.mark.parametrize(
    ("now", "words"),
    [
        (FACTS, ()),
        (replace(FACTS, identity=replace(IDENTITY, fingerprint="8-2")), ("8-2", "7-1")),
        (replace(FACTS, identity=replace(IDENTITY, version="17.1", version_number=(17, 1))), ("17.1", "16.4")),
        (replace(FACTS, identity=STANDBY), ("replica", "cannot be written")),
        (replace(FACTS, capabilities={"moves": True, "read_times": False}), ("read_times is not available",)),
        (replace(FACTS, capabilities={"moves": True, "read_times": True, "new": False}), ()),
        (replace(FACTS, capabilities=None), ()),
    ],
)
def test_what_has_changed(now: ServerFacts, words: tuple[str, ...]) -> None:
    """Each fact that differs is said; what was not read, or is new to this version of hotplace, has not changed."""
    found = "; ".join(find_changes(FACTS, now))
    assert all(word in found for word in words)
    assert bool(found) == bool(words)
    assert tuple(find_changes(now, now)) == ()


def test_what_is_stored_is_read_again() -> None:
    """With and without capabilities."""
    for facts in (FACTS, replace(FACTS, capabilities=None)):
        assert ServerFacts.of(facts.document()) == facts
