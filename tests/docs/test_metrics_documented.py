"""The reference has every metric, and no page names a metric, verdict or key that does not exist."""

from __future__ import annotations

import re

from agent.config.models import Config
from connectors.kit.registry import engine_names, find_engine
from policies.model.plan import Verdict
from tests.docs.reference.keys import keys_of, sections
from tests.docs.reference.metrics import every_metric
from tests.docs.text import WRITTEN, page
from tests.over import over

# Accounts of databases, which are no metrics.
LOGINS = {f"hotplace_{each}" for each in ("move", "owner", "reader", "approver", "agent")}
EXPORTED = {name for name, *_ in every_metric()}
KEYS = {path.removeprefix("databases."): {*keys_of(model)} for path, model in sections(Config)}
KEYS["connection"] = {key for engine in engine_names() for key in keys_of(find_engine(engine).settings)}


def test_every_metric_is_documented() -> None:
    """Each family has its row in the table."""
    assert len(EXPORTED) > 25
    assert not {name for name in EXPORTED if f"\n| `{name}` |" not in page("reference/metrics.md")}


@over("name", WRITTEN)
def test_no_other_metric_is_promised(name: str) -> None:
    """What a page calls a metric exists."""
    assert set(re.findall(r"`(hotplace_[a-z_]+)`", WRITTEN[name])) - LOGINS <= EXPORTED


@over("name", WRITTEN)
def test_no_other_key_is_promised(name: str) -> None:
    """What a page names with its section is a key of that section."""
    named = re.findall(r"`(policy|metrics|ledger|log|connection)\.([a-z_]+)", WRITTEN[name])
    assert not {(section, key) for section, key in named if key not in KEYS[section]}


def test_no_other_verdict_is_promised() -> None:
    """A filter by verdict that a page shows is one that there is."""
    shown = {word for text in WRITTEN.values() for word in re.findall(r"--verdict ([a-z_]+)", text)}
    assert shown
    assert shown <= {verdict.code for verdict in Verdict}
