"""How far a running step is, in bytes: by extents of a rebalance, by rows of a copy."""

from __future__ import annotations

from connectors.db2.moving.inspection import read_rebalance
from connectors.db2.reading.tables import MoveProtocol, read_protocol
from connectors.db2.routes.operations import Phase, change_of, phase_of
from connectors.db2.session.sessions import ReadSession
from connectors.model import Progress, Route, Step

_BEFORE_COPY = frozenset({"INIT"})
_CARD = 8  # column of the query "table"


def progress_of(session: ReadSession, route: Route, step: Step) -> Progress | None:
    """How far the step is; None for a step that reports no progress.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    total = max(1, route.bundle.size_bytes)
    change = change_of(step)
    if change is not None:
        state = read_rebalance(session, change.space)
        share = state.done_extents / state.extents if state.extents else 0.0
        how = "suspended" if state.suspended else "rebalancing"
        sentence = f"{how}: {change.space} to {route.to_space}, {state.done_extents} of {state.extents} extents"
        return Progress(done_bytes=round(total * share), total_bytes=total, sentence=sentence)
    phase = phase_of(step)
    if phase is None:
        return None
    protocol = read_protocol(session, phase.schema, phase.table)
    rows = session.rows("table", (phase.schema, phase.table), doing=f"looking up {phase.schema}.{phase.table}")
    return Progress(
        done_bytes=round(total * copied_share(phase, protocol, int(rows[0][_CARD] or 0) if rows else 0)),
        total_bytes=total,
        sentence=f"{phase.operation}: {route.bundle.key} to {route.to_space}, {protocol.copied_rows} rows copied",
    )


def copied_share(phase: Phase, protocol: MoveProtocol, rows: int) -> float:
    """Share of the bytes that are in the target: while copying that of the rows, by the table's last statistics.

    Without statistics (a negative count) a copy counts as nothing until it has ended.
    """
    if phase.operation in _BEFORE_COPY:
        return 0.0
    if phase.operation != "COPY":
        return 1.0
    return min(1.0, protocol.copied_rows / rows) if rows > 0 else 0.0
