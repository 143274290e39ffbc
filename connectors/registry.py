"""How an engine is found: built-in ones by name, third-party ones by the entry-point group ``hotplace.connectors``.

The only place that knows which engines exist. Looking up an engine imports its settings, never its driver: that happens
in ``Engine.connect``, which raises ``DriverMissing`` with the command that installs it when it is not there.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel

from connectors.base import Clock, Connector, UnknownEngine
from connectors.inheritance import Inheritance

if TYPE_CHECKING:
    from connectors.assessment import ByHand
    from connectors.proving.proof import Proof
    from connectors.recording.tap import Tap

BUILT_IN = {
    "db2": "connectors.db2.engine:ENGINE",
    "oracle": "connectors.oracle.engine:ENGINE",
    "postgresql": "connectors.postgresql.engine:ENGINE",
    "simulated": "connectors.simulated.engine:ENGINE",
    "sqlserver": "connectors.sqlserver.engine:ENGINE",
}
ENTRY_POINT_GROUP = "hotplace.connectors"


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """One engine as configuration and agent see it."""

    name: str
    title: str  # as a person writes it: "PostgreSQL"
    settings: type[BaseModel]  # validates the `connection:` part of a database in the configuration
    connect: Callable[[Any, Clock], Connector]  # (an instance of settings, the clock) -> connector
    sample_settings: str  # YAML lines with comments for `hotplace init`, not indented
    must_agree: tuple[
        str, ...
    ] = ()  # settings that the watching and the moving account share, or they see other things
    inheritance: Inheritance = field(default_factory=Inheritance)  # what `move_connection` takes over from `connection`
    sample_spaces: tuple[str, str] = ("fast", "slow")  # names that the sample gives its two tiers, the fast one first
    prefetched_wait_share: float | None = None  # default of that policy; 0: measured waits hold what it stands for
    measures_waits: Callable[[Any], bool] = lambda _: True  # whether a database with these settings does
    estimated_waits: Callable[[Any], str] = lambda _: ""  # why waits of a unit are estimates; "": they are measured
    work: str = "transactions"  # what ``DatabaseDemand.transactions`` counts, in the plural
    tapped: Callable[[Any, Clock, Tap], Connector] | None = None  # as ``connect``; None: it cannot be recorded
    by_hand: ByHand | None = None  # how files tell of it without a connection; None: they do not
    proof: Proof | None = None  # what `hotplace lab prove` tries on it; None: nothing yet

    def prefetched_share(self, settings: object) -> float | None:
        """The default of ``policy.prefetched_wait_share`` for a database with these settings; None: the usual one."""
        return self.prefetched_wait_share if self.measures_waits(settings) else None


def engine_names() -> tuple[str, ...]:
    """Every engine that can be named in a configuration, sorted."""
    return tuple(sorted({*BUILT_IN, *(point.name for point in entry_points(group=ENTRY_POINT_GROUP))}))


def find_engine(name: str) -> Engine:
    """The engine of that name.

    Raises:
        UnknownEngine: none is registered under it; the message names the nearest one.
    """
    if name in BUILT_IN:
        module, _, attribute = BUILT_IN[name].partition(":")
        return cast(Engine, getattr(importlib.import_module(module), attribute))
    for point in entry_points(group=ENTRY_POINT_GROUP, name=name):
        return cast(Engine, point.load())
    near = difflib.get_close_matches(name, engine_names(), n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise UnknownEngine(f"unknown engine {name!r}{hint}", advice=f"Known engines: {', '.join(engine_names())}.")
