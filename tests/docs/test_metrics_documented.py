"""README.md names every metric, and no metric that does not exist."""

from __future__ import annotations

import re
from pathlib import Path

from agent.service.metrics import AgentCollector
from agent.service.snapshot import Snapshot

README = Path(__file__).parents[2].joinpath("README.md").read_text(encoding="utf-8")


def exported() -> set[str]:
    """Names as Prometheus sees them."""
    families = AgentCollector(lambda: [Snapshot(database="d", engine="e")], top_units=1).collect()
    return {f"{family.name}_total" if family.type == "counter" else family.name for family in families}


def test_every_metric_is_documented() -> None:
    """Each family has its place in the README's table."""
    assert not {name for name in exported() if f"`{name}`" not in README}


def test_no_other_metric_is_promised() -> None:
    """What the README calls a metric exists."""
    assert set(re.findall(r"`(hotplace_[a-z_]+)`", README)) <= exported()
