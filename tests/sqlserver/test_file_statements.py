"""What is written down for a person."""

from __future__ import annotations

import pytest

from connectors.model.moves import NoRoute
from connectors.sqlserver.catalog import File
from connectors.sqlserver.file_statements import (
    FOLDER,
    TempdbFile,
    as_text,
    filegroup_to_disk,
    offline_files,
    tempdb_files,
)


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "x")


def file(number: int, space: str, name: str) -> File:
    """A file of 12,900 pages with 12,801 in use, which is a page more than 100 MB."""
    return File(2, space, 0, number, name, f"D:\\{name}.ndf", 12900, -1, 128, "ONLINE", 12801)


def test_a_filegroup_changes_disks_by_its_files() -> None:
    """A file with room for what is used, then each old one emptied and removed; names are quoted, text is doubled."""
    steps = filegroup_to_disk("a]pp", "HDD", [file(3, "HDD", "it's"), file(4, "SSD", "other")], "S:\\", major=15)
    assert not isinstance(steps, NoRoute)
    assert as_text(steps).split("; ") == [
        (
            "ALTER DATABASE [a]]pp] ADD FILE (NAME = [HDD_moved], FILENAME = N'S:\\HDD_moved.ndf', SIZE = 101MB) "
            "TO FILEGROUP [HDD]"
        ),
        "DBCC SHRINKFILE (N'it''s', EMPTYFILE)",
        "ALTER DATABASE [a]]pp] REMOVE FILE [it's];",
    ]


def test_pitfall_27_the_primary_file_stays() -> None:
    """Pitfall 27: emptying it is errors 5020 and 5212."""
    found = filegroup_to_disk("app", "PRIMARY", [file(1, "PRIMARY", "app")], "S:\\", major=15)
    assert isinstance(found, NoRoute)
    assert found.code == "primary_file"


@pytest.mark.parametrize(("major", "expected"), [(15, False), (16, True)])
def test_pitfall_26_emptying_is_patient_since_2022(major: int, expected: bool) -> None:
    """Pitfall 26: readers of a snapshot block it without end; since 2022 it gives way."""
    steps = filegroup_to_disk("app", "HDD", [file(3, "HDD", "f")], "S:\\", major=major)
    assert not isinstance(steps, NoRoute)
    assert ("WAIT_AT_LOW_PRIORITY (ABORT_AFTER_WAIT = SELF)" in as_text(steps)) is expected


def test_pitfalls_28_and_29_nothing_is_taken_offline() -> None:
    """Pitfalls 28 and 29: no default filegroup is changed, no file is set OFFLINE."""
    steps = filegroup_to_disk("app", "HDD", [file(3, "HDD", "f")], "S:\\", major=16)
    assert not isinstance(steps, NoRoute)
    assert not {"OFFLINE", "DEFAULT", "MODIFY"} & set(as_text(steps).split())


def test_tempdb_moves_with_a_restart() -> None:
    """MODIFY FILE edits the catalog only; the file keeps its name in the folder that a person fills in."""
    steps = tempdb_files([TempdbFile("tempdev", "D:\\old\\tempdev.mdf"), TempdbFile("two", "/data/two.ndf")])
    assert as_text(steps) == (
        f"ALTER DATABASE [tempdb] MODIFY FILE (NAME = [tempdev], FILENAME = N'{FOLDER}tempdev.mdf'); "
        f"ALTER DATABASE [tempdb] MODIFY FILE (NAME = [two], FILENAME = N'{FOLDER}two.ndf');"
    )


def test_the_primary_filegroup_moves_offline() -> None:
    """The whole database goes offline, never a file, which would need a restore to come back (pitfall 29)."""
    text = as_text(offline_files("a]pp", [file(1, "PRIMARY", "app")]))
    assert text == (
        f"ALTER DATABASE [a]]pp] MODIFY FILE (NAME = [app], FILENAME = N'{FOLDER}app.ndf'); "
        "ALTER DATABASE [a]]pp] SET OFFLINE; ALTER DATABASE [a]]pp] SET ONLINE;"
    )
