"""Tables of the doctor: the loop that reads them, and what holds for every row of every engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import cast

import pytest

from connectors.db2 import doctor as of_db2
from connectors.kit.checks import STATEMENTS, CheckCase, DoctorCheck, Facts, findings_of, unseen_statements
from connectors.kit.findings import Finding, Remedy, RemedyKind, Severity
from connectors.model.observation import Catalog
from connectors.oracle import doctor as of_oracle
from connectors.postgresql import doctor as of_postgresql
from connectors.postgresql.sessions import ReadSession, query
from connectors.sqlserver import doctor as of_sqlserver

OK, WARNING = Severity.OK, Severity.WARNING
TABLES = {
    "postgresql": of_postgresql.CHECKS,
    "db2": of_db2.CHECKS,
    "sqlserver": of_sqlserver.CHECKS,
    "oracle": of_oracle.CHECKS,
}


def said(check: DoctorCheck, *facts: Facts) -> list[Finding]:
    """What a table of one check says."""
    return list(findings_of([check], {check.facts: lambda: facts}))


def test_the_first_case_that_applies_speaks() -> None:
    """``when`` and ``unless`` name facts; where no case applies nothing is said."""
    check = DoctorCheck("space", (CheckCase(WARNING, "full", "{name} is full", when="full"),
                            CheckCase(OK, "free", "{name} has room", unless="hidden")))  # fmt: skip
    facts = {"name": "fast", "full": True, "hidden": False}
    assert [each.sentence for each in said(check, facts, {**facts, "full": False})] == ["fast is full", "fast has room"]
    assert not said(check, {"name": "fast", "full": False, "hidden": True})


def test_every_case_speaks_where_that_is_asked() -> None:
    """In the order of the table, thing by thing."""
    check = DoctorCheck("space", (CheckCase(OK, "a", "a {name}"), CheckCase(OK, "b", "b {name}")), every=True)
    assert [each.sentence for each in said(check, {"name": 1}, {"name": 2})] == ["a 1", "b 1", "a 2", "b 2"]


def test_what_is_not_there_is_said_too() -> None:
    """Where nothing was read the check has a sentence for that, or says nothing."""
    alone = CheckCase(WARNING, "one", "one")
    assert [each.code for each in said(DoctorCheck("x", (alone,), nothing=CheckCase(OK, "none", "none")))] == ["none"]
    assert not said(DoctorCheck("x", (alone,)))


def test_facts_are_read_once_and_when_they_are_needed() -> None:
    """A server is asked in the order of the table, and what no check names is not asked."""
    asked: list[str] = []

    def reader(name: str) -> Callable[[], Iterator[Facts]]:
        def read() -> Iterator[Facts]:
            asked.append(name)
            yield {}

        return read

    case = (CheckCase(OK, "a", "a"),)
    list(
        findings_of(
            [DoctorCheck("b", case), DoctorCheck("a", case), DoctorCheck("b", case)],
            {name: reader(name) for name in "abc"},
        )
    )
    assert asked == ["b", "a"]


def test_a_remedy_keeps_what_it_gives_away() -> None:
    """Filled from the facts, or a fact itself; a server's words that would hand it over are never printed."""
    case = CheckCase(WARNING, "a", "a", Remedy("GRANT SELECT ON {view} TO x;", "what {view} shows"))
    found = case.finding({"view": "v"}).mends
    assert (str(found), found.gives, found.kind) == ("GRANT SELECT ON v TO x;", "what v shows", RemedyKind.WIDENS)
    fact = Remedy("GRANT SELECT ON v TO x;", "all of {v}")
    assert CheckCase(WARNING, "a", "a", "{remedy}").finding({"remedy": fact}).mends is fact
    never = CheckCase(WARNING, "a", "a", "{remedy}").finding({"remedy": "GRANT DBA TO x;"}).mends
    assert never.kind is RemedyKind.NEVER


def test_a_size_has_its_unit_and_a_foreign_name_no_meaning() -> None:
    """Braces in a name are a name."""
    case = CheckCase(WARNING, "a", "{name} takes {size:bytes}", values={"bytes": "{size}"})
    found = case.finding({"name": "{size}", "size": 2048})
    assert (found.sentence, found.values) == ("{size} takes 2.0 KiB", {"bytes": "2048"})


def test_statements_are_said_in_the_same_words_everywhere() -> None:
    """Why they are not seen, with what mends it."""
    (found,) = said(STATEMENTS, unseen_statements("it is off", "Switch it on."))
    assert (found.sentence, found.remedy) == (
        "it is off: outcomes cannot say which statements became slower or faster", "Switch it on.",
    )  # fmt: skip
    assert [each.code for each in said(STATEMENTS, unseen_statements("", ""))] == ["statements"]


def cases_of(engine: str) -> list[CheckCase]:
    """Every row of its tables."""
    return [
        case for check in TABLES[engine] for case in (*check.cases, check.nothing) if case is not None
    ]  # fmt: skip


# Of these nothing can be mended: what the configuration allows by name, and what an old release does not have.
WITHOUT_REMEDY = frozenset({("remote_apply", "replay_allowed"), ("mon_obj_metrics_absent", "too_old")})


@pytest.mark.parametrize("engine", TABLES)
def test_what_is_well_needs_no_remedy_and_what_is_wrong_has_one(engine: str) -> None:
    """A finding that only says what is wrong leaves its reader alone with it."""
    for case in cases_of(engine):
        mended = case.severity is not OK and (case.code, case.when) not in WITHOUT_REMEDY
        assert bool(case.remedy) is mended, case


@pytest.mark.parametrize("engine", TABLES)
def test_what_a_grant_gives_away_is_said_by_who_wrote_it(engine: str) -> None:
    """The words for a grant whose price no one wrote down are for servers' advice alone."""
    for case in cases_of(engine):
        remedy = Remedy(case.remedy)
        assert remedy.kind is not RemedyKind.NEVER, case
        assert not remedy.startswith("GRANT ") or remedy.gives != Remedy("GRANT x TO y;").gives, case


class Rows:
    """A session of a PostgreSQL that answers each query with rows that are given by its name."""

    def __init__(self, **rows: list[tuple[object, ...]]) -> None:
        """Rows by the name of the query."""
        self._rows = {query(name): found for name, found in rows.items()}

    def rows(self, statement: bytes, values: object = None, *, doing: str, name: str = "") -> list[tuple[object, ...]]:
        """Those of its name; none of another."""
        del values, doing, name
        return self._rows.get(statement, [])


SOUND = ("16.2", 160002, "hp", True, True, True, True, False, None, "")
WRONG = ("13.1", 130002, "hp", False, False, False, False, True, None, "Amazon RDS or Aurora")
NO_REPLICA: list[tuple[object, ...]] = [("", "on", False, [], [])]
REPLICAS: list[tuple[object, ...]] = [("s", "remote_apply", True, [("s", "sync", None)], [("slot", 5)])]
NO_LOOKS: list[tuple[object, ...]] = [(False, False, False, "hp", 1, 1)]
EXTENSION: list[tuple[object, ...]] = [("ext", "1.10", True, True)]


def space(name: str, path: str, free: int | None, lost: str = "") -> SimpleNamespace:
    """What the doctor looks at of one."""
    return SimpleNamespace(name=name, path=path, free_bytes=free, lost=lost)


SPACES = [space("a", "/", 1), space("b", "/dev/shm", None), space("c", "", None, "gone")]


def examined(session: Rows, *left_out: str, allowed: bool) -> set[tuple[Severity, str]]:
    """What the doctor of PostgreSQL says."""
    found = of_postgresql.examine(
        cast(ReadSession, session), cast(Catalog, SimpleNamespace(spaces=SPACES)), left_out,
        remote_apply_allowed=allowed, local=True,
    )  # fmt: skip
    return {(each.severity, each.code) for each in found}


def test_every_row_of_postgresqls_table_is_reached() -> None:
    """By a sound server, one with all that can be wrong, and one that is too new: every name of a fact is right."""
    sound = Rows(
        doctor=[SOUND], doctor_spaces=[("fast", "fast", "hp", True)], unknown_files_may=[("hp", False, True)],
        replication=NO_REPLICA, statements_place=EXTENSION, blocks_may=[(True, True, True, "hp", 1, 1)],
    )  # fmt: skip
    wrong = Rows(
        doctor=[WRONG], doctor_spaces=[("fast", "fast", "hp", False)], unknown_files_may=[("hp", False, False)],
        doctor_owners=[
            ("o", "o", "hp", 1, 1, "s.t", "r", "o", "o", "d", "d"), ("p",) * 2 + ("hp", 1, 1, "s.t") + ("p",) * 5,
        ],
        role_powers=[("p", "SUPERUSER")], lease_holder=[(1, "n", "local", "r", False, False)],
        doctor_obstacles=[(kind, "n", "d") for kind in ("read_only", "event_trigger", "index_function")],
        doctor_split=[("s", "o", 1)], unfinished_indexes=[("i", "t", "fast", 1, True)], replication=REPLICAS,
        blocks_may=NO_LOOKS,
    )  # fmt: skip
    newer = Rows(
        doctor=[(SOUND[0], 990000, *SOUND[2:])], unknown_files_may=[("hp", False, True)], replication=REPLICAS,
        unknown_files=[("fast", 1, 1, "f")], blocks_may=NO_LOOKS,
    )  # fmt: skip
    reached = examined(sound, allowed=False) | examined(wrong, "a\\xff", allowed=False) | examined(newer, allowed=True)
    assert reached == {(case.severity, case.code) for case in cases_of("postgresql")}
