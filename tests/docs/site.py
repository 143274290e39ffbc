"""Hooks of mkdocs: pages that live elsewhere in the repository are brought in, and links work on the site too.

Pages link to other files of the repository by relative paths, which is what a code host and an editor follow. On the
site such a link leads to the page of that file, if it has one; a link to a source file becomes plain text. A link to
nothing stays as it is, and ``mkdocs build --strict`` reports it.
"""

from __future__ import annotations

import os.path
import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
PAGES = PurePosixPath("docs/pages")
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))
BROUGHT_IN = {  # file of the repository -> page of the site
    "docs/CONTRIBUTING.md": "project/contributing.md",
    "ARCHITECTURE.md": "project/architecture.md",
    "CHANGELOG.md": "project/changelog.md",
    "tests/bench/RESULTS.md": "project/results.md",
    "connectors/db2/README.md": "engines/db2.md",
    "connectors/sqlserver/README.md": "engines/sqlserver.md",
    "connectors/oracle/README.md": "engines/oracle.md",
    "docs/decisions/README.md": "project/decisions/index.md",
    **{f"docs/decisions/{path.name}": f"project/decisions/{path.name}" for path in DECISIONS},
}
FILE_OF_PAGE = {page: file for file, page in BROUGHT_IN.items()}
LINK = re.compile(r"\[([^\]\n]+)\]\(([^)\s\[]+)\)")
ELSEWHERE = re.compile(r"^([a-z]+:|#|/)")  # another site, this page, an absolute path (which mkdocs reports)


class _Page(Protocol):
    """What is needed of mkdocs' page."""

    file: File


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that live elsewhere in the repository."""
    from mkdocs.structure.files import File  # only a build needs it: links are checked without mkdocs too

    for source, page in BROUGHT_IN.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, page: _Page, config: MkDocsConfig, files: Files) -> str:  # by name
    """Make the links of one page lead to pages of the site."""
    return links_of_the_site(markdown, page.file.src_uri)


def links_of_the_site(markdown: str, page: str) -> str:
    """The text of a page with every link to a file of the repository as a link to its page, or as plain text.

    >>> links_of_the_site("[a](../../ARCHITECTURE.md#the-promises), [b](../../agent/__init__.py), [c](no.md)", "x.md")
    '[a](project/architecture.md#the-promises), b, [c](no.md)'
    """
    return LINK.sub(lambda match: _link(match[1], match[2], page), markdown)


def _link(label: str, target: str, page: str) -> str:
    if ELSEWHERE.match(target):
        return f"[{label}]({target})"
    path, mark, anchor = target.partition("#")
    here = PurePosixPath(FILE_OF_PAGE.get(page, str(PAGES / page))).parent
    file = os.path.normpath(here / path)
    found = page_of(file)
    if found is not None:
        return f"[{label}]({os.path.relpath(found, PurePosixPath(page).parent)}{mark}{anchor})"
    return label if (ROOT / file).exists() else f"[{label}]({target})"


def page_of(file: str) -> str | None:
    """The page of the site that shows a file of the repository; None if there is none."""
    if file in BROUGHT_IN:
        return BROUGHT_IN[file]
    path = PurePosixPath(file)
    inside = path.is_relative_to(PAGES) and path.suffix == ".md" and (ROOT / path).exists()
    return str(path.relative_to(PAGES)) if inside else None
