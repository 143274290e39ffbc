"""What can be completed where, by command and option or place; ``tests/cli/test_completion.py`` compares both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto


class Kind(Enum):
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

    places: Sequence[Kind] = ()  # of its arguments, in their order
    repeated: bool = False  # the last of them any number of times
    options: Mapping[str, Kind] = field(default_factory=dict)


COMMON = {"--database": Kind.DATABASES}
COMMANDS: Mapping[str, Completes] = {
    "explain": Completes((Kind.UNITS,), options={"--proposal": Kind.PROPOSALS}),
    "plan": Completes(options={"--space": Kind.SPACES}),
    "split": Completes((Kind.UNIT_KEYS,), options={"--to": Kind.SPACES}),
    "lab": Completes(options={"--slow": Kind.SPACES, "--fast": Kind.SPACES}),
    "show": Completes((Kind.PROPOSALS,)),
    "approve": Completes((Kind.UNDECIDED,), repeated=True, options={"--canary": Kind.UNDECIDED}),
    "reject": Completes((Kind.UNDECIDED,)),
    "strike": Completes((Kind.OPEN,)),
    "undo": Completes((Kind.PLACED,), repeated=True, options={"--proposal": Kind.PROPOSALS}),
    "pause": Completes((Kind.TO_DO,), repeated=True),
    "resume": Completes((Kind.PAUSED,), repeated=True),
    "cancel": Completes((Kind.TO_DO,), repeated=True),
    "pin": Completes((Kind.UNIT_KEYS,), options={"--remove": Kind.PINS}),
    "close": Completes((Kind.SPACES,)),
    "reopen": Completes((Kind.SPACES,)),
}
# Options that take no value, of these commands and of all: what follows them is an argument.
FLAGS = frozenset({
    "--json", "--debug", "--no-color", "--wide", "--version", "--help", "-h", "--sql", "--all", "--yes", "-y",
    "--emulated", "--propose", "--dry-run", "--trace", "--close", "--list", "--plain-names",
})  # fmt: skip


def kind_at(words: Sequence[str]) -> Kind | None:
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
