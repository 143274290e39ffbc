"""Limits on what follows a database and on its log."""

from __future__ import annotations

from math import nan
from types import SimpleNamespace

import pytest

from connectors.kit.contract import Crowding
from connectors.kit.sessions import MIB, insist_on_order, of_followers, of_log, worst
from connectors.postgresql.settings import PostgresqlSettings


def test_each_limit_is_passed_above_itself() -> None:
    """At the limit nothing is said; above the second both are."""
    assert of_followers("a standby", 100 * MIB, 100, 200) == Crowding()
    held = of_followers("a standby", 101 * MIB, 100, 200)
    assert held == Crowding(hold="a standby is 101.0 MiB of log behind (replica_queue_mib: 100)")
    assert of_followers("a standby", 201 * MIB, 100, 200).abort.endswith("(replica_queue_abort_mib: 200)")


def test_a_log_is_judged_by_how_full_it_is() -> None:
    """What is not known is no reason to wait."""
    assert of_log("the log", 0.8, 80, 95) == Crowding()
    assert of_log("the log", nan, 80, 95) == Crowding()
    assert of_log("the log", 0.96, 80, 95) == Crowding(
        hold="the log is 96% full (log_used_percent: 80)", abort="the log is 96% full (log_used_abort_percent: 95)"
    )


def test_either_reason_counts() -> None:
    """The first of each kind is told."""
    assert worst(Crowding(hold="a"), Crowding(hold="b", abort="c")) == Crowding(hold="a", abort="c")
    assert worst() == Crowding()


@pytest.mark.parametrize(("hold", "abort"), [(None, None), (10, None), (10, 10), (10, 20)])
def test_limits_of_postgresqls_log_in_their_order_are_taken(hold: int | None, abort: int | None) -> None:
    """Both may be left out, or the second one."""
    settings = PostgresqlSettings(dbname="app", user="app", wal_mib=hold, wal_abort_mib=abort)
    assert (settings.wal_mib, settings.wal_abort_mib) == (hold, abort)


@pytest.mark.parametrize("hold", [None, 20])
def test_postgresqls_second_limit_needs_a_first_one_below_it(hold: int | None) -> None:
    """What is given up must not begin again at once."""
    with pytest.raises(ValueError, match=r"wal_abort_mib \(10\) needs a wal_mib that is no larger"):
        PostgresqlSettings(dbname="app", user="app", wal_mib=hold, wal_abort_mib=10)


def test_a_second_limit_below_the_first_is_refused() -> None:
    """For both pairs, with the values."""
    good = {"replica_queue_mib": 1, "replica_queue_abort_mib": 1, "log_used_percent": 80, "log_used_abort_percent": 80}
    insist_on_order(SimpleNamespace(**good))
    with pytest.raises(ValueError, match=r"log_used_abort_percent \(79\) is below log_used_percent \(80\)"):
        insist_on_order(SimpleNamespace(**{**good, "log_used_abort_percent": 79}))
