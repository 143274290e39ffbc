"""How moves are written: nothing that an approval covers stays out of sight."""

from __future__ import annotations

from dataclasses import replace

from agent.terminal.wording import move_document, move_sql
from connectors.model import Step
from tests.unit.samples import a_move, a_route

ANOTHER_NAME = 'DROP INDEX "a\nb_ccnew1"'  # a line feed in a name must not end the comment


def test_statements_of_an_interrupted_attempt_are_comments() -> None:
    """Each variant is shown, letter by letter, and every line of it is a comment; its locks and bytes are told."""
    tidy = Step(sql='DROP INDEX "a\nb_ccnew"', purpose="remove the unfinished index", variants=(ANOTHER_NAME,))
    route = replace(a_route(), tidy_steps=(tidy,), tidy_locks="none that matters", tidy_bytes=5)
    move = a_move(route=route)
    script = move_sql(move)
    commented = script.partition("-- only if")[2].splitlines()[1:]
    assert all(line.startswith("--") for line in commented)
    shown = "\n".join(line.removeprefix("--   ") for line in commented)
    assert all(f"{sql};" in shown for sql in tidy.statements)
    document = move_document(move)["if_interrupted"]
    assert document == {
        "statements": [{"sql": tidy.sql, "variants": [ANOTHER_NAME], "purpose": tidy.purpose}],
        "locks": "none that matters",
        "bytes": 5,
    }
    assert "interrupted" not in move_sql(a_move())
