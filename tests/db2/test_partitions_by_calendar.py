"""Data partitions that come by the calendar on the emulated server: made, or refused, under a signed rule."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from agent.model.states import MoveState
from connectors.kit.contract import LockNotObtained
from connectors.kit.templates import TemplateKind
from connectors.model.moves import NoRoute
from connectors.model.observation import Home
from tests.contract.asking import run
from tests.db2.conftest import Connect
from tests.labs.calendar_site import DAY, Site, a_template, act, day
from tests.labs.db2.client import Db2, running_db2
from tests.labs.db2.server import ADMIN, FAST, TS_FAST, TS_SLOW
from tests.labs.db2.text import DATABASE

pytestmark = [pytest.mark.db2, pytest.mark.xdist_group("db2")]
NAME, KEY = "odd Log", 'APP."odd Log"'
NEXT = TemplateKind.NEXT_PARTITION
Parts = list[tuple[str, str, str, str]]


@pytest.fixture(scope="module")
def db2() -> Iterator[Db2]:
    """An emulated 11.5."""
    with running_db2() as running:
        yield running


def parts(*days: int, form: str = "'%Y-%m-%d'") -> Parts:
    """A data partition for each of these days, slow."""
    return [(f"P{day(each, '%Y%m%d')}", TS_SLOW, day(each, form), day(each + 1, form)) for each in days]


@pytest.fixture
def table(db2: Db2) -> Iterator[str]:
    """A data partition a day, from the day before yesterday to today."""
    db2.lab.create_ranges("APP", NAME, parts(-2, -1, 0))
    yield KEY
    db2.lab.drop_table("APP", NAME)


@pytest.fixture
def connector(connect: Connect, table: str) -> Any:
    """Tables move between table spaces."""
    assert table
    return connect(lock_timeout=1.0)


def homes(db2: Db2) -> dict[str, str]:
    """The table space of each data partition."""
    return {name: data for name, data, _, _ in db2.lab.parts("APP", NAME)}


def why(connector: Any, table: str = KEY, space: str = TS_FAST) -> str:
    """Why there is no template; "" where there is one."""
    found = connector.template(NEXT, table, space, DAY)
    return found.sentence if isinstance(found, NoRoute) else ""


def test_next_partitions_are_born_in_their_table_space(db2: Db2, connector: Any) -> None:
    """With their partitioned indexes, without a gap; then nothing is due."""
    template = a_template(connector, NEXT, KEY, TS_FAST, 2)
    now = datetime.now(UTC)
    routes = connector.routes_due(template, now)
    assert [route.bundle.key for route in routes] == [f"{KEY} partition P{day(days, '%Y%m%d')}" for days in (1, 2)]
    assert [template.find_refusal(route, now) for route in routes] == ["", ""]
    assert routes[0].steps[0].sql.partition(" /*")[0] == (
        f'ALTER TABLE "APP"."odd Log" ADD PARTITION "P{day(1, "%Y%m%d")}" STARTING (\'{day(1)}\') INCLUSIVE '
        f"ENDING ('{day(2)}') EXCLUSIVE IN \"TS_FAST\""
    )
    for route in routes:
        assert connector.inspect(route).home is Home.SOURCE
        run(connector, route)
        assert connector.inspect(route).home is Home.TARGET
    made = {f"P{day(days, '%Y%m%d')}": TS_FAST if days > 0 else TS_SLOW for days in range(-2, 3)}
    assert homes(db2) == made
    assert db2.lab.parts("APP", NAME)[-1][2] == TS_FAST
    assert connector.routes_due(template, datetime.now(UTC)) == ()


def test_storage_groups_and_timestamps(db2: Db2, connect: Connect, connector: Any) -> None:
    """The target is a storage group: the partition goes to the table space that the group has for tables."""
    db2.lab.drop_table("APP", NAME)
    db2.lab.create_ranges("APP", NAME, parts(-1, 0, form="'%Y-%m-%d-00.00.00.000000'"))
    by_group = connect(move_by="both", landing={FAST: TS_FAST})
    (route,) = by_group.routes_due(a_template(by_group, NEXT, KEY, FAST, 1), datetime.now(UTC))
    assert f"STARTING ('{day(1)} 00:00:00') INCLUSIVE" in route.steps[0].sql
    assert 'IN "TS_FAST"' in route.steps[0].sql
    assert route.to_space == FAST
    assert "no table space" in why(by_group, space="NOWHERE")


def test_days_that_include_their_ends(connector: Any) -> None:
    """Without EXCLUSIVE a range of dates ends with the day before the next one begins."""
    from connectors.db2.names import Key, Part
    from connectors.db2.partitions import range_of

    row = ("P1", None, "", 0, "N", "'2026-01-01'", "Y", "'2026-01-31'")
    found = range_of(Key(Part.TABLE, "A", "B"), row, connector._storage())
    assert found is not None
    assert (found.low, found.high) == (datetime(2026, 1, 2, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC))
    stamps = ("P1", None, "", 0, "Y", "'2026-01-01-00.00.00'", "Y", "'2026-01-31-23.59.59'")
    assert range_of(Key(Part.TABLE, "A", "B"), stamps, connector._storage()) is None


def test_a_partition_of_that_name_that_is_another(connector: Any) -> None:
    """In another table space: it is not what was to be made."""
    (route,) = connector.routes_due(a_template(connector, NEXT, KEY, TS_FAST, 1), datetime.now(UTC))
    (other,) = connector.routes_due(a_template(connector, NEXT, KEY, TS_SLOW, 1), datetime.now(UTC))
    run(connector, other)
    assert connector.inspect(route).home is Home.ELSEWHERE


def test_it_gives_up_where_others_hold_the_table(db2: Db2, connector: Any) -> None:
    """Nothing has changed then."""
    (route,) = connector.routes_due(a_template(connector, NEXT, KEY, TS_FAST, 1), datetime.now(UTC))
    db2.lab.lock("APP", NAME, True)
    with pytest.raises(LockNotObtained):
        run(connector, route)
    db2.lab.lock("APP", NAME, False)
    assert connector.inspect(route).home is Home.SOURCE


def test_what_cannot_be_served(db2: Db2, connector: Any) -> None:
    """No such table or table space, another kind of it, no times, no end, names that say nothing."""
    assert why(connector) == ""
    assert "no partitioned table" in why(connector, "APP.NOTHING_HERE")
    assert "no partitioned table" in why(connector, f"{KEY} partition P1")
    assert "no partitioned table" in why(connector, "no key at all")
    assert "no table space NOWHERE" in why(connector, space="NOWHERE")
    assert "takes no tables" in why(connector, space="TEMPSPACE1")
    db2.lab.alter_space(TS_FAST, partition_group="OTHERS")
    assert "SQL1860N" in why(connector)
    db2.lab.alter_space(TS_FAST, partition_group="IBMDEFAULTGROUP")
    for made, said in (
        ([("P1", TS_SLOW, "1", "10"), ("P2", TS_SLOW, "10", "20")], "range of one column of dates"),
        ([*parts(-1, 0), ("REST", TS_SLOW, day(1, "'%Y-%m-%d'"), "MAXVALUE")], "has no end"),
        ([*parts(-1), ("REST", TS_SLOW, day(0, "'%Y-%m-%d'"), day(1, "'%Y-%m-%d'"))], "does not say that its rows"),
        ([*parts(-1), (f"P{day(0, '%Y%m%d')}", TS_SLOW, day(0, "'%Y-%m-%d'"), day(3, "'%Y-%m-%d'"))], "lengths"),
    ):
        db2.lab.drop_table("APP", NAME)
        db2.lab.create_ranges("APP", NAME, made)
        assert said in why(connector)


def test_by_a_signed_rule(db2: Db2, table: str, tmp_path: Path) -> None:
    """By commands; made without a further question, and no more than is due."""
    secret = tmp_path / "password"
    secret.write_text(ADMIN.password)
    connection = {
        "host": "127.0.0.1", "port": db2.port, "dbname": DATABASE, "user": ADMIN.name, "authentication": "SERVER",
        "password": {"file": str(secret)}, "move_by": "table",
    }  # fmt: skip
    tiers = [{"name": "ssd", "spaces": [TS_FAST]}, {"name": "hdd", "spaces": [TS_SLOW]}]
    site = Site(tmp_path, {"engine": "db2", "connection": connection, "tiers": tiers})
    printed = site.open_by_commands(tmp_path, table, "--ahead", "2d", "--to", TS_FAST)
    assert "ADD PARTITION \"P{partition}\" STARTING ('{low}') INCLUSIVE ENDING ('{high}') EXCLUSIVE" in printed
    with site.agent() as (watch, ledger, jobs):
        done = act(watch, jobs)
        assert [row.state for row in done] == [MoveState.PLACED] * 2, [row.reason for row in done]
        assert list(homes(db2).values()) == [TS_SLOW] * 3 + [TS_FAST] * 2
        assert act(watch, jobs) == []
        assert ledger.audit.verify().ok
