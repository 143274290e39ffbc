"""Recordings that were made earlier, of real and emulated servers, are replayed by the connectors of today."""

from __future__ import annotations

import json

import pytest

from agent.studies.simulation import play_recording
from tests.recordings.make import HARNESSES, MADE, figures_of

MOST_BYTES = 200_000
AGAIN = "python -m tests.recordings.make --expected writes what comes of it now"


@pytest.mark.parametrize("engine", HARNESSES)
def test_a_recording_comes_to_what_it_came_to(engine: str) -> None:
    """The same samples, reads of each unit and their ranking, wait (within a tenth), moves and statements.

    Moves are compared as far as the recording has the answers: where a connector has come to ask more before a move,
    its routes are refused by name.
    """
    path = MADE / f"{engine}.recording"
    assert path.stat().st_size < MOST_BYTES
    expected = json.loads((MADE / f"{engine}.json").read_text(encoding="utf-8"))
    with play_recording(path) as again:
        found = figures_of(again)
    assert found["samples"] == expected["samples"], AGAIN
    reads = expected["reads_per_second"]
    assert list(found["reads_per_second"]) == list(reads), AGAIN  # the busiest first
    assert found["reads_per_second"] == pytest.approx(reads, rel=0.02), AGAIN
    assert found["wait_per_hour_seconds"] == pytest.approx(expected["wait_per_hour_seconds"], rel=0.1), AGAIN
    assert expected["moves"]
    if not any("the recording has no answer" in sentence for sentence in found["refused"]):
        assert found["moves"] == expected["moves"], AGAIN
