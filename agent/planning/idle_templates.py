"""Why nothing can come under a template that people have signed, as the agent saw it with its last plan.

What a connector finds due under such a template is nothing, which looks like a quiet day. So it is asked for a template
of the same kind, as for a new rule, and its refusal is noted for commands, which then need not ask the database.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from agent.ledger.ledger import Ledger
from agent.ledger.rows import RuleRow, RuleState
from agent.ledger.state_names import UNSERVED_RULES
from agent.model.proposals import purpose_of_template
from agent.model.states import APPROVED_PROPOSALS, IN_PLACE, NOT_REACHED
from connectors.kit.contract import Connector, FillsTemplates
from connectors.kit.rolling import seconds_of
from connectors.kit.templates import StatementTemplate
from connectors.model.moves import ByHand, NoRoute

IN_VAIN = 2  # proposals under a rule in a row that brought nothing before a notice is sent
_LOOKS_BACK = timedelta(days=30)
_NOTHING_LEFT = "already_there"  # all partitions have aged and are where they belong: the next one comes of its own


@dataclass(frozen=True, slots=True)
class Unserved:
    """Of one rule."""

    why: str  # a sentence without its end
    seen_at: datetime


def note_unserved(
    ledger: Ledger, database: str, rules: Collection[RuleRow], connector: Connector, fingerprint: str, now: datetime
) -> dict[int, str]:
    """Ask about every open rule over a template of this database, note the refusals, and return them by rule.

    Raises:
        ConnectorError: the engine did not answer.
    """
    templates = {str(row.number): row.rule.template for row in rules
                 if row.state is RuleState.OPEN and row.rule.fingerprint == fingerprint}  # fmt: skip
    asked = {number: _refusal(connector, template) for number, template in templates.items() if template is not None}
    in_vain = {number: why or _in_vain(ledger, database, templates[number], now) for number, why in asked.items()}
    refused = {number: why for number, why in in_vain.items() if why}
    if asked:
        ledger.state.save_document(database, UNSERVED_RULES, refused)
    return {int(number): why for number, why in refused.items()}


def unserved_of(ledger: Ledger, row: RuleRow) -> Unserved | None:
    """What was noted of an open rule; None: it can be served, or no agent has looked."""
    stored = ledger.state.load_document(row.rule.database, UNSERVED_RULES)
    if stored is None or row.state is not RuleState.OPEN:
        return None
    seen_at, reasons = stored
    why = reasons.get(str(row.number), "")
    return Unserved(why, seen_at) if why else None


def _in_vain(ledger: Ledger, database: str, template: StatementTemplate | None, now: datetime) -> str:
    """Why the last proposals under a template brought nothing, where it was so ``IN_VAIN`` times; "" where not."""
    purpose = "" if template is None else purpose_of_template(template)
    known = ledger.proposals.each(database=database, states=APPROVED_PROPOSALS, since=now - _LOOKS_BACK)
    reasons: list[str] = []
    for moves in (ledger.moves.rows(proposal_id=row.id) for row in known if row.proposal.purpose == purpose):
        if any(row.state in IN_PLACE for row in moves):
            break
        if moves and all(row.state in NOT_REACHED for row in moves):
            reasons.append(moves[0].reason)
        if len(reasons) == IN_VAIN:
            return f"the last {IN_VAIN} proposals under it brought nothing: {reasons[0]}"
    return ""


def _refusal(connector: Connector, template: StatementTemplate) -> str:
    if not isinstance(connector, FillsTemplates):
        return ""
    answer = connector.template(template.kind, template.table, template.space, seconds_of(template))
    if isinstance(answer, ByHand):
        return answer.because
    return answer.sentence if isinstance(answer, NoRoute) and answer.code != _NOTHING_LEFT else ""
