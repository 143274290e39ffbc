"""Foreign keys: ALTER TABLE that drops one or adds one, and what it refuses."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from tests.labs.db2 import refusals
from tests.labs.db2.sessions import Session
from tests.labs.db2.text import name_of
from tests.labs.db2.world import ForeignKey, Table, World

_NAME = r'([A-Z_@#$][A-Z0-9_@#$]*|"[^"]+")'
_TABLE = rf"{_NAME} \. {_NAME}"
_COLUMNS = rf"\( ({_NAME.replace('(', '(?:')}(?: , {_NAME.replace('(', '(?:')})*) \)"
_DROP = re.compile(rf"ALTER TABLE {_TABLE} DROP (?:CONSTRAINT|FOREIGN KEY) {_NAME}")
_ADD = re.compile(
    rf"ALTER TABLE {_TABLE} ADD (?:CONSTRAINT {_NAME} )?FOREIGN KEY {_COLUMNS} REFERENCES {_TABLE}(?: {_COLUMNS})?"
    r"(?: ON DELETE (NO ACTION|RESTRICT|CASCADE|SET NULL))?(?: ON UPDATE (NO ACTION|RESTRICT))?"
    r"(?: (ENFORCED|NOT ENFORCED(?: (?:NOT )?TRUSTED)?))?(?: (ENABLE|DISABLE) QUERY OPTIMIZATION)?"
)
RULES = {"NO ACTION": "A", "RESTRICT": "R", "CASCADE": "C", "SET NULL": "N"}
_PLAIN_UNNAMED = "SQL201122082300"


@dataclass(frozen=True)
class _Change:
    """What one ALTER TABLE does."""

    table: tuple[str, str]
    drops: str = ""
    adds: ForeignKey | None = None


def is_key_change(said: list[str]) -> bool:
    """Whether it is an ALTER TABLE that drops or adds a constraint."""
    return read_key_change(said) is not None


def read_key_change(said: list[str]) -> _Change | None:
    """The statement taken apart; None where it is another."""
    text = " ".join(said)
    if dropped := _DROP.fullmatch(text):
        schema, name, key = (name_of(token) for token in dropped.groups())
        return _Change((schema, name), drops=key)
    if added := _ADD.fullmatch(text):
        return _addition(added)
    return None


def _addition(said: re.Match[str]) -> _Change:
    schema, name, key, columns, parent_schema, parent, parent_columns, deleted, updated, enforced, optimized = (
        said.groups()
    )
    child = (name_of(schema), name_of(name))
    return _Change(
        child,
        adds=ForeignKey(
            name=name_of(key) if key else _PLAIN_UNNAMED,
            child=child,
            columns=_names(columns),
            parent=(name_of(parent_schema), name_of(parent)),
            parent_columns=_names(parent_columns or ""),
            on_delete=RULES[deleted or "NO ACTION"],
            on_update=RULES[updated or "NO ACTION"],
            enforced=not (enforced or "").startswith("NOT"),
            trusted="NOT TRUSTED" not in (enforced or ""),
            optimized=optimized != "DISABLE",
        ),
    )


def _names(said: str) -> tuple[str, ...]:
    return tuple(name_of(word) for word in said.split(" , ")) if said else ()


def change_keys(world: World, session: Session, said: list[str]) -> None:
    """Do it: both tables are locked, and what is added is checked row by row; it takes effect at the commit.

    Raises:
        Refusal: SQL0204N, SQL0551N, SQL0573N, SQL0601N, SQL0667N, SQL0911N.
    """
    change = read_key_change(said)
    assert change is not None
    if not session.user.administrator and world.table(*change.table).owner != session.user.authid:
        raise refusals.not_allowed(session.user.authid, "ALTER", ".".join(change.table))
    with world.lock:
        key = change.adds or _existing(world, change)
        _check(world, change)
    _wait(world, session, key)
    began = time.monotonic()
    session.wait(lambda: change.adds is None or world.is_over("CHECK", began), math.inf)
    with world.lock:
        _check(world, change)
    session.pending.append(_doing(world, change, key))


def _doing(world: World, change: _Change, key: ForeignKey) -> Callable[[], None]:
    return lambda: world.foreign_keys.append(key) if change.adds else world.foreign_keys.remove(key)


def _existing(world: World, change: _Change) -> ForeignKey:
    world.table(*change.table)
    found = [key for key in world.foreign_keys if key.child == change.table and key.name == change.drops]
    if not found:
        raise refusals.undefined(change.drops)
    return found[0]


def _wait(world: World, session: Session, key: ForeignKey) -> None:
    tables = {key.child, key.parent}
    if not session.wait(lambda: not tables & world.locked, session.lock_seconds):
        raise refusals.lock_timeout()


def _check(world: World, change: _Change) -> None:
    """That it can be added: the parent has such a key, the name is free, and each row of the child has its parent."""
    key = change.adds
    if key is None:
        return
    child, parent = world.table(*key.child), world.table(*key.parent)
    if any(other.child == key.child and other.name == key.name for other in world.foreign_keys):
        raise refusals.exists(key.name, "CONSTRAINT")
    if not _identifies(parent, key):
        raise refusals.no_parent_key(key.name)
    if key.enforced and child.orphans:
        raise refusals.rows_without_parent(key.name)


def _identifies(parent: Table, key: ForeignKey) -> bool:
    """Whether a unique index of the parent has those columns, or any is primary where none was named."""
    keys = [{word.lstrip("+-") for word in one.columns.split()} for one in parent.indexes if one.unique in "UP"]
    return set(key.parent_columns) in keys if key.parent_columns else bool(keys)
