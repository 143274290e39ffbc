"""Where the durable record lives: a file of this machine, or a PostgreSQL server that several agents share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, field_validator, model_validator

from agent.config.quantities import Count, Name, Part, Seconds
from agent.config.relative_paths import resolve_against_config_file
from connectors.settings import SecretSource

MOST_NAME_BYTES = 63  # of a schema; PostgreSQL cuts longer ones

SchemaName = Annotated[str, StringConstraints(pattern=r"^[a-z_][a-z0-9_]*$", max_length=MOST_NAME_BYTES)]


HostNames = Annotated[str, StringConstraints(min_length=1, max_length=1024, pattern=r"^[^\x00-\x1f\x7f]+$")]


class LedgerServer(Part):
    """A PostgreSQL that holds the ledger, and who logs in."""

    host: HostNames = "/var/run/postgresql"  # a folder: its unix socket; of several with commas the primary
    port: Count = Field(default=5432, ge=1, le=65535)
    dbname: Name
    user: Name
    password: SecretSource | None = None  # None: peer, certificate, .pgpass ... as libpq finds it
    sslmode: Literal["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] | None = None
    sslrootcert: Path | None = None
    schema_name: SchemaName = Field(default="hotplace", alias="schema")  # made where the user may
    connect_timeout: Seconds = Field(default=10.0, gt=0)
    lease_seconds: Seconds = Field(default=30.0, alias="lease", ge=1)  # until an agent that says nothing has lost it

    _absolute = field_validator("sslrootcert", mode="after")(resolve_against_config_file)

    @property
    def name(self) -> str:
        """The ledger in words, for messages."""
        return f"{self.user}@{self.host}:{self.port}/{self.dbname} (schema {self.schema_name})"

    def connect_arguments(self) -> dict[str, Any]:
        """What ``psycopg.connect`` is given, the password included: never log this.

        Raises:
            SecretUnavailable: the password's place is empty.
        """
        given = {
            "host": self.host, "port": self.port, "dbname": self.dbname, "user": self.user,
            "sslmode": self.sslmode, "sslrootcert": self.sslrootcert and str(self.sslrootcert),
            "connect_timeout": max(2, round(self.connect_timeout)),  # libpq takes whole seconds, at least 2
            # A standby of a list answers too, and only reads: the next host is tried. A single host stays what it is.
            "target_session_attrs": "read-write" if "," in self.host else None,
            "password": None if self.password is None else self.password.read().get_secret_value(),
        }  # fmt: skip
        return {name: value for name, value in given.items() if value is not None}


class LedgerConfig(Part):
    """Where the durable record lives."""

    path: Path = Path("/var/lib/hotplace/ledger.db")
    postgresql: LedgerServer | None = None  # in place of a file: one ledger for several agents
    anchors: Path | None = None  # file of the chain's anchors; None: next to the ledger, .anchors behind its name
    history_seconds: Seconds = Field(default=14 * 86400.0, alias="history", gt=0)  # how long heat history is kept

    _absolute = field_validator("path", "anchors", mode="after")(resolve_against_config_file)

    @model_validator(mode="after")
    def _one_place(self) -> LedgerConfig:
        if self.postgresql is None:
            return self
        if "path" in self.model_fields_set:
            raise ValueError("the ledger is a file (path) or on a server (postgresql), not both: remove one of them")
        if self.anchors is None:
            raise ValueError(
                "a ledger on a server needs anchors: FILE, a file of this machine in which the ends of its audit chain "
                "are noted, for example /var/lib/hotplace/ledger.anchors"
            )
        return self

    @property
    def place(self) -> Path | LedgerServer:
        """The file or the server."""
        return self.path if self.postgresql is None else self.postgresql

    @property
    def folder(self) -> Path:
        """Where this machine keeps what belongs to the ledger."""
        return self.path.parent if self.anchors is None or self.postgresql is None else self.anchors.parent
