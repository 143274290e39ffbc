"""What the shell completes: values from the ledger, escaped by the rules of each shell, in a fraction of a second."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.main import get_command

from agent.cli import completed_values
from agent.cli.completed_values import COMMANDS, COMMON, FLAGS, CompletionKind, kind_at
from agent.cli.completion import BASH, FISH, ZSH, Typed, for_shell
from agent.cli.main import whole_app
from agent.config.files import PLACES, VARIABLE
from agent.config.models import LedgerConfig
from agent.ledger.ledger import Ledger
from agent.ledger.state_names import GONE_UNITS, STATUS
from agent.model.clock import SystemClock
from agent.model.states import ACTIONABLE, OPEN_PROPOSALS, UNDOABLE, ProposalState
from agent.sampling.learned_state import note_gone_units
from tests.cli.emulated import program_at_terminal
from tests.cli.site import Site
from tests.examples import examples

EVIL = 'shop.e v\\i$(touch owned)`touch owned`\'"; touch owned; "=(touch owned)*?[a]{b,c}~#&|<>é'
HIDDEN = "shop.escape\x1b[31m\nrm"
PRINT = "printf '<%s>\\n' "  # put before a line, it shows each word as the shell reads it
LINE_START = "\x01"


@pytest.fixture(scope="module")
def carried_out(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """A site with a proposal whose moves were carried out, one that waits, and names that mean something to shells."""
    site = Site(tmp_path_factory.mktemp("site"))
    number, digest = site.propose()
    site.good("approve", str(number), "--digest", digest)
    site.good("run", "--once")
    site.good("undo", "1")
    site.good("pin", EVIL, "must")
    with Ledger.open(site.ledger_path, SystemClock()) as ledger:
        ledger.slots.of("shop", [EVIL, HIDDEN])
    return site


@pytest.fixture
def watched(carried_out: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """The site, found by the environment; its names are only completed, and none of them is ever run."""
    monkeypatch.setenv("HOTPLACE_CONFIG", str(carried_out.path))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    yield carried_out
    assert not (carried_out.folder / "owned").exists()


def complete(site: Site, *words: str) -> list[str]:
    """What bash is offered after some words, the last of which is being completed."""
    done = site.start_program(
        str(Path(sys.executable).with_name("hotplace")),
        environment={"_HOTPLACE_COMPLETE": "complete_bash", "COMP_WORDS": "\n".join(["hotplace", *words]),
                     "COMP_CWORD": str(len(words))},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    out, err = done.communicate(timeout=60)
    assert (done.returncode, err) == (0, "")
    return out.splitlines()


def test_values_of_every_kind(watched: Site) -> None:
    """Units without quotes, keys with them, proposals and moves by their state, spaces and databases; nothing twice."""
    assert complete(watched, "explain", "shop.ord") == ["shop.orders", "shop.orders_pkey", "shop.orders_by_customer"]
    assert complete(watched, "pin", "shop.orders_p") == [r"\"shop\".\"orders_pkey\""]
    assert complete(watched, "show", "") == ["2", "1"]
    assert complete(watched, "approve", "") == ["2"]
    assert complete(watched, "explain", "x", "--proposal", "1") == ["1"]
    assert "1" not in complete(watched, "undo", ""), "its undo is proposed already"
    assert {"2", "3"} <= set(complete(watched, "undo", "2", ""))
    assert complete(watched, "pause", "") == []
    assert sorted(complete(watched, "close", "")) == ["hdd", "ssd"]
    assert complete(watched, "plan", "--mode", "drain", "--space", "h") == ["hdd"]
    assert complete(watched, "status", "--database", "=", "s") == ["shop"]
    assert complete(watched, "--config", str(watched.path), "--database", "") == ["shop"]
    assert len(complete(watched, "pin", "--remove", "")) == 1


def test_units_that_were_dropped_are_not_offered(watched: Site) -> None:
    """By the newest catalog; what comes again is offered again."""
    with Ledger.open(watched.ledger_path, SystemClock()) as ledger:
        slots = ledger.slots.of("shop", ['"shop"."gone_by"', '"shop"."gone_too"'])
        assert complete(watched, "explain", "shop.gone") == ["shop.gone_by", "shop.gone_too"]
        every = np.arange(ledger.slots.count("shop"))
        note_gone_units(ledger, "shop", np.setdiff1d(every, slots))
        assert complete(watched, "explain", "shop.gone") == []
        assert complete(watched, "pin", "shop.gone") == []
        assert "shop.orders" in complete(watched, "explain", "shop.ord")
        note_gone_units(ledger, "shop", np.setdiff1d(every, slots[:1]))
        assert complete(watched, "explain", "shop.gone") == ["shop.gone_too"]


def test_what_is_typed_otherwise_is_typers(watched: Site) -> None:
    """Names of commands and options are completed as before; an option's value that is no name is not."""
    assert "proposals" in complete(watched, "pro")
    assert "--columns" in complete(watched, "proposals", "--col")
    assert complete(watched, "reject", "1", "--reason", "") == [""], "typer's empty line"


def test_without_a_ledger_nothing_is_said(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be read offers what the configuration names, creates nothing and prints no error."""
    monkeypatch.setenv("HOTPLACE_CONFIG", str(site.path))
    assert complete(site, "explain", "") == []
    assert sorted(complete(site, "close", "")) == ["hdd", "ssd"]
    assert not site.ledger_path.exists()
    site.ledger_path.write_bytes(b"no database")
    assert complete(site, "show", "") == []
    site.path.write_text("databases: [", encoding="utf-8")
    assert complete(site, "close", "") == []


def test_it_takes_a_quarter_of_a_second_at_most(watched: Site) -> None:
    """Processor time of the whole process, the fastest of three, since others work on the machine meanwhile."""

    def seconds() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert complete(watched, "explain", "shop.")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(seconds() for _ in range(3)) < 0.25


def test_the_table_agrees_with_the_commands() -> None:
    """Every place and option in it exists, flags are those that take no value, and states are those of the model."""
    commands = get_command(whole_app()).commands  # type: ignore[attr-defined]  # a group has them
    flags: set[str] = {"--version", "--help", "-h"}
    for name, completes in COMMANDS.items():
        below = getattr(commands[name], "commands", {name: commands[name]})  # of a group all of its commands
        parameters = [parameter for command in below.values() for parameter in command.params]
        arguments = [each for each in parameters if each.param_type_name == "argument"]
        assert len(completes.places) <= len(arguments)
        assert completes.repeated == bool(arguments and arguments[-1].nargs == -1)
        options = {word: each for each in parameters if each.param_type_name == "option" for word in each.opts}
        assert set(completes.options) | set(COMMON) <= set(options)
        for each in options.values():
            if each.is_flag:
                flags |= {*each.opts, *each.secondary_opts}
    assert flags == FLAGS
    assert set(completed_values.STATES[CompletionKind.PLACED]) == set(UNDOABLE)
    assert set(completed_values.STATES[CompletionKind.TO_DO]) == set(ACTIONABLE)
    assert set(completed_values.STATES[CompletionKind.OPEN]) == set(OPEN_PROPOSALS)
    assert set(completed_values.STATES[CompletionKind.PROPOSALS]) == set(ProposalState)
    assert set(completed_values.STATES[CompletionKind.PAUSED]) <= set(ACTIONABLE)
    assert (completed_values.VARIABLE, completed_values.PLACES, completed_values.STATUS) == (VARIABLE, PLACES, STATUS)
    assert completed_values.GONE_UNITS == GONE_UNITS
    assert Path(completed_values.LEDGER) == LedgerConfig().path


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["explain"], CompletionKind.UNITS),
        (["--json", "explain", "--wide"], CompletionKind.UNITS),
        (["--config", "x", "explain"], CompletionKind.UNITS),
        (["explain", "a"], None),
        (["undo", "1", "2"], CompletionKind.PLACED),
        (["undo", "--proposal"], CompletionKind.PROPOSALS),
        (["approve", "--digest"], None),
        (["approve", "--digest=ab"], CompletionKind.UNDECIDED),
        (["history"], None),
        ([], None),
    ],
)
def test_what_is_completed_where(words: Sequence[str], kind: CompletionKind | None) -> None:
    """Arguments by their place, options by their name, flags take no value."""
    assert kind_at(words) == kind


@given(
    st.text(
        st.characters(exclude_categories=["Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"]) | st.just(" "), min_size=1
    )
)
@settings(max_examples=examples(25), deadline=None)
def test_bash_reads_back_what_was_escaped(name: str) -> None:
    """Whatever the name is, the word on the command line is that name and nothing is run or expanded."""
    for quote in ("", '"', "'"):
        answer = for_shell(BASH, [(name, "")], Typed((), "", quote))
        assert answer or (quote and {"'", "!"} & set(name))
        if answer:
            line = f"printf '%s' {quote}{answer}{quote}"
            read = subprocess.run(["bash", "--norc", "-c", line], capture_output=True, check=True, cwd="/")
            assert read.stdout.decode() == name


def test_zsh_is_answered_in_letters_and_escapes() -> None:
    """What `eval` runs holds no character that could end a word; fish gets names as they are."""
    answer = for_shell(ZSH, [(EVIL, ""), ("plain_1.x", "")], Typed((), ""))
    assert answer.startswith("compadd -U -- $'shop")
    assert answer.endswith("' plain_1.x")
    assert not set(answer.split("$'")[1].split("'")[0]) & set(' "`$;()<>|&*?')
    assert for_shell(ZSH, [], Typed((), "")) == ""
    assert for_shell(FISH, [(EVIL, "placed")], Typed((), "")) == f"{EVIL}\tplaced"


SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "PS1='$ '"),
    "zsh": (["zsh", "-f", "-i"], "PS1='$ '; autoload -Uz compinit; compinit -D -u"),
    "fish": (["fish", "--no-config", "--private", "-i"], "function fish_prompt; echo -n '$ '; end"),
}


@pytest.mark.parametrize("shell", SHELLS)
def test_a_person_presses_tab(watched: Site, shell: str, tmp_path: Path) -> None:
    """In the real shell, with typer's script: a unit is completed, and a hostile name arrives as one harmless word."""
    command, prepare = SHELLS[shell]
    if shutil.which(command[0]) is None:
        pytest.skip(f"{shell} is not installed")
    script = tmp_path / "script"
    source = {**os.environ, "_HOTPLACE_COMPLETE": f"source_{shell}"}
    script.write_bytes(subprocess.run(["hotplace"], env=source, capture_output=True, check=True).stdout)
    own = {"HISTFILE": "", "HOME": str(tmp_path), "INPUTRC": "/dev/null", "LC_ALL": "C.UTF-8"}
    with program_at_terminal(watched, command, 200, 24, own) as terminal:
        terminal.press(f"{prepare}; source {script}; echo read''y\r")
        terminal.wait_for("ready")
        terminal.press("hotplace explain shop.orders_p\t")
        terminal.wait_for("explain shop.orders_pkey")
        terminal.press(LINE_START + PRINT + "\r")
        terminal.wait_for("<shop.orders_pkey>")
        terminal.press("hotplace pin --remove shop.e\t")
        terminal.wait_for(lambda text: "touch" in text.split("hotplace pin --remove")[-1])
        terminal.press(LINE_START + PRINT + "\r")
        terminal.wait_for(f"<{EVIL}>")
        terminal.press("exit\r")
        terminal.end()
