"""Small configurations to spoil: the simulated engine needs no server."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from agent.config.errors import ConfigError, Problem
from agent.config.files import parse
from agent.config.models import Config

GOOD = """\
ledger: {path: ledger.db}
databases:
  - name: shop
    engine: simulated
    connection: {scenario: oltp}
    tiers:
      - name: ssd
        spaces: [ssd]
      - name: hdd
        spaces: [hdd]
"""


def values(text: str = GOOD) -> Any:
    """The good configuration as plain values, fresh at each call."""
    return yaml.safe_load(text)


def written(plain: object) -> str:
    """Plain values as YAML, in their own order."""
    return yaml.safe_dump(plain, sort_keys=False, allow_unicode=True)


def problems(text: str) -> tuple[Problem, ...]:
    """The mistakes of a text that must not load."""
    with pytest.raises(ConfigError) as refusal:
        parse(text)
    return refusal.value.problems


def by_path(text: str) -> dict[str, str]:
    """Messages of a text that must not load, by path."""
    return {problem.path: problem.message for problem in problems(text)}


def loaded(text: str = GOOD) -> Config:
    """A text that must load."""
    return parse(text)
