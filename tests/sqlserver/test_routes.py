"""Statements of moves, and why there is none; expected texts are written by hand from the documentation's grammar."""

from __future__ import annotations

from dataclasses import replace

import pytest

from connectors.model.moves import Bundle, NoRoute, Route
from connectors.sqlserver.ddl import ServerFeatures, type_of
from connectors.sqlserver.definition import (
    CLUSTERED,
    CLUSTERED_COLUMNSTORE,
    HEAP,
    NONCLUSTERED,
    SPATIAL,
    XML,
    DataSpace,
    Definition,
    IndexColumn,
    IndexDefinition,
    Partition,
    TableColumn,
)
from connectors.sqlserver.keys import Name
from connectors.sqlserver.routes import routes_of, tag_of
from tests.sqlserver.made import ID, NAME, NOTE, OWNER, PAGES, bundle, index, key, settings, table

ENTERPRISE_2019, STANDARD_2019 = ServerFeatures(major=15, edition=3), ServerFeatures(major=15, edition=2)
MANAGED = ServerFeatures(major=99, edition=8)


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "x")


def found(
    definition: Definition | None,
    server: ServerFeatures = ENTERPRISE_2019,
    moved: Bundle | None = None,
    **values: object,
) -> tuple[Route, ...]:
    """Routes of a table's bundle to SSD."""
    routes = routes_of(definition, moved or bundle(), "SSD", server, settings(**values))
    assert isinstance(routes, tuple), routes
    return routes


def refused(
    definition: Definition | None, server: ServerFeatures = ENTERPRISE_2019, to_space: str = "SSD", **values: object
) -> str:
    """Code of the reason why there is none."""
    unit = NAME if definition is None else definition.name
    reason = routes_of(definition, bundle(unit.key), to_space, server, settings(**values))
    assert isinstance(reason, NoRoute), reason
    assert reason.sentence
    return reason.code


def statements(route: Route) -> list[str]:
    """Of the steps, without the tag."""
    return [step.sql.partition("*/ ")[2] for step in route.steps]


def test_a_clustered_index_is_built_anew_on_the_other_filegroup() -> None:
    """Online first, everything stated, the log and a fifth of room counted: 1000 pages are 8,192,000 bytes."""
    online, offline = found(table(index()))
    assert statements(online) == [
        (
            "CREATE CLUSTERED INDEX [pk] ON [dbo].[orders] ([id] ASC) WITH (DROP_EXISTING = ON, PAD_INDEX = OFF, "
            "STATISTICS_NORECOMPUTE = OFF, IGNORE_DUP_KEY = OFF, ALLOW_ROW_LOCKS = ON, ALLOW_PAGE_LOCKS = ON, "
            "FILLFACTOR = 100, "
            "OPTIMIZE_FOR_SEQUENTIAL_KEY = OFF, SORT_IN_TEMPDB = OFF, MAXDOP = 1, ONLINE = ON, "
            "RESUMABLE = OFF, DATA_COMPRESSION = PAGE) ON [SSD]"
        )
    ]
    assert online.undo_steps[0].sql.endswith("ON [HDD]")
    assert (online.online, offline.online) == (True, False)
    assert "ONLINE = OFF" in offline.steps[0].sql
    assert online.log_bytes == 9_830_400
    assert online.transient_bytes == 1_638_400
    assert online.steps[0].sql.startswith(tag_of(online))
    assert tag_of(online) != tag_of(offline)


def test_pitfall_13_every_property_is_stated() -> None:
    """Pitfall 13: directions, INCLUDE, WHERE, fill factor, locks, duplicates, statistics and compression survive."""
    rich = index(
        NONCLUSTERED,
        "i]x",
        index_id=4,
        unique=1,
        fill_factor=80,
        padded=1,
        ignore_dup_key=1,
        suppress_messages=1,
        row_locks=0,
        page_locks=0,
        sequential_key=1,
        no_recompute=1,
        has_filter=1,
        filter="([a]>(1))",
        columns=(key("a", 2), key("b", 1, descending=1), IndexColumn("c", 0, 0, 0, 1, 0)),
        partitions=(replace(PAGES, compression="NONE"),),
    )
    online, _ = found(table(index(), rich, name=Name("dbo", "orders", "i]x")))
    assert statements(online) == [
        (
            "CREATE UNIQUE NONCLUSTERED INDEX [i]]x] ON [dbo].[orders] ([b] DESC, [a] ASC) INCLUDE ([c]) "
            "WHERE ([a]>(1)) WITH (DROP_EXISTING = ON, PAD_INDEX = ON, STATISTICS_NORECOMPUTE = ON, "
            "IGNORE_DUP_KEY = ON (SUPPRESS_MESSAGES = ON), ALLOW_ROW_LOCKS = OFF, ALLOW_PAGE_LOCKS = OFF, "
            "FILLFACTOR = 80, OPTIMIZE_FOR_SEQUENTIAL_KEY = ON, SORT_IN_TEMPDB = OFF, MAXDOP = 1, ONLINE = ON, "
            "RESUMABLE = OFF, DATA_COMPRESSION = NONE) ON [SSD]"
        )
    ]


def test_pitfall_11_no_statement_is_an_alter_index() -> None:
    """Pitfall 11: ALTER INDEX REBUILD has no ON and moves nothing."""
    assert all("ALTER INDEX" not in sql for route in found(table(index())) for sql in statements(route))


def test_pitfall_12_other_indexes_are_said_to_stay() -> None:
    """Pitfall 12: each index has a data space of its own."""
    assert any("other indexes" in note for note in found(table(index()))[0].notes)


def test_pitfall_14_a_hidden_filter_is_not_no_filter() -> None:
    """Pitfall 14: filter_definition NULL with has_filter means that this login may not see it."""
    hidden = index(NONCLUSTERED, "ix", has_filter=1, filter=None)
    assert refused(table(index(), hidden, name=Name("dbo", "orders", "ix"))) == "filter_hidden"


@pytest.mark.parametrize("kind", [XML, SPATIAL])
def test_pitfall_15_xml_and_spatial_indexes_hold_the_key_fast(kind: int) -> None:
    """Pitfall 15: the server would answer with error 1996."""
    assert refused(table(index(primary_key=1), index(kind, "x", index_id=256000))) == "xml_or_spatial"


VECTOR, JSON = 8, 9


@pytest.mark.parametrize("kind", [VECTOR, JSON, 77])
@pytest.mark.parametrize(
    "base",
    [
        index(),
        index(primary_key=1, unique=1),
        index(HEAP, None, columns=()),
        index(CLUSTERED_COLUMNSTORE, "cci", columns=()),
    ],
)
def test_an_index_of_an_unknown_type_keeps_its_table_where_it_is(kind: int, base: IndexDefinition) -> None:
    """What is not on the list of known types is refused by its type and its name, and refused again."""
    definition = table(base, index(kind, "new one", index_id=256000))
    for _ in range(2):
        reason = routes_of(definition, bundle(), "SSD", ENTERPRISE_2019, settings())
        assert isinstance(reason, NoRoute)
        assert reason.code == "unknown_index"
        assert f"new one is an index of type {kind}" in reason.sentence


def test_a_plain_index_beside_one_of_an_unknown_type_moves_unless_it_is_a_key() -> None:
    """An index of which rows do not move is not touched; a unique one may be what the unknown one refers to."""
    other = index(JSON, "new one", index_id=256000)
    assert found(table(index(), IX, other, name=IX_NAME), moved=bundle(IX_NAME.key))
    assert refused(table(index(), replace(IX, unique=1), other, name=IX_NAME)) == "unknown_index"


def test_an_unknown_way_of_storing_rows_is_refused_by_its_name() -> None:
    """A compression that the connector cannot state would be reset by the rebuild."""
    zipped = index(partitions=(replace(PAGES, compression="ZSTD"),))
    reason = routes_of(table(zipped), bundle(), "SSD", ENTERPRISE_2019, settings())
    assert isinstance(reason, NoRoute)
    assert reason.code == "unknown_compression"
    assert "ZSTD" in reason.sentence


def test_a_table_of_an_unknown_kind_is_refused() -> None:
    """temporal_type has three values; another one is a kind of table that nothing is known of."""
    assert refused(table(index(), owner=replace(OWNER, temporal_type=3))) == "unknown_table"


def test_the_history_of_a_temporal_table_is_rebuilt_as_any_other_index() -> None:
    """With versioning on; what takes more than a rebuild of an index that stays is refused."""
    owner = replace(OWNER, temporal_type=1)
    assert found(table(index(), owner=owner))
    assert found(table(index(), IX, owner=owner, name=IX_NAME), moved=bundle(IX_NAME.key))
    assert refused(table(index(HEAP, None, columns=()), owner=owner)) == "history_table"
    big = index(partitions=(replace(PAGES, lob_space_id=1, lob_pages=500),))
    both = bundle(NAME.key, f"{NAME.key} lob")
    reason = routes_of(table(big, owner=owner), both, "SSD", ENTERPRISE_2019, settings(lob_moves=True))
    assert isinstance(reason, NoRoute)
    assert reason.code == "history_table"


def test_pitfall_16_large_objects_stay() -> None:
    """Pitfall 16: a rebuild leaves them, so their unit has no route and the table's says so."""
    with_lob = index(partitions=(replace(PAGES, lob_space_id=1, lob_pages=500),))
    assert refused(table(with_lob, name=replace(NAME, lob=True))) == "lob_stays"
    assert any("LOB stays" in note for note in found(table(with_lob))[0].notes)


def test_pitfall_16_large_objects_follow_through_a_partition_scheme() -> None:
    """Pitfall 16: to a scheme in the target and off it again, and the helpers are removed."""
    with_lob = index(unique=1, partitions=(replace(PAGES, lob_space_id=1, lob_pages=500),))
    definition = table(with_lob, columns=(ID, NOTE))
    route = found(definition, moved=bundle(NAME.key, f"{NAME.key} lob"), lob_moves=True)[0]
    made = f"[hotplace_{tag_of(route).split()[-1]}]"
    first, second, third, fourth, fifth, sixth = statements(route)
    assert first == f"CREATE PARTITION FUNCTION {made} (int) AS RANGE RIGHT FOR VALUES (NULL)"
    assert second == f"CREATE PARTITION SCHEME {made} AS PARTITION {made} TO ([SSD], [SSD])"
    assert third.endswith(f"ON {made} ([id])")
    assert fourth.endswith("ON [SSD]")
    assert (fifth, sixth) == (f"DROP PARTITION SCHEME {made}", f"DROP PARTITION FUNCTION {made}")
    assert route.transient_bytes == round(1.2 * 8_192_000)


def test_large_objects_that_move_have_every_other_index_rebuilt_twice() -> None:
    """The table of 1,000 pages and its index of 1,000 are written twice each: 4,000 pages of log, a fifth on top."""
    with_lob = index(unique=1, partitions=(replace(PAGES, lob_space_id=1, lob_pages=500),))
    definition = table(with_lob, IX, columns=(ID, NOTE))
    route = found(definition, moved=bundle(NAME.key, f"{NAME.key} lob"), lob_moves=True)[0]
    assert route.log_bytes == round(1.2 * 4 * 8_192_000)


def test_pitfall_17_standard_edition_builds_offline() -> None:
    """Pitfall 17: ONLINE is error 1712 there, in 2025's Standard Developer edition too, which is edition 2 as well."""
    (route,) = found(table(index()), STANDARD_2019)
    assert not route.online
    assert "ONLINE = OFF" in route.steps[0].sql
    assert refused(table(index()), STANDARD_2019, offline_moves=False) == "no_online_build"


@pytest.mark.parametrize(("major", "expected", "milliseconds"), [(15, False, 10_000), (16, True, 60_000)])
def test_pitfall_18_low_priority_since_2022(major: int, expected: bool, milliseconds: int) -> None:
    """Pitfall 18: in CREATE INDEX it is a syntax error before. LOCK_TIMEOUT leaves it its minute."""
    route = found(table(index()), ServerFeatures(major=major, edition=3))[0]
    said = "ONLINE = ON (WAIT_AT_LOW_PRIORITY (MAX_DURATION = 1 MINUTES, ABORT_AFTER_WAIT = SELF))"
    assert (said in route.steps[0].sql) is expected
    assert route.prologue == (f"SET LOCK_TIMEOUT {milliseconds}",)
    assert route.lock_seconds == (0.0 if expected else 10.0)
    assert ("behind which others queue" in route.locks) is not expected


def test_what_loses_nothing_waits_shortly() -> None:
    """Offline nothing is copied before the lock is there, and a resumable build only pauses: half a second."""
    several = found(table(index(), IX, name=IX_NAME), ENTERPRISE_2019, moved=bundle(IX_NAME.key), resumable="indexes")
    assert [route.prologue for route in several if "online" not in route.name] == [("SET LOCK_TIMEOUT 500",)] * 2


def test_pitfall_19_drop_existing_is_resumable_only_where_somebody_says_so() -> None:
    """Pitfall 19: whether the two go together differs by server (error 10665); RESUMABLE = OFF is stated otherwise."""
    assert all("RESUMABLE = ON" not in sql for route in found(table(index()), MANAGED) for sql in statements(route))
    first, online, _ = found(table(index()), MANAGED, resumable="all")
    assert "DROP_EXISTING = ON" in statements(first)[0]
    assert "RESUMABLE = ON" in statements(first)[0]
    assert "RESUMABLE = OFF" in statements(online)[0]
    assert first.steps[0].pausable
    assert not online.steps[0].pausable


IX = index(NONCLUSTERED, "ix")
IX_NAME = Name("dbo", "orders", "ix")


def test_a_nonclustered_index_is_built_beside_the_old_one() -> None:
    """Resumable, with PAUSE, RESUME and ABORT of its own; then it takes the old one's place in one transaction."""
    route = found(table(index(), IX, name=IX_NAME), resumable="indexes", moved=bundle(IX_NAME.key))[0]
    made = f"hotplace_{tag_of(route).split()[-1]}"
    create, swap = statements(route)
    assert create == (
        f"CREATE NONCLUSTERED INDEX [{made}] ON [dbo].[orders] ([id] ASC) WITH (PAD_INDEX = OFF, "
        "STATISTICS_NORECOMPUTE = OFF, IGNORE_DUP_KEY = OFF, ALLOW_ROW_LOCKS = ON, ALLOW_PAGE_LOCKS = ON, "
        "FILLFACTOR = 100, "
        "OPTIMIZE_FOR_SEQUENTIAL_KEY = OFF, SORT_IN_TEMPDB = OFF, MAXDOP = 1, ONLINE = ON, RESUMABLE = ON, "
        "DATA_COMPRESSION = PAGE) ON [SSD]"
    )
    assert swap == (
        "BEGIN TRANSACTION; DROP INDEX [ix] ON [dbo].[orders]; EXEC sys.sp_rename "
        f"@objname = N'[dbo].[orders].[{made}]', @newname = N'ix', @objtype = N'INDEX'; COMMIT TRANSACTION"
    )
    step = route.steps[0]
    assert step.pause_sql.partition("*/ ")[2] == f"ALTER INDEX [{made}] ON [dbo].[orders] PAUSE"
    assert step.resume_sql.partition("*/ ")[2] == (
        f"ALTER INDEX [{made}] ON [dbo].[orders] RESUME WITH "
        "(WAIT_AT_LOW_PRIORITY (MAX_DURATION = 1 MINUTES, ABORT_AFTER_WAIT = SELF))"
    )
    assert step.undo_sql.partition("*/ ")[2] == f"ALTER INDEX [{made}] ON [dbo].[orders] ABORT"
    assert all(text.startswith(tag_of(route)) for text in (step.pause_sql, step.resume_sql, step.undo_sql))
    assert not route.steps[1].pausable


TIMESTAMP = TableColumn("stamp", "timestamp", 8, 0, 0, None, 0, 0)
COMPUTED = replace(ID, name="twice", computed=1)


@pytest.mark.parametrize(
    ("definition", "server"),
    [
        (table(index(), IX, name=IX_NAME), ServerFeatures(major=14, edition=3)),  # CREATE INDEX since 2019
        (table(index(), IX, name=IX_NAME), STANDARD_2019),  # 11905
        (table(index(HEAP, None, columns=()), IX, name=IX_NAME), ENTERPRISE_2019),  # 10668
        (table(index(CLUSTERED_COLUMNSTORE, "cci", columns=()), IX, name=IX_NAME), ENTERPRISE_2019),  # 10669
        (
            table(
                index(),
                replace(IX, columns=(key("id"), IndexColumn("note", 0, 0, 0, 1, 0))),
                columns=(ID, NOTE),
                name=IX_NAME,
            ),
            ENTERPRISE_2019,  # 10670
        ),
        (table(index(), replace(IX, has_filter=1, filter="([id]>(1))"), name=IX_NAME), ENTERPRISE_2019),  # 10671
        (
            table(index(), replace(IX, columns=(key("stamp"),)), columns=(ID, TIMESTAMP), name=IX_NAME),
            ENTERPRISE_2019,  # 10639
        ),
        (
            table(index(columns=(key("twice"),)), IX, columns=(ID, COMPUTED), name=IX_NAME),
            ENTERPRISE_2019,  # 10644, by way of the clustered key
        ),
    ],
)
def test_pitfall_19_what_cannot_be_resumed_is_not_asked_to_be(definition: Definition, server: ServerFeatures) -> None:
    """Pitfall 19: the exclusions of the message catalog; a plain route is there all the same."""
    routes = found(definition, server, bundle(IX_NAME.key), resumable="all")
    assert not any(step.pausable for route in routes for step in route.steps)


@pytest.mark.parametrize("values", [{"unique": 1}, {"unique_constraint": 1, "unique": 1}])
def test_an_index_that_others_lean_on_has_no_twin(values: dict[str, int]) -> None:
    """A foreign key or a full-text index may need it: it is never dropped."""
    unique = replace(IX, **values)  # type: ignore[arg-type]  # fields by name
    routes = found(table(index(), unique, name=IX_NAME), moved=bundle(IX_NAME.key), resumable="indexes")
    assert not any("DROP INDEX" in sql for route in routes for sql in statements(route))


def test_pitfall_19_a_filtered_index_keeps_the_clustered_one_from_being_resumable() -> None:
    """Pitfall 19: error 10672."""
    filtered = replace(IX, has_filter=1, filter="([id]>(1))")
    assert not found(table(index(), filtered), resumable="all")[0].steps[0].pausable
    assert found(table(index(), IX), resumable="all")[0].steps[0].pausable


def test_pitfall_23_the_filegroup_is_always_named() -> None:
    """Pitfall 23: a filegroup called default is quoted, which is a name, and a target that is not one is refused."""
    assert refused(table(index()), to_space="default") == "no_space"


def test_pitfall_33_managed_instance_is_the_newest() -> None:
    """Pitfall 33: it reports version 12 and takes what 2022 takes."""
    assert "WAIT_AT_LOW_PRIORITY" in found(table(index()), MANAGED)[0].steps[0].sql


def test_pitfall_42_a_disabled_index_is_left_alone() -> None:
    """Pitfall 42: building it would enable it."""
    disabled = index(NONCLUSTERED, "ix", disabled=1)
    assert refused(table(index(), disabled, name=Name("dbo", "orders", "ix"))) == "disabled_index"


def test_a_heap_is_carried_by_a_clustered_index() -> None:
    """By its narrowest column that is never null; made a heap again in the target; twice the log, others counted."""
    heap = index(HEAP, None, columns=())
    wide, small = replace(ID, name="wide", max_length=8), replace(ID, name="small", max_length=2, nullable=1)
    other = index(NONCLUSTERED, "ix", partitions=(replace(PAGES, row_pages=100),))
    route = found(table(heap, other, columns=(wide, ID, small)))[0]
    made = f"[hotplace_{tag_of(route).split()[-1]}]"
    assert statements(route) == [
        (
            f"CREATE CLUSTERED INDEX {made} ON [dbo].[orders] ([id] ASC) WITH (SORT_IN_TEMPDB = OFF, MAXDOP = 1, "
            "ONLINE = ON, RESUMABLE = OFF, DATA_COMPRESSION = PAGE) ON [SSD]"
        ),
        f"DROP INDEX {made} ON [dbo].[orders] WITH (ONLINE = ON, MAXDOP = 1, MOVE TO [SSD])",
    ]
    assert route.log_bytes == round(1.2 * (2 * 1000 + 2 * 100) * 8192)
    assert [step.sql.partition("*/ ")[2] for step in route.tidy_steps] == statements(route)[1:]


def test_a_heap_takes_the_key_of_a_unique_index_of_its_own() -> None:
    """Of two unique ones the shorter; never a filtered or disabled one, nor one whose keys are too wide together."""
    bit, code = replace(ID, name="b", type_name="bit", max_length=1), replace(ID, name="code", max_length=8)
    wide = replace(ID, name="wide", type_name="varchar", max_length=900)
    two = index(NONCLUSTERED, "u2", unique=1, columns=(key("id"), key("code", 2)), index_id=3)
    one = index(NONCLUSTERED, "u1", unique=1, columns=(key("code", descending=1),), index_id=4)
    others = (
        index(NONCLUSTERED, "ix", columns=(key("b"),), index_id=5),
        index(NONCLUSTERED, "some", unique=1, has_filter=1, filter="([b]=(1))", columns=(key("id"),), index_id=6),
        index(NONCLUSTERED, "off", unique=1, disabled=1, columns=(key("id"),), index_id=7),
        index(NONCLUSTERED, "long", unique=1, columns=(key("wide"), key("b", 2)), index_id=8),
    )
    heap = index(HEAP, None, columns=())
    route = found(table(heap, two, one, *others, columns=(bit, ID, code, wide)))[0]
    assert "CREATE UNIQUE CLUSTERED INDEX" in statements(route)[0]
    assert "ON [dbo].[orders] ([code] DESC) WITH" in statements(route)[0]
    route = found(table(heap, *others, columns=(bit, ID, code, wide)))[0]
    assert "CREATE CLUSTERED INDEX" in statements(route)[0]


def test_a_heap_that_is_carried_says_what_becomes_of_its_rows() -> None:
    """Their order, their forwarding, and the way that leaves it a heap all the while."""
    unique = index(NONCLUSTERED, "u", unique=1, columns=(key("id"),), index_id=3)
    heap = index(HEAP, None, columns=())
    notes = " ".join(found(table(heap, unique))[0].notes)
    assert "by the key of the unique index u: [id]" in notes
    assert "forwarded rows" in notes
    assert "move_by: filegroup" in notes
    notes = " ".join(found(table(heap))[0].notes)
    assert "no unique index has a key for it" in notes
    assert "[id]" in notes


def test_pitfall_43_a_heap_is_never_dropped_onto_a_scheme() -> None:
    """Pitfall 43: MOVE TO a partition scheme sets the compression to NONE; a partitioned heap stays, and says why."""
    heap = replace(PARTED, kind=HEAP, name=None, index_id=0)
    plain = table(heap, name=replace(NAME, partition=2))
    assert refused(replace(plain, spaces={**plain.spaces, SCHEME.number: SCHEME})) == "partitioned_heap"
    route = found(table(index(HEAP, None, columns=())))[0]
    assert statements(route)[1].endswith("MOVE TO [SSD])")
    assert "DATA_COMPRESSION = PAGE" in statements(route)[0]


def test_a_heap_with_large_columns_is_not_moved_online() -> None:
    """The online DROP INDEX is refused for it."""
    assert [r.online for r in found(table(index(HEAP, None, columns=()), columns=(ID, NOTE)))] == [False]


def test_a_heap_without_a_key_stays() -> None:
    """No column that an index may have as its key."""
    assert refused(table(index(HEAP, None, columns=()), columns=(NOTE,))) == "no_key"


SCHEME = DataSpace(65601, "ps", True, False, 0, "pf", 3, {1: 1, 2: 1, 3: 1})
PARTED = index(
    space_id=65601,
    columns=(key("id"), IndexColumn("day", 2, 1, 0, 0, 0)),
    partitions=tuple(replace(PAGES, number=n, compression="PAGE" if n < 3 else "ROW") for n in (1, 2, 3)),
)


def parted(number: int = 2, parts: IndexDefinition = PARTED) -> Definition:
    """A table of three partitions in HDD."""
    plain = table(parts, name=replace(NAME, partition=number))
    return replace(plain, spaces={**plain.spaces, SCHEME.number: SCHEME})


def test_one_partition_moves_on_a_second_scheme() -> None:
    """The same function, one filegroup other; compression restated by partition; back on the first scheme."""
    definition = parted()
    route = found(definition, moved=bundle(definition.name.key))[0]
    made = f"[hotplace_{tag_of(route).split()[-1]}]"
    first, second = statements(route)
    assert first == f"CREATE PARTITION SCHEME {made} AS PARTITION [pf] TO ([HDD], [SSD], [HDD], [HDD])"
    assert "DATA_COMPRESSION = PAGE ON PARTITIONS (1 TO 2), DATA_COMPRESSION = ROW ON PARTITIONS (3)" in second
    assert second.endswith(f"ON {made} ([day])")
    assert route.undo_steps[0].sql.endswith("ON [ps] ([day])")
    assert route.undo_steps[1].sql.endswith(f"DROP PARTITION SCHEME {made}")
    assert route.log_bytes == round(1.2 * 3000 * 8192)


def test_partitions_of_one_index_write_the_same_thing() -> None:
    """So that one plan has one of them: the second would put the first back."""
    said = {found(parted(n), moved=bundle(parted(n).name.key))[0].rewrites for n in (1, 2)}
    assert said == {"all partitions of [dbo].[orders]"}
    assert found(table(index()))[0].rewrites == ""


def test_partitions_move_together() -> None:
    """All of a table at once: one scheme, one rebuild, and no other partition is written beside them."""
    definition = parted(1)
    keys = [replace(NAME, partition=number).key for number in (1, 2, 3)]
    route = found(definition, moved=bundle(*keys, size=3000 * 8192))[0]
    assert statements(route)[0].endswith("AS PARTITION [pf] TO ([SSD], [SSD], [SSD], [HDD])")
    assert route.log_bytes == round(1.2 * 3000 * 8192)
    assert not any("the others" in note for note in route.notes)


def test_pitfall_37_the_second_scheme_is_tidied() -> None:
    """Pitfall 37: a scheme left behind keeps its filegroups from being removed."""
    definition = parted()
    route = found(definition, moved=bundle(definition.name.key))[0]
    assert [step.sql.partition("*/ ")[2].split(" [")[0] for step in route.tidy_steps] == ["DROP PARTITION SCHEME"]


@pytest.mark.parametrize(("major", "online"), [(14, [False]), (15, [True, False])])
def test_a_columnstore_is_built_online_since_2019(major: int, online: list[bool]) -> None:
    """Its order and delay are restated; where it cannot be online the option is not spoken of."""
    held = (replace(PAGES, compression="COLUMNSTORE"),)
    store = index(CLUSTERED_COLUMNSTORE, "cci", columns=(), partitions=held, compression_delay=60)
    routes = found(table(store), ServerFeatures(major=major, edition=3))
    assert [route.online for route in routes] == online
    assert statements(routes[-1]) == [
        (
            "CREATE CLUSTERED COLUMNSTORE INDEX [cci] ON [dbo].[orders] WITH (DROP_EXISTING = ON, MAXDOP = 1, "
            "DATA_COMPRESSION = COLUMNSTORE, COMPRESSION_DELAY = 60) ON [SSD]"
        )
    ]


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"is_memory_optimized": 1}, "memory_optimized"),
        ({"is_published": 1}, "replicated"),
        ({"is_filetable": 1}, "filetable"),
        ({"is_external": 1}, "external"),
        ({"is_ms_shipped": 1}, "system_table"),
        ({"updateability": "READ_ONLY"}, "standby"),
        ({"filestream_space_id": 5}, "filestream"),
    ],
)
def test_what_cannot_be_moved_is_refused_with_its_reason(values: dict[str, object], code: str) -> None:
    """Each kind of table that a rebuild does not move, or must not."""
    assert refused(table(index(), owner=replace(OWNER, **values))) == code  # type: ignore[arg-type]  # fields by name


def test_text_columns_are_rebuilt_offline() -> None:
    """A clustered index over text, ntext or image is never built online."""
    old = TableColumn("body", "text", 16, 0, 0, None, 1, 0)
    assert [route.online for route in found(table(index(), columns=(ID, old)))] == [False]


def test_targets_that_cannot_take_it() -> None:
    """No such filegroup, read-only, without files, or where it is already."""
    assert refused(None) == "gone"
    assert refused(table(index()), to_space="NOWHERE") == "no_space"
    assert refused(table(index()), to_space="HDD") == "already_there"
    read_only = DataSpace(2, "SSD", False, True, 1)
    assert refused(table(index(), spaces={2: read_only})) == "read_only_space"
    assert refused(table(index(), spaces={2: DataSpace(2, "SSD", False, False, 0)})) == "no_files"


def test_offline_in_simple_recovery_writes_little_log() -> None:
    """Only the allocations are logged, a tenth; online everything is."""
    simple = table(index(), owner=replace(OWNER, recovery_model="SIMPLE"))
    online, offline = found(simple)
    assert (online.log_bytes, offline.log_bytes) == (9_830_400, 819_200)


def test_a_plan_made_twice_is_the_same_plan() -> None:
    """Statements carry the same number, so that a proposal can be recognised."""
    assert found(table(index())) == found(table(index()))


def test_partition_of_made() -> None:
    """The kinds of index are those of sys.indexes.type."""
    assert (HEAP, CLUSTERED, NONCLUSTERED, XML, SPATIAL, CLUSTERED_COLUMNSTORE) == (0, 1, 2, 3, 4, 5)
    assert isinstance(PAGES, Partition)


def column(name: str, type_name: str, length: int) -> TableColumn:
    """A nullable one without a collation."""
    return TableColumn(name, type_name, length, 0, 0, None, 1, 0)


@pytest.mark.parametrize("type_name", ["vector", "quantum"])
def test_a_heap_is_not_clustered_by_a_type_that_came_later(type_name: str) -> None:
    """A narrow column of a type that is not known to be a key leaves the work to the next one, or to none."""
    later = column("v", type_name, 2)
    (first, *_) = found(table(index(HEAP, None, columns=()), columns=(later, column("b", "bit", 1))))
    assert "([b] ASC)" in first.steps[0].sql
    assert refused(table(index(HEAP, None, columns=()), columns=(later,))) == "no_key"
    assert type_of(later) is None


def test_a_heap_with_more_equal_rows_than_can_be_numbered_stays() -> None:
    """Only bits and 2**31 rows: error 666 would end the build late; a unique index numbers none."""
    many = replace(PAGES, rows=2**31)
    bits = tuple(column(f"b{at}", "bit", 1) for at in range(3))
    assert refused(table(index(HEAP, None, columns=(), partitions=(many,)), columns=bits)) == "too_many_equal"
    few = replace(PAGES, rows=2**31 - 1)
    assert found(table(index(HEAP, None, columns=(), partitions=(few,)), columns=bits))
    unique = index(NONCLUSTERED, "u", unique=1)
    assert found(table(index(HEAP, None, columns=(), partitions=(many,)), unique, columns=(ID,)))
