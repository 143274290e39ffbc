"""Oracle's SELECT as DuckDB understands it. What is not known to mean the same is refused, never guessed."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import sqlglot
from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError
from sqlglot.transforms import eliminate_join_marks

from tests.labs.tns.backend import OracleError

_TOKEN = re.compile(
    r"""(?P<string>[nN]?'(?:[^']|'')*')|(?P<quoted>"[^"]*")|(?P<comment>/\*.*?\*/|--[^\n]*)"""
    r"""|(?P<bind>:\s*(?:[A-Za-z][\w$#]*|\d+))|(?P<word>[A-Za-z][\w$#]*)|(?P<other>.)""",
    re.DOTALL,
)
# Functions that mean the same in both, besides those that sqlglot translates.
_PLAIN = frozenset(("LOWER", "UPPER", "LENGTH", "INSTR", "REPLACE", "ABS", "FLOOR", "CEIL", "BITAND"))
# SQL Language Reference, "Oracle SQL Reserved Words": neither an alias nor a bind may be called so.
RESERVED = frozenset((Path(__file__).parent / "reserved_words.txt").read_text().split())
_DATES = (exp.DataType.Type.TIMESTAMP_S,)
_REFUSED = (exp.Connect, exp.Lateral, exp.Unnest, exp.MatchRecognize)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A query ready to run, with the views and columns it names and the binds in their order."""

    sql: str
    views: tuple[str, ...]
    columns: frozenset[str]
    star: bool
    binds: tuple[str, ...]


def refuse(what: str) -> OracleError:
    """What the lab says when it does not know; no connector takes that for an answer."""
    return OracleError(3001, f"unimplemented feature [emulated server: {what}]")


def binds_of(sql: str) -> tuple[str, ...]:
    """Names of binds, in order, repetitions included."""
    return tuple(m.group().lstrip(": ").upper() for m in _TOKEN.finditer(sql) if m.lastgroup == "bind")


def _scan(sql: str) -> str:
    """Binds numbered by position, names with ``#`` quoted, comments dropped."""
    parts, count = [], 0
    for match in _TOKEN.finditer(sql):
        text = match.group()
        if match.lastgroup == "bind":
            text, count = f":b{count}", count + 1
        elif match.lastgroup == "word" and ("#" in text or text.upper() in ("LIMIT", "VALUE", "NAME")):
            text = f'"{text.upper()}"'
        elif match.lastgroup == "comment":
            text = " "
        parts.append(text)
    return "".join(parts).strip()


def view_name(table: exp.Table) -> str:
    """Name of the view behind synonym, owner and underscore: SYS.V_$SEGSTAT is V$SEGSTAT."""
    identifier = table.this
    name = str(identifier.name)
    name = name if identifier.quoted else name.upper()
    for prefix in ("GV_$", "V_$"):
        if name.startswith(prefix):
            return prefix.replace("_", "") + name[len(prefix) :]
    return name


def prepare(sql: str, contexts: Callable[[str, str], str | None], now: str) -> Prepared:
    """Translate one query. ``contexts`` answers SYS_CONTEXT, ``now`` is SYSDATE.

    Raises:
        OracleError: ORA-00900 for what does not parse, ORA-03001 for what the lab does not know.
    """
    try:
        tree = sqlglot.parse_one(_scan(sql), dialect="oracle")
    except SqlglotError as error:
        raise OracleError(900, f"invalid SQL statement ({str(error).splitlines()[0]})") from error
    if not isinstance(tree, exp.Query):
        raise refuse(type(tree).__name__)
    _reserved(tree, sql)
    for kind in _REFUSED:
        if tree.find(kind):
            raise refuse(kind.__name__)
    for select in list(tree.find_all(exp.Select)):
        eliminate_join_marks(select)
        _rownum(select)
    for node in reversed(list(tree.walk())):  # from the leaves, so that what is replaced is seen too
        changed = _node(node, contexts, now)
        if changed is not node:
            node.replace(changed)
    within = {cte.alias.upper() for cte in tree.find_all(exp.CTE)}
    views = tuple(dict.fromkeys(v for t in tree.find_all(exp.Table) if (v := view_name(t)) not in within))
    columns = frozenset(identifier.name.upper() for identifier in tree.find_all(exp.Identifier))
    star = any(not isinstance(node.parent, exp.Count) for node in tree.find_all(exp.Star))
    for table in tree.find_all(exp.Table):
        if view_name(table) not in within:
            table.set("this", exp.to_identifier(view_name(table), quoted=True))
            table.set("db", None)
    try:
        translated = tree.sql(dialect="duckdb", unsupported_level=ErrorLevel.RAISE)
    except SqlglotError as error:
        raise refuse(str(error).splitlines()[0]) from error
    return Prepared(translated, views, columns, star, binds_of(sql))


def _reserved(tree: exp.Expr, sql: str) -> None:
    """Raises OracleError: ORA-01745 for a bind, ORA-00923 for an alias with a reserved name."""
    for name in binds_of(sql):
        if name in RESERVED:
            raise OracleError(1745, f"invalid host/bind variable name :{name}")
    for node in tree.find_all(exp.Alias, exp.TableAlias):
        named = node.args.get("alias") if isinstance(node, exp.Alias) else node.this
        if isinstance(named, exp.Identifier) and not named.quoted and named.name.upper() in RESERVED:
            raise OracleError(923, f"FROM keyword not found where expected ({named.name} is reserved)")


def _rownum(select: exp.Select) -> None:
    """``ROWNUM <= n`` of a WHERE is a limit; anywhere else it is refused later."""
    where = select.args.get("where")
    if where is None:
        return
    keep = []
    for condition in where.this.flatten() if isinstance(where.this, exp.And) else [where.this]:
        if isinstance(condition, exp.LTE | exp.LT) and condition.this.name.upper() == "ROWNUM":
            bound = condition.expression.copy()
            limit = exp.Sub(this=bound, expression=exp.Literal.number(1)) if isinstance(condition, exp.LT) else bound
            select.limit(limit, copy=False)
        else:
            keep.append(condition)
    select.set("where", exp.Where(this=exp.and_(*keep, copy=False)) if keep else None)


def _node(node: exp.Expr, contexts: Callable[[str, str], str | None], now: str) -> exp.Expr:
    """One node of the tree."""
    if isinstance(node, exp.Column) and not node.table and node.name.upper() in ("ROWNUM", "ROWID", "LEVEL"):
        raise refuse(node.name)
    if isinstance(node, exp.Column) and not node.table and node.name.upper() == "USER":
        return _text(contexts("USERENV", "SESSION_USER"))
    if isinstance(node, exp.Column) and not node.table and node.name.upper() in ("DBTIMEZONE", "SESSIONTIMEZONE"):
        return exp.Literal.string("+00:00")
    if isinstance(node, exp.CurrentTimestamp | exp.CurrentDate | exp.CurrentDatetime) or (
        isinstance(node, exp.Column) and not node.table and node.name.upper() in ("SYSDATE", "SYSTIMESTAMP")
    ):
        return exp.Cast(this=exp.Literal.string(now), to=exp.DataType(this=exp.DataType.Type.TIMESTAMP_S))
    if isinstance(node, exp.Literal) and node.is_string and not node.name:
        return exp.Null()  # the empty string is NULL
    if isinstance(node, exp.DPipe):
        joined = exp.Anonymous(this="concat", expressions=[node.left, node.right])  # NULL counts as nothing
        return exp.Nullif(this=joined, expression=exp.Literal.string(""))
    if isinstance(node, exp.Sub) and isinstance(node.this, exp.Cast) and node.this.to.this in _DATES:
        days = exp.Anonymous(this="to_days", expressions=[exp.cast(node.expression, "INTEGER")])
        return exp.Sub(this=node.this, expression=days)  # a date less a number of days
    if isinstance(node, exp.ToNumber):
        return exp.cast(node.this, "BIGINT")
    if isinstance(node, exp.ToChar):
        return _to_char(node)
    if isinstance(node, exp.TimeToStr) and not re.fullmatch(r"(%[YmdHMS]|[-:/. ])+", str(node.args["format"].name)):
        raise refuse(f"format {node.args['format'].name}")
    if isinstance(node, exp.Anonymous):
        return _function(node, contexts)
    return node


_DATE_PARTS = re.compile(r"YYYY|HH24|MM|DD|MI|SS|[-:/. ]|(?P<other>.)", re.DOTALL)
_STRFTIME = {"YYYY": "%Y", "HH24": "%H", "MM": "%m", "DD": "%d", "MI": "%M", "SS": "%S"}


def _to_char(node: exp.ToChar) -> exp.Expr:
    """TO_CHAR of a date in one of the plain formats, or of a number without one."""
    form = node.args.get("format")
    if form is None:
        return exp.cast(node.this, "VARCHAR")
    parts = list(_DATE_PARTS.finditer(str(form.name).upper()))
    if any(part["other"] for part in parts):
        raise refuse(f"format {form.name}")
    text = "".join(_STRFTIME.get(part.group(), part.group()) for part in parts)
    return exp.Anonymous(this="strftime", expressions=[node.this, exp.Literal.string(text)])


def _function(node: exp.Anonymous, contexts: Callable[[str, str], str | None]) -> exp.Expr:
    name = str(node.this).upper()
    if name == "SYS_CONTEXT":
        space, key = (str(part.name).upper() for part in node.expressions[:2])
        return _text(contexts(space, key))
    if name == "CONCAT" or name in _PLAIN:
        return node
    raise refuse(f"function {name}")


def _text(value: str | None) -> exp.Expr:
    return exp.Null() if value is None else exp.Literal.string(value)
