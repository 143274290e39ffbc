"""What ``rules`` answers: standing rules, their limits and what they approved."""

from __future__ import annotations

from datetime import datetime

from agent.answers.kind import answer


@answer
class TemplateText:
    """A statement of a template, with ``{name}`` for each parameter."""

    role: str
    sql: str


@answer
class TemplateBound:
    """What a parameter of a template may be."""

    name: str
    kind: str
    """word, number or time."""
    least: int
    most: int


@answer
class TemplateShown:
    """Statements for partitions of one table."""

    kind: str
    table: str
    space: str
    from_space: str
    """Empty: the partition is made."""
    texts: tuple[TemplateText, ...]
    parameters: tuple[TemplateBound, ...]


@answer
class RuleLimits:
    """What proposals have to keep so that a rule approves them."""

    database: str
    fingerprint: str
    """Of the database, so that no other takes its place."""
    mode: str
    most_bytes: int
    most_stall_seconds: float
    least_gain_per_hour: float
    most_a_day: int
    time_zone: str
    units: tuple[str, ...]
    windows: tuple[str, ...]
    locks: str
    """none, brief or any."""
    expires_at: datetime
    template: TemplateShown | None
    """Null: the rule is about units."""


@answer
class RuleShown:
    """A standing rule."""

    rule: int
    state: str
    """proposed, open, closed or expired."""
    reason: str
    limits: RuleLimits
    proposed_by: str
    proposed_at: datetime
    signed_by: tuple[str, ...]
    used_today: int
    approved: tuple[int, ...]
    """Proposals."""


@answer
class RulesListed:
    """The standing rules, and whether they may approve anything."""

    level: str
    rules: tuple[RuleShown, ...]


@answer
class ProposalUncovered:
    """A proposal that waits, and why a rule does not approve it."""

    proposal: int
    why: str
    """Empty: the rule covers it, at level auto."""


@answer
class RuleExplained(RuleShown):
    """A rule with what waits."""

    waiting: tuple[ProposalUncovered, ...]
    unserved: str | None
    """Why nothing comes under its template."""


@answer
class RuleToSign(RuleShown):
    """What a person signs to open a rule."""

    document: str
    """The text, to the byte."""
    namespace: str
    """For ssh-keygen -Y sign -n."""
    needed: int


@answer
class RuleSigned(RuleShown):
    """A rule with one signature more."""

    needed: int
