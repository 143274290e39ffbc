"""A file is believed where only root and the caller can have written it, judged on every step of the way to it."""

from __future__ import annotations

import grp
import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from connectors.kit.files import find_fault, runs_for_another, trusted_owners

STRANGER, CALLER, GROUP = 12345, 23456, 34567
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to other users")


@pytest.fixture(autouse=True)
def without_sudo(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs the tests with sudo is not asked about."""
    for name in ("SUDO_UID", "DOAS_USER", "PKEXEC_UID"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file two folders deep, all of it root's."""
    path = tmp_path / "outer" / "inner" / "hotplace.yaml"
    path.parent.mkdir(parents=True)
    path.write_text("databases: []")
    return path


@contextmanager
def mounted(source: Path, at: Path, *options: str) -> Iterator[None]:
    """Another view of a file or folder, read-only."""
    done = subprocess.run(["mount", "--bind", str(source), str(at)], check=False, capture_output=True)
    if done.returncode:
        pytest.skip("nothing may be mounted here")
    try:
        subprocess.run(["mount", "-o", ",".join(("remount", "bind", "ro", *options)), str(at)], check=True)
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(at)], check=True)


def test_what_is_roots_or_the_callers_is_believed(file: Path) -> None:
    """In any mixture, also below a sticky folder of root that everybody may write, as /tmp is."""
    assert find_fault(file) == ""
    assert Path("/tmp").stat().st_mode & 0o1002 == 0o1002  # the folder itself is meant
    os.chown(file.parent, CALLER, 0)
    assert find_fault(file, {0, CALLER}) == ""
    os.chown(file, CALLER, 0)
    assert find_fault(file, {0, CALLER}) == ""


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize(
    ("mode", "owner", "group", "words"),
    [
        (0o755, STRANGER, 0, "belongs to user 12345, not to root"),
        (0o757, 0, 0, "can be written by every user"),
        (0o775, 0, GROUP, "can be written by its group 34567"),
    ],
)
def test_each_level_counts(file: Path, level: int, mode: int, owner: int, group: int, words: str) -> None:
    """The file, its folder and the one above: a stranger's, or one that strangers may write."""
    place = (file, *file.parents)[level]
    os.chown(place, owner, group)
    place.chmod(mode)
    assert find_fault(file) == f"{place} {words}"
    place.chmod(0o755)
    os.chown(place, 0, 0)
    assert find_fault(file) == ""


def test_nobody_replaces_what_is_in_a_sticky_folder(file: Path) -> None:
    """A folder of root that everybody may write is safe if it is sticky; one of a stranger is not, sticky or not."""
    file.parent.chmod(0o1777)
    assert find_fault(file) == ""
    os.chown(file.parent, STRANGER, 0)
    assert find_fault(file).startswith(f"{file.parent} belongs to user {STRANGER}")
    os.chown(file.parent, 0, 0)
    file.chmod(0o1666)
    assert find_fault(file) == f"{file} can be written by every user", "of a file the bit says nothing"


def test_a_group_of_ones_own_is_nobody_else(file: Path) -> None:
    """As umask 002 leaves files where each user has a group of his name: root's own; not one with other members."""
    file.chmod(0o664)
    os.chown(file, 0, 0)
    assert find_fault(file) == ""
    nobody = pwd.getpwnam("nobody")
    os.chown(file, nobody.pw_uid, nobody.pw_gid)  # its group is nogroup, which others may have too
    assert "can be written by its group" in find_fault(file, {0, nobody.pw_uid})
    daemon = pwd.getpwnam("daemon")
    os.chown(file, daemon.pw_uid, daemon.pw_gid)
    assert find_fault(file, {0, daemon.pw_uid}) == ""


@pytest.mark.parametrize("also", ["member", "primary"])
def test_a_group_with_another_member_is_somebody_else(file: Path, monkeypatch: pytest.MonkeyPatch, also: str) -> None:
    """Whether the group lists him or he has it as his first one."""
    file.chmod(0o664)
    root = grp.getgrgid(0)
    if also == "member":
        changed = grp.struct_group((root.gr_name, "x", 0, ["daemon"]))
        monkeypatch.setattr(grp, "getgrgid", lambda _: changed)
    else:
        other = pwd.struct_passwd(("other", "x", STRANGER, 0, "", "/", "/bin/sh"))
        monkeypatch.setattr(pwd, "getpwall", lambda: [other])
    assert find_fault(file) == f"{file} can be written by its group root"


def test_an_access_list_lets_others_write(file: Path) -> None:
    """Its mask shows in the place of the group's rights."""
    # Version 2: owner rw-, user 12345 rw-, group r--, mask rw-, others r--.
    entries = ((1, 6, -1), (2, 6, STRANGER), (4, 4, -1), (0x10, 6, -1), (0x20, 4, -1))
    packed = (2).to_bytes(4, "little") + b"".join(
        tag.to_bytes(2, "little") + right.to_bytes(2, "little") + (who & 0xFFFFFFFF).to_bytes(4, "little")
        for tag, right, who in entries
    )
    try:
        os.setxattr(file, "system.posix_acl_access", packed)
    except OSError:
        pytest.skip("a file system without access control lists")
    assert find_fault(file) == f"{file} can be written by someone in its access control list"


def test_links_are_followed_step_by_step(file: Path, tmp_path: Path) -> None:
    """The link, the folder that it is in, and the way that it leads; a circle is an error."""
    link = tmp_path / "link.yaml"
    link.symlink_to(Path("outer/../outer") / "inner" / file.name)
    assert find_fault(link) == ""
    os.chown(link, STRANGER, 0, follow_symlinks=False)
    assert find_fault(link).startswith(f"{link} belongs to user {STRANGER}")
    os.chown(link, 0, 0, follow_symlinks=False)
    os.chown(file.parent, STRANGER, 0)
    assert find_fault(link).startswith(f"{file.parent} belongs to")
    link.unlink()
    link.symlink_to(link)
    with pytest.raises(OSError, match="too many links"):
        find_fault(link)
    with pytest.raises(FileNotFoundError):
        find_fault(tmp_path / "nothing")


def test_a_volume_of_kubernetes(tmp_path: Path) -> None:
    """A ConfigMap, and a Secret with fsGroup: a sticky folder of root with a link to a folder with a link to it."""
    for group, folder_mode, mode in ((0, 0o1777, 0o644), (GROUP, 0o3777, 0o440)):
        volume = tmp_path / f"volume{group}"
        version = volume / "..2026_03_01_12_00_00.123456789"
        version.mkdir(parents=True)
        (version / "password").write_text("s3cret")
        os.chown(version, 0, group)
        version.chmod(0o2755 if group else 0o755)
        (version / "password").chmod(mode)
        os.chown(version / "password", 0, group)
        volume.chmod(folder_mode)
        os.chown(volume, 0, group)
        (volume / "..data").symlink_to(version.name)
        (volume / "password").symlink_to("..data/password")
        assert find_fault(volume / "password", {0, CALLER}) == ""


def test_what_is_mounted_read_only_cannot_be_written(file: Path, tmp_path: Path) -> None:
    """Through that mount, by anybody. Whoever it belongs to is believed where it was named, as in containers."""
    at = tmp_path / "etc"
    at.mkdir()
    file.chmod(0o666)
    file.parent.chmod(0o777)
    with mounted(file.parent, at):
        assert find_fault(at / file.name) == ""
        os.chown(file, STRANGER, STRANGER)
        os.chown(file.parent, STRANGER, STRANGER)
        assert find_fault(at / file.name) == ""
        assert find_fault(at / file.name, named=False).startswith(f"{at} belongs to user {STRANGER}")
    assert find_fault(file) != ""


def test_under_sudo_only_root_counts(file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The user's rights are somebody else's then; neither what is his nor what he has mounted is believed."""
    assert (trusted_owners(), runs_for_another()) == (frozenset({os.geteuid()}), False)
    os.seteuid(CALLER)
    try:
        assert trusted_owners() == {0, CALLER}
        monkeypatch.setenv("SUDO_UID", "1000")
        assert (trusted_owners(), runs_for_another()) == (frozenset({0}), True)
    finally:
        os.seteuid(0)
    os.chown(file, CALLER, CALLER)
    assert find_fault(file).startswith(f"{file} belongs to user {CALLER}, not to root")
    at = tmp_path / "etc"
    at.mkdir()
    with mounted(file.parent, at):
        assert find_fault(at / file.name).startswith(f"{at / file.name} belongs to")


@pytest.mark.skipif(shutil.which("mount") is None, reason="needs mount")
def test_a_link_on_a_read_only_mount(file: Path, tmp_path: Path) -> None:
    """It is what lies there, and not what it leads to, that cannot be written."""
    (file.parent / "link").symlink_to(file)
    os.chown(file.parent / "link", STRANGER, STRANGER, follow_symlinks=False)
    at = tmp_path / "etc"
    at.mkdir()
    with mounted(file.parent, at):
        assert find_fault(at / "link") == ""
        os.chown(file, STRANGER, STRANGER)
        assert find_fault(at / "link").startswith(f"{file} belongs to user {STRANGER}")
