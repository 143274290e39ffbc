"""Files around a ledger belong to its owner, whoever runs the command; what cannot be read is not trusted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent.ledger.chain.sent import SentFile
from agent.ledger.errors import Untrusted
from agent.ledger.ledger import Ledger
from agent.ledger.rows import StepState
from tests.ledger.clock import StillClock
from tests.ledger.test_trust import begun, send

SERVICE = 12345  # the user that the service runs as
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files for other users")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The service's own folder, as the package makes it."""
    made = tmp_path / "hotplace"
    made.mkdir(mode=0o700)
    os.chown(made, SERVICE, SERVICE)
    return made


def owners(folder: Path) -> dict[str, tuple[int, int]]:
    """Owner and mode of each file."""
    found = {path.name: path.stat() for path in folder.iterdir()}
    return {name: (status.st_uid, status.st_mode & 0o777) for name, status in found.items()}


@as_root
def test_what_root_makes_belongs_to_the_service(folder: Path, clock: StillClock) -> None:
    """A ledger that root begins, with its anchors: the service that comes later reads and writes both."""
    with Ledger.open(folder / "ledger.db", clock) as ledger:
        send(ledger, begun(ledger))
        assert owners(folder) == dict.fromkeys(
            ("ledger.db", "ledger.db-wal", "ledger.db-shm", "ledger.db.anchors"), (SERVICE, 0o600)
        )


@as_root
def test_anchors_belong_to_the_owner_of_the_ledger_wherever_they_lie(
    folder: Path, clock: StillClock, tmp_path: Path
) -> None:
    """On another disk too, where the folder is root's; a file that is there already keeps its owner."""
    anchors = tmp_path / "anchors"
    with Ledger.open(folder / "ledger.db", clock, anchors=anchors):
        assert anchors.stat().st_uid == SERVICE
    os.chown(anchors, 0, 0)
    with Ledger.open(folder / "ledger.db", clock, anchors=anchors) as ledger:
        begun(ledger)
        assert anchors.stat().st_uid == 0, "perhaps root's on purpose, and append-only"


@as_root
def test_the_file_of_what_was_sent_belongs_to_the_service(folder: Path) -> None:
    """Next to a ledger on a server: it is made in a folder of the service."""
    file = SentFile(folder / "anchors.sent")
    assert file.of("shop") == []
    file._file.close()
    assert owners(folder)["anchors.sent"] == (SERVICE, 0o600)


def test_anchors_that_cannot_be_read_are_not_trusted(ledger: Ledger, path: Path) -> None:
    """Nothing is sent, and the error says how they are given back; what is decided is stored all the same."""
    row = begun(ledger)
    file = path.with_name("ledger.db.anchors")
    file.unlink()
    file.mkdir()  # root reads every file, but no folder as one
    for look in (lambda: send(ledger, row), ledger.moves.require_chain):
        with pytest.raises(Untrusted, match=r"its anchors .* cannot be read \(Is a directory\)") as caught:
            look()
        assert f"sudo chown --reference={path} {file}" in caught.value.advice
    ledger.proposals.strike(row.proposal_id, 2, who="anna", origin="tty", reason="no")
    file.rmdir()
    ledger.moves.step_result(send(ledger, row), StepState.DONE, "")
