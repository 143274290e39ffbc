"""What a server's host tells of a folder, and what follows from it for a new space."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from connectors.kit.places import Mount, PlaceFacts, checks_of, mount_of, not_checked, read_fstab, read_mounts
from connectors.model.new_space import CheckState, WantedSpace, notes_of, refuse_place
from tests.over import over

MOUNTINFO = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 8:17 / /ssd rw,relatime shared:2 - xfs /dev/sdb1 rw
31 22 8:33 / /ssd2 rw,relatime - xfs /dev/sdc1 rw
32 22 0:40 / /run/fast\\040store rw,nosuid - tmpfs tmpfs rw
33 22 0:51 / /in_container rw - overlay overlay rw
34 22 8:1 /var/data /bound rw - ext4 /dev/sda1 rw
this is no mount
"""
MOUNTS = read_mounts(MOUNTINFO)
FSTAB = """\
# /ssd2 is a comment
UUID=1 / ext4 defaults 0 1
/dev/sdb1 /ssd xfs defaults 0 2
/dev/sdc1 /ssd2 xfs noauto 0 2
broken line
"""
GOOD = PlaceFacts(
    is_folder=True, entries=0, owned=True, mounts=MOUNTS, data="/var/lib/data", mounted_at_start=read_fstab(FSTAB)
)
WANTED = WantedSpace(name="fast", location="/ssd/pg")


def test_a_fit_place() -> None:
    """All four hold, each with what was seen."""
    checks = checks_of("/ssd/pg", GOOD)
    assert [check.state for check in checks] == [CheckState.HOLDS] * 4
    assert [check.text for check in checks] == [
        "empty: holds: the folder exists and is empty",
        "owner: holds: the folder belongs to the user that the server runs as",
        "device: holds: it is on /ssd (device 8:17), the data directory on / (device 8:1)",
        "restart: holds: /ssd (xfs) is in /etc/fstab",
    ]
    assert refuse_place(WANTED, checks) is None


CASES: list[tuple[str, dict[str, Any], str, CheckState, str]] = [
    ("/ssd/pg", {"is_folder": False, "entries": None}, "empty", CheckState.FAILS, "there is no such folder"),
    ("/ssd/pg", {"entries": 2}, "empty", CheckState.FAILS, "not empty: 2 things in it"),
    ("/ssd/pg", {"entries": None}, "empty", CheckState.NOT_CHECKED, "cannot be looked at"),
    ("/ssd/pg", {"is_folder": None}, "empty", CheckState.NOT_CHECKED, "cannot be looked at"),
    ("/ssd/pg", {"owned": False}, "owner", CheckState.FAILS, "does not belong"),
    ("/ssd/pg", {"owned": None}, "owner", CheckState.NOT_CHECKED, "cannot be looked at"),
    ("/var/pg", {}, "device", CheckState.FAILS, "same file system as the data directory"),
    ("/bound/pg", {}, "device", CheckState.FAILS, "same file system"),
    ("/ssd/pg", {"mounts": ()}, "device", CheckState.NOT_CHECKED, "cannot be looked at"),
    ("/ssd/pg", {"data": ""}, "device", CheckState.NOT_CHECKED, "cannot be looked at"),
    ("/run/fast store/pg", {}, "restart", CheckState.FAILS, "is tmpfs"),
    ("/in_container/pg", {}, "restart", CheckState.FAILS, "lost with the container"),
    ("/var/pg", {}, "restart", CheckState.HOLDS, "root file system"),
    ("/ssd2/pg", {}, "restart", CheckState.NOT_CHECKED, "/ssd2 is not in /etc/fstab"),
    ("/ssd/pg", {"mounted_at_start": None}, "restart", CheckState.NOT_CHECKED, "could not be read"),
    ("/ssd/pg", {"mounts": ()}, "restart", CheckState.NOT_CHECKED, "cannot be looked at"),
]


@over(("place", "facts", "name", "state", "words"), CASES)
def test_each_check(place: str, facts: dict[str, Any], name: str, state: CheckState, words: str) -> None:
    """What is seen decides; what is not seen is neither right nor wrong."""
    (check,) = [each for each in checks_of(place, replace(GOOD, **facts)) if each.name == name]
    assert (check.state, words in check.sentence) == (state, True), check


def test_the_mount_of_a_place() -> None:
    """The innermost by whole folders, the last of several at one point; /ssd is not around /ssd2."""
    assert mount_of("/ssd2", MOUNTS) == Mount(point="/ssd2", device="8:33", kind="xfs")
    assert mount_of("/ssd/a/b", MOUNTS) == Mount(point="/ssd", device="8:17", kind="xfs")
    over_it = Mount(point="/ssd", device="9:9", kind="tmpfs")
    assert mount_of("/ssd/a", (*MOUNTS, over_it)) == over_it
    assert mount_of("/ssd", ()) is None


def test_what_is_refused_and_what_a_person_may_accept() -> None:
    """Two of the four may be accepted by name, which the notes of the proposal say; not one of the others."""
    checks = checks_of("/run/fast store/pg", GOOD)
    refused = refuse_place(WANTED, checks)
    assert refused is not None
    assert refused.setting == "--accept restart"
    assert refuse_place(replace(WANTED, accepted=("restart",)), checks) is None
    assert notes_of(checks, ("restart",))[3].endswith("lost when the host restarts, accepted")
    full = checks_of("/run/fast store/pg", replace(GOOD, entries=1))
    refused = refuse_place(replace(WANTED, accepted=("restart", "empty")), full)
    assert refused is not None
    assert refused.setting == ""


def test_where_nothing_can_be_looked_at() -> None:
    """Each check is named with the reason, and none refuses."""
    checks = not_checked("it is a service")
    assert [check.name for check in checks] == ["empty", "owner", "device", "restart"]
    assert {check.text.partition(": ")[2] for check in checks} == {"not checked: it is a service"}
    assert refuse_place(WANTED, checks) is None
