"""A command that is run in a stranger's folder, or with another user's rights, reads nothing that was put there."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from agent.cli.completed_values import CompletionKind, values_of
from agent.config.files import VARIABLE
from tests.cli.site import run_here

SECRET = "s3cret of the service"
STRANGER = 12345
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to other users")
CONFIGURATION = """
level: observe
ledger: {{path: ledger.db}}
databases:
  - name: shop
    engine: postgresql
    connection: {{host: 127.0.0.1, port: {port}, dbname: shop, user: hotplace, password: {{file: {password}}}}}
    tiers: [{{name: ssd, spaces: [fast]}}, {{name: hdd, spaces: [slow]}}]
"""


class FalseServer:
    """Says that it is a PostgreSQL without encryption and wants the password in clear text; keeps what it hears."""

    def __init__(self) -> None:
        self.heard = b""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Listen no longer."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(2)
                self._talk(connection)

    def _talk(self, connection: socket.socket) -> None:
        answers = {80877103: b"N", 80877104: b"N"}  # SSLRequest, GSSENCRequest
        try:
            while message := connection.recv(4096):
                self.heard += message
                wanted = int.from_bytes(message[4:8], "big")
                connection.sendall(answers.get(wanted, b"R\0\0\0\x08\0\0\0\x03"))  # AuthenticationCleartextPassword
        except OSError:
            return


@pytest.fixture
def server() -> Iterator[FalseServer]:
    """Listening."""
    with ExitStack() as stack:
        made = FalseServer()
        stack.callback(made.close)
        yield made


@pytest.fixture
def trap(tmp_path: Path, server: FalseServer, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder: one of a stranger, with a configuration that names a file which only the caller may read."""
    password = tmp_path / "password"
    password.write_text(SECRET)
    password.chmod(0o600)
    folder = tmp_path / "strangers"
    folder.mkdir()
    (folder / "hotplace.yaml").write_text(CONFIGURATION.format(port=server.port, password=password))
    os.chown(folder, STRANGER, STRANGER)
    os.chown(folder / "hotplace.yaml", STRANGER, STRANGER)
    monkeypatch.chdir(folder)
    for name in (VARIABLE, "SUDO_UID"):
        monkeypatch.delenv(name, raising=False)
    return folder / "hotplace.yaml"


@pytest.mark.parametrize("command", ["doctor", "status", "run"])
def test_no_password_goes_where_a_stranger_wants_it(trap: Path, server: FalseServer, command: str) -> None:
    """The command ends as with a mistaken configuration, says whose it is, and asks no server."""
    done = run_here(command)
    assert done.code == 3
    assert f"is not used: {trap.parent} belongs to user {STRANGER}, not to root" in done.err
    assert f"chown root {trap}" in done.err
    assert server.heard == b""
    assert not (trap.parent / "ledger.db").exists()


def test_the_false_server_is_one(trap: Path, server: FalseServer) -> None:
    """A file of the caller's own that says the same does send the password there."""
    for place in (trap, trap.parent):
        os.chown(place, 0, 0)
    run_here("doctor")
    assert SECRET.encode() in server.heard


def test_under_sudo_a_named_file_is_judged_too(
    trap: Path, server: FalseServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`sudo -u hotplace hotplace --config FILE approve 3` would read with the rights of the service what FILE names."""
    os.chown(trap.parent, 0, 0)
    monkeypatch.setenv("SUDO_UID", str(STRANGER))
    done = run_here("--config", str(trap), "approve", "3")
    assert done.code == 3
    assert f"{trap} belongs to user {STRANGER}, not to root" in done.err
    assert "Under sudo only files of root count" in done.err
    assert server.heard == b""


@pytest.mark.usefixtures("trap")
def test_the_first_screen_and_the_shell_use_it_no_more(server: FalseServer) -> None:
    """The screen says why, the completion of names is silent."""
    assert f"belongs to user {STRANGER}" in run_here().out
    assert values_of(CompletionKind.DATABASES, "") == []
    assert server.heard == b""
