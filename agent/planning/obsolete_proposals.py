"""What waits for a decision: which questions people have asked, and which proposals have nothing left to do."""

from __future__ import annotations

from collections.abc import Mapping

from agent.ledger import Ledger, ProposalRow
from agent.model.proposals import Proposal, ProposedMove
from agent.model.states import ProposalState
from agent.planning.situation import rows_of_keys
from connectors.containers import find_container
from connectors.model import Catalog


def requested_purposes(ledger: Ledger, database: str) -> frozenset[str]:
    """Purposes of the undecided proposals that were requested by a command."""
    return frozenset(row.proposal.purpose for row in _waiting(ledger, database) if row.proposal.asked_by)


def end_obsolete_proposals(ledger: Ledger, database: str, fingerprint: str, catalog: Catalog) -> None:
    """End what waits for a decision and has nothing left to do.

    Args:
        ledger: the durable record.
        database: its name in the configuration.
        fingerprint: of the database as it answers now.
        catalog: as last read.
    """
    for row in _waiting(ledger, database):
        why = why_obsolete(row.proposal, fingerprint, catalog)
        if why is not None:
            ledger.proposals.end(row.id, f"nothing of it is left to do: {why}")


def why_obsolete(proposal: Proposal, fingerprint: str, catalog: Catalog) -> str | None:
    """Why none of the proposal's moves could begin, one sentence without a full stop; None where one could.

    One is enough: prechecks skip the others, and look closer. An older catalog than the proposal says nothing about it.
    """
    if proposal.fingerprint != fingerprint:
        return "it was made for another database than the one that answers now"
    if catalog.taken_at < proposal.created_at:
        return None
    units = catalog.units
    row_of = rows_of_keys(units.key, {key for move in proposal.moves for key in move.route.bundle.unit_keys})
    home_of = {key: catalog.spaces[int(units.space[row])].name for key, row in row_of.items()}
    reasons = [_reason_it_left(move, home_of, catalog) for move in proposal.moves]
    return reasons[0] if all(reasons) else None


def _waiting(ledger: Ledger, database: str) -> list[ProposalRow]:
    ledger.proposals.expire_due()
    return ledger.proposals.rows(database=database, states={ProposalState.PROPOSED})


def _reason_it_left(move: ProposedMove, home_of: Mapping[str, str], catalog: Catalog) -> str | None:
    if move.route.bundle.container:
        return _lost_container(move, catalog)
    if not move.route.bundle.unit_keys:  # a partition that is to be made: prechecks see whether it is there
        return None
    homes = {home_of[key] for key in move.route.bundle.unit_keys if key in home_of}
    if move.from_space in homes:
        return None
    if not homes:
        return f"{move.what} is gone"
    return f"{move.what} is in {', '.join(sorted(homes))}, not in {move.from_space}"


def _lost_container(move: ProposedMove, catalog: Catalog) -> str | None:
    """Why a container that should leave is missing.

    None for one that is put back (it does not exist yet), and where the engine shows no containers.
    """
    name = move.route.bundle.container
    containers = next((space.containers for space in catalog.spaces if space.name == move.from_space), None)
    if containers is None:
        return f"space {move.from_space} is gone"
    if move.undoes is not None or not containers or find_container(containers, name) is not None:
        return None
    return f"{move.from_space} has no container {name} any more"
