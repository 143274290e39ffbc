"""The types of a decision: settings, situation, verdicts, moves, plan. The other rooms do the arithmetic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

from connectors.model import F32, F64, I8, I32, I64, Bools, DatabaseDemand, Space, UnitTable
from connectors.storage_io import RoleFigures


class Pin(IntEnum):
    """Media preference of a unit (IBM i: media preference)."""

    NONE = 0
    MUST = 1  # belongs on the fastest tier, whatever its heat
    PREFER = 2  # its benefit counts more
    NEVER = 3  # never on the fastest tier


class Verdict(IntEnum):
    """The decision for a unit; if it was not chosen, the reason. ``code`` is the word for metrics and JSON."""

    PROMOTE = 0
    DEMOTE = 1
    STAYS_FAST = 2  # already there and worth it
    STAYS_SPARE = 3  # on fast storage without need, but no other unit needs its room
    IDLE = 4
    CACHED = 5
    SEQUENTIAL = 6
    WRITE_DOMINATED = 7
    PINNED = 8
    COOLING_DOWN = 9
    NO_ROUTE = 10
    NOT_ENOUGH_HISTORY = 11
    GAIN_BELOW_FLOOR = 12
    PAYBACK_TOO_LONG = 13
    WOULD_NOT_FIT = 14
    NOT_MANAGED = 15  # in a space that configuration gives no tier
    WAITING = 16  # worth it, but this plan holds its limit of moves: next time
    LEVELLED = 17  # goes to another space of its tier
    NOT_ASKED = 18  # the mode of this plan does not decide about it
    # -- what the model abstains for; numbers are stored, so none is ever given twice
    LOG_LIKE = 30  # sessions wait for its writes, not for its reads
    TOO_SMALL = 31  # a few blocks: the buffer pool keeps them once they are used
    UNCERTAIN = 32  # it would be worth a move if the figures were sure, and they are not
    FADING = 33  # hot by one of the two horizons only
    UNPROVEN = 34  # it has not yet cost as much as moving it would
    RAM_IS_CHEAPER = 35  # so busy for its size that memory costs less than fast storage

    @property
    def code(self) -> str:
        """The verdict as one word in JSON, metrics and tests."""
        return self.name.lower()


class MoveReason(StrEnum):
    """Why a move is in a plan."""

    PROMOTE = "promote"  # its own gain pays
    MAKE_ROOM = "make_room"  # cold, goes down so that a later move fits
    PIN = "pin"  # a pin demands it
    CLEAR = "clear"  # cold, goes down so that the stated share of the fastest tier is free
    LEVEL = "level"  # evens out load or fill among spaces of its tier
    DRAIN = "drain"  # its space is to be emptied


@dataclass(frozen=True, slots=True, kw_only=True)
class TierSpeed:
    """Seconds that one I/O of a class takes on a tier, as a session sees it."""

    random_read_seconds: float
    sequential_read_seconds: float  # per block, within a run
    write_seconds: float
    measured: bool = False  # fitted to counters; False: configured
    error_ratio: float = 0.0  # standard error of the read times, as a share of them
    idle_read_seconds: float = 0.0  # of a random read that finds no queue; 0: not known
    read_ahead_bytes: int = 2**20  # that a sequential reader gets at one turn, among others
    # -- where it is configured: the random read times that measured waits leave possible; 0 and 0: they say nothing
    least_read_seconds: float = 0.0
    most_read_seconds: float = 0.0

    @property
    def source(self) -> str:
        """Where the read times come from, in one word: the same in every command, document and metric."""
        return "measured" if self.measured else "configured"

    def __post_init__(self) -> None:
        for name in (
            "random_read_seconds",
            "sequential_read_seconds",
            "write_seconds",
            "error_ratio",
            "idle_read_seconds",
            "least_read_seconds",
            "most_read_seconds",
        ):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} is {getattr(self, name)}, expected 0 or more")
        if self.read_ahead_bytes < 1:
            raise ValueError(f"read_ahead_bytes is {self.read_ahead_bytes}, expected 1 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class TierLimits:
    """Limits of a tier other than bytes; None where not configured. ``limits`` turns these into room for units."""

    io_per_second: float | None = None  # I/Os that its drives serve in all, behind the RAID factor
    io_head_room_ratio: float = 0.2  # of those, never planned for: queues grow without bound near the end
    raid: int | None = None  # a key of ``purchase.WRITE_FACTORS``; None: a host write is one drive I/O
    written_bytes_per_day: float | None = None  # endurance budget: own writes and promotions
    copied_bytes: float = 0.0  # of that budget, used by copies of the last 24 hours
    gib_year: float | None = None  # price
    io_year: float | None = None  # price of one I/O per second


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """A class of storage."""

    name: str
    speed: TierSpeed
    spaces: tuple[str, ...]  # names of spaces, at least one
    limits: TierLimits = TierLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyFactor:
    """How many times as long as predicted copies of one kind take."""

    route: str  # its name; "": of all kinds, as are the tiers then
    from_tier: str
    to_tier: str
    factor: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySettings:
    """Every number that shapes a decision, with its default. Configuration mirrors this."""

    half_life_seconds: float = 6 * 3600.0
    minimum_history_seconds: float = 1800.0  # a unit observed for less is not moved
    head_room_ratio: float = 0.10  # of a space's capacity, never filled
    minimum_wait_saved_per_hour: float = 1.0  # seconds per hour; below it a move is not worth proposing
    payback_limit_seconds: float = 24 * 3600.0
    resident_bonus: float = 1.05  # a unit on the fast tier counts this much more against one that wants its room
    turnover_per_week: float = 0.31  # share of the fast tier that may give way in a week; the nearer, the dearer
    prefer_bonus: float = 1.5  # Pin.PREFER
    cool_down_seconds: float = 24 * 3600.0
    copy_bytes_per_second: float = 50e6  # that the server itself gets through, log included, were devices no limit
    prefetched_wait_share: float = 0.3  # share of a prefetched read's time that sessions wait for
    write_wait_share: float = 0.0  # share of an asynchronous write's time that sessions wait for
    horizon_seconds: float = 24 * 3600.0  # a move's gain is counted over this long against its cost
    maximum_moves: int = 50
    # -- what one plan may copy; None: no limit
    maximum_bytes: int | None = None
    maximum_copy_seconds: float | None = None
    # -- the model
    long_half_life_seconds: float = 24 * 3600.0  # of the second horizon: it ranks, and promoted is what is hot by both
    minimum_size_bytes: int = 65536  # of a smaller unit with little gain it is said that the buffer pool keeps it
    log_bytes_per_second: float = 50e6  # that the log's device takes at least; what is measured may be more
    foreground_slow_down: float = 1.0  # share of waiting sessions' work that stands still while a move copies, at first
    regret_ratio: float = 1.0  # with no lifetime known, a unit is moved once it has cost this many times the move
    ram_gib_year: float | None = None  # price of memory; None: not configured, so it is never found cheaper
    block_bytes: int = 8192  # that one read or write of a signal moves, for budgets in bytes
    certainty: float = 0.9  # share of outcomes that an interval is to hold; moves are decided on its lower end
    copy_factors: tuple[CopyFactor, ...] = ()  # what moves have taught; the one without a route is that of all


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatView:
    """Heat aligned with the rows of a unit table."""

    rates: F64  # (SIGNALS, n) per second, decayed
    observed_seconds: F64  # (n,) how long the unit has been watched in all
    confidence: F64  # (n,) 0 to 1
    error: F32 | F64 | None = None  # (n,) standard error of the demand to come, as a share; None: taken to be sure
    steady: F64 | None = None  # (SIGNALS, n) per second by the long horizon; None: there is but one horizon
    expected: F64 | None = (
        None  # (n,) wait index (``variance``) that a season promises; NaN: none does; None: no seasons
    )
    hotter: F32 | F64 | None = None  # (n,) demand by the hotter horizon over that by ``rates``, 1 or more; None: 1
    colder: F32 | F64 | None = None  # (n,) the same by the colder one, 0 to 1; None: 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteCost:
    """Estimated seconds that a route costs sessions apart from its copying, and seconds that it copies."""

    log_seconds: float  # who waits for the log waits longer, while it takes what the move writes there
    blocked_seconds: float  # sessions that its locks hold up, beyond the slow-down by the copy
    follow_up_seconds: float  # work that it leaves behind, as far as it can be estimated
    copying: tuple[float, ...] | None = None  # seconds of each of ``Route.transfers``, before what moves have taught
    around_seconds: float = 0.0  # of its statements outside those: catalog, commit, transactions that it waits for
    copy_seconds: float | None = (
        None  # of its statements, with what moves have taught; None: stored before it was recorded
    )

    @property
    def seconds(self) -> float:
        """All that it costs apart from copying."""
        return self.log_seconds + self.blocked_seconds + self.follow_up_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class OmittedSums:
    """Sums over the bundles on the slowest tier that presolve leaves out of the problem (``placement.presolve``)."""

    wait: float = 0.0  # whole microseconds per hour
    variance: float = 0.0  # squares of each bundle's wait times the error of its demand
    io: float = 0.0  # drive I/Os per second
    whole_io: float = 0.0  # the same in whole millionths of each bundle
    written: float = 0.0  # whole bytes per day


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """Everything a plan may depend on. The same situation and settings give the same plan, always."""

    units: UnitTable
    heat: HeatView
    spaces: tuple[Space, ...]  # free and capacity bytes completed from configuration
    tiers: tuple[Tier, ...]  # fastest first
    tier_of_space: I32  # (len(spaces),) row in tiers, -1: not managed
    pin: I8  # (n,) Pin
    cooling_seconds: F64  # (n,) cool-down left, 0: free to move
    database: DatabaseDemand
    no_route: Mapping[str, str] = field(default_factory=dict)  # bundle's leading unit key -> why it cannot move
    turned_over_ratio: float = 0.0  # of the fastest tier's bytes, demoted lately; < 0: saved; ``turnover.bucket_level``
    no_wide: Mapping[str, str] = field(default_factory=dict)  # of UnitTable.wide_names -> why it cannot as a whole
    whole: I32 | None = (
        None  # (n,) row in wide_names that each unit is to be judged with, see ``granularity``; None: alone
    )
    # -- the model
    roles: tuple[RoleFigures, ...] = ()  # logs, temporary and undo spaces, rates per second
    route_costs: Mapping[str, RouteCost] = field(default_factory=dict)  # by leading unit key, of routes asked for
    transient: Mapping[str, int] = field(default_factory=dict)  # by PlannedMove.name: bytes beyond the copy, on the way
    growth: I64 | None = None  # (n,) bytes by which each unit is expected to grow until it is moved; None: by none
    omitted: OmittedSums = field(default_factory=OmittedSums)  # what else is on the slowest tier, see ``presolve``
    by_mean: bool = False  # a gain counts by its mean, as if that were sure: the question is how it looks now
    sessions: float = float("nan")  # at work on average over the longer horizon; NaN: the engine does not tell
    copy_seconds: F32 | None = None  # (n,) how long moving each unit takes, see ``copy_time``; None: by its size alone


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedMove:
    """One bundle from space to space, with what it is expected to bring."""

    key: str  # leading unit of the bundle
    rows: tuple[int, ...]  # rows of the unit table, the leading unit first
    size_bytes: int
    from_space: str
    to_space: str
    from_tier: str
    to_tier: str
    reason: MoveReason
    wait_saved_per_hour: float  # foreground wait seconds per hour; negative for what gives way
    copy_seconds: float
    payback_seconds: float  # move cost over gain; inf where there is no gain of its own
    sentence: str
    wide: str = ""  # what moves as a whole, of UnitTable.wide_names; "": a bundle of its own
    group: int = 0  # 1, 2, ...: what makes room and what it makes room for have the same number; 0: not grouped

    @property
    def name(self) -> str:
        """The key of its route, and of what is learnt of it."""
        return self.wide or self.key


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftBehind:
    """A bundle that stays in a space which is to be emptied."""

    key: str  # leading unit of the bundle
    rows: tuple[int, ...]  # rows of the unit table, the leading unit first
    size_bytes: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """An ordered list of moves, its value, and how far it can be from the best possible one."""

    moves: tuple[PlannedMove, ...]
    wait_per_hour: float  # foreground read wait by the model, before any move
    wait_saved_per_hour: float  # of all moves together
    bound_per_hour: float  # no placement within the same limits saves more
    gap_ratio: float  # 1 - value / bound, 0 to 1
    ceiling_ratio: float  # Amdahl: share of session time that is foreground I/O; NaN where the engine cannot tell
    verdict: I8  # (n,) Verdict per unit
    benefit_per_hour: F64  # (n,) wait saved if the unit were on the fastest tier instead of the slowest
    wait_saved_if_moved: F64  # (n,) per hour, from its present home to the fastest tier
    chosen: Bools  # (n,) on the fastest tier once the plan has run
    left_behind: tuple[LeftBehind, ...] = ()  # mode drain: what stays in the space, and why
    whole: I32 | None = None  # (n,) row in wide_names that each unit is judged with, NO_WIDE: alone; None: all alone
    # -- the interval of what all moves save, per hour; settings.certainty of the outcomes are to lie in it
    wait_saved_low_per_hour: float = float("nan")
    wait_saved_high_per_hour: float = float("nan")
    saved_ratio_low: float = float("nan")  # the same of the share of all wait, which common errors leave alone
    saved_ratio_high: float = float("nan")
    relief_per_hour: float = 0.0  # what shorter queues may save the units that stay, in addition to what the moves save

    @property
    def missed_wait_ratio(self) -> float:
        """Share of all read wait that the best possible plan might save and this one does not, 0 to 1."""
        return missed_wait_ratio(self.wait_per_hour, self.bound_per_hour, self.wait_saved_per_hour)


def missed_wait_ratio(wait: float, bound: float, saved: float) -> float:
    """Share of a wait that could be saved at best and is not, 0 to 1; what moves cost counts as missed.

    ``gap_ratio`` is a share of what can be saved. Once everything is in its place that is next to nothing, and what is
    not worth a move is all of it.

    >>> missed_wait_ratio(1000.0, 20.0, 0.0)
    0.02
    """
    return min(1.0, max(0.0, (bound - saved) / wait)) if wait > 0 else 0.0


class AdviceCode(StrEnum):
    """Kinds of advice."""

    LEAVE = "leave"  # its waits are too short to do anything about
    OWN_DEVICE = "own_device"
    FASTER_DEVICE = "faster_device"
    INDEX_WITHOUT_TABLE = "index_without_table"
    TABLE_WITHOUT_INDEX = "table_without_index"
    NO_GAIN_EXPECTED = "no_gain_expected"
    RAM_IS_CHEAPER = "ram_is_cheaper"
    UNKNOWN = "unknown"  # it is used, and its times are not measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """One piece of advice."""

    code: AdviceCode
    subject: str  # key of a unit, name of a log or space, "" for the whole database
    sentence: str
    saves_per_hour: float  # seconds of session wait; 0 where nothing is to be gained
