"""A whole life through the command line over IBM's driver and the emulated server: plan, approve, run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from connectors.kit.registry import find_engine
from tests.cli.site import Site
from tests.labs.db2.client import Db2, running_db2
from tests.labs.db2.server import ADMIN, FAST, SLOW, TS_FAST, TS_SLOW
from tests.labs.db2.text import DATABASE

pytestmark = [pytest.mark.db2, pytest.mark.xdist_group("db2")]


@pytest.fixture(scope="module")
def db2() -> Iterator[Db2]:
    """One emulated server."""
    with running_db2("11.5") as running:
        yield running


@pytest.fixture(autouse=True)
def _table(db2: Db2) -> Iterator[None]:
    """A table on slow storage, in a table space of its own."""
    db2.lab.create_space("TS_OWN", SLOW)
    db2.lab.create_table("APP", "ORDERS", "ORDERS_PK", "TS_OWN", 2000)
    yield
    db2.lab.drop_table("APP", "ORDERS")
    db2.lab.drop_space("TS_OWN")


def site(db2: Db2, tmp_path: Path, move_by: str, fast: str, slow: list[str]) -> Site:
    """Configured for that server; the table must be on the fast tier."""
    password = tmp_path / "password"
    password.write_text(ADMIN.password)
    connection: dict[str, Any] = {
        "host": "127.0.0.1", "port": db2.port, "dbname": DATABASE, "user": ADMIN.name, "authentication": "SERVER",
        "password": {"file": str(password)}, "move_by": move_by, "poll_every": "50ms",
    }  # fmt: skip
    return Site(
        tmp_path,
        {
            "name": "real",
            "engine": "db2",
            "connection": connection,
            "tiers": [{"name": "ssd", "spaces": [fast]}, {"name": "hdd", "spaces": slow}],
            "sample_every": "0.2s",
            "pins": [{"unit": "APP.ORDERS", "pin": "must"}],
            "policy": {"minimum_history": "0s"},
        },
    )


@pytest.mark.parametrize(
    ("move_by", "fast", "slow", "route"),
    [
        ("table", TS_FAST, [TS_SLOW, "TS_OWN"], "CALL SYSPROC.ADMIN_MOVE_TABLE("),
        ("table_space", FAST, [SLOW], 'ALTER TABLESPACE "TS_OWN" USING STOGROUP "FAST"'),
    ],
)
def test_emulated_server_planned_approved_moved(
    db2: Db2, tmp_path: Path, move_by: str, fast: str, slow: list[str], route: str
) -> None:
    """What was approved is what the server was sent, and the move ends where the catalog says it is."""
    real = site(db2, tmp_path, move_by, fast, slow)
    proposal = real.good("plan", "--observe", "0.3", "--propose", "--json").document
    (move,) = proposal["moves"]
    assert move["statements"][0]["sql"].startswith(route)
    number, digest = proposal["proposal"]["id"], proposal["proposal"]["digest"]
    before = len(db2.lab.sent())
    real.good("approve", str(number), "--digest", digest)
    done = real.good("run", "--once", "--json").document
    assert [row["state"] for row in done["moves"]] == ["placed"]
    assert len(db2.lab.sent()) > before


def test_emulated_server_waits_are_said_to_be_estimates(db2: Db2, tmp_path: Path) -> None:
    """Prefetch waits of a table space are shared by pages (20 and 20 where one scanner waits 40): said where shown."""
    real = site(db2, tmp_path, "table", TS_FAST, [TS_SLOW, "TS_OWN"])
    real.good("plan", "--observe", "0.3")
    assert "(estimate: Db2 counts waits by table space" in " ".join(real.good("explain", "APP.ORDERS").out.split())
    assert "estimates: Db2 counts waits by table space; prefetch waits are shared by pages" in real.good("units").out
    assert find_engine("sqlserver").estimated_waits(None) == ""
