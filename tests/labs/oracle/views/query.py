"""Runs queries over the emulated views in DuckDB, with the session's privileges and the columns of the release."""

from __future__ import annotations

import threading
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from tests.labs.oracle.documented import View, view
from tests.labs.oracle.model import Quirks
from tests.labs.oracle.rows import Rows
from tests.labs.oracle.views.cached import buffers
from tests.labs.oracle.views.dictionary import DICTIONARY
from tests.labs.oracle.views.performance import PERFORMANCE, own_counters, product, segstat
from tests.labs.oracle.views.rewrite import ERRORS, Prepared, prepare, refuse
from tests.labs.sql.duck import store, telling
from tests.labs.tns.backend import Answer, Bind, Column, OracleError
from tests.labs.tns.values import OracleType

if TYPE_CHECKING:
    from tests.labs.oracle.database import EmulatedDatabase
    from tests.labs.oracle.session import EmulatedSession

Columns = dict[str, Any]
Shows = tuple[int, int, Quirks]
EVERYONE = frozenset(("DUAL", "SESSION_PRIVS", "SESSION_ROLES", "PRODUCT_COMPONENT_VERSION"))
OF_SESSION = frozenset(("V$MYSTAT", "V$SESSION_EVENT"))  # what the session that asks has counted
VOLATILE = frozenset(
    ("V$MYSTAT", "V$SESSION_EVENT", "V$SESSION", "V$SESSION_LONGOPS", "V$LOCK", "V$LOCKED_OBJECT", "V$TRANSACTION")
)
BY_COLUMNS = {"V$SEGSTAT": segstat, "V$BH": buffers}
MOST_ANSWERS = 200
COUNTED = " row"  # no query can name it
_FRACTIONS = frozenset(("USED_PERCENT", "PERCENT_SPACE_USED", "PERCENT_SPACE_RECLAIMABLE"))


@cache
def _ddl(kind: str, name: str) -> str:
    """DuckDB's type for a documented one."""
    if kind.startswith("NUMBER"):
        return "DOUBLE" if name in _FRACTIONS else "BIGINT"
    if kind == "DATE":
        return "TIMESTAMP_S"
    return "TIMESTAMP" if kind.startswith("TIMESTAMP") else "VARCHAR"


HOSTILE = 20666  # of RAISE_APPLICATION_ERROR in a function that a hostile view calls


class Engine:
    """One DuckDB for a database; queries run one after the other."""

    def __init__(self, database: EmulatedDatabase) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._duck = duckdb.connect(config={"threads": 1})
        self.rows = Rows(database, self._duck)
        self._loaded: dict[str, tuple[Shows, frozenset[str]]] = {}  # view -> of when its rows are, and columns
        self._stored: dict[str, tuple[int, frozenset[str], Columns]] = {}  # view -> how often, and what was last
        self._answers: dict[tuple[Any, ...], Answer] = {}  # of queries over views as they were then

    def run(self, session: EmulatedSession, sql: str, binds: list[Bind]) -> Answer:
        """Raises OracleError."""
        prepared = prepare(sql, session.context, session.now().isoformat(sep=" ", timespec="seconds"))
        if len(prepared.binds) > len(binds):
            raise OracleError(1008, "not all variables bound")
        values = {f"b{at}": _bound(bind.values[0]) for at, bind in enumerate(binds)}
        if self._database.quirks.hostile_synonyms and prepared.bare:
            raise OracleError(HOSTILE, f"an object of another user was found by the name {prepared.bare[0]}")
        if {"V$BH", "GV$BH"} & set(prepared.views):
            session.pause(self._database.quirks.buffers * self._database.seconds_per_buffer)
        with self._lock:
            for name in prepared.views:
                if "." in name:
                    self._refuse_table(session, name)
                elif not self.rows.bring_levels(name):
                    self._load(session, name, prepared)
            answer = self._answered(prepared, {k: v for k, v in values.items() if f"${k}" in prepared.sql})
        if prepared.visits:
            self.rows.count_visits(prepared.visits, session)
        return answer

    def _answered(self, prepared: Prepared, values: dict[str, Any]) -> Answer:
        """The answer over what is stored: connectors ask the same again and again of what has not changed.

        Only views are numbered as they are stored: rows of tables change without it.
        """
        only_views = all(name in self._stored for name in prepared.views)
        versions = tuple(self._stored[name][0] for name in prepared.views) if only_views else ()
        asked = (prepared.sql, tuple((type(value), value) for value in values.values()), versions)
        if not only_views or asked not in self._answers:
            with telling(ERRORS):
                done = self._duck.execute(prepared.sql, values)
                answer = _answer(done.description or [], done.fetchall())
            if not only_views:
                return answer
            if len(self._answers) >= MOST_ANSWERS:
                self._answers.clear()
            self._answers[asked] = answer
        return self._answers[asked]

    def _refuse_table(self, session: EmulatedSession, name: str) -> None:
        """Raises OracleError: ORA-00942 for one that is not there or not theirs, ORA-03001 without rows."""
        owner, _, table = name.partition(".")
        found = self._database.table(owner, table)
        user = session.user
        allowed = ("SELECT", name) in user.grants | self._database.public or "SELECT ANY TABLE" in user.privileges
        if owner != user.name and not allowed:
            raise OracleError(942, "table or view does not exist")
        if not found.columns:
            raise refuse("rows of tables that no statement has made")

    def _load(self, session: EmulatedSession, name: str, prepared: Prepared) -> None:
        """Bring the view's rows in, with those of its documented columns that the query names."""
        shown = self._visible(session, name)
        wanted = frozenset(c for c in shown.columns if prepared.star or c in prepared.columns)
        own = name in EVERYONE or name.removeprefix("G") in VOLATILE
        shows, have = self._loaded.get(name, (None, frozenset()))
        if not own and shows == self._shows(session) and wanted <= have:
            return
        wanted |= have  # else two queries that name different columns would load it in turns
        with self._database.lock:
            shows = self._shows(session)
            columns = self._columns(session, name, shown, wanted)
        self._store(name, shown, wanted, columns)
        self._loaded[name] = (shows, wanted)

    def _shows(self, session: EmulatedSession) -> Shows:
        """What the rows of a view depend on; quirks are set from outside, without a new generation."""
        return self._database.generation, session.instance, self._database.quirks

    def _visible(self, session: EmulatedSession, name: str) -> View:
        """The view if this release has it and this user may read it. Raises OracleError ORA-00942."""
        if name == "DUAL":
            return View("DUAL", {"DUMMY": "VARCHAR2(1)"}, "")
        found = view(name, self._database.version)
        if name == "DBA_XML_TABLES" and not self._database.quirks.xml:
            found = None
        if found is None or not (name in EVERYONE or session.may_read(name)):
            raise OracleError(942, "table or view does not exist")
        return found

    def _columns(self, session: EmulatedSession, name: str, shown: View, wanted: frozenset[str]) -> Columns:
        """Values by column. Raises OracleError ORA-03001 for a view that is documented and not emulated."""
        database, instances = self._database, range(1, self._database.quirks.instances + 1)
        if name in EVERYONE:
            return _transposed(_own_rows(session, name), shown, wanted)
        if name in OF_SESSION:
            return _transposed(list(own_counters(session, name)), shown, wanted)
        if name.startswith(("DBA_", "CDB_")):
            rows = DICTIONARY.get("DBA_" + name[4:])
            if rows is None:
                raise refuse(f"view {name}")
            return _transposed(list(rows(database)), shown, wanted)
        several = name.startswith("GV$")
        base = name[1:] if several else name
        parts = [
            {**self._instance(base, number, shown, wanted), "INST_ID": number}
            for number in (instances if several else [session.instance])
        ]
        return _stacked(parts, wanted)

    def _instance(self, base: str, number: int, shown: View, wanted: frozenset[str]) -> Columns:
        if base in BY_COLUMNS:
            made = BY_COLUMNS[base](self._database, number)
            return {**made, COUNTED: np.arange(len(next(iter(made.values()))))}
        rows = PERFORMANCE.get(base)
        if rows is None:
            raise refuse(f"view {base}")
        return _transposed([{**row} for row in rows(self._database, number)], shown, wanted | {"INST_ID"})

    def _store(self, name: str, shown: View, wanted: frozenset[str], columns: Columns) -> None:
        """As a table; a row counts even if no column of it is named."""
        kinds = {column: _ddl(shown.columns[column], column) for column in sorted(wanted)}
        times, had, last = self._stored.get(name, (0, frozenset(), {}))
        if times and had == wanted and _same(last, columns):
            return
        self._stored[name] = times + 1, wanted, columns
        size = max((len(values) for values in columns.values()), default=0)
        store(self._duck, name, {**kinds, COUNTED: "BIGINT"}, {**columns, COUNTED: np.arange(size)})


def _own_rows(session: EmulatedSession, name: str) -> list[dict[str, Any]]:
    """Views that everybody may read, about the session itself."""
    user = session.user
    if name == "SESSION_PRIVS":
        return [{"PRIVILEGE": privilege} for privilege in sorted(user.privileges)]
    if name == "SESSION_ROLES":
        return [{"ROLE": role} for role in sorted(user.roles)]
    if name == "DUAL":
        return [{"DUMMY": "X"}]
    version = ".".join(map(str, session.database.version))
    return [{"PRODUCT": product(session.database), "VERSION": version, "STATUS": "Production"}]


def _same(some: Columns, others: Columns) -> bool:
    """Whether both have the same columns with the same values, of the same types."""
    return some.keys() == others.keys() and all(
        values.dtype == others[name].dtype and np.array_equal(values, others[name]) for name, values in some.items()
    )


def _transposed(rows: list[dict[str, Any]], shown: View, wanted: frozenset[str]) -> Columns:
    """Rows as arrays by column; every name must be a documented one."""
    named = {name for row in rows for name in row}
    made: Columns = {COUNTED: np.arange(len(rows))}
    for name in (named & wanted) - {"INST_ID"}:
        made[name] = _array([row.get(name) for row in rows], _ddl(shown.columns[name], name))
    return made


def _array(values: list[Any], kind: str) -> NDArray[Any]:
    """Numbers as such where none is missing; what is not there, and the empty string, is None."""
    if kind == "BIGINT" and None not in values:
        return np.array(values, np.int64)
    return np.array([None if value == "" else value for value in values], dtype=object)


def _stacked(parts: list[Columns], wanted: frozenset[str]) -> Columns:
    """The instances one below the other; one without rows adds nothing."""
    full = []
    for part in parts:
        size = len(next(value for name, value in part.items() if name != "INST_ID"))
        if size:
            full.append({**part, "INST_ID": np.full(size, part["INST_ID"], np.int64)})
    names = set.intersection(*(set(part) for part in full)) if full else set()
    return {name: np.concatenate([part[name] for part in full]) for name in names if name in wanted or name == COUNTED}


def _bound(value: Any) -> Any:
    """A bind as DuckDB takes it: the empty string is NULL."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return None if value == "" else value


def _answer(description: list[Any], rows: list[Any]) -> Answer:
    kinds = [_kind(str(entry[1])) for entry in description]
    columns = tuple(
        Column(entry[0], kind, 4000 if kind is OracleType.VARCHAR else 0)
        for entry, kind in zip(description, kinds, strict=True)
    )
    if any(kind is OracleType.NUMBER for kind in kinds):
        rows = [tuple(_plain(value) for value in row) for row in rows]
    return Answer(columns, rows)


def _plain(value: Any) -> Any:
    """Whole floats are whole NUMBERs."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else Decimal(repr(value))
    return int(value) if isinstance(value, bool) else value


def _kind(name: str) -> OracleType:
    if name in ("TIMESTAMP_S", "DATE"):
        return OracleType.DATE
    if name.startswith("TIMESTAMP"):
        return OracleType.TIMESTAMP
    if name == "VARCHAR" or name == '"NULL"' or name == "NULL":
        return OracleType.VARCHAR
    return OracleType.NUMBER
