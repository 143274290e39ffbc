"""The ``tiers:`` part, and its match with the spaces that the database has.

The ``tiers:`` part: which spaces are which class of storage, and how fast that class is.

Engines do not say what is SSD; these lines do. Measured read times correct the figures once the agent has watched a
while, so a rough kind is enough to begin with.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from agent.config.errors import ConfigError, Problem, path_text, printable
from agent.config.mistakes import nearest
from agent.config.quantities import Bytes, ConfigPart, Count, Name, Seconds
from policies.model.settings import ONE_SERVER, WRITE_FACTORS, Servers, Tier, TierLimits, TierSpeed

if TYPE_CHECKING:
    from connectors.model.observation import I32, Catalog, Space


READ_AHEAD = 2**20  # between an untuned Linux (128 KiB, several requested at once) and a tuned one (4 MiB)

# Seconds for one 8 KiB block as a session sees it, unloaded. hdd: a 15k drive, 5.5 ms seek and rotation, 160 MB/s in
# a run. ssd: a SATA or SAS drive, 0.2 ms, 500 MB/s. nvme: 0.1 ms, 2 GB/s. Writes of ssd and nvme land in the drive's
# protected cache, those of an hdd pay its seek.
KINDS = {
    "nvme": TierSpeed(random_read_seconds=0.0001, sequential_read_seconds=0.000004, write_seconds=0.00003),
    "ssd": TierSpeed(random_read_seconds=0.0002, sequential_read_seconds=0.000016, write_seconds=0.0001),
    "hdd": TierSpeed(random_read_seconds=0.0055, sequential_read_seconds=0.00005, write_seconds=0.0055),
}


def _expand_name(value: Any) -> Any:  # noqa: ANN401  # whatever YAML holds; the model judges it
    """A bare name is short for ``{name: ...}``."""
    if isinstance(value, str | dict | SpaceConfig):
        return {"name": value} if isinstance(value, str) else value
    raise ValueError(f"should be the name of a space or {{name: ..., capacity: ...}}, not {printable(value)}")


class SpaceConfig(ConfigPart):
    """A space of a tier, optionally with the room hotplace may count on."""

    name: Name
    capacity: Bytes | None = Field(default=None, gt=0)  # bytes, used ones included; None: as the engine says


class TierConfig(ConfigPart):
    """A class of storage. Any given figure wins over those of its kind. Without a space it is not there yet."""

    name: Name
    kind: str | None = None  # a key of KINDS; default: the tier's name, where it is one
    spaces: tuple[Annotated[SpaceConfig, BeforeValidator(_expand_name)], ...] = ()  # none: not there yet
    size: Bytes | None = Field(default=None, gt=0)  # bytes that it is to have, as long as it has no space
    random_read: Seconds | None = Field(default=None, gt=0)  # seconds one random block read takes
    sequential_read: Seconds | None = Field(default=None, ge=0)  # seconds per block within a run
    write: Seconds | None = Field(default=None, ge=0)  # seconds one block write takes
    read_ahead: Bytes = Field(default=READ_AHEAD, ge=512)  # bytes that a sequential reader gets at one turn
    disks: Count | None = Field(default=None, ge=1)  # that it is striped over; None: learnt from latencies, else one
    servers: Count | None = Field(default=None, ge=1)  # in place of disks: requests served at a time from one queue
    iops: float | None = Field(default=None, gt=0)  # I/Os per second that its drives serve in all
    throughput: Bytes | None = Field(default=None, gt=0)  # bytes per second that its volume or controller carries
    raid: Count | None = None  # a key of WRITE_FACTORS; None: a write is one drive I/O
    written_per_day: Bytes | None = Field(default=None, gt=0)  # endurance budget, promotions included
    price: float | None = Field(default=None, ge=0)  # per GiB and year
    io_price: float | None = Field(default=None, ge=0)  # per I/O a second, and year

    @model_validator(mode="after")
    def _speed_is_known(self) -> TierConfig:
        kinds = ", ".join(KINDS)
        if self.kind is not None and self.kind not in KINDS:
            raise ValueError(f"kind {self.kind!r} is not one of {kinds}")
        if self.raid is not None and self.raid not in WRITE_FACTORS:
            raise ValueError(f"raid {self.raid} is not one of {', '.join(map(str, WRITE_FACTORS))}")
        if self.size is not None and self.spaces:
            raise ValueError(
                "size is for a tier that has no space yet; limit a space by its capacity: {name: ..., capacity: ...}"
            )
        if self.disks is not None and self.servers is not None:
            raise ValueError("say disks or servers, not both: they are two ways to queue for the same tier")
        given = (self.random_read, self.sequential_read, self.write)
        if (self.kind or self.name) not in KINDS and None in given:
            raise ValueError(f"say how fast it is: kind ({kinds}), or all of random_read, sequential_read and write")
        return self

    @property
    def speed(self) -> TierSpeed:
        """What is configured, completed from the kind."""
        usual = KINDS.get(self.kind or self.name)
        given = (self.random_read, self.sequential_read, self.write)
        usually = (usual.random_read_seconds, usual.sequential_read_seconds, usual.write_seconds) if usual else given
        random_read, sequential_read, write = (u if g is None else g for g, u in zip(given, usually, strict=True))
        assert random_read is not None, "_speed_is_known() saw to it"
        assert sequential_read is not None, "as above"
        assert write is not None, "as above"
        return TierSpeed(
            random_read_seconds=random_read,
            sequential_read_seconds=sequential_read,
            write_seconds=write,
            read_ahead_bytes=self.read_ahead,
            servers=self._servers,
        )

    @property
    def _servers(self) -> Servers:
        """How many requests it serves at a time, where that is configured."""
        count = self.servers or self.disks
        if count is None:
            return ONE_SERVER
        return Servers(count=count, least=count, most=count, source="configured", striped=self.disks is not None)

    @property
    def tier(self) -> Tier:
        """The tier as the policies take it."""
        return Tier(
            name=self.name,
            speed=self.speed,
            spaces=tuple(space.name for space in self.spaces),
            limits=TierLimits(
                io_per_second=self.iops,
                bytes_per_second=self.throughput,
                raid=self.raid,
                written_bytes_per_day=self.written_per_day,
                gib_year=self.price,
                io_year=self.io_price,
            ),
        )


NOT_MANAGED = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """The spaces of a catalog with their tiers."""

    tiers: tuple[Tier, ...]  # fastest first
    tier_of_space: I32  # (len(spaces),) row in tiers, -1: the configuration gives it none
    spaces: tuple[Space, ...]  # those of the catalog, in its order, room completed from the configuration


def resolve(database: str, tiers: Sequence[TierConfig], catalog: Catalog) -> Storage:
    """Find every configured space in the catalog.

    A configured name is that of a space, or a folder or disk group (``/ssd``, ``+FAST``) that stands for every space
    whose path is in it and which no tier names itself; of two such places the inner one decides.

    Raises:
        ConfigError: a configured space does not exist; every such one is named with its nearest neighbour.
    """
    import numpy as np  # here, since every command reads the configuration, and few ask a database for its spaces

    places = [(number, tier.spaces[at]) for number, tier in enumerate(tiers) for at in range(len(tier.spaces))]
    chosen = [_chosen(space, places) for space in catalog.spaces]
    used = {configured.name for _, configured in places if _speaks_of_any(configured.name, catalog)}
    missing = list(_missing(database, tiers, used, [space.name for space in catalog.spaces]))
    if missing:
        raise ConfigError(
            missing,
            source=f"database {database}",
            advice="Correct the name under tiers, or create the space in the database.",
        )
    tier_of_space = np.full(len(catalog.spaces), NOT_MANAGED, dtype=np.int32)
    spaces = list(catalog.spaces)
    for row, place in enumerate(chosen):
        if place is not None:
            tier_of_space[row] = place[0]
            spaces[row] = with_capacity(spaces[row], place[1].capacity)
    return Storage(tiers=tuple(tier.tier for tier in tiers), tier_of_space=tier_of_space, spaces=tuple(spaces))


def _chosen(space: Space, places: Sequence[tuple[int, SpaceConfig]]) -> tuple[int, SpaceConfig] | None:
    """Tier and entry of the configuration that speak of a space: by its name, else by the longest place it is in."""
    named = [place for place in places if place[1].name == space.name]
    around = [place for place in places if _lies_in(space.path, place[1].name)]
    return named[0] if named else max(around, key=lambda place: len(place[1].name), default=None)


def _speaks_of_any(name: str, catalog: Catalog) -> bool:
    return any(space.name == name or _lies_in(space.path, name) for space in catalog.spaces)


def _lies_in(path: str, place: str) -> bool:
    """Whether a container is in that folder or disk group; a bare name is neither."""
    if not (place.startswith(("/", "+")) or place[1:3] == ":\\"):
        return False
    # With a separator: `/ssd` must not take `/ssd2/data` in.
    return path == place or path.startswith((place.rstrip("/\\") + "/", place.rstrip("/\\") + "\\"))


def with_capacity(space: Space, capacity: int | None) -> Space:
    """The space with no more room than both the engine and the configuration (bytes, used ones included) grant it."""
    total = _least([space.capacity_bytes, capacity])
    left = None if total is None else max(0, total - space.used_bytes)
    return replace(space, capacity_bytes=total, free_bytes=_least([space.free_bytes, left]))


def _least(values: Iterable[int | None]) -> int | None:
    """The smallest known value; None where none is known."""
    return min((value for value in values if value is not None), default=None)


def _missing(
    database: str, tiers: Sequence[TierConfig], used: Container[str], names: Sequence[str]
) -> Iterable[Problem]:
    for number, tier in enumerate(tiers):
        for position, space in enumerate(tier.spaces):
            if space.name not in used:
                where = path_text(("databases", database, "tiers", number, "spaces", position))
                hint = nearest(space.name, names)
                yield Problem(where, f"the database has no space {space.name!r}; {hint}")
