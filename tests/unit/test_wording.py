"""How moves are written: nothing that an approval covers stays out of sight."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.model.answers.plans import CleanUpShown, IfInterrupted
from agent.model.proposals import with_ways_back
from agent.terminal.wording import move_sql, planned_move
from connectors.model.formatting import HELD, escaped
from connectors.model.moves import Step
from connectors.postgresql.routes import NAME_BYTES, tidy_steps_of
from tests.unit.samples import a_move, a_route

TAG = "/* hotplace move 1a2b3c4d "
OR = " -- or, in place of this name, "
DIGITS = 63 * "9"
ANOTHER_NAME = 'DROP INDEX "a\nb_ccnew1"'  # a line feed in a name must not end the comment


def test_statements_of_an_interrupted_attempt_are_comments() -> None:
    """Each variant is shown, letter by letter, and every line of it is a comment; its locks and bytes are told."""
    tidy = Step(sql='DROP INDEX "a\nb_ccnew"', purpose="remove the unfinished index", variants=(ANOTHER_NAME,))
    route = replace(a_route(), tidy_steps=(tidy,), tidy_locks="none that matters", tidy_bytes=5)
    move = a_move(route=route)
    script = move_sql(move)
    commented = script.partition("-- only if")[2].splitlines()[1:]
    assert all(line.startswith("--") for line in commented)
    shown = [line.removeprefix("--   ") for line in commented]
    assert shown[1:] == [HELD, *(f"{sql};".replace("\n", r"\n") for sql in tidy.statements)]
    assert planned_move(move).if_interrupted == IfInterrupted(
        statements=(CleanUpShown(sql=tidy.sql, variants=(ANOTHER_NAME,), purpose=tidy.purpose),),
        locks="none that matters",
        bytes=5,
    )
    assert "interrupted" not in move_sql(a_move())


def test_the_way_back_of_a_group_is_shown_as_comments() -> None:
    """What is approved with a move that makes room, letter by letter, and only with that."""
    back = Step(sql='ALTER TABLE "a\nb" SET TABLESPACE slow', purpose="copy it back")
    first, last = with_ways_back(a_move(at, group=1, route=replace(a_route(), undo_steps=(back,))) for at in (1, 2))
    script = move_sql(first)
    commented = script.partition("-- only if its group cannot be completed")[2].splitlines()[1:]
    assert all(line.startswith("--") for line in commented)
    assert [line.removeprefix("--   ") for line in commented[1:]] == [HELD, f"{back.sql};".replace("\n", r"\n")]
    assert "group cannot be completed" not in move_sql(last)
    assert (planned_move(first).goes_back_with_group, planned_move(last).goes_back_with_group) == (True, False)


def _written_out(line: str) -> Iterator[str]:
    """Every statement that a line of a script stands for, as a reader takes it: first to last counts upwards."""
    statement, _, listed = line.removeprefix("--   ").partition(OR)
    own = statement.removesuffix(";")
    yield own
    name = own[own.rindex('."') + 1 :]
    for first, last in re.findall(r'("(?:[^"]|"")*")(?: to ("(?:[^"]|"")*"))?', listed):
        begin, end = (int(re.findall(r"\d+", each)[-1]) for each in (first, last or first))
        before = first[: first.rindex(str(begin))]
        after = first[first.rindex(str(begin)) + len(str(begin)) :]
        for number in range(begin, end + 1):
            yield f"{own.removesuffix(name)}{before}{number}{after}"


@pytest.mark.parametrize(
    "index", ["thing_pkey", "a.b to c", 'quo"te 7', "x" * NAME_BYTES, DIGITS, "[1]", "-- or", "x9"]
)
def test_names_of_what_is_left_over_are_one_line_that_covers_each(index: str) -> None:
    """Ten names of each kind that PostgreSQL may give are one line, from which each statement follows exactly."""
    move = a_move(route=replace(a_route(), tidy_steps=tidy_steps_of("public", index, TAG)))
    lines = [line for line in move_sql(move).splitlines() if line.startswith("--   /* hotplace")]
    assert len(lines) == 2
    for step, line in zip(move.route.tidy_steps, lines, strict=True):
        assert tuple(_written_out(line)) == step.statements
    in_full = move_sql(move, in_full=True).splitlines()
    assert {f"--   {sql};" for step in move.route.tidy_steps for sql in step.statements} <= set(in_full)


@given(st.text(min_size=1, max_size=NAME_BYTES).filter(lambda name: "\0" not in name))
def test_no_name_ends_a_comment_or_hides_a_statement(index: str) -> None:
    """Whatever an index is called: each line of the script is a comment, and no statement is left out."""
    (step, _) = tidy_steps_of("public", index, TAG)
    script = move_sql(a_move(route=replace(a_route(), tidy_steps=(step,))))
    lines = script.partition("-- only if")[2].splitlines()[2:]
    assert all(line.startswith("--   ") and line.isprintable() for line in lines)
    if len(lines) == 1:
        assert tuple(_written_out(lines[0])) == step.statements
    else:
        assert lines == [f"--   {line}" for line in (HELD, *(escaped(f"{sql};") for sql in step.statements))]


def test_variants_that_differ_in_more_than_a_name_are_written_out() -> None:
    """Two places that differ, other words or other numbers: no list of names stands for them."""
    step = Step(sql="DROP a.b", purpose="tidy", variants=("DROP c.d", "DROP a.b CASCADE", "DROP b.b", "DROP a.c"))
    script = move_sql(a_move(route=replace(a_route(), tidy_steps=(step,))))
    assert [line for line in script.splitlines() if "DROP" in line] == [f"--   {sql};" for sql in step.statements]


def test_names_that_do_not_count_upwards_are_listed_one_by_one() -> None:
    """A range stands for numbers without a gap only."""
    names = "x1", "x2", "x4", "x9", "x10", "x11", "x011", "x012", "x013"
    step = Step(sql='DROP "x"', purpose="tidy", variants=tuple(f'DROP "{name}"' for name in names))
    (line,) = [
        line for line in move_sql(a_move(route=replace(a_route(), tidy_steps=(step,)))).splitlines() if OR in line
    ]
    assert line.partition(OR)[2] == '"x1", "x2", "x4", "x9" to "x11", "x011", "x012", "x013"'
