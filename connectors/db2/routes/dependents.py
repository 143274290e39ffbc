"""What belongs to a table and has to be there again when ADMIN_MOVE_TABLE has made a new one of it. Pure.

The route holds it as it was when it was planned; what is found after the move is compared with that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from connectors.db2.reading.names import parse_key, readable
from connectors.db2.reading.tables import MADE_BY_SERVER, IndexFacts, TableFacts
from connectors.db2.routes.manual_statements import revalidate
from connectors.db2.routes.restrictions import written_name
from connectors.move_effects import Kept

INDEX, STATISTICS, KEY, TRIGGER = "index ", "statistics of ", "foreign key ", "trigger "
DEFINITION, CONSTRAINT, ATTRIBUTES = "definition of trigger ", "constraint ", "attributes of index "
COLLECTED, GRANTED, THERE = "collected", "granted", "there"
_RULES = {"P": "primary key", "U": "unique", "D": "duplicates allowed"}
INVALID = "invalid"
_VALID = {"Y": "valid", "N": INVALID, "X": "inoperative"}


def belongings(table: TableFacts) -> tuple[Kept, ...]:
    """Indexes, triggers, views, statistics, check constraints, owner and grants, each with what must not change."""
    return tuple(Kept(what=what, how=how) for what, how in _all_of(table))


def changes(before: Sequence[Kept], table: TableFacts) -> tuple[str, ...]:
    """What is not as it was, one clause each; new objects are no loss and are not named.

    Args:
        before: as ``belongings`` had it.
        table: as it is now.
    """
    now = dict(_all_of(table))
    known = {kept.what for kept in before}
    new = Counter(how for what, how in now.items() if what.startswith(INDEX) and what not in known)
    found = []
    for kept in before:
        if table.constraints is None and kept.what.startswith(CONSTRAINT):
            continue  # ``remarks`` has said so
        if kept.what.startswith(STATISTICS + INDEX) and kept.what.removeprefix(STATISTICS) not in now:
            continue  # statistics of an index whose own loss is reported already
        if kept.what.startswith(ATTRIBUTES) and f"{INDEX}{kept.what.removeprefix(ATTRIBUTES)}" not in now:
            continue  # likewise
        if kept.what.startswith(DEFINITION) and f"{TRIGGER}{kept.what.removeprefix(DEFINITION)}" not in now:
            continue  # likewise
        # An index of the same properties under a new name is that index, not a loss: somebody would look for it in
        # vain.
        if kept.what not in now and kept.what.startswith(INDEX) and new[kept.how]:
            new[kept.how] -= 1
            found.append(f"{kept.what} has another name now")
        elif kept.what not in now:
            found.append(_loss_sentence(kept, written_name(table)))
        elif now[kept.what] != kept.how:
            found.append(_another(kept, now[kept.what]))
    return tuple(found)


def _loss_sentence(kept: Kept, table: str) -> str:
    if kept.what.startswith(STATISTICS):
        return f"{kept.what} are gone: RUNSTATS ON TABLE {table} AND INDEXES ALL"
    return f"{kept.what} ({kept.how}) is gone"


def _another(kept: Kept, now: str) -> str:
    clause = f"{kept.what} was {kept.how} and is {now}"
    if now != INVALID:
        return clause
    kind, _, name = kept.what.partition(" ")
    key = parse_key(name)
    return f"{clause} until it is used, or at once {revalidate(kind.upper(), key.schema, key.name)}"


def _all_of(table: TableFacts) -> Iterator[tuple[str, str]]:
    name = written_name(table)
    for index in table.indexes:
        if index.made_by_server:  # its name is another one after every copy
            yield f"{MADE_BY_SERVER[index.kind]} on {' '.join(index.columns)}", THERE
            continue
        yield f"{INDEX}{index.name}", _properties(index)
        if index.others:
            yield f"{ATTRIBUTES}{index.name}", ", ".join(index.others)
        if index.analysed:
            yield f"{STATISTICS}{INDEX}{index.name}", COLLECTED
    for trigger, valid in table.triggers:
        yield f"{TRIGGER}{trigger}", _VALID.get(valid, valid)
    for trigger, definition in table.trigger_definitions:
        yield f"{DEFINITION}{trigger}", definition
    for constraint in table.constraints or ():
        yield (
            (f"{CONSTRAINT}{readable(constraint.name)} of {name}", constraint.definition)
            if constraint.named
            else (f"{CONSTRAINT}of {name}: {constraint.definition}", THERE)
        )
    for view in table.views:
        yield f"view {view}", _VALID["N"] if view in table.invalid_views else _VALID["Y"]
    if table.analysed:
        yield f"{STATISTICS}{name}", COLLECTED
    for key in table.foreign_keys:
        yield f"{KEY}{key}", key.definition
    if table.checks:
        yield f"number of check constraints of {name}", str(table.checks)
    for grant in table.grants:
        yield grant, GRANTED
    if table.owner:
        yield f"owner of {name}", table.owner


def _properties(index: IndexFacts) -> str:
    """What of an index no move may change; its table space may."""
    words = [_RULES.get(index.rule, index.rule), f"on {' '.join(index.columns)}", index.kind]
    return ", ".join([*words, *(["compressed"] if index.compressed else [])])
