"""A bundle that helps to find a fault from afar, without secrets and user data.

Takes out of texts what is not ours: names, hosts, literals, secrets. What stays are words that hotplace itself uses.

It does not look for what may be secret, which is never complete, nor for what looks harmless, as short numbers and
dates do: a card number is four of the one, a birthday is one of the other. A number stays where a unit of measure
follows it, an instant where we wrote one. A name that is a word of ours (a table called ``orders``) is masked where it
is known to be a name and where it is quoted.

What a support bundle is made from: the ledger's file, the daemon's port, its log, and what is known to be a name.
"""

from __future__ import annotations

import ast
import getpass
import io
import json
import os
import platform
import re
import shutil
import socket
import sqlite3
import ssl
import subprocess
import sys
import tarfile
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import date
from enum import Enum
from functools import cache
from importlib.metadata import distributions, version
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from agent.config.models import Config, MetricsConfig
from agent.ledger.ledger import Ledger
from agent.ledger.state_names import RANKING, STATUS
from agent.ledger.store.schema import REVISIONS
from agent.planning.ranking import ranking_from_arrays
from connectors.kit.contract import HotplaceError
from connectors.kit.files import open_given, parse_json
from connectors.kit.findings import Finding
from connectors.kit.settings import SecretSource, SecretUnavailable

ROOMS = ("agent", "connectors", "policies")
NOT_OURS = "demo"  # a room whose texts are about a shop
MASK = "…"
UNITS = frozenset({  # by which a number is a measure
    "%", "ms", "s", "min", "h", "d", "us", "b", "kib", "mib", "gib", "tib", "byte", "bytes", "percent", "seconds",
    "minutes", "hours", "days", "unit", "units", "row", "rows", "move", "moves", "proposal", "proposals", "session",
    "sessions", "space", "spaces", "sample", "samples", "statement", "statements", "interval", "intervals", "times",
})  # fmt: skip
ENGINES = frozenset({"postgresql", "db2", "oracle", "sqlite", "python"})  # behind which stands a version
TIMES = frozenset({"at", "since", "until", "timestamp"})  # of documents; also what ends in _at
LONGEST_NAMES = 20_000  # that are masked by name; more make the search slow, and quotes mask them anyway
_NUMBER = re.compile(r"[-+]?[0-9]{1,4}(?:[.,][0-9]{1,4})?%?")
_VERSION = re.compile(r"[0-9]{1,4}(?:\.[0-9]{1,2})?")
_INSTANT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?:Z|[+-][0-9]{2}:[0-9]{2})?"
)
_EVENT = re.compile(
    r"([0-9]{4}-[0-9T:.-]{10,30}Z \[[a-z]+ *\]) (.*)", re.DOTALL
)  # as agent.model.logs writes it to a file
_WORD = re.compile(r"[A-Za-z]{2,}")
_QUOTED = re.compile(
    r"(?<!\w)(?:[nNbBxXeE]|[uU]&)?'(?:[^']++|'')*+(?:'|\Z)"  # one within a word is an apostrophe
    r"|\"(?:[^\"]++|\"\")*+(?:\"|\Z)|`[^`]*+(?:`|\Z)|\$\w*\$.*?(?:\$\w*\$|\Z)",
    re.DOTALL,
)
# What servers quote without quotes: Key (id)=(42) already exists. Failing row contains (42, Eva).
_ENCLOSED = re.compile(r"(=|\bcontains )\((?:.*\)|.*)", re.DOTALL)
_STATEMENT = re.compile(
    r"\b(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE|ALTER|DROP|MERGE|CALL|WITH)\s"
    r"|\b(?i:insert\s+into|delete\s+from|merge\s+into|update\s+\S+\s+set)\s"
)
_SELECT, _FROM = re.compile(r"\bselect\s", re.IGNORECASE), re.compile(r"\bfrom\s", re.IGNORECASE)
_EDGES = "()[]{}<>,;:.!?…"


@cache
def own_words() -> frozenset[str]:
    """Every word of the program's texts and names, in lower case; comments and docstrings hold examples of others."""
    home = Path(__file__).resolve().parents[2]
    files = [path for room in ROOMS for path in (home / room).rglob("*.*") if NOT_OURS not in path.parts]
    texts = (text for path in files for text in _texts_in(path))
    return frozenset(word.lower() for text in texts for word in _WORD.findall(text))


def _texts_in(path: Path) -> Iterator[str]:
    if path.suffix == ".sql":
        yield from (line.partition("--")[0] for line in path.read_text(encoding="utf-8").splitlines())
    elif path.suffix == ".py":
        tree = ast.parse(path.read_text(encoding="utf-8"))
        described = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
        for node in ast.walk(tree):
            yield from (
                value for name in ("id", "attr", "arg", "name") if isinstance(value := getattr(node, name, None), str)
            )
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in described:
                yield node.value


class Scrubber:
    """Masks texts and documents; the same name has the same number throughout."""

    def __init__(self, names: Iterable[str]) -> None:
        """Know some names.

        Args:
            names: hosts, logins, databases, spaces, units, secrets: each is replaced by ``name-N`` wherever it stands.
        """
        known = sorted({name for name in names if len(name) > 1}, key=lambda name: (-len(name), name))[:LONGEST_NAMES]
        self._number = {name.casefold(): number for number, name in enumerate(sorted(known), start=1)}
        self._names = re.compile("|".join(map(re.escape, known)), re.IGNORECASE) if known else None

    def text(self, text: str, *, is_event: bool = False) -> str:
        """A text with everything masked that is neither a word of ours nor a measure.

        Args:
            text: of a server, a person or us.
            is_event: the fields of an event as ``agent.model.logs`` writes them, where a number behind ``=`` is ours.
        """
        if self._names is not None:
            text = self._names.sub(self._replace_name, text)
        text = _ENCLOSED.sub(rf"\1{MASK}", _without_statement(_QUOTED.sub(f" {MASK} ", text)))
        words = text.split()
        return " ".join(
            word if _is_measure(words, at) else self._token(word, is_event=is_event) for at, word in enumerate(words)
        )

    def event(self, line: str) -> str:
        """A line of a log."""
        found = _EVENT.fullmatch(line)
        return self.text(line) if found is None else f"{found[1]} {self.text(found[2], is_event=True)}"

    def value(self, value: Any, key: str = "") -> Any:  # noqa: ANN401 (whatever a document holds)
        """A value with every string in it, keys too, masked; numbers and times that are a field of their own stay.

        Args:
            value: of a document of ours.
            key: under which it stands.
        """
        match value:
            case Enum():
                return value.value
            case Path():
                return MASK
            case None | bool() | int() | float():
                return value
            case date():
                return value.isoformat()
            case Mapping():
                return {self.text(str(name)): self.value(inner, str(name)) for name, inner in value.items()}
            case list() | tuple() | set() | frozenset():
                return [self.value(inner) for inner in value]
        text = str(value)
        return text if (key in TIMES or key.endswith("_at")) and _INSTANT.fullmatch(text) else self.text(text)

    def metrics(self, page: str) -> str:
        """A page of metrics: names and figures stay, the values of labels are masked."""
        return re.sub(r'="((?:[^"\\]|\\.)*)"', lambda found: f'="{self.text(found[1])}"', page)

    def _replace_name(self, found: re.Match[str]) -> str:
        number = self._number.get(found[0].casefold())  # few letters have a case that only the search knows
        return f" name-{number} " if number is not None else f" {MASK} "

    def _token(self, token: str, *, is_event: bool) -> str:
        name, *values = token.split("=")
        return "=".join([
            _mask(name), *(value if is_event and _NUMBER.fullmatch(value) else _mask(value) for value in values)
        ])  # fmt: skip


def _mask(token: str) -> str:
    bare = token.strip(_EDGES)
    if not bare or bare in UNITS or re.fullmatch(r"name-[0-9]+", bare):
        return token
    parts = (part for part in re.split(r"[-_']", bare) if part)
    return token if all(map(_is_ours, parts)) else MASK


def _without_statement(text: str) -> str:
    """The text up to a statement in it: nothing in it tells a name from a word."""
    begins = [found.start() for found in (_STATEMENT.search(text),) if found is not None]
    select = _SELECT.search(text)
    if select is not None and _FROM.search(text, select.end()) is not None:
        begins.append(select.start())
    return f"{text[: min(begins)]}{MASK}" if begins else text


def _is_measure(words: Sequence[str], at: int) -> bool:
    """Whether a word is a number with its unit behind it, one of two (``13 of 18 units``), or an engine's version."""
    before, word = words[at - 1].lower() if at else "", words[at].strip(_EDGES)
    if before in ENGINES and _VERSION.fullmatch(word):
        return True
    if not _NUMBER.fullmatch(word) or any(character.isdigit() for character in before):
        return False
    after = [word.strip(_EDGES).lower() for word in words[at + 1 : at + 4]]
    if len(after) == 3 and after[0] == "of" and _NUMBER.fullmatch(after[1]):
        after = after[2:]
    return word.endswith("%") or (bool(after) and after[0] in UNITS)


def _is_ours(word: str) -> bool:
    return (len(word) == 1 and word.isascii() and word.isalpha()) or word.lower() in own_words()


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
    # In many containers the user has no entry.
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
        # What this process cannot read it cannot have written into the bundle either.
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


FOLDER = "hotplace-bundle"
OF_AN_EVENT = {"event", "level"}  # what each event of ours has, as agent.model.logs writes it
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
class SupportBundle:
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
                member = tarfile.TarInfo(f"{FOLDER}/{name}")  # without an owner: the archive names no user
                member.size, member.mode = len(body), 0o600
                archive.addfile(member, io.BytesIO(body))


def make_bundle(
    config: Config,
    ledger: Ledger | None,
    findings: Mapping[str, Sequence[Finding]],
    timings: Mapping[str, float],
    logs: Sequence[Path],
) -> SupportBundle:
    """Collect everything; what cannot be read is said in ``absent``, and stops nothing.

    Args:
        config: as it was understood.
        ledger: None: there is none, or it cannot be opened.
        findings: of ``doctor``, by database.
        timings: seconds that each part of it took.
        logs: files with events of the daemon; none: the system's log is asked.
    """
    scrub, bundle = Scrubber(names_of_site(config, ledger)), SupportBundle()
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
            # A line that rotation has cut, or another program's.
            yield scrub.event(line)
            continue
        if not (isinstance(event, dict) and event.keys() >= OF_AN_EVENT):
            yield scrub.text(line)
            continue
        event.pop("exception", None)  # a traceback quotes whatever an exception was made with
        yield json.dumps(scrub.value(event), ensure_ascii=False)
