"""``hotplace lab prove`` as a command: what it lists, and what it refuses before it connects."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from agent.cli.lab import tell
from agent.cli.session import Options, Session
from agent.studies.prove.claims import ClaimFindings, ProofPage, every_claim, markdown_of
from agent.terminal.errors import ExitCode
from connectors.kit.registry import find_engine
from tests.cli.site import Site
from tests.docs.reference.claims import read_page

ARGUMENTS = ("lab", "prove", "--engine", "postgresql", "--schema", "scratch", "--slow", "slow", "--fast", "fast")
DATABASE = {
    "name": "real",
    "engine": "postgresql",
    "connection": {"host": "/nowhere", "dbname": "x", "user": "x"},
    "tiers": [{"name": "ssd", "spaces": ["fast"]}, {"name": "hdd", "spaces": ["slow"]}],
}


@pytest.fixture
def far(tmp_path: Path) -> Site:
    """A site whose PostgreSQL does not answer."""
    return Site(tmp_path, DATABASE)


def test_a_dry_run_lists_and_connects_to_nothing(far: Site) -> None:
    """Every statement with what it is for, and the digest over them."""
    far.values["dry_run"] = True
    far.write()
    done = far.good(*ARGUMENTS, "--json").document
    statements = [each["sql"] for each in done["statements"]]
    assert any(sql.startswith("CREATE TABLE scratch.heap (") for sql in statements)
    assert any("DROP TABLE IF EXISTS scratch.heap" in sql for sql in statements)
    assert len(statements) == len(set(map(json.dumps, done["statements"])))
    assert done["digest"][:12] in far.good(*ARGUMENTS).out


def test_names_are_under_the_digest(far: Site) -> None:
    """Another space is another list."""
    far.values["dry_run"] = True
    far.write()
    one = far.good(*ARGUMENTS, "--json").document["digest"]
    other = far.good(*ARGUMENTS[:-1], "other", "--json").document["digest"]
    assert one != other


def test_what_is_refused_before_connecting(far: Site) -> None:
    """Another engine, another digest, and no terminal to ask on."""
    far.values["dry_run"] = False
    far.write()
    assert far.run("lab", "prove", "--engine", "db2", *ARGUMENTS[4:]).code == ExitCode.USAGE
    assert far.run(*ARGUMENTS, "--yes", "--digest", "0" * 12).code == ExitCode.REFUSED
    assert far.run(*ARGUMENTS).code == ExitCode.REFUSED
    assert far.run(*ARGUMENTS, "--yes").code == ExitCode.CANNOT_CONNECT


def test_an_engine_without_cases_is_refused(site: Site) -> None:
    """It says so, and connects to nothing."""
    done = site.run("lab", "prove", "--engine", "simulated", *ARGUMENTS[4:])
    assert done.code == ExitCode.USAGE
    assert "no cases to prove simulated by" in done.err


def page(*contradicted: str) -> ProofPage:
    """A page on which those claims are contradicted and nothing else was tried."""
    proof = find_engine("postgresql").proof
    assert proof is not None
    findings = ClaimFindings(every_claim(proof))
    for code in contradicted:
        findings.note_contradiction(code, "a | b <c> was `d`", "42P01")
    values: dict[str, Any] = {"title": "PostgreSQL", "engine": "postgresql", "version": "18.4", "server": "real"}
    return ProofPage(
        **values, made_at=datetime(2026, 1, 1, tzinfo=UTC), digest="d" * 64, seconds=1.0, findings=findings.all()
    )


@pytest.mark.parametrize("suffix", ["md", "json"])
def test_a_page_is_plain(tmp_path: Path, suffix: str) -> None:
    """It names the native error and holds no markup of what was seen."""
    file = tmp_path / f"page.{suffix}"
    with Session(Options(as_json=True)) as session:
        tell(session, page("query units", "clean"), file)
    text = file.read_text(encoding="utf-8")
    shown = markdown_of(read_page(file)) if suffix == "json" else text
    assert "| units | **contradicted** | a \\| b \\<c\\> was \\`d\\` (42P01) |" in shown
    assert "2 contradicted" in shown
