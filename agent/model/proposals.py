"""A proposal: what would be done and for which question, immutable, with a digest that an approval names.

``StoredDataclass`` turns frozen dataclasses into JSON and back, for documents that are stored and hashed. It does what
pydantic's ``TypeAdapter`` does, on the same library. ``TypeAdapter`` searches each class for everything that a class
may ask of pydantic, and these ask for nothing: getting it ready for a proposal takes longer than most commands take to
read the ledger. ``property/test_stored_proposals`` holds both to the same answers.

``Proposal.digest`` covers everything that will be executed and everything the person saw: statements, sizes, predicted
gain, expiry, database. A stored proposal is checked against its digest whenever it is read.

``purpose_of`` names the question that a proposal answers, in the words of ``plan --mode``. Only a newer answer to the
same question replaces an older one. The purpose is part of what the digest covers; people read ``in_words``.

``CannotUndo`` is here because importing the planner takes a quarter of a second.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass, replace
from datetime import datetime
from enum import Enum
from functools import cached_property
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Generic,
    Literal,
    Self,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic_core import SchemaSerializer, SchemaValidator, core_schema

from connectors.kit.contract import HotplaceError
from connectors.model.moves import Locked, Route
from policies.model.moves import MoveReason, RouteCost

if TYPE_CHECKING:
    from connectors.kit.templates import StatementTemplate
    from policies.placement.dispatch import Mode
    from policies.placement.forecast_figures import Forecast


_T = TypeVar("_T")
_PLAIN: Final[Mapping[Any, Callable[[], core_schema.CoreSchema]]] = {
    str: core_schema.str_schema, bool: core_schema.bool_schema, int: core_schema.int_schema,
    float: core_schema.float_schema, datetime: core_schema.datetime_schema,
}  # fmt: skip


class StoredDataclass(Generic[_T]):
    """How one class of document, and what is in it, becomes JSON and back."""

    def __init__(self, document: type[_T]) -> None:
        self._document = document

    @cached_property
    def _schema(self) -> core_schema.CoreSchema:
        return _dataclass_schema(self._document)

    @cached_property
    def _validator(self) -> SchemaValidator:
        return SchemaValidator(self._schema)

    @cached_property
    def _serializer(self) -> SchemaSerializer:
        return SchemaSerializer(self._schema)

    def plain(self, document: _T) -> dict[str, Any]:
        """The document as values that JSON has."""
        values: dict[str, Any] = self._serializer.to_python(document, mode="json")
        return values

    def of_text(self, text: str) -> _T:
        """Read a document. Fields that the class lacks are left out, those that the text lacks have their default.

        Raises:
            ValueError: the text is not such a document.
        """
        document: _T = self._validator.validate_json(text)
        return document


def _dataclass_schema(of: type[Any]) -> core_schema.CoreSchema:
    hints, own = get_type_hints(of), fields(of)
    arguments = core_schema.dataclass_args_schema(
        of.__name__,
        [core_schema.dataclass_field(each.name, _field_schema(each, hints[each.name])) for each in own],
        collect_init_only=hasattr(of, "__post_init__"),
    )
    return core_schema.dataclass_schema(
        of, arguments, [each.name for each in own], slots=True, post_init=hasattr(of, "__post_init__")
    )


def _field_schema(field: Field[Any], hint: Any) -> core_schema.CoreSchema:  # noqa: ANN401  # whatever a field may hold
    schema = _schema_of(hint)
    if field.default is not MISSING:
        return core_schema.with_default_schema(schema, default=field.default)
    if field.default_factory is not MISSING:
        return core_schema.with_default_schema(schema, default_factory=field.default_factory)
    return schema


def _schema_of(hint: Any) -> core_schema.CoreSchema:  # noqa: ANN401  # as above
    """The schema of a type that a field may have.

    Raises:
        TypeError: documents have no such fields.
    """
    if hint in _PLAIN:
        return _PLAIN[hint]()
    if is_dataclass(hint) and isinstance(hint, type):
        return _dataclass_schema(hint)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return core_schema.enum_schema(hint, list(hint), sub_type=_sub_type(hint))
    match get_origin(hint), get_args(hint):
        case (origin, arguments) if origin in (UnionType, Union):
            return _union_schema(arguments)
        case (origin, (each, rest)) if origin is tuple and rest is Ellipsis:
            return core_schema.tuple_variable_schema(_schema_of(each))
        case (origin, (key, value)) if origin is Mapping:
            return core_schema.dict_schema(_schema_of(key), _schema_of(value))
    raise TypeError(f"a stored document cannot have a field of type {hint}")


def _union_schema(arguments: tuple[Any, ...]) -> core_schema.CoreSchema:
    present = [_schema_of(each) for each in arguments if each is not NoneType]
    schema = present[0] if len(present) == 1 else core_schema.union_schema(list(present))
    return core_schema.nullable_schema(schema) if NoneType in arguments else schema


def _sub_type(enumeration: type[Enum]) -> Literal["str", "int"] | None:
    if issubclass(enumeration, str):
        return "str"
    return "int" if issubclass(enumeration, int) else None


BALANCE = "hsm"  # Proposal.purpose of the plans that the agent makes again and again
CONTAINER = "container"  # ProposedMove.reason of a move that takes bytes out of one container of their space
TOLERATED_RATIO = 0.20  # growth between planning and move that needs no forecast
ROLLING = "rolling"  # the same of a move by a template: a partition that is made, or one that has aged
CLOSE_PART = "close"  # the same of one that gives the open part of a split table an end
SPLIT = "split"  # the same of one that splits a table; its rows stay where they are
SPACE = "space"  # the same of one that makes a new space, which holds nothing yet
UNDO = "undo"  # ProposedMove.reason of a move that takes another back
WAY_BACK = "way back"  # the same of one that takes back what a group has moved that cannot be completed
DIGEST_SHOWN = 12  # characters that lists show and that approve --digest accepts at least


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedMove:
    """One move of a proposal: the planned gain and the very statements."""

    ordinal: int  # 1, 2, ... in the order of execution
    key: str
    route: Route
    from_space: str
    to_space: str
    from_tier: str
    to_tier: str
    reason: str  # MoveReason, or one of those above
    size_bytes: int  # exact, when the proposal was made
    wait_saved_per_hour: float
    copy_seconds: float
    payback_seconds: float | None  # None: no gain of its own
    sentence: str
    undoes: int | None = None  # number of the move that this one takes back
    cost: RouteCost | None = None  # without the copy itself; None: an undo, or stored before it was estimated
    group: int | None = None  # begun together or not at all, see agent.ledger.rows; None: by reason
    expected_bytes: int | None = None  # when it is moved, at the latest; None: no growth was forecast
    limit_bytes: int | None = None  # a larger one is not moved; None: no limit was stored, see ``largest_bytes``
    goes_back: bool = False  # by its undo statements, where its group cannot be completed: approved with it

    @property
    def largest_bytes(self) -> int:
        """How large it may be for the approval to hold."""
        return largest_bytes(self.size_bytes) if self.limit_bytes is None else self.limit_bytes

    @property
    def stall_seconds(self) -> float | None:
        """How long its lock is expected to block other sessions; None: stored before routes had that figure."""
        match self.route.locked:
            case None:
                return None
            case Locked.NOTHING:
                return 0.0
            case Locked.BRIEFLY:
                return self.route.lock_seconds
            case _:
                return self.copy_seconds * self.route.locked_ratio

    @property
    def copy_interval_seconds(self) -> tuple[float, float] | None:
        """Between which two times 90 of 100 such copies take; None: none was stored, or it is a way back."""
        if self.cost is None or self.cost.copy_low_seconds is None or self.cost.copy_high_seconds is None:
            return None
        return self.cost.copy_low_seconds, self.cost.copy_high_seconds

    @property
    def stall_interval_seconds(self) -> tuple[float, float] | None:
        """Between which two times it keeps others out, in addition to ``lock_seconds`` of waiting; None: not known."""
        stall, between = self.stall_seconds, self.copy_interval_seconds
        if stall is None:
            return None
        if self.route.locked in {Locked.NOTHING, Locked.BRIEFLY}:
            return 0.0, stall
        low, high = (stall, stall) if between is None else (each * self.route.locked_ratio for each in between)
        # The server ends a statement that takes longer than its limit, and nothing has changed then. What a person
        # carries out has no statement of ours, nor a limit.
        locking = self.route.steps if self.route.locked_copies is None else self.route.steps[:1]
        if locking and all(step.timeout_seconds for step in locking):
            high = min(high, max(step.timeout_seconds for step in locking))
        return min(low, stall), max(high, stall)

    @property
    def by_hand(self) -> bool:
        """Whether a person carries it out, and hotplace sends none of its statements."""
        return self.route.by_hand is not None

    @property
    def is_way_back(self) -> bool:
        """Whether it takes back what a group has moved that cannot be completed."""
        return self.reason == WAY_BACK

    @property
    def all_keys(self) -> frozenset[str]:
        """Keys of what it takes elsewhere, or of what it splits or makes where it moves no unit."""
        return frozenset({self.key, *self.route.bundle.unit_keys})

    @property
    def what(self) -> str:
        """What moves, for people: all of a space, or the bundle by its leading unit."""
        return self.route.bundle.wide or self.key


def largest_bytes(size_bytes: int, expected_bytes: int = 0) -> int:
    """How large something may be once it is moved: as expected, and by a fifth of its present size larger than that."""
    return max(size_bytes, expected_bytes) + int(size_bytes * TOLERATED_RATIO)


def grouped(moves: Iterable[ProposedMove]) -> list[list[ProposedMove]]:
    """The groups of a proposal's moves, in order of execution.

    Moves of a proposal that was stored before groups had numbers belong together by their reasons: what makes room
    comes directly before what it makes room for.
    """
    groups: list[list[ProposedMove]] = []
    for move in sorted(moves, key=lambda each: each.ordinal):
        if groups and _continues(groups[-1][-1], move):
            groups[-1].append(move)
        else:
            groups.append([move])
    return groups


def _continues(before: ProposedMove, move: ProposedMove) -> bool:
    """Whether a move belongs to the group of the one before it."""
    if before.group is None and move.group is None:
        return before.reason == MoveReason.MAKE_ROOM
    return before.group == move.group


def _goes_back(move: ProposedMove, group: Sequence[ProposedMove]) -> bool:
    return move is not group[-1] and bool(move.route.undo_steps) and not move.by_hand


def with_ways_back(moves: Iterable[ProposedMove]) -> tuple[ProposedMove, ...]:
    """The moves, marked where they go back if their group cannot be completed: all but the last of each group."""
    return tuple(replace(move, goes_back=_goes_back(move, group)) for group in grouped(moves) for move in group)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkForecast:
    """What sessions are forecast to get done once all moves are placed, next to what they did before it was made.

    None where it is unknown; ``why_not`` then says why. Latency is what a session spends on one transaction, in
    seconds; each interval holds ``certainty`` of outcomes.
    """

    work: str  # what is counted, in the plural: Engine.work
    per_second_now: float | None  # as measured
    per_second: float | None
    per_second_low: float | None
    per_second_high: float | None
    latency_now: float | None  # as measured
    latency: float | None
    latency_low: float | None
    latency_high: float | None
    read_wait: float | None  # of one transaction, a part of its latency
    certainty: float
    why_not: str = ""  # "" where it is forecast
    limit: str = ""  # what keeps it from more, other than waits for disks; "": nothing that is known
    load: str = ""  # "closed": who is answered asks again; "open": work arrives independently; "": not known
    latency_open: float | None = None  # if work arrived independently, as much as now
    busiest: str = ""  # the next bottleneck, and how busy it will be; "": nothing that is known
    needs: tuple[str, ...] = ()  # what each faster tier has to serve then
    assumed: tuple[str, ...] = ()  # what is not known and widens the interval
    unmodelled: tuple[str, ...] = ()  # what may hold sessions up and is in neither forecast nor interval

    @property
    def times(self) -> float | None:
        """How many times as much gets done as now; None: not forecast."""
        return self.per_second / self.per_second_now if self.per_second and self.per_second_now else None

    @classmethod
    def of(cls, forecast: Forecast, work: str, certainty: float) -> Self:
        """A forecast as the policies make it, as values that JSON knows."""
        return cls(
            work=work,
            per_second_now=_finite(forecast.present_transactions),
            per_second=_finite(forecast.transactions),
            per_second_low=_finite(forecast.interval.low),
            per_second_high=_finite(forecast.interval.high),
            latency_now=_finite(forecast.present_latency),
            latency=_finite(forecast.latency),
            latency_low=_finite(forecast.latency_interval.low),
            latency_high=_finite(forecast.latency_interval.high),
            read_wait=_finite(forecast.wait_per_transaction),
            certainty=certainty,
            why_not=forecast.why_not,
            limit=forecast.limit,
            load=forecast.load,
            latency_open=_finite(forecast.open_latency),
            busiest=forecast.busiest,
            needs=forecast.needs,
            assumed=forecast.assumed,
            unmodelled=forecast.unmodelled,
        )


def _finite(value: float) -> float | None:
    """JSON knows neither NaN nor infinity."""
    return value if math.isfinite(value) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """An ordered, immutable list of moves with their expected value."""

    database: str  # its name in the configuration
    fingerprint: str  # Identity.fingerprint
    created_at: datetime
    expires_at: datetime
    wait_per_hour: float
    wait_saved_per_hour: float
    bound_per_hour: float
    gap_ratio: float
    ceiling_ratio: float | None
    moves: tuple[ProposedMove, ...]
    wait_saved_low_per_hour: float | None = None  # ends of the interval; None: stored before there was one
    wait_saved_high_per_hour: float | None = None
    saved_ratio_low: float | None = None  # the same of the share of all wait
    saved_ratio_high: float | None = None
    relief_per_hour: float | None = None  # that what stays behind may be spared in shorter queues
    purpose: str = BALANCE  # the question that it answers, see agent.model.proposals
    asked_by: str = ""  # who requested it by a command; "": the agent made it
    forecast: WorkForecast | None = None  # of all moves; None: stored before there was one, or not planned for gain

    @property
    def digest(self) -> str:
        """SHA-256 over the canonical JSON of everything above, in hexadecimal."""
        return hashlib.sha256(proposal_text(self).encode()).hexdigest()

    @property
    def is_undo(self) -> bool:
        """Whether it takes moves back and does nothing else."""
        return bool(self.moves) and all(move.undoes is not None for move in self.moves)

    @property
    def by_hand(self) -> tuple[ProposedMove, ...]:
        """The moves that a person carries out, in order."""
        return tuple(move for move in self.moves if move.by_hand)

    @property
    def bytes_moved(self) -> int:
        """Bytes of all moves together."""
        return sum(move.size_bytes for move in self.moves)


_STORED = StoredDataclass(Proposal)


def proposal_json(proposal: Proposal) -> dict[str, Any]:
    """The proposal as plain JSON values."""
    plain = _STORED.plain(proposal)
    for move in plain["moves"]:
        if move["route"]["by_hand"] is None:  # proposals without such moves keep their digest
            del move["route"]["by_hand"]
        elif not move["route"]["by_hand"]["opening"]:  # nor do those by hand from before files had one
            del move["route"]["by_hand"]["opening"]
    return plain


def proposal_text(proposal: Proposal) -> str:
    """Canonical text: sorted keys, no spaces. Equal proposals have equal texts."""
    return json.dumps(proposal_json(proposal), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def proposal_from_text(text: str) -> Proposal:
    """Inverse of ``proposal_text``.

    Raises:
        ValueError: the text is not a proposal.
    """
    return _STORED.of_text(text)


_UNDO = "undo "
_BY_TIER = ("usage", "capacity")
_WORDS = {
    BALANCE: "hot up, cold down",
    f"{BALANCE} ssd": "cold off the fastest tier",
    f"{BALANCE} hdd": "hot to the fastest tier",
    "usage": "even load among the spaces",
    "capacity": "even fill among the spaces",
    "preference": "what is pinned to where it belongs",
}


def purpose_of(mode: Mode) -> str:
    """In the words of ``plan --mode``, with what the mode is about."""
    from policies.placement.dispatch import (
        Capacity,  # they bring the solver
        Drain,
        Hsm,
        HsmSubtype,
        Preference,
        Usage,  # they bring the solver
    )

    match mode:
        case Hsm():
            return BALANCE if mode.subtype is HsmSubtype.CALC else f"{BALANCE} {mode.subtype}"
        case Usage():
            return f"usage {mode.tier or ''}".strip()
        case Capacity():
            return f"capacity {mode.tier or ''}".strip()
        case Preference():
            return "preference"
        case Drain():
            return f"drain {mode.space}"


def in_words(purpose: str) -> str:
    """What a proposal of that purpose is for, for people.

    >>> in_words("hsm"), in_words("usage ssd"), in_words("drain old_ssd")
    ('hot up, cold down', 'even load among the spaces of ssd', 'drain old_ssd')
    """
    if purpose in _WORDS:
        return _WORDS[purpose]
    mode, _, tier = purpose.partition(" ")
    return f"{_WORDS[mode]} of {tier}" if mode in _BY_TIER else purpose


def purpose_of_container(space: str, container: str) -> str:
    """One container out of its space."""
    return f"drain {container} of {space}"


def purpose_of_split(key: str) -> str:
    """One table into parts."""
    return f"split {key}"


def purpose_of_space(name: str) -> str:
    """A new space."""
    return f"space {name}"


def purpose_of_closing(table: str) -> str:
    """The open part of a table gets an end."""
    return f"close {table}"


def purpose_of_undo(moves: Iterable[int]) -> str:
    """Those moves back."""
    return f"{_UNDO}{', '.join(str(number) for number in sorted(moves))}"


def purpose_of_template(template: StatementTemplate) -> str:
    """What is due under a template."""
    return f"rolling {template.name}"


def takes_back(purpose: str) -> bool:
    """Whether it is the undo of moves.

    >>> takes_back(purpose_of_undo([7, 3])), takes_back("drain old_ssd")
    (True, False)
    """
    return purpose.startswith(_UNDO)


class CannotUndo(HotplaceError):
    """A move cannot be taken back: it was not carried out, or the world has changed since."""
