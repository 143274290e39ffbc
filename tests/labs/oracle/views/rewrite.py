"""Oracle's SELECT as DuckDB understands it. What is not known to mean the same is refused, never guessed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

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
HASHES = 1 << 32  # ORA_HASH gives one of so many
LEVELS, LEVEL = "LEVELS ", "LEVEL#"  # the relation that stands for CONNECT BY LEVEL <= n on DUAL, and its column
# SQL Language Reference, "Oracle SQL Reserved Words": neither an alias nor a bind may be called so.
RESERVED = frozenset((Path(__file__).parents[1] / "reserved_words.txt").read_text().split())
MOST_KEPT = 2000
_REFUSED = (exp.Connect, exp.Lateral, exp.Unnest, exp.MatchRecognize)


ROW_NUMBER = "row#"  # the column of a table in DuckDB that numbers its rows
Contexts = Callable[[str, str], str | None]


@dataclass(frozen=True, slots=True)
class Asking:
    """Who asks, and when."""

    contexts: Contexts  # answers SYS_CONTEXT
    now: str  # SYSDATE


@dataclass(frozen=True, slots=True)
class Visit:
    """How one SELECT comes to the rows of a table, as far as its text says."""

    table: str  # OWNER.NAME
    compared: frozenset[str]  # columns that have to equal something
    count: str  # a query that counts the rows which it looks at so
    rows: str  # a query of the numbers of these rows, in the order in which they were inserted


@dataclass(frozen=True, slots=True)
class Prepared:
    """A query ready to run, with the views and columns it names and the binds in their order."""

    sql: str
    views: tuple[str, ...]
    columns: frozenset[str]
    star: bool
    binds: tuple[str, ...]
    visits: tuple[Visit, ...] = ()
    bare: tuple[str, ...] = ()  # of the views, those that are named without their owner


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


def dictionary_name(identifier: exp.Expr) -> str:
    """A name as the dictionary has it."""
    name = str(identifier.name)
    return name if identifier.args.get("quoted") else name.upper()


def view_name(table: exp.Table) -> str:
    """Name of the view behind synonym, owner and underscore: SYS.V_$SEGSTAT is V$SEGSTAT; OWNER.NAME of a table."""
    name, owner = dictionary_name(table.this), table.args.get("db")
    if owner is not None and dictionary_name(owner) != "SYS":
        return f"{dictionary_name(owner)}.{name}"
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
    return translate_query(tree, Asking(contexts, now), binds_of(sql))


def translate_query(tree: exp.Query, asking: Asking, binds: tuple[str, ...]) -> Prepared:
    """The tree of a query, which is changed, as one that DuckDB runs.

    Raises:
        OracleError: ORA-03001 for what the lab does not know.
    """
    for select in list(tree.find_all(exp.Select)):
        _levels(select)
        eliminate_join_marks(select)
        _rownum(select)
    for kind in _REFUSED:
        if tree.find(kind):
            raise refuse(kind.__name__)
    replaced(tree, CHANGES, asking)
    within = {cte.alias.upper() for cte in tree.find_all(exp.CTE)}
    views = tuple(dict.fromkeys(v for t in tree.find_all(exp.Table) if (v := view_name(t)) not in within))
    columns = frozenset(identifier.name.upper() for identifier in tree.find_all(exp.Identifier))
    star = any(not isinstance(node.parent, exp.Count) for node in tree.find_all(exp.Star))
    bare = tuple(
        name for t in tree.find_all(exp.Table) if t.args.get("db") is None and (name := view_name(t)) not in within
    )
    for table in tree.find_all(exp.Table):
        if view_name(table) not in within:
            name_in_duck(table)
    visits = tuple(_visits(tree)) if any("." in view for view in views) else ()
    return Prepared(translated(tree, ERRORS), views, columns, star, binds, visits, bare)


def name_in_duck(table: exp.Table) -> None:
    """One quoted name in the place of owner and name."""
    table.set("this", exp.to_identifier(view_name(table), quoted=True))
    table.set("db", None)


def _visits(tree: exp.Query) -> Iterator[Visit]:
    for table in tree.find_all(exp.Table):
        select = table.find_ancestor(exp.Select)
        if "." not in table.name or select is None:
            continue
        conditions = [select.args.get("where"), *(join.args.get("on") for join in select.args.get("joins", ()))]
        equal = [each for condition in conditions if condition for each in condition.find_all(exp.EQ)]
        sides = [side for each in equal for side in (each.left, each.right) if isinstance(side, exp.Column)]
        compared = frozenset(side.name.upper() for side in sides if side.table in ("", table.alias_or_name))
        counting = select.copy()
        for clause in ("order", "group", "having", "distinct"):
            counting.set(clause, None)
        counting.set("expressions", [exp.Count(this=exp.Star())])
        number = exp.column(
            exp.to_identifier(ROW_NUMBER, quoted=True), table=exp.to_identifier(table.alias_or_name, quoted=True)
        )
        numbered = counting.copy()
        numbered.set("expressions", [number])
        yield Visit(table.name, compared, translated(counting, ERRORS), translated(numbered, ERRORS))


def _levels(select: exp.Select) -> None:
    """``FROM DUAL CONNECT BY LEVEL <= n`` is n rows, LEVEL from 1 on; other hierarchies are refused later."""
    connect = select.args.get("connect")
    above = connect.args["connect"] if connect is not None and connect.args.get("start") is None else None
    tables = list(select.find_all(exp.Table))
    if not isinstance(above, exp.LTE) or above.this.name.upper() != "LEVEL" or not above.expression.is_int:
        return
    if [table.name.upper() for table in tables] != ["DUAL"]:
        return
    tables[0].set("this", exp.to_identifier(f"{LEVELS}{above.expression.name}", quoted=True))
    select.set("connect", None)
    for column in list(select.find_all(exp.Column)):
        if column.name.upper() == "LEVEL" and not column.table:
            column.replace(exp.column(exp.to_identifier(LEVEL, quoted=True)))


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
    """NULL counts as nothing. A chain is one concatenation: NULLIF evaluates its first argument twice."""
    if isinstance(node.parent, exp.DPipe):
        return node
    joined = exp.Anonymous(this="concat", expressions=[each.copy() for each in node.flatten()])
    return exp.Nullif(this=joined, expression=exp.Literal.string(""))


def _less(node: exp.Sub, _: Asking) -> exp.Expr:
    """A date less a number is one of so many days before, parts of a day included, to the second as dates are."""
    if not (isinstance(node.this, exp.Cast) and node.this.to.this is exp.DataType.Type.TIMESTAMP_S):
        return node
    seconds = exp.Mul(this=exp.cast(exp.paren(node.expression), "DOUBLE"), expression=exp.Literal.number(86400))
    before = exp.Anonymous(this="to_seconds", expressions=[exp.Anonymous(this="round", expressions=[seconds])])
    return exp.Sub(this=node.this, expression=before)


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


def _more(node: exp.Add, _: Asking) -> exp.Expr:
    """A date and a number is one of so many days later."""
    if not isinstance(node.this, exp.DateStrToDate):
        return node
    return exp.Add(this=node.this, expression=exp.cast(node.expression, "INTEGER"))


def _of_package(node: exp.Dot, _: Asking) -> exp.Expr:
    """DBMS_LOB.GETLENGTH(lob) and DBMS_LOB.SUBSTR(lob, amount, offset)."""
    called = node.expression
    name = f"{node.this.name}.{called.this}".upper() if isinstance(called, exp.Anonymous) else str(node)
    match name, called.expressions:
        case "DBMS_LOB.SUBSTR", [lob, amount, offset]:
            return exp.Anonymous(this="substr", expressions=[lob, offset, amount])
        case "DBMS_LOB.GETLENGTH", [lob]:
            return exp.Anonymous(this="length", expressions=[lob])
    raise refuse(f"function {name}")


def _hash(text: exp.Expr) -> exp.Expr:
    """Some hash of the same range; that of Oracle is not known."""
    hashed = exp.Anonymous(this="hash", expressions=[exp.cast(text, "VARCHAR")])
    return exp.cast(exp.Mod(this=hashed, expression=exp.Literal.number(HASHES)), "BIGINT")


def _function(node: exp.Anonymous, asking: Asking) -> exp.Expr:
    name = str(node.this).upper()
    if isinstance(node.parent, exp.Dot):
        return node  # of a package
    if name == "ORA_HASH":
        return _hash(node.expressions[0])
    if name == "SYS_EXTRACT_UTC":
        (at,) = node.expressions  # the lab's clock is in UTC, see DBTIMEZONE
        return _now(at, asking) if isinstance(at, exp.Systimestamp) else cast(exp.Expr, at)
    if name == "TO_CLOB":
        return exp.cast(node.expressions[0], "VARCHAR")
    if name == "SYS_CONTEXT":
        space, key = (str(part.name).upper() for part in node.expressions[:2])
        return _text(asking.contexts(space, key))
    if name == "CONCAT" or name in _PLAIN:
        return node
    raise refuse(f"function {name}")


def _text(value: str | None) -> exp.Expr:
    return exp.Null() if value is None else exp.Literal.string(value)


CHANGES: Changes[Asking] = {
    exp.Column: _column,
    exp.CurrentTimestamp: _now,
    exp.Systimestamp: _now,
    exp.CurrentDate: _now,
    exp.CurrentDatetime: _now,
    exp.Literal: _literal,
    exp.DPipe: _joined,
    exp.Sub: _less,
    exp.Add: _more,
    exp.Dot: _of_package,
    exp.ToNumber: _to_number,
    exp.ToChar: _to_char,
    exp.TimeToStr: _time_to_text,
    exp.Anonymous: _function,
}
