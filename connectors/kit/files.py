"""Files that hotplace is given: whether their content can be trusted, and how much of them is read.

``find_fault`` judges trust as OpenSSH does (sshd(8), StrictModes). The file, every folder above it and every link on
the way must belong to root or the caller, and no other user may write them. Two exceptions are safe: a sticky folder,
where other users cannot replace the file, and a file system that is mounted read-only. A group counts as its owner if
it is the owner's own, as useradd(8) creates for each user and umask 002 assumes. Under sudo, the caller chose the
arguments and the folder, and the file would be read with another user's rights; then only files of root are trusted.

``read_given`` and ``parse_json`` read files that a person names: without waiting, up to a size, and JSON by its
definition. Only regular files are opened, because a named pipe waits for a writer, a device may have no end, and
opening some devices acts on them. Every fault is an ``OSError`` or ``ValueError`` with a sentence, as for any
unreadable file.
"""

from __future__ import annotations

import errno
import grp
import json
import os
import pwd
import stat
from collections import deque
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from connectors.model.formatting import format_bytes

ROOT = 0
_MOST_LINKS = 40  # as Linux follows
_ACL = "system.posix_acl_access"  # an extended attribute, acl(5)
_OF_SUDO = ("SUDO_UID", "DOAS_USER", "PKEXEC_UID")  # variables with which another user's program says for whom it runs


def runs_for_another() -> bool:
    """Whether this process was started with another user's rights, by sudo(8) or the like."""
    return any(os.environ.get(name) for name in _OF_SUDO)


def trusted_owners() -> frozenset[int]:
    """Users whose files are believed: root, and who runs this process unless he does so for someone else."""
    return frozenset({ROOT} if runs_for_another() else {ROOT, os.geteuid()})


def find_fault(path: Path, owners: Collection[int] | None = None, *, named: bool = True) -> str:
    """Why what is read at a path could be someone else's, in words that begin with the place; "" where it could not.

    Args:
        path: of the file; a relative one is meant from the current folder.
        owners: users whose files are believed; None: ``trusted_owners``.
        named: the path was named on purpose, so that what is mounted there read-only is believed whatever its owner, as
            containers mount the files of their users; not so under sudo, nor of a file that was merely found.

    Raises:
        OSError: it is not there, or a folder above it must not be searched.
    """
    believed = trusted_owners() if owners is None else owners
    mounted = named and not runs_for_another()
    faults = (_fault_of(place, status, believed, mounted=mounted) for place, status in _way_to(path))
    return next(filter(None, faults), "")


def is_read_by_others(path: Path) -> bool:
    """Whether users of this machine other than its owner and root may read a file.

    Raises:
        OSError: it is not there.
    """
    return bool(path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH))


def advice_for(path: Path) -> str:
    """What makes a file believed."""
    path = path.absolute()
    if runs_for_another():
        return f"Under sudo only files of root count: chown root {path}; chmod go-w {path}, and its folders likewise."
    return f"Make it and its folders yours or root's: chown root {path}; chmod go-w {path}"


def _way_to(path: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Each folder, link and file that the kernel passes on its way to what the path names, from the root on."""
    at, left, links = Path("/"), deque(path.absolute().parts[1:]), 0
    yield at, at.lstat()
    while left:
        part = left.popleft()
        if part == "..":
            at = at.parent
            continue
        here = at / part
        status = here.lstat()
        yield here, status
        if not stat.S_ISLNK(status.st_mode):
            at = here
            continue
        links += 1
        if links > _MOST_LINKS:
            raise OSError(f"too many links at {here}")
        target = here.readlink()
        at = Path("/") if target.is_absolute() else at
        left.extendleft(reversed(target.parts[1:] if target.is_absolute() else target.parts))


def _fault_of(place: Path, status: os.stat_result, owners: Collection[int], *, mounted: bool) -> str:
    foreign = status.st_uid not in owners
    is_link = stat.S_ISLNK(status.st_mode)  # its mode says nothing; who may put another in its place, its folder does
    writable = "" if is_link else _who_else_writes(place, status, owners)
    if not (foreign or writable) or (_is_read_only(place.parent if is_link else place) and (mounted or not foreign)):
        return ""
    if foreign:
        return f"{place} belongs to {_name_of(status.st_uid)}, not to {_names(owners)}"
    return f"{place} can be written by {writable}"


def _who_else_writes(place: Path, status: os.stat_result, owners: Collection[int]) -> str:
    """Who besides its owner may write a file, or replace what is in a folder; "" for no one."""
    if stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX:
        return ""
    if status.st_mode & stat.S_IWOTH:
        return "every user"
    if not status.st_mode & stat.S_IWGRP:
        return ""
    if _has_access_list(place):  # then these bits are its mask: some user or group of the list may write
        return "someone in its access control list"
    own = _is_own_group(status.st_gid, status.st_uid, owners)
    return "" if own else f"its group {_group_name(status.st_gid)}"


def _has_access_list(place: Path) -> bool:
    try:
        return _ACL in os.listxattr(place)
    except OSError:  # a file system without extended attributes
        return False


def _is_own_group(gid: int, uid: int, owners: Collection[int]) -> bool:
    """Whether the group was made for its owner and has no other member."""
    try:
        group, user = grp.getgrgid(gid), pwd.getpwuid(uid)
    except KeyError:  # of a machine's user that this one does not know
        return False
    others = set(group.gr_mem) - {user.pw_name}
    shared = (each for each in pwd.getpwall() if each.pw_gid == gid and each.pw_uid not in owners)
    return group.gr_name == user.pw_name and user.pw_gid == gid and not others and next(shared, None) is None


def _is_read_only(place: Path) -> bool:
    return bool(os.statvfs(place).f_flag & os.ST_RDONLY)


def _names(owners: Collection[int]) -> str:
    return " or ".join(_name_of(uid) for uid in sorted(owners))


def _name_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def _group_name(gid: int) -> str:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


MOST_VALUES = 20_000_000  # of a document or a table: a million units with all of their columns
_KINDS = {
    stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
}  # fmt: skip


def open_given(path: Path) -> BinaryIO:
    """A regular file, to be read.

    Raises:
        OSError: it cannot be opened, or is something else; ``strerror`` says what.
    """
    _insist_on_regular(path.stat().st_mode)  # before it is opened: that alone may act on a device
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        _insist_on_regular(os.fstat(handle).st_mode)  # another one may have come in its place
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_given(path: Path, most_bytes: int) -> bytes:
    """The bytes of a regular file.

    Raises:
        OSError: it cannot be read, is something else, or has more bytes; ``strerror`` says what.
    """
    with open_given(path) as file:
        found = file.read(most_bytes + 1)
    if len(found) > most_bytes:
        raise OSError(errno.EFBIG, f"it is larger than {format_bytes(most_bytes)}")
    return found


def parse_json(text: str) -> Any:  # noqa: ANN401  # whatever JSON holds
    """A document of a foreign file.

    Raises:
        ValueError: it is no JSON, holds what JSON does not know (NaN), is too deep, or has too many values; a
            ``JSONDecodeError`` where there is a line to name.
    """
    # Counted before it is parsed, those within texts too: what is parsed takes up to twenty times as much memory.
    if sum(map(text.count, ",[{")) > MOST_VALUES:
        raise ValueError(f"it has more than {MOST_VALUES:,} values")
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("its values are nested too deeply") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no value of JSON")


def _insist_on_regular(mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, f"it is {_KINDS.get(stat.S_IFMT(mode), 'something else')}, not a file")


def give_to_owner_of(handle: int, place: Path) -> None:
    """Give a file that was just made to the owner of a place, where root makes it for another user.

    A command that root runs would else leave a file that the service's user can neither read nor write.

    Args:
        handle: of the new file, opened for writing; never of one that was there before.
        place: the file that it belongs to, or its folder.

    Raises:
        OSError: the place is not there, or the file system has no owners.
    """
    owner = place.stat()
    if os.geteuid() == ROOT and owner.st_uid != ROOT:
        os.fchown(handle, owner.st_uid, owner.st_gid)
