"""Every regular expression in the source, with how it is used."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = ("agent", "connectors", "policies")
SCANS = frozenset({"search", "sub", "subn", "findall", "finditer", "split"})  # begin at each character of a text
METHODS = SCANS | {"match", "fullmatch"}
FLAGS = re.compile(r"re\.[A-Z]+(?: \| re\.[A-Z]+)*")


@dataclass(frozen=True, slots=True)
class Expression:
    """One of them."""

    place: str  # path:line
    function: str  # path:name of the function in which it stands, "" at the top of a module
    pattern: str | bytes | None  # None: it is made from what the function is given
    flags: int
    uses: frozenset[str]  # match, fullmatch, finditer


@cache
def expressions() -> tuple[Expression, ...]:
    """All of them, by place."""
    paths = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in paths}
    return tuple(found for path, tree in trees.items() for found in _in_module(path, tree, trees.values()))


def strings_in(path: str) -> list[str]:
    """Every text that a module of ours writes out, of which a function may make expressions."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    found = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return list(dict.fromkeys(text for text in found if isinstance(text, str)))


def _in_module(path: Path, tree: ast.Module, others: Iterable[ast.Module]) -> Iterator[Expression]:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _method_of_re(node)]
    if not calls:
        return
    names = vars(importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts)))
    file = str(path.relative_to(ROOT))
    for node in calls:
        method = _method_of_re(node)
        inside = [each.name for each in _functions(tree) if each.lineno <= node.lineno <= (each.end_lineno or 0)]
        uses = {method} if method != "compile" else _uses(_name_of(node, tree), tree, others)
        yield Expression(
            place=f"{file}:{node.lineno}",
            function=f"{file}:{inside[-1]}" if inside else "",
            pattern=_evaluated(node.args[0], names),
            flags=_flags(node, names),
            uses=frozenset("finditer" if use in SCANS else use for use in uses or METHODS),
        )


def _functions(tree: ast.Module) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def _method_of_re(node: ast.Call) -> str:
    function = node.func
    if not (isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "re"):
        return ""
    return function.attr if function.attr in METHODS | {"compile"} else ""


def _name_of(call: ast.Call, tree: ast.Module) -> str:
    """What the expression is assigned to; "" where it stands in a table."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is call:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            return (
                target.id if isinstance(target, ast.Name) else target.attr if isinstance(target, ast.Attribute) else ""
            )
    return ""


def _uses(name: str, own: ast.Module, others: Iterable[ast.Module]) -> set[str]:
    """Methods that are called on it; of one without a name, those that its module calls on anything."""
    called = _called(own)
    if not name:
        return {method for whose, method in called if whose.islower()}  # variables: those of constants are theirs
    found = {method for whose, method in called if whose == name}
    found = found or {method for tree in others for whose, method in _called(tree) if whose == name}
    return found or {method for _, method in called}


@cache  # each module is asked for every name that is used in another
def _called(tree: ast.Module) -> frozenset[tuple[str, str]]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in METHODS:
            whose = node.value
            name = whose.id if isinstance(whose, ast.Name) else whose.attr if isinstance(whose, ast.Attribute) else "?"
            if name != "re":
                found.add((name, node.attr))
    return frozenset(found)


def _evaluated(node: ast.expr, names: Mapping[str, object]) -> str | bytes | None:
    try:
        value = eval(compile(ast.Expression(node), "pattern", "eval"), dict(names))  # our own source
    except NameError:
        return None
    return value if isinstance(value, str | bytes) else None


def _flags(node: ast.Call, names: Mapping[str, object]) -> int:
    given = [*node.args[1:], *(word.value for word in node.keywords)]
    values = [each for each in given if FLAGS.fullmatch(ast.unparse(each))]
    return sum(int(eval(compile(ast.Expression(each), "flags", "eval"), dict(names))) for each in values)
