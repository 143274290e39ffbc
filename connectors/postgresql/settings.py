"""The ``connection:`` part of a PostgreSQL database in the configuration."""

from __future__ import annotations

import math
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from connectors.kit.settings import ConfigPath, DurationWithUnit, SecretSource

NOTICES_A_DEAD_SERVER = {  # within two minutes; the machine's own settings take two hours
    "keepalives_idle": 60,
    "keepalives_interval": 10,
    "keepalives_count": 6,
    "tcp_user_timeout": 120_000,  # ms
}


class PostgresqlSettings(BaseModel):
    """Where the server is, who logs in, and how long anything may take. Durations are seconds."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    host: str = "/var/run/postgresql"  # a folder: its unix socket
    port: int = Field(default=5432, ge=1, le=65535)
    dbname: str
    user: str
    password: SecretSource | None = None  # None: peer, certificate, .pgpass ... as libpq finds it
    sslmode: Literal["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] | None = None
    sslrootcert: ConfigPath | None = None
    connect_timeout: DurationWithUnit = 10.0
    statement_timeout: DurationWithUnit = 30.0  # of every query that reads
    sample_share: float = Field(default=0.05, gt=0, le=1)  # of the time that reading counters may take
    lock_timeout: DurationWithUnit = 0.5  # how long a move may make others queue behind it
    online_lock_timeout: DurationWithUnit = 60.0  # REINDEX CONCURRENTLY waits for old transactions, blocking nothing
    move_timeout: DurationWithUnit = 4 * 3600.0  # of one statement of a move
    split_back_mib: int = Field(default=1024, ge=1)  # a split and its way back move no more under their lock
    index_route: Literal["online", "fast"] = "online"  # which way of moving an index comes first
    replica_queue_mib: int = Field(default=1024, ge=1)  # no move begins while a standby or slot is further behind
    replica_queue_abort_mib: int = Field(default=8192, ge=1)  # above it a statement that runs is cancelled
    wal_mib: int | None = Field(default=None, ge=1)  # no move begins while pg_wal holds more; unset: not watched
    wal_abort_mib: int | None = Field(default=None, ge=1)  # above it a statement that runs is cancelled
    allow_moves_with_remote_apply: bool = False  # moves whose lock a reader on a synchronous standby could prolong
    local: bool | None = None  # the server's files are on this machine; None: judged by the connection

    @model_validator(mode="after")
    def _gives_up_later_than_it_waits(self) -> PostgresqlSettings:
        if self.replica_queue_abort_mib < self.replica_queue_mib:
            raise ValueError(
                f"replica_queue_abort_mib ({self.replica_queue_abort_mib}) is below replica_queue_mib "
                f"({self.replica_queue_mib}): a move would be given up and begun again and again"
            )
        if self.wal_abort_mib is not None and self.wal_abort_mib < (self.wal_mib or math.inf):
            raise ValueError(
                f"wal_abort_mib ({self.wal_abort_mib}) needs a wal_mib that is no larger: "
                "a move would be given up and begun again and again"
            )
        return self

    def connect_arguments(self) -> dict[str, Any]:
        """What ``psycopg.connect`` is given, the password included: never log this.

        Raises:
            SecretUnavailable: the password's place is empty.
        """
        arguments: dict[str, Any] = {
            "host": self.host,
            "port": self.port,
            "dbname": self.dbname,
            "user": self.user,
            "connect_timeout": max(2, round(self.connect_timeout)),  # libpq takes whole seconds, at least 2
            "client_encoding": "utf8",
            **NOTICES_A_DEAD_SERVER,
        }
        optional = {"sslmode": self.sslmode, "sslrootcert": self.sslrootcert and str(self.sslrootcert)}
        arguments.update({name: value for name, value in optional.items() if value is not None})
        if self.password is not None:
            arguments["password"] = self.password.read().get_secret_value()
        return arguments

    def where(self) -> str:
        """The database in words, for messages."""
        return f"{self.user}@{self.host}:{self.port}/{self.dbname}"
