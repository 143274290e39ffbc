"""The site builds strictly, needs no network, and links in Markdown files lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.site import BROUGHT_IN, ELSEWHERE, LINK, links_of_the_site
from tests.docs.text import ROOT, WRITTEN
from tests.over import over
from tests.report.browser import Page
from tests.report.conftest import page

__all__ = ["page"]
MARKDOWN = sorted({*WRITTEN, *BROUGHT_IN, "tests/bench/lab/README.md"})
FETCHED = re.compile(r"""<(?:script|img|iframe)[^>]+src=["']?(?:https?:)?//|<link[^>]+href=["']?(?:https?:)?//""")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole site, built as `make docs` builds it."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", "docs/mkdocs.yml", "--site-dir"]
    ended = subprocess.run([*command, str(folder)], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stderr
    return folder


def test_the_site_has_every_page(built: Path) -> None:
    """Pages of docs/pages and those that are brought in, with what they say."""
    pages = {str(path.relative_to(built)) for path in built.rglob("*.html")}
    expected = {name.removeprefix("docs/pages/") for name in WRITTEN if name.startswith("docs/pages/")}
    assert {name.removesuffix(".md") + ".html" for name in (*expected, *BROUGHT_IN.values())} <= pages
    assert "HotplaceMoveFailed" in (built / "reference/alerts.html").read_text(encoding="utf-8")


def test_the_site_fetches_nothing(built: Path) -> None:
    """Whoever reads it tells no other server: scripts, fonts, styles and pictures are its own."""
    for path in (*built.rglob("*.html"), *built.rglob("*.css")):
        text = path.read_text(encoding="utf-8")
        assert not FETCHED.search(text), path
        assert not re.search(r"url\([\"']?(?:https?:)?//|@import", text), path


def test_the_index_is_whole_on_a_phone(built: Path, page: Page) -> None:
    """Each of its links is within the screen."""
    page.resize(360)
    page.emulate()
    page.open(built / "index.html")
    ends = page.run("[...document.querySelectorAll('.section table a')].map(a => a.getBoundingClientRect().right)")
    assert len(ends) > 10
    assert max(ends) <= 360


@over("name", MARKDOWN)
def test_links_lead_to_files(name: str) -> None:
    """A relative link in a Markdown file names a file or folder of the repository."""
    text = (ROOT / name).read_text(encoding="utf-8")
    targets = [target.partition("#")[0] for _, target in LINK.findall(text) if not ELSEWHERE.match(target)]
    assert not [target for target in targets if not ((ROOT / name).parent / target).exists()]


def test_a_dead_link_is_left_for_mkdocs_to_report() -> None:
    """A link to nothing is not hidden as plain text."""
    assert links_of_the_site("[x](../../no/such.py)", "index.md") == "[x](../../no/such.py)"
