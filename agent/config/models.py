"""The configuration as a frozen tree, part by part. Keys of the file are the aliases.

Attributes carry their unit in the name.

``LedgerConfig`` says where the durable record lives: a file of this machine, or a PostgreSQL server that several agents
share.

``NoticeConfig`` is a channel of the part ``notices``: which people receive which notices.

``PolicyConfig`` is the part ``policy``: every field of ``policies.model.settings.PolicySettings`` with its name and its
default, under the key that people write.

``PoolConfig`` is an entry of ``pools``: fast storage that several databases share.

``DatabaseConfig`` is one database, and ``Config`` the whole file.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from agent.config.errors import ConfigError, Problem, SettingsInvalid, printable
from agent.config.quantities import (
    Bytes,
    BytesPerSecond,
    ConfigPart,
    Count,
    Days,
    Flag,
    Name,
    Ratio,
    Seconds,
    Window,
    Zone,
)
from agent.config.tiers import Storage, TierConfig, resolve
from connectors.kit.contract import Clock, Connector, UnknownEngine
from connectors.kit.registry import Engine, find_engine
from connectors.kit.settings import ConfigPath, SecretSource
from connectors.model.formatting import format_seconds
from policies.model.calendar import Calendar
from policies.model.settings import Pin, PolicySettings

if TYPE_CHECKING:
    from connectors.model.observation import Catalog


MOST_NAME_BYTES = 63  # of a schema; PostgreSQL cuts longer ones

SchemaName = Annotated[str, StringConstraints(pattern=r"^[a-z_][a-z0-9_]*$", max_length=MOST_NAME_BYTES)]


HostNames = Annotated[str, StringConstraints(min_length=1, max_length=1024, pattern=r"^[^\x00-\x1f\x7f]+$")]


class LedgerServer(ConfigPart):
    """A PostgreSQL that holds the ledger, and who logs in."""

    host: HostNames = "/var/run/postgresql"  # a folder: its unix socket; of several with commas the primary
    port: Count = Field(default=5432, ge=1, le=65535)
    dbname: Name
    user: Name
    password: SecretSource | None = None  # None: peer, certificate, .pgpass ... as libpq finds it
    sslmode: Literal["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] | None = None
    sslrootcert: ConfigPath | None = None
    schema_name: SchemaName = Field(default="hotplace", alias="schema")  # made where the user may
    connect_timeout: Seconds = Field(default=10.0, gt=0)
    lease_seconds: Seconds = Field(default=30.0, alias="lease", ge=1)  # until an agent that says nothing has lost it

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


class LedgerConfig(ConfigPart):
    """Where the durable record lives."""

    path: ConfigPath = Path("/var/lib/hotplace/ledger.db")
    postgresql: LedgerServer | None = None  # in place of a file: one ledger for several agents
    anchors: ConfigPath | None = None  # file of the chain's anchors; None: next to the ledger, .anchors behind its name
    history_seconds: Seconds = Field(default=14 * 86400.0, alias="history", gt=0)  # how long heat history is kept

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


class NoticeEvent(StrEnum):
    """What people can be notified of."""

    PROPOSAL = "proposal"  # one waits for a decision
    EXPIRING = "expiring"  # one that waits has a quarter of its time left
    EXPIRED = "expired"  # approved moves were not begun in time
    FAILED = "failed"  # a move failed or was skipped
    HURT = "hurt"  # an outcome is worse than before, for all together or for some statements
    RULE = "rule"  # a standing rule was closed, or what is due under its template is held up
    STALLED = "stalled"  # a database is not sampled any more, a job fails again and again, or the ledger is not trusted
    SERVER = "server"  # another database answers, or its version, role or what may be done there has changed
    FILLING = "filling"  # a space of a tier is nearly full, or its storage has gone


class WebhookConfig(ConfigPart):
    """An HTTP POST. The address is a secret: anyone who has it can write to the channel."""

    url: SecretSource
    format: Literal["json", "slack", "teams"] = "json"
    signing_key: SecretSource | None = None  # for an HMAC over time and body, see the page on notices


class MailConfig(ConfigPart):
    """A message by SMTP."""

    host: Name
    port: Count = Field(default=587, ge=1, le=65535)
    encryption: Literal["starttls", "tls", "none"] = "starttls"
    user: Name | None = None
    password: SecretSource | None = None
    sender: Name = Field(alias="from")
    recipients: tuple[Name, ...] = Field(alias="to", min_length=1)

    @model_validator(mode="after")
    def _a_user_has_a_password(self) -> Self:
        if (self.user is None) != (self.password is None):
            raise ValueError("give both user and password, or neither")
        if self.user is not None and self.encryption == "none":
            raise ValueError("a password is not sent unencrypted: encryption is starttls or tls, or leave user out")
        return self


class NoticeConfig(ConfigPart):
    """One channel."""

    name: Name
    events: tuple[NoticeEvent, ...] = tuple(NoticeEvent)
    every_seconds: Seconds = Field(default=60.0, alias="every", ge=0)  # between two messages at least; what came
    # meanwhile is one message
    webhook: WebhookConfig | None = None
    mail: MailConfig | None = None
    command: tuple[Name, ...] | None = Field(default=None, min_length=1)  # program and arguments; JSON on its input

    @model_validator(mode="after")
    def _exactly_one_way(self) -> Self:
        given = [key for key in ("webhook", "mail", "command") if getattr(self, key) is not None]
        if len(given) != 1:
            raise ValueError(f"name exactly one of webhook, mail, command; given: {', '.join(given) or 'none'}")
        if self.command and not Path(self.command[0]).is_absolute():
            raise ValueError(f"command begins with the absolute path of a program, not {self.command[0]!r}")
        return self


DEFAULT = PolicySettings()


class PolicyConfig(ConfigPart):
    """The numbers that shape a decision."""

    half_life_seconds: Seconds = Field(default=DEFAULT.half_life_seconds, alias="half_life", gt=0)
    minimum_history_seconds: Seconds = Field(default=DEFAULT.minimum_history_seconds, alias="minimum_history", ge=0)
    head_room_ratio: Ratio = Field(default=DEFAULT.head_room_ratio, alias="head_room", ge=0, lt=1)
    minimum_wait_saved_per_hour: Seconds = Field(
        default=DEFAULT.minimum_wait_saved_per_hour, alias="minimum_gain", ge=0
    )
    payback_limit_seconds: Seconds = Field(default=DEFAULT.payback_limit_seconds, alias="payback", gt=0)
    resident_bonus: float = Field(default=DEFAULT.resident_bonus, ge=1)
    turnover_per_week: float | None = Field(default=DEFAULT.turnover_per_week, alias="turnover", gt=0)
    cool_down_seconds: Seconds = Field(default=DEFAULT.cool_down_seconds, alias="cool_down", ge=0)
    copy_bytes_per_second: BytesPerSecond = Field(default=DEFAULT.copy_bytes_per_second, alias="copy_rate", gt=0)
    log_bytes_per_second: BytesPerSecond = Field(default=DEFAULT.log_bytes_per_second, alias="log_rate", gt=0)
    prefetched_wait_share: Ratio = DEFAULT.prefetched_wait_share
    write_wait_share: Ratio = DEFAULT.write_wait_share
    horizon_seconds: Seconds = Field(default=DEFAULT.horizon_seconds, alias="horizon", gt=0)
    maximum_moves: Count = Field(default=DEFAULT.maximum_moves, ge=1)
    # -- what one plan may copy
    maximum_bytes: Bytes | None = Field(default=DEFAULT.maximum_bytes, ge=0)
    # -- the model
    long_half_life_seconds: Seconds = Field(default=DEFAULT.long_half_life_seconds, alias="long_half_life", gt=0)
    block_bytes: Bytes = Field(default=DEFAULT.block_bytes, alias="block_size", gt=0)
    foreground_slow_down: Ratio = Field(default=DEFAULT.foreground_slow_down, alias="slow_down", ge=0)
    regret_ratio: float = Field(default=DEFAULT.regret_ratio, alias="regret", ge=0)
    ram_gib_year: float | None = Field(default=DEFAULT.ram_gib_year, alias="ram_price", gt=0)
    certainty: Ratio = Field(default=DEFAULT.certainty, gt=0, lt=1)

    def settings(self) -> PolicySettings:
        """The same numbers as the policies take them."""
        return PolicySettings(**self.model_dump())


class PoolConfig(ConfigPart):
    """One budget for the fastest tiers of some databases of the ledger."""

    name: Name  # for people, and for `hotplace sizing --all --pool`
    budget_bytes: Bytes = Field(alias="budget", gt=0)  # that their objects may fill; head-room comes on top
    databases: tuple[Name, ...] = Field(min_length=1)  # names, * and ? as in file names; of other machines too


STALE_SAMPLES = 3  # a database without a sample for this many sampling periods is not watched as it should be
MOST_TOP_UNITS = 10_000  # that metrics show one by one
MOST_APPROVALS = 5
PINS = {"must": Pin.MUST, "prefer": Pin.PREFER, "never": Pin.NEVER}


class Level(StrEnum):
    """What hotplace may do without a person."""

    OBSERVE = "observe"  # watches and ranks
    PROPOSE = "propose"  # also stores proposals, and carries out those that a person approved
    AUTO = "auto"  # also approves what a standing rule covers that a person has signed


class Statements(StrEnum):
    """What is read of single statements where the engine tells them apart, to say which ones moves made slower."""

    NONE = "none"
    IDS = "ids"  # their figures, by the engine's own ids
    TEXTS = "texts"  # also, for those that an outcome lists, their texts without literals


def _pin_word(value: Any) -> Pin:  # noqa: ANN401  # whatever YAML holds
    if isinstance(value, str) and value in PINS:
        return PINS[value]
    raise ValueError(f"should be one of {', '.join(PINS)}, not {printable(value)}")


def _only_lacks(error: ValidationError) -> bool:
    """Whether the one thing wrong is what is not there."""
    return all(item["type"] == "missing" or not item["loc"] for item in error.errors(include_url=False))


class TlsConfig(ConfigPart):
    """The certificate of the /metrics endpoint; read again when the file changes."""

    certificate: ConfigPath  # PEM, the chain
    key: ConfigPath | None = None  # PEM; None: in the same file
    client_ca: ConfigPath | None = None  # PEM; clients must show a certificate of it


class BasicAuthConfig(ConfigPart):
    """Who may scrape."""

    user: Name
    password: SecretSource


class MetricsConfig(ConfigPart):
    """The /metrics endpoint."""

    enabled: Flag = True
    listen: Name = "127.0.0.1"
    port: Count = Field(default=9477, ge=0, le=65535)  # 0: any free one
    tls: TlsConfig | None = None
    basic_auth: BasicAuthConfig | None = None
    hosts: tuple[Name, ...] = ()  # names under which those without a password may ask for it, besides its own address
    top_units: Count = Field(default=100, ge=0, le=MOST_TOP_UNITS)  # with series of their own; the rest are summed up

    @property
    def is_guarded(self) -> bool:
        """Whether those who ask have to show a password or a certificate."""
        return self.basic_auth is not None or (self.tls is not None and self.tls.client_ca is not None)


class LogConfig(ConfigPart):
    """How hotplace tells what it does, on standard error."""

    format: Literal["console", "json"] = "console"
    level: Literal["debug", "info", "warning", "error"] = "info"


class PinConfig(ConfigPart):
    """A preference of the operator for the units whose key matches."""

    pattern: Name = Field(alias="unit")  # a unit's key; * and ? as in file names
    pin: Annotated[Pin, BeforeValidator(_pin_word)]
    reason: str = ""


MAXIMUM_STALL_SECONDS = 5.0


class DatabaseConfig(ConfigPart):
    """One database, its storage and what hotplace may do with it."""

    name: Name
    engine: str
    connection: BaseModel  # an instance of the engine's settings
    move_connection: BaseModel | None = None  # the account that moves; None: the one that watches
    tiers: tuple[TierConfig, ...] = Field(min_length=1)  # fastest first
    sample_seconds: Seconds = Field(default=60.0, alias="sample_every", ge=0.05)
    plan_seconds: Seconds = Field(default=3600.0, alias="plan_every", ge=0.05)
    settle_seconds: Seconds = Field(default=900.0, alias="settle", ge=0)  # caches warm up before a move is measured
    proposal_expires_seconds: Seconds = Field(default=86400.0, alias="proposal_expires", gt=0)
    retries: Count = Field(
        default=5, ge=1, le=100
    )  # tries of a step that failed without changing anything; for locks, in a row
    read_time_limit_seconds: Seconds | None = Field(
        default=None, alias="read_time_limit", gt=0
    )  # mean of sessions' reads above which no move begins or goes on where it can be held; None: no limit
    read_time_abort_seconds: Seconds | None = Field(
        default=None, alias="read_time_abort", gt=0
    )  # above it a statement that runs is cancelled; not below read_time_limit
    maximum_stall_seconds: Seconds = Field(
        default=MAXIMUM_STALL_SECONDS, alias="maximum_stall", gt=0
    )  # that a move may keep sessions out; one that may for longer is approved by naming it: approve --stall
    by_hand: bool = False  # a person carries every move out: hotplace sends no statement, and looks at the catalog
    windows: tuple[Window, ...] = ()  # when moves may run; none: always
    time_zone: Zone = UTC  # of the windows
    excluded_days: tuple[Days, ...] = ()  # on which no move runs
    window_bytes: Bytes | None = Field(default=None, gt=0)  # moved in one window at most; None: no limit
    window_copy_seconds: Seconds | None = Field(default=None, alias="window_copy_time", gt=0)
    copy_safety: float = Field(default=1.5, ge=1, le=100)  # a copy is reckoned to take that much longer than learnt
    block_looks_share: Ratio = Field(default=0.0005, alias="block_looks", ge=0, le=0.1)  # of one server session's time
    border_values: bool = False  # reads user data: least and greatest value of a column at borders of block ranges
    statements: Statements = Statements.IDS  # what is read of them, for outcomes
    measured: tuple[Window, ...] = ()  # when demand counts, for example business hours; none: always
    not_measured: tuple[Days, ...] = ()  # days on which it does not
    policy: PolicyConfig = Field(default_factory=PolicyConfig)
    pins: tuple[PinConfig, ...] = ()

    @field_validator("read_time_abort_seconds")
    @classmethod
    def _not_below_the_limit(cls, abort: float | None, info: ValidationInfo) -> float | None:
        limit = info.data.get("read_time_limit_seconds")
        if abort is not None and limit is not None and abort < limit:
            raise ValueError(
                f"{format_seconds(abort)} is below read_time_limit ({format_seconds(limit)}): a move would be given up "
                "before it is held"
            )
        return abort

    @field_validator("engine")
    @classmethod
    def _engine_is_known(cls, name: str) -> str:
        try:
            return find_engine(name).name
        except UnknownEngine as error:
            raise ValueError(f"{error}{'' if str(error).endswith('?') else '.'} {error.advice}") from error

    @field_validator("connection", "move_connection", mode="before")
    @classmethod
    def _as_the_engine_takes_it(cls, value: Any, info: ValidationInfo) -> Any:  # noqa: ANN401  # whatever YAML holds
        if value is None and info.field_name == "move_connection":
            return None
        if "engine" not in info.data:  # an unknown engine is a mistake of its own
            return ConfigPart()
        engine, watching = find_engine(info.data["engine"]), info.data.get("connection")
        if watching is not None and isinstance(value, dict):
            value = engine.inheritance.complete(value, watching)
        try:
            return engine.settings.model_validate({} if value is None else value, context=info.context)
        except ValidationError as error:
            if info.field_name == "move_connection" and watching is None and _only_lacks(error):
                return ConfigPart()  # it takes that over from `connection`, whose own mistakes are shown
            # Not pydantic's own error: raised within a validator it would become one sentence without the paths and
            # lines of its parts.
            raise SettingsInvalid(error, engine.settings) from error

    @field_validator("move_connection", mode="after")
    @classmethod
    def _sees_what_is_watched(cls, moving: BaseModel | None, info: ValidationInfo) -> BaseModel | None:
        watching = info.data.get("connection")
        if moving is None or type(moving) is not type(watching):  # a mistake elsewhere, reported there
            return moving
        for name in find_engine(info.data["engine"]).must_agree if "engine" in info.data else ():
            here, there = getattr(moving, name), getattr(watching, name)
            if here != there:
                raise ValueError(f"{name} is {here!r} here and {there!r} in connection; give both the same {name}")
        return moving

    @property
    def tiers_in_use(self) -> tuple[TierConfig, ...]:
        """The tiers that have a space, fastest first; where none has, the slowest."""
        return tuple(tier for tier in self.tiers if tier.spaces) or self.tiers[-1:]

    @property
    def planned_tiers(self) -> tuple[TierConfig, ...]:
        """The tiers that are not there yet, fastest first."""
        return tuple(tier for tier in self.tiers if tier not in self.tiers_in_use)

    @property
    def calendar(self) -> Calendar:
        """When moves may run."""
        return Calendar(self.time_zone, self.windows, self.excluded_days)

    @property
    def measuring(self) -> Calendar:
        """When demand counts; what happens at other times leaves heat alone."""
        return Calendar(self.time_zone, self.measured, self.not_measured)

    @property
    def engine_record(self) -> Engine:
        """The engine as the registry knows it."""
        return find_engine(self.engine)

    def connect(self, clock: Clock) -> Connector:
        """A connector of the watching account.

        Raises:
            ConnectorError: the driver is missing or the server cannot be reached.
        """
        return self.engine_record.connect(self.connection, clock)

    def connect_mover_side(self, clock: Clock) -> Connector:
        """A connector of the moving account, which is the watching one unless ``move_connection`` is given.

        Raises:
            ConnectorError: the driver is missing or the server cannot be reached.
        """
        return self.engine_record.connect(self.move_connection or self.connection, clock)

    def policy_settings(self) -> PolicySettings:
        """The numbers that shape this database's decisions."""
        settings, share = self.policy.settings(), self.engine_record.prefetched_share(self.connection)
        # By what was set and not by comparing with the default: who writes the default down means it, even for an
        # engine that has another.
        if share is None or "prefetched_wait_share" in self.policy.model_fields_set:
            return settings
        return replace(settings, prefetched_wait_share=share)

    def resolve_spaces(self, catalog: Catalog) -> Storage:
        """Tiers and spaces of this database as they are now.

        Raises:
            ConfigError: a configured space does not exist; the message names the nearest one.
        """
        return resolve(self.name, self.tiers_in_use, catalog)


class ApprovalMode(StrEnum):
    """What makes an approval one."""

    PLAIN = "plain"  # any user who may run `hotplace approve` decides
    SIGNED = "signed"  # a person signs a document with a key that allowed_signers names


class Config(ConfigPart):
    """The whole file."""

    level: Level = Level.OBSERVE
    dry_run: Flag = True  # approved moves are printed, not carried out
    approval: ApprovalMode = ApprovalMode.PLAIN
    allowed_signers: ConfigPath | None = None  # people and their public keys, ssh-keygen(1); not writable by the agent
    approvals: Count = Field(default=1, ge=1, le=MOST_APPROVALS)  # people who must sign, each with a key of his own
    ledger: LedgerConfig = Field(default_factory=LedgerConfig)
    metrics: MetricsConfig = Field(default_factory=MetricsConfig)
    log: LogConfig = Field(default_factory=LogConfig)
    notices: tuple[NoticeConfig, ...] = ()  # channels that notify people
    pools: tuple[PoolConfig, ...] = ()  # of fast storage that databases share, for `hotplace sizing --all`
    databases: tuple[DatabaseConfig, ...]  # none where people only decide, over a ledger on a server

    @model_validator(mode="before")
    @classmethod
    def _none_where_people_decide(cls, values: object) -> object:
        """A machine of approvers watches nothing, and need not say so."""
        if not isinstance(values, dict) or "databases" in values:
            return values
        ledger = values.get("ledger")
        return {**values, "databases": ()} if isinstance(ledger, dict) and ledger.get("postgresql") else values

    @field_validator("databases")
    @classmethod
    def _some_where_it_watches(
        cls, databases: tuple[DatabaseConfig, ...], info: ValidationInfo
    ) -> tuple[DatabaseConfig, ...]:
        ledger = info.data.get("ledger")
        if not databases and (ledger is None or ledger.postgresql is None):
            raise PydanticCustomError("too_short", "is empty")
        return databases

    @field_validator("notices", "pools")
    @classmethod
    def _each_name_once(cls, named: tuple[NoticeConfig | PoolConfig, ...]) -> tuple[NoticeConfig | PoolConfig, ...]:
        names = [each.name for each in named]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"each has a name of its own; twice: {', '.join(twice)}")
        return named

    @property
    def signers(self) -> Path | None:
        """Who may sign; None: approvals are plain."""
        return self.allowed_signers if self.approval is ApprovalMode.SIGNED else None

    @property
    def automatic(self) -> bool:
        """Whether standing rules approve what they cover."""
        return self.level is Level.AUTO

    def database(self, name: str | None = None) -> DatabaseConfig:
        """The database of that name; without a name the only one.

        Raises:
            ConfigError: there is none of that name, or several to choose from; the message names them.
        """
        names = [database.name for database in self.databases]
        if name is None and len(names) == 1:
            return self.databases[0]
        if name in names:
            return self.databases[names.index(name)]
        if not names:
            raise ConfigError(
                [
                    Problem(
                        "databases", "no database is configured here; with --all a command covers those of the ledger"
                    )
                ]
            )
        said = "say which database" if name is None else f"no database is named {name!r}"
        raise ConfigError([Problem("databases", f"{said}; configured: {', '.join(names)}")])
