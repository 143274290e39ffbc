"""Statements and queries of the connector, read by Microsoft's own parsers: ScriptDom of each version, and SqlParser.

``python -m tests.components`` brings the parsers and the compiler of mono-mcs; without them these tests skip. They are
of mid-2019, so a few words are younger than they are (``YOUNGER``): those are left out before asking, and read by
another parser in ``test_younger_words``. Statements for 2022 are read by SqlParser, which knows WAIT_AT_LOW_PRIORITY in
CREATE INDEX, and without it by ScriptDom of 2019.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from agent.studies.prove.script import script_of
from connectors.kit.clients import SQLCMD
from connectors.kit.proving import Scratch
from connectors.kit.rolling import Range
from connectors.kit.templates import StatementTemplate
from connectors.model.moves import Border, ByHand, NoRoute, Route, Step
from connectors.sqlserver import file_statements, partitions
from connectors.sqlserver.catalog import File
from connectors.sqlserver.ddl import ServerFeatures, may_partition
from connectors.sqlserver.definition import (
    CLUSTERED,
    CLUSTERED_COLUMNSTORE,
    HEAP,
    NONCLUSTERED,
    NONCLUSTERED_COLUMNSTORE,
    DataSpace,
    Definition,
    IndexColumn,
)
from connectors.sqlserver.engine import PROOF
from connectors.sqlserver.file_moves import FilePlace, file_route, removal_route
from connectors.sqlserver.file_statements import TempdbFile
from connectors.sqlserver.keys import Name
from connectors.sqlserver.partitions import PartitionedTable
from connectors.sqlserver.routes import by_hand, routes_of
from connectors.sqlserver.sessions import _REQUIRED, query, query_names
from tests.components import TSQL_GRAMMARS
from tests.deploy.places import DEPLOY
from tests.labs import clients
from tests.sqlserver.made import ID, NAME, NOTE, PAGES, bundle, index, key, settings, table
from tests.sqlserver.moving.test_switching import KEYS, ask, days, emptied
from tests.sqlserver.test_queries import SINCE
from tests.sqlserver.test_routes import PARTED, parted
from tests.unit.test_clients import file_of

pytestmark = [
    pytest.mark.skipif(shutil.which("mcs") is None, reason="needs mono-mcs"),
    pytest.mark.skipif(not TSQL_GRAMMARS.exists(), reason="no parsers, see tests/components.py"),
]
HERE = Path(__file__).parents[1] / "labs" / "sqlserver" / "grammars"
MAJORS = (11, 12, 13, 14, 15, 16)
NEWEST_READ = 15  # what ScriptDom knows
CLUSTERED_COLUMNSTORE_SINCE = 12
LIBRARIES = (
    "netstandard",
    "System.Private.CoreLib",
    "System.Runtime",
    "System.Runtime.Extensions",
    "System.Console",
    "Microsoft.SqlServer.TransactSql.ScriptDom",
    "Microsoft.SqlServer.SqlParser",
)
ANSWER_SECONDS = 120.0
YOUNGER = re.compile(
    r"OPTIMIZE_FOR_SEQUENTIAL_KEY = \w+, |(?<=EMPTYFILE\)) WITH WAIT_AT_LOW_PRIORITY \(ABORT_AFTER_WAIT = SELF\)"
)
UNKNOWN_TO_SQLPARSER = re.compile(r"(?<=IGNORE_DUP_KEY = ON) \(SUPPRESS_MESSAGES = ON\)|, RESUMABLE = \w+")
_LOW_PRIORITY = re.compile(r"(?<=ONLINE = ON) \(WAIT_AT_LOW_PRIORITY \([^)]*\)\)")
_NAME_OR_COMMENT = re.compile(r"""--[^\n]*|\[(?:[^\]]|\]\])*\]|'(?:[^']|'')*'|"(?:[^"]|"")*\"""")
LOB = table(index(unique=1, partitions=(replace(PAGES, lob_space_id=1, lob_pages=500),)), columns=(ID, NOTE))
Refusals = Callable[[Sequence[tuple[str, str]]], list[str]]


@pytest.fixture(scope="module")
def refusals(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Refusals]:
    """What the parsers say against each (parser, statement), "" where they take it. One process reads for all tests."""
    program = tmp_path_factory.mktemp("checker") / "Check.exe"
    libraries = [f"-r:{TSQL_GRAMMARS / library}.dll" for library in LIBRARIES]
    subprocess.run(
        ["mcs", "-noconfig", "-nostdlib", "-warn:0", *libraries, f"-out:{program}", str(HERE / "Check.cs")],
        check=True,
        timeout=120,
        capture_output=True,
    )
    command = [sys.executable, str(HERE / "host.py"), str(TSQL_GRAMMARS), str(program)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as reader:
        try:
            yield lambda asked: [_refusal(reader, parser, sql) for parser, sql in asked]
        finally:
            reader.kill()


def _refusal(reader: subprocess.Popen[str], parser: str, sql: str) -> str:
    """One answer to one line; a reader that says nothing is ended, and told of by the assertion."""
    assert reader.stdin is not None
    assert reader.stdout is not None
    alarm = threading.Timer(ANSWER_SECONDS, reader.kill)
    alarm.start()
    try:
        reader.stdin.write(f"{parser}\t{' '.join(_uncommented(sql).split())}\n")
        reader.stdin.flush()
        answer = reader.stdout.readline().rstrip("\n")
    finally:
        alarm.cancel()
    assert answer, f"the reader did not answer: {sql}"
    return "" if answer == "yes" else answer


def _uncommented(sql: str) -> str:
    """Without line comments, which would swallow the rest once it is one line; names and texts keep their hyphens."""
    return _NAME_OR_COMMENT.sub(lambda found: "" if found[0].startswith("--") else found[0], sql)


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "x")


def definitions(major: int) -> Iterator[tuple[Definition, tuple[str, ...]]]:
    """One of each kind that can move, with the units that move together."""
    name = Name("dbo", "orders", "i]x")
    columns = (key("a", 2), key("b", 1, descending=1), IndexColumn("c", 0, 0, 0, 1, 0))
    rich = index(
        NONCLUSTERED, "i]x", unique=1, fill_factor=80, padded=1, ignore_dup_key=1, suppress_messages=1, row_locks=0,
        sequential_key=1, no_recompute=1, columns=columns,
    )  # fmt: skip
    store = (replace(PAGES, compression="COLUMNSTORE"),)
    held = index(
        NONCLUSTERED_COLUMNSTORE, "i]x", index_id=2, columns=(IndexColumn("id", 0, 0, 0, 1, 0),), partitions=store
    )
    incremental = replace(PARTED, incremental=1)
    yield table(index(CLUSTERED, unique=1, primary_key=1)), (NAME.key,)
    yield table(index(), rich, name=name), (name.key,)
    yield table(index(), replace(rich, has_filter=1, filter="([a]>(1))"), name=name), (name.key,)
    yield table(index(), index(NONCLUSTERED, "i]x"), name=name), (name.key,)
    yield table(index(HEAP, None, columns=())), (NAME.key,)
    if major >= CLUSTERED_COLUMNSTORE_SINCE:
        yield (
            table(index(CLUSTERED_COLUMNSTORE, "cci", columns=(), partitions=store, compression_delay=60)),
            (NAME.key,),
        )
    yield table(index(), held, name=name), (name.key,)
    yield LOB, (NAME.key, f"{NAME.key} lob")
    yield parted(2, incremental), (replace(NAME, partition=2).key,)
    yield parted(1), tuple(replace(NAME, partition=number).key for number in (1, 2, 3))


def statements(major: int, edition: int = 3) -> list[str]:
    """Every statement that a move may send to that version, and those that are written down; one of each form."""
    server, found = ServerFeatures(major=major, edition=edition), [_REQUIRED]
    for definition, units in definitions(major):
        for resumable in ("no", "indexes", "all"):
            wishes = settings(lob_moves=True, resumable=resumable)
            routes = routes_of(definition, bundle(*units), "SSD", server, wishes)
            if isinstance(routes, NoRoute):
                # The large objects of an edition that makes no partitions: whatever else is refused is a mistake.
                assert (routes.code, may_partition(server), definition) == ("no_partitioning", False, LOB), routes
                continue
            found += [sql for route in routes for sql in _of(route)]
    for definition, keys in ((days(), KEYS), (days(partitions=emptied(2)), KEYS[:1])):
        alone = ask(definition, *keys, server=server)
        assert not isinstance(alone, NoRoute), (major, alone)
        found += [sql for route in alone for sql in _of(route)]
    file = File(2, "HDD", 0, 3, "it's]", "D:\\x.ndf", 12900, 25600, 10, "ONLINE", 12801, 1)
    wishes = settings(move_by="filegroup", disks={"fast": "S:\\"})
    place = FilePlace(database="a]pp", server=server, replicated=False, settings=wishes)
    route = file_route("HDD", bundle(), "fast", [file], place)
    assert isinstance(route, Route)
    other = replace(file, file_id=4, name="other")
    taken = replace(bundle(), unit_keys=(), physical_ids=(), container="it's]")
    gone = removal_route(taken, [file, other], place)
    assert isinstance(gone, Route)
    found += [*_of(route), *_of(gone), *_written(file, major), *_next()]
    written = by_hand(table(index()), bundle(), Border(column="id", value="5"), "SSD", server, settings())
    if isinstance(written, ByHand):  # no edition without partitions has it
        found += [sql for sql in written.statements if not sql.startswith("--")]
    return list({re.sub(r"/\*.*?\*/|hotplace_\w+", "", sql): sql for sql in found}.values())


def _next() -> Iterator[str]:
    """What makes the next partition of a table, with RANGE RIGHT and LEFT, where NEXT USED was set."""
    middays = [datetime(2026, 2, number, tzinfo=UTC) for number in (1, 2, 3)]
    common: dict[str, Any] = {"id": 0, "schema": "dbo", "name": "", "key": "", "space": "SSD", "size_bytes": 1}
    ranges = tuple(Range(low=low, high=high, **common) for low, high in pairwise(middays))
    for right in (True, False):
        scheme = DataSpace(9, "p]s", True, False, 0, "f]", 4, on_right=right)
        time_table = PartitionedTable(
            key="[dbo].[da]]ys]", schema="dbo", name="da]ys", time_format="%FT%T", ranges=ranges, why_not="",
            why_no_more="", scheme=scheme, function="f]", column="at", next_used="HDD", definition=table(index()),
        )  # fmt: skip
        template = partitions.next_template(time_table, "SSD", 2 * 86400, settings())
        assert isinstance(template, StatementTemplate), template
        for route in partitions.next_routes(time_table, template, middays[0], settings()):
            yield from _of(route)


def _of(route: Route) -> Iterator[str]:
    yield from route.prologue
    for step in (*route.steps, *route.undo_steps, *route.tidy_steps):
        yield from (s for s in (step.sql, step.pause_sql, step.resume_sql, step.undo_sql) if s and "-- " not in s)


def _written(file: File, major: int) -> Iterator[str]:
    """What a person fills in is filled in."""
    steps: list[Step] = []
    for way in (
        file_statements.filegroup_to_disk("a]pp", "HDD", [file], file_statements.FOLDER, major=major),
        file_statements.tempdb_files([TempdbFile("tempdev", "D:\\tempdev.mdf")]),
        file_statements.offline_files("a]pp", [file]),
    ):
        assert not isinstance(way, NoRoute)
        steps += way
    for step in steps:
        yield step.sql.replace("<", "").replace(">", "")


def reader_of(major: int) -> str:
    """ScriptDom of that version; of 2022 and newer the parser of Management Studio, which knows some of it."""
    return f"{major}0" if major <= NEWEST_READ else "SqlParser"


def readable(sql: str, major: int) -> str:
    """The statement without what the parser is too old to know."""
    known = YOUNGER.sub("", sql)
    return known if major <= NEWEST_READ else UNKNOWN_TO_SQLPARSER.sub("", known)


@pytest.mark.parametrize("edition", [2, 3], ids=["Standard", "Enterprise"])
@pytest.mark.parametrize("major", MAJORS)
def test_every_statement_is_one(refusals: Refusals, major: int, edition: int) -> None:
    """Whatever a move would send to a version, that version's parser knows it."""
    found = statements(major, edition)
    assert len(found) > 15
    told = refusals([(reader_of(major), readable(sql, major)) for sql in found])
    if major > NEWEST_READ:  # SqlParser does not know all of 2019 either
        second = refusals([("150", YOUNGER.sub("", sql)) for sql in found])
        told = [one and other for one, other in zip(told, second, strict=True)]
    assert [(sql, no) for sql, no in zip(found, told, strict=True) if no] == []


def test_statements_of_2022_are_those_of_2019_but_for_their_patience(refusals: Refusals) -> None:
    """Without WAIT_AT_LOW_PRIORITY ScriptDom of 2019 knows every one of them, and with it none that has it."""
    found = [YOUNGER.sub("", sql) for sql in statements(16)]
    patient = [sql for sql in found if _LOW_PRIORITY.search(sql)]
    assert len(patient) >= 5
    assert all(refusals([("150", sql) for sql in patient]))
    plain = [_LOW_PRIORITY.sub("", sql) for sql in found]
    assert [(s, no) for s, no in zip(plain, refusals([("150", s) for s in plain]), strict=True) if no] == []


def twins(statement: str) -> Iterator[str]:
    """The statement with one thing wrong: a word doubled, misspelt or too many, a parenthesis lost."""
    bare = statement.partition("*/ ")[2] or statement
    yield f"{bare} ) NOW"
    for word in (
        "INDEX",
        "SCHEME",
        "FUNCTION",
        "RESUME",
        "PAUSE",
        "ABORT",
        "SHRINKFILE",
        "SWITCH",
        "RANGE",
        "MERGE",
        "USED",
        "THROW",
        "CONSTRAINT",
    ):
        yield re.sub(rf"\b{word}\b", f"{word} , {word}", bare, count=1)
    yield bare.replace("DROP_EXISTING = ON", "DROP_EXISTING = MAYBE")
    yield bare.replace("DATA_COMPRESSION = PAGE", "DATA_COMPRESSION = TINY")
    # The last parenthesis that is no part of a text.
    texts = [found.span() for found in re.finditer(r"'(?:[^']|'')*'", bare)]
    closing = [at for at, sign in enumerate(bare) if sign == ")" and not any(low <= at < high for low, high in texts)]
    if closing:
        yield bare[: closing[-1]] + bare[closing[-1] + 1 :]


@pytest.mark.parametrize("major", [11, 15])
def test_broken_twins_are_rejected(refusals: Refusals, major: int) -> None:
    """The parsers do notice: a statement with one thing wrong is not taken."""
    broken = [(sql, twin) for sql in statements(major) for twin in twins(sql) if twin not in sql]
    assert len(broken) > 60
    told = refusals([(reader_of(major), twin) for _, twin in broken])
    assert [twin for (_, twin), no in zip(broken, told, strict=True) if not no] == []


@pytest.mark.parametrize(
    ("word", "since"),
    [
        ("STATISTICS_INCREMENTAL", 12),
        ("COMPRESSION_DELAY", 13),
        ("SUPPRESS_MESSAGES", 14),
        ("OPTIMIZE_FOR_SEQUENTIAL_KEY", 15),
        ("RESUMABLE = O", 15),
        ("WAIT_AT_LOW_PRIORITY", 16),
    ],
)
def test_what_is_newer_is_not_sent_to_an_older_server(refusals: Refusals, word: str, since: int) -> None:
    """No statement for the version before has the word, and that version's parser would refuse those that do."""
    creating = [sql for sql in statements(since) if word in sql and "CREATE" in sql]
    assert creating
    assert not [sql for sql in statements(since - 1) if word in sql and "CREATE" in sql]
    assert all(refusals([(f"{since - 1}0", sql) for sql in creating]))


@pytest.mark.parametrize("major", MAJORS[:-1])
def test_every_query_is_one(refusals: Refusals, major: int) -> None:
    """Each query as this version is sent it, read by the parser of that version; a broken twin is refused."""
    asked = [query(name, major).replace("?", "1") for name in sorted(query_names()) if major >= SINCE.get(name, 11)]
    parser = reader_of(major)
    assert [(sql, no) for sql, no in zip(asked, refusals([(parser, s) for s in asked]), strict=True) if no] == []
    assert all(refusals([(parser, f"{sql} FROM FROM") for sql in asked]))


@pytest.mark.parametrize("major", [12, NEWEST_READ])
def test_every_statement_of_a_proof_is_one(refusals: Refusals, major: int) -> None:
    """What `hotplace lab prove` makes, asks, compares and drops, the calls that describe queries included."""
    script = script_of(PROOF, Scratch(schema="scratch", slow="hdd", fast="ssd"))
    known = (sql for _, sql in script.statements() if major >= 13 or "SECURITY POLICY" not in sql)  # since 2016
    found = [sql for sql in known if "-- {" not in sql]
    assert len(found) > 100
    told = refusals([(reader_of(major), sql) for sql in found])
    assert [(sql, no) for sql, no in zip(found, told, strict=True) if no] == []


def test_what_prove_flushes_by_is_read(refusals: Refusals) -> None:
    """Each batch of the script that a DBA installs; a word too many is not taken."""
    script = (DEPLOY / "live" / "sqlserver-flush.sql").read_text(encoding="utf-8")
    text = re.sub(r"\$\((\w+)\)", r"\1", re.sub(r"^(--|:on ).*$", "", script, flags=re.MULTILINE))
    batches = [part.strip() for part in re.split(r"^GO$", text, flags=re.MULTILINE) if part.strip()]
    assert len(batches) >= 6
    told = refusals([("150", sql) for sql in batches])
    assert [(sql, no) for sql, no in zip(batches, told, strict=True) if no] == []
    assert all(refusals([("150", f"{sql} ) NOW") for sql in batches]))


def files_of_names(name: str) -> Iterator[str]:
    """Files for sqlcmd in which all bears that name: an index that is built elsewhere, and a filegroup that moves."""
    spaces = {1: DataSpace(1, f"{name} hdd", False, False, 1), 2: DataSpace(2, f"{name} ssd", False, False, 1)}
    column, own = replace(ID, name=name), Name(name, name)
    held = index(name=name, columns=(key(name),)), index(NONCLUSTERED, f"{name} ix", columns=(key(name),))
    definition = table(*held, name=own, columns=(column,), spaces=spaces)
    moved = replace(bundle(own.key), space=spaces[1].name)
    found = routes_of(definition, moved, spaces[2].name, ServerFeatures(major=15, edition=3), settings())
    assert not isinstance(found, NoRoute), found
    file = File(2, spaces[1].name, 0, 3, name, "D:\\x.ndf", 12900, 25600, 10, "ONLINE", 12801, 1)
    wishes = settings(move_by="filegroup", disks={"fast": "S:\\"})
    place = FilePlace(database=name, server=ServerFeatures(major=15, edition=3), replicated=False, settings=wishes)
    route = file_route(spaces[1].name, moved, "fast", [file], place)
    assert isinstance(route, Route), route
    yield from (file_of(each, SQLCMD) for each in (*found, route))


def test_every_batch_of_a_file_is_one(refusals: Refusals) -> None:
    """What sqlcmd makes of a file by hand, whatever its names hold; the opening and what follows each batch, too."""
    texts = [text for name in clients.NAMES for text in files_of_names(name)]
    sent = list(dict.fromkeys(batch for text in texts for batch in clients.sqlcmd(text)))
    assert len(sent) > 3 * len(clients.NAMES)
    asked = [YOUNGER.sub("", batch) for batch in sent]
    told = refusals([(f"{NEWEST_READ}0", batch) for batch in asked])
    assert [(batch, no) for batch, no in zip(asked, told, strict=True) if no] == []
    assert all(refusals([(f"{NEWEST_READ}0", f"{batch} ) NOW") for batch in asked if "[" in batch]))
