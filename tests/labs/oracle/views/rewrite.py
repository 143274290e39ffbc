"""Oracle's SELECT as DuckDB understands it. What is not known to mean the same is refused, never guessed."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sqlglot import exp
from sqlglot.transforms import eliminate_join_marks

from tests.labs.sql.duck import Changes, Errors, parsed, replaced, translated
from tests.labs.tns.backend import OracleError

_TOKEN = re.compile(
    r"""(?P<string>[nN]?'(?:[^']|'')*')|(?P<quoted>"[^"]*")|(?P<comment>/\*.*?\*/|--[^\n]*)"""
    r"""|(?P<bind>:\s*(?:[A-Za-z][\w$#]*|\d+))|(?P<word>[A-Za-z][\w$#]*)|(?P<other>.)""",
    re.DOTALL,
)
# Functions that mean the same in both, besides those that sqlglot translates.
_PLAIN = frozenset(("LOWER", "UPPER", "LENGTH", "INSTR", "REPLACE", "ABS", "FLOOR", "CEIL", "BITAND"))
# SQL Language Reference, "Oracle SQL Reserved Words": neither an alias nor a bind may be called so.
RESERVED = frozenset((Path(__file__).parents[1] / "reserved_words.txt").read_text().split())
MOST_KEPT = 2000
_REFUSED = (exp.Connect, exp.Lateral, exp.Unnest, exp.MatchRecognize)


Contexts = Callable[[str, str], str | None]


@dataclass(frozen=True, slots=True)
class Asking:
    """Who asks, and when."""

    contexts: Contexts  # answers SYS_CONTEXT
    now: str  # SYSDATE


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


ERRORS = Errors(
    syntax=lambda text: OracleError(900, f"invalid SQL statement ({text})"),
    column=lambda name: OracleError(904, f"invalid identifier ({name})"),
    function=refuse,
    not_emulated=refuse,
)


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


@dataclass(frozen=True, slots=True)
class Kept:
    """A translation, and what it rests on besides the text."""

    prepared: Prepared
    contexts: dict[tuple[str, str], str | None]  # what SYS_CONTEXT answered
    now: str  # "" where it does not matter


_KEPT: dict[str, Kept] = {}  # most queries come again and again, and translating takes longer than running


def prepare(sql: str, contexts: Contexts, now: str) -> Prepared:
    """Translate one query, or find it translated. ``contexts`` answers SYS_CONTEXT, ``now`` is SYSDATE.

    Raises:
        OracleError: ORA-00900 for what does not parse, ORA-03001 for what the lab does not know.
    """
    kept = _KEPT.get(sql)
    if kept is not None and kept.now in ("", now) and all(contexts(*a) == said for a, said in kept.contexts.items()):
        return kept.prepared
    answers: dict[tuple[str, str], str | None] = {}

    def answer(namespace: str, name: str) -> str | None:
        return answers.setdefault((namespace, name), contexts(namespace, name))

    prepared = _prepared(sql, answer, now)
    if len(_KEPT) >= MOST_KEPT:
        _KEPT.clear()
    _KEPT[sql] = Kept(prepared, answers, now if now in prepared.sql else "")
    return prepared


def _prepared(sql: str, contexts: Contexts, now: str) -> Prepared:
    tree = parsed(_scan(sql), "oracle", ERRORS)
    _reserved(tree, sql)
    for kind in _REFUSED:
        if tree.find(kind):
            raise refuse(kind.__name__)
    for select in list(tree.find_all(exp.Select)):
        eliminate_join_marks(select)
        _rownum(select)
    replaced(tree, _CHANGES, Asking(contexts, now))
    within = {cte.alias.upper() for cte in tree.find_all(exp.CTE)}
    views = tuple(dict.fromkeys(v for t in tree.find_all(exp.Table) if (v := view_name(t)) not in within))
    columns = frozenset(identifier.name.upper() for identifier in tree.find_all(exp.Identifier))
    star = any(not isinstance(node.parent, exp.Count) for node in tree.find_all(exp.Star))
    for table in tree.find_all(exp.Table):
        if view_name(table) not in within:
            table.set("this", exp.to_identifier(view_name(table), quoted=True))
            table.set("db", None)
    return Prepared(translated(tree, ERRORS), views, columns, star, binds_of(sql))


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


def _column(node: exp.Column, asking: Asking) -> exp.Expr:
    """Pseudo columns; a column of a table is left alone."""
    name = "" if node.table else node.name.upper()
    if name in ("ROWNUM", "ROWID", "LEVEL"):
        raise refuse(node.name)
    if name == "USER":
        return _text(asking.contexts("USERENV", "SESSION_USER"))
    if name in ("DBTIMEZONE", "SESSIONTIMEZONE"):
        return exp.Literal.string("+00:00")
    return _now(node, asking) if name in ("SYSDATE", "SYSTIMESTAMP") else node


def _now(_: exp.Expr, asking: Asking) -> exp.Expr:
    return exp.Cast(this=exp.Literal.string(asking.now), to=exp.DataType(this=exp.DataType.Type.TIMESTAMP_S))


def _literal(node: exp.Literal, _: Asking) -> exp.Expr:
    """The empty string is NULL."""
    return exp.Null() if node.is_string and not node.name else node


def _joined(node: exp.DPipe, _: Asking) -> exp.Expr:
    """NULL counts as nothing."""
    joined = exp.Anonymous(this="concat", expressions=[node.left, node.right])
    return exp.Nullif(this=joined, expression=exp.Literal.string(""))


def _less(node: exp.Sub, _: Asking) -> exp.Expr:
    """A date less a number is one of so many days before."""
    if not (isinstance(node.this, exp.Cast) and node.this.to.this is exp.DataType.Type.TIMESTAMP_S):
        return node
    days = exp.Anonymous(this="to_days", expressions=[exp.cast(node.expression, "INTEGER")])
    return exp.Sub(this=node.this, expression=days)


def _to_number(node: exp.ToNumber, _: Asking) -> exp.Expr:
    return exp.cast(node.this, "BIGINT")


def _time_to_text(node: exp.TimeToStr, _: Asking) -> exp.Expr:
    if not re.fullmatch(r"(%[YmdHMS]|[-:/. ])+", str(node.args["format"].name)):
        raise refuse(f"format {node.args['format'].name}")
    return node


_DATE_PARTS = re.compile(r"YYYY|HH24|MM|DD|MI|SS|[-:/. ]|(?P<other>.)", re.DOTALL)
_STRFTIME = {"YYYY": "%Y", "HH24": "%H", "MM": "%m", "DD": "%d", "MI": "%M", "SS": "%S"}


def _to_char(node: exp.ToChar, _: Asking) -> exp.Expr:
    """TO_CHAR of a date in one of the plain formats, or of a number without one."""
    form = node.args.get("format")
    if form is None:
        return exp.cast(node.this, "VARCHAR")
    parts = list(_DATE_PARTS.finditer(str(form.name).upper()))
    if any(part["other"] for part in parts):
        raise refuse(f"format {form.name}")
    text = "".join(_STRFTIME.get(part.group(), part.group()) for part in parts)
    return exp.Anonymous(this="strftime", expressions=[node.this, exp.Literal.string(text)])


def _function(node: exp.Anonymous, asking: Asking) -> exp.Expr:
    name = str(node.this).upper()
    if name == "SYS_CONTEXT":
        space, key = (str(part.name).upper() for part in node.expressions[:2])
        return _text(asking.contexts(space, key))
    if name == "CONCAT" or name in _PLAIN:
        return node
    raise refuse(f"function {name}")


def _text(value: str | None) -> exp.Expr:
    return exp.Null() if value is None else exp.Literal.string(value)


_CHANGES: Changes[Asking] = {
    exp.Column: _column,
    exp.CurrentTimestamp: _now,
    exp.CurrentDate: _now,
    exp.CurrentDatetime: _now,
    exp.Literal: _literal,
    exp.DPipe: _joined,
    exp.Sub: _less,
    exp.ToNumber: _to_number,
    exp.ToChar: _to_char,
    exp.TimeToStr: _time_to_text,
    exp.Anonymous: _function,
}
