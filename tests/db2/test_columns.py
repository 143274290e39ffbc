"""Every query names columns that are documented, and those that a version lacks are marked as optional."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path

import pytest

from connectors.db2.sessions import fit, query
from tests.over import over

HERE = Path(__file__).parent
SHARED = HERE.parents[2] / "shared" / "catalog" / "db2.json"
NAMES = sorted(
    path.name.removesuffix(".sql") for path in (files("connectors.db2") / "sql").iterdir() if path.name.endswith(".sql")
)
OWN = frozenset({"lease_take", "lease_alive", "begin"})  # read nothing of Db2's catalog
LATER = {
    (10, 5): re.compile(r"_COL_|COL_OBJECT_|^TABLEORG$|^VIEWNAME$|^TRUSTED$|^EVENT(UPDATE|DELETE|INSERT)$"),
    (11, 1): re.compile(r"^STMTID$"),
    (12, 1): re.compile(r"^CACHING_TIER$"),
}
SINCE = {
    "statements": (11, 1),
    "statement_texts": (11, 1),
    "log_room": (10, 5),
}  # queries that older versions are not asked
VERSIONS = ((10, 1), (10, 5), (11, 1), (11, 5), (12, 1))
KNOWN = json.loads((HERE / "columns.json").read_text(encoding="utf-8"))


def sources_of(name: str) -> dict[str, str]:
    """The functions and views that a query reads, by the alias it gives them."""
    found = re.findall(r"\b(?:FROM|JOIN)\s+(TABLE\(.+\)|[\w.]+)\s+AS\s+(\w+)", query(name).text)
    return {alias: re.sub(r"^TABLE\(SYSPROC\.(\w+)\(.*", r"\1", source) for source, alias in found}


def columns_of(source: str, version: tuple[int, int]) -> frozenset[str]:
    """Columns that a source has in that version, as far as is known."""
    every = {column for kind in ("catalog", "documentation") for column in KNOWN[kind].get(source, ())}
    later = [pattern for since, pattern in LATER.items() if since > version]
    return frozenset(column for column in every if not any(pattern.search(column) for pattern in later))


def used(text: str, alias: str) -> frozenset[str]:
    """Columns that a statement names with that alias."""
    return frozenset(re.findall(rf"\b{alias}\.\"?([A-Z_]+)\"?", text))


def unknown(name: str, version: tuple[int, int]) -> frozenset[str]:
    """What a query would ask that version for and it does not have, with the alias."""
    sources = sources_of(name)
    first = next(iter(sources.values()))  # the one whose optional columns are fitted
    text = fit(query(name), lambda _: columns_of(first, version))
    aliases = set(re.findall(r"\b([A-Z]+)\.\"?[A-Z_]+", re.sub(r"\bSYS\w+\.", "", text)))
    stray = frozenset(f"{alias}." for alias in aliases - sources.keys())
    return stray | frozenset(
        f"{alias}.{column}"
        for alias, source in sources.items()
        for column in used(text, alias) - columns_of(source, version)
    )


@over("version", VERSIONS)
@over("name", [name for name in NAMES if name not in OWN])
def test_columns_are_there(name: str, version: tuple[int, int]) -> None:
    """What is sent to a version names only columns that it has."""
    if version >= SINCE.get(name, version):  # else it is not asked of this version
        assert unknown(name, version) == frozenset()


@over("name", NAMES)
def test_pitfall_07_no_star(name: str) -> None:
    """No query asks for whatever columns there are: later versions have more."""
    assert not re.search(r"SELECT\s+(\w+\.)?\*", query(name).text)


@over("name", [name for name in NAMES if name not in OWN])
def test_nobody_is_blocked(name: str) -> None:
    """Every query of the catalog and the monitor reads uncommitted data, so that it waits for no lock."""
    assert query(name).text.rstrip().endswith("WITH UR")


def test_pitfall_04_every_member_is_asked() -> None:
    """Counters come from all members, not from the one that the session happens to be on."""
    monitored = [name for name in NAMES if any(s.startswith("MON_GET") for s in sources_of(name).values())]
    assert len(monitored) >= 9
    assert all("-2)" in query(name).source for name in monitored)


@over("name", NAMES)
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
    assert used(broken, "B") - columns_of("SYSCAT.TABLES", (12, 1)) == {"CARDINALITY"}


def test_the_copy_is_true() -> None:
    """The columns kept beside this test are those of the project's catalog file."""
    if not SHARED.exists():
        pytest.skip(f"the project's catalog file is not beside this checkout: {SHARED}")
    views = json.loads(SHARED.read_text(encoding="utf-8"))["views"]
    for source, columns in KNOWN["catalog"].items():
        assert columns == sorted((views.get(source) or views[f"SYSPROC.{source}"])["columns"]), source
