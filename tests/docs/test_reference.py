"""The reference pages are what the code says, and each entry has a sentence by hand."""

from __future__ import annotations

import doctest
import re
from collections import Counter
from types import ModuleType

import pytest

from agent.config.models import Config
from connectors.kit.registry import engine_names, find_engine
from tests.docs import site
from tests.docs.reference import blocks, keys
from tests.docs.reference.blocks import BLOCK, PAGES, UnknownBlock, fill, names_in
from tests.docs.reference.everything import all_blocks
from tests.docs.reference.schemas import FOLDER, schema_files
from tests.docs.text import WRITTEN
from tests.over import over

EXPLAINED = ("verdict", "state", "alert", "exit code")  # that need a sentence on what they mean for a person


@pytest.fixture(scope="module")
def parts() -> dict[str, str]:
    """Markdown of each part, made where it is asked for: each worker imports this file."""
    return all_blocks()


@over("name", [name for name in WRITTEN if names_in(WRITTEN[name])])
def test_a_page_is_what_the_code_says(parts: dict[str, str], name: str) -> None:
    """`make docs-write` would change nothing."""
    assert fill(WRITTEN[name], parts) == WRITTEN[name], "run `make docs-write` and commit what it writes"


def test_every_schema_is_published() -> None:
    """`make docs-write` would write none of the files again, and remove none."""
    assert {path: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.json")} == schema_files()


def test_every_part_stands_on_one_page(parts: dict[str, str]) -> None:
    """What the code has is documented, and documented once; a part that the code does not have is refused."""
    assert Counter(name for text in WRITTEN.values() for name in names_in(text)) == Counter(list(parts))
    with pytest.raises(UnknownBlock):
        fill("<!-- generated: verdict invented -->\n<!-- end -->\n", parts)


def sections_by_hand() -> list[tuple[str, str]]:
    """Name of each part that needs an explanation, and what stands behind it."""
    return [
        (name, re.split(r"^#|^<!--", text[found.end() :], maxsplit=1, flags=re.MULTILINE)[0].strip())
        for text in WRITTEN.values()
        for found in BLOCK.finditer(text)
        if (name := found["name"]).startswith(EXPLAINED) and name != "exit codes"
    ]


@over(("name", "text"), sections_by_hand())
def test_each_entry_is_explained(name: str, text: str) -> None:
    """Below each verdict, state and exit code stands what it means; below each alert a runbook of steps."""
    assert len(text) > 20
    if name.startswith("alert"):
        assert text.startswith("1. ")


def test_every_key_has_a_meaning(parts: dict[str, str]) -> None:
    """No key of the configuration is listed without a word about it, and without when to change it."""
    made = [part for name, part in parts.items() if name.startswith(("keys", "connection"))]
    rows = [row for part in made for row in part.splitlines() if row.startswith("| `")]
    assert len(rows) > 150
    assert not [row for row in rows if not all(cell.strip() for cell in row.split(" | ")[3:])]


def test_what_is_said_in_place_of_the_sample_is_of_a_key_that_there_is() -> None:
    """A meaning whose key went goes with it."""
    asked = {(path or "the file itself", key) for path, model in keys.sections(Config) for key in keys.keys_of(model)}
    for engine in engine_names():
        asked |= {(f"{engine}.connection", key) for key in keys.keys_of(find_engine(engine).settings)}
    assert {(section, key) for section, said in keys.MEANING.items() for key in said} <= asked


def test_when_to_change_a_key_is_one_sentence_of_a_key_that_there_is() -> None:
    """What is shared by several engines is said once; what is said of a key that went, goes with it."""
    asked = [(path or "the file itself", key) for path, model in keys.sections(Config) for key in keys.keys_of(model)]
    for engine in engine_names():
        asked += [(f"{engine}.connection", key) for key in keys.keys_of(find_engine(engine).settings)]
    own = {(section, key) for section, said in keys.WHEN.items() if section != "connection" for key in said}
    assert own <= set(asked)
    shared = Counter(key for section, key in asked if section.endswith(".connection") and (section, key) not in own)
    assert set(shared) == set(keys.WHEN["connection"])
    sentences = [sentence for said in keys.WHEN.values() for sentence in said.values()]
    assert not [each for each in sentences if not re.fullmatch(r"[A-Z`].{10,}[^.]\.", each)]
    assert not [each for each in sentences if re.search(r"\. [A-Z]", each)]


def test_descriptions_of_a_sample_are_found_by_their_path() -> None:
    """Nested keys, keys that are commented out, alternatives and remarks that go on in the next line."""
    text = (
        "a:   # first\n  b: 1   # second\n  # c:   # third\n  #   b: 2   # fourth\nb: x   # fifth\n"
        "            # goes on\n# b: y   # sixth\n"
    )
    assert keys.described(text) == {
        "a": "first", "a.b": "second", "a.c": "third", "a.c.b": "fourth", "b": "fifth goes on; `y`: sixth",
    }  # fmt: skip


@pytest.mark.parametrize("module", [blocks, site], ids=lambda module: module.__name__)
def test_examples_of_the_generator(module: ModuleType) -> None:
    """Examples in its docstrings are true."""
    tried = doctest.testmod(module)
    assert tried.attempted
    assert not tried.failed


def test_pages_are_where_the_site_looks() -> None:
    """The generator and mkdocs speak of one folder."""
    assert PAGES == site.ROOT / site.PAGES
