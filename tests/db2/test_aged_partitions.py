"""Data partitions that go down once they have aged, with their table spaces, on the emulated server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agent.model.outcomes import OutcomeVerdict
from agent.model.states import MoveState
from agent.terminal.errors import ExitCode
from connectors.kit.contract import ConnectorError
from connectors.kit.templates import TemplateKind
from connectors.model.moves import ByHand, NoRoute
from connectors.model.observation import NO_PARENT, Home, UnitTable
from tests.contract.asking import run
from tests.db2.conftest import Connect
from tests.db2.life import Life
from tests.labs.calendar_site import DAY, LIMITS, Site, a_template, act, day
from tests.labs.db2.client import Db2, running_db2, wait_until
from tests.labs.db2.server import ADMIN, FAST, SLOW, TS_FAST
from tests.labs.db2.text import DATABASE
from tests.unit.samples import an_outcome

pytestmark = [pytest.mark.db2, pytest.mark.xdist_group("db2")]
NAME, KEY = "odd Log", 'APP."odd Log"'
AGED = TemplateKind.AGED_PARTITION
DAYS = (-3, -2, -1, 0)


@pytest.fixture(scope="module")
def db2() -> Iterator[Db2]:
    """An emulated 11.5."""
    with running_db2() as running:
        yield running


def space_of(days: int) -> str:
    """The table space of the partition of that day from today on."""
    return f"TS_{day(days, '%Y%m%d')}"


def a_part(days: int, space: str) -> tuple[str, str, str, str]:
    """The partition of that day."""
    return f"P{days + 4}", space, day(days, "'%Y-%m-%d'"), day(days + 1, "'%Y-%m-%d'")


@pytest.fixture
def table(db2: Db2) -> Iterator[str]:
    """A data partition a day in the fast storage group, each but the first in a table space of its own.

    The index, which is not partitioned, is where the first one is.
    """
    for days in DAYS:
        db2.lab.create_space(space_of(days), FAST)
    parts = [a_part(-4, TS_FAST), *(a_part(days, space_of(days)) for days in DAYS)]
    db2.lab.create_ranges("APP", NAME, parts)
    yield KEY
    db2.lab.drop_table("APP", NAME)
    for days in DAYS:
        db2.lab.drop_space(space_of(days))


@pytest.fixture
def connector(connect: Connect, table: str) -> Any:
    """Whole table spaces move between storage groups."""
    assert table
    return connect(move_by="table_space")


def groups(connector: Any) -> list[str]:
    """The storage group of each partition's table space."""
    storage = connector._storage()
    return [storage.home_named(space_of(days)) for days in DAYS]


def why(connector: Any, table: str = KEY, space: str = SLOW) -> str:
    """Why there is no template; "" where there is one."""
    found = connector.template(AGED, table, space, DAY)
    if isinstance(found, ByHand):
        return found.because
    return found.sentence if isinstance(found, NoRoute) else ""


def test_aged_partitions_go_down_with_their_table_spaces(connector: Any) -> None:
    """The oldest first, not the one that shares its table space with an index; then nothing is due; and back."""
    template = a_template(connector, AGED, KEY, SLOW, 1)
    now = datetime.now(UTC)
    routes = connector.routes_due(template, now)
    assert [route.bundle.key for route in routes] == [f"{KEY} partition P{number}" for number in (1, 2)]
    assert [template.find_refusal(route, now) for route in routes] == ["", ""]
    texts = [text.sql for text in template.texts]
    assert f'ALTER TABLESPACE "{{table_space}}" USING STOGROUP "{SLOW}" /* hotplace move {{tag}} step 1 */' in texts
    assert not any(space_of(days) in text for text in texts for days in DAYS), "nothing of the example is signed"
    for route in routes:
        assert connector.inspect(route).home is Home.SOURCE
        run(connector, route)
        assert connector.inspect(route).home is Home.TARGET
    assert groups(connector) == [SLOW, SLOW, FAST, FAST]
    assert connector.routes_due(template, now) == ()
    run(connector, routes[0], undo=True)
    assert groups(connector) == [FAST, SLOW, FAST, FAST]


def test_what_cannot_be_served(db2: Db2, connect: Connect, connector: Any) -> None:
    """No such table or group, all there, other settings, ranges of numbers, table spaces with others in them."""
    assert why(connector) == ""
    assert "no data partition" in why(connector, "APP.NOTHING_HERE")
    assert "no data partition" in why(connector, "no key at all")
    assert "there is no storage group NOWHERE" in why(connector, space="NOWHERE")
    assert f"are in {FAST}" in why(connector, space=FAST)
    template = a_template(connector, AGED, KEY, SLOW, 1)
    by_table = connect(move_by="table")
    assert "set move_by: table_space" in why(by_table)
    assert by_table.routes_due(template, datetime.now(UTC)) == ()
    db2.lab.create_table("APP", "OTHER", "OTHER_PK", space_of(0), 10)
    assert "P0 shares table space TS_FAST, all of which would move" in why(connector), "the oldest that does"
    db2.lab.drop_table("APP", "OTHER")
    db2.lab.create_table("APP", "OTHER", "OTHER_PK", space_of(-3), 10)
    (left,) = connector.routes_due(template, datetime.now(UTC))
    assert left.bundle.key == f"{KEY} partition P2", "what shares its table space stays"
    db2.lab.drop_table("APP", "OTHER")


@pytest.mark.parametrize(("home_of_other", "parent_of_other", "whole"), [(5, 10, True), (5, 77, False), (6, 77, True)])
def test_what_goes_along(home_of_other: int, parent_of_other: int, whole: bool, connector: Any) -> None:
    """Pieces of indexes and large objects of the partition; nothing goes where something else is there."""
    from connectors.db2.catalog import Homes
    from connectors.db2.partitions import bundle_alone

    ids = np.array([10, 20, 30])
    units = UnitTable(
        physical_id=ids, key=("A.B partition P1", "index A.I partition P1", "other"), kind=np.zeros(3, dtype=np.int8),
        size_bytes=np.array([100, 10, 1]), space=np.zeros(3, dtype=np.int32), bundle=ids,
        parent=np.array([NO_PARENT, 10, parent_of_other]),
    )  # fmt: skip
    home = replace(connector._storage().space_named(TS_FAST), number=5)
    homes = Homes(ids, np.array([5, 5, home_of_other]))
    found = bundle_alone(units.key[0], FAST, home, units, {key: row for row, key in enumerate(units.key)}, homes)
    assert (found is not None) is whole
    if found is not None:
        along = 3 if home_of_other == home.number else 2
        assert (found.unit_keys, found.size_bytes) == (units.key[:along], sum((100, 10, 1)[:along]))


def test_containers_of_its_own(db2: Db2, connector: Any) -> None:
    """Without automatic storage there is no storage group to go to."""
    db2.lab.create_dms("TS_FILES", {"/db2/fast/files/a": 400})
    for spaces in ((TS_FAST, "TS_FILES"), (TS_FAST, TS_FAST)):
        db2.lab.drop_table("APP", NAME)
        db2.lab.create_ranges("APP", NAME, [a_part(-2 + number, space) for number, space in enumerate(spaces)])
        expected = "only automatic storage" if "TS_FILES" in spaces else f"shares table space {TS_FAST}"
        assert expected in why(connector)
    db2.lab.drop_space("TS_FILES")


def test_what_shares_its_table_space_is_written_out_for_a_person(db2: Db2, tmp_path: Path, connector: Any) -> None:
    """DETACH, move, ATTACH, with the bounds of the catalog; printed instead of a rule; an open one says it, too."""
    site = a_site(db2, tmp_path)
    with site.agent() as (watch, ledger, jobs):
        site.sign(watch, ledger, a_template(connector, AGED, KEY, SLOW, 30), 1)
        db2.lab.create_table("APP", "OTHER", "OTHER_PK", space_of(0), 10)
        assert act(watch, jobs) == []
    assert "shares table space TS_FAST" in site.hotplace("rules", "show", "1", "--json").document["unserved"]
    printed = site.hotplace("rules", "propose", "--table", KEY, "--aged", "1d", "--to", SLOW, *LIMITS)
    db2.lab.drop_table("APP", "OTHER")
    assert printed.code == ExitCode.REFUSED
    assert "shares table space TS_FAST, all of which would move" in printed.err
    wanted = (
        'ALTER TABLE "APP"."odd Log" DETACH PARTITION "P0" INTO "APP"."odd Log_P0"',
        "WHERE STATUS <> '' AND TABSCHEMA = 'APP' AND TABNAME = 'odd Log'",
        "CALL SYSPROC.ADMIN_MOVE_TABLE('APP','odd Log_P0','TS_SLOW','TS_SLOW','TS_SLOW','','','','','','MOVE')",
        f"ATTACH PARTITION \"P0\" STARTING ('{day(-4)}') INCLUSIVE ENDING ('{day(-3)}') EXCLUSIVE FROM \"APP\".",
        'SET INTEGRITY FOR "APP"."odd Log" ALLOW WRITE ACCESS IMMEDIATE CHECKED',
    )
    places = [printed.out.replace("\n", " ").find(each) for each in wanted]
    assert -1 not in places, printed.out
    assert places == sorted(places)
    assert len(site.hotplace("rules", "list", "--json").document["rules"]) == 1


def a_site(db2: Db2, folder: Path) -> Site:
    """An agent over this server."""
    secret = folder / "password"
    secret.write_text(ADMIN.password)
    connection = {
        "host": "127.0.0.1", "port": db2.port, "dbname": DATABASE, "user": ADMIN.name, "authentication": "SERVER",
        "password": {"file": str(secret)}, "move_by": "table_space", "poll_every": "0.05s",
        "rebalance_begins_within": "0.5s",
    }  # fmt: skip
    tiers = [{"name": "ssd", "spaces": [FAST]}, {"name": "hdd", "spaces": [SLOW]}]
    return Site(folder, {"engine": "db2", "connection": connection, "tiers": tiers})


def test_by_a_signed_rule(db2: Db2, connector: Any, tmp_path: Path) -> None:
    """By commands; as many a day as were signed; one that hurt closes the rule, and nothing more comes under it."""
    site = a_site(db2, tmp_path)
    printed = site.open_by_commands(tmp_path, KEY, "--aged", "1d", "--to", SLOW, "--a-day", "1")
    assert f'ALTER TABLESPACE "{{table_space}}" USING STOGROUP "{SLOW}"' in printed
    with site.agent() as (watch, ledger, jobs):
        (moved,) = act(watch, jobs)
        assert moved.state is MoveState.PLACED, moved.reason
        assert groups(connector) == [SLOW, FAST, FAST, FAST]
        ledger.moves.record_outcome(moved.id, an_outcome(OutcomeVerdict.HURT))
        assert act(watch, jobs) == []
        assert ledger.rules.row(1).reason == "proposal 1 hurt"
        assert ledger.audit.verify().ok
    assert groups(connector) == [SLOW, FAST, FAST, FAST]


def test_an_agent_that_ends_in_the_middle(db2: Db2, connect: Connect, connector: Any) -> None:
    """The rebalance goes on in the server; where it is in between, it is not proposed again."""
    template = a_template(connector, AGED, KEY, SLOW, 2)
    hasty = connect(move_by="table_space", move_timeout=0.3)
    (route,) = hasty.routes_due(template, datetime.now(UTC))
    before = db2.lab.behave(extents_per_second=0.5)
    try:
        with pytest.raises(ConnectorError) as caught:
            run(hasty, route)
        assert caught.value.retry == "reconcile"
        assert hasty.inspect(route).running
        assert connector.routes_due(template, datetime.now(UTC)) == ()
        db2.lab.behave(extents_per_second=1e9)
        wait_until(lambda: connector.inspect(route).home is Home.TARGET, "it is there")
    finally:
        db2.lab.behave(**before)


def test_a_partition_from_plan_to_undo(db2: Db2, connector: Any, tmp_path: Path) -> None:
    """The partition of one day is planned with its table space, approved by commands, moved and taken back."""
    life = Life(db2, tmp_path, {"ssd": [FAST], "hdd": [SLOW]}, move_by="table_space")
    life.database["pins"] = [{"unit": f"{KEY} partition {a_part(DAYS[0], '')[0]}", "pin": "never"}]
    life.site.write()
    move = life.approved()
    assert move["statements"][0]["sql"].startswith(f'ALTER TABLESPACE "{space_of(DAYS[0])}" USING STOGROUP "{SLOW}"')
    life.good("run", "--once")
    assert groups(connector) == [SLOW, FAST, FAST, FAST]
    life.database["pins"] = []
    life.site.write()
    life.undo()
    assert groups(connector) == [FAST, FAST, FAST, FAST]
    life.good("audit", "verify")
