"""What hotplace ships besides its behaviour: help, keys with defaults, exit codes, files of ``deploy``, queries."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import yaml

from agent.terminal.errors import exit_code_table
from connectors.kit.registry import BUILT_IN, ENTRY_POINT_GROUP, find_engine
from tests.cli.site import run_here
from tests.docs.reference import alerts, commands, events, keys, metrics, words
from tests.frozen.commands import scrubbed
from tests.frozen.kept import Frozen
from tests.frozen.standing_still import folder, standing_still

ROOT = Path(__file__).parents[2]
GROUPS = ("", "deploy", "lab", "ledger", "notify", "rules", "audit", "trace")
DEPLOYED = ("privileges", "systemd", "prometheus", "grafana", "kubernetes", "live")
REFERENCE = (commands, keys, metrics, words, alerts, events)  # pages of docs/pages/reference


def shipped() -> Frozen:
    """By name; what is long as hashes."""
    whole = {
        "exit codes": exit_code_table(),
        "engines": "\n".join(f"{name}: {find_engine(name).title}" for name in sorted(BUILT_IN)),
        "entry point of third parties": ENTRY_POINT_GROUP,
        "configuration keys": "\n".join(_keys()),
    }
    return Frozen(whole, dict([*_help(), *_reference(), *_deployed(), *_rules(), *_queries()]))


def _help() -> Iterator[tuple[str, str]]:
    """The help of every command and group at 80 columns, and what comes without a command."""
    with standing_still(COLUMNS="80", TTY_COMPATIBLE="0") as _, folder() as place:
        for words_of in (*GROUPS, *(words_of for words_of, _ in commands.every_command())):
            done = run_here(*words_of.split(), "--help")
            assert done.code == 0, words_of
            yield f"help {words_of}".strip(), scrubbed(done.out, place)
        yield "first screen", scrubbed(run_here().out, place)
        yield "assess queries", run_here("assess", "--print-queries", "oracle").out
        for engine in sorted(BUILT_IN):
            for form, words in (("sample", ["--full"]), ("short", [])):
                target = f"{form}-{engine}.yaml"
                assert run_here("init", "--engine", engine, *words, "--output", target).code == 0
                yield f"{form} configuration of {engine}", scrubbed(Path(target).read_text(), place)


def _keys() -> Iterator[str]:
    """Every key with its kind, default and bounds, as the reference has them."""
    for model, section in keys.blocks().items():
        for line in section.splitlines():
            if line.startswith("| `"):
                yield f"{model} | " + " | ".join(cell.strip() for cell in line.strip("|").split("|")[:3])


def _reference() -> Iterator[tuple[str, str]]:
    for module in REFERENCE:
        yield from ((f"reference {name}", text) for name, text in module.blocks().items())


def _deployed() -> Iterator[tuple[str, str]]:
    """What each ``hotplace deploy`` prints, for every engine where it takes one."""
    with standing_still(COLUMNS="80") as _, folder() as place:
        for kind in DEPLOYED:
            for engine in sorted(BUILT_IN) if kind in {"privileges", "live"} else [""]:
                given = ["--engine", engine] if engine else []
                done = run_here("deploy", kind, *given)
                yield f"deploy {kind} {engine}".strip(), scrubbed(f"{done.out}{done.err}{done.code}", place)


def _rules() -> Iterator[tuple[str, str]]:
    """Each alert and each panel by itself, so that a hash says which one changed."""
    text = (ROOT / "deploy/prometheus/hotplace.rules.yml").read_text(encoding="utf-8")
    for group in yaml.safe_load(text)["groups"]:
        for rule in group["rules"]:
            yield f"rule {rule.get('alert') or rule['record']}", yaml.safe_dump(rule)


def _queries() -> Iterator[tuple[str, str]]:
    """Every text that is sent to a database to read from it, by engine and name."""
    for path in sorted((ROOT / "connectors").glob("*/**/*.sql")):
        engine = path.relative_to(ROOT / "connectors").parts[0]
        yield f"query {engine} {path.stem}", path.read_text(encoding="utf-8")
