"""The ``policy:`` part: every field of ``policies.model.settings.PolicySettings`` under the key that people write.

Attributes have the names of ``PolicySettings`` and take their defaults from it; aliases are the keys of the file.
"""

from __future__ import annotations

from pydantic import Field

from agent.config.quantities import Bytes, BytesPerSecond, Count, Part, Ratio, Seconds
from policies.model.settings import PolicySettings

DEFAULT = PolicySettings()


class PolicyConfig(Part):
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
