"""The doctor's checks as tables: which fact is looked at, what is said in each case, and what mends it.

Each engine has tables of ``DoctorCheck``; ``findings_of`` is the one loop that reads them. Sentences, remedies and
values are templates that are filled from the facts by name: ``"{login} may not create in tablespace {name}"``;
``{size:bytes}`` writes a size with its unit. What is more than filling in is worked out where the facts are read, and
is a fact then.

The class of a check is that of its remedy: what a ``Remedy`` gives away is known before it is filled.
"""

from __future__ import annotations

import itertools
import string
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from connectors.kit.findings import Finding, Remedy, Severity
from connectors.model.formatting import format_bytes

Facts = Mapping[str, Any]  # of one thing that is examined: the server, a space, an owner
Readers = Mapping[str, Callable[[], Iterable[Facts]]]  # by the name of what is examined


@dataclass(frozen=True, slots=True)
class CheckCase:
    """What doctor says where a condition holds.

    Attributes:
        severity: how much it matters; None: as much as the fact ``severity`` says.
        code: of the finding; a template.
        sentence: what was found; a template.
        remedy: the statement or step that mends it; a template, or "{name}" of a fact that is a remedy itself.
        when: the fact that has to hold for this to be said; "": none.
        unless: the fact that must not hold; "": none.
        about_moving: it is about the right to move, which a login that only watches does not need.
        values: of the finding; each is a template.
    """

    severity: Severity | None
    code: str
    sentence: str
    remedy: str = ""
    when: str = field(default="", kw_only=True)
    unless: str = field(default="", kw_only=True)
    about_moving: bool = field(default=False, kw_only=True)
    values: Mapping[str, str] = field(default_factory=dict, kw_only=True)

    def applies(self, facts: Facts) -> bool:
        """Whether this is what is to be said of them."""
        return not (self.when and not facts[self.when]) and not (self.unless and facts[self.unless])

    def finding(self, facts: Facts) -> Finding:
        """What is said of them."""
        return Finding(
            severity=self.severity or facts["severity"],
            code=_fill(self.code, facts),
            sentence=_fill(self.sentence, facts),
            remedy=_fill_remedy(Remedy(self.remedy), facts),
            about_moving=self.about_moving,
            values={name: _fill(value, facts) for name, value in self.values.items()},
        )

    @property
    def names(self) -> frozenset[str]:
        """Facts that it needs."""
        texts = (self.code, self.sentence, self.remedy, Remedy(self.remedy).gives, *self.values.values())
        filled = {name for text in texts for _, name, _, _ in string.Formatter().parse(text) if name}
        return frozenset(filled | {name for name in (self.when, self.unless) if name})


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """One thing that doctor looks at.

    Attributes:
        facts: the name of what is examined, in the readers of the engine.
        cases: of each thing that is examined the first that applies is said, or nothing.
        nothing: said where there is no such thing; None: nothing is.
        every: all cases that apply are said, not the first alone.
    """

    facts: str
    cases: Sequence[CheckCase]
    nothing: CheckCase | None = field(default=None, kw_only=True)
    every: bool = field(default=False, kw_only=True)

    def findings(self, facts: Facts) -> Iterator[Finding]:
        """What is said of one thing."""
        said = (case.finding(facts) for case in self.cases if case.applies(facts))
        return said if self.every else itertools.islice(said, 1)


def findings_of(checks: Iterable[DoctorCheck], readers: Readers) -> Iterator[Finding]:
    """What is to be said, check after check.

    Args:
        checks: a table of the engine.
        readers: read the facts that the checks name; each is asked once, when a check needs it first.

    Raises:
        ConnectorError: a reader could not read.
    """
    read: dict[str, tuple[Facts, ...]] = {}
    for check in checks:
        if check.facts not in read:
            read[check.facts] = tuple(readers[check.facts]())
        examined = read[check.facts]
        if not examined and check.nothing is not None:
            yield check.nothing.finding({})
        for facts in examined:
            yield from check.findings(facts)


def unseen_statements(why: str, remedy: str) -> Facts:
    """Facts for ``STATEMENTS``: why counters of single statements cannot be read; "" where they can."""
    return {"why": why, "remedy": remedy}


STATEMENTS = DoctorCheck(
    "statements",
    (
        CheckCase(
            Severity.INFO,
            "statements_unseen",
            "{why}: outcomes cannot say which statements became slower or faster",
            "{remedy}",
            when="why",
        ),
        CheckCase(Severity.OK, "statements", "outcomes can say which statements became slower or faster"),
    ),
)


# Nothing else of hotplace needs to look at blocks, so that it is no warning.
BLOCK_LOOKS = DoctorCheck(
    "blocks",
    (
        CheckCase(Severity.INFO, "block_looks", "large tables are not looked into: {why}", "{remedy}", when="why"),
        CheckCase(Severity.OK, "block_looks", "{looks}"),
    ),
)


class _Template(string.Formatter):
    """Also knows sizes."""

    def format_field(self, value: Any, format_spec: str) -> str:  # noqa: ANN401  # as its base
        return format_bytes(value) if format_spec == "bytes" else str(super().format_field(value, format_spec))


def _fill_remedy(remedy: Remedy, facts: Facts) -> Remedy:
    if not remedy.gives and remedy[1:-1] in facts:  # a fact, as a server's advice: it keeps what it gives away
        return Remedy(facts[remedy[1:-1]])
    return Remedy(_fill(remedy, facts), _fill(remedy.gives, facts))


def _fill(template: str, facts: Facts) -> str:
    return _Template().vformat(template, (), facts)
