"""Every attribute that Oracle's catalog has of indexes, constraints and tables stays, is restored, or is looked at.

Oracle's moves are its own DDL over the same object: what a statement does not state stays as it is (SQL Language
Reference, ALTER TABLE ``move_table_clause``, ALTER INDEX ``rebuild_clause``). So each documented column is named here
with what becomes of it, one that comes with a version is in no list, and no route may state an attribute.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from connectors.oracle.operations import set_degree
from tests.oracle.every_route import every_route
from tests.oracle.made import index

VIEWS = json.loads((Path(__file__).parents[1] / "labs" / "oracle" / "columns.json").read_text())["views"]
STAYS = "an attribute that no statement of a route states"
KEY = "a name or a number of the row's own, by which it is found"
MADE_ANEW = "of the new segment: a tablespace with uniform or automatic extents decides"
GATHERED = "statistics, which a rebuild gathers"
DOMAIN = "of a domain index, which no route rebuilds"
LOOKED_AT = "looked at before and after: what is unusable is rebuilt, or named"
RESTORED = "changed by a parallel rebuild alone, and restored by a statement of the route"
MOVED = "what a move changes"
EXTENTS = ("INITIAL_EXTENT", "NEXT_EXTENT", "PCT_INCREASE", "FREELISTS", "FREELIST_GROUPS", "SEGMENT_CREATED")
COUNTED = (
    "BLEVEL", "LEAF_BLOCKS", "DISTINCT_KEYS", "AVG_LEAF_BLOCKS_PER_KEY", "AVG_DATA_BLOCKS_PER_KEY",
    "CLUSTERING_FACTOR", "NUM_ROWS", "SAMPLE_SIZE", "LAST_ANALYZED", "USER_STATS", "GLOBAL_STATS",
)  # fmt: skip
SAID = {
    "DBA_INDEXES": {
        **dict.fromkeys(("OWNER", "INDEX_NAME", "TABLE_OWNER", "TABLE_NAME", "TABLE_TYPE"), KEY),
        **dict.fromkeys(
            ("INDEX_TYPE", "UNIQUENESS", "COMPRESSION", "PREFIX_LENGTH", "INI_TRANS", "MAX_TRANS", "PCT_THRESHOLD",
             "INCLUDE_COLUMN", "PCT_FREE", "LOGGING", "PARTITIONED", "TEMPORARY", "GENERATED", "SECONDARY",
             "BUFFER_POOL", "FLASH_CACHE", "CELL_FLASH_CACHE", "DURATION", "JOIN_INDEX", "IOT_REDUNDANT_PKEY_ELIM",
             "DROPPED", "VISIBILITY", "INDEXING", "AUTO", "CONSTRAINT_INDEX"), STAYS,
        ),
        **dict.fromkeys((*EXTENTS, "MIN_EXTENTS", "MAX_EXTENTS"), MADE_ANEW), **dict.fromkeys(COUNTED, GATHERED),
        **dict.fromkeys(
            ("ITYP_OWNER", "ITYP_NAME", "PARAMETERS", "DOMIDX_STATUS", "DOMIDX_OPSTATUS", "DOMIDX_MANAGEMENT"), DOMAIN
        ),
        "PCT_DIRECT_ACCESS": "of a secondary index on an index-organised table, whose guesses it counts",
        "TABLESPACE_NAME": MOVED, "STATUS": LOOKED_AT, "FUNCIDX_STATUS": LOOKED_AT, "DEGREE": RESTORED,
        "INSTANCES": RESTORED, "ORPHANED_ENTRIES": "entries that a rebuild removes",
    },
    "DBA_IND_PARTITIONS": {
        **dict.fromkeys(("INDEX_OWNER", "INDEX_NAME", "PARTITION_NAME", "PARTITION_POSITION"), KEY),
        **dict.fromkeys(
            ("COMPOSITE", "SUBPARTITION_COUNT", "HIGH_VALUE", "HIGH_VALUE_LENGTH", "PCT_FREE", "INI_TRANS", "MAX_TRANS",
             "LOGGING", "COMPRESSION", "BUFFER_POOL", "FLASH_CACHE", "CELL_FLASH_CACHE", "INTERVAL"), STAYS,
        ),
        **dict.fromkeys((*EXTENTS, "MIN_EXTENT", "MAX_EXTENT", "MAX_SIZE"), MADE_ANEW),
        **dict.fromkeys(COUNTED, GATHERED), **dict.fromkeys(("DOMIDX_OPSTATUS", "PARAMETERS"), DOMAIN),
        "PCT_DIRECT_ACCESS": "of a secondary index on an index-organised table, whose guesses it counts",
        "STATUS": LOOKED_AT, "TABLESPACE_NAME": MOVED, "ORPHANED_ENTRIES": "entries that a rebuild removes",
    },
    # Keys, checks and references hang on the table and on the index, both of which stay the objects that they are.
    "DBA_CONSTRAINTS": dict.fromkeys(
        ("OWNER", "CONSTRAINT_NAME", "CONSTRAINT_TYPE", "TABLE_NAME", "SEARCH_CONDITION", "SEARCH_CONDITION_VC",
         "R_OWNER", "R_CONSTRAINT_NAME", "DELETE_RULE", "STATUS", "DEFERRABLE", "DEFERRED", "VALIDATED", "GENERATED",
         "BAD", "RELY", "LAST_CHANGE", "INDEX_OWNER", "INDEX_NAME", "INVALID", "VIEW_RELATED", "ORIGIN_CON_ID"), STAYS,
    ),
    "DBA_LOBS": {
        **dict.fromkeys(("OWNER", "TABLE_NAME", "COLUMN_NAME", "SEGMENT_NAME", "INDEX_NAME"), KEY),
        **dict.fromkeys(
            ("CHUNK", "PCTVERSION", "RETENTION", "FREEPOOLS", "CACHE", "LOGGING", "ENCRYPT", "COMPRESSION",
             "DEDUPLICATION", "IN_ROW", "FORMAT", "PARTITIONED", "SECUREFILE", "RETENTION_TYPE", "RETENTION_VALUE"),
            STAYS,
        ),
        "TABLESPACE_NAME": MOVED, "SEGMENT_CREATED": MADE_ANEW,
    },
}  # fmt: skip
# All that a statement of a route says: its object, where to, how it is carried out, and the degree that is restored.
STATEMENT = re.compile(
    r"""/\*\ hotplace\ move\ \S+\ \w+\ \d+\ \*/\ (?:
        ALTER\ TABLE\ N\ MOVE(?:\ (?:SUB)?PARTITION\ N)?(?:\ TABLESPACE\ N|\ ONLINE
            |\ LOB\ \(N\)\ STORE\ AS\ \(TABLESPACE\ N\)|\ OVERFLOW\ TABLESPACE\ N|\ UPDATE\ INDEXES(?:\ \(.*?\))?)*
      | ALTER\ INDEX\ N\ REBUILD(?:\ (?:SUB)?PARTITION\ N)?(?:\ TABLESPACE\ N)?(?:\ ONLINE)?(?:\ PARALLEL\ \d+)?
      | ALTER\ INDEX\ N\ (?:NOPARALLEL|PARALLEL(?:\ \d+)?)
      | ALTER\ DATABASE\ MOVE\ DATAFILE\ .*
    )""",
    re.VERBOSE,
)


@pytest.mark.parametrize("view", SAID)
def test_no_attribute_is_forgotten(view: str) -> None:
    """Each documented column is named with what becomes of it, and no other is."""
    assert sorted(SAID[view]) == sorted(VIEWS[view]["columns"])


@pytest.mark.parametrize("name", every_route())
def test_no_route_states_an_attribute(name: str) -> None:
    """What is not stated stays: a statement that named compression, logging or a degree would change it."""
    route = every_route()[name]
    for step in (*route.steps, *route.undo_steps, *route.tidy_steps):
        said = re.sub(r'(?:"[^"]*"\.)?"[^"]*"', "N", step.sql)
        assert STATEMENT.fullmatch(said), said


@pytest.mark.parametrize(
    ("degree", "instances", "clause"),
    [
        ("1", "1", "NOPARALLEL"), ("0", "0", "NOPARALLEL"), ("         8", "         1", "PARALLEL 8"),
        ("DEFAULT", "DEFAULT", "PARALLEL"), ("8", None, "PARALLEL 8"),
        ("8", "2", "PARALLEL (DEGREE 8 INSTANCES 2)"), ("1", "DEFAULT", "PARALLEL (DEGREE 1 INSTANCES DEFAULT)"),
    ],
)  # fmt: skip
def test_a_parallel_rebuild_gives_both_back(degree: str, instances: str | None, clause: str) -> None:
    """The degree and the instances that the index had; what was recorded before they were read has no instances."""
    assert set_degree(index(degree=degree, instances=instances)).sql == f'ALTER INDEX "APP"."ORDERS_PK" {clause}'
