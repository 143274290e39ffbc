"""The inputs of plans as the ledger keeps them, so that every verdict can be recomputed later.

``store_decision`` keeps the situation and the settings of a plan, bit by bit. That is enough, because the policies are
pure: the same two give the same plan. The inputs of the last plan are kept, and those of every stored proposal.

``archive_explanation`` keeps what a proposal says of its units, in a few kilobytes that stay. A whole situation is
megabytes and is dropped with the history (``drop_old_decisions``). For the units that a proposal moves, and for the
hottest others, sentence and numbers are kept for as long as the proposal itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from math import nan
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, TypeAdapter

from agent.ledger.ledger import Ledger
from agent.ledger.state_names import DECISION, PROPOSAL_DECISIONS, decision_of_proposal, explanation_of_proposal
from agent.model.states import DECIDED_PROPOSALS, OPEN_PROPOSALS
from connectors.model.observation import I64, DatabaseDemand, RoleFigures, Space, UnitTable
from connectors.model.string_column import StringColumn
from policies.evidence.borders import Split, ValueBorder
from policies.model.confidence import PastForecast
from policies.model.moves import PredictionError, RouteCost
from policies.model.plan import NOT_KNOWN, HeatView, Paced, Plan, Situation, Verdict
from policies.model.settings import PolicySettings, Tier
from policies.placement.ranges import of_whole_units, with_ranges
from policies.placement.verdicts import Figures, explain_verdict, figures_of

if TYPE_CHECKING:
    from agent.planning.planner import Planning


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDecision:
    """A situation, the settings with which it was judged, and the plan that comes of both."""

    made_at: datetime
    situation: Situation
    settings: PolicySettings
    plan: Plan


@dataclass(frozen=True, kw_only=True)
class _Few:
    """The parts of a decision that exist once or a few times; the others are columns."""

    spaces: tuple[Space, ...]
    tiers: tuple[Tier, ...]
    database: DatabaseDemand
    no_route: dict[str, str]
    no_wide: dict[str, str] = field(default_factory=dict)
    wide_names: tuple[str, ...] = ()
    roles: tuple[RoleFigures, ...]
    route_costs: dict[str, RouteCost] = field(default_factory=dict)
    transient: dict[str, int] = field(default_factory=dict)
    staying: dict[str, int] = field(default_factory=dict)
    settings: PolicySettings
    turned_over_ratio: float = 0.0
    sessions: float = float("nan")
    elsewhere_alone: float = float("nan")
    load: str = ""
    paced: Paced = NOT_KNOWN
    growth_seconds: float = float("nan")
    prediction_errors: tuple[PredictionError, ...] = ()
    past_forecasts: tuple[PastForecast, ...] = ()

    __pydantic_config__ = ConfigDict(extra="ignore")


_FEW: TypeAdapter[_Few] = TypeAdapter(_Few)
_RANGES: TypeAdapter[tuple[Split, ...]] = TypeAdapter(tuple[Split, ...])
_UNITS = ("physical_id", "kind", "size_bytes", "space", "bundle", "parent")
_SITUATION = ("tier_of_space", "pin", "cooling_seconds")
_HEAT = tuple(field.name for field in fields(HeatView))


def store_decision(ledger: Ledger, database: str, planning: Planning, name: str = DECISION) -> None:
    """Store the inputs of a planning; the ledger keeps one copy of columns that several plannings share."""
    arrays = decision_arrays(planning.situation, planning.settings)
    if planning.ranges:
        # Where a table is split is user data, and no reason that is explained names it.
        ranges = tuple(replace(each, border=_without_values(each.border)) for each in planning.ranges)
        arrays["ranges"] = _text(_RANGES.dump_python(ranges))
    ledger.state.share_arrays(database, name, planning.made_at, arrays)


def _without_values(border: ValueBorder | None) -> ValueBorder | None:
    return None if border is None else replace(border, least=None, below=None)


def drop_old_decisions(ledger: Ledger, before: datetime, undecided_before: datetime | None = None) -> int:
    """Drop the inputs of proposals older than ``before``, except open ones; returns how many.

    Their statements, figures and sentences stay with the proposal itself.

    Args:
        ledger: the durable record.
        before: the inputs of proposals that are not open are dropped once they are older than this.
        undecided_before: the same for proposals that were superseded or expired without a decision;
            None: as the others.
    """
    open_ones = ledger.proposals.each(states=OPEN_PROPOSALS)
    kept = {(row.proposal.database, decision_of_proposal(row.id)) for row in open_ones}
    forgotten = ledger.state.forget_arrays(PROPOSAL_DECISIONS, before, kept)
    if undecided_before is not None:
        decided = ledger.proposals.each(states=DECIDED_PROPOSALS, since=before)
        kept |= {(row.proposal.database, decision_of_proposal(row.id)) for row in decided}
        forgotten += ledger.state.forget_arrays(PROPOSAL_DECISIONS, undecided_before, kept)
    return forgotten


def last_situation(ledger: Ledger, database: str) -> tuple[Situation, PolicySettings] | None:
    """What the last plan was made from; None where none is stored."""
    stored = ledger.state.load_arrays(database, DECISION)
    return None if stored is None else decision_from_arrays(stored[1])


def replay_decision(ledger: Ledger, database: str, name: str = DECISION) -> StoredDecision | None:
    """Recompute a plan from its stored inputs; None where none of that name is stored."""
    stored = ledger.state.load_arrays(database, name)
    if stored is None:
        return None
    from policies.placement.dispatch import plan_mode  # it brings the solver

    situation, settings = decision_from_arrays(stored[1])
    plan = plan_mode(weighed_from_arrays(stored[1])[0], settings)
    plan = of_whole_units(plan, _ranges_of(stored[1]), situation, settings)
    return StoredDecision(made_at=stored[0], situation=situation, settings=settings, plan=plan)


def weighed_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> tuple[Situation, PolicySettings]:
    """The stored situation as it was weighed, a row for each range that its plan splits off; and the settings."""
    situation, settings = decision_from_arrays(arrays)
    return with_ranges(situation, _ranges_of(arrays), settings), settings


def _ranges_of(arrays: Mapping[str, NDArray[Any]]) -> tuple[Split, ...]:
    return _RANGES.validate_python(json.loads(arrays["ranges"].tobytes())) if "ranges" in arrays else ()


def tiers_of_last_plan(ledger: Ledger, database: str) -> tuple[Tier, ...]:
    """Tiers with the speeds that the last plan was made with; none where there was no plan."""
    stored = ledger.state.load_arrays(database, DECISION)
    return () if stored is None else decision_from_arrays(stored[1])[0].tiers


def decision_arrays(situation: Situation, settings: PolicySettings) -> dict[str, NDArray[Any]]:
    """Situation and settings as arrays for the ledger; texts as the bytes of JSON."""
    units, heat = situation.units, situation.heat
    few = _Few(
        spaces=situation.spaces,
        tiers=situation.tiers,
        database=situation.database,
        no_route=dict(situation.no_route),
        no_wide=dict(situation.no_wide),
        wide_names=units.wide_names,
        roles=situation.roles,
        route_costs=dict(situation.route_costs),
        transient=dict(situation.transient),
        staying=dict(situation.staying),
        settings=settings,
        turned_over_ratio=situation.turned_over_ratio,
        sessions=situation.sessions,
        elsewhere_alone=situation.elsewhere_alone,
        load=situation.load,
        paced=situation.paced,
        growth_seconds=situation.growth_seconds,
        prediction_errors=situation.prediction_errors,
        past_forecasts=situation.past_forecasts,
    )
    arrays: dict[str, NDArray[Any]] = {f"units.{name}": getattr(units, name) for name in _UNITS}
    arrays |= {f"situation.{name}": getattr(situation, name) for name in _SITUATION}
    arrays |= {f"heat.{name}": column for name in _HEAT if (column := getattr(heat, name)) is not None}
    if units.wide is not None:
        arrays["units.wide"] = units.wide
    if units.uncounted is not None:
        arrays["units.uncounted"] = units.uncounted
    if situation.growth is not None:
        arrays["situation.growth"] = situation.growth
    if situation.growth_rate is not None and situation.growth_seen is not None:
        arrays |= {"situation.growth_rate": situation.growth_rate, "situation.growth_seen": situation.growth_seen}
    for name in ("copy_seconds", "owed_seconds", "copies_caused"):
        if (column := getattr(situation, name)) is not None:
            arrays[f"situation.{name}"] = column
    arrays |= StringColumn.of(units.key).arrays("keys")
    arrays["few"] = _text(_FEW.dump_python(few))
    return arrays


def decision_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> tuple[Situation, PolicySettings]:
    """Inverse of ``decision_arrays``.

    Raises:
        KeyError, ValueError: the arrays are not those of a decision.
    """
    few = _FEW.validate_python(json.loads(arrays["few"].tobytes()))
    columns = {name: arrays[f"units.{name}"] for name in _UNITS}
    by_unit: dict[str, Any] = {name: arrays[f"situation.{name}"] for name in _SITUATION}
    heat = {name: arrays.get(f"heat.{name}") for name in _HEAT}
    situation = Situation(
        units=UnitTable(
            key=StringColumn.from_arrays(arrays, "keys"),
            wide=arrays.get("units.wide"),
            wide_names=few.wide_names,
            uncounted=arrays.get("units.uncounted"),
            **columns,
        ),
        heat=HeatView(**{name: column for name, column in heat.items() if column is not None}),
        spaces=few.spaces,
        tiers=few.tiers,
        database=few.database,
        no_route=few.no_route,
        no_wide=few.no_wide,
        roles=few.roles,
        turned_over_ratio=few.turned_over_ratio,
        route_costs=few.route_costs,
        sessions=few.sessions,
        elsewhere_alone=few.elsewhere_alone,
        load=few.load,
        paced=few.paced,
        growth_seconds=few.growth_seconds,
        prediction_errors=few.prediction_errors,
        past_forecasts=few.past_forecasts,
        transient=few.transient,
        staying=few.staying,
        growth=arrays.get("situation.growth"),
        growth_rate=arrays.get("situation.growth_rate"),
        growth_seen=arrays.get("situation.growth_seen"),
        copy_seconds=arrays.get("situation.copy_seconds"),
        owed_seconds=arrays.get("situation.owed_seconds"),
        copies_caused=arrays.get("situation.copies_caused"),
        **by_unit,
    )
    return situation, few.settings


def _text(value: Any) -> NDArray[np.uint8]:  # noqa: ANN401  # plain JSON values; NaN and infinity are words of Python's
    return np.frombuffer(json.dumps(value, ensure_ascii=False).encode(), dtype=np.uint8)


MOST_MOVED, MOST_OTHERS = 100, 20  # units that move; of the others, those with the highest benefit
NUMBERS = tuple(field.name for field in fields(Figures) if field.name != "verdict")


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedExplanation:
    """Sentences and numbers of the day, one of each for a key."""

    at: datetime
    keys: StringColumn
    sentences: StringColumn
    figures: tuple[Figures, ...]


def archive_explanation(ledger: Ledger, database: str, planning: Planning, number: int) -> None:
    """Store what the proposal of that number says."""
    situation, plan, settings = planning.situation, planning.plan, planning.settings
    rows = _rows_of(planning).tolist()
    figures = [figures_of(situation, plan, row, settings) for row in rows]
    columns = {name: np.array([getattr(each, name) for each in figures], dtype=np.float64) for name in NUMBERS}
    ledger.state.save_arrays(
        database,
        explanation_of_proposal(number),
        planning.made_at,
        {
            **StringColumn.of(situation.units.key[row] for row in rows).arrays("keys"),
            **StringColumn.of(explain_verdict(situation, plan, row, settings) for row in rows).arrays("sentences"),
            "verdict": plan.verdict[rows],
            **columns,
        },
    )


def load_archived_explanation(ledger: Ledger, database: str, number: int) -> ArchivedExplanation | None:
    """What the proposal said; None where that is not stored. A number that was not yet stored at that time is NaN."""
    stored = ledger.state.load_arrays(database, explanation_of_proposal(number))
    if stored is None:
        return None
    at, arrays = stored
    count = len(arrays["verdict"])
    columns = {name: arrays.get(name, np.full(count, nan)).tolist() for name in NUMBERS}
    columns["bundle_bytes"] = [int(size) for size in columns["bundle_bytes"]]
    figures = tuple(
        Figures(verdict=Verdict(int(arrays["verdict"][row])), **{name: column[row] for name, column in columns.items()})
        for row in range(count)
    )
    return ArchivedExplanation(
        at=at,
        keys=StringColumn.from_arrays(arrays, "keys"),
        sentences=StringColumn.from_arrays(arrays, "sentences"),
        figures=figures,
    )


def _rows_of(planning: Planning) -> I64:
    moved = [row for move in planning.plan.moves for row in move.rows][:MOST_MOVED]
    moved += np.flatnonzero(planning.plan.verdict == Verdict.SPLIT).tolist()
    hottest = np.argsort(-planning.plan.benefit_per_hour, kind="stable")[: len(moved) + MOST_OTHERS]
    others = hottest[~np.isin(hottest, moved)][:MOST_OTHERS]
    return np.concatenate([np.array(moved, dtype=np.int64), others.astype(np.int64)])
