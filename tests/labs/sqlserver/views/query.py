"""Runs a T-SQL SELECT for real: sqlglot turns it into DuckDB's dialect over relations filled from the model.

Only documented columns exist. What is not understood fails: 208 an object, 207 a column, 195 a function, 102 syntax;
50000 says that the emulation, not SQL Server, lacks something.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass

import duckdb
from sqlglot import exp

from tests.labs.sql.duck import Errors, parsed, telling, translated
from tests.labs.sqlserver.documented import View, documented
from tests.labs.sqlserver.instance import AZURE_DATABASE
from tests.labs.sqlserver.language.dialect import NOT_EMULATED, rewrite
from tests.labs.sqlserver.rights import check_view
from tests.labs.sqlserver.views.relations import Viewer
from tests.labs.sqlserver.views.relations_server import RELATIONS
from tests.labs.sqlserver.views.tables import Tables, tables
from tests.labs.tds.backend import Rows, ServerError
from tests.labs.tds.values import Column, Kind, Value

_KINDS = {
    "BOOLEAN": Kind.BIT,
    "UTINYINT": Kind.TINYINT,
    "SMALLINT": Kind.SMALLINT,
    "INTEGER": Kind.INT,
    "NULL": Kind.INT,
    "BIGINT": Kind.BIGINT,
    "HUGEINT": Kind.BIGINT,
    "FLOAT": Kind.REAL,
    "DOUBLE": Kind.FLOAT,
    "VARCHAR": Kind.NVARCHAR,
    "TIMESTAMP": Kind.DATETIME2,
    "DATE": Kind.DATE,
    "BLOB": Kind.VARBINARY,
}

MOST_PREPARED = 2000
MOST_ANSWERS = 1000

ERRORS = Errors(
    syntax=lambda text: ServerError(102, f"Incorrect syntax: {text}", severity=15),
    column=lambda name: ServerError(207, f"Invalid column name '{name}'."),
    function=lambda text: ServerError(195, f"not a recognized built-in function name: {text}", severity=15),
    not_emulated=lambda what: ServerError(NOT_EMULATED, f"the emulated server does not run this: {what}"),
)


def select(viewer: Viewer, sql: str, variables: Mapping[str, Value]) -> Rows:
    """The rows of one SELECT.

    Raises:
        ServerError: it cannot be run, or not by this login.
    """
    kept = tables()
    with kept.lock:
        try:
            prepared = _prepare(sql, viewer)
            values = {name: value for name, value in variables.items() if name in prepared.variables}
            if missing := prepared.variables - values.keys():
                raise ServerError(137, f'Must declare the scalar variable "@{sorted(missing)[0]}".', severity=15)
            text = prepared.text
            for view in prepared.views:
                text = text.replace(f'"{_place(view)}"', f'"{_fill(view, viewer, kept)}"')
            return _answered(kept, text, values)
        finally:
            kept.tidy()


@dataclass(frozen=True, slots=True)
class Prepared:
    """A query in DuckDB's words, but for where its views' rows are."""

    text: str  # each view by ``_place``
    views: tuple[View, ...]
    variables: frozenset[str]


_PREPARED: dict[tuple[Hashable, ...], Prepared] = {}  # most queries come again and again; for the holder of the lock


_ANSWERS: dict[tuple[Hashable, ...], Rows] = {}  # as above


def _answered(kept: Tables, text: str, values: Mapping[str, Value]) -> Rows:
    """The answer over what is stored: connectors ask the same again and again of what has not changed.

    A table's name is never given twice, so the text says which rows the query sees; no function reads a clock.
    """
    asked = (text, *((name, type(value), value) for name, value in values.items()))
    if asked not in _ANSWERS:
        with telling(ERRORS):
            answer = _rows(kept.connection.execute(text, values))
        if len(_ANSWERS) >= MOST_ANSWERS:
            _ANSWERS.clear()
        _ANSWERS[asked] = answer
    return _ANSWERS[asked]


def _prepare(sql: str, viewer: Viewer) -> Prepared:
    """Translate it, unless that was done for somebody who sees the same.

    Raises:
        ServerError: it cannot be run, or not by this login.
    """
    key = (sql, *_facts(sql, viewer))
    if key not in _PREPARED:
        tree = parsed(sql, "tsql", ERRORS)
        views: dict[str, View] = {}
        bound = _bind(tree, viewer, views)
        rewrite(tree, viewer, bound)
        variables = frozenset(p.name for p in tree.find_all(exp.Parameter))
        if len(_PREPARED) >= MOST_PREPARED:
            _PREPARED.clear()
        _PREPARED[key] = Prepared(translated(tree, ERRORS), tuple(views.values()), variables)
    return _PREPARED[key]


def _facts(sql: str, viewer: Viewer) -> Iterator[Hashable]:
    """Everything that ``rewrite`` and ``check_view`` look at."""
    instance, account = viewer.instance, viewer.account
    yield from (instance.name, instance.version, instance.engine_edition, bool(instance.replicas))
    yield from (account.name, account.server_rights, account.database_rights, account.administrator, account.denied)
    yield viewer.database.name
    yield tuple((d.name, d.database_id, d.updateability, d.recovery_model) for d in instance.databases.values())
    if re.search(r"\bOBJECT_ID\s*\(", sql, re.I):
        yield frozenset((table.schema, table.name, table.object_id) for table in viewer.tables())
    if "SYSUTCDATETIME" in sql.upper():
        yield viewer.instance.now()
    if "APPLOCK" in sql.upper() or "@@SPID" in sql.upper():
        yield viewer.connected.spid
        yield frozenset(instance.app_locks.items())


def _bind(tree: exp.Query, viewer: Viewer, views: dict[str, View]) -> dict[str, View]:
    """Put a place for rows where a view or function is, and each in ``views``; alias -> view."""
    bound: dict[str, View] = {}
    common = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    for lateral in list(tree.find_all(exp.Lateral)):
        dotted = lateral.this
        assert isinstance(dotted, exp.Dot), f"APPLY to {dotted.sql()}"
        call = dotted.expression
        bound[lateral.alias.lower()] = view = _view(f"{dotted.this.name}.{call.name}", viewer)
        views[view.name] = view
        lateral.set("this", exp.Subquery(this=_called(view, call.expressions)))
        join = lateral.parent
        assert isinstance(join, exp.Join), "APPLY joins"
        join.set("on", exp.true())
        join.set("side", None if lateral.args["cross_apply"] else "LEFT")  # OUTER APPLY keeps the row
        lateral.set("cross_apply", None)
    for table in list(tree.find_all(exp.Table)):
        if table.name.lower() in common or table.db == DUCKDB_SCHEMA:
            continue
        if table.catalog.lower() not in ("", viewer.database.name.lower()):
            raise ServerError(NOT_EMULATED, f"the emulated server does not look into {table.catalog} from here")
        call = table.this if isinstance(table.this, exp.Anonymous) else None
        view = _view(f"{table.db}.{call.name if call else table.name}", viewer)
        bound[table.alias_or_name.lower()] = views[view.name] = view  # an alias may stand for another in a UNION
        source = _called(view, call.expressions if call else [])
        table.replace(source.subquery(table.alias_or_name or view.name.partition(".")[2]))
    return bound


DUCKDB_SCHEMA = "main"
NOT_ON_AZURE = frozenset({"sys.master_files", "sys.dm_os_volume_stats"})


def _place(view: View) -> str:
    """What stands for the table with its rows; no query names a table so."""
    return f"<{view.name}>"


def _view(name: str, viewer: Viewer) -> View:
    """The view or function of that name, which this login may look at."""
    view = documented(name.lower(), viewer.instance.major)
    if view is None or (viewer.instance.engine_edition == AZURE_DATABASE and view.name in NOT_ON_AZURE):
        raise ServerError(208, f"Invalid object name '{name}'.")
    if view.name not in RELATIONS:
        raise ServerError(NOT_EMULATED, f"the emulated server has no rows for {view.name}")
    check_view(viewer.account, view, viewer.instance.major, viewer.database.name)
    return view


def _fill(view: View, viewer: Viewer, kept: Tables) -> str:
    """Name of a table with what the view shows now: the same wherever the query names it."""
    with viewer.instance.lock:
        rows = list(RELATIONS[view.name](viewer))
    return kept.put(view, rows)


def _called(view: View, arguments: list[exp.Expr]) -> exp.Select:
    """What a function gives for its arguments; a view is one without any."""
    if len(arguments) != len(view.arguments):
        number = 313 if len(arguments) < len(view.arguments) else 8144
        raise ServerError(number, f"{view.name} takes {len(view.arguments)} arguments, not {len(arguments)}.")
    source = exp.select("*").from_(exp.table_(_place(view), db=DUCKDB_SCHEMA, quoted=True))
    for (name, null_is_all), argument in zip(view.arguments.items(), arguments, strict=True):
        column = exp.column(name, quoted=True)
        wanted: exp.Expr = exp.EQ(this=column, expression=argument.copy())
        if null_is_all:
            wanted = exp.paren(exp.or_(wanted, exp.Is(this=argument.copy(), expression=exp.null())))
        source = source.where(wanted)
    return source


def _rows(cursor: duckdb.DuckDBPyConnection) -> Rows:
    described = [(name, str(kind).strip('"')) for name, kind, *_ in cursor.description]
    columns = tuple(_column(name, kind) for name, kind in described)
    return Rows(columns, cursor.fetchall())


def _column(name: str, kind: str) -> Column:
    if kind.startswith("DECIMAL"):
        precision, scale = re.findall(r"\d+", kind)
        return Column(name, Kind.DECIMAL, int(precision), int(scale))
    if kind not in _KINDS:
        raise ServerError(NOT_EMULATED, f"the emulated server has no type for {name}, {kind}")
    return Column(name, _KINDS[kind])
