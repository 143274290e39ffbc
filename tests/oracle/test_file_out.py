"""One data file out of its tablespace: written out for a person, by hand and over the emulated server."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from connectors.model.moves import ByHand, NoRoute
from connectors.oracle import file_moves
from connectors.oracle.catalog import DataFile
from tests.oracle.made import bundle, server, standard

MIB = 1 << 20
HDD, SSD = "/hdd/oradata", "/ssd/oradata"
ONE = DataFile(7, "SLOW", f"{HDD}/slow01.dbf", 100 * MIB, "ONLINE", "ONLINE")
TWO = DataFile(8, "SLOW", f"{HDD}/it's.dbf", 100 * MIB, "ONLINE", "ONLINE")


def out(path: str, **of: Any) -> ByHand | NoRoute:
    """That file out of tablespace SLOW."""
    return file_moves.by_hand(replace(bundle(), container=path), [ONE, TWO], [HDD, SSD], server(**of))


def test_two_ways_are_written() -> None:
    """The file as it is to another place, or what has extents in it, with the file closed to growth and dropped."""
    found = out(TWO.path)
    assert isinstance(found, ByHand)
    assert [line for line in found.statements if not line.startswith("--")] == [
        f"ALTER DATABASE MOVE DATAFILE 8 TO '{SSD}/it''s.dbf'",
        "ALTER DATABASE DATAFILE 8 AUTOEXTEND OFF",
        next(line for line in found.statements if "DBA_EXTENTS" in line),
        f"ALTER TABLESPACE \"SLOW\" DROP DATAFILE '{HDD}/it''s.dbf'",
    ]
    assert "FILE_ID = 8" in found.statements[4]
    assert "minutes" in found.because


def test_the_first_file_only_moves() -> None:
    """It is never dropped (ORA-03263): where it cannot move online either, there is no way."""
    found = out(ONE.path)
    assert isinstance(found, ByHand)
    assert found.statements == (f"ALTER DATABASE MOVE DATAFILE 7 TO '{SSD}/slow01.dbf'",)
    refused = out(ONE.path, **standard())
    assert isinstance(refused, NoRoute)
    assert "ORA-03263" in refused.sentence


@pytest.mark.parametrize(
    ("path", "of", "code"), [("/nowhere", {}, "gone"), (TWO.path, {"role": "PHYSICAL STANDBY"}, "standby")]
)
def test_what_does_not_go(path: str, of: dict[str, Any], code: str) -> None:
    """With its reason."""
    found = out(path, **of)
    assert isinstance(found, NoRoute)
    assert found.code == code
