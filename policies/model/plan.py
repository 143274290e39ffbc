"""The types of a decision: settings, situation, verdicts, moves, plan. The other rooms do the arithmetic.

What has no columns is defined in ``settings`` and ``moves``: proposals and configuration are read without numpy;
code that has it anyway imports all from here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import IntEnum, StrEnum
from typing import Any

from connectors.model.moves import Border
from connectors.model.observation import F32, F64, I8, I32, I64, Bools, DatabaseDemand, RoleFigures, Space, UnitTable
from policies.model.confidence import PastForecast
from policies.model.moves import MoveReason, PredictionError, RouteCost, missed_wait_ratio
from policies.model.settings import Tier


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
    NOT_OBSERVED = 19  # the engine shows no reads of it, so more history tells nothing
    SPLIT = 20  # its hot part goes to fast storage, the rest stays
    # -- what the model abstains for; numbers are stored, so none is ever given twice
    LOG_LIKE = 30  # sessions wait for its writes, not for its reads
    TOO_SMALL = 31  # a few blocks: the buffer pool keeps them once they are used
    UNCERTAIN = 32  # it would be worth a move if the figures were sure, and they are not
    FADING = 33  # hot by one of the two horizons only
    UNPROVEN = 34  # it has not yet cost as much as moving it would
    RAM_IS_CHEAPER = 35  # so busy for its size that memory costs less than fast storage
    OUTGROWS = 36  # it fits now, and would be larger than any space of the tier before the next plan can act

    @property
    def code(self) -> str:
        """The verdict as one word in JSON, metrics and tests."""
        return self.name.lower()


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

    def only(self, rows: I64) -> HeatView:
        """The same of some units."""
        columns = ((each.name, getattr(self, each.name)) for each in fields(self))
        some: dict[str, Any] = {name: None if column is None else column[..., rows] for name, column in columns}
        return HeatView(**some)


@dataclass(frozen=True, slots=True, kw_only=True)
class PacedShare:
    """Share of some background work that comes with transactions; the rest goes on at a pace of its own."""

    least: float = 0.0
    share: float = 0.5
    most: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.least <= self.share <= self.most <= 1:
            raise ValueError(f"shares of {self.least}, {self.share} and {self.most}: expected 0 to 1, in this order")


EACH_TRANSACTION = PacedShare(least=1.0, share=1.0, most=1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Paced:
    """How reads ahead, background writes and the log follow the work, see ``workload.paced_by_hours``."""

    read_ahead: PacedShare = PacedShare()
    writes: PacedShare = EACH_TRANSACTION
    log: PacedShare = EACH_TRANSACTION


NOT_KNOWN = Paced()  # by its hours


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
    owed_seconds: F64 | None = None  # (n,) during it, what who takes its room has to pay besides; inf: it may not leave
    copies_caused: F64 | None = None  # (n,) copies of as many bytes that its coming up causes; None: of no unit
    database: DatabaseDemand
    no_route: Mapping[str, str] = field(default_factory=dict)  # bundle's leading unit key -> why it cannot move
    turned_over_ratio: float = 0.0  # of the fastest tier's bytes, gave way lately; see ``capacity.turned_over``
    no_wide: Mapping[str, str] = field(default_factory=dict)  # of UnitTable.wide_names -> why it cannot as a whole
    whole: I32 | None = (
        None  # (n,) row in wide_names that each unit is to be judged with, see ``granularity``; None: alone
    )
    # -- the model
    roles: tuple[RoleFigures, ...] = ()  # logs, temporary and undo spaces, rates per second
    route_costs: Mapping[str, RouteCost] = field(default_factory=dict)  # by leading unit key, of routes asked for
    transient: Mapping[str, int] = field(default_factory=dict)  # by PlannedMove.name: bytes beyond the copy, on the way
    staying: Mapping[str, int] = field(default_factory=dict)  # likewise: bytes that are not free in the source after it
    growth: I64 | None = None  # (n,) bytes by which each unit is expected to grow until the next plan can act
    growth_rate: F64 | None = None  # (n,) bytes a second by which each grows now, however long it may go on
    growth_seen: F64 | None = None  # (n,) seconds for which that was seen
    growth_seconds: float = float("nan")  # how long that is; NaN: stored before it was recorded
    by_mean: bool = False  # a gain counts by its mean, as if that were sure: the question is how it looks now
    sessions: float = float("nan")  # at work on average over the longer horizon; NaN: the engine does not tell
    elsewhere_alone: float = float("nan")  # seconds a transaction spent outside tiers before another limit showed
    load: str = ""  # "closed": who is answered asks again; "open": work arrives independently; "": not known
    paced: Paced = NOT_KNOWN  # how much of what no session waits for comes with the transactions
    prediction_errors: tuple[PredictionError, ...] = ()  # what outcomes of earlier moves have taught; (): nothing
    past_forecasts: tuple[PastForecast, ...] = ()  # of throughput and latency, next to what came; (): none was measured
    copy_seconds: F32 | None = None  # (n,) how long moving each unit takes, see ``costs``; None: by its size alone

    def only(self, rows: I64) -> Situation:
        """The same of some units, in ascending order of their rows."""
        return replace(
            self,
            units=self.units.only(rows),
            heat=self.heat.only(rows),
            pin=self.pin[rows],
            cooling_seconds=self.cooling_seconds[rows],
            owed_seconds=None if self.owed_seconds is None else self.owed_seconds[rows],
            copies_caused=None if self.copies_caused is None else self.copies_caused[rows],
            whole=None if self.whole is None else self.whole[rows],
            growth=None if self.growth is None else self.growth[rows],
            growth_rate=None if self.growth_rate is None else self.growth_rate[rows],
            growth_seen=None if self.growth_seen is None else self.growth_seen[rows],
            copy_seconds=None if self.copy_seconds is None else self.copy_seconds[rows],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanMove:
    """One bundle from space to space, with what it is expected to bring."""

    key: str  # leading unit of the bundle
    rows: tuple[int, ...]  # rows of the unit table, the leading unit first; (): of none, see ``part``
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
    part: Border | None = None  # where the table is split: only the part behind it moves; then no rows

    @property
    def name(self) -> str:
        """The key of its route, and of what is learnt of it."""
        return self.wide or self.key


@dataclass(frozen=True, slots=True, kw_only=True)
class UndrainedBundle:
    """A bundle that stays in a space which is to be emptied."""

    key: str  # leading unit of the bundle
    rows: tuple[int, ...]  # rows of the unit table, the leading unit first
    size_bytes: int
    why: str


class SavingLimit:
    """A bound on what plans save, in seconds per hour, worked out when somebody reads it.

    Tightening it takes half of the time of a plan, and of most plans nobody reads it: nothing is to be moved.
    """

    __slots__ = ("_known", "_work_out")

    def __init__(self, known: float = 0.0, work_out: Callable[[], float] | None = None) -> None:
        self._known, self._work_out = known, work_out

    @property
    def per_hour(self) -> float:
        """The bound; the second time it is remembered. Threads that read it at once work it out twice."""
        work_out = self._work_out
        if work_out is not None:
            self._known = work_out()
            self._work_out = None  # only now: a thread that finds none takes what is known
        return self._known


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """An ordered list of moves, its value, and how far it can be from the best possible one."""

    moves: tuple[PlanMove, ...]
    wait_per_hour: float  # foreground read wait by the model, before any move
    wait_saved_per_hour: float  # of all moves together
    limit: SavingLimit  # on every plan within the same limits; a plan that saves more is its own
    ceiling_ratio: float  # Amdahl: share of session time that is foreground I/O; NaN where the engine cannot tell
    verdict: I8  # (n,) Verdict per unit
    benefit_per_hour: F64  # (n,) wait saved if the unit were on the fastest tier instead of the slowest
    wait_saved_if_moved: F64  # (n,) per hour, from its present home to the fastest tier
    chosen: Bools  # (n,) on the fastest tier once the plan has run
    left_behind: tuple[UndrainedBundle, ...] = ()  # mode drain: what stays in the space, and why
    whole: I32 | None = None  # (n,) row in wide_names that each unit is judged with, NO_WIDE: alone; None: all alone
    # -- the interval of what all moves save, per hour; settings.certainty of the outcomes are to lie in it
    wait_saved_low_per_hour: float = float("nan")
    wait_saved_high_per_hour: float = float("nan")
    saved_ratio_low: float = float("nan")  # the same of the share of all wait, which common errors leave alone
    saved_ratio_high: float = float("nan")
    relief_per_hour: float = 0.0  # what shorter queues may save the units that stay, in addition to what the moves save

    @property
    def bound_per_hour(self) -> float:
        """No plan within the same limits saves more, unless the rest costs more than it saves."""
        return max(self.limit.per_hour, self.wait_saved_per_hour)

    @property
    def gap_ratio(self) -> float:
        """1 - value / bound, 0 to 1."""
        bound = self.bound_per_hour
        return min(1.0, max(0.0, 1.0 - self.wait_saved_per_hour / bound)) if bound > 0 else 0.0

    @property
    def missed_wait_ratio(self) -> float:
        """Share of all read wait that the best possible plan might save and this one does not, 0 to 1."""
        return missed_wait_ratio(self.wait_per_hour, self.bound_per_hour, self.wait_saved_per_hour)


class AdviceCode(StrEnum):
    """Kinds of advice."""

    LEAVE = "leave"  # its waits are too short to do anything about
    OWN_DEVICE = "own_device"
    FASTER_DEVICE = "faster_device"
    INDEX_WITHOUT_TABLE = "index_without_table"
    TABLE_WITHOUT_INDEX = "table_without_index"
    NO_GAIN_EXPECTED = "no_gain_expected"
    RAM_IS_CHEAPER = "ram_is_cheaper"
    SPLIT = "split"  # its hot part on fast storage, the rest where it is
    NO_SPLIT = "no_split"  # it was looked into, and no split helps
    UNKNOWN = "unknown"  # it is used, and its times are not measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """One piece of advice."""

    code: AdviceCode
    subject: str  # key of a unit, name of a log or space, "" for the whole database
    sentence: str
    saves_per_hour: float  # seconds of session wait; 0 where nothing is to be gained
