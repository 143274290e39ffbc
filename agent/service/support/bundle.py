"""What helps to find a fault from afar, without secrets and user data: versions, settings, findings, events."""

from __future__ import annotations

import io
import json
import os
import platform
import sqlite3
import ssl
import sys
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import distributions, version
from pathlib import Path
from typing import Any

from agent.config import Config
from agent.ledger import Ledger
from agent.ledger.state_names import STATUS
from agent.service.support.scrubbing import Scrubber
from agent.service.support.sources import NotThere, names_of_site, read_ledger, read_log, read_metrics
from connectors.findings import Finding
from connectors.given_files import parse_json

FOLDER = "hotplace-bundle"
OF_AN_EVENT = {"event", "level"}  # what each event of ours has, as agent.logs writes it
README = """A support bundle of hotplace. Read it before you send it: everything in it is text.

versions.json  hotplace, Python, the system, installed packages
config.json    the configuration as it was understood: switches, numbers, which keys there are
findings.json  what `hotplace doctor` found
ledger.json    version of its tables, rows of each, states of proposals and moves
daemon.json    what the daemon last said of itself
metrics.txt    what it exposes; absent.txt says why not
log.txt        its last events; absent.txt says why not
timings.json   how long each part of this took

In every text each word that is not one of hotplace's own stands as an ellipsis, numbers and dates too unless a unit of
measure follows, and a name that is known to be one (of a host, login, database, space or unit) as name-1, name-2 ...,
the same throughout. Statements, literals, addresses and secrets are not in it. Versions of packages are, and sizes,
rates, counts and times that are a field of their own.
"""


@dataclass(slots=True)
class Bundle:
    """Members of the archive by their name, and why some are not there."""

    members: dict[str, str] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, document: object) -> None:
        """A document as readable JSON."""
        self.members[name] = json.dumps(document, indent=1, ensure_ascii=False, default=str) + "\n"

    def try_to_add(self, name: str, make: Callable[[], str]) -> None:
        """A text, or why there is none."""
        try:
            self.members[name] = make()
        except NotThere as error:
            self.absent[name] = str(error)

    def write(self, path: Path) -> None:
        """Write the archive, mode 0600, never over an older file.

        Raises:
            OSError: the file exists or cannot be written.
        """
        texts = {"README.txt": README, **self.members}
        if self.absent:
            texts["absent.txt"] = "".join(f"{name}: {why}\n" for name, why in self.absent.items())
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file, tarfile.open(fileobj=file, mode="w:gz") as archive:
            for name, text in texts.items():
                body = text.encode()
                member = tarfile.TarInfo(f"{FOLDER}/{name}")  # of nobody: the archive names no user
                member.size, member.mode = len(body), 0o600
                archive.addfile(member, io.BytesIO(body))


def make_bundle(
    config: Config,
    ledger: Ledger | None,
    findings: Mapping[str, Sequence[Finding]],
    timings: Mapping[str, float],
    logs: Sequence[Path],
) -> Bundle:
    """Collect everything; what cannot be read is said in ``absent``, and stops nothing.

    Args:
        config: as it was understood.
        ledger: None: there is none, or it cannot be opened.
        findings: of ``doctor``, by database.
        timings: seconds that each part of it took.
        logs: files with events of the daemon; none: the system's log is asked.
    """
    scrub, bundle = Scrubber(names_of_site(config, ledger)), Bundle()
    bundle.add("versions.json", versions())
    bundle.add("config.json", scrub.value(config.model_dump(by_alias=True, serialize_as_any=True)))
    found = {name: [asdict(each) for each in several] for name, several in findings.items()}
    bundle.add("findings.json", scrub.value(found))
    if ledger is None:
        bundle.absent["ledger.json"] = bundle.absent["daemon.json"] = "there is no ledger that can be opened"
    else:
        bundle.add("ledger.json", read_ledger(ledger))
        stored = {each.name: ledger.state.load_document(each.name, STATUS) for each in config.databases}
        bundle.add("daemon.json", scrub.value({name: found and found[1] for name, found in stored.items()}))
    bundle.try_to_add("metrics.txt", lambda: scrub.metrics(read_metrics(config.metrics)))
    bundle.try_to_add("log.txt", lambda: "".join(f"{line}\n" for line in mask_events(read_log(logs), scrub)))
    bundle.add("timings.json", scrub.value({name: round(seconds, 3) for name, seconds in timings.items()}))
    return bundle


def versions() -> dict[str, Any]:
    """What runs here."""
    return {
        "hotplace": version("hotplace"),
        "python": sys.version,
        "system": platform.platform(),
        "sqlite": sqlite3.sqlite_version,
        "openssl": ssl.OPENSSL_VERSION,
        "processors": os.cpu_count(),
        "packages": {each.metadata["Name"]: each.version for each in distributions() if each.metadata["Name"]},
    }


def mask_events(lines: Iterable[str], scrub: Scrubber) -> Iterator[str]:
    """Events with their fields, masked: JSON stays JSON, where it is whole."""
    for line in lines:
        try:
            event = parse_json(line)
        except ValueError:
            yield scrub.event(line)
            continue
        if not (isinstance(event, dict) and event.keys() >= OF_AN_EVENT):
            yield scrub.text(line)
            continue
        event.pop("exception", None)  # a traceback quotes whatever an exception was made with
        yield json.dumps(scrub.value(event), ensure_ascii=False)
