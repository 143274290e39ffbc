"""What is wrong with a configuration: every mistake at once, each with its path and line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from connectors.kit.contract import HotplaceError

Location = tuple[str | int, ...]  # keys and list positions from the top of the document
LONGEST_SHOWN = 60  # characters of a value in a message


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake."""

    path: str  # "databases[0].tiers[1].spaces[0]"; "" for the document as a whole
    message: str  # what is wrong and what would be right; never a secret
    line: int | None = None  # in the file, from 1; None where there is none

    def __str__(self) -> str:
        where = [f"line {self.line}"] if self.line else []
        return ": ".join([*where, *([self.path] if self.path else []), self.message])


class ConfigError(HotplaceError):
    """The configuration cannot be used.

    Attributes:
        problems: every mistake found, in the order of the file.
        source: the file, or what else was read.
    """

    def __init__(self, problems: Sequence[Problem], *, source: str = "", advice: str = "") -> None:
        self.problems = tuple(problems)
        self.source = source
        count = f"{len(self.problems)} mistakes" if len(self.problems) != 1 else "1 mistake"
        head = f"{source}: {count}" if source else f"configuration: {count}"
        super().__init__("\n".join([head, *(f"  {problem}" for problem in self.problems)]), advice=advice)


class ForeignConfig(ConfigError):
    """The configuration could have been written by someone other than root and the caller."""


class NothingToSize(HotplaceError):
    """The configuration names no two tiers to compare."""


class SettingsInvalid(ValueError):
    """The settings of an engine did not validate; carries pydantic's error through the one around it.

    Attributes:
        error: pydantic's ``ValidationError``.
        model: the settings class, to name the nearest known key for an unknown one.
    """

    def __init__(self, error: Exception, model: type) -> None:
        super().__init__(f"{model.__name__} did not validate")
        self.error = error
        self.model = model


def path_text(location: Location) -> str:
    """The location as people write it: ``databases[0].name``; a key that is no plain word is quoted."""
    text = ""
    for part in location:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part.replace("_", "a").replace("-", "a").isalnum():
            text += f".{part}" if text else part
        else:
            text += f"[{part!r}]"
    return text


def printable(value: object) -> str:
    """A value as a message may show it: scalars only, not endlessly long."""
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    if value is None:
        return "nothing"
    text = repr(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."
