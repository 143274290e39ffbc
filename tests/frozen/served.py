"""What the daemon of a site serves over HTTP: metrics, documents, their description and the live page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, generate_latest

from agent.cli.run import ServedDocuments
from agent.config.files import load
from agent.config.models import Level
from agent.ledger.ledger import Ledger
from agent.pages.site import BY_NAME, OPENAPI, PREFIX, WebSite, schema_names
from agent.service.metrics import AgentCollector
from agent.service.snapshot import Snapshot
from agent.service.watch import Watch
from tests.cli.site import Site as Configured
from tests.frozen.rounding import DIGITS, written
from tests.virtual_clock import VirtualClock

TOP_UNITS = 5
ASKED = {  # of each endpoint
    "status": "", "top": "limit=3", "units": "database=shop&limit=4", "proposals": "database=shop",
    "show": "proposal=1&database=shop", "history": "database=shop&limit=5", "outcomes": "database=shop",
    "pins": "database=shop", "audit": "database=shop&limit=5",
}  # fmt: skip


def metrics_and_answers(site: Configured, clock: VirtualClock) -> tuple[dict[str, str], dict[str, str]]:
    """Metrics after a cycle, and every answer by its address: those that are kept whole, and the others."""
    assert ASKED.keys() == BY_NAME.keys()
    config = load(site.path)
    with Ledger.open(config.ledger.place, clock) as ledger, _watched(site, ledger, clock) as snapshot:
        documents = ServedDocuments(lambda: config, ledger, clock)
        pages = WebSite(documents, lambda: [snapshot], guarded=True, monotonic=clock.monotonic)
        targets = ["/", OPENAPI, *(f"{PREFIX}{name}?{query}" for name, query in ASKED.items())]
        targets += [f"{PREFIX}units", f"{PREFIX}status?limit=1", f"{PREFIX}schemas/error.json"]
        closed = WebSite(documents, lambda: [snapshot], guarded=False, monotonic=clock.monotonic)
        answers = {target: _answer(pages, target) for target in targets}
        answers |= {f"{target}, without a password": _answer(closed, target) for target in ("/", f"{PREFIX}status")}
        answers[f"{PREFIX}schemas"] = "\n".join(schema_names())
        answers |= {f"{OPENAPI} {path}": text for path, text in _described(answers[OPENAPI])}
        return {"/metrics": _metrics(snapshot, clock)}, answers


@contextmanager
def _watched(site: Configured, ledger: Ledger, clock: VirtualClock) -> Iterator[Snapshot]:
    """The busy database after two samples and a plan."""
    watch = Watch(load(site.path).database("shop"), ledger, clock, level=Level.PROPOSE, dry_run=False)
    try:
        watch.sample()
        clock.sleep(watch.database.sample_seconds)
        watch.sample()
        watch.plan()
        watch.count_proposals()
        yield watch.snapshot
    finally:
        watch.close()


def _metrics(snapshot: Snapshot, clock: VirtualClock) -> str:
    registry = CollectorRegistry()
    registry.register(AgentCollector(lambda: [snapshot], top_units=TOP_UNITS, now=clock.now))
    text = generate_latest(registry).decode()
    text = re.sub(r'version="[^"]*"', 'version="N"', text)
    return "".join(f"{line if line.startswith('#') else _short(line)}\n" for line in text.splitlines())


def _short(sample: str) -> str:
    name, _, value = sample.rpartition(" ")
    return f"{name} {float(value):.{DIGITS}g}"


def _answer(pages: WebSite, target: str) -> str:
    found = pages.answer(target)
    assert found is not None, target
    headers = "\n".join(f"{name}: {value}" for name, value in found.headers)
    body = found.body.decode()
    if found.content_type.startswith("application/json"):
        document = json.loads(body)
        if target == OPENAPI:
            document["info"]["version"] = "N"
        body = written(document)
    return f"{found.status.value} {found.content_type}\n{headers}\n\n{body}"


def _described(answer: str) -> Iterator[tuple[str, str]]:
    """Each path and each schema of the description by itself."""
    description = json.loads(answer.partition("\n\n")[2])
    yield from ((path, json.dumps(found)) for path, found in description["paths"].items())
    yield from ((name, json.dumps(found)) for name, found in description["components"].get("schemas", {}).items())
