"""Each oracle notices an agent that is broken on purpose, at a seed where it can."""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from tests.bench.fault_simulation import rows, rows_of_forgers
from tests.examples import by_turns
from tests.fault_simulation import records
from tests.fault_simulation.fleet.script import FLEET_KINDS
from tests.fault_simulation.mutants import MUTANTS, Mutant
from tests.fault_simulation.oracles import ORACLES
from tests.fault_simulation.records import Record, figures, record_seed
from tests.fault_simulation.runs import repeat_command, run
from tests.fault_simulation.script import KINDS, WEEKS, Kind, Script, Trigger, draw
from tests.fault_simulation.shrinking import shrink
from tests.over import over


@cache
def violations_of(script: Script) -> int:
    """With nothing broken; several mutants are noticed in the same script."""
    return len(run(script).violations)


@over("mutant", MUTANTS)
def test_a_broken_agent_is_noticed(mutant: Mutant) -> None:
    """By the oracle that is there for it, which has nothing to say of the same run when nothing is broken."""
    with mutant.at_work():
        report = run(mutant.script)
    assert mutant.oracle in {each.oracle for each in report.violations}
    if 0 in by_turns(range(3), MUTANTS.index(mutant)):  # every third; the first seeds hold all oracles to it
        assert not violations_of(mutant.script)


def test_each_oracle_was_seen_to_speak() -> None:
    """There is a broken agent for each of them."""
    assert {mutant.oracle for mutant in MUTANTS} == set(ORACLES)


def test_what_it_takes_is_found() -> None:
    """Of twenty events two are needed; the command names them."""
    found = shrink(list(range(20)), lambda numbers: {3, 17} <= set(numbers))
    assert found == [3, 17]
    assert repeat_command(7, found) == 'make fault-simulation ARGS="--seed 7 --keep 3,17"'


def test_events_that_are_left_out_do_not_happen() -> None:
    """A run with a part of its events repeats the rest of them at the same calls."""
    script = draw(6)
    alone = run(script.keep([0]))
    assert sum(alone.struck.values()) <= 1


@pytest.mark.parametrize(
    ("seed", "events"),
    [
        (179, (3, 5, 11)),  # an index that was renamed is still one: its approval names its table
        (187, (5,)),  # what was waited for most is dropped: until then all sessions were slower
        (211, (0, 3, 4, 7)),  # a later group moves a part of an earlier one again
        # A way back waits for the room that another group has taken meanwhile: the longest of them.
        pytest.param(250, (0, 1, 2, 3), marks=pytest.mark.soak),
        (5072, (0, 1, 4, 5)),  # the clock jumps into a window
        (5611, (0, 1, 3, 5, 6, 7)),  # a table is made anew while the catalog's answer is on its way
        (9598, (0, 1)),  # the same, and the copy begins before the answer is there
        (6173, (2, 6, 9)),  # another table takes the approved name in the last moment, and its move is held
    ],
)
def test_what_is_no_fault_is_none(seed: int, events: tuple[int, ...]) -> None:
    """Each of these was taken for a broken promise once."""
    assert not run(draw(seed).keep(events)).violations


def test_every_kind_of_fault_is_drawn() -> None:
    """At every call at which one may strike; forgeries where forgers are among the actors, and only there."""
    events = [event for seed in range(400) for event in draw(seed).events]
    forged = {event.kind for seed in range(20) for event in draw(seed, forgers=True).events}
    assert {event.kind for event in events} == (KINDS.keys() | WEEKS.keys()) - {Kind.FORGE}
    assert Kind.FORGE in forged
    assert set(Kind) == KINDS.keys() | WEEKS.keys() | FLEET_KINDS.keys() | {Kind.APPROVE_LIST}
    assert {event.trigger for event in events} == set(Trigger)


def test_other_processes_find_what_they_are_to_run() -> None:
    """With --jobs: what belongs to a package's __main__ is not found by a process that is started for it."""
    assert pickle.loads(pickle.dumps(record_seed)) is record_seed
    assert record_seed.__module__ == "tests.fault_simulation.records"


def test_a_long_run_goes_on_where_it_ended(tmp_path: Path) -> None:
    """What was kept is read again but for a line that was cut off; a broken promise stands in the figures."""
    path = tmp_path / "seeds.jsonl"
    good = Record(seed=3, hours=4.0, seconds=2.0, struck={"kill": 2}, checked={}, moves={"kept": 1}, violations=[])
    bad = replace(good, seed=4, violations=["1 approved statements: one was not"], repeat="make it again")
    for record in (good, bad):
        records.keep(path, record)
    path.write_text(path.read_text() + '{"seed": 5, "hou')
    found = records.load(path)
    assert found == {3: good, 4: bad}
    values = [row["value"] for row in rows(figures(found.values()))]
    assert values == [2, 1, 2.0]
    assert rows(figures(found.values()))[1]["note"] == "make it again"
    (row,) = rows_of_forgers(figures(found.values()))
    assert (row["value"], row["note"]) == (1, "make it again")
