"""Direct reads of tables under a backup count as they usually take."""

from __future__ import annotations

from connectors.db2.sampler import USUAL, UsualDirectReads, space_key


def sample(requests: float, seconds: float) -> dict[str, float]:
    """Cumulative counters of table space 3."""
    return {space_key("direct_requests", 3): requests, space_key("direct_seconds", 3): seconds, "reads": 1.0}


def totals(*samples: tuple[float, float, bool]) -> list[float]:
    """The total after each sample: requests, seconds, whether a backup ran since the one before."""
    usual = UsualDirectReads()
    return [
        usual.totals(sample(requests, seconds), backup=backup)[space_key(USUAL, 3)]
        for requests, seconds, backup in samples
    ]


def test_without_a_backup_the_total_is_what_the_engine_counts() -> None:
    """From the first sample on."""
    assert totals((100, 1.0, False), (300, 3.0, False), (300, 3.0, False), (400, 9.0, False)) == [0.0, 2.0, 2.0, 8.0]


def test_under_a_backup_requests_take_what_they_took_before_it() -> None:
    """A hundred of its requests at half a second each count as ten milliseconds each; afterwards all is as before."""
    assert totals((0, 0.0, False), (100, 1.0, False), (200, 51.0, True), (300, 52.0, False)) == [0.0, 1.0, 2.0, 3.0]


def test_where_nothing_was_read_before_the_backup_its_time_counts() -> None:
    """There is nothing to go by."""
    assert totals((0, 0.0, False), (100, 50.0, True)) == [0.0, 50.0]


def test_counters_that_restart_take_nothing_away() -> None:
    """After an activation the total goes on from where it was."""
    assert totals((0, 0.0, False), (100, 1.0, False), (10, 0.1, False), (110, 1.1, False)) == [0.0, 1.0, 1.0, 2.0]
