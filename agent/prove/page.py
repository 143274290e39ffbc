"""The page at the end: every claim with what was seen of it, in Markdown and as an answer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from agent.answers.lab import ClaimsTried, ClaimTried
from agent.prove.claims import Finding, Result
from connectors.formatting import format_seconds

TITLES = {
    "query": "Queries: the server has every column and function that they name",
    "answer": "What the connector is asked in every run",
    "units": "Cases, and the units that the catalog lists for them",
    "counter": "What counters mean",
    "move": "Moves: each unit there and back, by every way there is",
    "kept": "Structure, rows, privileges, statistics and validity: as before after each move",
    "online": "Other sessions while it moves",
    "lock": "The strongest lock of each way",
    "pitfall": "Pitfalls",
    "clean": "Afterwards",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What a run found, and on what."""

    title: str  # of the engine
    engine: str
    version: str
    server: str  # "real" or "emulated": what the person who ran it says of it
    made_at: datetime  # UTC, whole seconds
    digest: str  # of the script
    seconds: float
    findings: tuple[Finding, ...]
    note: str = ""  # what a reader has to know of this run
    ended: str = ""  # why the run ended before its end


def count(findings: Iterable[Finding]) -> dict[str, int]:
    """How many claims had each result."""
    found = list(findings)
    return {str(result): sum(each.result is result for each in found) for result in Result}


def claims_tried(page: Page) -> ClaimsTried:
    """The page as an answer; ``markdown_of`` makes the same page from it."""
    return ClaimsTried(
        title=page.title,
        engine=page.engine,
        version=page.version,
        server=page.server,
        made_at=page.made_at,
        digest=page.digest,
        seconds=round(page.seconds, 1),
        note=page.note,
        ended=page.ended,
        counts=count(page.findings),
        claims=tuple(map(_claim_tried, page.findings)),
    )


def _claim_tried(finding: Finding) -> ClaimTried:
    return ClaimTried(
        code=finding.claim.code,
        sort=finding.claim.sort,
        name=finding.claim.name,
        sentence=finding.claim.sentence,
        result=finding.result,
        evidence=finding.evidence,
        native_code=finding.native_code,
        seconds=None if finding.seconds is None else round(finding.seconds, 4),
    )


def markdown_of(found: ClaimsTried) -> str:
    """The page from its answer."""
    counts = ", ".join(f"{number} {result}" for result, number in found.counts.items())
    lines = [
        f"# {found.title}: what was seen of the connector's claims",
        "",
        _origin(found),
        "",
        f"{len(found.claims)} claims: {counts}.",
    ]
    lines += ["", f"**The run ended before its end**: {_cell(found.ended)}."] if found.ended else []
    lines += ["", found.note] if found.note else []
    for sort, title in TITLES.items():
        claims = [claim for claim in found.claims if claim.sort == sort]
        if claims:
            lines += ["", f"## {title}", "", "| claim | result | what was seen | time |", "|---|---|---|---|"]
            lines += [_row(claim) for claim in claims]
    return "\n".join(lines) + "\n"


def _origin(found: ClaimsTried) -> str:
    return (
        f"Server: **{found.server}**, {found.engine} {found.version}. Made by `hotplace lab prove` at "
        f"{found.made_at:%Y-%m-%dT%H:%M:%SZ} in {format_seconds(found.seconds)}; digest of its statements "
        f"`{found.digest[:12]}`."
    )


def _row(claim: ClaimTried) -> str:
    named = claim.name or claim.sentence
    words = named if claim.sort in ("query", "move", "kept", "clean") else f"{named}: {claim.sentence}"
    seen = f"{claim.evidence} ({claim.native_code})" if claim.native_code else claim.evidence
    took = "" if claim.seconds is None else format_seconds(claim.seconds)
    result = claim.result if claim.result == Result.SEEN else f"**{claim.result}**"
    return f"| {_cell(words)} | {result} | {_cell(seen)} | {took} |"


def _cell(text: str) -> str:
    """Text of a cell: on one line, nothing in it taken for markup."""
    plain = " ".join(text.split())
    for character in "\\|<>*_`[]":
        plain = plain.replace(character, f"\\{character}")
    return plain
