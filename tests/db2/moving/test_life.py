"""A full life through the hotplace program over IBM's driver: init to undo, and killed wherever it can be."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.db2.life import KEY, SCHEMA, TABLE, Life, load
from tests.examples import by_turns
from tests.labs.db2.client import Db2, running_db2, wait_until
from tests.labs.db2.server import FAST, SLOW, TS_FAST

pytestmark = [pytest.mark.db2, pytest.mark.slow, pytest.mark.xdist_group("db2 life")]
PHASES = ("INIT", "COPY", "REPLAY", "SWAP", "CLEANUP")
SLOW_EXTENTS = 0.5  # a second, of 72: a rebalance that is caught in the middle however slow the machine is
LONG = 60.0  # seconds that a phase takes which is caught in the middle, unless it is let go


@pytest.fixture(scope="module")
def db2() -> Iterator[Db2]:
    """One emulated server."""
    with running_db2("11.5") as running:
        yield running


@pytest.fixture(autouse=True)
def _table(db2: Db2) -> Iterator[None]:
    """A table on slow storage, in a table space of its own."""
    db2.lab.create_space("TS_OWN", SLOW)
    db2.lab.create_table(SCHEMA, TABLE, "ORDERS_PK", "TS_OWN", 2000)
    yield
    db2.lab.behave(
        phase_seconds=0.0,
        slow_phase="",
        extents_per_second=1e9,
        rebalance_starts=True,
        looks_for_clients=False,
        swap_loses=(),
    )
    db2.lab.drop_table(SCHEMA, TABLE)
    db2.lab.drop_space("TS_OWN")


def by_table(db2: Db2, folder: Path) -> Life:
    """Table by table."""
    return Life(db2, folder, {"ssd": [TS_FAST], "hdd": ["TS_OWN"]}, move_by="table")


def by_space(db2: Db2, folder: Path) -> Life:
    """Table space by table space."""
    return Life(db2, folder, {"ssd": [FAST], "hdd": [SLOW]}, move_by="table_space")


def pinned(life: Life) -> Life:
    """The table must be on the fastest tier: a plan without waiting for heat."""
    life.database["pins"] = [{"unit": KEY, "pin": "must"}]
    life.site.write()
    return life


def test_emulated_server_life_of_a_table(db2: Db2, tmp_path: Path) -> None:
    """Found hot, proposed, approved by its digest, moved phase by phase, measured, taken back; the audit verifies.

    What looks and what acts are processes of their own here, as at a site.
    """
    life = by_table(db2, tmp_path)
    life.apart("doctor")
    with load(db2):
        at = len(db2.lab.sent())
        document = life.apart("plan", "--observe", "1.5", "--propose", "--json").document
        moves = {move["unit"]: move["statements"][0]["sql"] for move in document["moves"]}
        assert moves[KEY].startswith("CALL SYSPROC.ADMIN_MOVE_TABLE('APP','ORDERS','TS_FAST',")
        assert db2.lab.sent()[at:] == []  # a plan changes nothing
        life.good("approve", str(document["proposal"]["id"]), "--digest", document["proposal"]["digest"])
        life.apart("run", "--once")
        assert db2.lab.home(SCHEMA, TABLE)[0] == TS_FAST
        wait_until(lambda: _measured(life), "an outcome")
    (number,) = (row["id"] for row in life.moves() if row["unit"] == KEY)
    done = life.good("undo", str(number), "--json").document
    life.good("approve", str(done["proposal"]), "--yes")
    life.good("run", "--once")
    assert db2.lab.home(SCHEMA, TABLE)[0] == "TS_OWN"
    life.good("audit", "verify")


def test_emulated_server_a_table_and_its_indexes_in_one_move(db2: Db2, tmp_path: Path) -> None:
    """Chosen both, they go with one ADMIN_MOVE_TABLE, and come back with one. A trigger that the move loses is told."""
    db2.lab.alter_table(SCHEMA, TABLE, triggers={"NOTE": "Y"})
    db2.lab.behave(swap_loses=("trigger",))
    life = by_table(db2, tmp_path)
    life.database["pins"] = [{"unit": KEY, "pin": "must"}, {"unit": f"index {SCHEMA}.ORDERS_PK", "pin": "must"}]
    life.site.write()
    move = life.approved()
    assert move["unit"] == KEY
    assert "'ORDERS','TS_FAST','TS_FAST','TS_FAST'" in move["statements"][0]["sql"]
    at = len(db2.lab.sent())
    life.good("run", "--once")
    assert db2.lab.home(SCHEMA, TABLE) == [TS_FAST, TS_FAST]
    assert life.sent(at) == list(PHASES)
    assert any("1 trigger (APP.NOTE) on it" in note for note in move["notes"])
    assert {"what": "trigger APP.NOTE", "how": "valid"} in move["keeps"]
    assert "not as it was: trigger APP.NOTE (valid) is gone" in life.moves()[0]["reason"]
    life.undo()
    assert db2.lab.home(SCHEMA, TABLE) == ["TS_OWN", "TS_OWN"]


def test_emulated_server_both_ways_in_one_plan(db2: Db2, tmp_path: Path) -> None:
    """A table space of hot tables goes whole; of one with a large cold table the hot one goes alone; both come back."""
    hot = ["PARTS", "PRICES"]
    db2.lab.create_space("TS_HOT", SLOW)
    for name in hot:
        db2.lab.create_table(SCHEMA, name, f"{name}_PK", "TS_HOT", 2000)
    db2.lab.create_table(SCHEMA, "ARCHIVE", "ARCHIVE_PK", "TS_OWN", 30_000)
    try:
        life = Life(db2, tmp_path, {"ssd": [FAST], "hdd": [SLOW]}, landing={FAST: TS_FAST})
        life.database["tiers"][0]["spaces"] = [{"name": FAST, "capacity": "64 MiB"}]
        life.database["policy"]["maximum_moves"] = 3
        life.site.write()
        with load(db2, TABLE, *hot):
            _both_ways_and_back(db2, life)
    finally:
        for name in [*hot, "ARCHIVE"]:
            db2.lab.drop_table(SCHEMA, name)
        db2.lab.drop_space("TS_HOT")


def _both_ways_and_back(db2: Db2, life: Life) -> None:
    document = life.good("plan", "--observe", "1.5", "--propose", "--json").document
    number = str(document["proposal"]["id"])
    why = life.good("explain", KEY, "--proposal", number, "--json").document["why"]
    assert "It does not move with table space TS_OWN: " in why
    assert {move["as_a_whole"] for move in document["moves"]} == {"table space TS_HOT", None}
    first = {move["statements"][0]["sql"].partition(" /*")[0] for move in document["moves"]}
    assert first == {
        'ALTER TABLESPACE "TS_HOT" USING STOGROUP "FAST"',
        "CALL SYSPROC.ADMIN_MOVE_TABLE('APP','ORDERS','TS_FAST','TS_FAST','TS_FAST','','','','','','INIT')",
    }
    life.good("approve", number, "--digest", document["proposal"]["digest"])
    life.good("run", "--once")
    assert db2.lab.containers("TS_HOT") == ["/db2/fast"]
    assert db2.lab.containers("TS_OWN") == ["/db2/slow"]
    assert db2.lab.home(SCHEMA, TABLE) == [TS_FAST, TS_FAST]
    wait_until(lambda: _measured(life), "an outcome")
    done = life.good("undo", "--proposal", number, "--json").document
    life.good("approve", str(done["proposal"]), "--yes")
    life.good("run", "--once")
    assert db2.lab.containers("TS_HOT") == ["/db2/slow"]
    assert db2.lab.home(SCHEMA, TABLE) == ["TS_OWN", "TS_OWN"]


def test_emulated_server_life_of_a_table_space(db2: Db2, tmp_path: Path) -> None:
    """As a whole by USING STOGROUP: found hot, moved, measured, taken back."""
    life = by_space(db2, tmp_path)
    life.good("doctor")
    with load(db2):
        at = len(db2.lab.sent())
        move = life.approved(observe="1.5")
        assert move["statements"][0]["sql"].startswith('ALTER TABLESPACE "TS_OWN" USING STOGROUP "FAST"')
        moved = life.good("run", "--once", "--json").document["moves"]
        assert [row["state"] for row in moved] == ["placed"]
        assert life.sent(at) == ['USING STOGROUP "FAST"']
        assert db2.lab.containers("TS_OWN") == ["/db2/fast"]
        wait_until(lambda: _measured(life), "an outcome")
    life.undo()
    assert db2.lab.containers("TS_OWN") == ["/db2/slow"]
    assert life.moves()[0]["state"] in {"undone", "undo_proposed"}
    life.good("audit", "verify")


@pytest.mark.parametrize(
    ("phase", "noticed"),
    [(phase, noticed) for place, phase in enumerate(PHASES) for noticed in by_turns((False, True), place + 1)],
)
def test_emulated_server_pitfall_20_killed_in_a_phase(db2: Db2, tmp_path: Path, phase: str, noticed: bool) -> None:
    """Kill -9 in the middle of each phase; the next run asks STATUS and goes on; nothing is done twice.

    Whether the server ends the call of a client that is gone, or finishes it, depends on when it looks: both.
    """
    life = pinned(by_table(db2, tmp_path))
    life.approved()
    at = len(db2.lab.sent())
    db2.lab.behave(phase_seconds=LONG, slow_phase=phase, looks_for_clients=noticed)
    life.kill_when(phase, lambda: any(f"'{phase}'" in text for _, text in _running(db2)))
    if not noticed:
        db2.lab.behave(phase_seconds=0.0)
    wait_until(lambda: not db2.lab.running(), "the server has ended it")
    db2.lab.behave(phase_seconds=0.0)
    assert (db2.lab.home(SCHEMA, TABLE)[0] == TS_FAST) is (phase == "CLEANUP" or (phase == "SWAP" and not noticed))
    assert life.go_on()["state"] in {"placed", "settling", "kept"}
    assert db2.lab.home(SCHEMA, TABLE)[0] == TS_FAST
    assert db2.lab.status(SCHEMA, TABLE) == "COMPLETE"
    assert _lost_nothing(life.sent(at), phase, noticed)
    if phase == "SWAP":
        life.undo()
        assert db2.lab.home(SCHEMA, TABLE) == ["TS_OWN", "TS_OWN"]
    life.good("audit", "verify")


def _measured(life: Life) -> bool:
    """Look once more; whether the first proposal has an outcome then, with a verdict and what was predicted."""
    life.good("run", "--once")
    found = life.good("outcomes", "--json").document["outcomes"]
    return bool(found) and found[0]["proposal"] == life.moves()[0]["proposal"] and "verdict" in found[0]


def _running(db2: Db2) -> list[tuple[int, str]]:
    return [(handle, text.replace(" ", "")) for handle, text in db2.lab.running()]


def _lost_nothing(sent: list[str], killed: str, noticed: bool) -> bool:
    """Every phase once and in order; what was killed before it had happened twice, REPLAY too, INIT after a CANCEL."""
    again = {"INIT": ["INIT", "CANCEL", "INIT"]}.get(killed, [killed, killed]) if noticed else [killed]
    if killed == "REPLAY":
        again = ["REPLAY", "REPLAY"]  # it may be repeated, and nothing says that it was done
    expected = [word for phase in PHASES for word in (again if phase == killed else [phase])]
    return sent == expected or (killed == "SWAP" and noticed and sent == [*PHASES[:3], "SWAP", "REPLAY", *PHASES[3:]])


def test_emulated_server_killed_in_a_rebalance(db2: Db2, tmp_path: Path) -> None:
    """The rebalance goes on in the server: the next run waits for it and sends nothing again."""
    life = pinned(by_space(db2, tmp_path))
    life.approved()
    at = len(db2.lab.sent())
    db2.lab.behave(extents_per_second=SLOW_EXTENTS)
    life.kill_when("a rebalance", lambda: "TS_OWN" in db2.lab.rebalancing())
    done = life.run("run", "--once")
    assert "server still works on it" in done.out + done.err
    (move,) = life.moves()
    assert move["state"] == "unknown"
    db2.lab.behave(extents_per_second=1e9)
    assert life.go_on()["state"] in {"placed", "settling", "kept"}
    assert life.sent(at) == ['USING STOGROUP "FAST"']
    assert db2.lab.containers("TS_OWN") == ["/db2/fast"]
    life.undo()
    assert db2.lab.containers("TS_OWN") == ["/db2/slow"]
    life.good("audit", "verify")


def test_emulated_server_killed_between_group_and_rebalance(db2: Db2, tmp_path: Path) -> None:
    """Given to its new group and nothing copied yet: the next run sends REBALANCE, and not USING STOGROUP again."""
    life = pinned(by_space(db2, tmp_path))
    life.database["move_connection"]["rebalance_begins_within"] = "20s"
    life.site.write()
    life.approved()
    at = len(db2.lab.sent())
    db2.lab.behave(rebalance_starts=False)
    life.kill_when("the new group", lambda: db2.lab.containers("TS_OWN") == ["/db2/fast", "/db2/slow"])
    assert life.go_on()["state"] in {"placed", "settling", "kept"}
    assert life.sent(at) == ['USING STOGROUP "FAST"', "REBALANCE"]
    assert db2.lab.containers("TS_OWN") == ["/db2/fast"]
    life.good("audit", "verify")


def test_emulated_server_killed_in_the_statement(db2: Db2, tmp_path: Path) -> None:
    """Killed before its commit, USING STOGROUP has changed nothing, and is sent again."""
    life = pinned(by_space(db2, tmp_path))
    life.approved()
    at = len(db2.lab.sent())
    db2.lab.behave(phase_seconds=LONG)
    life.kill_when("the statement", lambda: any("STOGROUP" in text for _, text in _running(db2)))
    db2.lab.behave(phase_seconds=0.0)
    wait_until(lambda: not db2.lab.running(), "the server has ended it")
    assert db2.lab.containers("TS_OWN") == ["/db2/slow"]
    assert life.go_on()["state"] in {"placed", "settling", "kept"}
    assert life.sent(at) == ['USING STOGROUP "FAST"'] * 2
    assert db2.lab.containers("TS_OWN") == ["/db2/fast"]


def test_emulated_server_held_killed_and_gone_on_with(db2: Db2, tmp_path: Path) -> None:
    """``hotplace pause`` from a second process, kill -9 of the agent, restart: still held; ``resume`` ends it."""
    life = pinned(by_space(db2, tmp_path))
    life.approved()
    at = len(db2.lab.sent())
    db2.lab.behave(extents_per_second=SLOW_EXTENTS)
    number = str(life.moves()[0]["id"])
    agent = life.site.start("run", "--once")
    try:
        wait_until(lambda: "TS_OWN" in db2.lab.rebalancing(), "a rebalance")
        life.run("pause", number, "--reason", "month-end", "--wait", "20s")
        wait_until(lambda: life.sent(at)[-1] == "REBALANCE SUSPEND", "it is held in the server")
    finally:
        agent.kill()
        agent.communicate()
    db2.lab.behave(extents_per_second=1e9)
    life.run("run", "--once")
    assert life.moves()[0]["state"] == "paused"
    assert db2.lab.containers("TS_OWN") == ["/db2/fast", "/db2/slow"]
    life.good("resume", number, "--wait", "1s")
    assert life.go_on()["state"] in {"placed", "settling", "kept"}
    assert life.sent(at) == ['USING STOGROUP "FAST"', "REBALANCE SUSPEND", "REBALANCE RESUME"]
    assert db2.lab.containers("TS_OWN") == ["/db2/fast"]
    life.good("audit", "verify")


def test_emulated_server_held_and_given_up(db2: Db2, tmp_path: Path) -> None:
    """Files of its own, held between the two passes and cancelled: it ends, goes back, and is where it was."""
    files = ["/db2/slow/files/a", "/db2/slow/files/b"]
    db2.lab.create_dms("TS_FILES", dict.fromkeys(files, 400))
    db2.lab.create_table(SCHEMA, "FILED", "FILED_PK", "TS_FILES", 500)
    try:
        life = Life(
            db2, tmp_path, {"ssd": ["SSD_FILES"], "hdd": ["HDD_FILES", SLOW]}, move_by="table_space",
            folders={"SSD_FILES": "/db2/fast/files", "HDD_FILES": "/db2/slow/files"},
        )  # fmt: skip
        life.database["tiers"][0]["spaces"] = [{"name": "SSD_FILES", "capacity": "100 MiB"}]
        life.database["pins"] = [{"unit": f"{SCHEMA}.FILED", "pin": "must"}]
        life.site.write()
        move = life.approved()
        assert move["statements"][0]["sql"].startswith('ALTER TABLESPACE "TS_FILES" ADD (FILE ')
        db2.lab.behave(extents_per_second=SLOW_EXTENTS / 2)
        number = str(life.moves()[0]["id"])
        agent = life.site.start("run", "--once")
        wait_until(lambda: "TS_FILES" in db2.lab.rebalancing(), "a rebalance")
        life.run("pause", number, "--wait", "20s")
        agent.communicate(timeout=60)
        assert life.moves()[0]["state"] == "paused"
        db2.lab.behave(extents_per_second=1e9)
        life.run("cancel", number, "--wait", "1s")
        life.run("run", "--once")
        assert life.moves()[0]["state"] == "cancelled"
        assert sorted(db2.lab.containers("TS_FILES")) == files
        life.good("audit", "verify")
    finally:
        db2.lab.drop_table(SCHEMA, "FILED")
        db2.lab.drop_space("TS_FILES")
