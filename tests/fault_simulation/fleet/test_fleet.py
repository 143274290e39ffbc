"""The first seeds of a fleet break no promise, and its oracles notice agents that are broken on purpose."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from agent.model.outcomes import WaveAnswer, WaveDecision
from tests.fault_simulation.fleet.oracles import ONCE, WAVES
from tests.fault_simulation.fleet.script import FLEET_KINDS, draw_fleet
from tests.fault_simulation.mutants import SAFE, Mutant, hold_lease_once, none_of, nothing
from tests.fault_simulation.oracles import APPROVED, AUDIT, HEAT, ONE_AGENT, TRUE_STATES
from tests.fault_simulation.runs import repeat_command, run, run_seed, shrunk
from tests.fault_simulation.script import HOUR, Event, FleetSite, Kind, Script, Trigger
from tests.fault_simulation.site import ROBUSTNESS
from tests.ledger.conftest import ON_SERVER

pytestmark = ON_SERVER
SEEDS = (1, pytest.param(0, marks=pytest.mark.soak))
OFTEN = (APPROVED, AUDIT, HEAT, ONE_AGENT, TRUE_STATES, ONCE)
LEASE = 120.0


def _script(databases: int, *events: tuple[float, Kind, Trigger, int, float]) -> Script:
    """A run in which a person approves at 0.8 h what waits, and those events happen to the first database."""
    sites = tuple(replace(SAFE.site, world_seed=number) for number in range(databases))
    fleet = FleetSite(sites=sites, skews=((0.0, 90.0),) * databases, ledger_skew=-7.0, lease_seconds=LEASE)
    made = [Event(at * HOUR, kind, trigger, passes, (pick, 0.0)) for at, kind, trigger, passes, pick in events]
    return Script(seed=-1, site=sites[0], events=tuple(made), fleet=fleet)


APPROVE = (0.8, Kind.APPROVE, Trigger.TIME, 0, 0.0)
MUTANTS = (
    Mutant("a lease is held for ever, and no write asks for it", ONE_AGENT,
                _script(1, APPROVE, (0.5, Kind.FROZEN, Trigger.COPYING, 3, 1.0)),
                (("agent.service.acting.Acting.hold_lease", hold_lease_once),
                 ("agent.ledger.leases.Leases.require", nothing))),
    Mutant("no write asks for the lease", ROBUSTNESS,  # the ledger's trigger refuses the older token
                _script(1, APPROVE, (0.5, Kind.FROZEN, Trigger.COPYING, 3, 1.0)),
                (("agent.ledger.leases.Leases.require", nothing),)),
    Mutant("a wave waits for none", WAVES, _script(2, (0.7, Kind.APPROVE_LIST, Trigger.TIME, 0, 0.0)),
                (("agent.moving.gate.decide_wave", none_of(WaveDecision(WaveAnswer.GO))),)),
)  # fmt: skip


@pytest.mark.parametrize("seed", SEEDS)
def test_no_promise_is_broken(seed: int) -> None:
    """Whatever fails, whoever acts: every oracle holds, and those that are asked often were."""
    report = run_seed(seed, fleet=True)
    if report.violations:
        numbers, smallest = shrunk(report)
        sentences = "\n".join(f"{each.oracle}: {each.sentence}" for each in smallest.violations)
        pytest.fail(f"{sentences}\nrepeat it: {repeat_command(seed, numbers, fleet=True)}")
    assert all(report.checked[oracle] for oracle in OFTEN), report.checked


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.what)
def test_broken_agents_are_noticed(mutant: Mutant) -> None:
    """By the oracle that is there for it."""
    with mutant.at_work():
        report = run(mutant.script)
    assert mutant.oracle in {each.oracle for each in report.violations}


def test_every_kind_of_fault_is_drawn() -> None:
    """Also of those that only a fleet has; a run names how it is repeated."""
    drawn = Counter(event.kind for seed in range(300) for event in draw_fleet(seed).events)
    assert drawn.keys() == FLEET_KINDS.keys() | {Kind.APPROVE_LIST}
    assert repeat_command(7, [3], fleet=True) == 'make fault-simulation ARGS="--fleet --seed 7 --keep 3"'
