"""Texts of the statements that outcomes list, where the configuration wants them, and what became of each in words.

Texts are without literals, and never in the audit chain, so that they can be forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress

from agent.config.models import DatabaseConfig, Statements
from agent.ledger.ledger import Ledger
from agent.ledger.state_names import STATEMENT_TEXTS
from agent.model.outcomes import Outcome
from connectors.kit.contract import Connector, ConnectorError
from connectors.kit.statements import ReadsStatements

MOST_TEXTS = 200  # that are kept, the newest


def keep_texts(ledger: Ledger, database: DatabaseConfig, connector: Connector, outcome: Outcome) -> None:
    """Keep the texts of what an outcome lists; forget all where the configuration wants none (any longer)."""
    known = dict(texts_of(ledger, database.name))
    if database.statements is not Statements.TEXTS:
        if known:
            ledger.state.save_document(database.name, STATEMENT_TEXTS, {})
        return
    if outcome.statements is None or not isinstance(connector, ReadsStatements):
        return
    ids = [each.id for each in (*outcome.statements.slower, *outcome.statements.faster, *outcome.statements.grown)]
    with suppress(ConnectorError):  # the outcome stands without them
        found = connector.statement_texts(ids)
        kept = {**{id_: text for id_, text in known.items() if id_ not in found}, **found}
        ledger.state.save_document(database.name, STATEMENT_TEXTS, dict(list(kept.items())[-MOST_TEXTS:]))


def texts_of(ledger: Ledger, database: str) -> Mapping[str, str]:
    """The texts that are kept, by id."""
    stored = ledger.state.load_document(database, STATEMENT_TEXTS)
    return {} if stored is None else stored[1]


def statement_lines(outcome: Outcome, texts: Mapping[str, str]) -> Iterator[str]:
    """What became of single statements, the worst first and then the gains; nothing where none were compared."""
    if outcome.statements is None:
        return
    yield outcome.statements.sentence
    found = outcome.statements
    for word, changes in (("slower", found.slower), ("faster", found.faster), ("reads more", found.grown)):
        for change in changes:
            text = texts.get(change.id, "")
            yield f"{word}: {change.sentence}{f': {text}' if text else ''}"
