"""What is known of each engine's claims, and how: from the page of ``hotplace lab prove`` that is checked in.

``docs/pages/proof/ENGINE.json`` is that page as the command wrote it (``--output ENGINE.json``). The Markdown next to
it and the tables of the engines' pages are made from it.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter

from agent.model.answers.setup import ClaimsTried
from agent.studies.prove.claims import Claim, Result, every_claim, markdown_of
from connectors.kit.registry import engine_names, find_engine
from tests.docs.reference.blocks import PAGES, table

PROOFS = PAGES / "proof"
DOCUMENTED = "documented only"


def read_pages() -> dict[str, ClaimsTried]:
    """Page of each engine that has one."""
    return {path.stem: read_page(path) for path in sorted(PROOFS.glob("*.json"))}


def read_page(file: Path) -> ClaimsTried:
    """A page as ``hotplace lab prove --output`` wrote it."""
    return TypeAdapter(ClaimsTried).validate_json(file.read_bytes())


def blocks() -> dict[str, str]:
    """For each engine with cases the table of its claims, and its page where one is checked in."""
    pages = read_pages()
    proofs = {name: proof for name in engine_names() if (proof := find_engine(name).proof) is not None}
    tables = {f"claims {name}": claims_table(every_claim(proof), pages.get(name)) for name, proof in proofs.items()}
    return {**tables, **{f"proof {name}": markdown_of(page) for name, page in pages.items()}}


def claims_table(claims: tuple[Claim, ...], page: ClaimsTried | None) -> str:
    """Each claim and how it is known. A claim that is not on the page is documented only."""
    found = {} if page is None else {claim.code: claim.result for claim in page.claims}
    server = "" if page is None else page.server
    return table(
        ("claim", "known"), [(words(claim), how_known(found.get(claim.code), server)) for claim in claims]
    )  # fmt: skip


def words(claim: Claim) -> str:
    """Sort and name of a claim, with its sentence where the name does not say it."""
    named = f"{claim.sort} {claim.name}".strip()
    return named if claim.sort in ("query", "units", "move", "kept") else f"{named}: {claim.sentence}"


def how_known(result: str | None, server: str) -> str:
    """How a claim is known, by what the page says of it.

    >>> how_known("seen", "emulated"), how_known("not tried", "real"), how_known("contradicted", "real")
    ('emulated', 'documented only', '**contradicted** (real)')
    """
    match result:
        case Result.SEEN:
            return server
        case Result.CONTRADICTED:
            return f"**contradicted** ({server})"
        case _:
            return DOCUMENTED
