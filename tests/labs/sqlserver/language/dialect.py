"""T-SQL's own ways in DuckDB's words: CONVERT, QUOTENAME, integer division, comparison, server functions."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from tests.labs.sql.duck import Changes, replaced
from tests.labs.sqlserver.documented import View, floating_columns, variant_columns
from tests.labs.sqlserver.instance import Instance
from tests.labs.sqlserver.language.tokens import pieces_of
from tests.labs.sqlserver.rights import has_permission
from tests.labs.sqlserver.views.relations import Viewer, principal_id, user_name
from tests.labs.tds.backend import ServerError

NOT_EMULATED = 50000
ISO_8601 = "126"
VARIANTS = frozenset({"SERVERPROPERTY", "DATABASEPROPERTYEX"})  # sql_variant: no driver can fetch it
SERVER_ROLES = frozenset({"sysadmin", "securityadmin", "serveradmin", "dbcreator"})
EDITIONS = {2: "Standard Edition (64-bit)", 3: "Enterprise Edition (64-bit)", 4: "Express Edition (64-bit)"}
_STRING_TYPES = (exp.DType.NVARCHAR, exp.DType.VARCHAR, exp.DType.CHAR, exp.DType.NCHAR, exp.DType.TEXT)
_EXACT_FLOATS = (exp.DType.FLOAT, exp.DType.DOUBLE, exp.DType.DECIMAL)
Call = list[exp.Expr]


def rewrite(tree: exp.Query, viewer: Viewer, views: dict[str, View]) -> None:
    """Turn the query into DuckDB's terms.

    Raises:
        ServerError: something in it is not known here.
    """
    _refuse_variants(tree)
    _ignore_trailing_blanks(tree, views)
    replaced(tree, _CHANGES, viewer)


def _refuse_variants(tree: exp.Expr) -> None:
    for call in tree.find_all(exp.Anonymous):
        if call.name.upper() in VARIANTS and not isinstance(call.parent, exp.Convert | exp.Cast):
            raise ServerError(NOT_EMULATED, f"{call.name} gives a sql_variant, which must be converted to be fetched")


def _ignore_trailing_blanks(tree: exp.Expr, views: dict[str, View]) -> None:
    """Char and nchar compare without their padding."""
    for comparison in list(tree.find_all(exp.EQ, exp.NEQ, exp.In)):
        for side in (comparison.this, comparison.expression):
            if isinstance(side, exp.Column) and side.table.lower() in views:
                kind = views[side.table.lower()].columns.get(side.name.lower(), "")
                if kind.startswith(("char", "nchar")):
                    side.replace(exp.func("RTRIM", side.copy()))


def _convert(node: exp.Expr, _: Viewer) -> exp.Expr:
    kind, value, style = node.this, node.expression, node.args.get("style")
    text = kind.this in _STRING_TYPES
    if style is not None:
        if text and style.name == ISO_8601 and value.name.lower() in variant_columns():
            return exp.Cast(this=value, to=exp.DataType.build("TEXT"))  # the relation has it as that style writes it
        if not text or style.name != ISO_8601:
            raise ServerError(NOT_EMULATED, f"CONVERT to {kind.sql('tsql')} with style {style.name}")
        return exp.func("strftime", value, exp.Literal.string("%Y-%m-%dT%H:%M:%S"))
    return exp.Cast(this=value, to=exp.DataType.build("TEXT") if text else kind)


def _cast(node: exp.Expr, _: Viewer) -> exp.Expr:
    if node.args["to"].this in _STRING_TYPES:
        node.set("to", exp.DataType.build("TEXT"))
    return node


def _national(node: exp.Expr, _: Viewer) -> exp.Expr:
    return exp.Literal.string(node.name)


def _parameter(node: exp.Expr, viewer: Viewer) -> exp.Expr:
    if not isinstance(node.this, exp.Parameter):
        return node
    return literal(global_variable(node.this.name, viewer))


def _divide(node: exp.Expr, _: Viewer) -> exp.Expr:
    for part in node.walk():
        exact = isinstance(part, exp.Literal) and not part.is_string and "." in part.name
        named = isinstance(part, exp.Column) and part.name.lower() in floating_columns()
        cast = isinstance(part, exp.Convert | exp.Cast) and part.args.get("to", part.this).this in _EXACT_FLOATS
        if exact or named or cast:
            return node
    return exp.IntDiv(this=node.this, expression=node.expression)


def _add(node: exp.Expr, _: Viewer) -> exp.Expr:
    if any(_is_text(part) for part in node.walk()):
        return exp.DPipe(this=node.this, expression=node.expression)
    return node


def _is_text(part: exp.Expr) -> bool:
    literal_text = isinstance(part, exp.Literal) and part.is_string
    return literal_text or isinstance(part, exp.National | exp.DPipe) or part.name.upper() == "QUOTENAME"


def _like(node: exp.Expr, _: Viewer) -> exp.Expr:
    return exp.ILike(this=node.this, expression=node.expression)


def _anonymous(node: exp.Expr, viewer: Viewer) -> exp.Expr:
    name = node.name.upper()
    if name not in _FUNCTIONS:
        raise ServerError(195, f"'{node.name}' is not a recognized built-in function name.", severity=15)
    return _FUNCTIONS[name](node.expressions, viewer)


def _login(_: exp.Expr, viewer: Viewer) -> exp.Expr:
    return literal(viewer.account.name)


_CHANGES: Changes[Viewer] = {
    exp.Convert: _convert,
    exp.Cast: _cast,
    exp.National: _national,
    exp.Parameter: _parameter,
    exp.Div: _divide,
    exp.Add: _add,
    exp.Like: _like,
    exp.Anonymous: _anonymous,
    exp.CurrentUser: _login,
    exp.ObjectId: lambda node, viewer: _object_id([node.this], viewer),
}


def literal(value: object) -> exp.Expr:
    """A constant."""
    return exp.convert(value)


def _text(argument: exp.Expr) -> str | None:
    """A constant string, or None for NULL."""
    if isinstance(argument, exp.Null):
        return None
    if isinstance(argument, exp.National) or (isinstance(argument, exp.Literal) and argument.is_string):
        return argument.name
    raise ServerError(NOT_EMULATED, f"the emulated server takes only constants here: {argument.sql('tsql')}")


def _plain(argument: exp.Expr, viewer: Viewer) -> str | None:
    """A constant string, or one of two by whether a principal is there: in whose name a lock is taken."""
    if isinstance(argument, exp.Case):
        (branch,) = argument.args["ifs"]
        asked = branch.this
        if not (isinstance(asked, exp.Is) and isinstance(asked.expression, exp.Null)):
            raise ServerError(NOT_EMULATED, f"the emulated server does not compute {argument.sql('tsql')}")
        chosen = branch.args["true"] if isinstance(asked.this, exp.Null) else argument.args["default"]
        return _plain(chosen, viewer)
    return _text(argument)


def may_lock_as(viewer: Viewer, principal: str | None) -> bool:
    """Only members of a principal lock in its name: who it is, everybody as public; db_owner as all."""
    owner = viewer.account.administrator or "CONTROL" in viewer.account.database_rights
    return principal in {user_name(viewer), "public"} or (owner and principal_id(viewer, principal) is not None)


def global_variable(name: str, viewer: Viewer) -> object:
    """@@SPID and the like."""
    known = {"SPID": viewer.connected.spid, "SERVERNAME": viewer.instance.name, "TRANCOUNT": 0}
    if name.upper() not in known:
        raise ServerError(137, f'Must declare the scalar variable "@@{name}".', severity=15)
    return known[name.upper()]


def _server_property(instance: Instance, name: str | None) -> object:
    """SERVERPROPERTY; NULL for a name that is not known."""
    managed = instance.engine_edition in (5, 8)
    version = "12.0.2000.8" if managed else ".".join(str(n) for n in (*instance.version, 1))
    return {
        "productversion": version,
        "productmajorversion": version.partition(".")[0],
        "engineedition": instance.engine_edition,
        "edition": EDITIONS.get(instance.engine_edition, "SQL Azure"),
        "isclustered": 0,
        "ishadrenabled": int(bool(instance.replicas)),
        "servername": instance.name,
        "machinename": instance.name,
        "computernamephysicalnetbios": instance.name,
        "pathseparator": "\\",
        "instancedefaultdatapath": "D:\\data\\",
    }.get((name or "").lower())


def _database_property(arguments: Call, viewer: Viewer) -> exp.Expr:
    wanted = (_text(arguments[1]) or "").lower()
    if wanted not in ("updateability", "recovery", "status"):
        return exp.null()
    case = exp.Case()
    for database in viewer.instance.databases.values():
        value = {"updateability": database.updateability, "recovery": database.recovery_model}.get(wanted, "ONLINE")
        case = case.when(exp.EQ(this=arguments[0].copy(), expression=literal(database.name)), literal(value))
    return exp.paren(case)


def _permission(arguments: Call, viewer: Viewer) -> exp.Expr:
    kind = _text(arguments[1])
    found = has_permission(viewer.account, viewer.instance.major, kind, _text(arguments[2]) or "")
    return exp.cast(literal(found), "INT")


def _quoted(arguments: Call, _: Viewer) -> exp.Expr:
    inner = exp.func("REPLACE", arguments[0], exp.Literal.string("]"), exp.Literal.string("]]"))
    opened = exp.DPipe(this=exp.Literal.string("["), expression=inner)
    return exp.paren(exp.DPipe(this=opened, expression=exp.Literal.string("]")))


def _database_id(arguments: Call, viewer: Viewer) -> exp.Expr:
    if not arguments:
        return literal(viewer.database.database_id)
    found = viewer.instance.databases.get((_text(arguments[0]) or "").lower())
    return literal(found.database_id) if found else exp.null()


def _object_id(arguments: Call, viewer: Viewer) -> exp.Expr:
    """NULL for what is not there, or may not be seen."""
    parts = [piece.text.lower() for piece in pieces_of(_text(arguments[0]) or "") if piece.kind in ("name", "word")]
    found = (t.object_id for t in viewer.tables() if [t.schema.lower(), t.name.lower()] == parts)
    return exp.cast(literal(next(found, None)), "INT")


def _lock_mode(arguments: Call, viewer: Viewer) -> exp.Expr:
    principal = _plain(arguments[0], viewer)
    if principal is None or not may_lock_as(viewer, principal):
        return exp.null()
    holder = viewer.instance.app_locks.get((principal, _text(arguments[1]) or ""))
    return literal("Exclusive" if holder == viewer.connected.spid else "NoLock")


def _server_role(viewer: Viewer, role: str | None) -> int | None:
    """IS_SRVROLEMEMBER: logins here are sysadmin or nothing; NULL for what is no role."""
    return int(viewer.account.administrator and role == "sysadmin") if role in SERVER_ROLES else None


def _database_role(viewer: Viewer, role: str | None) -> int | None:
    """IS_ROLEMEMBER: db_owner has CONTROL, db_ddladmin ALTER, no other is played."""
    rights = viewer.account.database_rights
    has = {"db_owner": "CONTROL" in rights, "db_ddladmin": "ALTER" in rights}
    return int(has[role]) if role in has else None


def _principal_id(arguments: Call, viewer: Viewer) -> exp.Expr:
    found = principal_id(viewer, _plain(arguments[0], viewer) if arguments else None)
    return exp.null() if found is None else literal(found)


_FUNCTIONS: dict[str, Callable[[Call, Viewer], exp.Expr]] = {
    "DB_ID": _database_id,
    "DATABASE_PRINCIPAL_ID": _principal_id,
    "USER_NAME": lambda _, viewer: literal(user_name(viewer)),
    "IS_SRVROLEMEMBER": lambda a, viewer: literal(_server_role(viewer, _text(a[0]))),
    "IS_ROLEMEMBER": lambda a, viewer: literal(_database_role(viewer, _text(a[0]))),
    "DB_NAME": lambda _, viewer: literal(viewer.database.name),
    "SUSER_SNAME": lambda _, viewer: literal(viewer.account.name),
    "SERVERPROPERTY": lambda a, viewer: literal(_server_property(viewer.instance, _text(a[0]))),
    "DATABASEPROPERTYEX": _database_property,
    "HAS_PERMS_BY_NAME": _permission,
    "QUOTENAME": _quoted,
    "APPLOCK_MODE": _lock_mode,
    "SYSUTCDATETIME": lambda _, viewer: exp.cast(literal(viewer.instance.now().isoformat()), "TIMESTAMP"),
    "STRFTIME": lambda a, _: exp.Anonymous(this="strftime", expressions=a),
}
