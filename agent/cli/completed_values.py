"""What can be completed where, and the values: read from the ledger's file and the configuration.

What can be completed where, by command and option or place; ``tests/cli/test_completion.py`` compares both.

The values themselves: read from the ledger's file and the configuration as they are, in a few milliseconds.

Without the ledger's own classes and the configuration's checks, which take longer to import than a person waits for a
key. What cannot be read has no values: completion is silent, and commands say what is wrong.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path
from typing import Any

from connectors.kit.files import find_fault


class CompletionKind(Enum):
    """Values of one kind."""

    UNITS = auto()  # as a person writes them: quotes may be left out
    UNIT_KEYS = auto()  # to the letter
    PINS = auto()  # patterns that pins were set for
    PROPOSALS = auto()
    UNDECIDED = auto()  # proposals that wait for a decision
    OPEN = auto()  # proposals that wait or are being carried out
    PLACED = auto()  # moves that can be taken back
    TO_DO = auto()  # moves that have yet to begin or to end
    PAUSED = auto()  # moves that can go on
    SPACES = auto()
    DATABASES = auto()


@dataclass(frozen=True, slots=True)
class Completes:
    """The values of one command."""

    places: Sequence[CompletionKind] = ()  # of its arguments, in their order
    repeated: bool = False  # the last of them any number of times
    options: Mapping[str, CompletionKind] = field(default_factory=dict)


COMMON = {"--database": CompletionKind.DATABASES}
COMMANDS: Mapping[str, Completes] = {
    "explain": Completes((CompletionKind.UNITS,), options={"--proposal": CompletionKind.PROPOSALS}),
    "plan": Completes(options={"--space": CompletionKind.SPACES}),
    "split": Completes((CompletionKind.UNIT_KEYS,), options={"--to": CompletionKind.SPACES}),
    "lab": Completes(options={"--slow": CompletionKind.SPACES, "--fast": CompletionKind.SPACES}),
    "show": Completes((CompletionKind.PROPOSALS,)),
    "approve": Completes((CompletionKind.UNDECIDED,), repeated=True, options={"--canary": CompletionKind.UNDECIDED}),
    "reject": Completes((CompletionKind.UNDECIDED,)),
    "strike": Completes((CompletionKind.OPEN,)),
    "undo": Completes((CompletionKind.PLACED,), repeated=True, options={"--proposal": CompletionKind.PROPOSALS}),
    "pause": Completes((CompletionKind.TO_DO,), repeated=True),
    "resume": Completes((CompletionKind.PAUSED,), repeated=True),
    "cancel": Completes((CompletionKind.TO_DO,), repeated=True),
    "pin": Completes((CompletionKind.UNIT_KEYS,), options={"--remove": CompletionKind.PINS}),
    "close": Completes((CompletionKind.SPACES,)),
    "reopen": Completes((CompletionKind.SPACES,)),
}
# Options that take no value, of these commands and of all: what follows them is an argument.
FLAGS = frozenset({
    "--json", "--debug", "--no-color", "--wide", "--version", "--help", "-h", "--sql", "--all", "--yes", "-y",
    "--emulated", "--propose", "--dry-run", "--trace", "--close", "--list", "--plain-names", "--quick",
})  # fmt: skip


def kind_at(words: Sequence[str]) -> CompletionKind | None:
    """Of what kind the word is that follows some others; None where that is not for us to complete.

    Args:
        words: after the program's name, without quotes.
    """
    command, place, option = "", 0, ""
    for word in words:
        if option:
            option = ""
        elif word.startswith("-") and len(word) > 1:
            option = "" if word in FLAGS or "=" in word else word
        elif not command:
            command = word
        else:
            place += 1
    if option:
        own = COMMANDS[command].options if command in COMMANDS else {}
        return own.get(option) or COMMON.get(option)
    if command not in COMMANDS or not COMMANDS[command].places:
        return None
    completes = COMMANDS[command]
    if place < len(completes.places):
        return completes.places[place]
    return completes.places[-1] if completes.repeated else None


def value_of(words: Sequence[str], option: str) -> str:
    """The value that was given to an option; "" where it was not."""
    for at, word in enumerate(words):
        if word == option and at + 1 < len(words):
            return words[at + 1]
        if word.startswith(f"{option}="):
            return word[len(option) + 1 :]
    return ""


VARIABLE = "HOTPLACE_CONFIG"
PLACES = (Path("hotplace.yaml"), Path("/etc/hotplace/hotplace.yaml"))
LEDGER = "/var/lib/hotplace/ledger.db"  # where the configuration names none
STATUS = "status"  # agent.ledger.state_names.STATUS
GONE_UNITS = "units that are gone"  # the same
MOST = 300  # values
BUSY_SECONDS = 0.05  # that the file may be locked
_PROPOSALS = """
SELECT CAST(id AS TEXT) AS value, state FROM proposals
WHERE database = :database AND substr(CAST(id AS TEXT), 1, length(:begins)) = :begins
AND state IN (SELECT value FROM json_each(:states)) ORDER BY id DESC LIMIT :most
"""
_MOVES = """
SELECT CAST(moves.id AS TEXT), moves.state FROM moves JOIN proposals ON proposals.id = moves.proposal_id
WHERE database = :database AND substr(CAST(moves.id AS TEXT), 1, length(:begins)) = :begins
AND moves.state IN (SELECT value FROM json_each(:states)) ORDER BY moves.id DESC LIMIT :most
"""
_UNITS = """
SELECT unit_key, '' FROM unit_slots WHERE database = :database AND (
substr(unit_key, 1, length(:begins)) = :begins OR substr(replace(unit_key, '"', ''), 1, length(:begins)) = :begins
) AND slot NOT IN (SELECT value FROM json_each(:gone)) LIMIT :most
"""
_FIRST_AND_LAST_UNIT = """
SELECT min(unit_key), max(unit_key) FROM unit_slots WHERE database = :database AND (
substr(unit_key, 1, length(:begins)) = :begins OR substr(replace(unit_key, '"', ''), 1, length(:begins)) = :begins
) AND slot NOT IN (SELECT value FROM json_each(:gone))
"""
_PINS = """
SELECT pattern, '' FROM pins
WHERE database = :database AND substr(pattern, 1, length(:begins)) = :begins ORDER BY pattern LIMIT :most
"""
_DOCUMENT = "SELECT body FROM documents WHERE database = ? AND name = ?"
# States by name, and not from agent.model.states, which takes as long to import as all of this; a test compares them.
STATES = {
    CompletionKind.UNDECIDED: ("proposed",),
    CompletionKind.OPEN: ("proposed", "approved"),
    CompletionKind.PROPOSALS: ("proposed", "approved", "rejected", "expired", "superseded", "finished"),
    CompletionKind.PLACED: ("placed", "settling", "kept"),
    CompletionKind.TO_DO: ("approved", "precheck", "running", "paused", "unknown"),
    CompletionKind.PAUSED: ("approved", "paused", "running"),
}


_OF_UNITS = frozenset({CompletionKind.UNITS, CompletionKind.UNIT_KEYS})
_OF_MOVES = frozenset({CompletionKind.PLACED, CompletionKind.TO_DO, CompletionKind.PAUSED})


def values_of(kind: CompletionKind, begins: str, *, config: str = "", database: str = "") -> list[tuple[str, str]]:
    """Values that begin so, each with a word about it or "", the most likely first.

    Args:
        kind: the kind of value.
        begins: what was typed of it.
        config: file that --config names; "": where it is looked for.
        database: that --database names; "": the only one, or all.
    """
    try:
        path, values = _read_config(config)
    except (OSError, ValueError):
        # A configuration that is half written completes nothing: an error would land on the line that is being typed.
        return []
    names = [database] if database else [str(each.get("name", "")) for each in _databases(values)]
    if kind is CompletionKind.DATABASES:
        return [(each["name"], str(each.get("engine", ""))) for each in _databases(values) if _fits(each, begins)]
    found = _spaces_of_config(values, names) if kind is CompletionKind.SPACES else []
    try:
        with closing(_open(_ledger(path, values))) as ledger:
            for name in names:
                found += _read_stored(ledger, kind, name, begins)
    except (sqlite3.Error, OSError, ValueError):
        pass  # there is no ledger yet, or it cannot be read: what the configuration says is left
    unique = dict(pair for pair in reversed(found) if pair[0].isprintable() and pair[0])
    return [(value, word) for value, word in reversed(unique.items()) if _begins_so(kind, value, begins)]


def as_written(kind: CompletionKind, found: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Values as a person would write them: keys that `explain` understands without their quotes go without them."""
    if kind is not CompletionKind.UNITS:
        return list(found)
    plain = Counter(value.replace('"', "") for value, _ in found)
    return [(short if plain[short := value.replace('"', "")] == 1 else value, word) for value, word in found]


def _begins_so(kind: CompletionKind, value: str, begins: str) -> bool:
    return value.startswith(begins) or (kind in _OF_UNITS and value.replace('"', "").startswith(begins))


def _read_config(named: str) -> tuple[Path, Mapping[str, Any]]:
    """The configuration as plain values, unchecked.

    Raises:
        OSError, ValueError: there is none, another user could have written it, or it is no YAML.
    """
    import yaml

    given = named or os.environ.get(VARIABLE, "")
    path = next((each for each in ([Path(given)] if given else PLACES) if each.is_file()), None)
    if path is None or find_fault(path, named=bool(given) or path.is_absolute()):
        raise OSError("no configuration that may be used")
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
    return path, values if isinstance(values, dict) else {}


def _databases(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    listed = values.get("databases")
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []


def _fits(database: Mapping[str, Any], begins: str) -> bool:
    name = database.get("name")
    return isinstance(name, str) and name.isprintable() and name.startswith(begins)


def _spaces_of_config(values: Mapping[str, Any], names: Sequence[str]) -> list[tuple[str, str]]:
    """Spaces that tiers name."""
    tiers = (tier for each in _databases(values) if each.get("name") in names for tier in each.get("tiers") or ())
    return [(str(space), str(tier.get("name", ""))) for tier in tiers for space in tier.get("spaces") or ()]


def _ledger(config: Path, values: Mapping[str, Any]) -> Path:
    place = values.get("ledger")
    if isinstance(place, dict) and "postgresql" in place:
        raise OSError("the ledger is on a server")  # which is not asked for the sake of a key
    named = place.get("path", LEDGER) if isinstance(place, dict) else LEDGER
    return config.absolute().parent / str(named)


def _open(path: Path) -> sqlite3.Connection:
    """The file, for reading only: nothing is created, and nothing waits for a lock."""
    if not path.is_file():
        raise OSError(f"there is no {path}")
    name = str(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return sqlite3.connect(f"file:{name}?mode=ro", uri=True, timeout=BUSY_SECONDS)


def _read_stored(ledger: sqlite3.Connection, kind: CompletionKind, database: str, begins: str) -> list[tuple[str, str]]:
    if kind is CompletionKind.SPACES:
        return list(_sampled_spaces(ledger, database))
    states = json.dumps(STATES.get(kind, ()))
    gone = ledger.execute(_DOCUMENT, (database, GONE_UNITS)).fetchone() if kind in _OF_UNITS else None
    given = {
        "database": database, "begins": begins, "most": MOST, "states": states, "gone": gone[0] if gone else "[]",
    }  # fmt: skip
    found = ledger.execute(_query(kind), given).fetchall()
    if len(found) == MOST and kind in _OF_UNITS:
        # The first and the last too: what all have in common is put on the command line, and must be common to all.
        found += [(end, "") for end in ledger.execute(_FIRST_AND_LAST_UNIT, given).fetchone()]
    return found


def _query(kind: CompletionKind) -> str:
    if kind in _OF_UNITS:
        return _UNITS
    if kind is CompletionKind.PINS:
        return _PINS
    return _MOVES if kind in _OF_MOVES else _PROPOSALS


def _sampled_spaces(ledger: sqlite3.Connection, database: str) -> Iterator[tuple[str, str]]:
    """Spaces that the daemon saw with its last sample."""
    for (body,) in ledger.execute(_DOCUMENT, (database, STATUS)):
        for space in json.loads(body).get("spaces") or ():
            yield str(space["space"]), str(space["tier"] or "")
