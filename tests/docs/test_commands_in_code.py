"""No message, comment or file that is shipped names a command or an option that does not exist."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.test_cli_documented import BY_WORDS, GROUPS, options_of

ROOT = Path(__file__).parents[2]
SHIPPED = ("agent", "connectors", "policies", "deploy", "Makefile")
QUOTED = re.compile(r"(`{1,2})(?:hotplace )((?!\1).+?)\1", re.DOTALL)
CALLED = re.compile(
    r"(?<![\w./:@'\"=-])hotplace ((?:--(?:config|database) \S+ |--json )*[a-z][a-z-]*(?:[ \n][^\n`\"']*)?)"
)
# Words that follow the name in a sentence, or in the name of a session, a file's first line and the like.
_PROSE = """
agent and approval as asks authors can cannot carries changes closes command configuration could did do does drops env
fills finds for from gets has have hears holds in into is it itself keeps knows lease leaves lives look looking looks
maintainers makes may move moves must needs never no not of on once only opens progress query raises ranks reads
recording refuses residency runs says sees sends ships should sizes standing takeover tells that the to tries use uses
watcher watches when will with written wrote
"""
PROSE = frozenset(_PROSE.split())


def shipped() -> Iterator[tuple[str, str]]:
    """Name and text of every file that goes to users, or that they read in a checkout."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *SHIPPED],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    for name in listed.stdout.splitlines():
        try:
            yield name, (ROOT / name).read_text(encoding="utf-8")
        except (FileNotFoundError, UnicodeDecodeError):
            continue  # deleted, or no text


def strings(text: str) -> Iterator[str]:
    """Every text of a module as it is printed: parts that stand side by side are one, what is filled in is ``X``."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def texts() -> Iterator[tuple[str, str]]:
    """Every text in which a command may be named, with its file."""
    for name, text in shipped():
        if name.endswith(".py"):
            yield from ((name, each) for each in strings(text) if "hotplace " in each)
            yield from ((name, line.partition("# ")[2]) for line in text.splitlines() if "# " in line)
        elif "hotplace " in text:
            yield name, text


def faults(line: str) -> Iterator[str]:
    """What is wrong with a command line without its first word."""
    words = re.sub(r"--(config|database)[ =]\S+|--json", "", re.split(r"[|&]", line)[0]).split()
    if not words or not words[0][0].islower():
        return  # only common options, or what stands for a command
    group = words[0] in GROUPS and len(words) > 1
    command = " ".join(words[:2]) if group else words[0]
    command = re.sub(r"[^a-z ].*", "", command)
    if command in GROUPS:
        return
    if command not in BY_WORDS:
        yield f"there is no {command!r}"
        return
    given = {re.sub(r"[^\w-].*", "", word) for word in words if re.match(r"--[a-z]", word)}
    yield from sorted(f"{command} has no {option}" for option in given - options_of(BY_WORDS[command]))


def found() -> list[tuple[str, str, str]]:
    """Every fault with its file and text."""
    wrong = []
    for name, text in texts():
        for match in QUOTED.finditer(text):
            wrong += [(name, match[0], fault) for fault in faults(match[2])]
        for match in CALLED.finditer(QUOTED.sub("", text)):
            line = re.split(r"[;,.:)]|  | and | or | until | while |\n", f"{match[1]} ")[0]
            first = re.sub(r"^(?:--\S+ \S+ |--json )*", "", line).split()[:1]
            if first and first[0] not in PROSE:
                wrong += [(name, match[0], fault) for fault in faults(line)]
    return wrong


def test_every_command_that_a_message_names_exists() -> None:
    """In messages, docstrings, comments and files of deploy/: its words are a command, its options that command's."""
    assert found() == []


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("status --all", []), ("fleet status", ["there is no 'fleet'"]), ("plan --type drain", ["plan has no --type"]),
        ("audit list", ["there is no 'audit list'"]), ("audit", []), ("history --audit --event 'list.*'", []),
        ("--config x.yaml run", []), ("COMMAND --json", []), ("show x", []),
    ],
)  # fmt: skip
def test_what_is_wrong_is_seen(line: str, wrong: list[str]) -> None:
    """A command that is gone, one of a group, an option of another command; and nothing else."""
    assert list(faults(line)) == wrong


def test_there_is_something_to_look_at() -> None:
    """Texts that name commands are found in code and in files next to it."""
    files = {name for name, text in texts() if QUOTED.search(text) or CALLED.search(text)}
    assert len([name for name in files if name.endswith(".py")]) > 80
    assert {
        "deploy/prometheus/hotplace.rules.yml",
        "Makefile",
    } <= files or "deploy/prometheus/hotplace.rules.yml" in files
