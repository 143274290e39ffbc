"""No text of a stranger holds the agent up: what its expressions take grows with the text, not with its square."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest

from connectors.kit.setting_up import KINDS_OF_CHARACTERS
from tests.patterns.attacks import attacks
from tests.patterns.found import ROOT, Expression, expressions, strings_in
from tests.patterns.measuring import attack_on

PARTS = 8
MOST_ATTACKS = None if os.environ.get("HOTPLACE_ALL_EXAMPLES") else 75  # of up to 9,000: the rest in `make soak`
OWN_FILES = {  # read lines of our own .sql files and nothing else
    "connectors/db2/claims/proof.py", "connectors/db2/sessions.py", "connectors/db2/sampler.py",
    "connectors/oracle/sessions.py", "connectors/sqlserver/sessions.py",
}  # fmt: skip
TIMES = r"Elapsed", r"DB\s+time"
NOTES = ":\\s*([\\d.,]+[KMG]?)", "\\s*%"
REPORT = "connectors/oracle/reports.py"


def vendor_patterns() -> Iterable[str]:
    """Patterns of names that engines make up."""
    for path in (ROOT / "connectors").glob("*/recorded.toml"):
        yield from tomllib.loads(path.read_text(encoding="utf-8")).get("vendor_patterns", ())


MADE: dict[str, Callable[[], Iterable[str]]] = {  # what functions make of what they are given
    "agent/studies/prove/bench.py:is_named": lambda: [r"(?:^|[,;] )Sch\-M (?:on|for) "],
    "agent/cli/deploy.py:set_limits": lambda: [r"> 0\.02$"],
    "agent/config/sample.py:short_sample": lambda: [r"(# )?(host|dbname|user):"],
    "agent/service/support.py:__init__": lambda: [r"orders|or|my\ shop|shop"],
    "connectors/oracle/reports.py:_minutes": lambda: [
        rf"\b{words}:\s+([\d.,]+[KMG]?)\s*\(mins?\)" for words in TIMES
    ],
    "connectors/oracle/reports.py:_per_second": lambda: [r"^[ \t]*Transactions:\s+([\d.,]+[KMG]?)"],
    "connectors/oracle/reports.py:_find_number": lambda: [each for each in strings_in(REPORT) if each.endswith(NOTES)],
    "connectors/oracle/report_formats.py:named": lambda: expressions_among(strings_in(REPORT)),
    "connectors/oracle/report_formats.py:column": lambda: expressions_among(strings_in(REPORT)),
    "connectors/kit/recorded_columns.py:__init__": vendor_patterns,
    "connectors/kit/setting_up.py:new_password": lambda: KINDS_OF_CHARACTERS,
    "connectors/kit/templates.py:filled": lambda: [r"\{first\}|\{until\}"],
}  # fmt: skip


def expressions_among(texts: Iterable[str]) -> list[str]:
    """Those texts that are written as expressions, and not as sentences."""
    return [text for text in texts if re.search(r"[\\|*+?$(\[]", text) and len(text) < 100 and is_expression(text)]


def is_expression(text: str) -> bool:
    """Whether it can be compiled."""
    try:
        re.compile(text)
    except re.error:
        return False
    return True


def known() -> list[Expression]:
    """Every expression over foreign text, those that functions make included."""
    found = []
    for each in expressions():
        if each.pattern is None:
            found += [replace(each, pattern=pattern) for pattern in MADE[each.function]()]
        elif each.place.partition(":")[0] not in OWN_FILES:
            found.append(each)
    return found


@pytest.mark.parametrize("part", range(PARTS))
def test_an_expression_takes_time_in_proportion(part: int) -> None:
    """Over texts made from it, which repeat whatever it repeats, its time grows as they do."""
    slow = {each.place: found for each in known()[part::PARTS] if (found := attack_on(each, MOST_ATTACKS))}
    assert not slow


def test_what_functions_make_is_known() -> None:
    """An expression that the source does not spell out stands in the table, and the table holds no other."""
    assert {each.function for each in expressions() if each.pattern is None} == set(MADE)
    assert all(list(make()) for make in MADE.values())
    assert {path for path in OWN_FILES if not (ROOT / path).exists()} == set()


@pytest.mark.parametrize(
    ("pattern", "use"),
    [
        (r"^[\s~]*~{3,}[\s~]*(%.*)?$", "match"), (r"(a+)+b", "match"), (r"(?:a|a)*b", "fullmatch"),
        (r"\s+$", "finditer"),
        (r"\d+x", "finditer"), (r"<!--.*?-->", "finditer"), (r"(?:\s|/\*.*?\*/)*MOVE", "match"),
        (r"a.*\) TO \((.*)\)$", "match"),
        (r"Elapsed:(?:\s|<[^>]*>|&nbsp;)*([\d.,]+)", "finditer"), (r"(.*?)(\d+)(\D*)", "fullmatch"),
        (r"Total [A-Za-z ]+:", "finditer"), (r"^\s*Transactions:", "finditer"),
        ("'((?:[^']|'')*)'x(?:'|''|y)*z", "match"),
    ],
)  # fmt: skip
def test_known_culprits_are_found(pattern: str, use: str) -> None:
    """Cubic, exponential and quadratic ones, among them those that the product had, by no more attacks than above."""
    flags = re.MULTILINE if pattern.startswith("^\\s") else 0
    assert attack_on(Expression("here", "", pattern, flags, frozenset({use})), MOST_ATTACKS)


@pytest.mark.parametrize(
    ("pattern", "use"),
    [(r"[a-z]+:[0-9]+", "match"), (r"'(?:[^']|'')*'", "finditer"), (r"(?<!\s)\s+x", "finditer"), (r"a*+b", "match")],
)
def test_a_plain_one_is_not_accused(pattern: str, use: str) -> None:
    """What is in proportion passes."""
    assert attack_on(Expression("here", "", pattern, 0, frozenset({use}))) == ""


def test_attacks_are_made_from_the_expression() -> None:
    """What leads to each repetition, what it repeats, and what comes between two of them."""
    found = set(attacks(r"A: (?:x|yz)* \) TO \((.*)\)$", 0))
    assert any(begin == "A: " and pump == "x" for begin, pump, _ in found)
    assert any("TO (" in pump for _, pump, _ in found)
