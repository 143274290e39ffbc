"""The configuration as a frozen tree. Keys of the file are the aliases; attributes carry their unit in the name."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, ValidationError, ValidationInfo, field_validator

from agent.config.errors import ConfigError, Problem, SettingsInvalid, printable
from agent.config.ledger import LedgerConfig
from agent.config.notices import NoticeConfig
from agent.config.policy import PolicyConfig
from agent.config.pools import PoolConfig
from agent.config.quantities import Bytes, Count, Days, Flag, Name, Part, Ratio, Seconds, Window, Zone
from agent.config.relative_paths import resolve_against_config_file
from agent.config.spaces import Storage, resolve
from agent.config.tiers import TierConfig
from connectors.base import Clock, Connector, UnknownEngine
from connectors.formatting import format_seconds
from connectors.registry import Engine, find_engine
from connectors.settings import SecretSource
from policies.calendar import Calendar
from policies.model.settings import Pin, PolicySettings

if TYPE_CHECKING:
    from connectors.model import Catalog

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


class TlsConfig(Part):
    """The certificate of the /metrics endpoint; read again when the file changes."""

    certificate: Path  # PEM, the chain
    key: Path | None = None  # PEM; None: in the same file
    client_ca: Path | None = None  # PEM; clients must show a certificate of it

    _absolute = field_validator("certificate", "key", "client_ca", mode="after")(resolve_against_config_file)


class BasicAuthConfig(Part):
    """Who may scrape."""

    user: Name
    password: SecretSource


class MetricsConfig(Part):
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


class LogConfig(Part):
    """How hotplace tells what it does, on standard error."""

    format: Literal["console", "json"] = "console"
    level: Literal["debug", "info", "warning", "error"] = "info"


class PinConfig(Part):
    """A preference of the operator for the units whose key matches."""

    pattern: Name = Field(alias="unit")  # a unit's key; * and ? as in file names
    pin: Annotated[Pin, BeforeValidator(_pin_word)]
    reason: str = ""


class DatabaseConfig(Part):
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
            return Part()
        engine, watching = find_engine(info.data["engine"]), info.data.get("connection")
        if watching is not None and isinstance(value, dict):
            value = engine.inheritance.complete(value, watching)
        try:
            return engine.settings.model_validate({} if value is None else value, context=info.context)
        except ValidationError as error:
            if info.field_name == "move_connection" and watching is None and _only_lacks(error):
                return Part()  # it takes that over from `connection`, whose own mistakes are shown
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
        return resolve(self.name, self.tiers, catalog)


class ApprovalMode(StrEnum):
    """What makes an approval one."""

    PLAIN = "plain"  # whoever may run `hotplace approve` decides
    SIGNED = "signed"  # a person signs a document with a key that allowed_signers names


class Config(Part):
    """The whole file."""

    level: Level = Level.OBSERVE
    dry_run: Flag = True  # approved moves are printed, not carried out
    approval: ApprovalMode = ApprovalMode.PLAIN
    allowed_signers: Path | None = None  # people and their public keys, see ssh-keygen(1); not writable by the agent
    approvals: Count = Field(default=1, ge=1, le=MOST_APPROVALS)  # people who must sign, each with a key of his own
    ledger: LedgerConfig = Field(default_factory=LedgerConfig)
    metrics: MetricsConfig = Field(default_factory=MetricsConfig)
    log: LogConfig = Field(default_factory=LogConfig)
    notices: tuple[NoticeConfig, ...] = ()  # channels over which people are told
    pools: tuple[PoolConfig, ...] = ()  # of fast storage that databases share, for `hotplace sizing --all`
    databases: tuple[DatabaseConfig, ...] = Field(min_length=1)

    _absolute = field_validator("allowed_signers", mode="after")(resolve_against_config_file)

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
        said = "say which database" if name is None else f"no database is named {name!r}"
        raise ConfigError([Problem("databases", f"{said}; configured: {', '.join(names)}")])
