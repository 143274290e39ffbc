"""What doctor makes of views and functions that a login may not read: an error where nothing can be done without."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import cast

import pytest

from connectors.db2 import doctor
from connectors.db2.sessions import ReadSession, query
from connectors.db2.settings import Db2Settings
from connectors.kit.contract import PrivilegeMissing
from connectors.kit.findings import Severity
from connectors.kit.settings import SecretSource
from tests.over import over


class Refusing:
    """A session that may not read one view."""

    def __init__(self, source: str) -> None:
        self._source = source

    def select(self, statement: str, *, doing: str) -> list[object]:
        """Nothing of all others."""
        if f"FROM {self._source} " in statement:
            raise PrivilegeMissing(doing)
        return []


@pytest.fixture
def settings(tmp_path: Path) -> Db2Settings:
    """Of a login that only watches."""
    (tmp_path / "password").write_text("pw")
    password = SecretSource(file=tmp_path / "password")
    return Db2Settings.model_validate({"host": "h", "dbname": "APP", "user": "looker", "password": password})


@over("name", sorted(doctor.LOST))
def test_a_view_that_planning_rests_on_is_an_error(name: str, settings: Db2Settings) -> None:
    """Without the tables nothing is planned; without the triggers single tables stay where they are."""
    source = query(name).source
    session = cast(ReadSession, Refusing(source))
    (found,) = (each for each in doctor.unreadable(session, settings) if each.values["view"] == source)
    assert found.severity is (Severity.ERROR if name in doctor.ESSENTIAL_GRANTS else Severity.WARNING)
    assert ("impossible" in found.sentence) is (found.severity is Severity.ERROR)


def test_every_view_of_the_catalog_is_tried() -> None:
    """By doctor's own queries, or by name: a RESTRICTIVE database hides each of them."""
    names = [path.name.removesuffix(".sql") for path in (files("connectors.db2") / "sql").iterdir()]
    read = {source for name in names for source in query(name).sources if source.startswith("SYSCAT.")}
    assert "SYSCAT.DATATYPES" in read
    assert read - doctor.probed().keys() == {
        "SYSCAT.DBAUTH",
        "SYSCAT.TBSPACEAUTH",
        "SYSCAT.TABLESPACES",
        "SYSCAT.ROUTINES",
    }


def test_functions_without_which_nothing_is_sampled() -> None:
    """What is said of them and how much it matters agree."""
    said = {name for name, (_, lost) in doctor.FUNCTIONS.items() if "impossible" in lost}
    assert said == doctor.ESSENTIAL
