"""The ``connection:`` part of an Oracle database in the configuration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from connectors.kit.sessions import insist_on_order
from connectors.kit.settings import ConfigPath, Duration, SecretSource, SecretUnavailable

Licence = Literal["advanced_compression", "diagnostics_pack"]


class OracleSettings(BaseModel):
    """Where the database is, who logs in, and how long anything may take. Durations are seconds."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    host: str = "localhost"
    port: int = Field(default=1521, ge=1, le=65535)
    service: str = ""  # of the PDB; a database with several PDBs is several entries
    dsn: str = ""  # instead of host, port and service: a whole descriptor or a name of tnsnames.ora
    authentication: Literal["password", "external", "token"] = "password"
    user: str = ""  # the schema to act for goes in brackets: hotplace[app] is a proxy login; external: [app] or none
    password: SecretSource | None = None
    token: SecretSource | None = None  # OAuth 2.0 or IAM; read at each connection, whatever renews it
    token_key: ConfigPath | None = None  # of an IAM token: the private key's file (oci_db_key.pem)
    protocol: Literal["tcp", "tcps"] = "tcp"
    wallet_location: ConfigPath | None = None  # folder of ewallet.pem (thin) or cwallet.sso (thick)
    wallet_password: SecretSource | None = None
    ssl_server_dn_match: bool = True
    config_dir: ConfigPath | None = None  # folder of tnsnames.ora
    driver: Literal["thin", "thick"] = "thin"  # thick: 11.2, native encryption, Kerberos; needs Oracle's client
    client_library: ConfigPath | None = None  # of thick mode; None: as the system finds it
    connect_timeout: Duration = 10.0
    statement_timeout: Duration = 60.0  # of every query that reads
    sample_share: float = Field(default=0.05, gt=0, le=1)  # of the time that reading counters may take
    lock_timeout: Duration = 5.0  # DDL_LOCK_TIMEOUT: how long a blocking move waits, with others queued behind it
    online_lock_timeout: Duration = 30.0  # how long an online move waits for open transactions; blocks none
    move_timeout: Duration = 4 * 3600.0  # of one statement of a move
    keepalive: Duration = 120.0  # a firewall must not cut the silent session of a long move
    move_by: Literal["object", "tablespace"] = "object"  # tablespace: whole ones, from place to place by their files
    places: tuple[str, ...] = ()  # folders (/ssd/oradata) that data files may go to although none is there yet
    strong_login: bool = False  # act although the login is SYS or SYSTEM, or has the DBA role
    online_lobs: bool = False  # online moves of tables with LOBs: sessions using DBMS_LOB may fail (ORA-14812)
    licensed: tuple[Licence, ...] = ()  # options and packs that the site owns and that may be used
    parallel: int = Field(
        default=1, ge=1, le=64
    )  # of index rebuilds, Enterprise Edition; the stored degree is restored

    replica_queue_mib: int = Field(default=1024, ge=1)  # no move begins, or goes on, while a standby is further behind
    replica_queue_abort_mib: int = Field(default=8192, ge=1)  # above it a statement that runs is given up
    log_used_percent: int = Field(default=80, ge=1, le=100)  # of the recovery area; above it no move begins, or goes on
    log_used_abort_percent: int = Field(default=95, ge=1, le=100)  # above it a statement that runs is given up

    _second_limits_are_not_below = model_validator(mode="after")(insist_on_order)

    @model_validator(mode="after")
    def _one_address(self) -> OracleSettings:
        if bool(self.service) == bool(self.dsn):
            raise ValueError("name exactly one of service (with host and port) and dsn")
        return self

    @model_validator(mode="after")
    def _one_way_in(self) -> OracleSettings:
        wrong = next((why for applies, why in self._wrong_ways() if applies), None)
        if wrong:
            raise ValueError(wrong)
        return self

    def _wrong_ways(self) -> Iterator[tuple[bool, str]]:
        """What of user, password and token does not fit the authentication."""
        way = self.authentication
        if way == "password":
            yield not self.user, "user is missing"
            yield self.token is not None or self.token_key is not None, "a token is for authentication: token"
            return
        named = bool(self.user) and not (self.user.startswith("[") and self.user.endswith("]"))
        yield named, f"with authentication: {way} user is left out; [app] acts for that schema"
        yield self.password is not None, f"authentication: {way} takes no password"
        if way == "external":
            yield (
                self.driver == "thin",
                "authentication: external (wallet, operating system, Kerberos) needs driver: thick",
            )
        else:
            yield self.token is None, "token is missing"
            yield self.protocol != "tcps" and not self.dsn, "a token travels over TLS only: protocol: tcps"

    @model_validator(mode="after")
    def _places_are_for_tablespaces(self) -> OracleSettings:
        if self.places and self.move_by != "tablespace":
            raise ValueError("places are for move_by: tablespace")
        wrong = [place for place in self.places if place[-1:] in {"", "/", "\\"}]
        if wrong:
            raise ValueError(f"a place is a folder or disk group without a separator at its end, not {wrong[0]!r}")
        return self

    def known_places(self) -> tuple[str, ...] | None:
        """Places that configuration names, where places are the spaces; else None."""
        return self.places if self.move_by == "tablespace" else None

    def address(self) -> str:
        """The connect string: EZConnect Plus, or the dsn as given. Holds no secret."""
        if self.dsn:
            return self.dsn
        host = f"[{self.host}]" if ":" in self.host else self.host
        secure = "tcps://" if self.protocol == "tcps" else ""
        return f"{secure}{host}:{self.port}/{self.service}"

    def descriptor(self, instance: str = "") -> str:
        """The same as a whole descriptor, for Oracle's client libraries, which take nothing of this as an argument.

        Args:
            instance: of a cluster; "": whichever the listener chooses.
        """
        if self.dsn:
            return self.dsn
        seconds = max(1, round(self.connect_timeout))
        address = f"(ADDRESS=(PROTOCOL={self.protocol})(HOST={self.host})(PORT={self.port}))"
        named = f"(INSTANCE_NAME={instance})" if instance else ""
        wallet = f"(MY_WALLET_DIRECTORY={self.wallet_location})" if self.wallet_location else ""
        match = "yes" if self.ssl_server_dn_match else "no"
        security = f"(SECURITY={wallet}(SSL_SERVER_DN_MATCH={match}))" if self.protocol == "tcps" else ""
        data = f"(CONNECT_DATA=(SERVICE_NAME={self.service}){named})"
        return f"(DESCRIPTION=(TRANSPORT_CONNECT_TIMEOUT={seconds})(ENABLE=BROKEN){address}{data}{security})"

    def to_instance(self, name: str) -> OracleSettings:
        """The same, to one instance of a cluster; host, port and service must be given."""
        return self.model_copy(update={"dsn": self.descriptor(name), "service": ""})

    def where(self) -> str:
        """The database in words, for messages."""
        return f"{self.user or self.authentication}@{self.dsn or f'{self.host}:{self.port}/{self.service}'}"

    def connect_arguments(self) -> dict[str, Any]:
        """What ``connect`` is given, the password included: never log this.

        Raises:
            SecretUnavailable: a secret's place is empty.
        """
        arguments: dict[str, Any] = {"dsn": self.address()}
        if self.user:
            arguments["user"] = self.user
        if self.token is not None:
            arguments["access_token"] = self._read_token(self.token)
        if self.password is not None:
            arguments["password"] = self.password.read().get_secret_value()
        return arguments

    def _read_token(self, token: SecretSource) -> str | tuple[str, str]:
        """As python-oracledb takes it: the token, of IAM with its private key (PEM without first and last line)."""
        text = token.read().get_secret_value()
        if self.token_key is None:
            return text
        try:
            lines = self.token_key.read_text(encoding="ascii").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise SecretUnavailable(
                f"cannot read the private key of the token from {self.token_key}: {type(error).__name__}",
                advice="Create the file with mode 0600 for the user that runs hotplace.",
            ) from error
        return text, "".join(line for line in lines if line and not line.startswith("-----"))

    def network_arguments(self) -> dict[str, Any]:
        """What only python-oracledb understands, in thin mode; keepalive is in whole minutes there."""
        arguments: dict[str, Any] = {
            "tcp_connect_timeout": self.connect_timeout,
            "expire_time": max(1, round(self.keepalive / 60)),
            "ssl_server_dn_match": self.ssl_server_dn_match,
        }
        if self.wallet_location is not None:
            arguments["wallet_location"] = str(self.wallet_location)
        if self.wallet_password is not None:
            arguments["wallet_password"] = self.wallet_password.read().get_secret_value()
        if self.config_dir is not None:
            arguments["config_dir"] = str(self.config_dir)
        return arguments
