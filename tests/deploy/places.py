"""Where the files are that these tests read, and the few that several of them read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
CONTAINERFILE = DEPLOY / "container" / "Containerfile"
KUBERNETES = DEPLOY / "kubernetes"


def rules() -> list[dict[str, Any]]:
    """Every alert."""
    text = (DEPLOY / "prometheus" / "hotplace.rules.yml").read_text(encoding="utf-8")
    return [rule for group in yaml.safe_load(text)["groups"] for rule in group["rules"]]
