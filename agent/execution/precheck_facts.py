"""Reads what the precheck compares an approval with: catalog, spaces, closed arrivals, expected copy times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent.config import DatabaseConfig
from agent.execution.gate import Gate
from agent.execution.precheck import Facts
from agent.explanation.ranking import ranking_from_arrays
from agent.ledger import Ledger, MoveRow
from agent.ledger.grouping import group_of
from agent.ledger.state_names import RANKING
from agent.model.states import CARRIED_OUT, TO_BEGIN
from agent.planning.containers import without
from agent.planning.routing import derives
from agent.planning.situation import rows_of_keys
from connectors.base import Clock, Connector
from connectors.model import Space


class FactReader:
    """Reads the facts of one database, afresh at every call."""

    def __init__(
        self, database: DatabaseConfig, connector: Connector, ledger: Ledger, clock: Clock, gate: Gate
    ) -> None:
        """Wire it up.

        Args:
            database: its configuration.
            connector: over the moving account.
            ledger: which spaces are closed to arrivals.
            clock: time.
            gate: how long a copy is expected to take.
        """
        self._database = database
        self._connector = connector
        self._ledger = ledger
        self._clock = clock
        self._gate = gate

    def read(self, rows: Sequence[MoveRow]) -> list[Facts]:
        """The facts of each of some moves, all of one instant.

        Raises:
            ConnectorError: the engine did not answer.
        """
        # One catalog for all moves of the group: read move by move, another session's DDL in between could make each
        # fit and the group not.
        catalog = self._connector.catalog()
        storage = self._database.resolve_spaces(catalog)
        row_of = rows_of_keys(catalog.units.key, {key for row in rows for key in row.move.route.bundle.unit_keys})
        spaces = {space.name: space for space in storage.spaces}
        closed = {each.space for each in self._ledger.arrivals.rows(self._database.name)}
        fingerprint = self._connector.identify().fingerprint
        conditions = self._ledger.proposals.conditions(rows[0].proposal_id)
        siblings = self._ledger.moves.rows(proposal_id=rows[0].proposal_id)
        against, now = self._rule_against(rows, siblings), self._clock.now()
        template = self._ledger.rules.template_of(rows[0].proposal_id) if against == "" else None
        return [
            Facts(
                now=now,
                fingerprint=fingerprint,
                inspection=self._connector.inspect(row.move.route),
                table_ids={
                    key: catalog.units.table_ids([row_of[key]])[0]
                    for key in row.move.route.bundle.unit_keys
                    if key in row_of
                },
                target=_target(row, spaces),
                head_room_ratio=self._database.policy_settings().head_room_ratio,
                conditions=conditions,
                rule_against=against or "",
                underivable=against == "" and not derives(self._connector, row.move.route, template, now),
                carried_bytes=sum(each.move.size_bytes for each in siblings if each.state in CARRIED_OUT),
                gain_per_hour=self._gain(siblings) if conditions.least_gain_per_hour is not None else None,
                closed=not row.move.route.bundle.container and row.move.to_space in closed,
                seconds=self._gate.seconds(row),
            )
            for row in rows
        ]

    def _rule_against(self, rows: Sequence[MoveRow], siblings: Sequence[MoveRow]) -> str | None:
        """Why the standing rule of some moves lets none of them begin now; "" where it does.

        None: a person approved them, or their group was begun under the rule and is to be completed.
        """
        if any(row.state not in TO_BEGIN for row in group_of(siblings, rows[0])):
            return None
        return self._ledger.rules.why_not_begin(rows[0].proposal_id)

    def _gain(self, siblings: Sequence[MoveRow]) -> float | None:
        """Wait an hour that the moves of a proposal which have yet to begin save by the newest plan."""
        stored = self._ledger.state.load_arrays(self._database.name, RANKING)
        if stored is None:
            return None
        ranking = ranking_from_arrays(stored[1])
        keys = {row.move.key for row in siblings if row.state in TO_BEGIN}
        return float(sum(ranking.saved_if_moved[at] for at in rows_of_keys(ranking.key, keys).values()))


def _target(row: MoveRow, spaces: Mapping[str, Space]) -> Space | None:
    """The space that a move names, without the container that it empties; None where the space is gone."""
    target, container = spaces.get(row.move.to_space), row.move.route.bundle.container
    return without(target, container) if target is not None and container else target
