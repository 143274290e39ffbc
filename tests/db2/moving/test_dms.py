"""Table spaces that manage containers of their own: swapped in two passes, or converted for good. Golden text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from connectors.db2.operations import StorageChange, change_of
from connectors.db2.space_move import Instance, space_route
from connectors.db2.storage import OwnContainer, ServerStorage, TableSpace
from connectors.model.moves import NoRoute, Route
from tests.db2.facts import SETTINGS, STORAGE, bundle, space

FOLDERS = {"SSD_FILES": "/ssd/files", "HDD_FILES": "/hdd/files"}
SITE = ServerStorage(STORAGE.spaces, STORAGE.groups, FOLDERS)
FILES = {"/hdd/files/a": 488, "/hdd/files/it's": 240}
DMS = space(automatic=False, group="", grows=False, containers=tuple(FILES), container_pages=FILES)


def to(target: str, of: TableSpace = DMS, instance: Instance | None = None) -> Route | NoRoute:
    """The table space to a folder or a storage group."""
    whole = replace(bundle(), space="HDD_FILES")
    return space_route(SITE, of, whole, target, SETTINGS, instance or Instance())


def route(target: str) -> Route:
    """There has to be one."""
    found = to(target)
    assert isinstance(found, Route), found
    return found


def untagged(sql: str) -> str:
    """Without the comment that names the move."""
    return sql.partition(" /* hotplace ")[0]


def test_golden_swap() -> None:
    """As many files of the same sizes as there were, added and dropped in one statement; back likewise."""
    found = route("SSD_FILES")
    assert [untagged(step.sql) for step in found.steps] == [
        (
            "ALTER TABLESPACE \"TS_SLOW\" ADD (FILE '/ssd/files/TS_SLOW.0' 488, FILE '/ssd/files/TS_SLOW.1' 240) "
            "DROP (FILE '/hdd/files/a', FILE '/hdd/files/it''s')"
        )
    ]
    assert [untagged(step.sql) for step in found.undo_steps] == [
        (
            "ALTER TABLESPACE \"TS_SLOW\" ADD (FILE '/hdd/files/a' 488, FILE '/hdd/files/it''s' 240) "
            "DROP (FILE '/ssd/files/TS_SLOW.0', FILE '/ssd/files/TS_SLOW.1')"
        )
    ]
    assert found.transient_bytes == 1_600_000  # all 2,000,000 that are allocated, of which 400,000 are the bundle's


def test_golden_conversion() -> None:
    """MANAGED BY AUTOMATIC STORAGE, then REBALANCE; there is no way back, and that is said."""
    found = route("FAST")
    assert [untagged(step.sql) for step in found.steps] == [
        'ALTER TABLESPACE "TS_SLOW" MANAGED BY AUTOMATIC STORAGE USING STOGROUP "FAST"',
        'ALTER TABLESPACE "TS_SLOW" REBALANCE',
    ]
    assert found.undo_steps == ()
    assert "no way back" in found.notes[0]


def test_a_step_says_where_the_containers_go() -> None:
    """What a crash leaves of a route is its steps: their operations say where the containers should be."""
    swap = change_of(route("SSD_FILES").steps[0])
    assert swap is not None
    assert (swap.add, swap.drop) == (("/ssd/files/TS_SLOW.0", "/ssd/files/TS_SLOW.1"), tuple(FILES))
    convert = change_of(route("FAST").steps[0])
    assert convert == StorageChange("TS_SLOW", "FAST", converts=True)


@pytest.mark.parametrize(
    ("target", "of", "instance", "code"),
    [
        ("HDD_FILES", DMS, Instance(), "already_there"),
        ("NOWHERE", DMS, Instance(), "no_space"),
        ("SSD_FILES", space(), Instance(), "no_way_back"),
        ("SSD_FILES", replace(DMS, only_files=False), Instance(), "devices"),
        ("SSD_FILES", DMS, Instance(partitions=2), "several_members"),
        ("SSD_FILES", DMS, Instance(purescale=True), "purescale"),
        ("FAST", DMS, Instance(purescale=True), "purescale"),
        ("FAST", replace(DMS, managed="S"), Instance(), "sms"),
    ],
)
def test_what_does_not_go(target: str, of: TableSpace, instance: Instance, code: str) -> None:
    """Each with its reason before anything is sent."""
    found = to(target, of, instance)
    assert isinstance(found, NoRoute), found
    assert found.code == code


def test_a_group_that_is_hidden_is_not_said_to_be_missing() -> None:
    """Without SYSCAT.STOGROUPS a table space still names its group, whose paths cannot be read."""
    there = ServerStorage({4: DMS, 5: space(number=5, name="TS_FAST", group="FAST")}, {}, {})
    found = space_route(there, DMS, replace(bundle(), space="HDD_FILES"), "FAST", SETTINGS, Instance())
    assert isinstance(found, NoRoute)
    assert found.code == "paths_hidden"


def with_own(*own: OwnContainer, only_files: bool = True) -> TableSpace:
    """A table space of DMS with these containers."""
    pages = {each.path: each.pages for each in own}
    return replace(DMS, own=own, containers=tuple(pages), container_pages=pages, only_files=only_files)


def test_devices_go_by_hand() -> None:
    """A complete file, there and back: devices have their kind; the catalog shows when the files are the only ones."""
    own = (OwnContainer(0, "DEVICE", "/dev/r1", 488), OwnContainer(0, "FILE", "/hdd/files/it's", 240))
    of = with_own(*own, only_files=False)
    found = to("SSD_FILES", of)
    assert isinstance(found, Route), found
    assert found.by_hand is not None
    new = "FILE '/ssd/files/TS_SLOW.0'{}, FILE '/ssd/files/TS_SLOW.1'{}"
    old = "DEVICE '/dev/r1'{}, FILE '/hdd/files/it''s'{}"
    assert found.by_hand.statements == (
        f'ALTER TABLESPACE "TS_SLOW" ADD ({new.format(" 488", " 240")}) DROP ({old.format("", "")});',
    )
    assert found.by_hand.undo == (
        f'ALTER TABLESPACE "TS_SLOW" ADD ({old.format(" 488", " 240")}) DROP ({new.format("", "")});',
    )
    assert "devices" in found.by_hand.because
    change = change_of(found.steps[0])
    assert change is not None
    assert (change.add, change.drop) == (("/ssd/files/TS_SLOW.0", "/ssd/files/TS_SLOW.1"), of.containers)


def test_several_partitions_go_by_hand() -> None:
    """A database partition is named once a statement: first all that come, then, after the rebalance, all that go."""
    own = tuple(OwnContainer(member, "FILE", f"/hdd/files/n{member}", 100) for member in (0, 1))
    of = with_own(*own)
    found = to("SSD_FILES", of, Instance(partitions=2))
    assert isinstance(found, Route), found
    assert found.by_hand is not None
    sent = [each for each in found.by_hand.statements if not each.startswith("--")]
    assert sent == [
        (
            "ALTER TABLESPACE \"TS_SLOW\" ADD (FILE '/ssd/files/TS_SLOW.0' 100) ON DBPARTITIONNUM (0) "
            "ADD (FILE '/ssd/files/TS_SLOW.1' 100) ON DBPARTITIONNUM (1);"
        ),
        (
            "VALUES CASE WHEN EXISTS (SELECT 1 FROM TABLE(MON_GET_REBALANCE_STATUS('TS_SLOW', -2)) AS R) "
            "THEN RAISE_ERROR('75001', 'still being rebalanced: wait, and run the rest from here') ELSE 0 END;"
        ),
        (
            "ALTER TABLESPACE \"TS_SLOW\" DROP (FILE '/hdd/files/n0') ON DBPARTITIONNUM (0) "
            "DROP (FILE '/hdd/files/n1') ON DBPARTITIONNUM (1);"
        ),
    ]
    assert all(each.count(f"({number})") == 1 for each in (sent[0], sent[2]) for number in (0, 1))
    assert found.steps[0].operation is not None  # by which its arrival is seen


def test_several_partitions_still_convert() -> None:
    """Paths of a storage group are the same on every database partition: no container is named."""
    assert isinstance(to("FAST", instance=Instance(partitions=2)), Route)


def test_offline_ways_are_written_out() -> None:
    """SMS and temporary table spaces: the statements for a person, in the sentence."""
    sms = to("FAST", replace(DMS, managed="S"))
    assert isinstance(sms, NoRoute)
    assert 'TABLESPACE ("TS_SLOW") ... REDIRECT; SET STOGROUP PATHS FOR "FAST" ON' in sms.sentence
    temporary = to("FAST", replace(DMS, permanent=False))
    assert isinstance(temporary, NoRoute)
    assert 'CREATE SYSTEM TEMPORARY TABLESPACE "TS_SLOW_NEW" MANAGED BY AUTOMATIC STORAGE' in temporary.sentence
    assert 'DROP TABLESPACE "TS_SLOW"' in temporary.sentence


def test_a_home_is_a_folder_a_group_or_itself() -> None:
    """All containers in one folder: that is where it is; in two folders it is nowhere but in itself."""
    assert SITE.home_of(DMS) == "HDD_FILES"
    assert SITE.home_of(replace(DMS, containers=("/hdd/files/a", "/ssd/files/b"))) == "TS_SLOW"
    assert SITE.home_of(space()) == "SLOW"
