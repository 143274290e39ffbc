"""The little PL/SQL that agents use: calls of DBMS_LOCK and DBMS_APPLICATION_INFO, and a check of the answer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.labs.oracle.views.rewrite import binds_of, refuse
from tests.labs.tns.backend import Bind, OracleError

if TYPE_CHECKING:
    from tests.labs.oracle.session import EmulatedSession

_BLOCK = re.compile(
    r"\A\s*(?:DECLARE(?P<declared>.*?))?\bBEGIN\b(?P<body>.*)\bEND\s*;?\s*\Z", re.DOTALL | re.IGNORECASE
)
_CALL = re.compile(
    r"\A(?:(?P<to>:?\w+)\s*:=\s*)?(?P<owner>SYS\s*\.\s*)?(?P<package>\w+)\s*\.\s*(?P<name>\w+)\s*\((?P<arguments>.*)\)\Z",
    re.DOTALL | re.IGNORECASE,
)
_CHECK = re.compile(
    r"\AIF\s+(?P<what>\w+)\s+(?P<not>NOT\s+)?IN\s*\((?P<these>[\d,\s]+)\)\s+THEN\s+"
    r"RAISE_APPLICATION_ERROR\s*\(\s*-(?P<number>\d+)\s*,\s*'(?P<text>[^']*)'\s*\)\Z",
    re.DOTALL | re.IGNORECASE,
)
GRANTED, TIMEOUT, WRONG_PARAMETER, OWNED_BY_CALLER, NOT_OWNED = 0, 1, 3, 4, 4
HIGHEST_LOCK = 1_073_741_823  # of ids that applications choose themselves


def run_block(session: EmulatedSession, sql: str, binds: list[Bind]) -> None:
    """Run one anonymous block. Raises OracleError: ORA-06550 for what does not compile, ORA-03001 for the unknown."""
    block = _BLOCK.match(sql)
    if block is None:
        raise OracleError(6550, "line 1, column 1: PLS-00103: encountered an unexpected symbol")
    names = list(dict.fromkeys(binds_of(sql)))
    bound = dict(zip(names, binds, strict=True))
    variables: dict[str, int] = {}
    for statement in _statements(block["body"]):
        call, check = _CALL.match(statement), _CHECK.match(statement)
        if call and not call["owner"] and session.database.quirks.hostile_synonyms:
            raise OracleError(20666, f"a package of another user was found by the name {call['package']}")
        if call:
            answer = _call(session, call["package"].upper(), call["name"].upper(), _arguments(call["arguments"], bound))
            _assign(call["to"], answer, variables, bound)
        elif check:
            _check(check, variables)
        else:
            raise refuse(f"PL/SQL {statement[:40]}")


def _statements(body: str) -> list[str]:
    """Statements of a block; the end of an IF goes with it."""
    plain = re.sub(r"/\*.*?\*/|--[^\n]*", " ", body, flags=re.DOTALL)
    return [part for raw in plain.split(";") if (part := raw.strip()) and part.upper() not in ("END IF", "NULL")]


def _arguments(text: str, bound: dict[str, Bind]) -> dict[str, str | int | None]:
    """Named or positional arguments."""
    found: dict[str, str | int | None] = {}
    for at, part in enumerate(re.findall(r"(?:'[^']*'|[^,'])+", text)):
        name, arrow, value = part.partition("=>")
        key = name.strip().lower() if arrow else str(at)
        found[key] = _value((value if arrow else name).strip(), bound)
    return found


def _value(text: str, bound: dict[str, Bind]) -> str | int | None:
    if text.startswith(":"):
        value: str | int | None = bound[text[1:].strip().upper()].values[0]
        return value
    if text.startswith("'"):
        return text[1:-1]
    if text.upper() == "DBMS_LOCK.X_MODE":
        return 6
    if re.fullmatch(r"\d+", text):
        return int(text)
    if text.upper() in ("TRUE", "FALSE", "NULL"):
        return None if text.upper() == "NULL" else text.upper()
    raise refuse(f"PL/SQL value {text}")


def _call(session: EmulatedSession, package: str, name: str, given: dict[str, str | int | None]) -> int | None:
    if package == "DBMS_LOCK":
        if ("EXECUTE", "SYS.DBMS_LOCK") not in session.user.grants:
            raise OracleError(6550, "line 1, column 7: PLS-00201: identifier 'SYS.DBMS_LOCK' must be declared")
        return _lock(session, name, str(given.get("id", given.get("0"))))
    if (package, name) == ("HOTPLACE_FLUSH", "FLUSH_CACHE"):
        if ("EXECUTE", "HOTPLACE_FLUSH.FLUSH_CACHE") not in session.user.grants:
            raise OracleError(
                6550, "line 1, column 7: PLS-00201: identifier 'HOTPLACE_FLUSH.FLUSH_CACHE' must be declared"
            )
        session.database.flush_cache()
        return None
    if package == "DBMS_STATS" and name == "GATHER_TABLE_STATS":
        owner, table = (given.get(key, given.get(str(at))) for at, key in enumerate(("ownname", "tabname")))
        _gather(session, _identifier(str(owner)), _identifier(str(table)))
        return None
    if package == "DBMS_APPLICATION_INFO" and name == "SET_MODULE":
        session.client.module = str(given.get("module_name", given.get("0")) or "")
        session.client.action = str(given.get("action_name", given.get("1")) or "")
        return None
    raise refuse(f"{package}.{name}")


def _gather(session: EmulatedSession, owner: str, table: str) -> None:
    """Statistics of a table that a statement has made, by its owner."""
    database = session.database
    with database.changed:
        if owner != session.user.name or (owner, table) not in database.tables:
            raise OracleError(20000, f'Unable to analyze TABLE "{owner}"."{table}", insufficient privileges')
        if not database.tables[owner, table].columns:
            raise refuse("statistics of tables that no statement has made")
        database.engine.rows.gather(database.tables[owner, table], session)
        database.touch()


def _identifier(text: str) -> str:
    return text[1:-1] if text.startswith('"') else text.upper()


def _lock(session: EmulatedSession, name: str, lock: str) -> int:
    database = session.database
    if not 0 <= int(lock) <= HIGHEST_LOCK:
        return WRONG_PARAMETER
    with database.changed:
        holder = database.user_locks.get(lock)
        if name == "REQUEST":
            if holder is None:
                database.user_locks[lock] = session.session_id
                database.touch()
            return GRANTED if holder is None else OWNED_BY_CALLER if holder == session.session_id else TIMEOUT
        if name == "RELEASE":
            if holder != session.session_id:
                return NOT_OWNED
            del database.user_locks[lock]
            database.touch()
            return GRANTED
    raise refuse(f"DBMS_LOCK.{name}")


def _assign(to: str | None, answer: int | None, variables: dict[str, int], bound: dict[str, Bind]) -> None:
    if to is None or answer is None:
        return
    if to.startswith(":"):
        bind = bound[to[1:].upper()]
        bind.out, bind.assigned = answer, True
    else:
        variables[to.lower()] = answer


def _check(check: re.Match[str], variables: dict[str, int]) -> None:
    inside = variables[check["what"].lower()] in [int(number) for number in check["these"].split(",")]
    if inside != bool(check["not"]):
        raise OracleError(int(check["number"]), check["text"])
