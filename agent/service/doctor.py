"""Checks everything that must be right before hotplace can work, and names what mends each fault.

First the machine: packages, the ledger, who may approve, files with passwords. Then, for a database: whether anything
may be sent to it, its policy, and what its connector finds over the watching and the moving account.

Nothing is changed: sessions cannot write, and in the ledger's folder a file without a name is made and is gone at
once. An error becomes a finding, never a traceback.
"""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
from pydantic import BaseModel

from agent.config.errors import ConfigError
from agent.config.models import Config, DatabaseConfig, LedgerConfig, LedgerServer
from agent.config.tiers import Storage
from agent.ledger.errors import AWAY, LedgerTooNew
from agent.ledger.ledger import Ledger
from agent.ledger.store.schema import HEAD
from agent.model.signatures import SignatureInvalid, Signers
from agent.planning.first_tier import next_step, what_is_missing
from agent.service.heard import DaemonState, daemon_of
from agent.service.sending import Hindrance, Sending, SendingFacts, judge, look_from_outside
from connectors.kit.contract import (
    AuthenticationFailed,
    Clock,
    Connector,
    DriverMissing,
    HotplaceError,
    PrivilegeMissing,
    TriesMoves,
)
from connectors.kit.files import is_read_by_others
from connectors.kit.findings import Finding, Remedy, RemedyKind, Severity
from connectors.kit.registry import install_command
from connectors.kit.settings import SecretSource, SecretUnavailable
from connectors.model.blocks import SeesValues
from connectors.model.formatting import format_bytes, format_ratio
from connectors.model.observation import Catalog, Identity, Space
from hotplace import foreign_packages, package_folders
from policies.evidence.capacity import room_bytes
from policies.evidence.queueing import queues
from policies.model.settings import Tier
from policies.placement.forecast import ASSUMED_BYTES, ASSUMED_IO

TIMEOUT_SECONDS = 5.0  # for a lock; doctor asks for none that is ever kept long


def ledger_findings(config: LedgerConfig, databases: Collection[str] = ()) -> Iterator[Finding]:
    """Every finding about the ledger; on a server also whether its teams own these databases."""
    if config.postgresql is None:
        yield ledger_finding(config.path)
        return
    try:
        yield from _server_findings(config.postgresql, databases)
    except ModuleNotFoundError:
        remedy = install_command("postgresql")
        yield Finding.error("ledger_server", "a ledger on PostgreSQL needs psycopg", remedy)
    except HotplaceError as error:
        yield Finding.error("ledger_server", str(error), error.advice, values={"ledger": config.postgresql.name})


def ledger_finding(path: Path) -> Finding:
    """Whether the ledger can be written where the configuration puts it."""
    try:
        if path.exists():
            with path.open("r+b"):
                pass
        # The folder too: SQLite makes files of its own next to the ledger (-wal, -shm).
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        return Finding.error(
            "ledger_path",
            f"the ledger {path} cannot be written: {error.strerror}",
            f"Make {path.parent} a folder that the user of hotplace may write to, or change ledger.path.",
            values={"path": str(path)},
        )
    return Finding.ok("ledger_path", f"the ledger {path} can be written")


def _server_findings(server: LedgerServer, databases: Collection[str]) -> Iterator[Finding]:
    """Version, privileges, and whether what the server has acknowledged survives its machine."""
    from agent.ledger.server.database import ServerDatabase, read_revision
    from agent.ledger.server.roles import missing_privileges, unsafe_settings, version_of, why_read_only

    with closing(ServerDatabase(server, busy_seconds=TIMEOUT_SECONDS)) as database:
        revision = read_revision(database)
        with database.read() as reading:
            version = version_of(reading)
            missing = missing_privileges(reading, server, databases, made=bool(revision))
            unsafe = unsafe_settings(reading)
            read_only, remedy_of_it = why_read_only(reading)
    values = {"ledger": server.name, "version": version, "revision": revision}
    yield Finding.ok(
        "ledger_server", f"the ledger is {server.name}, PostgreSQL {version}, tables {revision or 'not made yet'}",
        values=values,
    )  # fmt: skip
    for privilege, statement in missing:
        remedy = Remedy(statement, f"{privilege}, on the server of the ledger")
        yield Finding.error("ledger_privilege", f"the user {server.user} lacks {privilege} for the ledger", remedy)
    if read_only:
        yield Finding.error("ledger_read_only", f"the ledger {server.name} {read_only}", remedy_of_it)
    for setting, value in unsafe:
        yield Finding.warning(
            "ledger_durability",
            f"the server of the ledger runs with {setting} = {value}: after a crash an intent may be missing",
            f"Set {setting} = on, unless its storage makes up for it.",
        )


def sending_findings(config: Config, database: DatabaseConfig, clock: Clock) -> Iterator[Finding]:
    """Whether anything is sent to a database, as the ledger is now: it is neither made nor migrated."""
    place, now = config.ledger, clock.now()
    known = SendingFacts(
        database=database.name, ledger=str(place.path) if place.postgresql is None else place.postgresql.name
    )
    try:
        found = Ledger.as_it_is(place.place, clock, anchors=place.anchors, busy_seconds=TIMEOUT_SECONDS)
        if found is None:
            yield Finding.info("sending", "there is no ledger yet: the first command that needs one makes it")
            return
        ledger, revision = found
        with closing(ledger):
            if revision != HEAD:
                earlier = f"the tables of the ledger {ledger.name} are of an earlier hotplace ({revision}, ours {HEAD})"
                yield _sending_finding(judge(replace(known, earlier=earlier), now))
                return
            daemon = daemon_of(ledger, database, now)
            yield _sending_finding(look_from_outside(ledger, database, daemon, now, dry_run=config.dry_run))
            yield from reading_findings(daemon)
    except LedgerTooNew as error:
        yield _sending_finding(judge(replace(known, newer=str(error)), now))
    except AWAY as error:
        yield _sending_finding(judge(replace(known, ledger_error=str(error)), now))
    except HotplaceError as error:
        yield Finding.error("sending", str(error), error.advice)


def reading_findings(daemon: DaemonState) -> Iterator[Finding]:
    """How much of the catalog the daemon sees, where reading the counters of all units takes too long."""
    found = None if daemon.status is None else daemon.status.units_read
    if not daemon.alive or found is None:
        return
    remedy = (
        "Nothing has to be done: units that sessions wait for are read each time, and what was not read is not taken "
        "for cold. To see all of it each time, sample less often (sample_every), or find out why the server takes so "
        "long to read its counters."
    )
    values = {name: f"{getattr(found, name):.0f}" for name in ("units", "read", "never", "oldest_seconds")}
    yield (Finding.warning if found.never else Finding.info)("units_unread", found.sentence, remedy, values=values)


def _sending_finding(sending: Sending) -> Finding:
    values = {"state": sending.state}
    if sending.allowed:
        return Finding.ok("sending", sending.sentence, values=values)
    remedy = f"Next: {sending.next_step}." if sending.next_step else ""
    if sending.needs_a_person or sending.hindrance is Hindrance.LEDGER_AWAY:
        return Finding.error("sending", sending.sentence, remedy, values=values)
    if sending.hindrance is Hindrance.STOPPED:
        return Finding.warning("sending", sending.sentence, remedy, values=values)
    return Finding.info("sending", sending.sentence, remedy, values=values)


WATCHING = "connection"
MOVING = "move_connection"
MOST_RATIO = 0.5  # of a database in a space that no tier has: hardly meant so
CODES = (  # the first class that fits gives the finding its code; any other error is "connection"
    (AuthenticationFailed, "authentication"),
    (DriverMissing, "driver"),
    (PrivilegeMissing, "privilege"),
    (SecretUnavailable, "secret"),
)


def examine(config: Config, database: DatabaseConfig, clock: Clock) -> list[Finding]:
    """Every finding about this machine, this database and the accounts that are used on it.

    Args:
        config: the whole configuration.
        database: the one to look at.
        clock: what the connectors tell the time by.

    Returns:
        Findings of the machine first, then those of the watching and, where it is another, of the moving account.
    """
    findings = examine_machine(config)
    bad = any(finding.severity is Severity.ERROR and finding.code.startswith("ledger") for finding in findings)
    if not bad or config.ledger.postgresql is not None:
        found = sending_findings(config, database, clock)
        findings += (finding for finding in found if not bad or finding.values)  # the others were said above
    findings += policy_findings(database)
    tries = not config.dry_run
    watching = list(_examine_watching(database, clock, tries=tries))
    if database.move_connection is None:
        return findings + watching
    moving = list(_examine_moving(database, clock, tries=tries))
    return findings + _merge_accounts(watching, moving)


def secret_findings(config: Config) -> Iterator[Finding]:
    """Files with a password that users of this machine other than their owner may read."""
    for path in sorted({source.file for source in _secrets_of(config) if source.file is not None}):
        try:
            exposed = is_read_by_others(path)
        except OSError:
            continue  # who needs it says that it cannot be read
        if exposed:
            yield Finding.warning(
                "secret_file",
                f"other users of this machine may read the password in {path}",
                f"chmod 600 {path}, and let it belong to the user that runs hotplace.",
                values={"path": str(path)},
            )


def _secrets_of(part: object) -> Iterator[SecretSource]:
    """Every place of a secret that a configuration names."""
    if isinstance(part, SecretSource):
        yield part
    elif isinstance(part, BaseModel):
        for name in type(part).model_fields:
            yield from _secrets_of(getattr(part, name))
    elif isinstance(part, tuple | list):
        for each in part:
            yield from _secrets_of(each)


def examine_machine(config: Config) -> list[Finding]:
    """Every finding that is about no database."""
    machine = (packages_finding(), *_ledger_findings(config), approval_finding(config.signers))
    return [*machine, *secret_findings(config)]


def packages_finding() -> Finding:
    """Whether agent, connectors and policies come from one place; their names are generic."""
    home = Path(__file__).resolve().parents[2]
    foreign = foreign_packages(package_folders(), home)
    if not foreign:
        return Finding.ok("packages", f"all packages are loaded from {home}")
    listed = ", ".join(f"{name} from {place}" for name, place in foreign.items())
    return Finding.error(
        "packages",
        f"hotplace lives in {home}, but another program's package stands in its way: {listed}",
        "Install hotplace into a virtual environment of its own, and unset PYTHONPATH.",
        values=foreign,
    )


def _ledger_findings(config: Config) -> Iterator[Finding]:
    yield from ledger_findings(config.ledger, [database.name for database in config.databases])
    if config.ledger.postgresql is not None and config.signers is None:
        yield Finding.warning(
            "ledger_approvals",
            "the ledger is on a server and approvals are plain: every login that may approve there can let moves run",
            "approval: signed lets this agent believe signatures by people's own SSH keys only",
        )


def approval_finding(allowed_signers: Path | None) -> Finding:
    """What an approval proves: plain, who may run the command; signed, who holds a key, if the file of keys is safe."""
    if allowed_signers is None:
        return Finding.info(
            "approval",
            "approvals are plain: every process of the user that runs hotplace, and root, can approve",
            "approval: signed asks for signatures by people's own SSH keys",
        )
    try:
        Signers(allowed_signers).check_file()
    except SignatureInvalid as error:
        return Finding.error("approval", str(error), error.advice, values={"allowed_signers": str(allowed_signers)})
    return Finding.ok("approval", f"approvals are signed; {allowed_signers} says who may sign")


def policy_findings(database: DatabaseConfig) -> Iterator[Finding]:
    """Settings that an earlier version wrote, and that count something twice by now."""
    share, given = database.engine_record.prefetched_share(database.connection), database.policy.prefetched_wait_share
    if share is not None and given > share and "prefetched_wait_share" in database.policy.model_fields_set:
        yield Finding.warning(
            "prefetched_wait_share",
            f"policy.prefetched_wait_share is {format_ratio(given)}, but waits for what is read ahead are in the waits "
            f"that {database.engine_record.title} measures for each unit: they count twice",
            "Remove policy.prefetched_wait_share from the configuration; earlier versions of hotplace init wrote it.",
            values={"configured": format_ratio(given), "right": format_ratio(share)},
        )


def values_finding(database: DatabaseConfig, connector: Connector) -> Iterator[Finding]:
    """What reading values of users means, where the configuration allows it; nothing where it does not."""
    if not database.border_values:
        return
    if isinstance(connector, SeesValues):
        yield Finding.info(
            "border_values",
            "border_values is on: of large hot tables the least and the greatest value of a column are read in single "
            "blocks, and kept in the ledger",
            "The watching login needs SELECT on the column (PostgreSQL: and on ctid); hotplace explain UNIT names a "
            "grant that is missing.",
        )
    else:
        yield Finding.warning(
            "border_values",
            f"border_values is on, but of {database.engine_record.title} no values can be read",
            "Remove border_values from the configuration.",
        )


def storage_findings(storage: Storage, head_room_ratio: float, held_bytes: Sequence[int]) -> Iterator[Finding]:
    """Each tier whose limit nothing tells, and each space with its tier and the room left in it.

    Args:
        storage: spaces with their tiers.
        head_room_ratio: of a space is never filled.
        held_bytes: of the units in each space.
    """
    yield from (_io_limit_unknown(tier) for tier in storage.tiers if not queues(tier))
    everything = sum(held_bytes)
    for space, row, held in zip(storage.spaces, storage.tier_of_space, held_bytes, strict=True):
        if row >= 0:
            yield _room(space, storage.tiers[int(row)].name, head_room_ratio)
        else:
            yield _not_managed(space.name, held, everything)


def _examine_watching(database: DatabaseConfig, clock: Clock, *, tries: bool) -> Iterator[Finding]:
    """The account that watches, and the storage as it sees it."""
    try:
        with closing(database.connect(clock)) as connector:
            yield _connection_finding(connector.identify(), WATCHING)
            moves_too = database.move_connection is None and not database.by_hand
            findings, catalog = connector.doctor(), connector.catalog()
            findings = _without_foreign_spaces(findings, database, catalog)
            yield from _of_watching(findings, database, moves_too=moves_too, tries=tries)
            yield from values_finding(database, connector)
            yield from _storage(database, catalog)
            if moves_too and tries:
                yield from _trial(database, connector, catalog)
    except HotplaceError as error:
        yield _error_finding(error, WATCHING)


def _of_watching(
    findings: Sequence[Finding], database: DatabaseConfig, *, moves_too: bool, tries: bool
) -> Iterator[Finding]:
    """Findings of the login that watches. What it lacks to move is no right to give it: another login is to move.

    Args:
        findings: of the connector.
        database: that it watches.
        moves_too: there is no ``move_connection``, so it would move as well.
        tries: ``dry_run`` is off, so moves are wanted now.
    """
    wrong = (each for each in findings if each.about_moving and each.severity is not Severity.OK)
    lacking = [each.code for each in wrong if each.mends.kind is not RemedyKind.HARMLESS]
    yield from (each for each in findings if not each.about_moving or (moves_too and each.code not in lacking))
    if not moves_too or not lacking:
        return
    sentence = "there is no move_connection, and the login of connection may not move everything: it only watches"
    remedy = (
        "Leave that login as it is. Make one that moves, and name it as move_connection: hotplace setup "
        f"{database.engine}, or the scripts of: hotplace deploy privileges --engine {database.engine}"
    )
    values = {"lacking": ", ".join(sorted(set(lacking)))}
    say = Finding.warning if tries else Finding.info
    yield say("move_connection_missing", sentence, remedy, about_moving=True, values=values)


def _trial(database: DatabaseConfig, connector: Connector, catalog: Catalog) -> tuple[Finding, ...]:
    """What a move of something of its own, rolled back, shows of moves to the spaces of tiers."""
    try:
        storage = database.resolve_spaces(catalog)
    except ConfigError:
        return ()  # ``_storage`` says what is wrong
    managed = [space for space, row in zip(storage.spaces, storage.tier_of_space, strict=True) if row >= 0]
    spaces = [space.name for space in managed if not space.lost]
    return connector.try_moves(spaces) if spaces and isinstance(connector, TriesMoves) else ()


def _examine_moving(database: DatabaseConfig, clock: Clock, *, tries: bool) -> Iterator[Finding]:
    """The account that moves: what it lacks, and whether it reaches the same database as the one that watches."""
    try:
        with closing(database.connect_mover_side(clock)) as moving:
            identity = moving.identify()
            yield _connection_finding(identity, MOVING)
            catalog = moving.catalog()
            yield from _without_foreign_spaces(moving.doctor(), database, catalog)
            if tries:
                yield from _trial(database, moving, catalog)
        with closing(database.connect(clock)) as watching:
            watched = watching.identify()
    except HotplaceError as error:
        yield _error_finding(error, MOVING)
        return
    if watched.fingerprint != identity.fingerprint:
        yield Finding.error(
            "other_database",
            f"{MOVING} reaches another database ({identity.database}) than {WATCHING} ({watched.database})",
            f"Let both name the same server and database under {database.name}.",
            values={WATCHING: watched.fingerprint, MOVING: identity.fingerprint},
        )


def _without_foreign_spaces(
    findings: Sequence[Finding], database: DatabaseConfig, catalog: Catalog
) -> tuple[Finding, ...]:
    """Findings without those on moving to spaces that no tier has: nothing will be moved there."""
    try:
        storage = database.resolve_spaces(catalog)
    except ConfigError:
        return tuple(findings)  # ``_storage`` says what is wrong
    foreign = {space.name for space, row in zip(storage.spaces, storage.tier_of_space, strict=True) if row < 0}
    return tuple(each for each in findings if not (each.about_moving and each.values.get("space") in foreign))


def _merge_accounts(watching: Sequence[Finding], moving: Sequence[Finding]) -> list[Finding]:
    """Findings of both accounts; what both found is said once and names both."""
    both = f"{WATCHING} and {MOVING}"
    shared = [_of_account(finding, both) if finding in moving else finding for finding in watching]
    rest = (finding for finding in moving if finding not in watching)
    return shared + [finding if "account" in finding.values else _of_account(finding, MOVING) for finding in rest]


def _connection_finding(identity: Identity, account: str) -> Finding:
    return Finding.ok(
        "connection",
        f"{account}: {identity.engine} {identity.version} answers, database {identity.database}",
        values={"account": account, "version": identity.version, "database": identity.database},
    )


def _of_account(finding: Finding, account: str) -> Finding:
    return replace(finding, sentence=f"{account}: {finding.sentence}", values={**finding.values, "account": account})


def _error_finding(error: HotplaceError, account: str) -> Finding:
    """An error as a finding; the class says what kind."""
    code = next((code for kind, code in CODES if isinstance(error, kind)), "connection")
    return Finding.error(code, f"{account}: {error}", error.advice, values={"account": account})


def _storage(database: DatabaseConfig, catalog: Catalog) -> Iterator[Finding]:
    try:
        storage = database.resolve_spaces(catalog)
    except ConfigError as error:
        for problem in error.problems:
            yield Finding.error("space_missing", str(problem), error.advice, values={"path": problem.path})
    else:
        held = np.zeros(len(catalog.spaces), dtype=np.int64)
        np.add.at(held, catalog.units.space, catalog.units.size_bytes)
        yield from tier_findings(database)
        yield from storage_findings(storage, database.policy_settings().head_room_ratio, held.tolist())


def tier_findings(database: DatabaseConfig) -> Iterator[Finding]:
    """Each tier that is not there yet, and what to do where fewer than two have a space."""
    for tier in database.planned_tiers:
        yield Finding.info(
            "tier_planned",
            f"the tier {tier.name} has no space yet: "
            f"hotplace sizing --tier {shlex.quote(tier.name)} says what it would save",
            values={"tier": tier.name},
        )
    if missing := what_is_missing(database):
        yield Finding.info("one_tier", missing, f"Next: {next_step(database)}.")


def _io_limit_unknown(tier: Tier) -> Finding:
    """A tier so fast that its latency shows no queue, so only its configuration can say what it serves."""
    return Finding.info(
        "iops_unknown",
        f"the tier {tier.name} has no iops: forecasts take it to serve everybody at once, "
        f"and their intervals reach down to {ASSUMED_IO:,.0f} I/Os and {format_bytes(int(ASSUMED_BYTES))} a second",
        "Configure what its volume serves, as it was bought or as fio measures it, bytes too where they are limited: "
        f"tiers: [{{name: {tier.name}, iops: 16000, throughput: 500 MB}}].",
        values={"tier": tier.name},
    )


def _not_managed(space: str, held_bytes: int, all_bytes: int) -> Finding:
    """A space that no tier has: worth knowing, and most likely forgotten where most of the database is in it."""
    share = held_bytes / all_bytes if all_bytes else 0.0
    holds = f" and holds {format_bytes(held_bytes)}, {format_ratio(share)} of the database" if held_bytes else ""
    sentence = f"the space {space} belongs to no tier{holds}: what is in it stays there"
    values = {"space": space, "held_bytes": str(held_bytes)}
    if share <= MOST_RATIO:
        return Finding.info("space_not_managed", sentence, values=values)
    return Finding.warning("space_not_managed", sentence, f"Name {space} below the spaces of a tier.", values=values)


def _room(space: Space, tier: str, head_room_ratio: float) -> Finding:
    """What is left in a managed space above its head-room."""
    where = f"space {space.name} (tier {tier})"
    left = room_bytes(space, head_room_ratio)
    values = {"space": space.name, "tier": tier}
    if left is None:
        return Finding.warning(
            "room_unknown",
            f"the free room in {where} is unknown, so no move can go there",
            f"Give it a capacity: spaces: [{{name: {space.name}, capacity: 200 GiB}}].",
            values=values,
        )
    values["room_bytes"] = str(left)
    if left > 0:
        sentence = f"{where}: {format_bytes(left)} left above its head-room of {format_ratio(head_room_ratio)}"
        return Finding.ok("room", sentence, values=values)
    return Finding.warning(
        "room_short",
        f"{where} is {format_bytes(-left)} short of its head-room of {format_ratio(head_room_ratio)}",
        "Nothing will move there until something leaves it or it grows.",
        values=values,
    )
