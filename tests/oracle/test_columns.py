"""Every query against the columns that the vendor documents for a release; nothing here asks a server."""

from __future__ import annotations

import re
from importlib.resources import files

from connectors.oracle.sessions import query
from tests.labs.oracle.documented import version_of, view
from tests.over import over

# Asked of every instance; where query servers cannot start, of each one, with V$ in the place of GV$.
ONE_INSTANCE = frozenset(
    {"sample", "files", "system", "system_container", "roles", "roles_container", "statements"}
)  # fmt: skip
SQL = sorted(path.name.removesuffix(".sql") for path in (files("connectors.oracle") / "sql").iterdir())
RELEASES = ((11, 2), (12, 1), (12, 2), (19,), (23,))
_FROM = re.compile(r"\b(?:FROM|JOIN)\s+([A-Z][A-Z0-9_$.]*)\s+([A-Z])\b(?!\.)")
_DERIVED = re.compile(r"\)\s+([A-Z])\s+(?:ON|JOIN|LEFT)\b")
_COLUMN = re.compile(r"\b([A-Z])\.([A-Z][A-Z0-9_#$]*)")
_STRING = re.compile(r"'[^']*'")
FORBIDDEN = re.compile(r"HEAT_?MAP|ACTIVE_SESSION|DBA_HIST|ILM|DBA_EXTENTS|DBA_FREE_SPACE|\$BH\b|X\$")
LICENSED = {  # never asked but where the configuration names the licence: test_licences
    "awr": "Diagnostics Pack",
    "awr_container": "Diagnostics Pack",
    "ado": "Advanced Compression",
}
LOOKS = frozenset({"blocks", "blocks_extents"})  # dear, and asked within the budget of ``block_looks`` only


def _head(name: str) -> str:
    text = (files("connectors.oracle") / "sql" / f"{name}.sql").read_text(encoding="utf-8")
    return " ".join(line.removeprefix("--").strip() for line in text.splitlines() if line.startswith("--"))


def _since(name: str) -> tuple[int, ...]:
    found = re.search(r"Since: ([\d.]+)", _head(name))
    assert found, name
    return version_of(found[1].rstrip("."))


def _used(name: str) -> dict[str, str]:
    """View of each alias; one letter means one view in a file."""
    aliases: dict[str, str] = {}
    for named, alias in _FROM.findall(_STRING.sub("''", query(name))):
        source = re.sub(r"^SYS\.(G?V)_\$", r"\1$", named).removeprefix("SYS.")
        assert aliases.setdefault(alias, source) == source, f"{name}: {alias} is two views"
    return aliases


@over(("name", "release"), [(name, r) for name in SQL for r in RELEASES if _since(name) <= r])
def test_every_column_is_documented(name: str, release: tuple[int, ...]) -> None:
    """A query names only views and columns that its release documents, and none that needs a licence."""
    text, aliases = _STRING.sub("''", query(name)), _used(name)
    derived = set(_DERIVED.findall(text))
    for alias, column in _COLUMN.findall(text):
        if alias in derived:
            continue
        found = view(aliases[alias], release)
        assert found is not None, f"{aliases[alias]} in {release}"
        assert column in found.columns, f"{aliases[alias]}.{column} in {release}"
        assert not found.licence or found.licence.startswith(LICENSED.get(name, "nothing")), aliases[alias]
        if name in ONE_INSTANCE:
            alone = view(aliases[alias].replace("GV$", "V$"), release)
            assert alone is not None
            assert column in alone.columns, f"{name} of one instance: {column} in {release}"


@over("name", SQL)
def test_a_head_names_every_view(name: str) -> None:
    """The head of a query tells what it reads, since when, with which grant and at what cost."""
    head = _head(name)
    assert all(word in head for word in ("Reads:", "Since:", "Privilege:", "Cost:"))
    assert all(source in head for source in _used(name).values())


@over("name", sorted(set(SQL) - LICENSED.keys() - LOOKS))
def test_nothing_is_read_that_is_licensed_or_dear(name: str) -> None:
    """No pack, no heat map, no extent map, no buffer headers (oracle.md f12, f13, f15, f16)."""
    assert not FORBIDDEN.search(query(name).replace("'heat_map'", ""))  # the parameter says whether it is on


def test_room_is_not_judged_by_a_percentage() -> None:
    """USED_PERCENT and TABLESPACE_SIZE mean another thing in every release (oracle.md f14)."""
    assert not [name for name in SQL if re.search("USED_PERCENT|TABLESPACE_SIZE", query(name))]


def test_backups_are_no_heat() -> None:
    """V$FILESTAT counts the reads of RMAN too, in PHYRDS; single-block reads are not among them (oracle.md f8)."""
    assert "SINGLEBLKRDS" in query("files")
    assert "PHYRDS" not in query("files")


def test_disk_groups_are_read_without_discovery() -> None:
    """V$ASM_DISKGROUP looks for disks, its _STAT form does not (oracle.md f32)."""
    assert set(_used("disk_groups").values()) == {"V$ASM_DISKGROUP_STAT"}


def test_statistics_are_matched_by_name() -> None:
    """STATISTIC# differs between releases, so no query has it (oracle.md f5)."""
    assert not [name for name in SQL if "STATISTIC#" in query(name)]


def test_counters_come_from_all_instances() -> None:
    """A query of V$ would see one instance of a cluster (oracle.md f10)."""
    for name in ("sample", "files", "system", "system_container", "epoch", "epoch_container", "running", "blockers"):
        sources = set(_used(name).values()) - {"V$DATAFILE", "V$TABLESPACE", "DBA_OBJECTS"}  # alike on all of them
        assert sources
        assert all(source.startswith("GV$") for source in sources), name
