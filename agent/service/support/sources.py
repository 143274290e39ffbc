"""What a support bundle is made from: the ledger's file, the daemon's port, its log, and what is known to be a name."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import ssl
import subprocess
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from agent.config import Config
from agent.config.models import MetricsConfig
from agent.explanation.ranking import ranking_from_arrays
from agent.ledger import Ledger
from agent.ledger.state_names import RANKING
from agent.ledger.store.schema import REVISIONS
from connectors.base import HotplaceError
from connectors.given_files import open_given
from connectors.settings import SecretSource, SecretUnavailable

LOG_LINES, LOG_BYTES = 500, 8 << 20  # of the end of a log
SECONDS = 5.0  # that the daemon and the system's log have to answer
PAGE_BYTES = 16 << 20
ANY = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104  # addresses to listen on, and where such a one is reached


class NotThere(HotplaceError):
    """A part of the bundle cannot be had; the message says why, and names nothing of the site."""


def read_ledger(ledger: Ledger) -> dict[str, Any]:
    """Version and rows of the tables, and how many proposals and moves are in which state."""
    return {"known_revisions": REVISIONS, **ledger.figures()}


def read_metrics(metrics: MetricsConfig) -> str:
    """The page of the daemon that runs with this configuration.

    Raises:
        NotThere: it did not answer.
    """
    if not metrics.enabled:
        raise NotThere("metrics.enabled is false")
    host = ANY.get(metrics.listen, metrics.listen)
    request = urllib.request.Request(f"http{'' if metrics.tls is None else 's'}://{host}:{metrics.port}/metrics")  # noqa: S310 (http)
    # Its certificate is in another name than the address here; what comes back is only read.
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        if metrics.basic_auth is not None and metrics.tls is None:
            login = f"{metrics.basic_auth.user}:{metrics.basic_auth.password.read().get_secret_value()}"
            request.add_header("Authorization", f"Basic {b64encode(login.encode()).decode()}")
        with urllib.request.urlopen(request, timeout=SECONDS, context=context) as answer:  # noqa: S310  # as configured
            page: bytes = answer.read(PAGE_BYTES)
    except (OSError, HotplaceError) as error:
        reason = f"status {error.code}" if isinstance(error, urllib.error.HTTPError) else type(error).__name__
        raise NotThere(f"no daemon gave them: {reason}") from error
    return page.decode("utf-8", "replace")


def read_log(files: Sequence[Path]) -> list[str]:
    """The last lines of the files, or of the service in the system's log.

    Raises:
        NotThere: there is none that can be read.
    """
    try:
        if files:
            return [line for path in files for line in _last_lines(path)]
        journal = shutil.which("journalctl")
        if journal is None:
            raise NotThere("there is no journalctl here; --log names a file")
        command = [journal, "--unit=hotplace", f"--lines={LOG_LINES}", "--output=cat", "--no-pager", "--quiet"]
        read = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)  # noqa: S603 (fixed)
    except (OSError, subprocess.SubprocessError) as error:
        raise NotThere(f"it could not be read: {type(error).__name__}") from error
    if not read.stdout.strip():
        raise NotThere("the system's log has no line of the service hotplace; --log names a file")
    return read.stdout.splitlines()


def _last_lines(path: Path) -> list[str]:
    with open_given(path) as file:
        file.seek(-min(LOG_BYTES, file.seek(0, os.SEEK_END)), os.SEEK_END)
        return file.read(LOG_BYTES).decode("utf-8", "replace").splitlines()[-LOG_LINES:]


def names_of_site(config: Config, ledger: Ledger | None) -> Iterator[str]:
    """What is known to be a name or a secret of this site."""
    yield from (socket.gethostname(), socket.getfqdn())
    with suppress(OSError, KeyError):
        yield getpass.getuser()
    yield from (value for name in ("SUDO_USER", "LOGNAME", "HOSTNAME") if (value := os.environ.get(name)))
    for part in (config.metrics.basic_auth, config.ledger.postgresql, *config.notices):
        yield from _strings(part)
    for database in config.databases:
        yield database.name
        yield from (space.name for tier in database.tiers for space in tier.spaces)
        yield from (pin.pattern for pin in database.pins)
        for connection in (database.connection, database.move_connection):
            yield from _strings(connection)
        stored = None if ledger is None else ledger.state.load_arrays(database.name, RANKING)
        for key in () if stored is None else ranking_from_arrays(stored[1]).key:
            yield from (key, *(part.strip('"') for part in key.split(".")))


def _strings(value: object) -> Iterator[str]:
    """Every text in a part of the configuration, and the secrets that it names."""
    if isinstance(value, SecretSource):
        with suppress(SecretUnavailable):
            yield value.read().get_secret_value()
        return
    if isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from _strings(getattr(value, name))
    elif isinstance(value, (tuple, list)):
        for inner in value:
            yield from _strings(inner)
    elif type(value) is str:  # not of an enumeration: those are words of ours
        yield value
