"""Real names in the place of pseudonyms: in keys of every engine's quoting, in paths and in statements."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.kit.recorded_columns import HashedNames, RealNames


@pytest.mark.parametrize(
    "text",
    [
        "public.orders",
        'public."Order ""Lines"""',
        "[dbo].[Order]] Lines]",
        "HR.EMPLOYEES",
        'HR."Mixed"',
        "/srv/pg data/fast",
        "+DATA/files",
        'ALTER TABLE public."Big" SET TABLESPACE fast_1',
    ],
)
def test_there_and_back(text: str) -> None:
    """Every word of the site becomes a pseudonym and is read back as it was written."""
    names = HashedNames(b"key")
    words = ["public", "orders", 'Order "Lines"', "dbo", "Order] Lines", "HR", "EMPLOYEES", "Mixed", "srv", "pg data",
             "fast", "DATA", "files", "Big", "fast_1"]  # fmt: skip
    hashed = text
    for word in sorted(words, key=len, reverse=True):
        quoted = (f'"{word.replace(chr(34), chr(34) * 2)}"', f"[{word.replace(']', ']]')}]")
        hashed = hashed.replace(quoted[0], names.name(word)).replace(quoted[1], f"[{names.name(word)}]")
        if quoted[0] not in text and quoted[1] not in text:
            hashed = hashed.replace(word, names.name(word))
    assert not any(word in hashed for word in words)
    assert RealNames(names.known).restore(hashed) == text


@given(st.text(min_size=1))
def test_keys_of_postgresql_come_back(name: str) -> None:
    """Whatever a table is called, its key is what it was."""
    bare = re.fullmatch("[a-z_][a-z0-9_]*", name) is not None
    quoted = '"' + name.replace('"', '""') + '"'
    key = f"public.{name if bare else quoted}"
    names = HashedNames(b"key")
    assert RealNames(names.known).restore(names.key(key)) == key


def test_what_is_not_known_stays() -> None:
    """A pseudonym of another key, and what only looks like one."""
    text = "n0123456789abcdef and n0123456789abcde and xn0123456789abcdef"
    assert RealNames({"n0123456789abcde0": "x"}).restore(text) == text
