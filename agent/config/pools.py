"""Pools of fast storage that several databases share: the part ``pools`` of the configuration."""

from __future__ import annotations

from pydantic import Field

from agent.config.quantities import Bytes, Name, Part


class PoolConfig(Part):
    """One budget for the fastest tiers of some databases of the ledger."""

    name: Name  # for people, and for `hotplace sizing --all --pool`
    budget_bytes: Bytes = Field(alias="budget", gt=0)  # that their objects may fill; head-room comes on top
    databases: tuple[Name, ...] = Field(min_length=1)  # names, * and ? as in file names; of other machines too
