"""Statements about tables of a schema that the lab was given: what Derby does of each, and what becomes of the world.

Derby gets what it knows: columns, constraints, keys, rows. What it does not know (table spaces, dimensions, partitions,
comments, rights) goes into the world alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tests.labs.db2 import load, refusals
from tests.labs.db2.sessions import User
from tests.labs.db2.tables.clauses import (
    closing,
    index_columns,
    names_of,
    read_bounds,
    read_columns,
    read_constraint,
)
from tests.labs.db2.tables.definition import LARGE_BYTES, Constraint, Definition
from tests.labs.db2.text import joined, name_of, string_of, words
from tests.labs.db2.world import PAGE_SIZE, Index, Part, Table, World

Name = tuple[str, str]
USED_BYTES = PAGE_SIZE - 76  # of a page; the rest is its head
KEY_BYTES = 24  # of an index for each row
CLAUSES = {  # of CREATE TABLE, after its columns; since which version
    "ORGANIZE BY INSERT TIME": (10, 1),
    "ORGANIZE BY COLUMN": (10, 5),
}


@dataclass(frozen=True, slots=True)
class Change:
    """One statement."""

    derby: str  # what Derby is given; "": nothing
    table: Name
    mode: str  # of its lock of the table: IS, IX, S, X
    done: Callable[[int], None]  # once Derby has done it: given the number of rows


class Tables:
    """Understands them for one world."""

    def __init__(self, world: World) -> None:
        self._world = world

    def understand(self, user: User, text: str) -> Change | None:
        """The statement, or None where it is about no table of such a schema.

        Raises:
            Refusal: SQL0104N, SQL0204N, SQL0552N.
        """
        said = words(text)
        if (counted := self._count(user, said)) is not None:
            return counted
        if not self._world.schemas:
            return None
        kinds: tuple[tuple[str, Callable[[User, Sequence[str]], Change | None]], ...] = (
            ("CREATE TABLE", self._create_table),
            ("CREATE INDEX", self._create_index),
            ("CREATE UNIQUE", self._create_index),
            ("ALTER TABLE", self._alter),
            ("DROP TABLE", self._drop),
            ("INSERT INTO", self._insert),
            ("DELETE FROM", self._delete),
            ("UPDATE", self._update),
            ("LOCK TABLE", self._lock),
            ("COMMENT ON", self._comment),
            ("GRANT", self._grant),
            ("SELECT", self._select),
            ("BEGIN", self._loop),
        )
        for beginning, understood in kinds:
            if said[: len(beginning.split())] == beginning.split():
                return understood(user, said)
        return None

    # -- what there is -------------------------------------------------------------------------------------------

    def _create_table(self, user: User, said: Sequence[str]) -> Change | None:
        name = self._named(said, 2)
        if name is None:
            return None
        self._insist(user, name[0], "CREATE TABLE")
        end = closing(said, 5)
        made = read_columns(said[6:end])
        tail = list(said[end + 1 :])
        table = self._table(name, made, tail, user)
        return Change(joined(said[: end + 1]), name, "X", lambda _: self._add(table))

    def _table(self, name: Name, made: Definition, tail: list[str], user: User) -> Table:
        """The table by its clauses.

        Raises:
            Refusal: SQL0104N: a clause that the lab, or this version, does not know; SQL0204N.
        """
        clauses = " ".join(tail)
        for clause, since in CLAUSES.items():
            if clause in clauses and self._world.version < since:
                raise refusals.syntax(clause)
        organized = "C" if "ORGANIZE BY COLUMN" in clauses else "R"
        clustered = "T" if "ORGANIZE BY INSERT TIME" in clauses else "Y" if "DIMENSIONS" in tail else ""
        table = Table(
            *name, 0, self._parts(tail, made), [], organized=organized, clustered=clustered, analysed=False,
            owner=user.authid, made=made,
        )  # fmt: skip
        for kind, columns in self._own_indexes(tail, organized):
            self._add_index(table, self._world.system_index(), ("SYSIBM", columns, "D", kind))
        return table

    def _parts(self, tail: list[str], made: Definition) -> list[Part]:
        homes = [self._space(tail, clause) for clause in ("IN", "INDEX IN", "LONG IN")]
        if "RANGE" not in tail:
            data = homes[0] or self._default()
            return [Part(0, "PART0", self._world.next_file_id(), data, homes[1] or data, homes[2] or data, 0)]
        at = tail.index("(", tail.index(")", tail.index("RANGE")))
        bounds = read_bounds(tail[at + 1 : closing(tail, at)])
        made.bounds = [(low, high) for _, _, low, high in bounds]
        index = homes[1] or bounds[0][1]
        return [
            Part(number, name, self._world.next_file_id(), self._world.space(space).name, index, space, 0)
            for number, (name, space, _, _) in enumerate(bounds)
        ]

    def _space(self, tail: list[str], clause: str) -> str:
        """The table space that a clause names outside of parentheses, "" without it."""
        wanted, depth = clause.split(), 0
        for at, word in enumerate(tail):
            depth += {"(": 1, ")": -1}.get(word, 0)
            longer = wanted == ["IN"] and at and tail[at - 1] in ("INDEX", "LONG")
            if depth == 0 and tail[at : at + len(wanted)] == wanted and not longer:
                return self._world.space(name_of(tail[at + len(wanted)])).name
        return ""

    def _default(self) -> str:
        return next(name for name, space in self._world.spaces.items() if space.data_type == "L")

    def _own_indexes(self, tail: list[str], organized: str) -> list[tuple[str, str]]:
        """Kind and columns of those that the server makes itself."""
        if organized == "C":
            return [("CPMA", "+SQLNOTAPPLICABLE+")]
        if "DIMENSIONS" not in tail:
            return []
        at = tail.index("DIMENSIONS") + 1
        found = [("DIM", f"+{column}") for column in names_of(tail[at + 1 : closing(tail, at)])]
        every = " ".join(columns for _, columns in found)
        return [*found, *([("BLOK", every)] if len(found) > 1 else [])]

    def _create_index(self, user: User, said: Sequence[str]) -> Change | None:
        unique = said[1] == "UNIQUE"
        at = 3 if unique else 2
        name, on = self._named(said, at), self._named(said, at + 4)
        if name is None or on is None:
            return None
        self._insist(user, on[0], "CREATE INDEX")
        end = closing(said, at + 7)
        columns = index_columns(said[at + 8 : end])

        def add(_: int) -> None:
            table = self._world.table(*on)
            self._add_index(table, name[1], (name[0], columns, "U" if unique else "D", "REG"))
            self._resize(table)

        return Change(joined(said[: end + 1]), on, "X", add)

    def _alter(self, user: User, said: Sequence[str]) -> Change | None:
        name = self._named(said, 2)
        if name is None:
            return None
        self._insist(user, name[0], "ALTER TABLE")
        if said[5:7] != ["ADD", "CONSTRAINT"] or said[8] == "FOREIGN":
            return None
        found = read_constraint(said[6:])
        return Change(joined(said), name, "X", lambda _: self._constrain(self._world.table(*name), found))

    def _constrain(self, table: Table, found: Constraint) -> None:
        """A key takes the unique index that there is; the lab makes none of its own for it."""
        definition_of(table).constraints.append(found)
        wanted = " ".join(f"+{column}" for column in found.columns)
        for index in table.indexes:
            if found.kind in "PU" and index.columns == wanted and index.unique != "D":
                index.unique = found.kind

    def _drop(self, user: User, said: Sequence[str]) -> Change | None:
        name = self._named(said, 2)
        if name is None:
            return None
        self._insist(user, name[0], "DROP TABLE")

        def forget(_: int) -> None:
            load.drop_table(self._world, *name)

        return Change(joined(said[:5]), name, "X", forget)

    # -- rows ----------------------------------------------------------------------------------------------------

    def _insert(self, _user: User, said: Sequence[str]) -> Change | None:
        return self._write(said, 2, 1)

    def _delete(self, _user: User, said: Sequence[str]) -> Change | None:
        return self._write(said, 2, -1)

    def _update(self, _user: User, said: Sequence[str]) -> Change | None:
        return self._write(said, 1, 0)

    def _write(self, said: Sequence[str], at: int, sign: int) -> Change | None:
        name = self._named(said, at)
        if name is None:
            return None
        table = self._world.table(*name)

        def count(rows: int) -> None:
            table.rows += sign * rows
            self._resize(table)

        return Change(joined(_without_repeat(said)), name, "IX", count)

    def _lock(self, _user: User, said: Sequence[str]) -> Change | None:
        name = self._named(said, 2)
        mode = "X" if "EXCLUSIVE" in said else "S"
        return name and Change(joined(said), name, mode, _nothing)

    def _select(self, _user: User, said: Sequence[str]) -> Change | None:
        name = next((found for at in range(len(said)) if (found := self._known(said, at))), None)
        if name is None:
            return None
        table = self._world.table(*name)
        return Change(joined(said), name, "IS", lambda _: self._read(table, said))

    def _read(self, table: Table, said: Sequence[str]) -> None:
        """One look-up where the first column of an index is compared with a value, else a scan."""
        first = {index.columns.split()[0].lstrip("+-") for index in table.indexes if index.kind == "REG"}
        pairs = zip(said, said[1:], said[2:], strict=False)
        looked_up = any(name_of(a) in first and b == "=" and _is_value(c) for a, b, c in pairs if _is_name(a))
        if looked_up:
            self._look_up(table, 1)
        else:
            load.scan(self._world, table)

    def _count(self, user: User, said: Sequence[str]) -> Change | None:
        """SELECT COUNT_BIG(*) AS name FROM s.t WITH UR: of any table, under no lock of rows."""
        if list(said[:6]) != ["SELECT", "COUNT_BIG", "(", "*", ")", "AS"] or said[7:8] != ["FROM"]:
            return None
        if len(said) != 13 or list(said[11:]) != ["WITH", "UR"] or said[9] != ".":
            return None
        table = self._world.table(name_of(said[8]), name_of(said[10]))
        may = user.administrator or table.owner == user.authid or "SELECT=Y" in table.grants.get(user.authid, "")
        if not may:
            raise refusals.not_allowed(user.authid, "SELECT", f"{table.schema}.{table.name}")
        rows = f"SELECT CAST({table.rows} AS BIGINT) AS {said[6]} FROM SYSIBM.SYSDUMMY1"  # a number
        return Change(rows, (table.schema, table.name), "IS", _nothing)

    def _loop(self, _user: User, said: Sequence[str]) -> Change | None:
        """BEGIN ... WHILE i < n DO SELECT ... FROM table WHERE key = ...: so many look-ups."""
        name = next((found for at in range(len(said)) if (found := self._known(said, at))), None)
        if name is None or "WHILE" not in said:
            return None
        times = int(said[said.index("WHILE") + 3])
        table = self._world.table(*name)
        return Change("", name, "IS", lambda _: self._look_up(table, times))

    def _look_up(self, table: Table, times: int) -> None:
        """By the index: from storage, or from the buffer pool."""
        reading = load.read_cached if self._world.behaviour.pool_keeps else load.read_randomly
        reading(self._world, table, times)

    # -- comments and rights -------------------------------------------------------------------------------------

    def _comment(self, user: User, said: Sequence[str]) -> Change | None:
        name = self._named(said, 3)
        if name is None:
            return None
        self._insist(user, name[0], "COMMENT")
        column = name_of(said[7]) if said[2] == "COLUMN" else ""
        table = self._world.table(*name)
        text = string_of(said[-1])
        return Change("", name, "IX", lambda _: definition_of(table).remarks.__setitem__(column, text))

    def _grant(self, user: User, said: Sequence[str]) -> Change | None:
        at = said.index("ON") + 1 if "ON" in said else len(said)
        at += said[at : at + 1] == ["TABLE"]
        name = self._named(said, at)
        if name is None:
            return None
        self._insist(user, name[0], "GRANT")
        table, grantee = self._world.table(*name), name_of(said[-1])

        def give(_: int) -> None:
            whole = [word for word, after in pairwise(said) if word in RIGHTS and after != "("]
            table.grants[grantee] = " ".join(f"{right}=Y" for right in whole)
            for place, word in enumerate(said[:at]):
                if word == "UPDATE" and said[place + 1] == "(":
                    columns = names_of(said[place + 2 : closing(said, place + 1)])
                    table.column_grants[grantee] = " ".join(f"{column}=U" for column in columns)

        return Change("", name, "IX", give)

    # -- small parts ---------------------------------------------------------------------------------------------

    def _named(self, said: Sequence[str], at: int) -> Name | None:
        """The qualified name that begins there, where its schema is one of those."""
        if list(said[at + 1 : at + 2]) != ["."] or not _is_name(said[at]) or not _is_name(said[at + 2]):
            return None
        name = name_of(said[at]), name_of(said[at + 2])
        return name if name[0] in self._world.schemas else None

    def _known(self, said: Sequence[str], at: int) -> Name | None:
        name = self._named(said, at)
        return name if name in self._world.tables else None

    def _insist(self, user: User, schema: str, operation: str) -> None:
        if not user.administrator and self._world.schemas[schema] != user.authid:
            raise refusals.no_authority(user.authid, operation)

    def _add(self, table: Table) -> None:
        self._world.tables[table.schema, table.name] = table
        self._resize(table)

    def _add_index(self, table: Table, name: str, facts: tuple[str, str, str, str]) -> None:
        schema, columns, unique, kind = facts
        number = max((index.iid for index in table.indexes), default=0) + 1
        table.indexes.append(Index(number, schema, name, 1, unique, columns, kind, analysed=False))

    def _resize(self, table: Table) -> None:
        """Pages by rows: all partitions get as many."""
        made = definition_of(table)
        rows = -(-max(table.rows, 0) // len(table.parts))
        for part in table.parts:
            part.pages = max(1, -(-rows * made.row_bytes // USED_BYTES))
            part.lob_pages = max(1, -(-rows * LARGE_BYTES // PAGE_SIZE)) if made.has_large else 0
        for index in table.indexes:
            few = index.kind != "REG"  # an entry for each block, or page
            index.pages = max(1, -(-table.rows * KEY_BYTES // USED_BYTES) // (32 if few else 1))
        self._world.touch()


RIGHTS = ("CONTROL", "ALTER", "DELETE", "INDEX", "INSERT", "SELECT", "UPDATE")


def definition_of(table: Table) -> Definition:
    """What its statements said."""
    assert table.made is not None, f"{table.name} was made by no statement"
    return table.made


def _nothing(_: int) -> None:
    """The world stays as it is."""


def _without_repeat(said: Sequence[str]) -> list[str]:
    """REPEAT('x', 100), which Derby has not, as the string that it gives."""
    found, at = [], 0
    while at < len(said):
        if said[at] == "REPEAT" and said[at + 3] == ",":
            found.append("'" + string_of(said[at + 2]) * int(said[at + 4]) + "'")
            at += 6
        else:
            found.append(said[at])
            at += 1
    return found


def _is_name(token: str) -> bool:
    return token.startswith('"') or token[0].isalpha() or token[0] in "_@#$"


def _is_value(token: str) -> bool:
    return token[0].isdigit() or token.startswith("'")
