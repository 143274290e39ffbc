"""Loads the queries, one file each."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def query(name: str) -> bytes:
    """The text of ``sql/<name>.sql``, ready for psycopg (bytes, which invite no formatting)."""
    return (files("connectors.postgresql") / "sql" / f"{name}.sql").read_bytes()


def in_extension(statement: bytes, schema: str) -> bytes:
    """The statement for an extension in that schema, given as quoted: each of its objects is named with it."""
    return statement.replace(b"extension_schema.", schema.encode().replace(b"%", b"%%") + b".")


@cache
def name_of(statement: bytes) -> str:
    """The name of the query of that text; "" of none."""
    folder = files("connectors.postgresql") / "sql"
    names = [entry.name.removesuffix(".sql") for entry in folder.iterdir() if entry.name.endswith(".sql")]
    return next((name for name in names if query(name) == statement), "")
