"""Every object that a query reads is granted by the scripts of its engine, and headers say what is read."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from tests.deploy.grants import BLOCKS, LUW, MADE_LATER, PLAN_ONLY, PRIVILEGES, filled, headers, objects_of

READ = re.compile(r"\b(?:FROM|JOIN|LOCK TABLE)\s+(?:TABLE\(SYSPROC\.)?([A-Z]\w*(?:\.\w+)?)")
# SQL Server and PostgreSQL grant rights of the login, not single views: how headers name each, and the GRANT of it.
RIGHTS = {
    "sqlserver": {
        "VIEW SERVER STATE": "GRANT VIEW SERVER STATE",
        "VIEW SERVER PERFORMANCE STATE": "GRANT VIEW SERVER PERFORMANCE STATE",
        "VIEW DATABASE STATE": "GRANT VIEW SERVER STATE",  # includes that of each database
        "VIEW DATABASE PERFORMANCE STATE": "GRANT VIEW SERVER PERFORMANCE STATE",
        "VIEW DEFINITION": "GRANT VIEW ANY DEFINITION",
        "VIEW ANY DEFINITION": "GRANT VIEW ANY DEFINITION",
    },
    "postgresql": {
        "pg_monitor": "GRANT pg_monitor",
        "pg_read_all_stats": "GRANT pg_monitor",  # a member of both
        "pg_read_all_settings": "GRANT pg_monitor",
    },
}
RIGHT = re.compile(r"VIEW (?:ANY |SERVER |DATABASE |PERFORMANCE )*(?:STATE|DEFINITION)|pg_(?:monitor|read_all_\w+)")
# What each object asks of a login, by the vendors' pages: what a header has to say about one of them. An object that is
# not here has to be looked up before a query may name it.
OPEN = ""  # to every login
ASKS = {
    "sqlserver": {
        # Rows of these are shown to every login, or of its own database.
        OPEN: "allocation_units data_spaces database_files database_mirroring databases filegroups partitions "
        "sp_getapplock sp_releaseapplock",
        r"VIEW (ANY )?DEFINITION": "change_tracking_tables check_constraints columns database_permissions "
        "database_principals database_scoped_configurations destination_data_spaces extended_properties foreign_keys "
        "fulltext_indexes index_columns index_resumable_operations indexes master_files objects partition_functions "
        "partition_range_values partition_schemes schemas security_predicates stats tables types views",
        r"VIEW (SERVER|DATABASE) STATE": "database_query_store_options dm_database_encryption_keys "
        "dm_db_file_space_usage dm_db_index_operational_stats dm_db_log_space_usage dm_db_partition_stats "
        "dm_exec_query_profiles dm_exec_requests dm_exec_sessions dm_exec_sql_text dm_hadr_database_replica_states "
        "dm_io_virtual_file_stats "
        "dm_os_buffer_descriptors dm_os_buffer_pool_extension_configuration dm_os_performance_counters dm_os_sys_info "
        "dm_os_volume_stats dm_os_wait_stats dm_tran_active_snapshot_database_transactions "
        "dm_tran_active_transactions dm_tran_locks query_store_plan query_store_query query_store_query_text "
        "query_store_runtime_stats query_store_runtime_stats_interval query_store_wait_stats",
        r"SELECT on the table": "dm_db_stats_properties",
    },
    "postgresql": {
        OPEN: "pg_am pg_attrdef pg_attribute pg_available_extensions pg_class pg_constraint pg_database "
        "pg_db_role_setting pg_depend pg_description pg_event_trigger pg_extension pg_index pg_inherits "
        "pg_language pg_locks pg_namespace pg_partitioned_table pg_policy pg_prepared_xacts pg_proc pg_publication "
        "pg_publication_rel pg_replication_slots pg_rewrite pg_roles pg_seclabel pg_sequence pg_settings pg_shdepend "
        "pg_stat_all_tables pg_stat_archiver pg_stat_database pg_stat_io pg_stat_progress_create_index "
        "pg_stat_progress_vacuum pg_stat_wal pg_statistic_ext pg_stats pg_subscription pg_subscription_rel "
        "pg_tablespace pg_trigger pg_type",
        # Rows of other roles are hidden without it.
        r"pg_monitor|pg_read_all_stats|the same login|CREATE on the tablespace": "pg_stat_activity pg_stat_replication "
        "pg_stat_statements pg_stat_statements_info",
        r"pg_monitor": "pg_buffercache pg_ls_waldir",
        r"superuser": "pg_ls_dir pg_read_file pg_stat_file",
        r"which all users have": "chunk hypertable compression_settings pg_dist_shard",
        r"EXECUTE on the function": "bt_index_check",
    },
}
# Queries about what the login may do: what it may not see is the answer, or it sees its own without a right.
OF_ITSELF = {"sqlserver": {"may_alter", "may_copy", "move_may", "unseen"}, "postgresql": {"unknown_files_may"}}
NAMED = {
    "sqlserver": re.compile(r"\bsys\.(\w+)"),
    "postgresql": re.compile(
        r"(?:\b(?:FROM|JOIN)|,)\s*pg_catalog\.(\w+)\b(?!\s*\()|\bextension_schema\.(\w+)"
        r"|\b(pg_(?:ls_\w+|read_file|stat_file))\s*\("
    ),
}
LICENSED = frozenset(
    {"DBA_HIST_SEG_STAT", "DBA_HIST_SNAPSHOT", "DBA_ILMOBJECTS"}
)  # named in a comment, for who has paid


def texts(package: str) -> dict[str, str]:
    """Queries without their comments."""
    found = {}
    for path in (files(package) / "sql").iterdir():
        if path.name.endswith(".sql"):
            lines = path.read_text(encoding="utf-8").splitlines()
            found[path.name.removesuffix(".sql")] = "\n".join(line for line in lines if not line.startswith("--"))
    return found


def statements(*scripts: str) -> str:
    """The scripts without their comments."""
    lines = [line for script in scripts for line in (PRIVILEGES / script).read_text(encoding="utf-8").splitlines()]
    return "\n".join(line for line in lines if not line.lstrip().startswith("--"))


@pytest.mark.parametrize("package", [LUW, PLAN_ONLY])
def test_headers_of_db2_say_what_is_read(package: str) -> None:
    """The GRANTs are made of them, and the statements are the other witness."""
    said, read = headers(package), texts(package)
    differ = {name: (sorted(objects_of(said[name])), sorted(set(READ.findall(read[name])))) for name in read}
    assert {name: both for name, both in differ.items() if both[0] != both[1]} == {}


@pytest.mark.parametrize("script", sorted(BLOCKS))
def test_scripts_are_as_the_queries_have_them(script: str) -> None:
    """None too few, none too many."""
    text = (PRIVILEGES / script).read_text(encoding="utf-8")
    assert filled(script, text) == text, "run `make docs-write` and commit what it writes"


@pytest.mark.parametrize(
    ("package", "scripts"),
    [
        (LUW, ("db2-observe.sql", "db2-move.sql")),
        (PLAN_ONLY, ("db2-i-observe.sql", "db2-zos-observe.sql")),
    ],
)
def test_each_object_that_db2_is_asked_for_is_granted(package: str, scripts: tuple[str, ...]) -> None:
    """By the statements, not by their headers; on each platform by its own script."""
    granted = statements(*scripts)
    for name in {name for text in texts(package).values() for name in READ.findall(text)} | MADE_LATER:
        if package == LUW or name not in MADE_LATER:
            pattern = rf"^GRANT (EXECUTE ON FUNCTION SYSPROC\.|SELECT ON (TABLE )?){re.escape(name)} TO "
            assert re.search(pattern, granted, re.MULTILINE), name


def test_each_view_that_oracle_is_asked_for_is_granted() -> None:
    """Exactly which script has which is in tests/oracle/test_scripts.py."""
    granted = set(
        re.findall(r"^GRANT \w+ ON SYS\.([\w$]+) TO", statements("oracle-observe.sql", "oracle-move.sql"), re.M)
    )
    read = {
        name
        for text in texts("connectors.oracle").values()
        for name in re.findall(r"\bSYS\.((?:G?V_\$|DBA_|CDB_|DBMS_)[\w$#]+)", text)
    }
    assert len(read) > 50
    assert read - granted == LICENSED
    assert all(name in (PRIVILEGES / "oracle-observe.sql").read_text(encoding="utf-8") for name in LICENSED)


def named(engine: str, text: str) -> set[str]:
    """Views, tables, procedures and functions with a right of their own that a query names."""
    text = re.sub(r"--.*|'[^']*'", "", text)
    return {name for found in NAMED[engine].finditer(text) for name in found.groups() if name}


def said(engine: str, header: str) -> set[str]:
    """Those of ``ASKS`` that a header says its query reads."""
    reads = re.search(r"\bReads: (.+?)\. (?:Since|Privilege|Cost):", header)
    every = {name for names in ASKS[engine].values() for name in names.split()}
    return every & set(re.findall(r"\w+", reads[1])) if reads else set()


@pytest.mark.parametrize("engine", sorted(ASKS))
def test_headers_say_what_is_read_and_by_which_right(engine: str) -> None:
    """The statement is the other witness: each object is named in the header, and so is the right that opens it."""
    asks = {name: right for right, names in ASKS[engine].items() for name in names.split()}
    headers_of, faults = headers(f"connectors.{engine}"), []
    for query, text in texts(f"connectors.{engine}").items():
        read, header = named(engine, text), headers_of[query]
        faults += [f"{query}: nothing is known of {name}" for name in read - asks.keys()]
        by_function = {"pg_description"} if "_description(" in text else set()
        unlike = (read ^ said(engine, header)) - by_function - {"sp_getapplock", "sp_releaseapplock"}
        faults += [f"{query}: header and statement differ in {name}" for name in unlike]
        privilege = header.partition("Privilege:")[2]
        if query not in OF_ITSELF[engine]:
            wanted = {asks[name] for name in read & asks.keys()}
            faults += [f"{query}: no right {right!r}" for right in wanted if not re.search(right, privilege)]
    assert faults == []


@pytest.mark.parametrize("engine", sorted(RIGHTS))
def test_each_right_that_a_header_names_is_granted(engine: str) -> None:
    """Each right that a query wants is in the script for watching, and nothing is that no query wants."""
    wanted = set()
    for query, header in headers(f"connectors.{engine}").items():
        assert "Privilege:" in header, query
        for right in RIGHT.findall(header.partition("Privilege:")[2]):
            assert right in RIGHTS[engine], (query, right)
            wanted.add(RIGHTS[engine][right])
    assert set(re.findall(r"\bGRANT [\w ]+(?= TO )", statements(f"{engine}-observe.sql"))) == wanted


@pytest.mark.parametrize("engine", sorted(RIGHTS))
def test_doctor_prints_the_grants_of_the_script(engine: str) -> None:
    """Its remedies give the same rights as the script for watching."""
    sources = [path for path in files(f"connectors.{engine}").iterdir() if path.name in {"doctor.py", "rights.py"}]
    printed = "".join(path.read_text(encoding="utf-8") for path in sources)
    rights = [grant.removeprefix("GRANT ") for grant in RIGHTS[engine].values()]
    assert [right for right in rights if not re.search(rf"GRANT {right} TO|\"{right}\"", printed)] == []
