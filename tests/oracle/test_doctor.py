"""Findings and capabilities by the facts of a server; no server is asked but the emulated one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import pytest

from connectors.model import Severity
from connectors.oracle import doctor
from connectors.oracle.server import Server, version_number
from connectors.oracle.session import ReadSession
from tests.labs.oracle.harness import running_harness
from tests.labs.oracle.model import Quirks
from tests.oracle.made import server, standard


class Answers:
    """Stands for a reading session that answers three questions and allows every query."""

    def __init__(self, privileges: tuple[str, ...] = doctor.MOVES, roles: tuple[str, ...] = (), cells: int = 0) -> None:
        self.rights = [("privilege", name) for name in privileges] + [("role", name) for name in roles]
        self.cells = cells

    def rows(self, statement: str, values: Mapping[str, object] | None = None, *, doing: str) -> list[Any]:
        """By what is being done."""
        if doing == "looking up privileges":
            return list(self.rights)
        return [(self.cells,)]


def _worse(facts: Server, answers: Answers | None = None) -> dict[str, Severity]:
    found = doctor.examine(cast(ReadSession, answers or Answers()), facts)
    assert all(f.remedy for f in found if f.severity is not Severity.OK)
    return {f.code: f.severity for f in found if f.severity is not Severity.OK}


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
    ],
)
def test_what_is_wrong_is_named(changes: dict[str, Any], code: str, severity: Severity) -> None:
    """One finding each, with what mends it."""
    assert _worse(server(**changes)) == {code: severity}


def test_too_much_and_too_little_power() -> None:
    """The DBA role is more than hotplace needs; a missing ANY privilege is named with its GRANT."""
    assert _worse(server(), Answers(roles=("DBA",))) == {"login_too_strong": Severity.WARNING}
    assert _worse(server(), Answers(privileges=("ALTER ANY TABLE",))) == {"move_rights_missing": Severity.WARNING}


def test_exadata_tiers_by_itself() -> None:
    """Waits for its cells give it away (oracle.md f34)."""
    assert _worse(server(), Answers(cells=2)) == {"exadata": Severity.WARNING}


def test_capabilities_of_standard_edition() -> None:
    """No online moves, no partitioning; options decide, not the sound of a name (oracle.md f42)."""
    able = {c.name: c.available for c in doctor.capabilities(cast(ReadSession, Answers()), server(**standard()))}
    assert able == {
        "object_counters": True,
        "read_times": True,
        "moves": True,
        "online_moves": False,
        "online_index_moves": False,
        "partitioning": False,
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
