"""Room in filegroups, with figures worked out by hand. A page is 8192 bytes; 128 pages are 1 MiB."""

from __future__ import annotations

from dataclasses import replace

import pytest

from connectors.sqlserver.catalog import File, Volume, settled, spaces_of
from connectors.sqlserver.guards import free_on_volumes

MIB = 1024 * 1024
GIB = 1024 * MIB


def file(number: int, size: int, used: int | None, **values: object) -> File:
    """A file of filegroup 1, sizes in MiB; grows without limit unless told otherwise."""
    used_pages = None if used is None else used * 128
    plain = File(1, "HDD", 0, number, f"file{number}", f"/d/{number}.ndf", size * 128, -1, 128, "ONLINE", used_pages)
    return replace(plain, **values)  # type: ignore[arg-type]  # fields by name


def test_room_in_the_file_and_on_its_volume() -> None:
    """100 MiB with 60 used leave 40; the volume has 500 more: 540 free, 600 in all."""
    (space,) = spaces_of([file(1, 100, 60)], {1: Volume("D:\\", 1000 * MIB, 500 * MIB)}, {})
    assert (space.used_bytes, space.free_bytes, space.capacity_bytes) == (60 * MIB, 540 * MIB, 600 * MIB)
    assert space.path == "/d/1.ndf"


def test_two_files_share_a_volume() -> None:
    """The 500 MiB of one volume are counted once for both files: 40 + 40 + 500."""
    volume = Volume("D:\\", 1000 * MIB, 500 * MIB)
    (space,) = spaces_of([file(1, 100, 60), file(2, 100, 60)], {1: volume, 2: volume}, {})
    assert space.free_bytes == 580 * MIB


def test_a_limit_of_the_file_holds() -> None:
    """A file of 100 MiB that may become 150 grows by 50, however much the volume has: 40 + 50."""
    (space,) = spaces_of([file(1, 100, 60, max_size=150 * 128)], {1: Volume("D:\\", 9000 * MIB, 500 * MIB)}, {})
    assert space.free_bytes == 90 * MIB


def test_a_file_that_may_not_grow_needs_no_volume() -> None:
    """Growth 0: what is free in the file is all there is, and that is known."""
    (space,) = spaces_of([file(1, 100, 60, growth=0)], {}, {})
    assert space.free_bytes == 40 * MIB


def test_a_volume_that_cannot_be_seen_is_not_guessed() -> None:
    """A file that may grow somewhere unseen: how much is free is not known."""
    (space,) = spaces_of([file(1, 100, 60)], {}, {})
    assert space.free_bytes is None
    assert space.capacity_bytes is None


def test_pitfall_34_linux_does_not_name_volumes() -> None:
    """Pitfall 34: without a mount point, volumes with the same figures count once: too little rather than twice."""
    same = {1: Volume(None, 1000 * MIB, 500 * MIB), 2: Volume(None, 1000 * MIB, 500 * MIB)}
    (space,) = spaces_of([file(1, 100, 60), file(2, 100, 60)], same, {})
    assert space.free_bytes == 580 * MIB


@pytest.mark.parametrize(
    ("rows", "free"),
    [
        ([(n, None, 50 * GIB - n) for n in range(1, 9)], 50 * GIB - 1),  # Linux names no volume
        ([(n, "", 50 * GIB) for n in range(1, 9)], 50 * GIB),
        ([(1, "T:\\", 5 * GIB), (2, "T:\\", 5 * GIB), (3, "U:\\", GIB)], 6 * GIB),
        ([(1, "T:\\", None)], None),
        ([], None),
    ],
)
def test_room_of_tempdb_and_the_log_is_counted_once_a_volume(
    rows: list[tuple[int, str | None, int | None]], free: int | None
) -> None:
    """Eight files of tempdb on one volume of 50 GiB are 50 GiB of room and not 400, whatever is written meanwhile."""
    assert free_on_volumes(rows) == free


def test_a_read_only_filegroup_has_no_room() -> None:
    """Nothing can be put there, whatever its files hold."""
    (space,) = spaces_of([file(1, 100, 60, read_only=1)], {1: Volume("D:\\", 1000 * MIB, 500 * MIB)}, {})
    assert space.free_bytes == 0


def test_units_stand_in_for_what_may_not_be_seen() -> None:
    """Without the right to see file space, used is what the catalog's units hold."""
    (space,) = spaces_of([file(1, 100, None, growth=0)], {}, {1: 30 * MIB})
    assert space.used_bytes == 30 * MIB
    assert space.free_bytes == 70 * MIB


def test_a_filegroup_without_files() -> None:
    """It exists, and holds nothing."""
    (space,) = spaces_of([File(1, "EMPTY", 0, None, None, None, None, None, None, None, None)], {}, {})
    assert (space.used_bytes, space.free_bytes, space.path) == (0, 0, "")


def test_a_filegroup_whose_file_is_not_online_is_lost() -> None:
    """Its disk was not there when the database started: nothing goes there, and people are told which file it is."""
    away = file(2, 100, 60, state="RECOVERY_PENDING")
    (space,) = spaces_of([file(1, 100, 60), away], {1: Volume("D:\\", 1000 * MIB, 500 * MIB)}, {})
    assert space.lost == "its file file2 is RECOVERY_PENDING"
    (usable,) = spaces_of([file(1, 100, 60), file(2, 0, 0, state="DEFUNCT")], {}, {})
    assert usable.lost == ""


def test_pitfall_34_what_is_written_between_two_rows_makes_no_second_volume() -> None:
    """Eight files on one of 50 GiB without a name, each row with 10 MiB less free: one volume, the least of them."""
    rows = {number: Volume(None, 50 * GIB, 40 * GIB - 10 * number * MIB) for number in range(1, 9)}
    files = [file(number, 100, 100) for number in rows]
    (counted_apart,) = spaces_of(files, rows, {})
    (space,) = spaces_of(files, settled(rows), {})
    assert counted_apart.free_bytes is not None
    assert counted_apart.free_bytes > 300 * GIB
    assert space.free_bytes == 40 * GIB - 80 * MIB
    assert len({volume.identity for volume in settled(rows).values()}) == 1


def test_volumes_that_differ_stay_apart() -> None:
    """Another size, far more free, or a name of its own: another volume."""
    rows = {
        1: Volume(None, 50 * GIB, 40 * GIB), 2: Volume(None, 60 * GIB, 40 * GIB),
        3: Volume(None, 50 * GIB, 20 * GIB), 4: Volume("/data", 50 * GIB, 40 * GIB - MIB),
    }  # fmt: skip
    assert settled(rows) == rows
