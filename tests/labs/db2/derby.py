"""Apache Derby's network server: found, started on loopback in a folder of its own, stopped at the end."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

JARS = ("derby.jar", "derbynet.jar", "derbytools.jar", "derbyclient.jar")
FOLDERS = (os.environ.get("HOTPLACE_DERBY", ""), "/usr/share/java")
START_SECONDS = 60.0
LOCK_SECONDS = 2
PROPERTIES = {
    "derby.connection.requireAuthentication": "true",
    "derby.authentication.provider": "BUILTIN",
    "derby.database.defaultConnectionMode": "fullAccess",
    "derby.locks.waitTimeout": str(LOCK_SECONDS),
    "derby.locks.deadlockTimeout": "1",
    "derby.stream.error.file": "derby.log",
    "derby.system.durability": "test",  # nothing has to survive a power failure
}


def jars() -> tuple[Path, ...]:
    """Derby's jars, from the folder that HOTPLACE_DERBY names or Debian's; empty where there are none."""
    for folder in filter(None, FOLDERS):
        found = tuple(Path(folder) / jar for jar in JARS)
        if all(jar.exists() for jar in found):
            return found
    return ()


def why_not() -> str:
    """Why Derby cannot run here; "" if it can."""
    if shutil.which("java") is None:
        return "no Java here: apt install default-jre-headless"
    return (
        "" if jars() else "no Apache Derby here: apt install derby-tools, or name its folder of jars in HOTPLACE_DERBY"
    )


def class_path() -> str:
    """For java's -cp."""
    return os.pathsep.join(str(jar) for jar in jars())


def free_port() -> int:
    """A port of the loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running_derby(folder: Path, users: Mapping[str, str]) -> Iterator[int]:
    """A server over ``folder`` that knows these users and passwords; yields its port.

    Raises:
        RuntimeError: it did not answer in time.
    """
    lines = {**PROPERTIES, **{f"derby.user.{name}": password for name, password in users.items()}}
    text = "".join(f"{key}={value}\n" for key, value in lines.items())
    (folder / "derby.properties").write_text(text)
    port = free_port()
    command = ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", f"-Dderby.system.home={folder}"]
    command += ["-cp", class_path(), "org.apache.derby.drda.NetworkServerControl", "start"]
    command += ["-h", "127.0.0.1", "-p", str(port), "-noSecurityManager"]
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder)
    try:
        _wait_for(server, port, folder)
        yield port
    finally:
        server.terminate()
        server.wait(timeout=START_SECONDS)


def _wait_for(server: subprocess.Popen[bytes], port: int, folder: Path) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and server.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError(f"Derby does not answer: {(folder / 'server.log').read_text()[-500:]}")
