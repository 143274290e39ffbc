"""The ``connection:`` part of a SQL Server database, and what each ODBC driver calls its options.

ODBC drivers: what each calls an option, and what it would silently ignore. Pure.

Microsoft's drivers: sql-docs, "DSN and Connection String Keywords and Attributes". FreeTDS: its user guide, "ODBC
connection attributes"; it ignores keywords that it does not know, so that a string written for Microsoft's driver gives
a session that is not encrypted or not verified, without a word. Such wishes are refused instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePath
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from connectors.kit.contract import CannotConnect
from connectors.kit.settings import Duration, SecretSource


class DriverKind(StrEnum):
    """Families of drivers that agree on keywords."""

    MICROSOFT_18 = "Microsoft ODBC Driver 18"
    MICROSOFT_17 = "Microsoft ODBC Driver 17"
    FREETDS = "FreeTDS"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverOption:
    """Properties of a connection, without the password."""

    driver: str
    host: str
    port: int
    database: str
    user: str | None
    encrypt: str  # yes, no, strict
    trust_server_certificate: bool
    hostname_in_certificate: str | None
    server_certificate: str | None
    multi_subnet_failover: bool
    read_intent: bool


def kind_of(driver: str) -> DriverKind:
    """The family, by the name in odbcinst.ini or that of the library's file."""
    name = PurePath(driver).name.lower()
    if "tdsodbc" in name or "freetds" in name:
        return DriverKind.FREETDS
    if "msodbcsql18" in name or "msodbcsql-18" in name or name.startswith("odbc driver 18"):
        return DriverKind.MICROSOFT_18
    if "msodbcsql17" in name or "msodbcsql-17" in name or name.startswith("odbc driver 17"):
        return DriverKind.MICROSOFT_17
    return DriverKind.UNKNOWN


def objections(kind: DriverKind, wish: DriverOption) -> tuple[str, ...]:
    """What this driver cannot do of the wish, in words; empty when it can do all."""
    if kind is DriverKind.UNKNOWN:
        return (
            f"driver {wish.driver!r} is none of ODBC Driver 18, ODBC Driver 17 and FreeTDS: its options are unknown",
        )
    pinned = wish.server_certificate is not None
    if kind is DriverKind.FREETDS:
        checks = (
            (wish.encrypt == "strict", "FreeTDS does not know encrypt: strict"),
            (
                wish.encrypt == "yes" and not wish.trust_server_certificate,
                "FreeTDS does not verify certificates: set trust_server_certificate: true, or use Microsoft's driver",
            ),
            (wish.hostname_in_certificate is not None, "FreeTDS does not know hostname_in_certificate"),
            (pinned, "FreeTDS does not know server_certificate"),
            (wish.multi_subnet_failover, "FreeTDS does not know multi_subnet_failover"),
        )
    else:
        old = kind is DriverKind.MICROSOFT_17
        checks = (
            (old and wish.encrypt == "strict", "ODBC Driver 17 does not know encrypt: strict"),
            (old and pinned, "ODBC Driver 17 does not know server_certificate"),
            (not old and pinned and wish.encrypt != "strict", "server_certificate needs encrypt: strict"),
            (
                wish.encrypt == "strict" and wish.trust_server_certificate,
                "encrypt: strict always verifies the certificate; leave trust_server_certificate out",
            ),
            (wish.encrypt == "no" and wish.trust_server_certificate, "trust_server_certificate needs encrypt: yes"),
        )
    return tuple(sentence for applies, sentence in checks if applies)


def connection_string(wish: DriverOption, password: str | None, *, program: str) -> str:
    """What ``pyodbc.connect`` is given; holds the password: never log it.

    Args:
        wish: checked by ``objections``.
        password: None for Kerberos.
        program: what a DBA sees as program_name.

    Raises:
        CannotConnect: the driver has no way to be given a value; the text does not show it.
    """
    kind = kind_of(wish.driver)
    keywords = {"DRIVER": wish.driver, "DATABASE": wish.database, "APP": program}
    keywords |= _freetds(wish) if kind is DriverKind.FREETDS else _microsoft(wish)
    if wish.read_intent:
        keywords["ApplicationIntent"] = "ReadOnly"
    if password is None or wish.user is None:
        keywords["Trusted_Connection"] = "yes"
    else:
        keywords |= {"UID": wish.user, "PWD": password}
    quoted = _freetds_quoted if kind is DriverKind.FREETDS else _quote
    return "".join(f"{name}={quoted(value)};" for name, value in keywords.items())


def is_that_driver(kind: DriverKind, library: str) -> bool:
    """Whether the library that was loaded (SQL_DRIVER_NAME) is of the family that the options were chosen for."""
    return (kind is DriverKind.FREETDS) == ("tdsodbc" in library.lower())


def _microsoft(wish: DriverOption) -> dict[str, str]:
    optional = {
        "HostNameInCertificate": wish.hostname_in_certificate,
        "ServerCertificate": wish.server_certificate,
        "MultiSubnetFailover": "yes" if wish.multi_subnet_failover else None,
        "TrustServerCertificate": "yes" if wish.trust_server_certificate else None,
    }
    return {
        "SERVER": f"tcp:{wish.host},{wish.port}",
        "Encrypt": wish.encrypt,
        "ConnectRetryCount": "0",  # the driver's own reconnect would lose the session's settings and its lease
        **{name: value for name, value in optional.items() if value is not None},
    }


def _freetds(wish: DriverOption) -> dict[str, str]:
    return {
        "SERVER": wish.host,
        "PORT": str(wish.port),
        "TDS_Version": "7.4",
        "ClientCharset": "UTF-8",
        "Encryption": "require" if wish.encrypt == "yes" else "off",
    }


def _freetds_quoted(value: str) -> str:
    """Braces only where they must be: FreeTDS 1.3 knows no doubling, and ends a value at ``};``."""
    if "};" in value:
        raise CannotConnect(
            "FreeTDS cannot be given a user, password or name with a closing brace before a semicolon",
            advice="Use Microsoft's driver, or another password.",
        )
    return "{" + value + "}" if ";" in value or value.startswith("{") else value


def _quote(value: str) -> str:
    """Braces where the value holds anything but plain characters; a closing brace is doubled."""
    if value.replace(".", "").replace(",", "").replace(":", "").replace("/", "").replace("-", "").isalnum():
        return value
    return "{" + value.replace("}", "}}") + "}"


def parse_yes_no(value: object) -> object:
    """YAML reads a bare yes or no as a boolean."""
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else value


Partitions = Literal["each", "together", "switched"]


class SqlserverSettings(BaseModel):
    """Where the server is, who logs in, and how long anything may take. Durations are seconds."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    host: str = "localhost"
    port: int = Field(default=1433, ge=1, le=65535)
    database: str = Field(min_length=1, max_length=128)
    user: str | None = None  # None: Kerberos
    password: SecretSource | None = None
    driver: str = "ODBC Driver 18 for SQL Server"  # a name of odbcinst.ini, or the path of the library
    encrypt: Annotated[Literal["yes", "no", "strict"], BeforeValidator(parse_yes_no)] = "yes"  # strict: TDS 8
    trust_server_certificate: bool = False  # True: encrypted, but the server is not verified
    hostname_in_certificate: str | None = None
    server_certificate: Path | None = None  # the very certificate, where no authority signed it
    multi_subnet_failover: bool = False
    read_intent: bool = False  # True: be led to a readable secondary, where nothing is ever moved
    connect_timeout: Duration = 15.0
    statement_timeout: Duration = 60.0  # of every query that reads
    sample_budget: Duration = 10.0  # counters that take longer are read object by object, the hot ones each time
    sample_share: float = Field(default=0.05, gt=0, le=1)  # of the time that reading counters may take
    lock_timeout: Duration = 0.5  # how long a move may make others queue behind it, and a query wait
    online_lock_timeout: Duration = (
        10.0  # the same of an online build, whose last lock is asked for after all is copied
    )
    low_priority_minutes: int = Field(
        default=1, ge=1, le=71582
    )  # 2022: how long a move waits without holding others up
    move_timeout: Duration = 4 * 3600.0  # of one statement of a move
    maxdop: int = Field(default=1, ge=1, le=64)  # processors of an index build
    sort_in_tempdb: bool = False
    move_by: Literal["table", "filegroup"] = "table"  # filegroup: whole ones change disks by their files
    disks: dict[str, str] = Field(default_factory=dict)  # name -> folder, as the server spells it, for filegroups
    disks_on_replicas: bool = False  # the folders are there on every replica of an availability group
    # One bundle is - together: all partitions of an index, in one build; switched: one partition with all its indexes,
    # copied alone while writers wait.
    partitions: Partitions = "each"
    keep_original: Duration | None = None  # switched: how long the rows that a copy replaced are kept, as 168h
    offline_moves: bool = True  # False: no route where the edition cannot build indexes online
    lob_moves: bool = False  # True: large objects move with their table, which is then rebuilt twice
    # Builds that can be paused. indexes: plain nonclustered ones, as a second index; all: with DROP_EXISTING too,
    # which some servers refuse (error 10665).
    resumable: Annotated[Literal["no", "indexes", "all"], BeforeValidator(parse_yes_no)] = "no"
    read_ahead_kib: int | None = Field(default=None, ge=64, le=4096)  # None: 512 on Enterprise, 128 on others
    query_store: bool = False  # the doctor asks it how large reads were, which read_ahead_kib is set by
    query_profiles: bool = False  # the doctor looks at what running queries read from disk just now
    residency_up_to_gib: float = Field(default=0.0, ge=0.0)  # largest buffer pool that may be looked through; 0: none
    replica_queue_mib: int = Field(default=1024, ge=1)  # no move begins, or goes on, while a replica is further behind
    replica_queue_abort_mib: int = Field(default=8192, ge=1)  # above it a statement that runs is cancelled

    @model_validator(mode="after")
    def _abort_is_not_below(self) -> SqlserverSettings:
        """What was cancelled would otherwise begin again at once."""
        if self.replica_queue_abort_mib < self.replica_queue_mib:
            raise ValueError(
                f"replica_queue_abort_mib ({self.replica_queue_abort_mib}) is below replica_queue_mib "
                f"({self.replica_queue_mib}): a move would be given up before it is held"
            )
        return self

    @model_validator(mode="after")
    def _keeps_what_it_switches(self) -> SqlserverSettings:
        """A rebuild has no original left to keep."""
        if self.keep_original and self.partitions != "switched":
            raise ValueError("keep_original is for partitions: switched; other ways of moving keep no original")
        return self

    @model_validator(mode="after")
    def _disks_are_folders(self) -> SqlserverSettings:
        """Statements put a file's name right behind the folder."""
        if self.move_by == "filegroup" and not self.disks:
            raise ValueError("move_by: filegroup needs disks, such as {ssd: 'S:\\data\\'}")
        bare = [folder for folder in self.disks.values() if not folder.endswith(("\\", "/"))]
        if bare:
            raise ValueError(f"a folder of disks ends with its separator, {bare[0]!r} does not")
        return self

    @model_validator(mode="after")
    def _driver_can(self) -> SqlserverSettings:
        """Refuse what the driver would silently ignore."""
        if (self.user is None) != (self.password is None):
            raise ValueError("give both user and password, or neither for Kerberos")
        found = objections(kind_of(self.driver), self.wish())
        if found:
            raise ValueError("; ".join(found))
        return self

    def wish(self) -> DriverOption:
        """What a connection shall be like, without the password."""
        return DriverOption(
            driver=self.driver,
            host=self.host,
            port=self.port,
            database=self.database,
            user=self.user,
            encrypt=self.encrypt,
            trust_server_certificate=self.trust_server_certificate,
            hostname_in_certificate=self.hostname_in_certificate,
            server_certificate=str(self.server_certificate) if self.server_certificate else None,
            multi_subnet_failover=self.multi_subnet_failover,
            read_intent=self.read_intent,
        )

    def secret(self) -> str | None:
        """The password, read now; None for Kerberos. Never log this.

        Raises:
            SecretUnavailable: the password's place is empty.
        """
        return None if self.password is None else self.password.read().get_secret_value()

    def where(self) -> str:
        """The database in words, for messages."""
        return f"{self.user or 'Kerberos'}@{self.host}:{self.port}/{self.database}"
