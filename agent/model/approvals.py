"""Conditions of an approval, and standing rules that approve within limits.

Conditions of an approval: up to how many bytes, until when, when, and for how much gain its moves may begin.

A standing rule: within which limits proposals of one database are approved without asking a person each time.

A person signs a rule once; at level ``auto`` the agent approves what it covers, and names it. What a rule covers is
judged by the proposal alone, so that the judgement can be repeated before each statement. A rule with a template says
more than limits: its statements, letter by letter but for named parameters, and how many times a day.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Self

from agent.model.proposals import StoredDataclass, in_words, purpose_of_template
from agent.model.units_of_measure import format_when
from connectors.kit.templates import StatementTemplate
from connectors.model.formatting import format_bytes, format_seconds, format_wait
from connectors.model.moves import SPLIT, Locked, key_matcher
from connectors.model.new_space import makes_or_drops_space

if TYPE_CHECKING:
    from agent.model.proposals import Proposal, ProposedMove
    from policies.model.calendar import Calendar


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What must hold at the first statement of each group. None: it does not matter."""

    most_bytes: int | None = None  # of all moves of the proposal that are carried out
    not_after: datetime | None = None
    least_gain_per_hour: float | None = None  # seconds of wait, of what is left of the proposal, by the newest plan
    most_stall_seconds: float | None = None  # that one move may keep others out, by the upper end of what is predicted
    windows: tuple[str, ...] = ()  # in which they begin and are predicted to end, besides those of the database
    time_zone: str = ""  # of these windows

    @property
    def calendar(self) -> Calendar | None:
        """The windows; None: those of the database alone.

        Raises:
            ValueError: a window or the time zone is none.
        """
        if not self.windows:
            return None
        from zoneinfo import ZoneInfo

        from policies.model.calendar import Calendar, parse_window

        windows = tuple(map(parse_window, self.windows))
        try:
            return Calendar(ZoneInfo(self.time_zone), windows)
        except (KeyError, OSError) as error:  # a folder of zones, or a name too long for a file, is an error of I/O
            raise ValueError(f"{self.time_zone[:60]!r} is no time zone") from error

    @property
    def of_any_hand(self) -> bool:
        """Whether something was given that would have to hold for moves that a person carries out, too.

        The time for which a move may keep others out is not: a person chooses the hour.
        """
        return bool(self.facts.keys() - {"most_stall_seconds"})

    @property
    def facts(self) -> dict[str, Any]:
        """As the audit chain holds them: only those that were given."""
        plain = {
            "most_bytes": self.most_bytes,
            "not_after": None if self.not_after is None else self.not_after.isoformat(),
            "least_gain_per_hour": self.least_gain_per_hour,
            "most_stall_seconds": self.most_stall_seconds,
            "windows": list(self.windows) or None,
            "time_zone": self.time_zone or None,
        }
        return {name: value for name, value in plain.items() if value is not None}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Self:
        """Inverse of ``facts``."""
        at = facts.get("not_after")
        return cls(
            most_bytes=facts.get("most_bytes"),
            not_after=None if at is None else datetime.fromisoformat(at),
            least_gain_per_hour=facts.get("least_gain_per_hour"),
            most_stall_seconds=facts.get("most_stall_seconds"),
            windows=tuple(facts.get("windows", ())),
            time_zone=facts.get("time_zone", ""),
        )

    def __str__(self) -> str:
        """In words; "" where there are none."""
        parts = []
        if self.most_bytes is not None:
            parts.append(f"at most {format_bytes(self.most_bytes)}")
        if self.not_after is not None:
            parts.append(f"begun before {self.not_after.isoformat()}")
        if self.least_gain_per_hour is not None:
            parts.append(f"while it saves at least {format_wait(self.least_gain_per_hour)}")
        if self.most_stall_seconds is not None:
            parts.append(f"keeping others out for {format_seconds(self.most_stall_seconds)} at most")
        if self.windows:
            parts.append(f"within {', '.join(self.windows)} ({self.time_zone})")
        return "; ".join(parts)


NONE = Conditions()


def refuse_stall(moves: Iterable[ProposedMove], most_seconds: float, *, by_name: bool = False) -> str:
    """Why these moves may keep others out for too long, by the one that does so longest; "" where none does.

    Args:
        moves: of one proposal.
        most_seconds: for which each may.
        by_name: a person has named that time for these moves: it stands for one that is not known, too.
    """
    judged = [move for move in moves if not (by_name and move.stall_interval_seconds is None)]
    longest = max(judged, key=_most_stall, default=None)
    if longest is None or _most_stall(longest) <= most_seconds:
        return ""
    between = longest.stall_interval_seconds
    if between is None:
        return f"{longest.what} may hold up others for an unknown time"
    up_to = "up to " if between[0] < between[1] and longest.copy_interval_seconds is not None else ""
    return f"{longest.what} may hold up others for {up_to}{format_seconds(between[1])}"


def _most_stall(move: ProposedMove) -> float:
    between = move.stall_interval_seconds
    return math.inf if between is None else between[1]


MODES = ("hsm", "usage", "capacity", "preference")  # first word of a purpose that a rule may be for
_STORED_TEMPLATE = StoredDataclass(StatementTemplate)


class LockClass(StrEnum):
    """How much a move that a rule covers may hold up other sessions."""

    NONE = "none"
    BRIEF = "brief"
    ANY = "any"

    @property
    def allows(self) -> frozenset[Locked | None]:
        """What a route may lock; None: it is not known."""
        match self:
            case LockClass.NONE:
                return frozenset({Locked.NOTHING})
            case LockClass.BRIEF:
                return frozenset({Locked.NOTHING, Locked.BRIEFLY})
            case LockClass.ANY:  # of what is not known the stall is not known either, and that has a limit
                return frozenset({*Locked, None})


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
    most_a_day: int  # proposals in any 24 hours; of a template: moves
    expires_at: datetime
    windows: tuple[str, ...] = ()  # in which its moves begin and are predicted to end; (): those of the database
    time_zone: str = "UTC"  # of these windows
    template: StatementTemplate | None = None  # of all that it covers; None: what the connector makes within the limits

    def __post_init__(self) -> None:
        if self.template is not None:
            self._check_template(self.template)
        elif self.mode.partition(" ")[0] not in MODES:
            raise ValueError(f"a standing rule is for one of the modes {', '.join(MODES)}, not for {self.mode!r}")
        if not self.units or not all(pattern.strip() for pattern in self.units):
            raise ValueError("a standing rule says which units it is for; '*' stands for all")
        if self.most_bytes <= 0 or self.most_a_day <= 0:
            raise ValueError("a standing rule that covers no byte or no proposal a day covers nothing")

    def _check_template(self, template: StatementTemplate) -> None:
        if self.mode != purpose_of_template(template):
            raise ValueError(f"a rule for the {template.name} is for the mode {purpose_of_template(template)!r}")
        if self.least_gain_per_hour:
            raise ValueError("a rule over a template asks for no gain: its statements come by the calendar")

    @property
    def conditions(self) -> Conditions:
        """What must still hold at the first statement of each group that it has approved."""
        return Conditions(
            most_bytes=self.most_bytes, not_after=self.expires_at,
            least_gain_per_hour=self.least_gain_per_hour if self.template is None else None,
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
            f"({format_wait(self.least_gain_per_hour)})"
            if self.template is None
            else "none is asked for",
            "windows": f"{'; '.join(self.windows)} in {self.time_zone}" if self.windows else "those of the database",
            "a day": f"at most {self.most_a_day}{'' if self.template is None else ' times the statements below'}",
            "expires": format_when(self.expires_at),
            **({} if self.template is None else _template_words(self.template)),
        }

    @property
    def facts(self) -> dict[str, Any]:
        """As the audit chain holds it."""
        names = ("database", "fingerprint", "mode", "most_bytes", "most_stall_seconds", "least_gain_per_hour",
                 "most_a_day", "time_zone")  # fmt: skip
        plain: dict[str, Any] = {name: getattr(self, name) for name in names}
        lists = {"units": list(self.units), "windows": list(self.windows)}
        others = {"locks": self.locks.value, "expires_at": self.expires_at.isoformat()}
        template = {} if self.template is None else {"template": _STORED_TEMPLATE.plain(self.template)}
        return {**plain, **lists, **others, **template}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Self:
        """Inverse of ``facts``."""
        template = facts.get("template")
        return cls(
            **{
                **facts, "units": tuple(facts["units"]), "windows": tuple(facts["windows"]),
                "locks": LockClass(facts["locks"]), "expires_at": datetime.fromisoformat(facts["expires_at"]),
                "template": template and _STORED_TEMPLATE.of_text(json.dumps(template)),
            }
        )  # fmt: skip

    def counted(self, moves: int) -> int:
        """What a proposal of so many moves takes of ``most_a_day``."""
        return 1 if self.template is None else moves


def _template_words(template: StatementTemplate) -> dict[str, str]:
    """Every text of a template and the bounds of every parameter, each by a name of its own."""
    texts = {f"statement {n} ({text.role})": text.sql for n, text in enumerate(template.texts, start=1)}
    parameters = {f"parameter {{{each.name}}}": each.words for each in template.parameters}
    return {"template": template.name, **texts, **parameters}


def find_refusal(rule: StandingRule, proposal: Proposal, at: datetime, struck: int = 0) -> str:
    """Why a rule does not cover a proposal, apart from time and count; "" where it does.

    Args:
        rule: the limits.
        proposal: as it is stored.
        at: the instant of the approval, from which a template counts times.
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
    if rule.template is None and (why := _gain_refusal(rule, proposal)):
        return why
    return next(filter(None, (_refusal_of(rule, move, at) for move in proposal.moves)), "")


def _gain_refusal(rule: StandingRule, proposal: Proposal) -> str:
    gain = proposal.wait_saved_low_per_hour
    if gain is not None and gain >= rule.least_gain_per_hour:
        return ""
    known = "is not known" if gain is None else f"is {format_wait(gain)}"
    return f"the lower end of the gain {known}, it asks for {format_wait(rule.least_gain_per_hour)}"


def _refusal_of(rule: StandingRule, move: ProposedMove, at: datetime) -> str:
    """Why a rule does not cover one move."""
    if move.by_hand:
        return f"{move.what} is moved by a person, so a person decides"
    if makes_or_drops_space(move.route):
        return f"{move.what} is made or dropped, which a person decides each time"
    if move.route.name == SPLIT:
        return f"{move.what} is split for good, which a person decides each time"
    if rule.template is not None and (why := rule.template.find_refusal(move.route, at)):
        return f"{move.what}: {why}"
    bundle = move.route.bundle
    meant = [key_matcher(pattern) for pattern in rule.units]
    for key in (move.key, *bundle.unit_keys):
        if not any(means(key) for means in meant):
            return f"{key} matches none of {', '.join(rule.units)}"
    if move.route.locked not in rule.locks.allows:
        locked = "not known" if move.route.locked is None else move.route.locked.value
        return f"what is locked while {move.what} moves is {locked}, it allows locks of the class {rule.locks}"
    if too_long := refuse_stall([move], rule.most_stall_seconds):
        return f"{too_long}, it allows {format_seconds(rule.most_stall_seconds)}"
    return ""
