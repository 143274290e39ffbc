"""Why nothing can come under a template that people have signed, as the agent saw it with its last plan.

What a connector finds due under such a template is nothing, which looks like a quiet day. So it is asked for a template
of the same kind, as for a new rule, and its refusal is noted for commands, which then need not ask the database.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from agent.ledger.ledger import Ledger
from agent.ledger.rows import RuleRow, RuleState
from agent.ledger.state_names import UNSERVED_RULES
from connectors.kit.contract import Connector, FillsTemplates
from connectors.kit.rolling import seconds_of
from connectors.kit.templates import StatementTemplate
from connectors.model.moves import ByHand, NoRoute

_NOTHING_LEFT = "already_there"  # all partitions have aged and are where they belong: the next one comes of its own


@dataclass(frozen=True, slots=True)
class Unserved:
    """Of one rule."""

    why: str  # a sentence without its end
    seen_at: datetime


def note_unserved(
    ledger: Ledger, database: str, rules: Collection[RuleRow], connector: Connector, fingerprint: str
) -> None:
    """Ask about every open rule over a template of this database, and note the refusals.

    Raises:
        ConnectorError: the engine did not answer.
    """
    templates = {str(row.number): row.rule.template for row in rules
                 if row.state is RuleState.OPEN and row.rule.fingerprint == fingerprint}  # fmt: skip
    asked = {number: _refusal(connector, template) for number, template in templates.items() if template is not None}
    if asked:
        ledger.state.save_document(database, UNSERVED_RULES, {number: why for number, why in asked.items() if why})


def unserved_of(ledger: Ledger, row: RuleRow) -> Unserved | None:
    """What was noted of an open rule; None: it can be served, or no agent has looked."""
    stored = ledger.state.load_document(row.rule.database, UNSERVED_RULES)
    if stored is None or row.state is not RuleState.OPEN:
        return None
    seen_at, reasons = stored
    why = reasons.get(str(row.number), "")
    return Unserved(why, seen_at) if why else None


def _refusal(connector: Connector, template: StatementTemplate) -> str:
    if not isinstance(connector, FillsTemplates):
        return ""
    answer = connector.template(template.kind, template.table, template.space, seconds_of(template))
    if isinstance(answer, ByHand):
        return answer.because
    return answer.sentence if isinstance(answer, NoRoute) and answer.code != _NOTHING_LEFT else ""
