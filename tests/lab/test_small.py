"""hotplace itself on a slow disk: it finds the hot table, it is kind, and nothing is lost when things break midway."""

from __future__ import annotations

import pytest

from agent.demo.slow_disk import available
from tests.bench.lab import faults, groups, headline, kindness
from tests.bench.lab.pace import SMALL
from tests.bench.lab.rig import MAJOR
from tests.bench.lab.rules_of_thumb import RULES, Candidate, fewest_misses
from tests.bench.lab.shifting import PHASE_SECONDS, stretches
from tests.labs.postgresql import installations

needs_lab = [
    pytest.mark.postgresql,
    pytest.mark.slow,
    pytest.mark.skipif(MAJOR not in installations(), reason=f"no PostgreSQL {MAJOR} here: make setup"),
    pytest.mark.skipif(not available()[0], reason=available()[1]),
]


class TestOnTheSlowDisk:
    """One small rig after the other."""

    pytestmark = needs_lab

    @pytest.mark.soak  # in `make test`: the demo, tests/e2e/test_demo.py
    def test_an_eighth_of_the_bytes_makes_it_several_times_faster(self) -> None:
        """Hotplace chooses the hot table and its key, within the room there is, and throughput multiplies."""
        found = headline.run(SMALL, reference=False)
        assert found.moved == {"public.t0", "public.t0_pkey"}
        assert found.moved_bytes <= found.total_bytes * headline.SSD_SHARE
        assert found.gain > 2.0

    def test_nobody_waits_much_longer_than_the_copy_or_the_lock_timeout(self) -> None:
        """While tables move the longest stall is their copy; while a session holds one, nobody queues for long."""
        online, held = kindness.run(SMALL, ("online", "held"))
        assert online.placed
        assert online.over_copy < 2 * kindness.GOAL_OVER_COPY
        assert held.placed
        # The move waits for its lock (tests/contract/test_moving.py), or the session is seen first and nothing is sent
        # (tests/labs/test_blockers.py): here a matter of half a second. Who queued may end after the session, so until
        # the move is through.
        longest = 2 * (kindness.LOCK_TIMEOUT_SECONDS + online.copy_seconds) + held.before.longest
        assert held.during.longest < longest

    @pytest.mark.soak  # tests/labs/test_crash_points.py, tests/e2e/test_daemon.py, the contract's full disk
    def test_nothing_is_lost_when_the_ssd_fills_up_or_the_agent_is_killed_midway(self) -> None:
        """Every table holds what it held, the ledger agrees with the catalog, no file is left behind."""
        for finding in faults.run(SMALL, (faults.full, faults.agent_killed)):
            assert finding.good, finding

    @pytest.mark.soak  # tests/simulation/test_groups.py
    def test_nothing_gives_way_for_what_has_grown_too_large(self) -> None:
        """After the approval the hot table grows: of its group nothing is sent and nothing moves."""
        found = groups.run(SMALL)
        assert found.skipped >= 1, found
        assert (found.begun, found.moved) == (0, frozenset())
        assert "are one group, and none of them was moved: public.hot needs" in found.says
        assert "made room" in found.says


ROWS = (
    Candidate(key="big", index=False, size_bytes=70, misses=9),
    Candidate(key="hot", index=False, size_bytes=40, misses=8),
    Candidate(key="hot_key", index=True, size_bytes=10, misses=2),
    Candidate(key="cold_key", index=True, size_bytes=20, misses=0),
)


@pytest.mark.parametrize(
    ("rule", "chosen"),
    [
        ("nothing", set()),
        ("all indexes", {"hot_key", "cold_key"}),
        ("largest first", {"big", "cold_key", "hot_key"}),
        ("hottest first", {"big", "hot_key"}),
    ],
)
def test_rules_of_thumb_rank_as_they_say(rule: str, chosen: set[str]) -> None:
    """Each fills the room from the top of its own ranking and skips what does not fit."""
    assert RULES[rule](ROWS, 100) == chosen


@pytest.mark.parametrize(("room", "chosen"), [(100, {"big", "hot_key"}), (60, {"hot", "hot_key"}), (5, set())])
def test_the_best_placement_has_most_misses_among_all_that_fit(room: int, chosen: set[str]) -> None:
    """With room for it the big one and the key; with less the two smaller ones have more misses together."""
    assert fewest_misses(ROWS, room) == chosen


def test_each_phase_lasts_as_long_as_it_says_and_begins_once() -> None:
    """A flash in the middle takes its time from the phase."""
    found = stretches((0, 1))
    assert sum(stretch.seconds for stretch in found) == pytest.approx(2 * PHASE_SECONDS)
    assert [stretch.begins for stretch in found if stretch.begins is not None] == [0, 1]
