"""Loads the queries, one file each."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def query(name: str) -> bytes:
    """The text of ``sql/<name>.sql``, ready for psycopg (bytes, which invite no formatting)."""
    return (files("connectors.postgresql") / "sql" / f"{name}.sql").read_bytes()
