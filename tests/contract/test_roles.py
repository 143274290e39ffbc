"""What a connector says of the log and of the space for sorts, and the advice that comes of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from connectors.kit.contract import Connector
from connectors.model.observation import Demand, Role, RoleFigures
from policies.evidence.prices import advice_of_roles, is_measured
from policies.model.plan import AdviceCode
from policies.model.settings import PolicySettings
from policies.placement.advice import advice_of
from policies.placement.balancer import make_plan
from tests.contract.asking import demand_of
from tests.contract.harness import Ability, EngineHarness
from tests.unit.policies.situations import Site

COMMITS = 500
JUDGED = {AdviceCode.LEAVE, AdviceCode.FASTER_DEVICE, AdviceCode.OWN_DEVICE}


def of_role(demand: Demand, role: Role) -> list[RoleFigures]:
    """Its figures, per second."""
    return [figures for figures in demand.roles if figures.role is role]


def codes(demand: Demand, role: Role) -> set[AdviceCode]:
    """What is advised about it, were that load all there is and a hdd under it."""
    site = replace(Site(database=demand.database).situation(()), roles=tuple(of_role(demand, role)))
    return {advice.code for advice in advice_of_roles(site, PolicySettings())}


@pytest.mark.needs(Ability.LOG_WAITS)
def test_commits_are_waits_for_the_log(harness: EngineHarness, connector: Connector) -> None:
    """Each flushes the log: flushes and their time are told, and the log is judged by them."""
    demand, _ = demand_of(harness, connector, lambda: harness.commit(COMMITS))
    (log,) = of_role(demand, Role.LOG)
    assert log.writes * demand.seconds >= COMMITS * 0.9 or log.written_bytes > 0
    assert is_measured(log)
    assert codes(demand, Role.LOG) <= JUDGED
    assert codes(demand, Role.LOG)


@pytest.mark.needs(Ability.LOG_WAITS, Ability.SLOW_LOG)
def test_an_emulated_log_on_a_slow_disk_wants_a_faster_one(harness: EngineHarness, connector: Connector) -> None:
    """Where a flush takes milliseconds and sessions do nothing else, that is what is advised."""
    demand, _ = demand_of(harness, connector, lambda: harness.commit(COMMITS))
    assert codes(demand, Role.LOG) == {AdviceCode.FASTER_DEVICE}
    if demand.database.active > 0:  # SQL Server does not tell it
        site = replace(Site(database=demand.database).situation(()), roles=demand.roles)
        whole, *_ = advice_of(site, make_plan(site, PolicySettings()), PolicySettings())
        assert whole.code is AdviceCode.NO_GAIN_EXPECTED
        assert whole.sentence.startswith("log-bound: ")


@pytest.mark.needs(Ability.SPILL)
def test_sorts_beyond_memory_show_at_the_temporary_space(harness: EngineHarness, connector: Connector) -> None:
    """Their bytes or I/Os are counted; without a time it is said to be unknown, and why."""
    calm, _ = demand_of(harness, connector, lambda: None)
    demand, _ = demand_of(harness, connector, harness.spill)
    used = [f for f in of_role(demand, Role.TEMP) if f.writes > 0 or f.written_bytes > 0]
    assert used
    assert all(is_measured(f) or f.note for f in used)
    assert codes(demand, Role.TEMP) & {*JUDGED, AdviceCode.UNKNOWN}
    quiet = [f for f in of_role(calm, Role.TEMP) if f.writes > 0 or f.written_bytes > 0]
    assert not quiet
