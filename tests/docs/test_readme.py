"""README.md is short, and the benchmarks and files that pages name exist."""

from __future__ import annotations

import re

import pytest

from tests.bench.__main__ import MODULES
from tests.docs.text import ROOT, WRITTEN
from tests.over import over

TWO_SCREENS = 110  # lines
CALLED = re.compile(r"python -m tests\.bench(?:\.| )(?!NAME)([a-z_.]+)|\| `((?:lab|policy)[._][a-z_]+)` \|")
NAMED = re.compile(r"(?<![\w/.-])(?:agent|policies|connectors|deploy|docs|tests)/[\w./-]*\w")  # as one types it


def test_the_readme_fits_on_two_screens() -> None:
    """A newcomer reads it to the end; what does not fit belongs to docs/."""
    assert WRITTEN["README.md"].count("\n") <= TWO_SCREENS


@pytest.mark.parametrize("name", ["README.md", "docs/pages/measured.md"])
def test_benchmarks_exist(name: str) -> None:
    """Each figure names a benchmark that can be run."""
    named = {dotted or column for dotted, column in CALLED.findall(WRITTEN[name])}
    assert len(named) >= 5
    assert {bench.rstrip(".") for bench in named} <= {*MODULES}


@over("name", WRITTEN)
def test_files_exist(name: str) -> None:
    """A file or folder that a page names is there, wherever it has moved."""
    named = [path.replace("ENGINE", "postgresql") for path in NAMED.findall(WRITTEN[name]) if "NAME" not in path]
    assert not [path for path in named if not (ROOT / path).exists()]
