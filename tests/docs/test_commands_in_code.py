"""No message, comment or file that is shipped names a command or an option that does not exist."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import pytest

from tests.docs.test_cli_documented import BY_WORDS, GROUPS, fault_of, options_of
from tests.docs.text import WRITTEN

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
# Words with which a sentence goes on behind a command line, and those that are a session's name and no command.
GOES_ON = PROSE | frozenset(
    [
        "begins",
        "empties",
        "lists",
        "lets",
        "names",
        "prints",
        "proposes",
        "records",
        "shows",
        "splits",
        "stores",
        "lifts",
        "then",
        "writes",
    ]
)
NO_COMMAND = frozenset({"client", "scan"})  # of the demo, by their sessions' names


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


# A whole line to be typed: in backticks, or all that follows a colon or begins a text. What is filled in is ``X``.
WHOLE = re.compile(r"(?:^|: |\n)hotplace ((?:--\w+ )*[a-z][^\n;]*?)(?: +# .*)?\.?(?=\n|;|$)")


def lines_to_type() -> list[tuple[str, tuple[str, ...]]]:
    """Every line that a reader of a message, an alert, an advice or a page may copy, with the file it is in."""
    found = set()
    for name, text in (*texts(), *WRITTEN.items()):
        for line in (*(match[2] for match in QUOTED.finditer(text) if match[0].startswith("`hotplace ")),
                     *(match[1] for match in WHOLE.finditer(text) if not name.endswith(".md"))):  # fmt: skip
            words = _words_of(line)
            is_command = words and words[0] not in PROSE and re.fullmatch("[a-z][a-z-]*|--[a-z]+", words[0])
            if is_command and not NO_COMMAND & {*words[1:2]}:
                found.add((name, words))
    return sorted(found)


def _words_of(line: str) -> tuple[str, ...]:
    """The words up to where a sentence goes on; of a text that no shell would take none."""
    try:
        words = shlex.split(re.sub(r"\{[^}]*\}", "X", re.split(r"[,:.] ", line)[0]))
    except ValueError:
        words = []
    if not words:
        return ()
    said = [word.rstrip(",:") for word in words if word != "..."]
    first = 2 if said[0] in GROUPS else 1  # words of the command itself
    return (*said[:first], *takewhile(lambda word: word not in GOES_ON, said[first:]))


def test_every_line_that_a_reader_may_copy_is_taken() -> None:
    """By the parser of the command line itself, with all its options and arguments."""
    lines = lines_to_type()
    assert len(lines) > 150
    wrong = [(name, " ".join(words), said) for name, words in lines if (said := fault_of(words, named_only=True))]
    assert [(name, line, said) for name, line, said in wrong if not is_sentence(line)] == []


def is_sentence(line: str) -> bool:
    """Whether what is filled in is the rest of a sentence: the command before it takes no argument."""
    before = line.removesuffix(" X")
    return before != line and not fault_of(before.split())


@pytest.mark.parametrize(
    "line", ["plan --mode drian", "approve twelve", "status now", "stop --al", "audit verify --head", "rules open"]
)
def test_a_line_that_the_command_line_refuses_is_seen(line: str) -> None:
    """Another value, another kind of value, one too many, an option that does not exist, one without its value."""
    assert fault_of(line.split())


def test_there_is_something_to_look_at() -> None:
    """Texts that name commands are found in code and in files next to it."""
    files = {name for name, text in texts() if QUOTED.search(text) or CALLED.search(text)}
    assert len([name for name in files if name.endswith(".py")]) > 80
    assert {
        "deploy/prometheus/hotplace.rules.yml",
        "Makefile",
    } <= files or "deploy/prometheus/hotplace.rules.yml" in files
