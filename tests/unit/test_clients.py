"""Files for SQL*Plus, sqlcmd, the Db2 command line processor and psql: what a client sends is what hotplace would."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from agent.terminal.hand_script import hand_script
from connectors.kit.clients import CLP, PSQL, SQLCMD, SQLPLUS, without_tag
from connectors.kit.registry import find_engine
from connectors.model.formatting import wrapped
from connectors.model.moves import Client, Route, Step
from tests.db2 import every_route as db2
from tests.labs import clients
from tests.oracle import every_route as oracle
from tests.unit.samples import a_move, a_proposal, a_route

Reader = Callable[[str], list[str]]


def file_of(route: Route, client: Client) -> str:
    """The file of one move."""
    hand = route.by_a_person("because", client)
    move = replace(a_move(), key=route.bundle.key, from_space="OLD", to_space=route.to_space, route=hand)
    return hand_script(a_proposal(move), [move], 1)


def wanted_of(route: Route) -> list[str]:
    """What hotplace would send, without its tags."""
    return [without_tag(sql) for sql in (*route.prologue, *(step.sql for step in route.steps))]


def quoted(name: str, quote: str = '""') -> Route:
    """A route with that name in every place."""
    first, last = quote[0], quote[-1]
    text = f"{first}{name.replace(last, last * 2)}{last}"
    steps = [
        Step(sql=f"/* hotplace step {at} */ ALTER TABLE {text} MOVE TABLESPACE {text}", purpose=name) for at in (1, 2)
    ]
    return replace(
        a_route(),
        to_space=name,
        prologue=("ALTER SESSION DISABLE RESUMABLE",),
        steps=tuple(steps),
        undo_steps=tuple(steps),
    )


READERS: dict[str, tuple[Client, Reader]] = {
    "oracle": (SQLPLUS, clients.sqlplus), "sqlserver": (SQLCMD, clients.batches), "db2": (CLP, clients.clp),
}  # fmt: skip


@pytest.mark.parametrize("engine", READERS)
@pytest.mark.parametrize("name", clients.NAMES)
def test_hostile_names(engine: str, name: str) -> None:
    """No name ends a statement, is replaced, or is a command of the client."""
    client, read = READERS[engine]
    route = quoted(name, "[]" if engine == "sqlserver" else '""')
    assert read(file_of(route, client)) == wanted_of(route)
    assert find_engine(engine).client is client


@pytest.mark.parametrize(("engine", "routes"), [("oracle", oracle.every_route), ("db2", db2.every_route)])
def test_every_route(engine: str, routes: Callable[[], dict[str, Route]]) -> None:
    """Each statement of each form is sent, in its order, and nothing else is."""
    client, read = READERS[engine]
    for name, route in routes().items():
        assert read(file_of(route, client)) == wanted_of(route), name


def test_blocks() -> None:
    """PL/SQL is run by a slash, a compound statement ends by a character that is not in it, T-SQL by GO."""
    block = "BEGIN EXECUTE IMMEDIATE 'DROP TABLE t'; EXECUTE IMMEDIATE 'x@'; END"
    route = replace(a_route(), prologue=(), steps=(Step(sql=block, purpose="p"), Step(sql="DROP TABLE u", purpose="q")))
    assert clients.sqlplus(file_of(route, SQLPLUS)) == [f"{block};", "DROP TABLE u"]
    assert clients.clp(file_of(route, CLP)) == [block, "DROP TABLE u"]
    assert clients.batches(file_of(route, SQLCMD)) == [block, "DROP TABLE u"]


def test_long_lines() -> None:
    """SQL*Plus leaves a line of 2,500 bytes out, so long statements are broken, but never within a name."""
    places = ", ".join(f'"IX {at} - é" TABLESPACE "FAST {at}"' for at in range(300))
    sql = f'ALTER TABLE "A"."B" MOVE TABLESPACE "C" UPDATE INDEXES ({places}) ONLINE'
    route = replace(a_route(), prologue=(), steps=(Step(sql=sql, purpose="p"),))
    (sent,) = clients.sqlplus(file_of(route, SQLPLUS))
    assert sent.count("\n") > 3
    assert sent.replace("\n", " ") == sql
    assert wrapped("x" * 99, 10) == "x" * 99


def test_variables_of_sqlcmd() -> None:
    """Without -x the file stops itself before its first statement, whatever the variable holds."""
    text = file_of(quoted("orders$(SQLCMDUSER)", "[]"), SQLCMD)
    for user in ("", "sa"):
        _, guard, *_ = clients.sqlcmd(text, variables={"SQLCMDUSER": user})
        found, meant = re.findall(r"N'([^']*)'", guard)[:2]
        assert found != meant + "(SQLCMDUSER)"
        assert "SET NOEXEC ON" in guard
    _, guard, *_ = clients.sqlcmd(text)
    assert "N'$(SQLCMDUSER)' <> N'$' + N'(SQLCMDUSER)'" in guard


def test_the_first_line_is_the_client_s() -> None:
    """Comments may hold an ampersand, so what turns substitution off comes before them."""
    assert file_of(quoted("a"), SQLPLUS).startswith("SET DEFINE OFF\n")
    assert file_of(quoted("a"), PSQL).startswith("\\set ON_ERROR_STOP on\n")


def test_line_feeds() -> None:
    """A name with one is shown in comments, and its move is not carried out at all."""
    for engine, (client, read) in READERS.items():
        route = quoted("a\n/\nGO\nDROP TABLE x;\n", "[]" if engine == "sqlserver" else '""')
        text = file_of(route, client)
        assert "DROP TABLE x;\n" not in text.replace("\\n", "")
        sent = clients.sqlcmd(text) if engine == "sqlserver" else read(text)
        assert not any("ALTER" in each for each in sent)
