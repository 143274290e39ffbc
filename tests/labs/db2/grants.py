"""GRANT EXECUTE ON FUNCTION | PROCEDURE SYSPROC.name [(types)], GRANT SELECT ON [TABLE] SYSTOOLS.name."""

from __future__ import annotations

from tests.labs.db2 import refusals
from tests.labs.db2.documented import views
from tests.labs.db2.sessions import Session
from tests.labs.db2.text import name_of
from tests.labs.db2.world import World

FORMS = {"ADMIN_MOVE_TABLE": (11, 5)}  # procedures that there are several of, by their numbers of parameters
PROCEDURES = frozenset({"ADMIN_CMD", "ADMIN_MOVE_TABLE_UTIL", *FORMS})


def is_grant(said: list[str]) -> bool:
    """Whether it begins as such a GRANT."""
    return said[:3] == ["GRANT", "EXECUTE", "ON"] or is_of_a_tool(said)


def is_of_a_tool(said: list[str]) -> bool:
    """Whether it is about a table that a routine of the server has made."""
    return said[:3] == ["GRANT", "SELECT", "ON"] and [word for word in said[3:6] if word != "TABLE"][:2] == [
        "SYSTOOLS",
        ".",
    ]


def grant(world: World, session: Session, said: list[str]) -> None:
    """Let a user execute it.

    Raises:
        Refusal: SQL0104N, SQL0204N, SQL0476N, SQL0552N.
    """
    if not session.user.administrator:
        raise refusals.no_authority(session.user.authid, "GRANT")
    if is_of_a_tool(said):
        _grant_protocol(world, said)
        return
    kind, name, signature, grantee = _parts(said)
    known = PROCEDURES if kind == "PROCEDURE" else _functions(world)
    if name not in known:
        raise refusals.undefined(f"SYSPROC.{name}")
    if name in FORMS and signature is None:
        raise refusals.not_unique(f"SYSPROC.{name}")
    if name in FORMS and signature not in FORMS[name]:
        raise refusals.undefined(f"SYSPROC.{name}")
    world.executable[grantee].add(name)


def _grant_protocol(world: World, said: list[str]) -> None:
    """SELECT on the protocol of ADMIN_MOVE_TABLE, which that procedure makes: before its first call there is none."""
    name, grantee = said[said.index(".") + 1], name_of(said[-1])
    if name != "ADMIN_MOVE_TABLE" or not world.protocol_exists:
        raise refusals.undefined(f"SYSTOOLS.{name}")
    world.executable[grantee].add(name)


def _functions(world: World) -> set[str]:
    return {view.plain for view in views(world.version).values() if view.function}


def _parts(said: list[str]) -> tuple[str, str, int | None, str]:
    """FUNCTION or PROCEDURE, name, number of parameters (None: none said), grantee."""
    if len(said) < 9 or said[3] not in ("FUNCTION", "PROCEDURE") or said[4:6] != ["SYSPROC", "."]:
        raise refusals.syntax(" ".join(said))
    name, rest = said[6], said[7:]
    signature = None
    if rest[0] == "(":
        end = len(rest) - 1 - rest[::-1].index(")")
        signature, rest = _parameters(rest[1:end]), rest[end + 1 :]
    if rest[:1] != ["TO"] or len(rest) not in (2, 3) or rest[1] == "TO":
        raise refusals.syntax(" ".join(said))
    return said[3], name, signature, name_of(rest[-1])


def _parameters(types: list[str]) -> int:
    """Types between the outer parentheses, such as VARCHAR(128) , INTEGER."""
    depth = count = 0
    for word in types:
        depth += {"(": 1, ")": -1}.get(word, 0)
        count += word == "," and depth == 0
    return count + 1 if types else 0
