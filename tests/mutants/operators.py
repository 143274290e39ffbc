"""Small mistakes that one can make in a module: each changes one place of its text and leaves the rest as it is.

The kinds are those of the usual tools (Mothra's operators; Offutt et al. 1996, "An experimental determination of
sufficient mutant operators"): a comparison, a connective, a sign or a constant is another one, a condition is turned
around, a statement is left out, a result is None. Texts are left alone: they are wording. So are declarations that are
not carried out: annotations, decorators, imports.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
SIGNS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
}  # fmt: skip
ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)  # whose other comparison differs at the limit alone
QUIET = frozenset({"log", "logging", "warnings"})  # what is left out of a log is wording


@dataclass(frozen=True, slots=True)
class Change:
    """One mistake in a text."""

    kind: str
    line: int  # from 1
    last_line: int
    start: int  # in bytes of the UTF-8 text
    stop: int
    before: str
    after: str
    on_import: bool = False  # carried out when the module is imported, and not by a test

    @property
    def lines(self) -> range:
        """Those that it touches."""
        return range(self.line, self.last_line + 1)

    def applied(self, text: str) -> str:
        """The text with the mistake."""
        coded = text.encode()
        return (coded[: self.start] + self.after.encode() + coded[self.stop :]).decode()


def changes(text: str) -> list[Change]:
    """Every mistake of these kinds that a module's text allows, in its order."""
    walk = _Walk(text)
    walk.visit(ast.parse(text))
    return sorted(walk.found, key=lambda change: (change.start, change.stop, change.kind, change.after))


class _Walk(ast.NodeVisitor):
    """Visits what is carried out."""

    def __init__(self, text: str) -> None:
        self.coded = text.encode()
        self.found: list[Change] = []
        self._in_function = False

    @cached_property
    def _starts(self) -> list[int]:
        """Where each line begins."""
        starts = [0]
        for line in self.coded.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        return starts

    def _note(self, kind: str, node: ast.expr | ast.stmt, after: str | ast.expr) -> None:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self._starts[node.lineno - 1] + node.col_offset
        stop = self._starts[node.end_lineno - 1] + node.end_col_offset
        before = self.coded[start:stop].decode()
        text = after if isinstance(after, str) else f"({ast.unparse(after)})"
        self.found.append(
            Change(kind, node.lineno, node.end_lineno, start, stop, before, text, on_import=not self._in_function)
        )

    # -- declarations: only what they contain is carried out --------------------------------------------------------

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Its defaults and its body."""
        for default in (*node.args.defaults, *(each for each in node.args.kw_defaults if each is not None)):
            self.visit(default)
        outside, self._in_function = self._in_function, True
        self._visit_all(node.body)
        self._in_function = outside

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Its body."""
        self._visit_all(node.body)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Its value."""
        if node.value is not None:
            self.visit(node.value)

    def visit_If(self, node: ast.If) -> None:
        """Both branches, and the condition, unless it asks whether types are checked."""
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return
        self._negate(node.test)
        self.generic_visit(node)

    def _visit_all(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self.visit(statement)

    # -- statements ---------------------------------------------------------------------------------------------------

    def visit_Expr(self, node: ast.Expr) -> None:
        """A call is left out."""
        if isinstance(node.value, ast.Call):
            if _is_quiet(node.value):
                return
            self._note("statement left out", node, "pass")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """Left out."""
        self._note("statement left out", node, "pass")
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        """What is stored in an object is not; a local name would only be unknown."""
        if all(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets):
            self._note("statement left out", node, "pass")
        self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        """No error."""
        self._note("no error", node, "pass")

    def visit_Return(self, node: ast.Return) -> None:
        """None instead of the result."""
        if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
            self._note("result is None", node, "return None")
        self.generic_visit(node)

    def visit_Continue(self, node: ast.Continue) -> None:
        """The loop ends."""
        self._note("loop", node, "break")

    def visit_Break(self, node: ast.Break) -> None:
        """The loop goes on."""
        self._note("loop", node, "continue")

    def visit_keyword(self, node: ast.keyword) -> None:
        """Arguments; whether ``zip`` is strict is an assertion too."""
        if node.arg != "strict":
            self.generic_visit(node)

    def visit_Assert(self, node: ast.Assert) -> None:
        """For readers and type checkers: what it says always holds."""

    def visit_Import(self, node: ast.Import) -> None:
        """Nothing to mistake."""

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Nothing to mistake."""

    # -- expressions --------------------------------------------------------------------------------------------------

    def visit_Compare(self, node: ast.Compare) -> None:
        """Another comparison, one at a time."""
        for at, operator in enumerate(node.ops):
            other = COMPARISONS[type(operator)]()
            operators = [*node.ops[:at], other, *node.ops[at + 1 :]]
            self._note("comparison", node, ast.Compare(node.left, operators, node.comparators))
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """And for or; then each part is left out."""
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        self._note("connective", node, ast.BoolOp(other, node.values))
        for at in range(len(node.values)):
            rest = node.values[:at] + node.values[at + 1 :]
            self._note("part left out", node, rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest))
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        """Without its sign."""
        self._note("sign", node, node.operand)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """Another sign."""
        other = SIGNS.get(type(node.op))
        if other is not None:
            self._note("sign", node, ast.BinOp(node.left, other(), node.right))
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        """The condition turned around."""
        self._negate(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        """Each of its conditions turned around."""
        for condition in node.ifs:
            self._negate(condition)
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        """The condition turned around."""
        self._negate(node.test)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """The other truth, or one more."""
        if isinstance(node.value, bool):
            self._note("constant", node, str(not node.value))
        elif isinstance(node.value, int | float):
            self._note("constant", node, repr(node.value + 1))

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Wording."""

    def _negate(self, condition: ast.expr) -> None:
        # An equality turned around is another comparison, and a sign left out is noted where it stands.
        equality = isinstance(condition, ast.Compare) and not isinstance(condition.ops[0], ORDERS)
        if not equality and not isinstance(condition, ast.UnaryOp):
            self._note("condition", condition, ast.UnaryOp(ast.Not(), condition))


def _is_quiet(call: ast.Call) -> bool:
    function = call.func
    return isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id in QUIET
