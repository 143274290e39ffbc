"""Every attribute that SQL Server's catalog has of a table's parts is compared, refused or named with why it stays.

The lists are held to the documented columns of the views (``tests/labs/sqlserver/catalog.json``): a column that comes
with a version is in none of them, and this fails until somebody has said what becomes of it when a table is moved. What
is said to be compared is changed, one after the other, and must be told.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from connectors.kit.contract import ObjectGone, PrivilegeMissing
from connectors.model.moves import Kept
from connectors.sqlserver import sql
from connectors.sqlserver.definition import HEAP, NONCLUSTERED, IndexColumn, IndexDefinition, Partition
from connectors.sqlserver.plan_drift import UNSEEN, changes, hangs_on_index, read_belongings
from tests.over import over
from tests.sqlserver.made import PAGES, index, key, table

FOLDER = Path(str(sql.__path__[0]))
VIEWS = json.loads((Path(__file__).parents[1] / "labs" / "sqlserver" / "catalog.json").read_text())["views"]
NUMBER = "a number or a name of the row's own, by which it is found"
WORDS = "the other column in words"
STAYS = "of the constraint, which no route drops, adds or alters: its index alone is built anew, under it"
SERVERS = "of the server's own"
TWO = (PAGES, replace(PAGES, number=2))
BASE = replace(
    index(NONCLUSTERED, "ix"), columns=(key("id"), IndexColumn("note", 0, 0, 0, 1, 0)), ignore_dup_key=1,
    partitions=TWO,
)  # fmt: skip


def column(**values: Any) -> Callable[[IndexDefinition], IndexDefinition]:
    """Its first column is another."""
    return lambda it: replace(it, columns=(replace(it.columns[0], **values), *it.columns[1:]))


def partition(**values: Any) -> Callable[[IndexDefinition], IndexDefinition]:
    """Its second partition is another."""
    return lambda it: replace(it, partitions=(it.partitions[0], replace(it.partitions[1], **values)))


def of(**values: Any) -> Callable[[IndexDefinition], IndexDefinition]:
    """It is another."""
    return lambda it: replace(it, **values)


COMPARED: Mapping[str, Mapping[str, Callable[[IndexDefinition], IndexDefinition]]] = {
    "sys.indexes": {
        "name": of(name="other"), "type": of(kind=HEAP), "is_unique": of(unique=1),
        "ignore_dup_key": of(ignore_dup_key=0),
        "is_primary_key": of(primary_key=1), "is_unique_constraint": of(unique_constraint=1),
        "fill_factor": of(fill_factor=70), "is_padded": of(padded=1), "is_disabled": of(disabled=1),
        "allow_row_locks": of(row_locks=0), "allow_page_locks": of(page_locks=0),
        "filter_definition": of(filter="([id]>(1))"),
        "compression_delay": of(compression_delay=10), "suppress_dup_key_messages": of(suppress_messages=1),
        "optimize_for_sequential_key": of(sequential_key=1),
    },
    "sys.index_columns": {
        "column_id": column(name="other"), "key_ordinal": column(key_ordinal=0),
        "partition_ordinal": column(partition_ordinal=1),
        "is_descending_key": column(descending=1), "is_included_column": of(columns=BASE.columns[:1]),
        "column_store_order_ordinal": column(store_ordinal=1),
    },
    "sys.partitions": {
        "data_compression_desc": partition(compression="ROW"), "xml_compression": partition(xml_compression=1),
    },
    "sys.stats": {"no_recompute": of(no_recompute=1), "is_incremental": of(incremental=1)},
}  # fmt: skip
# By queries of their own, of which the emulated server tells (test_unseen).
ELSEWHERE = {"sys.stats": {"has_persisted_sample": "samples"}}
REFUSED = {  # with partitions that are switched, or as a whole
    "sys.columns": {
        "is_identity", "is_sparse", "is_rowguidcol", "is_filestream", "rule_object_id", "user_type_id",
        "is_ansi_padded", "generated_always_type", "encryption_type", "is_masked", "is_computed",
    },
    "sys.tables": {
        "is_memory_optimized", "temporal_type", "is_external", "is_remote_data_archive_enabled", "is_filetable",
        "is_replicated", "is_published", "is_merge_published", "filestream_data_space_id", "is_tracked_by_cdc",
        "uses_ansi_nulls", "ledger_type", "is_node", "is_edge", "lob_data_space_id",
    },
}  # fmt: skip
STATED = {  # of columns, in the CREATE TABLE of a table beside it
    "sys.columns": {
        "name", "system_type_id", "max_length", "precision", "scale", "collation_name", "is_nullable",
    },
}  # fmt: skip
_OBJECT = {
    "name": NUMBER, "object_id": NUMBER, "schema_id": NUMBER, "parent_object_id": NUMBER, "type_desc": WORDS,
    "create_date": SERVERS, "modify_date": SERVERS, "is_ms_shipped": SERVERS, "is_published": SERVERS,
    "is_schema_published": SERVERS, "principal_id": STAYS, "type": STAYS,
}  # fmt: skip
OTHERS: Mapping[str, Mapping[str, str]] = {
    "sys.indexes": {
        "object_id": NUMBER, "index_id": NUMBER, "type_desc": WORDS, "data_space_id": "what a move changes",
        "has_filter": "whether there is a filter_definition", "is_hypothetical": "an advisor's, which holds no row",
        "auto_created": "where automatic tuning makes indexes: Azure SQL Database, which has no filegroups",
    },
    "sys.index_columns": {"object_id": NUMBER, "index_id": NUMBER, "index_column_id": NUMBER},
    "sys.partitions": {
        **dict.fromkeys(("object_id", "index_id", "partition_id", "hobt_id", "partition_number"), NUMBER),
        "rows": "counted where rows are copied", "data_compression": "the other column as a number",
        "xml_compression_desc": WORDS, "filestream_filegroup_id": "of FILESTREAM, whose tables are refused",
    },
    "sys.stats": {
        **dict.fromkeys(("object_id", "stats_id", "name"), NUMBER),
        "auto_created": "of statistics without an index, which no route touches",
        "user_created": "of statistics without an index, which no route touches",
        "auto_drop": "of statistics without an index, which no route touches",
        "has_filter": "of its index", "filter_definition": "of its index",
        "is_temporary": "of a readable secondary", "stats_generation_method": SERVERS,
        "stats_generation_method_desc": SERVERS,
    },
    "sys.key_constraints": {
        **_OBJECT, "unique_index_id": "of its index, which is compared", "is_system_named": STAYS,
    },
    "sys.foreign_keys": {
        **_OBJECT,
        **dict.fromkeys(
            ("referenced_object_id", "key_index_id", "is_disabled", "is_not_for_replication", "is_not_trusted",
             "delete_referential_action", "update_referential_action", "is_system_named"), STAYS,
        ),
        "delete_referential_action_desc": WORDS, "update_referential_action_desc": WORDS,
    },
    "sys.check_constraints": {
        **_OBJECT,
        **dict.fromkeys(
            ("is_disabled", "is_not_for_replication", "is_not_trusted", "parent_column_id", "definition",
             "uses_database_collation", "is_system_named"), STAYS,
        ),
    },
    "sys.columns": {
        "object_id": NUMBER, "column_id": NUMBER,
        "default_object_id": "for an INSERT that leaves the column out, which a copy does not",
        "xml_collection_id": "of xml, which is no type of a switched table",
        "is_xml_document": "of xml, which is no type of a switched table", "is_column_set": "of sparse columns",
        "generated_always_type_desc": WORDS, "encryption_type_desc": WORDS,
        "encryption_algorithm_name": "of encryption_type", "column_encryption_key_id": "of encryption_type",
        "column_encryption_key_database_name": "of encryption_type", "is_hidden": "of generated_always_type",
        "graph_type": "of nodes and edges", "graph_type_desc": WORDS,
        "is_replicated": "of the table, whose replication is refused", "is_non_sql_subscribed": "likewise",
        "is_merge_published": "likewise", "is_dts_replicated": "likewise",
        "is_data_deletion_filter_column": "of Azure SQL Edge, which is not for hotplace",
        "ledger_view_column_type": "of ledger_type", "ledger_view_column_type_desc": WORDS,
        "is_dropped_ledger_column": "of ledger_type",
    },
    "sys.tables": {
        **{name: why for name, why in _OBJECT.items() if name != "is_published"},
        "principal_id": "the table stays what it is: a partition of it is replaced, or an index",
        **dict.fromkeys(
            ("lock_on_bulk_load", "text_in_row_limit", "large_value_types_out_of_row", "lock_escalation",
             "has_unchecked_assembly_data", "max_column_id_used", "has_replication_filter", "is_sync_tran_subscribed"),
            "the table stays what it is: a partition of it is replaced, or an index",
        ),
        "lock_escalation_desc": WORDS, "durability": "of memory-optimized tables", "durability_desc": WORDS,
        "temporal_type_desc": WORDS, "history_table_id": "of temporal_type", "ledger_type_desc": WORDS,
        "history_retention_period": "of temporal_type", "history_retention_period_unit": "of temporal_type",
        "history_retention_period_unit_desc": WORDS, "ledger_view_id": "of ledger_type",
        "is_dropped_ledger_table": "of ledger_type",
        **dict.fromkeys(
            ("data_retention_period", "data_retention_period_unit", "data_retention_period_unit_desc"),
            "of Azure SQL Edge, which is not for hotplace",
        ),
    },
}  # fmt: skip


@pytest.mark.parametrize("view", OTHERS)
def test_no_attribute_is_forgotten(view: str) -> None:
    """Each documented column is compared, stated, refused, or named with why it is not; and no other is named."""
    said = [
        *COMPARED.get(view, ()),
        *ELSEWHERE.get(view, ()),
        *STATED.get(view, ()),
        *REFUSED.get(view, ()),
        *OTHERS[view],
    ]
    assert sorted(said) == sorted(VIEWS[view]["columns"])


@pytest.mark.parametrize("view", COMPARED)
def test_what_is_compared_is_read(view: str) -> None:
    """A column that a query does not ask for cannot be compared."""
    name = {"sys.stats": "indexes"}.get(view, view.removeprefix("sys."))
    text = (FOLDER / f"{name}.sql").read_text()
    (alias,) = re.findall(rf"(?:FROM|JOIN)\s+{re.escape(view)}\s+AS\s+(\w+)", text)
    asked = set(re.findall(rf"\b{alias}\.\[?(\w+)", text))
    assert COMPARED[view].keys() <= asked


@pytest.mark.parametrize("view", REFUSED)
def test_what_is_refused_is_asked_for(view: str) -> None:
    """By what is read of each table, or of one whose partitions are switched."""
    asked = set(
        re.findall(
            r"\w+", "".join((FOLDER / f"{name}.sql").read_text() for name in ("object", "hindrances", "columns"))
        )
    )
    assert asked >= REFUSED[view] | STATED.get(view, set())


@dataclass
class Answers:
    """A session that knows some answers."""

    of: dict[str, Any] = field(default_factory=dict)

    def rows(self, name: str, *_: object, doing: str) -> list[tuple[Any, ...]]:
        """What it knows; an exception is raised."""
        found = self.of.get(name, [])
        if isinstance(found, Exception):
            raise found
        assert doing
        return list(found)


def kept(it: IndexDefinition = BASE, **answers: Any) -> tuple[Kept, ...]:
    """What belongs to a table with that index."""
    return read_belongings(Answers(answers), table(it))  # type: ignore[arg-type]  # a session's rows


@over(("view", "name"), [(view, name) for view, of_view in COMPARED.items() for name in of_view])
def test_a_changed_attribute_is_told(view: str, name: str) -> None:
    """One attribute alone is another after the move: what it was is said."""
    now = COMPARED[view][name](BASE)
    there, back = changes(kept(), kept(now)), changes(kept(now), kept())
    assert there or back
    assert all("index [ix]" in clause for clause in (*there, *back) if "[other]" not in clause and "heap" not in clause)


GRANT = ("reporting", "SELECT", "GRANT", 0)
ANSWERS: dict[str, Any] = {"table_grants": [GRANT], "index_properties": [(2, "owner", "sales")], "samples": [(2, 50.0)]}


def test_a_right_that_two_gave_is_missed_once_one_took_it() -> None:
    """As often as it was there, it has to be there."""
    twice: dict[str, Any] = {**ANSWERS, "table_grants": [GRANT, GRANT]}
    assert changes(kept(**twice), kept(**twice)) == ()
    assert changes(kept(**twice), kept(**ANSWERS)) == ("SELECT for [reporting] (GRANT) is gone",)
    assert changes(kept(**ANSWERS), kept(**twice)) == ()


@pytest.mark.parametrize(
    ("query", "what"),
    [("table_grants", "rights"), ("index_properties", "extended properties"), ("samples", "persisted samples")],
)
def test_what_may_not_be_seen_is_not_taken_for_absent(query: str, what: str) -> None:
    """Before the move it is named; afterwards nothing is called lost that nobody can see."""
    hidden: dict[str, Any] = {**ANSWERS, query: PrivilegeMissing("no", advice="GRANT it")}
    before, after = kept(**ANSWERS), kept(**hidden)
    assert Kept(what=what, how=UNSEEN) in after
    assert changes(before, after) == (f"whether {what} stayed is not known, this login does not see them any more",)
    assert changes(after, before) == changes(after, after) == ()
    gone: dict[str, Any] = {**ANSWERS, query: ObjectGone("no such view", advice="")}
    assert UNSEEN not in {each.how for each in kept(**gone)}, "what a version does not have is absent"


def test_details_do_not_hang_on_an_index() -> None:
    """An index with nothing but details is one that another can stand for; a property or a sample is not."""
    parted = replace(BASE, columns=(replace(key("id"), partition_ordinal=1),))
    made = table(parted)
    found = replace(made, name=replace(made.name, index="ix"))
    assert any(each.what == "index [ix] in detail" for each in kept(parted))
    assert not hangs_on_index(found, kept(parted))
    assert hangs_on_index(found, kept(parted, index_properties=ANSWERS["index_properties"]))


def test_partitions_that_come_and_go_are_no_difference() -> None:
    """A new partition at the end, compressed as the last one; one in between that is compressed in another way is."""
    parts = (Partition(1, "NONE", 0, 1, 1, None, 0), Partition(2, "PAGE", 0, 1, 1, None, 0))
    grown = (*parts, replace(parts[1], number=3))
    assert changes(kept(replace(BASE, partitions=parts)), kept(replace(BASE, partitions=grown))) == ()
    turned = (replace(parts[1], number=1), replace(parts[0], number=2))
    (told,) = changes(kept(replace(BASE, partitions=parts)), kept(replace(BASE, partitions=turned)))
    assert told == "index [ix] in detail was compression NONE PAGE and is compression PAGE NONE"
