"""Every number of the yardstick. Frozen: fixed before the policy is changed, and never changed to suit a policy.

A policy is judged by these shapes, seeds and sizes; who alters one of them has a new yardstick, not a better policy.
``tests/reproduction/test_wandering.py`` holds the demand that follows from them. The three shapes in ``HELD_OUT`` are
described only: they are written and drawn once, with seeds chosen then, when the policy is finished.
"""

from __future__ import annotations

from tests.workloads.catalogue import GIB

SEEDS = (1, 2, 3, 4, 5)
DELAYED_SEEDS = (1, 2)  # of these, hotplace is also played with the approval delay
QUICK_SEEDS = (1,)
DAY, WEEK = 24, 168  # hours
HOURS = 28 * DAY
QUICK_HOURS = 4 * DAY

# -- the database
UNITS = 160  # at the start; with all that are created later at most 400
TOTAL_BYTES = 600 * GIB
READS = 2_000.0  # random reads a second that sessions wait for, of the units as they are usually used
FAST_SHARE = 0.1  # of the bytes at the start fit the fast tier, head-room not counted
NOISE = 0.35  # sigma of the logarithm of each unit's demand, drawn for every hour

# -- what moves: most of the reads go to a small part of the bytes, the rest as usual
SPOT_READS = 0.85 * READS  # a second, of the hot spot
USUAL_SHARE = 0.15  # of its usual demand that every unit keeps
SPOT_BYTES = 0.06  # of all bytes are hot at a time
LARGEST_HOT = 0.015  # of all bytes; a larger unit is never part of a hot spot
SPOT_SPREAD = 0.5  # sigma of the logarithm of the demand of hot units
SIZE_MATTERS = 0.8  # reads grow with this power of the size

PARTITION_BYTES = 9 * GIB  # of a day; it is loaded whole, and grows no more
EARLIER_PARTITIONS = 10  # that exist at the start
BATCH_UNITS, BATCH_NIGHTS, BATCH_FACTOR = 0.12, 0.75, 40.0  # share of units, of nights; times their usual demand
GROWING_UNITS, GROWTH_PER_DAY = 0.3, 0.03  # share of units; of the bytes, and demand grows with them
BORN_PER_DAY, LIFE_DAYS = 4, 7.0  # units created a day, mean of their exponential lives
REGIME_DAYS = (9, 19)  # after which all heat is drawn again, a day earlier or later
MONTH_END_FROM, MONTH_END_UNTIL = 8, 16  # the day at which the last three of the month begin
MONTH_END_UNITS, MONTH_END_FACTOR, QUIET = 0.25, 8.0, 0.05

SHAPES = (
    "hot_spot_24h",
    "hot_spot_72h",
    "hot_spot_7d",
    "partition_36h",
    "partition_12h",
    "hot_for_4d",
    "hot_for_10d",
    "drifting",
    "weekly",
    "flash_crowd",
    "day_night",
    "month_end",
    "batch_scans",
    "growth",
    "churn",
    "regime_change",
    "stationary",
)

HELD_OUT = {
    "tenants": "Tenants of four to ten units each that share nothing; 2 % of the bytes each. A tenant works for a "
    "time drawn from a log-normal distribution (median 36 h, sigma 1) and rests three times as long; reads among those "
    "at work by Zipf 0.9.",
    "wave": "Units in the order of their keys; a wave of SPOT_BYTES passes over them once in 28 days, hottest in its "
    "middle, so that what comes next lies next to what is hot now and what is behind never returns.",
    "two_applications": "Two applications with units of their own share the machine: for one to five days (uniform) "
    "the first takes nine tenths of SPOT_READS, then the other for as long, and so on; within each, heat by Zipf 0.9.",
}

DELAY_HOURS = 8  # that a proposal waits for its approval
