"""What to do where fewer than two tiers have a space, so that no move between tiers is possible.

One sentence for every command.
"""

from __future__ import annotations

from agent.config.models import DatabaseConfig
from agent.config.tiers import TierConfig

USUAL = "ssd"  # the kind that is taken where nothing is said of a tier


def what_is_missing(database: DatabaseConfig) -> str:
    """Why no move between tiers is possible, one sentence without a full stop; "": two tiers or more have a space."""
    (first, *others) = database.tiers_in_use
    if others:
        return ""
    if not first.spaces:
        return "no tier has a space, so nothing is managed"
    return f"{first.name} is the only tier that has a space, so there is no faster or slower one to move to"


def next_step(database: DatabaseConfig) -> str:
    """What to do about it, for a person; "" where nothing is missing."""
    (first, *others) = database.tiers_in_use
    if others:
        return ""
    if not first.spaces:
        return f"name the space where the tables lie below the spaces of {first.name}; hotplace doctor lists all spaces"
    tier = database.planned_tiers[0].name if database.planned_tiers else USUAL
    return f"what faster storage would save: {_sizing(database.planned_tiers)}; {how_to_use(database, tier)}"


def _sizing(planned: tuple[TierConfig, ...]) -> str:
    return "hotplace sizing" if planned else f"hotplace sizing --tier {USUAL} --size 500GiB"


def how_to_use(database: DatabaseConfig, tier: str) -> str:
    """How new storage comes to be used, once it is there."""
    made = database.engine_record.new_space(database.connection)
    return f"{made}, and name it below the spaces of {tier}"
