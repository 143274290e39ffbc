"""Traces: demand collected for a chosen time, separate from the heat that the agent always keeps.

``hotplace trace on`` stores a mark in the ledger; the process that samples the database (the daemon, or a command that
observes) collects while the mark says so. Collecting again adds to the trace until it is cleared. A trace is a
plain mean over its intervals: every interval counts by its length, however long ago it was.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from agent.ledger.errors import NotFound
from agent.ledger.ledger import Ledger
from agent.ledger.state_names import TRACE_FIGURES, TRACE_HEAT
from agent.sampling.trace_marks import TraceFigures, plain, read_figures, read_mark
from connectors.model.observation import I64, Demand
from policies.evidence import heat
from policies.model.plan import HeatView
from policies.model.settings import PolicySettings

PLAIN_MEAN = replace(PolicySettings(), half_life_seconds=1e9, long_half_life_seconds=1e9)  # s: nothing ever fades


class NothingTraced(NotFound):
    """A plan was to be made from an empty trace."""


def traced_heat(ledger: Ledger, database: str, slots: I64) -> HeatView | None:
    """What was collected, as heat of the units of these slots; None where nothing was. Taken to be sure."""
    if not read_figures(ledger, database).intervals:
        return None
    stored = ledger.state.load_arrays(database, TRACE_HEAT)
    if stored is None:
        return None
    view = heat.view(heat.state_from_arrays(stored[1]), slots)
    return HeatView(
        rates=view.rates,
        observed_seconds=view.observed_seconds,
        confidence=np.where(view.observed_seconds > 0, 1.0, 0.0),
    )


class Tracer:
    """Collects for one database. Used by the sampler, in its thread."""

    def __init__(self, database: str, ledger: Ledger) -> None:
        self._database = database
        self._ledger = ledger
        self._figures = TraceFigures(generation=-1)
        self._heat = heat.empty_heat()

    def record_interval(self, demand: Demand, slots: I64, known: I64) -> None:
        """Let one interval pass; it is kept in the ledger at once, if it belongs to the trace.

        Args:
            demand: rates of the units that had any.
            slots: slot of each column of ``demand``, -1 where it has none.
            known: slots of all units that exist now.
        """
        mark = read_mark(self._ledger, self._database)
        if not mark.collects(demand.ended_at):
            return
        # Loaded again only after a clear or a start: reading the collected heat of all units at every interval would
        # cost as much as writing it.
        if self._figures.generation != mark.generation:
            self._load()
        self._heat = heat.update(self._heat, demand, slots, known, PLAIN_MEAN)
        self._figures = replace(
            self._figures,
            generation=mark.generation,
            intervals=self._figures.intervals + 1,
            seconds=self._figures.seconds + demand.seconds,
            last=demand.ended_at,
        )
        self._ledger.state.save_arrays(self._database, TRACE_HEAT, demand.ended_at, heat.state_arrays(self._heat))
        self._ledger.state.save_document(self._database, TRACE_FIGURES, plain(self._figures))

    def _load(self) -> None:
        """Go on with what was collected by another process, or before a restart."""
        self._figures = read_figures(self._ledger, self._database)
        stored = self._ledger.state.load_arrays(self._database, TRACE_HEAT) if self._figures.intervals else None
        self._heat = heat.empty_heat() if stored is None else heat.state_from_arrays(stored[1])
