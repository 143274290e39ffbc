"""Whether a folder is fit for a new space: what is known of the server's host, and what follows from it. Pure.

What a server tells of its own host decides, since the agent may run on another one. Mounts are those of
``/proc/self/mountinfo`` (proc(5)); two places are on one device where that has the same ``major:minor``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from connectors.model.new_space import DEVICE, EMPTY, OWNER, RESTART, Check, CheckState

IN_MEMORY = frozenset({"tmpfs", "ramfs", "devtmpfs"})
OF_CONTAINERS = frozenset({"overlay", "aufs"})  # a layer that goes with its container
_ESCAPED = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A file system as the server's host has it mounted."""

    point: str
    device: str  # "8:17"
    kind: str  # "ext4"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceFacts:
    """What is known of a folder on the server's host; None each time: it could not be looked at."""

    is_folder: bool | None = None  # False: there is none, or it is something else
    entries: int | None = None  # in the folder; None also where there is none
    owned: bool | None = None  # by the user that the server runs as
    mounts: tuple[Mount, ...] = ()  # in the order of the host; (): not known
    data: str = ""  # folder of the server's data; "": not known
    mounted_at_start: frozenset[str] | None = None  # mount points of /etc/fstab
    why: str = "the server's host cannot be looked at from here"  # of what is not known


def checks_of(place: str, facts: PlaceFacts) -> tuple[Check, ...]:
    """Each thing that must hold of a folder, in the order of their names in ``new_space``."""
    return (
        _emptiness(facts),
        _ownership(facts),
        _device(place, facts),
        _restart(place, facts),
    )


def not_checked(why: str) -> tuple[Check, ...]:
    """Every check, as one that could not be made."""
    return tuple(
        Check(name=name, state=CheckState.NOT_CHECKED, sentence=why) for name in (EMPTY, OWNER, DEVICE, RESTART)
    )


def read_mounts(text: str) -> tuple[Mount, ...]:
    r"""The mounts of a ``mountinfo``; lines that are none are left out.

    >>> read_mounts("36 35 98:0 / /ssd\\040one rw,noatime master:1 - ext3 /dev/sdb rw")
    (Mount(point='/ssd one', device='98:0', kind='ext3'),)
    """
    return tuple(_mounts(text))


def _mounts(text: str) -> Iterator[Mount]:
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(" "), after.split(" ")[0]
        if len(fields) > 4 and kind:
            yield Mount(point=_unescape(fields[4]), device=fields[2], kind=kind)


def read_fstab(text: str) -> frozenset[str]:
    """The mount points of an ``fstab``, without those that are not mounted at a start (``noauto``)."""
    lines = (line.split() for line in text.splitlines() if not line.lstrip().startswith("#"))
    return frozenset(
        _unescape(fields[1]) for fields in lines if len(fields) > 3 and "noauto" not in fields[3].split(",")
    )


def _unescape(text: str) -> str:
    return _ESCAPED.sub(lambda found: chr(int(found[1], 8)), text)


def mount_of(place: str, mounts: tuple[Mount, ...]) -> Mount | None:
    """The mount in which a place lies, the last where several are at the same point; None: it is not known."""
    around = {str(each) for each in (PurePosixPath(place), *PurePosixPath(place).parents)}
    found = [mount for mount in mounts if mount.point in around]
    return max(reversed(found), key=lambda mount: len(mount.point), default=None)


def _emptiness(facts: PlaceFacts) -> Check:
    if facts.is_folder is None:
        return _unknown(EMPTY, facts)
    if not facts.is_folder:
        return _check(EMPTY, CheckState.FAILS, "there is no such folder on the server's host")
    if facts.entries is None:
        return _unknown(EMPTY, facts)
    if facts.entries:
        things = "1 thing" if facts.entries == 1 else f"{facts.entries} things"
        return _check(EMPTY, CheckState.FAILS, f"the folder is not empty: {things} in it")
    return _check(EMPTY, CheckState.HOLDS, "the folder exists and is empty")


def _ownership(facts: PlaceFacts) -> Check:
    if facts.owned is None:
        return _unknown(OWNER, facts)
    if facts.owned:
        return _check(OWNER, CheckState.HOLDS, "the folder belongs to the user that the server runs as")
    return _check(OWNER, CheckState.FAILS, "the folder does not belong to the user that the server runs as")


def _device(place: str, facts: PlaceFacts) -> Check:
    own, data = mount_of(place, facts.mounts), mount_of(facts.data, facts.mounts) if facts.data else None
    if own is None or data is None:
        return _unknown(DEVICE, facts)
    if own.device == data.device:
        sentence = f"it is on the same file system as the data directory ({own.point}, device {own.device})"
        return _check(DEVICE, CheckState.FAILS, sentence)
    sentence = f"it is on {own.point} (device {own.device}), the data directory on {data.point} (device {data.device})"
    return _check(DEVICE, CheckState.HOLDS, sentence)


def _restart(place: str, facts: PlaceFacts) -> Check:
    own = mount_of(place, facts.mounts)
    if own is None:
        return _unknown(RESTART, facts)
    if own.kind in IN_MEMORY:
        return _check(
            RESTART, CheckState.FAILS, f"{own.point} is {own.kind}: what is in it is lost when the host restarts"
        )
    if own.kind in OF_CONTAINERS:
        return _check(RESTART, CheckState.FAILS, f"{own.point} is {own.kind}: what is in it is lost with the container")
    if own.point == "/":
        return _check(RESTART, CheckState.HOLDS, f"it is on the root file system ({own.kind})")
    if facts.mounted_at_start is None:
        return _check(RESTART, CheckState.NOT_CHECKED, "/etc/fstab of the server's host could not be read")
    if own.point in facts.mounted_at_start:
        return _check(RESTART, CheckState.HOLDS, f"{own.point} ({own.kind}) is in /etc/fstab")
    return _check(
        RESTART,
        CheckState.NOT_CHECKED,
        f"{own.point} is not in /etc/fstab; whether anything else mounts it is not known",
    )


def _check(name: str, state: CheckState, sentence: str) -> Check:
    return Check(name=name, state=state, sentence=sentence)


def _unknown(name: str, facts: PlaceFacts) -> Check:
    return _check(name, CheckState.NOT_CHECKED, facts.why)
