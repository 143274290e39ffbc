"""What is looked at only where the configuration names the licence for it: ADO policies and AWR's history of a segment.

Neither V$OPTION nor CONTROL_MANAGEMENT_PACK_ACCESS proves that a site has bought anything, so nothing is concluded from
them. ASH and Heat Map are never read, and nothing of all this is ever switched on.
"""

from __future__ import annotations

from dataclasses import replace

from connectors.oracle.reading.facts import Facts
from connectors.oracle.session.queries import query
from connectors.oracle.session.server import CONTAINERS_SINCE, Server
from connectors.oracle.session.sessions import ReadSession
from connectors.oracle.settings import OracleSettings

AWR_DAYS = 7  # of history: a week has every batch run, and is kept by default (DBA_HIST_WR_CONTROL: 8 days)


def with_licensed_facts(facts: Facts, session: ReadSession, server: Server, settings: OracleSettings) -> Facts:
    """The facts and what the licences of the site add to them.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    if "advanced_compression" in settings.licensed and server.since(*CONTAINERS_SINCE):
        names = {"owner": facts.table_owner, "name": facts.table}
        found = session.rows(query("ado"), names, doing="looking for ADO policies")
        facts = replace(facts, ado_policies=int(found[0][0]))
    if "diagnostics_pack" in settings.licensed:
        facts = replace(facts, history=_history(facts, session, server))
    return facts


def _history(facts: Facts, session: ReadSession, server: Server) -> str:
    name = "awr_container" if server.in_cdb else "awr"
    values = {"obj": facts.lead.object_id, "days": AWR_DAYS}
    snapshots, seen, blocks, calls = session.rows(query(name), values, doing="reading AWR segment history")[0]
    if not snapshots:
        return f"AWR has no snapshot of the last {AWR_DAYS} days"
    if not seen:
        return f"AWR: in none of {snapshots} snapshots of the last {AWR_DAYS} days among the segments that stood out"
    return (
        f"AWR: in {seen} of {snapshots} snapshots of the last {AWR_DAYS} days among the segments that stood out, with "
        f"{int(blocks or 0)} blocks in {int(calls or 0)} calls"
    )
