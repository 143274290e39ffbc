"""Reads what the precheck compares an approval with: catalog, spaces, closed arrivals, expected copy times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent.config import DatabaseConfig
from agent.execution.gate import Gate
from agent.execution.precheck import Facts
from agent.ledger import Ledger, MoveRow
from agent.planning.containers import without
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
        catalog = self._connector.catalog()
        storage = self._database.resolve_spaces(catalog)
        row_of = rows_of_keys(catalog.units.key, {key for row in rows for key in row.move.route.bundle.unit_keys})
        spaces = {space.name: space for space in storage.spaces}
        closed = {each.space for each in self._ledger.arrivals.rows(self._database.name)}
        fingerprint = self._connector.identify().fingerprint
        return [
            Facts(
                now=self._clock.now(),
                fingerprint=fingerprint,
                inspection=self._connector.inspect(row.move.route),
                table_ids={
                    key: catalog.units.table_ids([row_of[key]])[0]
                    for key in row.move.route.bundle.unit_keys
                    if key in row_of
                },
                target=_target(row, spaces),
                head_room_ratio=self._database.policy_settings().head_room_ratio,
                closed=not row.move.route.bundle.container and row.move.to_space in closed,
                seconds=self._gate.seconds(row),
            )
            for row in rows
        ]


def _target(row: MoveRow, spaces: Mapping[str, Space]) -> Space | None:
    """The space that a move names, without the container that it empties; None where the space is gone."""
    target, container = spaces.get(row.move.to_space), row.move.route.bundle.container
    return without(target, container) if target is not None and container else target
