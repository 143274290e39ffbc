"""A standing rule: within which limits proposals of one database are approved without asking a person each time.

A person signs a rule once; at level ``auto`` the agent approves what it covers, and names it. What a rule covers is
judged by the proposal alone, so that the judgement can be repeated before each statement.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Self

from agent.model.conditions import Conditions
from agent.model.purposes import in_words
from agent.model.units_of_measure import format_when
from connectors.formatting import format_bytes, format_seconds, format_wait
from connectors.move_effects import Locked

if TYPE_CHECKING:
    from agent.model.proposals import Proposal, ProposedMove

MODES = ("hsm", "usage", "capacity", "preference")  # first word of a purpose that a rule may be for


class LockClass(StrEnum):
    """How much a move that a rule covers may hold up other sessions."""

    NONE = "none"
    BRIEF = "brief"
    ANY = "any"

    @property
    def allows(self) -> frozenset[Locked]:
        """What a route may lock."""
        brief = frozenset({Locked.NOTHING, Locked.BRIEFLY})
        return {LockClass.NONE: frozenset({Locked.NOTHING}), LockClass.BRIEF: brief}.get(self, frozenset(Locked))


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingRule:
    """The limits, and how long they hold. All of them have to be kept.

    Raises:
        ValueError: a limit is none.
    """

    database: str  # its name in the configuration
    fingerprint: str  # Identity.fingerprint
    mode: str  # Proposal.purpose
    units: tuple[str, ...]  # patterns: each unit that moves matches one of them, * and ? as in file names
    most_bytes: int  # of one proposal
    locks: LockClass
    most_stall_seconds: float  # that one move may hold up others, as predicted
    least_gain_per_hour: float  # seconds of wait: lower end of the predicted interval of a proposal
    most_a_day: int  # proposals in any 24 hours
    expires_at: datetime
    windows: tuple[str, ...] = ()  # in which its moves begin and are predicted to end; (): those of the database
    time_zone: str = "UTC"  # of these windows

    def __post_init__(self) -> None:
        if self.mode.partition(" ")[0] not in MODES:
            raise ValueError(f"a standing rule is for one of the modes {', '.join(MODES)}, not for {self.mode!r}")
        if not self.units or not all(pattern.strip() for pattern in self.units):
            raise ValueError("a standing rule says which units it is for; '*' stands for all")
        if self.most_bytes <= 0 or self.most_a_day <= 0:
            raise ValueError("a standing rule that covers no byte or no proposal a day covers nothing")

    @property
    def conditions(self) -> Conditions:
        """What must still hold at the first statement of each group that it has approved."""
        return Conditions(
            most_bytes=self.most_bytes, not_after=self.expires_at, least_gain_per_hour=self.least_gain_per_hour,
            windows=self.windows, time_zone=self.time_zone if self.windows else "",
        )  # fmt: skip

    @property
    def limits(self) -> dict[str, str]:
        """Each limit in words, by its name: for the document that is signed and for people."""
        return {
            "mode": f"{self.mode} ({in_words(self.mode)})",
            "units": " ".join(self.units),
            "bytes": f"at most {self.most_bytes} of one proposal ({format_bytes(self.most_bytes)})",
            "locks": self.locks.value,
            "stall": f"at most {self.most_stall_seconds!r} s of one move ({format_seconds(self.most_stall_seconds)})",
            "gain": f"at least {self.least_gain_per_hour!r} s of wait an hour, by the lower end of what is predicted "
            f"({format_wait(self.least_gain_per_hour)})",
            "windows": f"{'; '.join(self.windows)} in {self.time_zone}" if self.windows else "those of the database",
            "a day": f"at most {self.most_a_day}",
            "expires": format_when(self.expires_at),
        }

    @property
    def facts(self) -> dict[str, Any]:
        """As the audit chain holds it."""
        names = ("database", "fingerprint", "mode", "most_bytes", "most_stall_seconds", "least_gain_per_hour",
                 "most_a_day", "time_zone")  # fmt: skip
        plain: dict[str, Any] = {name: getattr(self, name) for name in names}
        lists = {"units": list(self.units), "windows": list(self.windows)}
        return {**plain, **lists, "locks": self.locks.value, "expires_at": self.expires_at.isoformat()}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Self:
        """Inverse of ``facts``."""
        return cls(
            **{
                **facts, "units": tuple(facts["units"]), "windows": tuple(facts["windows"]),
                "locks": LockClass(facts["locks"]), "expires_at": datetime.fromisoformat(facts["expires_at"]),
            }
        )  # fmt: skip


def find_refusal(rule: StandingRule, proposal: Proposal, struck: int = 0) -> str:
    """Why a rule does not cover a proposal, apart from time and count; "" where it does.

    Args:
        rule: the limits.
        proposal: as it is stored.
        struck: how many of its moves are not to be carried out.
    """
    if (proposal.database, proposal.fingerprint) != (rule.database, rule.fingerprint):
        return f"it is for {rule.database} with the fingerprint {rule.fingerprint}"
    if proposal.purpose != rule.mode or any(move.undoes is not None for move in proposal.moves):
        return f"it is for the mode {rule.mode}, and this is {in_words(proposal.purpose)}"
    if struck:
        return "a move was struck, so that the predicted gain is that of other moves"
    if proposal.bytes_moved > rule.most_bytes:
        return f"{format_bytes(proposal.bytes_moved)} would be moved, it allows {format_bytes(rule.most_bytes)}"
    gain = proposal.wait_saved_low_per_hour
    if gain is None or not gain >= rule.least_gain_per_hour:
        known = "is not known" if gain is None else f"is {format_wait(gain)}"
        return f"the lower end of the gain {known}, it asks for {format_wait(rule.least_gain_per_hour)}"
    return next(filter(None, (_refusal_of(rule, move) for move in proposal.moves)), "")


def _refusal_of(rule: StandingRule, move: ProposedMove) -> str:
    """Why a rule does not cover one move."""
    bundle = move.route.bundle
    for key in (move.key, *bundle.unit_keys):
        if not any(fnmatchcase(key, pattern) for pattern in rule.units):
            return f"{key} matches none of {', '.join(rule.units)}"
    if move.route.locked not in rule.locks.allows:
        locked = "not known" if move.route.locked is None else move.route.locked.value
        return f"what is locked while {move.what} moves is {locked}, it allows locks of the class {rule.locks}"
    stall = move.stall_seconds
    if stall is None or not stall <= rule.most_stall_seconds:
        known = "an unknown time" if stall is None else format_seconds(stall)
        return f"{move.what} may hold up others for {known}, it allows {format_seconds(rule.most_stall_seconds)}"
    return ""
