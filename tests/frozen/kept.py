"""What was written down: texts whole in ``golden/SUBJECT.txt``, large ones as hashes in ``golden/SUBJECT.json``."""

from __future__ import annotations

import difflib
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

GOLDEN = Path(__file__).parent / "golden"
AGAIN = "python -m tests.frozen --write {name} writes it again; the commit says what changed and why"
MOST_LINES = 60  # of a difference
TITLE = "======== "
# Of the machine and the interpreter nothing may be in it.
PLACES = (Path(__file__).parents[2], tempfile.gettempdir(), Path.home(), sys.prefix, sys.base_prefix)
FOREIGN = (*(f"{place}/" for place in PLACES), ".venv", "site-packages", "CPython", "Python 3")


@dataclass(frozen=True, slots=True)
class Frozen:
    """What a subject comes to, by the names of its items."""

    whole: Mapping[str, str]  # kept as it is
    hashed: Mapping[str, str] = field(default_factory=dict)  # kept as a hash


def write(name: str, made: Frozen) -> None:
    """Keep it in place of what was kept."""
    texts, hashes = _paths(name)
    texts.unlink(missing_ok=True)
    hashes.unlink(missing_ok=True)
    if made.whole:
        texts.write_text(
            "".join(f"{TITLE}{item}\n{_ended(text)}" for item, text in made.whole.items()), encoding="utf-8"
        )
    if made.hashed:
        content = {item: _hash(text) for item, text in made.hashed.items()}
        hashes.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def differences(name: str, made: Frozen, *, partly: bool = False) -> str:
    """What differs from what was kept, for people; "": nothing. Partly: only items that were made are asked for."""
    texts, hashes = _kept(name)
    if partly:
        texts, hashes = (
            {item: kept[item] for item in kept if item in asked}
            for kept, asked in ((texts, made.whole), (hashes, made.hashed))
        )
    of_texts = _of_texts(texts, {item: _ended(text) for item, text in made.whole.items()})
    lines = [*_of_hashes(hashes, made.hashed), *of_texts]
    if not lines:
        return ""
    more = [f"... {len(lines) - MOST_LINES} more lines"] if len(lines) > MOST_LINES else []
    return "\n".join([*lines[:MOST_LINES], *more, AGAIN.format(name=name)])


def foreign(made: Frozen) -> list[str]:
    """Lines with what belongs to a machine, a day or an interpreter, with their items."""
    words = (*FOREIGN, f"{datetime.now(UTC):%Y-%m-%d}", f"{datetime.now(UTC):%Y%m%d}")
    return [
        f"{item}: {line}"
        for item, text in (*made.whole.items(), *made.hashed.items())
        for line in text.splitlines()
        if any(word in line for word in words)
    ]


def _paths(name: str) -> tuple[Path, Path]:
    return GOLDEN / f"{name}.txt", GOLDEN / f"{name}.json"


def _kept(name: str) -> tuple[dict[str, str], dict[str, str]]:
    texts, hashes = _paths(name)
    whole: dict[str, str] = {}
    if texts.exists():
        for part in ("\n" + texts.read_text(encoding="utf-8")).split(f"\n{TITLE}")[1:]:
            item, _, text = part.partition("\n")
            whole[item] = _ended(text)
    return whole, json.loads(hashes.read_text(encoding="utf-8")) if hashes.exists() else {}


def _of_texts(kept: Mapping[str, str], made: Mapping[str, str]) -> Iterator[str]:
    for item in dict.fromkeys((*kept, *made)):
        before, now = kept.get(item, ""), made.get(item, "")
        if before != now:
            pairs = (before.splitlines(), now.splitlines())
            yield from difflib.unified_diff(*pairs, f"{item} (kept)", f"{item} (now)", lineterm="", n=1)


def _of_hashes(kept: Mapping[str, str], made: Mapping[str, str]) -> Iterator[str]:
    for item in dict.fromkeys((*kept, *made)):
        if item not in made:
            yield f"{item}: is no more"
        elif kept.get(item) != _hash(made[item]):
            yield f"{item}: {'differs' if item in kept else 'is new'}; --print shows it"


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:20]


def _ended(text: str) -> str:
    """With one end of line: the next title begins a line, and blank lines before it are not kept."""
    return text.rstrip("\n") + "\n"
