"""Which units are on the wrong side of the five-minute rule, by the prices that a site names.

Reads only: the catalog over the watching account, and the heat that the ledger keeps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from agent.answers.sizing import BreakEven, BreakEvens, UnitOnWrongSide
from agent.config import DatabaseConfig, Level, NothingToSize
from agent.ledger import Ledger
from agent.planning.situation import situation_of
from agent.service.watch import Watch
from connectors.base import Clock
from policies.model.plan import Situation
from policies.sizing.break_even import (
    LevelPrice,
    WrongSide,
    belong_above,
    belong_below,
    break_even_seconds,
    page_intervals,
)
from policies.storage.purchase import GIB

RAM = "ram"  # its name among those of the tiers


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """What was given with the command, by level; what is missing is taken from the configuration."""

    gib: Mapping[str, float] = field(default_factory=dict)
    drive_iops: Mapping[str, float] = field(default_factory=dict)
    drive_bytes: Mapping[str, int] = field(default_factory=dict)


def break_even_of(database: DatabaseConfig, ledger: Ledger, clock: Clock, prices: Prices) -> BreakEvens:
    """Work out RAM against the fastest tier, RAM against the slowest, and these two against each other.

    Raises:
        NothingToSize: the database has only one tier, or prices are missing for every interval; it names them.
        ConnectorError: it does not answer.
    """
    if len(database.tiers) < 2:
        raise NothingToSize(
            f"{database.name} has one tier only, so there is nothing to compare",
            advice="Name a faster or a slower tier in the configuration.",
        )
    settings = database.policy_settings()
    watch = Watch(database, ledger, clock, level=Level.OBSERVE, dry_run=True)
    try:
        watch.sample()
        picture = watch.sampler.picture()
        assert picture is not None, "there is a sample"
        situation = situation_of(picture, database, ledger, settings, clock.now())
    finally:
        watch.close(save=False)
    ram = LevelPrice(name=RAM, gib=prices.gib.get(RAM, settings.ram_gib_year))
    fast, slow = (level_price(situation, tier, prices) for tier in (0, -1))
    pairs = [(ram, fast), (ram, slow), (fast, slow)]
    answer = BreakEvens(
        database=database.name,
        page_bytes=settings.block_bytes,
        intervals=tuple(_interval(situation, *pair, settings.block_bytes) for pair in pairs),
    )
    missing = [each.missing for each in answer.intervals if each.missing is not None]
    if len(missing) == len(pairs):
        raise NothingToSize("; ".join(dict.fromkeys(missing)), advice=ADVICE)
    return answer


ADVICE = (
    "Give --price ram=AMOUNT and --price TIER=AMOUNT per GiB, and of each tier --drive-size TIER=SIZE and "
    "--drive-iops TIER=IOPS; or ram_price, price and io_price in the configuration."
)


def level_price(situation: Situation, tier: int, prices: Prices) -> LevelPrice:
    """What a tier costs: by its drives where these are given, else by the price of its I/Os."""
    name, limits = situation.tiers[tier].name, situation.tiers[tier].limits
    gib, size = prices.gib.get(name, limits.gib_year), prices.drive_bytes.get(name)
    by_drive = LevelPrice.of_drive(
        name, gib=gib, drive_gib=None if size is None else size / GIB, drive_iops=prices.drive_iops.get(name)
    )
    return LevelPrice(name=name, gib=gib, access=limits.io_year if by_drive.access is None else by_drive.access)


def _interval(situation: Situation, above: LevelPrice, below: LevelPrice, page_bytes: int) -> BreakEven:
    try:
        seconds = break_even_seconds(page_bytes, above, below)
    except ValueError as error:
        return BreakEven(above=above.name, below=below.name, break_even_seconds=None, missing=str(error), wrong_side=())
    units = situation.units
    size = units.size_bytes.astype(np.int64)
    interval = page_intervals(situation.heat.rates, size, page_bytes)
    tier = situation.tier_of_space[units.space]
    rows = {each.name: row for row, each in enumerate(situation.tiers)}
    risen = belong_above(interval, size, tier == rows[below.name], above, seconds)
    wrong = [*_named(situation, risen, below.name, above.name)]
    if above.name in rows:  # what the buffer pool holds cannot be sent out of it
        watched = situation.heat.observed_seconds >= seconds
        fallen = belong_below(interval, size, (tier == rows[above.name]) & watched, above, seconds)
        wrong += _named(situation, fallen, above.name, below.name)
    return BreakEven(
        above=above.name, below=below.name, break_even_seconds=seconds, missing=None,
        wrong_side=tuple(sorted(wrong, key=lambda each: (-each.spares, each.unit))),
    )  # fmt: skip


def _named(situation: Situation, found: WrongSide, on: str, to: str) -> Sequence[UnitOnWrongSide]:
    units = situation.units
    return [
        UnitOnWrongSide(
            unit=units.key[row], on=on, belongs_on=to, bytes=int(units.size_bytes[row]),
            seconds_between_reads=interval, spares=spares,
        )
        for row, interval, spares in zip(
            found.rows.tolist(), found.interval.tolist(), found.spares.tolist(), strict=True
        )
    ]  # fmt: skip
