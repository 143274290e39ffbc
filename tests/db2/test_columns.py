"""Every query names columns that are documented, and those that a version lacks are marked as optional."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path

import pytest

from connectors.db2.queries import fit, query

HERE = Path(__file__).parent
SHARED = HERE.parents[2] / "shared" / "catalog" / "db2.json"
NAMES = sorted(
    path.name.removesuffix(".sql") for path in (files("connectors.db2") / "sql").iterdir() if path.name.endswith(".sql")
)
OWN = frozenset({"lease_take", "lease_alive", "begin"})  # read nothing of Db2's catalog
LATER = {(10, 5): re.compile(r"_COL_|COL_OBJECT_|^TABLEORG$"), (12, 1): re.compile(r"^CACHING_TIER$")}
VERSIONS = ((10, 1), (10, 5), (11, 1), (11, 5), (12, 1))
KNOWN = json.loads((HERE / "columns.json").read_text(encoding="utf-8"))


def source_of(name: str) -> str:
    """The function or view that a query reads."""
    found = re.match(r"TABLE\(SYSPROC\.(\w+)\(", query(name).source)
    return found[1] if found else query(name).source


def columns_of(name: str, version: tuple[int, int]) -> frozenset[str]:
    """Columns that its source has in that version, as far as is known."""
    every = next(
        KNOWN[kind][source_of(name)]
        for kind in ("catalog", "documentation", "recalled")
        if source_of(name) in KNOWN[kind]
    )
    later = [pattern for since, pattern in LATER.items() if since > version]
    return frozenset(column for column in every if not any(pattern.search(column) for pattern in later))


def used(text: str) -> frozenset[str]:
    """Columns that a statement names with its alias."""
    return frozenset(re.findall(r"\b[A-Z]\.\"?([A-Z_]+)\"?", text))


@pytest.mark.parametrize("version", VERSIONS, ids=lambda v: ".".join(map(str, v)))
@pytest.mark.parametrize("name", [name for name in NAMES if name not in OWN])
def test_columns_are_there(name: str, version: tuple[int, int]) -> None:
    """What is sent to a version names only columns that it has."""
    known = columns_of(name, version)
    assert used(fit(query(name), lambda _: known)) <= known


@pytest.mark.parametrize("name", NAMES)
def test_pitfall_07_no_star(name: str) -> None:
    """No query asks for whatever columns there are: later versions have more."""
    assert not re.search(r"SELECT\s+(\w+\.)?\*", query(name).text)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in OWN])
def test_nobody_is_blocked(name: str) -> None:
    """Every query of the catalog and the monitor reads uncommitted data, so that it waits for no lock."""
    assert query(name).text.rstrip().endswith("WITH UR")


def test_pitfall_04_every_member_is_asked() -> None:
    """Counters come from all members, not from the one that the session happens to be on."""
    monitored = [name for name in NAMES if source_of(name).startswith("MON_GET")]
    assert len(monitored) >= 9
    assert all("-2)" in query(name).source for name in monitored)


@pytest.mark.parametrize("name", NAMES)
def test_headers(name: str) -> None:
    """Each file says what it reads or locks, since when, with which privilege, and at what cost."""
    lines = (files("connectors.db2") / "sql" / f"{name}.sql").read_text(encoding="utf-8").splitlines()
    header = " ".join(line for line in lines if line.startswith("--"))
    assert re.search(r"(Reads|Locks): ", header)
    assert all(word in header for word in ("Since: ", "Privilege: ", "Cost: "))


def test_an_absent_column_becomes_a_typed_null() -> None:
    """The place of a column is kept, so that rows mean the same on every version."""
    wanted = query("table")
    assert "CAST(NULL AS CHAR(1)) AS TABLEORG" in fit(wanted, lambda _: frozenset({"TEMPORALTYPE"}))
    assert "B.TEMPORALTYPE" in fit(wanted, lambda _: frozenset({"TEMPORALTYPE"}))
    assert "--" not in fit(wanted, lambda _: frozenset())


def test_a_query_with_a_wrong_column_is_caught() -> None:
    """The check itself fails on a broken twin."""
    broken = query("tables").text.replace("B.CARD", "B.CARDINALITY")
    assert not used(broken) <= columns_of("tables", (12, 1))


def test_the_copy_is_true() -> None:
    """The columns kept beside this test are those of the project's catalog file."""
    if not SHARED.exists():
        pytest.skip(f"the project's catalog file is not beside this checkout: {SHARED}")
    views = json.loads(SHARED.read_text(encoding="utf-8"))["views"]
    for source, columns in KNOWN["catalog"].items():
        assert columns == sorted((views.get(source) or views[f"SYSPROC.{source}"])["columns"]), source
