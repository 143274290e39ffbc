"""Scripts of every engine with hostile names in them: no line that a name wrote, and none that runs by mistake."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.cli.lab import list_statements
from agent.cli.plan_answer import print_by_hand
from agent.model.proposals import ProposedMove, with_ways_back
from agent.studies.prove.script import Script
from agent.terminal.deciding import print_notes
from agent.terminal.hand_script import hand_script
from agent.terminal.output import Output
from agent.terminal.wording import move_sql, print_statements
from connectors.db2 import partitions, space_move
from connectors.db2 import table_move as db2_split
from connectors.db2.names import Key, Part, identifier
from connectors.db2.operations import TableHomes
from connectors.db2.plan_only import ibm_i, zos
from connectors.db2.space_move import Instance
from connectors.db2.storage import ServerStorage
from connectors.kit.proving import Scratch
from connectors.model.formatting import comment, commented, is_plain, shown, written
from connectors.model.moves import Border, ByHand, Step
from connectors.oracle import file_moves
from connectors.oracle import manual_scripts as oracle_split
from connectors.oracle.catalog import DataFile
from connectors.sqlserver import routes as sqlserver_split
from connectors.sqlserver.ddl import ServerFeatures
from connectors.sqlserver.keys import Name, quote
from tests.db2 import facts as db2
from tests.db2.moving.test_containers import DMS
from tests.oracle import made as oracle
from tests.sqlserver import made as sqlserver
from tests.unit.samples import a_move, a_proposal, a_route

LIVE = "DROP TABLE ORDERS;"
# Line ends of programs, of Python and of Unicode; a terminal's escape; what turns a line around; a tab.
BREAKS = ("\n", "\r", "\r\n", "\v", "\f", "\x1c", "\x85", "\u2028", "\u2029", "\x1b[1A\r", "\u202e", "\b", "\t")


def hostile(line_end: str, quotes: str = "'\"]") -> str:
    """A name that would end its comment, its statement, its batch and its block, if it could."""
    return line_end.join((f"a{quotes}", LIVE, "GO", "/", "\\! ls", "*/", "$hotplace$", "-- zz", ""))


def refuse_lines_of_names(script: str) -> None:
    """Each line is printable, and what a name holds stands in comments only."""
    for line in script.split("\n"):
        assert line.isprintable(), ascii(line)
        assert line.startswith("--") or LIVE not in line, line
        assert line.strip() not in {"GO", "/", "\\! ls", "*/", "$hotplace$"}
        assert not line.startswith(("DROP", "-- zz"))


def db2_by_hand(name: str) -> Iterator[object]:
    """What Db2 leaves to a person: a split, a partition that goes down, a container and a path taken out."""
    table = replace(db2.table(), schema=name, name=name, space=name)
    for border in (Border(column=name, value=name), Border(column="day", value=name)):
        yield db2_split.by_hand(table, db2.bundle(key=name, space=name), border, name)
    row = (name, "TS_SLOW", "Y", f"'{name}'".replace("'", "''"), "N", "'2030-01-01'")
    homes = TableHomes(name, name, name)
    yield partitions.by_hand(Key(Part.TABLE, name, name), row, homes, "because", homes)
    space = replace(DMS, name=name, containers=(name, "/other"), container_pages={name: 400, "/other": 400})
    taken = replace(db2.bundle(key="", space=name), unit_keys=(), physical_ids=(), container=name)
    high = replace(space, top_page=500), replace(space, only_files=False)
    for each in high:
        yield space_move.route_out(ServerStorage({4: each}, db2.STORAGE.groups), taken, db2.SETTINGS, Instance())
    group = replace(db2.SLOW, name=name, paths=(name, "/other"))
    storage = ServerStorage({4: replace(db2.SPACE, name=name, group=name)}, {name: group})
    yield space_move.route_out(storage, replace(taken, space=name), db2.SETTINGS, Instance())


def sqlserver_by_hand(name: str) -> Iterator[object]:
    """A split."""
    column = replace(sqlserver.ID, name=name)
    spaces = {1: replace(sqlserver.HDD, name=name), 2: replace(sqlserver.SSD, name=name)}
    table = sqlserver.table(
        sqlserver.index(name=name, columns=(sqlserver.key(name),)),
        name=Name(name, name),
        columns=(column,),
        spaces=spaces,
    )
    border = Border(column=name, value=name)
    yield sqlserver_split.by_hand(
        table, sqlserver.bundle(), border, name, ServerFeatures(major=15, edition=3), sqlserver.settings()
    )


def oracle_by_hand(name: str) -> Iterator[object]:
    """A split, and a data file taken out; no Oracle name holds a double quote."""
    name = name.replace('"', "")
    lead = oracle.entry(owner=name, name=name)
    bundle = replace(oracle.bundle(), key=name, space=name)
    yield oracle_split.by_hand(oracle.facts(lead=lead), bundle, Border(column=name, value=name), name, oracle.server())
    files = [DataFile(number, name, f"/{number}/{name}", 1 << 20, "ONLINE", "ONLINE") for number in (7, 8)]
    yield file_moves.by_hand(replace(bundle, container=files[1].path), files, ["/7", f"/{name}"], oracle.server())


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "x")


@pytest.mark.parametrize("line_end", BREAKS, ids=ascii)
@pytest.mark.parametrize("by_hand", [db2_by_hand, sqlserver_by_hand, oracle_by_hand])
def test_what_a_person_does_by_hand(
    by_hand: Callable[[str], Iterator[object]], line_end: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Printed as one statement or as comments; comments among the statements are one line in JSON, too."""
    for found in by_hand(hostile(line_end)):
        assert isinstance(found, ByHand), found
        assert all(each.isprintable() for each in found.statements if each.startswith("--"))
        print_by_hand(Output(as_json=False, no_color=True), "by hand", found)
        _, why, *_, _ = printed = capsys.readouterr().out.split("\n")[1:]
        assert why.startswith("hotplace does not do it: ")
        refuse_lines_of_names("\n".join(printed[2:]))


def scripts_of_i_and_zos(name: str) -> Iterator[ByHand]:
    """What is written for Db2 for i and z/OS of an object with that name wherever one may be."""
    member = ibm_i.Member(library=name, file=name, member=name)
    there = (
        ibm_i.prefer_table(name, name, "SSD"), ibm_i.prefer_member(member, "SSD"),
        ibm_i.prefer_file(name, name, "SSD", index=True),
    )  # fmt: skip
    for asp in (ibm_i.Asp(1), ibm_i.Asp(33), ibm_i.Asp(33, name)):
        yield from (ibm_i.move_by_hand(each, each, asp) for each in there if each)
    for database, space in (("DB", name), (name, "TS"), ("DB", "TS")):
        of = zos.TableSpacePart(database=database, name=space, partition=2, kind="R")
        index = zos.IndexPart(database=database, space=space, creator=name, name=name, partition=0)
        found = zos.move_table_space(of, name, name), zos.move_index(index, name, name)
        yield from (each for each in found if each is not None)


@pytest.mark.parametrize("line_end", BREAKS, ids=ascii)
def test_scripts_of_i_and_zos(line_end: str) -> None:
    """Neither title nor statement: a name leaves no live statement in the file that a person runs."""
    name = hostile(line_end)
    for found in scripts_of_i_and_zos(name):
        route = replace(a_route(), to_space=name, prologue=(), steps=(), undo_steps=(), by_hand=found)
        bundle = replace(route.bundle, space=name)
        move = replace(a_move(), key=name, from_space=name, to_space=name, route=replace(route, bundle=bundle))
        refuse_lines_of_names(hand_script(a_proposal(move), [move], 1))
        refuse_lines_of_names(move_sql(move))
    for found in scripts_of_i_and_zos("PLAIN"):
        assert "escapes" not in "\n".join(map(written, (*found.before, *found.statements, *found.after)))


def moves_of(name: str) -> Iterator[ProposedMove]:
    """A move with that name wherever one may be, as each engine quotes it."""
    for quoted in (identifier(name), quote(name), "N'" + name.replace("'", "''") + "'"):
        sql = f"ALTER TABLE {quoted} MOVE"
        step = Step(sql=sql, purpose=f"move {name}", variants=(f"{sql} 1", f"ALTER TABLE {quoted}x MOVE"))
        route = replace(
            a_route(), to_space=name, prologue=(f"SET ROLE {quoted}",), patient_prologue=(f"SET ROLE {quoted}",),
            steps=(step, Step(sql=f"DO $$\n{sql}\n$$", purpose=name)), undo_steps=(step,), tidy_steps=(step,),
            notes=(name,), locks=name, tidy_locks=name,
        )  # fmt: skip
        yield from with_ways_back(
            a_move(at, key=name, from_space=name, to_space=name, sentence=name, group=1, route=route) for at in (1, 2)
        )


@pytest.mark.parametrize("in_full", [False, True])
@pytest.mark.parametrize("line_end", BREAKS, ids=ascii)
def test_moves(line_end: str, in_full: bool, capsys: pytest.CaptureFixture[str]) -> None:
    """As a script and as they are shown: the same lines, none of them of a name."""
    for move in moves_of(hostile(line_end)):
        script = move_sql(move, in_full=in_full)
        refuse_lines_of_names(script)
        assert all(line.startswith("--") for line in script.splitlines())
        print_statements(Output(as_json=False, no_color=True), [move], in_full=in_full)
        assert capsys.readouterr().out.endswith(script)
        print_notes(Output(as_json=False, no_color=True), [move])
        printed = capsys.readouterr().out.rstrip("\n").split("\n")
        assert all(line.isprintable() for line in printed)
        assert not any(line.startswith(LIVE) for line in printed)


@pytest.mark.parametrize("line_end", BREAKS, ids=ascii)
def test_errors_write_no_line_of_their_own(line_end: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What went wrong may have several lines; only the first begins where a command's lines do."""
    Output(as_json=False, no_color=True).problem(hostile(line_end), hostile(line_end))
    first, *others = [
        line for line in capsys.readouterr().err.rstrip("\n").split("\n") if not line.startswith("next: ")
    ]
    assert first.startswith("error: ")
    assert all(line.startswith("  ") and line.isprintable() for line in others)


@pytest.mark.parametrize("line_end", BREAKS, ids=ascii)
def test_what_a_proof_sends(line_end: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The statements that are listed before anybody agrees to them, in a schema of such a name."""
    name = hostile(line_end)

    questions = {f"make {name}": f"CREATE TABLE {identifier(name)}\n(n int)"}
    script = Script(
        scratch=Scratch(schema="scratch", slow="slow", fast="fast"), cases=(), questions=questions, queries={}
    )
    list_statements(Output(as_json=False, no_color=True), script)
    refuse_lines_of_names(capsys.readouterr().out)


@given(st.text())
def test_any_name_is_one_line_or_a_comment(name: str) -> None:
    """By whatever engine it is quoted; only what can be shown as it is, is run."""
    assert comment(name).startswith("-- ")
    assert comment(name).isprintable()
    for quoted in (identifier(name), quote(name), "'" + name.replace("'", "''") + "'"):
        for sql in (f"DROP TABLE {quoted}", f"DO $$\nBEGIN\n  DROP TABLE {quoted};\nEND $$", f"DROP VIEW x.{quoted};"):
            assert is_plain(sql) == name.isprintable()
            assert written(sql) == sql or all(line.startswith("--") for line in written(sql).split("\n"))
            assert shown(sql) == sql or shown(sql).isprintable()
            assert all(line.startswith("--   ") and line.isprintable() for line in commented([sql]))


def test_different_statements_look_different() -> None:
    """A line feed in a name, and a backslash with an n behind it."""
    assert shown('DROP "a\nb\\n"') == r'DROP "a\nb\\n"'
    assert shown(r'DROP "a\nb"') == r'DROP "a\nb"'


@pytest.mark.parametrize("piece", ['"', "'", "[", " [", "/*", "--", "-", "/", "$$", '""', "]]"])
def test_reading_takes_time_in_proportion(piece: str) -> None:
    """A statement twice as long is read in twice the time: names are foreign text."""

    def seconds(count: int) -> float:
        sql = piece * count + "\x1b"
        begun = process_time()
        is_plain(sql)
        return process_time() - begun

    assert min(seconds(40_000) for _ in range(3)) < 8 * max(2e-3, min(seconds(20_000) for _ in range(3)))
