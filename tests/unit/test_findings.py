"""Findings and capabilities: each constructor sets what its name says and nothing else."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from connectors.kit.findings import ASK, Capability, Finding, Remedy, RemedyKind, Severity, explained

ROOT = Path(__file__).parents[2]


def test_a_finding_that_is_well_has_no_remedy() -> None:
    """An ok finding carries code, sentence and values."""
    found = Finding.ok("space", "the space is there", about_moving=True, values={"space": "fast"})
    assert found == Finding(
        severity=Severity.OK, code="space", sentence="the space is there", about_moving=True, values={"space": "fast"}
    )


@pytest.mark.parametrize(
    ("build", "severity"),
    [
        (Finding.info, Severity.INFO),
        (Finding.warning, Severity.WARNING),
        (Finding.error, Severity.ERROR),
    ],
)
def test_each_constructor_sets_its_severity(build: Callable[..., Finding], severity: Severity) -> None:
    """Info, warning and error differ in severity alone and keep the remedy."""
    found = build("timing_off", "timing is off", "Switch it on.", values={"space": "fast"})
    assert found == Finding(
        severity=severity, code="timing_off", sentence="timing is off", remedy="Switch it on.", values={"space": "fast"}
    )


@pytest.mark.parametrize(
    ("available", "because", "advice"), [(True, "there is a log", ""), (False, "it lacks a log", "Make one.")]
)
def test_a_capability_gives_advice_only_where_it_is_missing(available: bool, because: str, advice: str) -> None:
    """The reason follows from what is there; advice is left out where it is."""
    found = Capability.of("moves", available, "a log", "Make one.")
    assert found == Capability(name="moves", available=available, because=because, advice=advice)


@pytest.mark.parametrize(
    "text",
    [
        "ALTER ROLE hotplace SUPERUSER;", "GRANT DBA TO HOTPLACE;", "ALTER SERVER ROLE sysadmin ADD MEMBER [hotplace];",
        "GRANT CONTROL SERVER TO [hotplace];", "GRANT DBADM ON DATABASE TO USER HOTPLACE", "GRANT SYSDBA TO HOTPLACE;",
        "GRANT GRANT ANY PRIVILEGE TO HOTPLACE;", "GRANT GRANT ANY ROLE TO HOTPLACE;",
        "ALTER ROLE hotplace REPLICATION;",
        "GRANT pg_execute_server_program TO hotplace;", "GRANT SELECT ON t TO x WITH GRANT OPTION;",
        "Run it as a superuser.", "GRANT ALL PRIVILEGES TO HOTPLACE;",
    ],
)  # fmt: skip
def test_what_hands_over_the_server_is_never_printed(text: str) -> None:
    """Whatever it says it gives, and wherever it comes from: the words of a server too."""
    for remedy in (Remedy(text), Remedy(text, "nothing at all"), Finding.error("a", "b", text).mends):
        assert (remedy.kind, str(remedy), remedy.gives) == (RemedyKind.NEVER, ASK, "")
    assert Capability.of("moves", False, "a log", text).advice == ASK


def test_a_grant_always_says_what_it_gives_away() -> None:
    """As its author says it, or that it gives what it names; what is no grant is harmless."""
    grant = Remedy("GRANT SELECT ON v TO x;", "what v shows")
    assert (grant.kind, grant.gives) == (RemedyKind.WIDENS, "what v shows")
    assert explained(grant) == "GRANT SELECT ON v TO x;\n  this gives away: what v shows"
    unsaid = Finding.warning("a", "b", "GRANT SELECT ON v TO x;").mends
    assert (unsaid.kind, unsaid.gives) == (RemedyKind.WIDENS, "the right that it names")
    assert Finding.warning("a", "b", grant).mends is grant
    harmless = Finding.info("a", "b", "Switch it on.").mends
    assert (harmless.kind, harmless.gives, explained(harmless)) == (RemedyKind.HARMLESS, "", "Switch it on.")
    assert explained("plain words") == "plain words"


SOURCES = [path for room in ("agent", "connectors") for path in (ROOT / room).rglob("*.py")]
MAY_GRANT = frozenset({"Remedy", "system_remedy"})


def literals(node: ast.AST, *, within: str = "") -> Iterator[tuple[str, str]]:
    """Every text of a program, and the innermost function of ``MAY_GRANT`` that it is an argument of; "" for none."""
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        within = name if name in MAY_GRANT else within
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value, within
    for child in ast.iter_child_nodes(node):
        yield from literals(child, within=within)


STATEMENT = re.compile(r"GRANT (?:[A-Z]{3,}|pg_)\S*|ADD MEMBER|OWNER TO ")
# Parts of texts that become a remedy elsewhere, or of statements that a move sends; each with why it is none itself.
KNOWN = {
    "connectors/db2/doctor.py": "f-strings that are joined into one remedy, with what each gives",
    "connectors/db2/errors.py": "templates of _grant, and a word of advice without a statement",
    "connectors/db2/sessions.py": "joined into one remedy",
    "connectors/db2/plan_only/new_space.py": "a comment in a script that a person runs",
    "connectors/db2/setting_up.py": "of schemas that the person names, in the script that an administrator runs",
    "connectors/sqlserver/file_moves.py": "why a route is refused; doctor has the remedy",
    "agent/service/shipped_files.py": "reads scripts, to take back what they give",
    "connectors/db2/sampler.py": "put into a remedy in the next line",
    "connectors/oracle/doctor.py": "joined into one remedy",
    "connectors/postgresql/close.py": "to the owner that the whole table has already",
    "connectors/postgresql/new_space.py": "of the new space alone, in the script of a superuser",
    "connectors/postgresql/split_statements.py": "statements of a split, which carry over what was granted",
    "connectors/postgresql/rights.py": "names the statement, and no role",
    "agent/ledger/server/roles.py": "ledger_doctor says what it gives",
}


def test_every_grant_in_the_source_is_a_remedy() -> None:
    """Each text of agent and connectors with a statement that gives a right is written where its price is said."""
    found = {
        str(path.relative_to(ROOT))
        for path in SOURCES
        for text, within in literals(ast.parse(path.read_text(encoding="utf-8")))
        if STATEMENT.search(text) and not within
    }
    assert found - KNOWN.keys() == set()
    assert KNOWN.keys() - found == set(), "no longer needed here"
