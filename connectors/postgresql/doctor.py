"""What keeps hotplace from observing or moving, each with the statement that fixes it.

``CHECKS`` says what is looked at, what is said and what mends it; ``examine`` reads the facts.

Half-written files: what a server that ended in the midst of a move left in a tablespace, and no catalog knows.
PostgreSQL gives a moved relation a new file and knows it once the move is committed. When the server is killed before,
the file stays for ever, as large as it got, and takes room that a small fast tablespace cannot spare.

Storage that loses what it holds when its machine restarts or moves, and what block devices say of themselves, as far as
this machine shows it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from connectors.kit.checks import BLOCK_LOOKS, STATEMENTS, CheckCase, DoctorCheck, Facts, findings_of
from connectors.kit.findings import Finding, Remedy, Severity
from connectors.model.observation import Catalog
from connectors.postgresql.blocks import look_facts
from connectors.postgresql.catalog import ONE_STORAGE, rows_beside_unusable
from connectors.postgresql.lease import find_stranger
from connectors.postgresql.replication import doctor_facts, read_replication
from connectors.postgresql.rights import (
    LIST_FILES_GIVES,
    SCHEMA_GIVES,
    SPACE_GIVES,
    monitor_remedy,
    owner_remedy,
    read_powers,
    refused_owner_remedy,
)
from connectors.postgresql.sessions import ReadSession
from connectors.postgresql.statements import find_place, statement_facts

OK, INFO, WARNING, ERROR = Severity.OK, Severity.INFO, Severity.WARNING, Severity.ERROR

OLDEST = 140000
NEWEST_TRIED = 189999
OLDER_THAN_SECONDS = 3600.0
SHOWN = 3  # names of many
MOST_STATEMENTS = 20  # of one remedy

# What each query is asked for, and its columns by the names that checks use.
QUERIES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "doctor": (
        "examining the server",
        ("version", "version_number", "login", "monitor", "counters", "timing", "log_timing", "standby", "stats_reset",
         "service"),
    ),
    "doctor_spaces": ("looking at tablespaces", ("space", "quoted", "login", "may")),
    "doctor_owners": (
        "looking at owners",
        ("owner", "quoted", "login", "relations", "tables", "example", "kind", "schema_owner", "schema_owner_quoted",
         "database_owner", "database_owner_quoted"),
    ),
    "doctor_obstacles": ("looking for what would stop moves", ("kind", "name", "detail")),
    "doctor_split": ("looking at schemas", ("schema", "owner", "tables")),
    "unfinished_indexes": ("looking for unfinished indexes", ("index", "table", "space", "size", "written")),
    "unknown_files": ("looking for unknown files", ("space", "count", "size", "example")),
    "unknown_files_may": ("asking for the right to list folders", ("login", "standby", "may")),
}  # fmt: skip

CHECKS = (
    DoctorCheck(
        "doctor",
        (
            CheckCase(ERROR, "version_unsupported", "PostgreSQL {version} is older than 14", "Upgrade the server.",
                      when="too_old"),
            CheckCase(WARNING, "version_untried", "PostgreSQL {version} is newer than 18",
                      "Watch the first samples closely.", when="too_new"),
            CheckCase(OK, "version", "PostgreSQL {version}"),
        ),
    ),
    DoctorCheck(
        "doctor",
        (
            CheckCase(OK, "pg_monitor", "{login} is a member of pg_monitor", when="monitor"),
            CheckCase(WARNING, "pg_monitor_missing",
                      "{login} is no member of pg_monitor: sizes, paths and other sessions stay hidden",
                      monitor_remedy("{login}")),
        ),
    ),
    DoctorCheck(
        "doctor",
        (
            CheckCase(OK, "track_counts", "the server counts what each relation reads", when="counters"),
            CheckCase(ERROR, "track_counts_off",
                      "track_counts is off: the server counts no reads, so there is no ranking",
                      "ALTER SYSTEM SET track_counts = on; SELECT pg_reload_conf();"),
        ),
    ),
    DoctorCheck(
        "doctor",
        (
            CheckCase(OK, "track_io_timing", "the server measures how long reads take", when="timing"),
            CheckCase(WARNING, "track_io_timing_off",
                      "track_io_timing is off: gains are predicted from configured disk speeds, not measured ones",
                      "ALTER SYSTEM SET track_io_timing = on; SELECT pg_reload_conf();"),
        ),
    ),
    DoctorCheck(
        "doctor",
        (
            CheckCase(OK, "track_wal_io_timing", "the server measures how long its log takes", when="log_timing"),
            CheckCase(INFO, "track_wal_io_timing_off",
                      "track_wal_io_timing is off: how long sessions wait for the log is unknown",
                      "ALTER SYSTEM SET track_wal_io_timing = on; SELECT pg_reload_conf();"),
        ),
    ),
    DoctorCheck(
        "doctor",
        (
            CheckCase(WARNING, "standby", "this server is a standby: hotplace only watches here",
                      "Connect to the primary to move anything.", when="standby"),
            CheckCase(OK, "primary", "this server accepts writes"),
        ),
    ),
    DoctorCheck(
        "doctor",
        (
            CheckCase(ERROR, "managed_service", ONE_STORAGE.format("{service}"),
                      "Size its storage instead: hotplace sizing says what faster storage would bring.",
                      when="service", about_moving=True, values={"service": "{service}"}),
            CheckCase(OK, "own_storage", "no managed service is known to run this server", about_moving=True),
        ),
    ),
    DoctorCheck("doctor", (CheckCase(OK, "stats_reset", "statistics were last reset: {reset}"),)),
    DoctorCheck(
        "doctor_spaces",
        (
            CheckCase(OK, "space_create", "{login} may move relations to {space}",
                      when="may", about_moving=True, values={"space": "{space}"}),
            CheckCase(WARNING, "space_create_missing",
                      "{login} may not create in tablespace {space}, so no relation can be moved there",
                      Remedy("GRANT CREATE ON TABLESPACE {quoted} TO {login};", SPACE_GIVES.format("{login}")),
                      about_moving=True, values={"space": "{space}"}),
        ),
    ),
    DoctorCheck(
        "doctor_owners",
        (
            # None is handed over that could do more than own relations.
            CheckCase(WARNING, "ownership_refused",
                      "{login} may not move {relations} relation(s) of {owner}, {example} among them; {owner} is never "
                      "handed over, for it has {powers}",
                      "{remedy}", when="powers", about_moving=True,
                      values={"relations": "{relations}", "owner": "{owner}"}),
            CheckCase(WARNING, "ownership_missing",
                      "{login} may not move {relations} relation(s) of {owner}, {example} among them",
                      "{remedy}", about_moving=True, values={"relations": "{relations}", "owner": "{owner}"}),
        ),
        nothing=CheckCase(OK, "ownership", "every relation may be altered by this login", about_moving=True),
    ),
    # What statements of moves would fail by, though every right is there.
    DoctorCheck(
        "doctor_obstacles",
        (
            CheckCase(WARNING, "sessions_read_only",
                      "sessions of {name} begin read-only (default_transaction_read_only), so no table can be moved",
                      # Of all places in which it may be set this one counts most.
                      "If it is to move: ALTER ROLE {name} IN DATABASE {detail} "
                      "SET default_transaction_read_only = off;",
                      when="read_only", about_moving=True),
            CheckCase(INFO, "event_trigger",
                      "the event trigger {name} calls {detail} for statements of moves; if that refuses {login}, each "
                      "of them fails",
                      "Look whether {detail} lets {login} alter and rebuild what it moves.",
                      when="event_trigger", about_moving=True, values={"trigger": "{name}", "function": "{detail}"}),
            CheckCase(WARNING, "index_function_path",
                      "the index {name} calls {detail}, which finds names by the session's search_path: a rebuild may "
                      "fail, here and in any restore",
                      "ALTER FUNCTION {detail} SET search_path = the schemas that it needs, pg_temp;",
                      when="index_function", about_moving=True, values={"index": "{name}", "function": "{detail}"}),
        ),
    ),
    # Any user of the database may take the lock without being an agent.
    DoctorCheck(
        "lease_lock",
        (
            CheckCase(WARNING, "lease_lock_taken",
                      "{stranger}, has the lock that keeps agents apart and is no session of this login: no agent "
                      "is kept from acting",
                      "Have it let go of the lock (pg_advisory_unlock_all), or end it (pg_terminate_backend).",
                      when="stranger", about_moving=True, values={"session": "{stranger}"}),
            CheckCase(OK, "lease_lock", "the lock that keeps agents apart is free or an agent's", about_moving=True),
        ),
    ),
    # A split makes tables next to the one that is split, for its owner.
    DoctorCheck(
        "doctor_split",
        (
            CheckCase(INFO, "split_schema_missing",
                      "{owner} may not create in schema {schema}, so none of its {tables} table(s) there can be split",
                      Remedy("GRANT CREATE ON SCHEMA {schema} TO {owner};", SCHEMA_GIVES.format("{owner}", "{schema}")),
                      about_moving=True, values={"schema": "{schema}", "owner": "{owner}"}),
        ),
        nothing=CheckCase(OK, "split_schema", "every owner of tables may make tables next to them", about_moving=True),
    ),
    DoctorCheck(
        "seen_spaces",
        (
            CheckCase(OK, "space_visible", "the file system of {space} can be seen: {path}",
                      when="room_known", values={"space": "{space}"}),
            CheckCase(INFO, "space_hidden", "how much room {space} has cannot be seen from here",
                      "State the capacity of this space in the configuration.", values={"space": "{space}"}),
        ),
    ),
    # The server runs on without the storage, and says so only to who reads or writes there.
    DoctorCheck(
        "lost_spaces",
        (
            CheckCase(ERROR, "space_lost", "{space} cannot take data: {lost}",
                      "Bring its storage back; until then nothing is proposed to go there.",
                      values={"space": "{space}"}),
        ),
    ),
    # One tablespace that is gone after a restart can keep the whole server from starting.
    DoctorCheck(
        "local_spaces",
        (
            CheckCase(WARNING, "storage_volatile",
                      "what {space} holds does not survive a restart of the machine: {volatile}; a server that lacks a "
                      "tablespace may not start again",
                      "Give {space} a place on storage that lasts, or no tier.",
                      when="volatile", values={"space": "{space}"}),
            CheckCase(OK, "storage_lasts", "nothing shows that the storage of {space} is lost with a restart"),
        ),
    ),
    DoctorCheck(
        "local_spaces",
        (
            CheckCase(OK, "block_device", "{space} lies on {devices}", when="devices", values={"space": "{space}"}),
        ),
    ),
    DoctorCheck(
        "replication",
        (
            CheckCase(INFO, "standbys", "standbys stream from this server: {listed}; {who_waits}",
                      "Their readers of a table that is moved are cancelled after max_standby_streaming_delay: choose "
                      "windows in which they are few.",
                      when="listed", values={"standbys": "{standbys}"}),
            CheckCase(OK, "standbys", "no standby streams from this server now"),
        ),
    ),
    DoctorCheck(
        "replication",
        (
            CheckCase(WARNING, "remote_apply",
                      "commits wait until standbys ({names}) have replayed them (remote_apply), so a reader there can "
                      "prolong the lock of a table's move and stop commits here: such moves are refused",
                      "Set synchronous_commit to on while moves run, or allow_moves_with_remote_apply: true for this "
                      "database.",
                      when="replay_refused", about_moving=True),
            CheckCase(WARNING, "remote_apply",
                      "commits wait until standbys ({names}) have replayed them (remote_apply), so a reader there can "
                      "prolong the lock of a table's move and stop commits here: such moves are allowed by the "
                      "configuration",
                      when="replay_allowed", about_moving=True),
        ),
    ),
    DoctorCheck(
        "inactive_slots",
        (
            CheckCase(WARNING, "slot_inactive",
                      "no server uses the replication slot {slot}, which keeps {kept:bytes} of the log on disk; what "
                      "moves log is kept too",
                      "Let its standby connect again, or remove it with pg_drop_replication_slot.",
                      values={"slot": "{slot}", "bytes": "{bytes}"}),
        ),
    ),
    # One that is maintained slows down every change of its table.
    DoctorCheck(
        "unfinished_indexes",
        (
            CheckCase(WARNING, "unfinished_index",
                      "an interrupted REINDEX CONCURRENTLY has left the invalid index {index} on {table}: {size:bytes} "
                      "in {space}{maintained}",
                      "hotplace drops those of its own moves (hotplace history); else: "
                      "DROP INDEX CONCURRENTLY {index};",
                      values={"index": "{index}", "space": "{space}", "bytes": "{size}"}),
        ),
        nothing=CheckCase(OK, "unfinished_index", "no rebuild has left an index behind"),
    ),
    STATEMENTS,
    DoctorCheck(
        "files",
        (
            # A right that nothing else needs, and that is worth its price after a crash at most.
            CheckCase(INFO, "files_hidden",
                      "{login} may not list folders: files that an interrupted move left behind cannot be seen",
                      Remedy("After a crash, until doctor has looked: GRANT EXECUTE ON FUNCTION "
                             "pg_catalog.pg_ls_dir(text, boolean, boolean), pg_catalog.pg_stat_file(text, boolean) "
                             "TO {login};", LIST_FILES_GIVES),
                      when="hidden"),
            CheckCase(WARNING, "files_unknown",
                      "{count} file(s) in {space} belong to no relation and take {size:bytes}, {example} among them: a "
                      "server that ended in the midst of a move or a build leaves such files",
                      "Back up, stop the server, look at them once more, and delete them by hand; hotplace never does.",
                      when="count", values={"space": "{space}", "bytes": "{size}", "example": "{example}"}),
            CheckCase(OK, "files_known", "every file of a relation belongs to one"),
        ),
    ),
    # Objects whose names no statement can write; their bytes are shown escaped.
    DoctorCheck(
        "names",
        (
            CheckCase(WARNING, "names_unreadable",
                      "left out, because their names are not UTF-8: {count} object(s), among them {some}",
                      "Rename them; until then they are not ranked and not moved, and everything else is.",
                      when="count", values={"objects": "{count}"}),
            CheckCase(OK, "names", "every object's name can be read"),
        ),
    ),
    BLOCK_LOOKS,
)  # fmt: skip


def examine(
    session: ReadSession, catalog: Catalog, left_out: Sequence[str], *, remote_apply_allowed: bool, local: bool
) -> tuple[Finding, ...]:
    """All findings, including those that are ok.

    Args:
        session: to ask over.
        catalog: as it is now.
        left_out: names of objects that are not in it, because no statement can write them.
        remote_apply_allowed: the configuration allows moves whose lock a standby could prolong.
        local: the server's files are on this machine.

    Raises:
        ConnectorError: the server did not answer.
    """
    server, replication = read_facts(session), read_replication(session)

    def slots() -> Iterator[Facts]:
        for slot in replication.inactive_slots:
            yield {"slot": slot.name, "kept": max(0, slot.kept_bytes), "bytes": slot.kept_bytes}

    def spaces() -> Iterator[Facts]:
        for space in catalog.spaces:
            if local and space.path:
                yield {
                    "space": space.name, "volatile": volatile_here(space.path), "devices": devices_here(space.path),
                }  # fmt: skip

    return tuple(
        findings_of(
            CHECKS,
            {
                "doctor": lambda: (_server(server),),
                "doctor_spaces": lambda: _rows(session, "doctor_spaces"),
                "doctor_owners": lambda: _owners(session),
                "doctor_obstacles": lambda: _obstacles(session, server["login"]),
                "lease_lock": lambda: ({"stranger": find_stranger(session)},),
                "doctor_split": lambda: _rows(session, "doctor_split"),
                "seen_spaces": lambda: (
                    {"space": space.name, "path": space.path, "room_known": space.free_bytes is not None}
                    for space in catalog.spaces
                    if not space.lost
                ),
                "lost_spaces": lambda: (
                    {"space": space.name, "lost": space.lost} for space in catalog.spaces if space.lost
                ),
                "local_spaces": spaces,
                "replication": lambda: (doctor_facts(replication, allowed=remote_apply_allowed),),
                "inactive_slots": slots,
                "unfinished_indexes": lambda: _unfinished_indexes(session),
                "statements": lambda: (statement_facts(find_place(session)),),
                "files": lambda: _files(session),
                "names": lambda: (_names(left_out),),
                "blocks": lambda: (look_facts(session),),
            },
        )
    )


def _rows(
    session: ReadSession,
    name: str,
    values: Mapping[str, float] | None = None,
    unusable: dict[int, str] | None = None,
) -> list[Facts]:
    """The rows of a query of ``QUERIES`` by the names of its columns; ``unusable``: as of ``rows_beside_unusable``."""
    doing, columns = QUERIES[name]
    rows = rows_beside_unusable(session, name, values, doing, unusable)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def read_facts(session: ReadSession) -> Facts:
    """The row of ``sql/doctor.sql`` by name.

    Raises:
        ConnectorError: the server did not answer.
    """
    return _rows(session, "doctor")[0]


def _names(left_out: Sequence[str]) -> Facts:
    return {"count": len(left_out), "some": ", ".join(left_out[:SHOWN]) + (", ..." if len(left_out) > SHOWN else "")}


def _server(facts: Facts) -> Facts:
    since = facts["stats_reset"]
    return {
        **facts,
        "too_old": facts["version_number"] < OLDEST,
        "too_new": facts["version_number"] > NEWEST_TRIED,
        "reset": "never" if since is None else f"{since:%Y-%m-%d %H:%M:%S %Z}",
    }


def _owners(session: ReadSession) -> Iterator[Facts]:
    """Owners whose relations this login may not move, and what would let it."""
    rows = _rows(session, "doctor_owners", {"most": MOST_STATEMENTS})
    if not rows:
        return
    powers = read_powers(
        session, {str(row[name]) for row in rows for name in ("owner", "schema_owner", "database_owner")}
    )
    for _, group in groupby(rows, key=itemgetter("owner")):
        owned = list(group)
        row = owned[0]
        strong = powers.get(row["owner"], ())
        remedy = (
            refused_owner_remedy(
                [(each["example"], each["kind"], _heir(each, powers)) for each in owned], row["tables"]
            )
            if strong
            else owner_remedy(row["quoted"], row["login"], owns_database=row["owner"] == row["database_owner"])
        )
        yield {**row, "powers": ", ".join(strong), "remedy": remedy}


def _heir(row: Facts, powers: Mapping[str, tuple[str, ...]]) -> str:
    """The owner of the schema, else of the database, without powers, quoted; "" where both have some."""
    modest = (name for name in ("schema_owner", "database_owner") if row[name] not in powers)
    return next((str(row[f"{name}_quoted"]) for name in modest), "")


def _obstacles(session: ReadSession, login: str) -> Iterator[Facts]:
    kinds = ("read_only", "event_trigger", "index_function")
    for row in _rows(session, "doctor_obstacles"):
        yield {**row, "login": login, **{kind: row["kind"] == kind for kind in kinds}}


def _unfinished_indexes(session: ReadSession) -> Iterator[Facts]:
    for row in _rows(session, "unfinished_indexes"):
        yield {**row, "maintained": ", written to with every change of its table" if row["written"] else ""}


def _files(session: ReadSession) -> Iterable[Facts]:
    """Files that no catalog knows, by tablespace; nothing of a standby, whose files are the primary's."""
    (may,) = _rows(session, "unknown_files_may")
    if may["standby"]:
        return ()
    if not may["may"]:
        return ({"hidden": True, "login": may["login"]},)
    unusable: dict[int, str] = {}  # of which the finding says more that is about them
    rows = _rows(session, "unknown_files", {"older_than": OLDER_THAN_SECONDS}, unusable)
    if not rows and unusable:
        return ()
    return [{**row, "hidden": False} for row in rows] or ({"hidden": False, "count": 0},)


MOUNTS = Path("/proc/self/mountinfo")
IN_MEMORY = frozenset({"tmpfs", "ramfs"})
# What local disks of machines in a cloud call themselves; network disks have other names. Sources: Amazon's "Identify
# instance store volumes" and Azure's "NVMe general FAQ".
INSTANCE_STORES = ("Amazon EC2 NVMe Instance Storage", "Microsoft NVMe Direct Disk")
_ESCAPE = re.compile(r"\\([0-7]{3})")


def mount_of(path: Path, mounts: str) -> tuple[Path, str, str]:
    """The mount that holds a path: its place, the number of its device and the kind of its file system.

    Args:
        path: absolute, without links.
        mounts: as ``proc(5)`` describes /proc/[pid]/mountinfo.
    """
    newest_first = map(_mount_of, reversed(mounts.splitlines()))  # a mount hides an older one at the same place
    return max(newest_first, key=lambda mount: _covers(mount[0], path))


def find_volatile(path: Path, mounts: str, model_of: Callable[[str], str]) -> str:
    """Why what lies at a path does not survive a restart of its machine; "" where nothing shows that.

    Args:
        path: as of ``mount_of``.
        mounts: likewise.
        model_of: what a block device calls itself, by its major and minor number; "" where it has no name.
    """
    place, number, kind = mount_of(path, mounts)
    if kind in IN_MEMORY:
        return f"{place} is {kind}, which is memory"
    model = model_of(number)
    return f"{place} is an instance store ({model})" if model.startswith(INSTANCE_STORES) else ""


def volatile_here(path: str) -> str:
    """``find_volatile`` of a path of this machine; "" too where it cannot be seen."""
    try:
        return find_volatile(Path(path).resolve(), MOUNTS.read_text(encoding="utf-8", errors="replace"), _model_of)
    except (OSError, ValueError):  # another operating system, or a line of another shape
        return ""


def _mount_of(line: str) -> tuple[Path, str, str]:
    """Mount point, device number and kind of file system."""
    before, _, after = line.partition(" - ")
    fields = before.split(" ")
    place = _ESCAPE.sub(lambda found: chr(int(found[1], 8)), fields[4])
    return Path(place), fields[2], after.split(" ")[0]


def _covers(place: Path, path: Path) -> int:
    """How much of the path the mount point is, -1 where the path is not below it; of equals the first counts."""
    return len(place.parts) if path.is_relative_to(place) else -1


DEVICES = Path("/sys/dev/block")
# How network disks of clouds call themselves; their type, which says what they serve, shows nowhere on the machine.
VOLUMES = ("Amazon Elastic Block Store", "PersistentDisk", "nvme_card-pd", "Virtual Disk", "MSFT NVMe Accelerator")


def _model_of(number: str) -> str:
    return _read_word(_disk_of(DEVICES / number), "device/model")


def _disk_of(device: Path) -> Path:
    """The folder of a block device, of a partition that of its disk."""
    found = device.resolve()
    return found.parent if (found / "partition").exists() else found


def _read_word(disk: Path, name: str) -> str:
    """What a disk says in a file of its folder; "" where it says nothing."""
    try:
        return (disk / name).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def say_devices(number: str, devices: Path = DEVICES) -> str:
    """What block devices say of themselves: name, model, whether they rotate, and how many requests they take.

    Args:
        number: major and minor, of a disk, a partition, or a volume that several disks make up.
        devices: folder with a link for each number, as ``sysfs(5)`` has it.

    Returns:
        "" where nothing is seen.
    """
    disk = _disk_of(devices / number)
    try:
        below = sorted(disk.glob("slaves/*"))
    except OSError:
        below = []
    if below:
        parts = [say_devices(_read_word(each, "dev"), devices) for each in below]
        return f"{disk.name} made of {'; '.join(filter(None, parts))}" if any(parts) else ""
    rotates, depth, model = (
        _read_word(disk, each) for each in ("queue/rotational", "queue/nr_requests", "device/model")
    )
    if not rotates:
        return ""
    kind = "calls itself rotating" if rotates == "1" else "does not rotate"
    volume = ", a network volume whose type says how many I/Os it serves" if model.startswith(VOLUMES) else ""
    queue = f" and takes {depth} requests at a time" if depth else ""
    return f"{disk.name}{f' ({model}{volume})' if model else ''}, which {kind}{queue}"


def devices_here(path: str) -> str:
    """``say_devices`` of a path of this machine; "" too where it cannot be seen."""
    try:
        _, number, _ = mount_of(Path(path).resolve(), MOUNTS.read_text(encoding="utf-8", errors="replace"))
    except (OSError, ValueError):  # another operating system, or a line of another shape
        return ""
    return say_devices(number)
