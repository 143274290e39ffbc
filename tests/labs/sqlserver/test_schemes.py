"""Rule 1: what CREATE PARTITION SCHEME leaves NEXT USED, and what that does to every table on the function."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.labs.sqlserver.conftest import Ask
from tests.labs.sqlserver.lab import Lab
from tests.labs.sqlserver.objects import PartitionScheme
from tests.labs.sqlserver.world import FAST, SLOW, add_scheme, add_table

NumberOf = Callable[..., int]
SPLIT = "ALTER PARTITION FUNCTION f_ps() SPLIT RANGE (30)"
SPARE = """SELECT f.name
  FROM sys.partition_schemes AS s
  JOIN sys.destination_data_spaces AS e ON e.partition_scheme_id = s.data_space_id
  JOIN sys.partition_functions AS n ON n.function_id = s.function_id AND e.destination_id > n.fanout
  JOIN sys.filegroups AS f ON f.data_space_id = e.data_space_id
 WHERE s.name = '{}'"""


@pytest.fixture
def window(lab: Lab) -> PartitionScheme:
    """A table whose next range has its filegroup: SPLIT RANGE (30) works, which is RANGE RIGHT FOR VALUES (10, 20)."""
    scheme = add_scheme(lab.shop, "ps", [10, 20], [SLOW, SLOW, SLOW])
    scheme.next_used = scheme.filegroups[0]
    add_table(lab.shop, "days", space="ps", pages=10, column="id")
    return scheme


def test_as_many_filegroups_as_partitions_leave_no_next_used(window: PartitionScheme, ask: Ask) -> None:
    """A fourth filegroup is NEXT USED, a third is not."""
    ask(f"CREATE PARTITION SCHEME three AS PARTITION f_ps TO ({SLOW}, {SLOW}, {FAST})")
    ask(f"CREATE PARTITION SCHEME four AS PARTITION f_ps TO ({SLOW}, {SLOW}, {FAST}, {SLOW})")
    assert (ask(SPARE.format("three")), ask(SPARE.format("four"))) == ([], [(SLOW,)])


def test_all_keeps_its_filegroup_next_used(window: PartitionScheme, ask: Ask) -> None:
    """ALL TO names one filegroup, for the next partition as well."""
    ask(f"CREATE PARTITION SCHEME everything AS PARTITION f_ps ALL TO ({FAST})")
    assert ask(SPARE.format("everything")) == [(FAST,)]


def test_one_scheme_without_next_used_stops_every_table(window: PartitionScheme, ask: Ask, number_of: NumberOf) -> None:
    """7707 for the function, although the table's own scheme has NEXT USED; it works when the other scheme is gone."""
    ask(f"CREATE PARTITION SCHEME three AS PARTITION f_ps TO ({SLOW}, {SLOW}, {FAST})")
    assert number_of(SPLIT) == 7707
    ask("DROP PARTITION SCHEME three")
    assert number_of(SPLIT) == 0


def test_next_used_can_be_given_and_taken_away_later(window: PartitionScheme, ask: Ask, number_of: NumberOf) -> None:
    """ALTER PARTITION SCHEME ... NEXT USED with a filegroup sets it, without one clears it."""
    ask(f"CREATE PARTITION SCHEME three AS PARTITION f_ps TO ({SLOW}, {SLOW}, {FAST})")
    ask(f"ALTER PARTITION SCHEME three NEXT USED {SLOW}")
    assert number_of("ALTER PARTITION FUNCTION f_ps() SPLIT RANGE (40)") == 0
    ask(f"ALTER PARTITION SCHEME ps NEXT USED {SLOW}; ALTER PARTITION SCHEME three NEXT USED {SLOW}")
    ask("ALTER PARTITION SCHEME three NEXT USED")
    assert number_of(SPLIT) == 7707
