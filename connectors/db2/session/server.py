"""Which server answers: version, kind of instance, and the settings that decide what can be believed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from connectors.db2.session.sessions import ReadSession
from connectors.model import Identity

EXTENDED = "EXTENDED"
FIRST_WITH_OBJECTS = (10, 1)
LOG_PAGE = 4096
ENDLESS = -1  # logsecond: as much as the disk holds
STANDARD, STANDBY = "STANDARD", "STANDBY"  # hadr_db_role; PRIMARY is the third


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """What identify(), capabilities() and doctor() say, in their own words."""

    version: tuple[int, ...]  # (12, 1, 4, 0)
    database: str
    created: str
    edition: str
    members: int
    partitions: int
    purescale: bool
    object_metrics: tuple[str, ...]  # mon_obj_metrics of each member
    request_metrics: tuple[str, ...]
    hadr_role: str
    auto_reval: str = ""  # "": not to be read
    blocknonlogged: str = ""  # YES: a LOAD that leaves no copy is refused
    archives: bool | None = None  # logs are archived, so that a restored database rolls forward; None: not to be read
    log_bytes: int | None = None  # that one member's active log may take; None: endless, or not to be read

    @property
    def topology(self) -> str:
        """Of the four that Db2 knows."""
        if self.purescale:
            return "purescale"
        if self.hadr_role == STANDBY:
            return "replica"
        return "partitioned" if self.partitions > 1 else "single"

    @property
    def counts_objects(self) -> bool:
        """Whether reads of each object are counted on every member; otherwise they stay 0, and zero is not cold."""
        return bool(self.object_metrics) and all(value == EXTENDED for value in self.object_metrics)

    @property
    def too_old_for_objects(self) -> bool:
        """9.7 knows reads of table spaces only."""
        return self.version[:2] < FIRST_WITH_OBJECTS

    def identity(self) -> Identity:
        """As the rest of hotplace knows it."""
        return Identity(
            engine="db2",
            version=".".join(str(part) for part in self.version),
            version_number=self.version,
            edition=self.edition,
            database=self.database,
            fingerprint=f"{self.database}@{self.created}",
            topology=self.topology,
            writable=self.hadr_role != STANDBY,
        )


def unpack_version(number: int) -> tuple[int, ...]:
    """Version, release, modification and fix pack of VVRRMMFF: 12010400 is (12, 1, 4, 0)."""
    return (number // 1_000_000, number // 10_000 % 100, number // 100 % 100, number % 100)


def read_server(session: ReadSession) -> Server:
    """Six small queries; all but the first two are optional.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    database, created = session.rows("identify", doing="identifying")[0]
    number = session.rows("version", doing="reading the version")[0][0]
    instance = session.optional_rows("instance", doing="reading the instance") or [("", 1, 1)]
    products = session.optional_rows("edition", doing="reading the edition") or []
    facilities = session.optional_rows("purescale", doing="looking for pureScale") or [(0,)]
    settings = session.optional_rows("configuration", doing="reading the configuration") or []
    return Server(
        version=unpack_version(int(number)),
        database=str(database),
        created=str(created),
        edition=", ".join(sorted(str(row[0]) for row in products)),
        partitions=int(instance[0][1] or 1),
        members=int(instance[0][2] or instance[0][1] or 1),
        purescale=int(facilities[0][0]) > 0,
        object_metrics=_values(settings, "mon_obj_metrics"),
        request_metrics=_values(settings, "mon_req_metrics"),
        hadr_role=next(iter(_values(settings, "hadr_db_role")), STANDARD),
        auto_reval=next(iter(_values(settings, "auto_reval")), ""),
        blocknonlogged=next(iter(_values(settings, "blocknonlogged")), ""),
        archives=_archives(settings),
        log_bytes=_log_bytes(settings),
    )


def _archives(settings: Sequence[tuple[object, ...]]) -> bool | None:
    """Whether any member has an archive of its logs."""
    said = [*_values(settings, "logarchmeth1"), *_values(settings, "logarchmeth2")]
    return any(value != "OFF" for value in said) if said else None


def _log_bytes(settings: Sequence[tuple[object, ...]]) -> int | None:
    """Bytes of all log files that may be active at once: (LOGPRIMARY + LOGSECOND) * LOGFILSIZ pages of 4 KB."""
    numbers = [next(iter(_values(settings, name)), "") for name in ("logfilsiz", "logprimary", "logsecond")]
    if not all(number.lstrip("-").isdigit() for number in numbers):
        return None
    size, primary, secondary = map(int, numbers)
    return None if secondary == ENDLESS else (primary + secondary) * size * LOG_PAGE


def _values(settings: Sequence[tuple[object, ...]], name: str) -> tuple[str, ...]:
    return tuple(str(row[1] or "").strip().upper() for row in settings if str(row[0]).strip().lower() == name)
