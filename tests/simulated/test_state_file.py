"""With a state file, commands in different processes see one world."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from connectors.kit.contract import CannotConnect, LeaseHeld
from connectors.model.moves import UnitKind
from connectors.simulated.connector import SimulatedConnector
from connectors.simulated.scenarios import UnitSpec
from connectors.simulated.settings import SimulatedSettings
from connectors.simulated.world import StateFile, World
from tests.simulated.worlds import move, space_of
from tests.virtual_clock import VirtualClock

INDEX = '"shop"."orders_pkey"'
CHILD = """
import sys, json
from pathlib import Path
from agent.model.clock import SystemClock
from connectors.simulated.connector import connect
from connectors.simulated.settings import SimulatedSettings
connector = connect(SimulatedSettings(state=Path(sys.argv[1]), speed=float(sys.argv[3])), SystemClock())
{body}
"""


def _start(body: str, state: Path, *arguments: str, speed: float = 1.0) -> subprocess.Popen[str]:
    """Another process that looks at the same world."""
    command = [sys.executable, "-c", CHILD.format(body=body), str(state), ",".join(arguments), str(speed)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)


def _ask(body: str, state: Path, speed: float = 1.0) -> str:
    child = _start(body, state, speed=speed)
    output, _ = child.communicate(timeout=60)
    assert child.returncode == 0
    return output.strip()


def _open(state: Path, clock: VirtualClock | None = None) -> World:
    return World(SimulatedSettings(state=state), clock or VirtualClock())


def test_placement_outlives_the_process(tmp_path: Path) -> None:
    """One process moves, the next one finds it moved, under the same fingerprint."""
    state = tmp_path / "world.json"
    moved = _ask(
        "m = connector.open_mover()\n"
        f"""m.run('MOVE INDEX {INDEX} TO SPACE "ssd" ONLINE')\nprint(connector.identify().fingerprint)""",
        state,
        speed=1000.0,
    )
    world = _open(state)
    assert space_of(world, INDEX) == "ssd"
    assert world.fingerprint == moved


def test_time_goes_on_between_processes(tmp_path: Path) -> None:
    """Work done while nobody looked is in the counters of the next process."""
    state = tmp_path / "world.json"
    body = "print(json.dumps(connector.sample().database['transactions']))"
    first = float(_ask(body, state, speed=100.0))
    second = float(_ask(body, state, speed=100.0))
    assert second > first + 1.0


def test_counters_and_resets_are_kept(tmp_path: Path) -> None:
    """Epoch, totals, single reads and created or dropped objects survive to the bit."""
    state, clock = tmp_path / "world.json", VirtualClock()
    world = _open(state, clock)
    clock.sleep(100.0)
    with world.turn():
        world.reset_counters()
    clock.sleep(50.0)
    with world.turn():
        world.create([UnitSpec(key='"x"."y"', kind=UnitKind.TABLE, size_bytes=5, space="ssd")])
        world.touch('"x"."y"', random_pages=7)
        world.reset_unit('"shop"."customers"')
        world.drop('"shop"."documents"')
    before = SimulatedConnector(world).sample()
    again = SimulatedConnector(_open(state, clock))
    after = again.sample()
    assert after.epoch == before.epoch == "1"
    assert dict(after.database) == dict(before.database)
    assert np.array_equal(after.physical_id, before.physical_id)
    assert all(np.array_equal(after.counters[name], before.counters[name]) for name in before.counters)
    assert '"shop"."documents"' not in again.catalog().units.key


def test_two_worlds_over_one_file_see_each_other(tmp_path: Path) -> None:
    """A move by one is in the other's next catalog, however fast they take turns."""
    clock = VirtualClock()
    one, other = (_open(tmp_path / "world.json", clock) for _ in range(2))
    for world, seen_by in ((one, other), (other, one)) * 3:
        target = "hdd" if space_of(world, INDEX) == "ssd" else "ssd"
        move(SimulatedConnector(world), "INDEX", INDEX, target)
        with seen_by.turn():
            assert space_of(seen_by, INDEX) == target


def test_a_killed_mover_leaves_nothing_behind(tmp_path: Path) -> None:
    """Killed in mid-copy: the next process finds the table at home and no room reserved."""
    state = tmp_path / "world.json"
    free = _open(state).placement.free_bytes()
    body = """connector.open_mover().run('MOVE TABLE "shop"."measurements_2024q4" TO SPACE "ssd"')"""
    child = _start(body, state)
    try:
        deadline = time.monotonic() + 30
        while not json.loads(state.read_text())["running"] and time.monotonic() < deadline:
            time.sleep(0.02)
        running = _open(state)
        assert running.placement.running
        assert int(running.placement.free_bytes()[1]) < int(free[1])
    finally:
        child.kill()
        child.communicate()
    for witness in (running, _open(state)):  # one that saw the move run, and one that comes later
        with witness.turn():
            assert not witness.placement.running
    after = _open(state)
    assert not after.placement.running
    assert np.array_equal(after.placement.free_bytes(), free)
    assert space_of(after, '"shop"."measurements_2024q4"') == "hdd"


def test_the_lease_holds_among_processes_and_dies_with_its_process(tmp_path: Path) -> None:
    """Another process is refused by name; when the holder is killed the lease is free."""
    state = tmp_path / "world.json"
    here = SimulatedConnector(_open(state))
    child = _start("lease = connector.acquire_lease('agent A')\nprint('held', flush=True)\nsys.stdin.read()", state)
    try:
        assert child.stdout is not None
        assert child.stdout.readline().strip() == "held"
        with pytest.raises(LeaseHeld, match="agent A"):
            here.acquire_lease("agent B")
    finally:
        child.kill()
        child.communicate()
    lease = here.acquire_lease("agent B")
    assert lease.is_held()
    lease.release()


def test_a_file_of_another_world_is_refused(tmp_path: Path) -> None:
    """Another seed or scenario does not silently continue, and the file stays as it is."""
    state = tmp_path / "world.json"
    _open(state)
    content = state.read_text()
    with pytest.raises(CannotConnect, match="another world") as caught:
        World(SimulatedSettings(state=state, seed=2), VirtualClock())
    assert caught.value.advice
    assert state.read_text() == content


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"scenario": "oltp"}', "half"])
def test_a_damaged_file_is_refused(tmp_path: Path, damage: str) -> None:
    """Whatever is wrong with it, the message says what to do, and the file is left for whoever restores it."""
    state = tmp_path / "world.json"
    _open(state)
    content = json.loads(state.read_text())
    del content["rows"]
    broken = json.dumps(content) if damage == "half" else damage
    state.write_text(broken)
    with pytest.raises(CannotConnect) as caught:
        _open(state)
    assert caught.value.advice
    assert state.read_text() == broken


def test_damage_is_never_overwritten(tmp_path: Path) -> None:
    """A world that is already open refuses a file that was damaged meanwhile, again and again, until it is mended."""
    state = tmp_path / "world.json"
    world = _open(state)
    good = state.read_text()
    for broken in ("{", '{"scenario": "other"}'):
        state.write_text(broken)
        for _ in range(2):
            with pytest.raises(CannotConnect), world.turn():
                pass
        assert state.read_text() == broken
    state.write_text(good)
    with world.turn():
        assert space_of(world, INDEX) == "hdd"


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    """No traceback about a lock file."""
    with pytest.raises(CannotConnect, match="nowhere"):
        _open(tmp_path / "nowhere" / "world.json")


def test_a_relative_file_lies_beside_the_configuration(tmp_path: Path) -> None:
    """Wherever a command is started, a relative ``state`` means the same file."""
    plain = {"state": "world.json"}
    assert SimulatedSettings.model_validate(plain, context={"folder": tmp_path}).state == tmp_path / "world.json"
    assert SimulatedSettings.model_validate(plain).state == Path("world.json")


def test_the_file_is_for_its_user_alone(tmp_path: Path) -> None:
    """Whatever the umask says, and also where a dead process has left a file of other rights in its place."""
    file = StateFile(tmp_path / "world.json")
    (tmp_path / "world.json.new").touch(0o644)
    before = os.umask(0)
    try:
        with file.exclusive():
            file.write({"a": 1})
    finally:
        os.umask(before)
    assert (tmp_path / "world.json").stat().st_mode & 0o777 == 0o600
