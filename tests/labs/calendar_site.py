"""An agent at level auto over one database, and a person who signs rules over templates."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from agent.config.files import load
from agent.ledger.chain.signed import ApprovalRule
from agent.ledger.ledger import Ledger
from agent.ledger.rows import HistorySettings, MoveRow
from agent.model.approvals import LockClass, StandingRule
from agent.model.clock import SystemClock
from agent.model.proposals import purpose_of_template
from agent.model.signed_documents import RULE_NAMESPACE
from agent.service.jobs import Jobs
from agent.service.watch import Watch
from connectors.kit.contract import Connector, FillsTemplates
from connectors.kit.templates import StatementTemplate, TemplateKind
from tests.cli.site import Finished, command_line, run_here, start_program
from tests.keys import Person

DAY = 86400
TODAY = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
LIMITS = ("--at-most", "1GB", "--stall", "1min", "--a-day", "3", "--until", "365d")


def day(days: int, form: str = "%Y-%m-%d") -> str:
    """A day from today on."""
    return (TODAY + timedelta(days=days)).strftime(form)


def a_template(connector: Connector, kind: TemplateKind, table: str, space: str, days: int) -> StatementTemplate:
    """Which the connector makes."""
    assert isinstance(connector, FillsTemplates)
    found = connector.template(kind, table, space, days * DAY)
    assert isinstance(found, StatementTemplate), found
    return found


class Site:
    """The agent and the person."""

    def __init__(self, folder: Path, database: Mapping[str, Any]) -> None:
        """``database``: engine, connection and tiers, as in the configuration."""
        self.anna, self.clock = Person.new(folder, "anna"), SystemClock()
        signers = folder / "allowed_signers"
        signers.write_text(self.anna.line)
        self.path = folder / "hotplace.yaml"
        common = {
            "dry_run": False, "level": "auto", "approval": "signed", "allowed_signers": str(signers),
            "ledger": {"path": "ledger.db"},
        }  # fmt: skip
        self.path.write_text(yaml.safe_dump({**common, "databases": [{"name": "real", **database}]}))

    @contextmanager
    def agent(self) -> Iterator[tuple[Watch, Ledger, Jobs]]:
        """One agent's life."""
        config, clock = load(self.path), self.clock
        rule = ApprovalRule.of(config.allowed_signers, config.approvals, automatic=config.automatic)
        with Ledger.open(self.path.parent / "ledger.db", clock, rule=rule) as ledger:
            watch = Watch(config.database(), ledger, clock, level=config.level, dry_run=config.dry_run)
            try:
                yield watch, ledger, Jobs(ledger, clock, HistorySettings())
            finally:
                watch.close(save=False)

    def sign(self, watch: Watch, ledger: Ledger, template: StatementTemplate, most_a_day: int) -> int:
        """Open a rule over a template."""
        rule = StandingRule(
            database="real", fingerprint=watch.identity.fingerprint, mode=purpose_of_template(template),
            units=("*",), most_bytes=1 << 30, locks=LockClass.ANY, most_stall_seconds=60.0,
            least_gain_per_hour=0.0, most_a_day=most_a_day, expires_at=self.clock.now() + timedelta(days=365),
            template=template,
        )  # fmt: skip
        number = ledger.rules.propose(rule, who="carl", origin="test")
        text = ledger.rules.document(number).text
        ledger.rules.open(number, origin="test", signature=self.anna.sign(text, RULE_NAMESPACE))
        return number

    def hotplace(self, *arguments: str) -> Finished:
        """A command over this configuration."""
        return run_here("--config", str(self.path), *arguments)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """A command in a process of its own."""
        return start_program(self.path.parent, *command_line(self.path, *arguments))

    def open_by_commands(self, folder: Path, *arguments: str) -> str:
        """``rules propose --table`` with that table and options, printed, signed and opened; what was printed."""
        made = self.hotplace("rules", "propose", *LIMITS, "--table", *arguments, "--json")
        assert made.code == 0, made.err
        number = str(made.document["rule"])
        printed = self.hotplace("rules", "open", number).out
        signature = folder / "rule.sig"
        signature.write_text(self.anna.sign(printed, RULE_NAMESPACE))
        assert "is open until" in self.hotplace("rules", "open", number, "--signature", str(signature)).out
        return printed


def act(watch: Watch, jobs: Jobs) -> list[MoveRow]:
    """What the daemon does in its turns."""
    watch.sample()
    watch.sample()
    jobs.plan(watch)
    return list(watch.act())
