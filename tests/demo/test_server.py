"""The private server starts wherever the checkout lies, under whichever account."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from agent.demo.server import UNPRIVILEGED, embedded_installations, own, private_server, temporary_folder
from tests.e2e.program import wait_until
from tests.labs.postgresql import installations, running_cluster

EMBEDDED = embedded_installations()
pytestmark = [
    pytest.mark.postgresql,
    pytest.mark.skipif(not EMBEDDED, reason="no embedded PostgreSQL is installed"),
]


def close(folder: Path) -> None:
    """As a umask of 077 leaves it: only its owner may enter or read anything."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & 0o700)


@pytest.fixture
def closed_home() -> Iterator[Path]:
    """A folder with mode 0700, as the home of root is, in one that everybody may enter."""
    folder = temporary_folder("hotplace-home-")
    yield folder
    shutil.rmtree(folder)


Install = Callable[[int], Path]


@pytest.fixture
def install_closed(closed_home: Path) -> Install:
    """Copies an embedded installation into the closed folder as pip lays it out, libraries next to the package."""

    def install(major: int) -> Path:
        source, package = EMBEDDED[major], EMBEDDED[major].parent
        copy = closed_home / package.name / source.name
        shutil.copytree(source, copy, symlinks=True, ignore=shutil.ignore_patterns("include"))
        shutil.copytree(package.with_name(f"{package.name}.libs"), closed_home / f"{package.name}.libs")
        close(closed_home)
        return copy

    return install


@pytest.mark.parametrize("major", sorted(EMBEDDED))
def test_a_cluster_starts_from_a_closed_folder(
    major: int, install_closed: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the tests run on, and the demo likewise: under root the server's own user finds programs and libraries."""
    installed = {**installations(), major: install_closed(major)}
    monkeypatch.setattr("tests.labs.postgresql.installations", lambda: installed)
    with running_cluster(major) as cluster, cluster.session() as session:
        spaces = session.execute("SELECT count(*) FROM pg_tablespace WHERE spcname IN ('fast', 'slow')").fetchone()
        assert spaces == (2,)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user; the test above runs as a normal one")
def test_a_normal_user_starts_a_server_in_a_closed_home(closed_home: Path, install_closed: Install) -> None:
    """The owner of a home that others may not enter, whose checkout and data lie in it."""
    installation = install_closed(max(EMBEDDED))
    for path in (closed_home, *closed_home.rglob("*")):
        own(path)
    log = closed_home / "what-went-wrong"
    status = run_as(UNPRIVILEGED, lambda: answer(installation, closed_home), log)
    assert status == 0, log.read_text()


def answer(installation: Path, home: Path) -> None:
    """One query to a server of its own, whose programs stay where they are."""
    with private_server(installation, parent=home) as server, psycopg.connect(server.conninfo) as session:
        assert server.installation == installation
        assert session.execute("SELECT 42").fetchone() == (42,)


def run_as(user: str, act: Callable[[], None], log: Path) -> int:
    """Act in a child process that belongs to ``user``, who need not be able to read Python or the checkout.

    Returns:
        The child's exit code; a traceback is in ``log``.
    """
    import pwd

    account = pwd.getpwnam(user)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # threads of other tests; the child takes none of their locks
        child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        os.setgroups([])
        os.setgid(account.pw_gid)
        os.setuid(account.pw_uid)
        act()
    except BaseException:  # noqa: BLE001  # the child must end here, whatever happened
        log.write_text(traceback.format_exc())
        os._exit(1)
    os._exit(0)


STARTS_ONE = """
import signal, sys, time
from pathlib import Path
from agent.demo.server import embedded_installations, guarded, private_server
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it is ignored
folder, installations = Path(sys.argv[1]), embedded_installations()
with guarded(folder), private_server(installations[max(installations)], parent=folder):
    print("started", flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_nothing_is_left_of_a_program_that_was_killed(number: signal.Signals) -> None:
    """Its terminal was closed, a service manager ended it, or it was killed: the server ends and its folder goes."""
    folder = temporary_folder("hotplace-killed-")
    folder.chmod(0o755)
    with subprocess.Popen([sys.executable, "-c", STARTS_ONE, str(folder)], stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"started\n"
        (pid_file,) = folder.glob("*/data/postmaster.pid")
        postmaster = Path("/proc") / pid_file.read_text().split()[0]
        assert postmaster.exists()
        program.send_signal(number)
        wait_until("server and folder to go", lambda: not folder.exists() and not postmaster.exists())
