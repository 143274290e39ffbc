"""Every alert rule that is shipped, with its expression and what it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

RULES = Path(__file__).resolve().parents[3] / "deploy" / "prometheus" / "hotplace.rules.yml"


def every_alert() -> list[dict[str, Any]]:
    """The rules in the order of their file."""
    document = yaml.safe_load(RULES.read_text(encoding="utf-8"))
    return [rule for group in document["groups"] for rule in group["rules"] if "alert" in rule]


def blocks() -> dict[str, str]:
    """One part for each alert."""
    return {f"alert {rule['alert']}": _alert(rule) for rule in every_alert()}


def _alert(rule: dict[str, Any]) -> str:
    lasts = f", after {rule['for']}" if "for" in rule else ""
    expression = "\n".join(f"    {line}" for line in rule["expr"].strip().splitlines())
    notes = rule["annotations"]
    return (
        f"## {rule['alert']}\n\nSeverity {rule['labels']['severity']}{lasts}. "
        f"It says: *{_plain(notes['summary'])}* {_plain(notes['description'])}\n\n{expression}"
    )


def _plain(text: str) -> str:
    """Text of an annotation; its templates are shown as code."""
    return " ".join(text.replace("{{", "`{{").replace("}}", "}}`").split())
