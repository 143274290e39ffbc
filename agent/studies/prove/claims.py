"""Every claim that can be tried on an engine, what became of each, and the page at the end.

The page at the end: every claim with what was seen of it, in Markdown and as an answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from agent.model.answers.setup import ClaimsTried, ClaimTried
from connectors.kit.contract import CannotConnect, ConnectorError, HotplaceError, OutcomeUnknown
from connectors.kit.proving import FILES, MOVES, TRUTH, Case, Proof, Scratch, known_loads
from connectors.model.formatting import format_seconds

NAMES = Scratch(schema="scratch", slow="slow", fast="fast")  # in the names of cases where there is no server
LOST = (CannotConnect, OutcomeUnknown)  # errors of the connection: they end a run
ANSWERS = {
    "identify": "server, version and database are identified",
    "capabilities": "what the login may do is listed",
    "catalog": "spaces and units are listed",
    "sample": "counters are read",
    "doctor": "privileges and settings are examined",
    "plan": "the units of the scratch schema are ranked, and nothing is changed by it",
}
COUNTERS = {
    "look_ups": "a look-up counts as at least one logical read of its table, and as little more",
    "scans": "a scan counts as a logical read of every block of the table",
    "untouched": "what no session reads has no reads",
}
READS_KNOWN = "the connector says the blocks that the session itself counted, within 5 %"
WAIT_KNOWN = "the connector says the wait that the session itself counted, within 5 %"
PITFALLS = {
    "lock": "while another transaction uses the object a move that locks it gives up, changes nothing, and is done "
    "once the object is free",
    "long transaction": "an online build waits for a transaction that was there before it, and reads and writes go on",
    "cancelled": "an online build that is cancelled while it waits leaves nothing behind",
    "dropped": "an object dropped after the approval is noticed, and no statement is sent for it",
    "grown": "an object that has grown far beyond what was approved is not moved",
}


class Result(StrEnum):
    """What became of a claim."""

    SEEN = "seen"
    CONTRADICTED = "contradicted"
    NOT_TRIED = "not tried"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One thing that the connector takes for true."""

    sort: str  # of TITLES
    name: str
    sentence: str

    @property
    def code(self) -> str:
        """How it is called in documents and tables."""
        return f"{self.sort} {self.name}".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimFinding:
    """A claim and what was seen of it."""

    claim: Claim
    result: Result
    evidence: str
    native_code: str = ""  # of the engine's error, "" where there was none
    seconds: float | None = None


def every_claim(proof: Proof) -> tuple[Claim, ...]:
    """All claims of an engine, in the order of the page; asks no server."""
    return tuple(_claims(proof, proof.cases(NAMES)))


QUICK_ANSWERS = frozenset(
    {"answer identify", "answer capabilities", "answer catalog", "answer sample", "answer doctor"}
)
QUICK_SORTS = frozenset({"reads", "wait", "clean"})


def quick_claims(proof: Proof) -> tuple[Claim, ...]:
    """Those of them that ``--quick`` tries."""
    cases = {case.name for case in proof.cases(NAMES) if case.quick}
    truth = {case.name for case in proof.cases(NAMES) if case.purpose == TRUTH}
    files = {case.name for case in proof.cases(NAMES) if case.setup == FILES}
    return tuple(
        claim
        for claim in every_claim(proof)
        if claim.code in QUICK_ANSWERS
        or claim.sort in QUICK_SORTS
        or (claim.sort in ("units", "move", "kept") and claim.name in cases)
        or (claim.sort == "units" and claim.name in truth)
        or (claim.sort in ("units", "move", "kept") and claim.name in files)
    )


def _claims(proof: Proof, cases: Iterable[Case]) -> Iterator[Claim]:
    cases = tuple(cases)
    for name in proof.queries():
        yield Claim(sort="query", name=name, sentence=f"the server has every column and function that {name}.sql names")
    yield from _list_claims("answer", ANSWERS)
    for case in cases:
        yield Claim(sort="units", name=case.name, sentence=f"the catalog lists its units. {case.sentence}")
    yield from _list_claims("counter", COUNTERS)
    loads = [load for case in cases for load in known_loads(case)]
    yield from (Claim(sort="reads", name=load.name, sentence=READS_KNOWN) for load in loads)
    yield from (Claim(sort="wait", name=load.name, sentence=WAIT_KNOWN) for load in loads)
    for case in cases:
        if case.refused:
            sentence = f"under other settings ({case.setup}) each unit is refused by name, before any statement"
            yield Claim(sort="move", name=case.name, sentence=sentence)
        elif case.purpose == MOVES:
            yield Claim(sort="move", name=case.name, sentence="each unit goes there and back by every way there is")
            yield Claim(
                sort="kept", name=case.name,
                sentence="structure, rows, privileges, statistics and validity are as before after each move",
            )  # fmt: skip
    for route in proof.routes:
        yield Claim(sort="online", name=route, sentence="other sessions read and write meanwhile, or wait, as it says")
        yield Claim(sort="lock", name=route, sentence="the strongest lock of the move is the one that it names")
    yield from _list_claims("pitfall", PITFALLS)
    yield Claim(sort="clean", name="", sentence="the scratch schema is empty afterwards")


def _list_claims(sort: str, sentences: dict[str, str]) -> Iterator[Claim]:
    return (Claim(sort=sort, name=name, sentence=sentence) for name, sentence in sentences.items())


class ClaimFindings:
    """Collects what is seen of each claim; one contradiction outweighs whatever else was seen of it."""

    def __init__(self, claims: Iterable[Claim], left_out: Iterable[Claim] = ()) -> None:
        """Args: claims: those that are tried; left_out: others, whatever is noted of which is not kept."""
        self._claims = {claim.code: claim for claim in claims}
        self._left_out = {claim.code for claim in left_out} - self._claims.keys()
        self._found: dict[str, ClaimFinding] = {}

    def note_seen(self, code: str, evidence: str, seconds: float | None = None) -> None:
        """It was as the connector takes it."""
        self._add(code, Result.SEEN, evidence, "", seconds)

    def note_contradiction(self, code: str, evidence: str, native_code: str = "") -> None:
        """It was not."""
        self._add(code, Result.CONTRADICTED, evidence, native_code, None)

    def note_not_tried(self, code: str, why: str, native_code: str = "") -> None:
        """It could not be tried."""
        self._add(code, Result.NOT_TRIED, why, native_code, None)

    def note_failure(self, code: str, error: HotplaceError) -> None:
        """It was tried and the engine refused.

        Raises:
            CannotConnect, OutcomeUnknown: the error itself, where the connection is lost: that says nothing of a claim.
        """
        if isinstance(error, LOST):
            raise error
        self.note_contradiction(code, str(error), native_code_of(error))

    def result(self, code: str) -> Result:
        """What is known so far."""
        return self._found[code].result if code in self._found else Result.NOT_TRIED

    def all(self, ended: str = "") -> tuple[ClaimFinding, ...]:
        """One finding for each claim, in the order of the claims.

        Args:
            ended: why the run ended before its end, for claims about which nothing was noted.
        """
        why = f"the run ended before: {ended}" if ended else "nothing was there to try it on"
        return tuple(
            self._found.get(code, ClaimFinding(claim=claim, result=Result.NOT_TRIED, evidence=why))
            for code, claim in self._claims.items()
        )

    def _add(self, code: str, result: Result, evidence: str, native_code: str, seconds: float | None) -> None:
        if code in self._left_out:
            return
        claim, known = self._claims[code], self._found.get(code)
        if known is not None and _WEIGHT[known.result] > _WEIGHT[result]:
            return
        if known is not None and known.result is result and result is not Result.SEEN:
            return  # the first contradiction is the one to look at
        self._found[code] = ClaimFinding(
            claim=claim, result=result, evidence=evidence, native_code=native_code, seconds=seconds
        )


_WEIGHT = {Result.NOT_TRIED: 0, Result.SEEN: 1, Result.CONTRADICTED: 2}


def native_code_of(error: BaseException) -> str:
    """The engine's own code of an error, "" where it has none."""
    return error.native_code if isinstance(error, ConnectorError) else ""


TITLES = {
    "query": "Queries: the server has every column and function that they name",
    "answer": "What the connector is asked in every run",
    "units": "Cases, and the units that the catalog lists for them",
    "counter": "What counters mean",
    "reads": "Blocks read of an object, next to what the session that read them counted",
    "wait": "Time waited for an object, next to what the session that waited counted",
    "move": "Moves: each unit there and back, by every way there is",
    "kept": "Structure, rows, privileges, statistics and validity: as before after each move",
    "online": "Other sessions while it moves",
    "lock": "The strongest lock of each way",
    "pitfall": "Pitfalls",
    "clean": "Afterwards",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofPage:
    """What a run found, and on what."""

    title: str  # of the engine
    engine: str
    version: str
    server: str  # "real" or "emulated": what the person who ran it says of it
    made_at: datetime  # UTC, whole seconds
    digest: str  # of the script
    seconds: float
    findings: tuple[ClaimFinding, ...]
    note: str = ""  # what a reader has to know of this run
    ended: str = ""  # why the run ended before its end


def count(findings: Iterable[ClaimFinding]) -> dict[str, int]:
    """How many claims had each result."""
    found = list(findings)
    return {str(result): sum(each.result is result for each in found) for result in Result}


def claims_tried(page: ProofPage) -> ClaimsTried:
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


def _claim_tried(finding: ClaimFinding) -> ClaimTried:
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
