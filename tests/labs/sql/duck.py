"""Runs another engine's SELECT in DuckDB. What is not understood is told as that engine would, never answered."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import duckdb
import sqlglot
from numpy.typing import NDArray
from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError

Context = TypeVar("Context")
Changes = Mapping[type[exp.Expr], Callable[[Any, Context], exp.Expr]]

logging.getLogger("sqlglot").setLevel(logging.ERROR)  # it tells of hints that it leaves out


@dataclass(frozen=True, slots=True)
class Errors:
    """An engine's own errors, each made from what is to be said."""

    syntax: Callable[[str], Exception]
    column: Callable[[str], Exception]  # from the name of one that is not there
    function: Callable[[str], Exception]
    not_emulated: Callable[[str], Exception]  # the emulation lacks something, not the engine


def parsed(sql: str, dialect: str, errors: Errors) -> exp.Query:
    """The tree of one query, to be changed at will.

    Raises:
        Exception: of ``errors``, for what does not parse or is no query.
    """
    try:
        tree = _parsed(sql, dialect).copy()
    except SqlglotError as error:
        raise errors.syntax(str(error).splitlines()[0]) from error
    if not isinstance(tree, exp.Query) or tree.args.get("into"):
        raise errors.not_emulated(f"{type(tree).__name__}: {sql[:80]}")
    return tree


@lru_cache(maxsize=512)
def _parsed(sql: str, dialect: str) -> exp.Expr:
    """For copying: parsing is what takes longest."""
    return sqlglot.parse_one(sql, read=dialect)


def replaced(tree: exp.Expr, changes: Changes[Context], context: Context) -> None:
    """Put what stands for it in the place of every node whose type has a change; inner ones first."""
    for node in reversed(list(tree.dfs())):  # what stands for a node is not looked at again
        change = changes.get(type(node))
        if change is not None:
            changed = change(node, context)
            if changed is not node:
                node.replace(changed)


def translated(tree: exp.Expr, errors: Errors) -> str:
    """In DuckDB's words.

    Raises:
        Exception: of ``errors``, where it has none for something.
    """
    try:
        return tree.sql(dialect="duckdb", unsupported_level=ErrorLevel.RAISE)
    except SqlglotError as error:
        raise errors.not_emulated(str(error).splitlines()[0]) from error


def store(
    connection: duckdb.DuckDBPyConnection, name: str, kinds: Mapping[str, str], columns: Mapping[str, NDArray[Any]]
) -> None:
    """A relation with columns of these DuckDB types.

    Args:
        connection: where to.
        name: of the relation; one of that name is replaced.
        kinds: its columns, at least one.
        columns: values of some of them, equally long; the others are NULL.
    """
    typed = ", ".join(f'"{column}" {kind}' for column, kind in kinds.items())
    connection.execute(f'CREATE OR REPLACE TABLE "{name}" ({typed})')
    given = {column: values for column, values in columns.items() if column in kinds and len(values)}
    if given:
        listed = ", ".join(f'"{column}"' for column in given)
        connection.register("incoming", given)
        connection.execute(" ".join((f'INSERT INTO "{name}" ({listed})', f"SELECT {listed}", "FROM incoming")))
        connection.unregister("incoming")


@contextmanager
def telling(errors: Errors) -> Iterator[None]:
    """DuckDB's refusals as the nearest errors of the engine."""
    try:
        yield
    except duckdb.Error as error:
        raise _told(str(error), errors) from error


_COLUMN = re.compile(r'Referenced column "([^"]+)"|Values list "[^"]+" does not have a column named "([^"]+)"')


def _told(text: str, errors: Errors) -> Exception:
    column = _COLUMN.search(text)
    if column:
        return errors.column(column[1] or column[2])
    if "Scalar Function with name" in text or "Table Function with name" in text:
        return errors.function(text.splitlines()[0])
    return errors.not_emulated(text.splitlines()[0])
