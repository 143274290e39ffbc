"""The ``tiers:`` part: which spaces are which class of storage, and how fast that class is.

Engines do not say what is SSD; these lines do. Measured read times correct the figures once the agent has watched a
while, so a rough kind is enough to begin with.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from agent.config.errors import printable
from agent.config.quantities import Bytes, Count, Name, Part, Seconds
from policies.model.settings import ONE_SERVER, Servers, Tier, TierLimits, TierSpeed
from policies.storage.purchase import WRITE_FACTORS

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


class SpaceConfig(Part):
    """A space of a tier, optionally with the room hotplace may count on."""

    name: Name
    capacity: Bytes | None = Field(default=None, gt=0)  # bytes, used ones included; None: as the engine says


class TierConfig(Part):
    """A class of storage. Any given figure wins over those of its kind."""

    name: Name
    kind: str | None = None  # a key of KINDS; default: the tier's name, where it is one
    spaces: tuple[Annotated[SpaceConfig, BeforeValidator(_expand_name)], ...] = Field(min_length=1)
    random_read: Seconds | None = Field(default=None, gt=0)  # seconds one random block read takes
    sequential_read: Seconds | None = Field(default=None, ge=0)  # seconds per block within a run
    write: Seconds | None = Field(default=None, ge=0)  # seconds one block write takes
    read_ahead: Bytes = Field(default=READ_AHEAD, ge=512)  # bytes that a sequential reader gets at one turn
    disks: Count | None = Field(default=None, ge=1)  # that it is striped over; None: learnt from latencies, else one
    servers: Count | None = Field(default=None, ge=1)  # in place of disks: requests served at a time from one queue
    iops: float | None = Field(default=None, gt=0)  # I/Os per second that its drives serve in all
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
                raid=self.raid,
                written_bytes_per_day=self.written_per_day,
                gib_year=self.price,
                io_year=self.io_price,
            ),
        )
