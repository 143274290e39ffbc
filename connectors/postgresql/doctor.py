"""What keeps hotplace from observing or moving, each with the statement that fixes it.

Half-written files: what a server that ended in the midst of a move left in a tablespace, and no catalog knows.

PostgreSQL gives a moved relation a new file and knows it once the move is committed. When the server is killed before,
the file stays for ever, as large as it got, and takes room that a small fast tablespace cannot spare.

Storage that loses what it holds when its machine restarts or moves, and what block devices say of themselves, as far as
this machine shows it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from connectors.kit.findings import Finding, Remedy
from connectors.model.formatting import format_bytes
from connectors.model.observation import Catalog, Space
from connectors.postgresql.catalog import ONE_STORAGE
from connectors.postgresql.lease import find_stranger
from connectors.postgresql.replication import findings_on, read_replication
from connectors.postgresql.rights import (
    LIST_FILES_GIVES,
    SCHEMA_GIVES,
    SPACE_GIVES,
    monitor_remedy,
    owner_remedy,
    read_powers,
    refused_owner_remedy,
)
from connectors.postgresql.sessions import ReadSession, Row, query
from connectors.postgresql.statements import find_place
from connectors.postgresql.statements import findings_on as statement_findings

OLDER_THAN_SECONDS = 3600.0


def unknown_files(session: ReadSession) -> tuple[Finding, ...]:
    """A finding for each tablespace that has such files, or one that there are none, or that this login may not look.

    Raises:
        ConnectorError: the server did not answer.
    """
    login, standby, may = session.rows(query("unknown_files_may"), doing="asking for the right to list folders")[0]
    if standby:
        return ()
    if not may:
        return (
            Finding.info(
                "files_hidden",
                f"{login} may not list folders: files that an interrupted move left behind cannot be seen",
                _listing(login),
            ),
        )
    rows = session.rows(query("unknown_files"), {"older_than": OLDER_THAN_SECONDS}, doing="looking for unknown files")
    if not rows:
        return (Finding.ok("files_known", "every file of a relation belongs to one"),)
    return tuple(_finding(row) for row in rows)


def _listing(login: str) -> Remedy:
    """A right that nothing else needs, and that is worth its price after a crash at most."""
    functions = "pg_catalog.pg_ls_dir(text, boolean, boolean), pg_catalog.pg_stat_file(text, boolean)"
    return Remedy(
        f"After a crash, until doctor has looked: GRANT EXECUTE ON FUNCTION {functions} TO {login};", LIST_FILES_GIVES
    )


def _finding(row: Row) -> Finding:
    space, count, size, example = row
    return Finding.warning(
        "files_unknown",
        f"{count} file(s) in {space} belong to no relation and take {format_bytes(size)}, {example} among "
        "them: a server that ended in the midst of a move or a build leaves such files",
        "Back up, stop the server, look at them once more, and delete them by hand; hotplace never does.",
        values={"space": str(space), "bytes": str(size), "example": str(example)},
    )


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
    return _said(_disk_of(DEVICES / number), "device/model")


def _disk_of(device: Path) -> Path:
    """The folder of a block device, of a partition that of its disk."""
    found = device.resolve()
    return found.parent if (found / "partition").exists() else found


def _said(disk: Path, name: str) -> str:
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
        parts = [say_devices(_said(each, "dev"), devices) for each in below]
        return f"{disk.name} made of {'; '.join(filter(None, parts))}" if any(parts) else ""
    rotates, depth, model = (_said(disk, each) for each in ("queue/rotational", "queue/nr_requests", "device/model"))
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


OLDEST = 140000
NEWEST_TRIED = 189999
_FACTS = (
    "version",
    "version_number",
    "login",
    "monitor",
    "counters",
    "timing",
    "log_timing",
    "standby",
    "stats_reset",
    "service",
)
_OWNER = (
    *("owner", "quoted", "login", "relations", "example", "kind"),
    *("schema_owner", "schema_owner_quoted", "database_owner", "database_owner_quoted"),
)
Facts = Mapping[str, Any]


def examine(session: ReadSession, catalog: Catalog, *, remote_apply_allowed: bool, local: bool) -> tuple[Finding, ...]:
    """All findings, including those that are ok.

    Args:
        session: to ask over.
        catalog: as it is now.
        remote_apply_allowed: the configuration allows moves whose lock a standby could prolong.
        local: the server's files are on this machine.

    Raises:
        ConnectorError: the server did not answer.
    """
    facts = read_facts(session)
    spaces = session.rows(query("doctor_spaces"), doing="looking at tablespaces")
    found = [check(facts) for check in _CHECKS]
    found += [_may_create(row) for row in spaces]
    found += _owners(session)
    found += _obstacles(session, facts["login"])
    found.append(_lock_of_agents(session))
    found += _may_split(session.rows(query("doctor_split"), doing="looking at schemas"))
    found += [_visible(space.name, space.path, space.free_bytes) for space in catalog.spaces if not space.lost]
    found += [_find_lost_space(space) for space in catalog.spaces if space.lost]
    found += [_volatile(space.name, volatile_here(space.path)) for space in catalog.spaces if local and space.path]
    found += [
        Finding.ok("block_device", f"{space.name} lies on {said}", values={"space": space.name})
        for space in catalog.spaces
        if local and space.path and (said := devices_here(space.path))
    ]
    found += findings_on(read_replication(session), allowed=remote_apply_allowed)
    found += _unfinished_index_findings(
        session.rows(query("unfinished_indexes"), doing="looking for unfinished indexes")
    )
    found += statement_findings(find_place(session))
    return (*found, *unknown_files(session))


def _find_lost_space(space: Space) -> Finding:
    """A tablespace whose storage has gone: the server runs on, and says so only to who reads or writes there."""
    return Finding.error(
        "space_lost",
        f"{space.name} cannot take data: {space.lost}",
        "Bring its storage back; until then nothing is proposed to go there.",
        values={"space": space.name},
    )


def _volatile(space: str, why: str) -> Finding:
    """One tablespace that is gone after a restart can keep the whole server from starting."""
    if not why:
        return Finding.ok("storage_lasts", f"nothing shows that the storage of {space} is lost with a restart")
    return Finding.warning(
        "storage_volatile",
        f"what {space} holds does not survive a restart of the machine: {why}; a server that lacks a tablespace may "
        "not start again",
        f"Give {space} a place on storage that lasts, or no tier.",
        values={"space": space},
    )


_SHOWN = 3  # names of many


def names_finding(left_out: Sequence[str]) -> Finding:
    """Objects whose names no statement can write; their bytes are shown escaped."""
    if not left_out:
        return Finding.ok("names", "every object's name can be read")
    names = ", ".join(left_out[:_SHOWN]) + (", ..." if len(left_out) > _SHOWN else "")
    return Finding.warning(
        "names_unreadable",
        f"left out, because their names are not UTF-8: {len(left_out)} object(s), among them {names}",
        "Rename them; until then they are not ranked and not moved, and everything else is.",
        values={"objects": str(len(left_out))},
    )


def _unfinished_index_findings(rows: list[Row]) -> list[Finding]:
    """Invalid indexes left by interrupted rebuilds; one that is maintained slows down every change of its table."""
    if not rows:
        return [Finding.ok("unfinished_index", "no rebuild has left an index behind")]
    return [
        Finding.warning(
            "unfinished_index",
            f"an interrupted REINDEX CONCURRENTLY has left the invalid index {index} on {table}: "
            f"{format_bytes(size)} in {space}{', written to with every change of its table' if written else ''}",
            f"hotplace drops those of its own moves (hotplace history); else: DROP INDEX CONCURRENTLY {index};",
            values={"index": index, "space": space, "bytes": str(size)},
        )
        for index, table, space, size, written in rows
    ]


def read_facts(session: ReadSession) -> Facts:
    """The row of ``sql/doctor.sql`` by name.

    Raises:
        ConnectorError: the server did not answer.
    """
    rows = session.rows(query("doctor"), doing="examining the server")
    return dict(zip(_FACTS, rows[0], strict=True))


def _version(facts: Facts) -> Finding:
    number, version = facts["version_number"], facts["version"]
    if number < OLDEST:
        return Finding.error("version_unsupported", f"PostgreSQL {version} is older than 14", "Upgrade the server.")
    if number > NEWEST_TRIED:
        return Finding.warning(
            "version_untried", f"PostgreSQL {version} is newer than 18", "Watch the first samples closely."
        )
    return Finding.ok("version", f"PostgreSQL {version}")


def _monitor(facts: Facts) -> Finding:
    if facts["monitor"]:
        return Finding.ok("pg_monitor", f"{facts['login']} is a member of pg_monitor")
    return Finding.warning(
        "pg_monitor_missing",
        f"{facts['login']} is no member of pg_monitor: sizes, paths and other sessions stay hidden",
        monitor_remedy(facts["login"]),
    )


def _counters(facts: Facts) -> Finding:
    if facts["counters"]:
        return Finding.ok("track_counts", "the server counts what each relation reads")
    return Finding.error(
        "track_counts_off",
        "track_counts is off: the server counts no reads, so there is no ranking",
        "ALTER SYSTEM SET track_counts = on; SELECT pg_reload_conf();",
    )


def _timing(facts: Facts) -> Finding:
    if facts["timing"]:
        return Finding.ok("track_io_timing", "the server measures how long reads take")
    return Finding.warning(
        "track_io_timing_off",
        "track_io_timing is off: gains are predicted from configured disk speeds, not measured ones",
        "ALTER SYSTEM SET track_io_timing = on; SELECT pg_reload_conf();",
    )


def _log_timing(facts: Facts) -> Finding:
    if facts["log_timing"]:
        sentence = "the server measures how long its log takes"
        return Finding.ok("track_wal_io_timing", sentence)
    return Finding.info(
        "track_wal_io_timing_off",
        "track_wal_io_timing is off: how long sessions wait for the log is unknown",
        "ALTER SYSTEM SET track_wal_io_timing = on; SELECT pg_reload_conf();",
    )


def _standby(facts: Facts) -> Finding:
    if not facts["standby"]:
        return Finding.ok("primary", "this server accepts writes")
    return Finding.warning(
        "standby", "this server is a standby: hotplace only watches here", "Connect to the primary to move anything."
    )


def _service(facts: Facts) -> Finding:
    if not facts["service"]:
        return Finding.ok("own_storage", "no managed service is known to run this server", about_moving=True)
    return Finding.error(
        "managed_service",
        ONE_STORAGE.format(facts["service"]),
        "Size its storage instead: hotplace sizing says what faster storage would bring.",
        about_moving=True,
        values={"service": facts["service"]},
    )


def _reset(facts: Facts) -> Finding:
    since = facts["stats_reset"]
    when = "never" if since is None else f"{since:%Y-%m-%d %H:%M:%S %Z}"
    return Finding.ok("stats_reset", f"statistics were last reset: {when}")


def _lock_of_agents(session: ReadSession) -> Finding:
    """Whether someone who is no agent has it, as any user of the database may."""
    if not (stranger := find_stranger(session)):
        return Finding.ok("lease_lock", "the lock that keeps agents apart is free or an agent's", about_moving=True)
    return Finding.warning(
        "lease_lock_taken",
        f"{stranger}, has the lock that keeps agents apart and is no session of this login: nobody is kept from acting",
        "Have it let go of the lock (pg_advisory_unlock_all), or end it (pg_terminate_backend).",
        about_moving=True,
        values={"session": stranger},
    )


def _owners(session: ReadSession) -> list[Finding]:
    """One for each owner whose relations may not be moved; none is handed over that could do more than own them."""
    rows = [
        dict(zip(_OWNER, row, strict=True)) for row in session.rows(query("doctor_owners"), doing="looking at owners")
    ]
    if not rows:
        return [Finding.ok("ownership", "every relation may be altered by this login", about_moving=True)]
    powers = read_powers(
        session, {str(row[name]) for row in rows for name in ("owner", "schema_owner", "database_owner")}
    )
    return [_of_owner(row, powers) for row in rows]


def _of_owner(row: Facts, powers: Mapping[str, tuple[str, ...]]) -> Finding:
    owner, login, strong = row["owner"], row["login"], powers.get(row["owner"], ())
    sentence = f"{login} may not move {row['relations']} relation(s) of {owner}, {row['example']} among them"
    values = {"relations": str(row["relations"]), "owner": owner}
    if not strong:
        remedy = owner_remedy(row["quoted"], login, owns_database=owner == row["database_owner"])
        return Finding.warning("ownership_missing", sentence, remedy, about_moving=True, values=values)
    modest = (name for name in ("schema_owner", "database_owner") if row[name] not in powers)
    return Finding.warning(
        "ownership_refused",
        f"{sentence}; {owner} is never handed over, for it has {', '.join(strong)}",
        refused_owner_remedy(row["example"], row["kind"], next((row[f"{name}_quoted"] for name in modest), "")),
        about_moving=True,
        values=values,
    )


_CHECKS: tuple[Callable[[Facts], Finding], ...] = (
    _version,
    _monitor,
    _counters,
    _timing,
    _log_timing,
    _standby,
    _service,
    _reset,
)


def _may_create(row: Row) -> Finding:
    name, quoted, login, may = row
    if may:
        return Finding.ok(
            "space_create", f"{login} may move relations to {name}", about_moving=True, values={"space": name}
        )
    return Finding.warning(
        "space_create_missing",
        f"{login} may not create in tablespace {name}, so no relation can be moved there",
        Remedy(f"GRANT CREATE ON TABLESPACE {quoted} TO {login};", SPACE_GIVES.format(login)),
        about_moving=True,
        values={"space": name},
    )


def _obstacles(session: ReadSession, login: str) -> list[Finding]:
    """What statements of moves would fail by, though every right is there."""
    rows = session.rows(query("doctor_obstacles"), doing="looking for what would stop moves")
    return [_OBSTACLES[kind](login, name, detail) for kind, name, detail in rows]


_OBSTACLES: Mapping[str, Callable[[str, str, str], Finding]] = {
    "read_only": lambda login, name, detail: Finding.warning(  # noqa: ARG005  # as the others
        "sessions_read_only",
        f"sessions of {login} begin read-only (default_transaction_read_only), so no move can be carried out",
        f"If it is to move: ALTER ROLE {login} SET default_transaction_read_only = off;",
        about_moving=True,
    ),
    "event_trigger": lambda login, name, detail: Finding.info(  # as the others
        "event_trigger",
        f"the event trigger {name} calls {detail} for statements of moves; if that refuses {login}, each of them fails",
        f"Look whether {detail} lets {login} alter and rebuild what it moves.",
        about_moving=True,
        values={"trigger": name, "function": detail},
    ),
    "index_function": lambda login, name, detail: Finding.warning(  # noqa: ARG005  # as the others
        "index_function_path",
        f"the index {name} calls {detail}, which finds names by the session's search_path: a rebuild may fail, here "
        "and in any restore",
        f"ALTER FUNCTION {detail} SET search_path = the schemas that it needs, pg_temp;",
        about_moving=True,
        values={"index": name, "function": detail},
    ),
}


def _may_split(rows: list[Row]) -> list[Finding]:
    """A split makes tables next to the one that is split, for its owner."""
    if not rows:
        return [Finding.ok("split_schema", "every owner of tables may make tables next to them", about_moving=True)]
    return [
        Finding.info(
            "split_schema_missing",
            f"{owner} may not create in schema {schema}, so none of its {tables} table(s) there can be split",
            Remedy(f"GRANT CREATE ON SCHEMA {schema} TO {owner};", SCHEMA_GIVES.format(owner, schema)),
            about_moving=True,
            values={"schema": schema, "owner": owner},
        )
        for schema, owner, tables in rows
    ]


def _visible(name: str, path: str, free_bytes: int | None) -> Finding:
    if free_bytes is not None:
        return Finding.ok("space_visible", f"the file system of {name} can be seen: {path}", values={"space": name})
    return Finding.info(
        "space_hidden",
        f"how much room {name} has cannot be seen from here",
        "State the capacity of this space in the configuration.",
        values={"space": name},
    )
