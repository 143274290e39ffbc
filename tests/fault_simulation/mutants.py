"""The agent broken on purpose, once for each oracle: what no oracle notices is not watched."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

from agent.config.models import DatabaseConfig
from agent.ledger.chain.audit import AuditChain
from agent.model.states import MoveState
from agent.moving.transition_rules import Transition
from agent.planning.allowance import START
from agent.service.acting import Acting
from agent.service.snapshot import JobHealth
from agent.service.watch import Watch
from policies.evidence.counter_deltas import difference
from policies.model.settings import PolicySettings
from tests.fault_simulation import oracles
from tests.fault_simulation.script import HOUR, Event, Kind, Limits, Script, Site, Trigger


@dataclass(frozen=True, slots=True)
class Mutant:
    """One way to break the agent."""

    what: str
    oracle: str  # that notices it
    script: Script  # in which it does
    targets: tuple[tuple[str, Any], ...]

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """The agent is broken inside the block."""
        with ExitStack() as stack:
            for target, value in self.targets:
                stack.enter_context(patch(target, value))
            yield


_act, _policy, _append, _sample = Acting.act, DatabaseConfig.policy_settings, AuditChain.append, Watch.sample
_difference, _hold_lease = difference, Acting.hold_lease


def _act_all_the_same(self: Acting) -> Any:  # as the original
    self._dry_run = False
    return _act(self)


def _no_cool_down(self: DatabaseConfig) -> PolicySettings:
    return replace(_policy(self), cool_down_seconds=0.0)


def _nameless(self: AuditChain, transaction: Any, event: str, subject: str, /, **facts: Any) -> None:  # as above
    _append(self, transaction, event, subject, **{**facts, **({"who": ""} if "who" in facts else {})})


def _free_of_cost(self: Watch) -> Any:  # as above
    cycle = _sample(self)
    self.snapshot.server_seconds = 0.0
    return cycle


def _totals(before: Any, after: Any, **named: Any) -> Any:  # as above
    nothing_yet = {name: 0 * values for name, values in before.counters.items()}
    return _difference(replace(before, counters=nothing_yet), after, **named)


def hold_lease_once(self: Acting) -> None:
    """In place of ``Acting.hold_lease``: what was held once is held."""
    if self.leasing.of_engine is None:
        _hold_lease(self)


def _placed(*_: object) -> Transition:
    return Transition(state=MoveState.PLACED, reason="it will be there")


def _as_it_was(self: JobHealth, _: object) -> JobHealth:
    return self


def nothing(*_: object, **__: object) -> None:
    """In place of a check."""


def none_of(value: object) -> Callable[..., object]:
    """In place of a function: always that."""
    return lambda *_, **__: value


def _script(world: int, *events: tuple[float, Kind, Trigger, int, float], **other: Any) -> Script:  # fields
    """A run in which a person approves at 0.8 h what waits, and those events happen."""
    usual: dict[str, Any] = {
        "hours": 2.0, "sample_seconds": 900.0, "windows": (), "window_bytes": None, "cool_down_hours": 24.0,
        "expires_hours": 12.0, "retries": 2, "dry_run": False, "maximum_moves": 100,
    }  # fmt: skip
    made = (Event(at * HOUR, kind, trigger, passes, (pick, 0.0)) for at, kind, trigger, passes, pick in events)
    approval = Event(0.8 * HOUR, Kind.APPROVE, Trigger.TIME, 0, (0.0, 0.0))
    return Script(seed=-1, site=Site(world_seed=world, **{**usual, **other}), events=(approval, *made))


TIME, BEGIN, COPYING = Trigger.TIME, Trigger.STATEMENT_BEGIN, Trigger.COPYING
SAFE = _script(0)
WIDE = Limits(most_bytes=10**12, locks="any", least_gain_per_hour=0.0, most_a_day=5, hours=24.0)
GROUP = 1  # a world whose plan begins with a group: one table makes room for another
MUTANTS = (
    Mutant("an approval never expires", oracles.APPROVED,
           _script(0, (0.82, Kind.LOCKED, TIME, 0, 0.0), expires_hours=0.7, windows=("01:40-02:00",)), (
        ("agent.ledger.stored.StateChanges.overdue", none_of([])),
        ("agent.ledger.stored.StateChanges.expire_due", none_of(0)),
        ("agent.moving.precheck._check_approval", nothing),
        ("agent.moving.precheck._begun_in_time", nothing),
        ("agent.planning.planner.expiry_of", lambda _, made_at, lasts: made_at + lasts),
    )),
    Mutant("a rule that people have closed begins what it has approved", oracles.APPROVED,
           _script(0, (0.2, Kind.OPEN_RULE, TIME, 0, 0.0), (1.2, Kind.CLOSE_RULE, TIME, 0, 0.0),
                   auto=WIDE, windows=("01:40-02:00",)),
           (("agent.ledger.rules.Rules.why_not_begin", none_of("")),)),
    Mutant("the limits of a rule are not asked", oracles.APPROVED,
           _script(0, (0.2, Kind.OPEN_RULE, TIME, 0, 0.0), auto=replace(WIDE, most_bytes=1)),
           (("agent.ledger.chain.trust.find_refusal", none_of("")),
            ("agent.moving.precheck._conditions_hold", nothing))),
    Mutant("dry_run is not asked", oracles.DRY_RUN, replace(SAFE, site=replace(SAFE.site, dry_run=True)),
           (("agent.service.acting.Acting.act", _act_all_the_same),)),
    Mutant("an unknown outcome counts as done", oracles.TRUE_STATES, _script(0, (0.5, Kind.LOST, COPYING, 3, 0.0)),
           (("agent.moving.reconciler.leave_unknown", _placed),)),
    Mutant("room is not asked", oracles.HEAD_ROOM,
           _script(GROUP, (0.79, Kind.FILLED, TIME, 0, 0.0)), (("agent.moving.precheck._all_fit", nothing),)),
    Mutant("windows are not asked", oracles.WINDOWS, replace(SAFE, site=replace(SAFE.site, windows=("01:40-02:00",))),
           (("agent.moving.gate.decide", none_of(START)), ("agent.moving.gate.Gate.may_begin_still", none_of(True)))),
    Mutant("counters count as what happened since", oracles.HEAT, SAFE.keep([]),
           (("agent.sampling.sampler.difference", _totals), ("agent.sampling.sampler.contradiction", nothing))),
    Mutant("no cool-down", oracles.COOL_DOWN,
           _script(0, (1.2, Kind.UNDO, TIME, 0, 0.0), (1.9, Kind.APPROVE, TIME, 0, 0.0), hours=3.0),
           (("agent.config.models.DatabaseConfig.policy_settings", _no_cool_down),)),
    Mutant("a group goes on without one of its moves", oracles.GROUPS,
           _script(GROUP, (0.5, Kind.SPACE_FULL, BEGIN, 0, 0.0)), (
        ("agent.moving.executor.first_dropped", nothing),
        ("agent.moving.precheck._all_fit", nothing),
        ("agent.ledger.chain.trust.group_fault", none_of("")),  # which stops it otherwise
    )),
    Mutant("the chain names nobody", oracles.AUDIT, SAFE,
           (("agent.ledger.chain.audit.AuditChain.append", _nameless),)),
    Mutant("a lease is held for ever", oracles.ONE_AGENT, _script(0, (0.5, Kind.LEASE_LOST, COPYING, 3, 0.0)),
           (("agent.service.acting.Acting.hold_lease", hold_lease_once),)),
    Mutant("samples cost nothing", oracles.COST, SAFE, (("agent.service.watch.Watch.sample", _free_of_cost),)),
    Mutant("no move is judged", oracles.JUDGED, SAFE, (("agent.moving.settling.Settling.judge", none_of(())),)),
    Mutant("results are not counted", oracles.COUNTERS, SAFE,
           (("agent.ledger.moves.Moves.results_since", none_of((0, []))),)),
    Mutant("a job that works again still fails", oracles.ALERTS,
           _script(0, (0.75, Kind.REFUSED, TIME, 0, 0.0), (0.76, Kind.LEASE_LOST, TIME, 0, 0.0)),
           (("agent.service.snapshot.JobHealth.after_success", _as_it_was),)),
    Mutant("nothing is taken back", oracles.GROUP_RULE, _script(GROUP, (0.5, Kind.SPACE_FULL, BEGIN, 1, 0.0)),
           (("agent.moving.left_worse.GroupWatch.look", none_of(0)),)),
)  # fmt: skip
