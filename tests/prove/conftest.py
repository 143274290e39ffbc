"""A scratch schema on a real PostgreSQL, a login that owns nothing else, and a proof in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from agent.config.models import DatabaseConfig
from agent.ledger.ledger import Ledger
from agent.model.clock import SystemClock
from agent.model.proposals import Proposal
from agent.studies.prove import moving
from agent.studies.prove.claims import ClaimFinding, ProofPage
from agent.studies.prove.run import Order, prove
from agent.studies.prove.script import Script, script_of
from connectors.kit.proving import Proof, Scratch
from connectors.kit.registry import find_engine
from tests.labs.postgresql import Cluster
from tests.prove.places import OWNER

SCRATCH = Scratch(schema="scratch", slow="slow", fast="fast")


@dataclass(slots=True)
class Place:
    """Where one proof runs. ``answers`` decide about script and proposals, in order; yes to what they do not reach."""

    cluster: Cluster
    dbname: str
    folder: Path
    dba: psycopg.Connection
    ledger: Ledger
    said: list[str] = field(default_factory=list)
    shown: list[Script | Proposal] = field(default_factory=list)
    answers: list[bool] = field(default_factory=list)
    pages: list[ProofPage] = field(default_factory=list)  # what was told of runs
    user: str = "prover"

    @property
    def values(self) -> dict[str, Any]:
        """The database as the configuration has it."""
        return {
            "name": "real",
            "engine": "postgresql",
            "connection": {"host": str(self.cluster.server.folder), "dbname": self.dbname, "user": self.user},
            "tiers": [
                {"name": "ssd", "spaces": [{"name": "fast", "capacity": "1 GiB"}]},
                {"name": "hdd", "spaces": [{"name": "slow", "capacity": "1 GiB"}]},
            ],
        }

    @property
    def proof(self) -> Proof:
        """Of the engine."""
        found = find_engine("postgresql").proof
        assert found is not None
        return found

    def script(self, *names: str) -> Script:
        """The script with the cases of those names alone."""
        script = script_of(self.proof, SCRATCH)
        return replace(script, cases=tuple(case for case in script.cases if case.name in names))

    def prove(self, script: Script, **other: Any) -> ProofPage | None:
        """Run it to its page."""
        order = Order(
            database=DatabaseConfig.model_validate(self.values), proof=self.proof, script=script, ledger=self.ledger,
            clock=SystemClock(), who="ann", origin="test", approve_script=self._decide,
            approve=lambda _number, proposal: self._decide(proposal), say=self.said.append,
            tell=self.pages.append,
        )  # fmt: skip
        return prove(replace(order, **other))

    def _decide(self, shown: Script | Proposal) -> bool:
        self.shown.append(shown)
        return self.answers.pop(0) if self.answers else True

    def relations(self) -> list[str]:
        """What the scratch schema holds."""
        rows = self.dba.execute("SELECT relname FROM pg_class WHERE relnamespace = 'scratch'::regnamespace ORDER BY 1")
        return [name for (name,) in rows]


@pytest.fixture
def place(cluster: Cluster, dbname: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A database with an empty scratch schema."""
    monkeypatch.setattr(moving, "HELD_SECONDS", 0.7)
    with cluster.session(dbname) as dba, Ledger.open(tmp_path / "ledger.db", SystemClock()) as ledger:
        dba.execute(OWNER)
        yield Place(cluster=cluster, dbname=dbname, folder=tmp_path, dba=dba, ledger=ledger)


@pytest.fixture
def finding() -> Callable[[ProofPage | None, str], ClaimFinding]:
    """The finding of a page by the code of its claim."""

    def find(page: ProofPage | None, code: str) -> ClaimFinding:
        assert page is not None
        return next(each for each in page.findings if each.claim.code == code)

    return find
