"""What indexes, constraints and triggers of a table say of themselves in the catalog, as texts that are compared. Pure.

A copy of a table has to have all of it: a constraint that is believed where it was not makes queries leave out rows, a
trigger with another path calls other functions.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from connectors.db2.session.sessions import Row

OF_THE_SERVER = re.compile(r"SQL\d{15}")  # the name of a constraint to which nobody has given one
_KINDS = {"P": "primary key", "U": "unique", "K": "check", "I": "functional dependency"}  # SYSCAT.TABCONST.TYPE
_DIGITS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """A row of SYSCAT.TABCONST with its columns, or its condition."""

    name: str
    definition: str

    @property
    def named(self) -> bool:
        """Whether somebody has named it; the server's names are others after every copy."""
        return not OF_THE_SERVER.fullmatch(self.name)


def constraints_of(
    rows: Sequence[Row], checks: Sequence[Row], columns: Mapping[str, Sequence[str]]
) -> tuple[Constraint, ...]:
    """The constraints of a table.

    Args:
        rows: of ``sql/table_constraints.sql``.
        checks: of ``sql/table_checks.sql``.
        columns: of each key, by the name of its constraint.
    """
    conditions = {str(name): f"{kind} {_short(text)}" for name, kind, text in checks}
    found = []
    for name, kind, *others in rows:
        on = conditions.get(str(name)) or " ".join(columns.get(str(name), ()))
        words = [_KINDS.get(str(kind), str(kind)), on, *_of_constraint(others)]
        found.append(Constraint(name=str(name), definition=", ".join(filter(None, words))))
    return tuple(sorted(found, key=lambda each: (each.name, each.definition)))


def _of_constraint(row: Sequence[object]) -> Iterator[str]:
    owner, enforced, checked, optimized, trusted, period, policy, remarks = row
    yield f"owned by {owner}"
    yield {"Y": "enforced", "N": "not enforced"}.get(str(enforced), str(enforced))
    yield _of(trusted, {"Y": "trusted", "N": "not trusted"})
    yield "" if str(checked) == "I" else f"existing rows {checked}"
    yield "" if str(optimized) == "Y" else f"query optimization {optimized}"
    yield f"period {period} {policy}" if period else ""
    yield f"remarks {remarks}" if remarks else ""


def definition_of_trigger(row: Row) -> str:
    """Everything that a row of ``sql/table_triggers.sql`` says behind VALID."""
    owner, time, event, update, delete, insert, granularity, qualifier, path, schema, collation, text, remarks = row
    words = (
        f"owned by {owner}",
        f"{time}{event}{granularity}",
        "".join(str(each or "") for each in (update, delete, insert)),
        f"in {qualifier}" if qualifier else "",
        f"path {path}" if path else "",
        f"collation {schema}.{collation}" if collation else "",
        _short(text),
        f"remarks {remarks}" if remarks else "",
    )
    return ", ".join(filter(None, words))


def words_of_index(row: Sequence[object]) -> tuple[str, ...]:
    """What the last columns of ``sql/table_indexes.sql`` say, where it is not what every index has."""
    free, reverse, made_unique, entries, owner, remarks = row
    words = (
        f"pctfree {free}" if free is not None and int(str(free)) >= 0 else "",
        "" if str(reverse or "Y") == "Y" else "no reverse scans",
        "" if str(made_unique or "N") == "N" else "made unique",
        f"entries {entries}" if str(entries or "").strip() else "",
        f"owned by {owner}" if owner else "",
        f"remarks {remarks}" if remarks else "",
    )
    return tuple(filter(None, words))


def _of(value: object, words: Mapping[str, str]) -> str:
    return words.get(str(value or "").strip(), "")


def _short(text: object) -> str:
    """A text that may be long, as what tells it from another; blanks between words do not matter."""
    plain = " ".join(str(text or "").split())
    return f"text {hashlib.sha256(plain.encode()).hexdigest()[:_DIGITS]}" if plain else ""
