"""Findings and capabilities by the facts of a server; no server is asked but the emulated one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import pytest

from connectors.kit.findings import Severity
from connectors.oracle import doctor
from connectors.oracle.doctor import BY_OBJECT, BY_TABLESPACE
from connectors.oracle.sessions import ReadSession, Server, version_number
from connectors.oracle.settings import OracleSettings
from tests.labs.oracle.harness import OWNER, PASSWORD, running_harness
from tests.labs.oracle.model import Quirks
from tests.oracle.made import SETTINGS, server, standard

ENOUGH = (  # to answer at all
    *("V_$INSTANCE", "V_$DATABASE", "V_$CONTAINERS", "V_$OPTION", "V_$PARAMETER", "V_$STATISTICS_LEVEL"),
    *("V_$ARCHIVE_DEST", "V_$RECOVERY_FILE_DEST", "V_$TABLESPACE", "DBA_TAB_PRIVS"),
)


class Answers:
    """Stands for a reading session that answers four questions and allows every query."""

    def __init__(self, privileges: tuple[str, ...] = BY_OBJECT, roles: tuple[str, ...] = (), cells: int = 0) -> None:
        self.rights = [("privilege", name) for name in privileges] + [("role", name) for name in roles]
        self.cells = cells

    def rows(self, statement: str, values: Mapping[str, object] | None = None, *, doing: str) -> list[Any]:
        """By what is being done."""
        if doing == "looking up privileges":
            return list(self.rights)
        if "cell smart table scan" in statement:
            return [(self.cells,)]
        if doing == "looking at the buffer pool":
            return [(1, "8192", 1000)]
        return [(1,)] if "DBMS_LOCK" in statement else []


def _worse(facts: Server, answers: Answers | None = None, settings: OracleSettings = SETTINGS) -> dict[str, Severity]:
    found = doctor.examine(cast(ReadSession, answers or Answers()), facts, settings)
    worse = [f for f in found if f.severity in {Severity.WARNING, Severity.ERROR}]
    assert all(f.remedy for f in worse)
    return {f.code: f.severity for f in worse}


def test_a_sound_server() -> None:
    """Nothing to mend."""
    assert _worse(server()) == {}


@pytest.mark.parametrize(
    ("changes", "code", "severity"),
    [
        ({"number": (10, 2)}, "version_unsupported", Severity.ERROR),
        ({"number": (27, 0)}, "version_untried", Severity.WARNING),
        ({"segment_statistics": False}, "statistics_level_basic", Severity.ERROR),
        ({"parameters": {"timed_statistics": "FALSE"}}, "timed_statistics_off", Severity.WARNING),
        ({"role": "PHYSICAL STANDBY", "open_mode": "READ ONLY"}, "standby", Severity.WARNING),
        ({"container": "CDB$ROOT"}, "root_container", Severity.ERROR),  # oracle.md f11
        ({"login": "SYSTEM"}, "login_too_strong", Severity.WARNING),
        ({"parameters": {"timed_statistics": "TRUE", "heat_map": "ON"}}, "heat_map_on", Severity.WARNING),
    ],
)
def test_what_is_wrong_is_named(changes: dict[str, Any], code: str, severity: Severity) -> None:
    """One finding each, with what mends it."""
    assert _worse(server(**changes)) == {code: severity}


def test_too_much_and_too_little_power() -> None:
    """The DBA role is more than hotplace needs; a missing ANY privilege is named with its GRANT."""
    assert _worse(server(), Answers(roles=("DBA",))) == {"login_too_strong": Severity.WARNING}
    assert _worse(server(), Answers(privileges=("ALTER ANY TABLE",))) == {"move_rights_missing": Severity.WARNING}
    whole = SETTINGS.model_copy(update={"move_by": "tablespace"})
    assert _worse(server(), settings=whole) == {"move_rights_missing": Severity.WARNING}
    assert _worse(server(), Answers(privileges=BY_TABLESPACE), whole) == {}


def test_heat_map_with_its_licence_is_no_worry() -> None:
    """Then policies are looked for, object by object (oracle.md f35)."""
    facts = server(parameters={"timed_statistics": "TRUE", "heat_map": "ON"})
    assert _worse(facts, settings=SETTINGS.model_copy(update={"licensed": ("advanced_compression",)})) == {}


def test_exadata_tiers_by_itself() -> None:
    """Waits for its cells give it away (oracle.md f34)."""
    assert _worse(server(), Answers(cells=2)) == {"exadata": Severity.WARNING}


def test_capabilities_of_standard_edition() -> None:
    """No online moves, no partitioning; options decide, not the sound of a name (oracle.md f42)."""
    able = {
        c.name: c.available for c in doctor.capabilities(cast(ReadSession, Answers()), server(**standard()), SETTINGS)
    }
    assert able == {
        "object_counters": True,
        "read_times": True,
        "moves": True,
        "online_moves": False,
        "online_index_moves": False,
        "partitioning": False,
        "block_heat": True,
    }


@pytest.mark.parametrize(
    ("text", "number"), [("11.2.0.4.0", (11, 2)), ("19.22.0.0.0", (19, 22)), ("23", (23, 0)), ("", (0, 0))]
)
def test_releases_are_numbers(text: str, number: tuple[int, int]) -> None:
    """The first two parts, compared as numbers: 9 is less than 10."""
    assert version_number(text) == number


def test_basic_statistics_are_noticed() -> None:
    """Emulated server: STATISTICS_LEVEL = BASIC counts nothing, which is no reason to call anything cold."""
    quirks = Quirks(statistics_level="BASIC")
    with running_harness("oracle without statistics (emulated server)", quirks=quirks) as lab:
        connector = lab.connect()
        try:
            assert "statistics_level_basic" in {f.code for f in connector.doctor() if f.severity is Severity.ERROR}
            assert not {c.name: c for c in connector.capabilities()}["object_counters"].available
        finally:
            connector.close()


def test_reads_are_told_by_pool_and_space() -> None:
    """Emulated server: what misses a buffer pool, and what a random read took where; few say nothing (f40)."""
    with running_harness("oracle reads (emulated server)") as lab:
        fast = lab.database.add_table(OWNER, "NEAR", "FAST", 1 << 20).segments[0]
        slow = lab.database.add_table(OWNER, "FAR", "SLOW", 1 << 20).segments[0]
        lab.database.read_randomly(fast, 500, microseconds=300)
        lab.database.read_randomly(slow, 20_000, microseconds=6000)
        connector = lab.connect()
        try:
            assert "buffer_pool_DEFAULT_8192" not in {f.code for f in connector.doctor()}
            lab.database.read_cached(slow, 38_500 + 40_000)
            said = {f.code: f.sentence for f in connector.doctor() if f.severity is Severity.INFO}
        finally:
            connector.close()
    assert said["read_times_by_space"] == "since the start a random read took 6.00 ms in SLOW"
    assert said["buffer_pool_DEFAULT_8192"].startswith("since the start 14.6% of the blocks asked of pool DEFAULT")


def test_each_missing_grant_is_named() -> None:
    """Emulated server: one finding for each view, with its GRANT; those of moves say that they are about moving."""
    with running_harness("oracle grants (emulated server)") as lab:
        lab.database.add_user("HALF", PASSWORD).grants |= {("SELECT", f"SYS.{name}") for name in ENOUGH}
        connector = lab.connector(user="HALF")
        try:
            found = {f.code: f for f in connector.doctor() if f.code.startswith(("not_granted", "lease_rights"))}
        finally:
            connector.close()
    segments = found["not_granted_GV$SEGSTAT"]
    assert segments.remedy == "GRANT SELECT ON SYS.GV_$SEGSTAT TO HALF;"
    assert segments.sentence == "HALF may not read GV$SEGSTAT, which sample need(s)"
    assert segments.severity is Severity.ERROR
    assert found["not_granted_DBA_LOBS"].remedy == "GRANT SELECT ON SYS.DBA_LOBS TO HALF;"
    assert found["not_granted_GV$LOCK"].about_moving
    assert found["lease_rights_missing"].remedy == "GRANT EXECUTE ON SYS.DBMS_LOCK TO HALF;"
    assert not {"not_granted_V$INSTANCE", "not_granted_V$TABLESPACE"} & set(found)
