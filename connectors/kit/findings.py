"""What a connector reports of itself and its server: findings of the doctor, and what the login may do.

Every remedy has a kind. One that lets someone do more says what it gives away, and one that would hand over the server
is never printed: it would be pasted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self, TypedDict, Unpack


class Severity(StrEnum):
    """How much a finding matters."""

    OK = "ok"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class RemedyKind(StrEnum):
    """What a remedy does to rights."""

    HARMLESS = "harmless"  # no one may do more after it
    WIDENS = "widens_rights"  # someone may; what is said with it
    NEVER = "never_printed"  # it would have handed over the server; the text says whom to ask instead


# Words of statements that give rights, and of those that give all of them, in the dialects of all engines.
_RIGHTS = re.compile(
    r"\bGRANT\s+\S|\bADD\s+MEMBER\b|\bsp_add\w*member\b|\bOWNER\s+TO\b|\bALTER\s+(?:ROLE|USER|LOGIN)\b"
)
_ALL_RIGHTS = re.compile(
    r"\b(?:superuser|createrole|sys(?:admin|dba|oper|adm)|(?:security|server)admin|secadm|dbadm|accessctrl|dataaccess)\b"
    r"|\bcontrol\s+(?:server|on)\b|\bany\s+(?:privilege|role)\b|\ball\s+privileges\b|\bwith\s+(?:admin|grant)\s+option\b"
    r"|\bgrant\s+(?:dba|replication)\b|\balter\s+role\s+\S+\s+replication\b|\bgrant\s+\"?pg_(?:execute|write|read)_",
    re.IGNORECASE,
)
ASK = "What would mend it gives away too much to be printed: ask the administrator of the server."
_NAMED_RIGHT = "the right that it names"


class Remedy(str):
    """A statement or step that mends what a finding says, with its kind.

    Attributes:
        kind: what it does to rights.
        gives: what someone may do after it who may not now; "" for nothing.
    """

    kind: RemedyKind
    gives: str

    def __new__(cls, text: str, gives: str = "") -> Self:
        """A remedy that gives so much away; "" for one that is harmless, which is not believed of a GRANT."""
        if isinstance(text, cls) and not gives:
            return text
        never = _ALL_RIGHTS.search(text) is not None
        made = super().__new__(cls, ASK if never else text)
        made.gives = "" if never else gives or (_NAMED_RIGHT if _RIGHTS.search(text) else "")
        made.kind = RemedyKind.NEVER if never else RemedyKind.WIDENS if made.gives else RemedyKind.HARMLESS
        return made

    @property
    def explained(self) -> str:
        """As people read it: the text, and what it gives away."""
        return f"{self}\n  this gives away: {self.gives}" if self.gives else str(self)


def explained(text: str) -> str:
    """A remedy or the advice of an error as people read it."""
    return text.explained if isinstance(text, Remedy) else text


class _Details(TypedDict, total=False):
    """Optional fields of every kind of finding."""

    about_moving: bool
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One result of the doctor, with the statement or step that fixes it."""

    severity: Severity
    code: str
    sentence: str
    remedy: str = ""  # a ``Remedy``, whatever was given
    about_moving: bool = False  # about the right to move, which a login that only watches does not need
    values: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Give the remedy a kind if it has none yet."""
        object.__setattr__(self, "remedy", Remedy(self.remedy))

    @property
    def mends(self) -> Remedy:
        """The remedy with its kind."""
        return Remedy(self.remedy)

    @classmethod
    def ok(cls, code: str, sentence: str, **details: Unpack[_Details]) -> Self:
        """Something that is as it should be."""
        return cls(severity=Severity.OK, code=code, sentence=sentence, **details)

    @classmethod
    def info(cls, code: str, sentence: str, remedy: str = "", **details: Unpack[_Details]) -> Self:
        """Something worth knowing that needs no action."""
        return cls(severity=Severity.INFO, code=code, sentence=sentence, remedy=remedy, **details)

    @classmethod
    def warning(cls, code: str, sentence: str, remedy: str, **details: Unpack[_Details]) -> Self:
        """Something that limits what hotplace sees or does."""
        return cls(severity=Severity.WARNING, code=code, sentence=sentence, remedy=remedy, **details)

    @classmethod
    def error(cls, code: str, sentence: str, remedy: str, **details: Unpack[_Details]) -> Self:
        """Something without which hotplace cannot work."""
        return cls(severity=Severity.ERROR, code=code, sentence=sentence, remedy=remedy, **details)


@dataclass(frozen=True, slots=True, kw_only=True)
class Capability:
    """One thing that this login on this edition may do or not, with the reason and the remedy."""

    name: str
    available: bool
    because: str
    advice: str = ""  # a ``Remedy``, whatever was given

    def __post_init__(self) -> None:
        """Give the advice a kind if it has none yet."""
        object.__setattr__(self, "advice", Remedy(self.advice))

    @classmethod
    def of(cls, name: str, available: bool, needs: str, advice: str) -> Self:  # the fact itself
        """A capability that depends on one feature of the server.

        Args:
            name: of the capability.
            available: whether the server has what it needs.
            needs: what that is; the reason reads ``there is ...`` or ``it lacks ...``.
            advice: how to get it; left out where it is there.
        """
        verb = "there is" if available else "it lacks"
        return cls(name=name, available=available, because=f"{verb} {needs}", advice="" if available else advice)
