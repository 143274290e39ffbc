"""The ``connection:`` part of a Db2 database in the configuration."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from connectors.kit.contract import CannotConnect
from connectors.kit.sessions import insist_on_order
from connectors.kit.settings import ConfigPath, Duration, SecretSource


class Db2Settings(BaseModel):
    """Where the server is, who logs in, how long anything may take, and what a move moves. Durations are seconds."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    platform: Literal["luw", "i", "zos"] = "luw"  # i and zos are looked at and planned for, never changed
    odbc_driver: str = "IBM i Access ODBC Driver"  # as odbcinst knows it; with platform: i
    storage_groups: tuple[str, ...] = ()  # that a plan may name, besides those in use; with platform: zos
    host: str
    port: int = Field(default=50000, ge=1, le=65535)
    dbname: str
    user: str
    password: SecretSource | None = None  # None: Kerberos, or a trusted client
    security: Literal["SSL"] | None = None
    server_certificate: ConfigPath | None = None  # .arm or .pem, with security: SSL
    keystore: ConfigPath | None = None  # .kdb of IBM's GSKit, instead of server_certificate
    keystore_stash: ConfigPath | None = None  # .sth, the file of its password
    authentication: Literal["SERVER", "SERVER_ENCRYPT", "DATA_ENCRYPT", "KERBEROS", "GSSPLUGIN"] | None = None
    target_principal: str = ""  # of the server, with authentication: KERBEROS
    connect_timeout: Duration = 10.0
    query_timeout: Duration = 30.0  # of every query that reads
    sample_share: float = Field(default=0.05, gt=0, le=1)  # of the time that reading counters may take
    lock_timeout: Duration = 5.0  # how long a statement of a move waits for a lock
    move_timeout: Duration = 4 * 3600.0  # of one phase of a move
    poll_every: Duration = 5.0  # how often a rebalance is looked at
    rebalance_begins_within: Duration = 30.0  # after USING STOGROUP; then REBALANCE is sent
    move_by: Literal["both", "table", "table_space"] = "both"  # both: each plan weighs one against the other
    landing: dict[str, str] = Field(
        default_factory=dict
    )  # with both: table space of each storage group that single tables are moved to; else the first by name that fits
    folders: dict[str, str] = Field(
        default_factory=dict
    )  # where files of DMS table spaces may be, by name; not with table
    # tables with foreign keys; drop_and_add: no one checks the keys while such a table is copied; by_hand: by a person
    foreign_keys: Literal["refuse", "drop_and_add", "by_hand"] = "refuse"
    keep_original: bool = False  # ADMIN_MOVE_TABLE keeps the old table under another name
    load_copy_to: Annotated[str, StringConstraints(pattern=r"^[^\s\"',;]*$")] = (
        ""  # folder of the server for copies of what COPY_USE_LOAD loads (COPY YES); "": none, it is not recoverable
    )

    replica_queue_mib: int = Field(default=1024, ge=1)  # no move begins, or goes on, while a standby is further behind
    replica_queue_abort_mib: int = Field(default=8192, ge=1)  # above it a statement that runs is given up
    log_used_percent: int = Field(default=80, ge=1, le=100)  # of the active log; above it no move begins, or goes on
    log_used_abort_percent: int = Field(default=95, ge=1, le=100)  # above it a statement that runs is given up

    _second_limits_are_not_below = model_validator(mode="after")(insist_on_order)

    @property
    def by_group(self) -> bool:
        """Whether what things move between are storage groups and folders, not table spaces."""
        return self.move_by != "table"

    def keywords(self, *, statement_seconds: float) -> dict[str, str]:
        """CLI keywords of a connection, the password included: never log this.

        Args:
            statement_seconds: limit of each statement; ibm_db takes it only here, a connection option is ignored.

        Raises:
            SecretUnavailable: the password's place is empty.
        """
        words = {
            "DATABASE": self.dbname,
            "HOSTNAME": self.host,
            "PORT": str(self.port),
            "PROTOCOL": "TCPIP",
            "UID": self.user,
            "PWD": "" if self.password is None else self.password.read().get_secret_value(),
            "SECURITY": self.security or "",
            "SSLServerCertificate": "" if self.server_certificate is None else str(self.server_certificate),
            "SSLClientKeystoredb": "" if self.keystore is None else str(self.keystore),
            "SSLClientKeystash": "" if self.keystore_stash is None else str(self.keystore_stash),
            "AUTHENTICATION": self.authentication or "",
            "TargetPrincipal": self.target_principal,
            "ConnectTimeout": str(max(1, round(self.connect_timeout))),
            "QueryTimeout": str(max(1, round(statement_seconds))),
            "ClientApplName": "hotplace",
        }
        return {name: value for name, value in words.items() if value}

    def connection_string(self, *, statement_seconds: float) -> str:
        """What the driver is given: never log this.

        Raises:
            SecretUnavailable: the password's place is empty.
            CannotConnect: a value holds a semicolon, which would end it and begin another keyword.
        """
        words = self.keywords(statement_seconds=statement_seconds)
        broken = [name for name, value in words.items() if ";" in value]
        if broken:
            raise CannotConnect(
                f"{', '.join(broken)} of {self.where()} holds a semicolon, which the driver cannot be given",
                advice="Choose a value without a semicolon.",
            )
        return "".join(f"{name}={value};" for name, value in words.items())

    def where(self) -> str:
        """The database in words, for messages."""
        return f"{self.user}@{self.host}:{self.port}/{self.dbname}"
