"""What a connector reports of itself and its server: findings of the doctor, and what the login may do."""

from __future__ import annotations

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
    remedy: str = ""
    about_moving: bool = False  # about the right to move, which a login that only watches does not need
    values: Mapping[str, str] = field(default_factory=dict)

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
    advice: str = ""

    @classmethod
    def of(cls, name: str, available: bool, needs: str, advice: str) -> Self:  # the fact itself
        """A capability that depends on one feature of the server.

        Args:
            name: of the capability.
            available: whether the server has what it needs.
            needs: what that is; the reason reads ``there is ...`` or ``there is not ...``.
            advice: how to get it; left out where it is there.
        """
        verb = "there is" if available else "there is not"
        return cls(name=name, available=available, because=f"{verb} {needs}", advice="" if available else advice)
