"""Which labels the series of a PromQL expression have, worked out from what the agent exposes.

A name or label that does not exist makes a query empty, and so does joining two vectors whose labels differ; Prometheus
says nothing of either. Here they are mistakes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import promql_parser as promql

Labels = frozenset[str]
SCRAPED = frozenset({"job", "instance"})  # Prometheus adds them to every series
CHOOSING = ("topk", "bottomk")  # aggregations that keep whole series
KEEPING_THE_LEFT = ("and", "unless")


class WrongQuery(Exception):
    """The expression asks for something that is not there."""


def labels_of(text: str, exposed: Mapping[str, Labels]) -> Labels:
    """Labels of the series that the expression yields; none where it is a scalar.

    Args:
        text: PromQL without variables of Grafana.
        exposed: labels of every metric, without those that scraping adds.

    Raises:
        ValueError: it is not PromQL.
        WrongQuery: a metric or label that does not exist, or two sides that can never match.
    """
    return _labels(promql.parse(text), exposed) or frozenset()


def metrics_of(text: str) -> set[str]:
    """Names of the metrics in an expression."""
    return {selector.name for selector in _selectors(promql.parse(text)) if selector.name}


def matchers_of(text: str) -> list[set[tuple[str, str, str]]]:
    """Name, operator and value of what each selector in an expression asks its labels for."""
    return [{(m.name, str(m.op), m.value) for m in each.matchers.matchers} for each in _selectors(promql.parse(text))]


def _selectors(expr: promql.Expr) -> Iterator[promql.VectorSelector]:
    match expr:
        case promql.VectorSelector():
            yield expr
        case promql.MatrixSelector():
            yield expr.vector_selector
        case promql.BinaryExpr():
            yield from _selectors(expr.lhs)
            yield from _selectors(expr.rhs)
        case promql.Call():
            for each in expr.args:
                yield from _selectors(each)
        case promql.ParenExpr() | promql.AggregateExpr() | promql.UnaryExpr() | promql.SubqueryExpr():
            yield from _selectors(expr.expr)


def _labels(expr: promql.Expr, exposed: Mapping[str, Labels]) -> Labels | None:
    """Labels of a vector; None of a scalar or string."""
    match expr:
        case promql.VectorSelector():
            return _selected(expr, exposed)
        case promql.MatrixSelector():
            return _selected(expr.vector_selector, exposed)
        case promql.ParenExpr() | promql.UnaryExpr() | promql.SubqueryExpr():
            return _labels(expr.expr, exposed)
        case promql.Call():
            given = [labels for each in expr.args if (labels := _labels(each, exposed)) is not None]
            return frozenset() if expr.func.name == "absent" else next(iter(given), None)
        case promql.AggregateExpr():
            return _aggregated(expr, exposed)
        case promql.BinaryExpr():
            return _joined(expr, exposed)
        case promql.NumberLiteral() | promql.StringLiteral():
            return None
        case _:
            raise WrongQuery(f"these tests do not know {type(expr).__name__}")


def _selected(selector: promql.VectorSelector, exposed: Mapping[str, Labels]) -> Labels:
    name = selector.name or ""
    if name not in exposed:
        raise WrongQuery(f"{name or selector} is not exposed")
    labels = exposed[name] | SCRAPED
    _check({matcher.name for matcher in selector.matchers.matchers} - {"__name__"}, labels, name)
    return labels


def _aggregated(expr: promql.AggregateExpr, exposed: Mapping[str, Labels]) -> Labels:
    inner = _labels(expr.expr, exposed) or frozenset()
    named = frozenset(expr.modifier.labels) if expr.modifier else frozenset()
    _check(named, inner, f"the grouping of {expr.op}")
    if str(expr.op) in CHOOSING:
        return inner
    without = expr.modifier is not None and expr.modifier.type == promql.AggModifierType.Without
    return inner - named if without else named


def _joined(expr: promql.BinaryExpr, exposed: Mapping[str, Labels]) -> Labels | None:
    left, right = _labels(expr.lhs, exposed), _labels(expr.rhs, exposed)
    if left is None or right is None:
        return right if left is None else left
    matching = expr.modifier.matching if expr.modifier else None
    if matching is None:
        if left != right:
            raise WrongQuery(f"no series of {sorted(left)} ever matches one of {sorted(right)}")
        return left
    if matching.type != promql.LabelModifierType.Include:
        raise WrongQuery("say with on() what is joined: ignoring() breaks with the next label")
    named = frozenset(matching.labels)
    _check(named, left & right, "on()")
    return left if str(expr.op) in KEEPING_THE_LEFT else named


def _check(named: set[str] | Labels, there: Labels, what: str) -> None:
    if named - there:
        raise WrongQuery(f"{what} has no label {', '.join(sorted(named - there))}; there are {sorted(there)}")
