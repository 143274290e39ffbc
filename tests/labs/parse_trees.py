"""What the names in a query resolved to, by the server's own account: parse trees that ``debug_print_parse`` shows.

A tree is what the parser has made of the text: each operator, function, aggregate and relation by its oid, each cast
that it put in by itself marked as such. Views are not expanded in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg

Node = dict[str, Any]
OPERATORS = frozenset({"OPEXPR", "SCALARARRAYOPEXPR", "DISTINCTEXPR", "NULLIFEXPR"})
_FUNCTIONS = {"FUNCEXPR": "funcid", "AGGREF": "aggfnoid", "WINDOWFUNC": "winfnoid"}
_FORMATS = {
    "FUNCEXPR": "funcformat", "RELABELTYPE": "relabelformat", "COERCEVIAIO": "coerceformat",
    "ARRAYCOERCEEXPR": "coerceformat", "CONVERTROWTYPEEXPR": "convertformat", "COERCETODOMAIN": "coercionformat",
}  # fmt: skip
_IMPLICIT = "2"  # COERCE_IMPLICIT_CAST
_ENDS = frozenset(" \n\t{}()")


@dataclass(slots=True)
class Resolved:
    """What the statements on a session were resolved to, by oid."""

    functions: set[int] = field(default_factory=set)
    operators: set[int] = field(default_factory=set)
    relations: set[int] = field(default_factory=set)
    unequal: set[int] = field(default_factory=set)  # operators one of whose operands the parser had to cast
    trees: int = 0

    def add(self, text: str) -> None:
        """Note what a printed tree refers to."""
        self.trees += 1
        for node in _nodes(_parse(text)):
            kind = node["node"]
            if not isinstance(kind, str):  # 17 prints some lists without a name
                continue
            if kind in _FUNCTIONS and node.get("funcformat", ["0"])[0] != _IMPLICIT:
                self.functions.add(int(node[_FUNCTIONS[kind]][0]))
            if kind in OPERATORS:
                number = int(node["opno"][0])
                self.operators.add(number)
                # Nowhere in a text: in the body of a function of the server, which it has parsed long ago.
                if node["location"] != ["-1"] and any(_is_implicit_cast(each) for each in node["args"][0]):
                    self.unequal.add(number)
            if node.get("relid", ["0"])[0] not in {"0", "<>"} and kind in {"RANGETBLENTRY", "RTE"}:
                self.relations.add(int(node["relid"][0]))


@contextmanager
def resolving(session: psycopg.Connection) -> Iterator[Resolved]:
    """Note what the statements of this block are resolved to; the session needs no right for it."""
    found = Resolved()

    def listen(said: psycopg.errors.Diagnostic) -> None:
        if (said.message_primary or "").startswith("parse tree"):
            found.add(said.message_detail or "")

    session.add_notice_handler(listen)
    session.execute("SET client_min_messages = log; SET debug_pretty_print = off; SET debug_print_parse = on")
    try:
        yield found
    finally:
        session.remove_notice_handler(listen)


def _is_implicit_cast(operand: object) -> bool:
    if not isinstance(operand, dict):
        return False
    form = _FORMATS.get(operand["node"])
    return form is not None and operand.get(form, [""])[0] == _IMPLICIT


def _nodes(part: object) -> Iterator[Node]:
    """Every node of a tree, itself first."""
    if isinstance(part, dict):
        yield part
        part = [item for value in part.values() if isinstance(value, list) for item in value]
    if isinstance(part, list):
        for each in part:
            yield from _nodes(each)


def _parse(text: str) -> list[object]:
    """Nested lists of a printed tree; a node ``{NAME :field value ...}`` is a dict of lists."""
    stack: list[list[object]] = [[]]
    for token in _tokens(text):
        if token in "{(":
            stack.append([token])
        elif token in "})":
            opened, *rest = stack.pop()
            stack[-1].append(_node(rest) if opened == "{" else rest)
        else:
            stack[-1].append(token)
    return stack[0]


def _node(parts: list[object]) -> Node:
    node: Node = {"node": parts[0]}
    values: list[object] = []
    for part in parts[1:]:
        if isinstance(part, str) and part.startswith(":"):
            node[part[1:]] = values = []
        else:
            values.append(part)
    return node


def _tokens(text: str) -> Iterator[str]:
    """As outfuncs.c writes them: blanks and brackets end a token, a backslash takes the next character along."""
    at = 0
    while at < len(text):
        if text[at] in _ENDS:
            if text[at] in "{}()":
                yield text[at]
            at += 1
            continue
        begin, quoted = at, text[at] == '"'
        at += 1
        while at < len(text) and (quoted or text[at] not in _ENDS):
            if text[at] == '"' and quoted:
                quoted = False
            at += 2 if text[at] == "\\" else 1
        yield text[begin:at]
