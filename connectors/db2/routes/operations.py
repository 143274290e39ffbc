"""What a step of a Db2 move does: a call of ADMIN_MOVE_TABLE, or an ALTER TABLESPACE. Pure.

A step carries it as ``Step.operation``; ``phase_of`` and ``change_of`` read it back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from connectors.db2.routes import stored_steps
from connectors.db2.routes.statements import Homes
from connectors.model import Step
from connectors.operations import Operation

MOVE_TABLE = "db2.move_table"
USE_GROUP, CONVERT = "db2.use_storage_group", "db2.convert_to_automatic"
REBALANCE, RESUME = "db2.rebalance", "db2.resume_rebalance"
CHANGE_CONTAINERS = "db2.change_containers"
ADD_PARTITION = "db2.add_partition"
DROP_KEY, ADD_KEY = "db2.drop_foreign_key", "db2.add_foreign_key"
_SPACE_CHANGES = frozenset({USE_GROUP, CONVERT, REBALANCE, RESUME, CHANGE_CONTAINERS})


@dataclass(frozen=True, slots=True)
class Phase:
    """One call of ADMIN_MOVE_TABLE."""

    schema: str
    table: str
    homes: Homes  # empty but for INIT
    operation: str

    def as_operation(self) -> Operation:
        """For a step; ``phase_of`` reads it back."""
        homes = {"data": self.homes.data, "index": self.homes.index, "lob": self.homes.lob}
        return Operation(MOVE_TABLE, {"schema": self.schema, "table": self.table, "phase": self.operation, **homes})


@dataclass(frozen=True, slots=True)
class SpaceChange:
    """One ALTER TABLESPACE; without a group and without files it is a REBALANCE."""

    space: str
    group: str = ""  # that it names, "" where it names none
    converts: bool = False  # out of DMS into automatic storage
    add: tuple[str, ...] = ()  # files of its own
    drop: tuple[str, ...] = ()
    resumes: bool = False  # lets a suspended rebalance go on

    @property
    def of_one(self) -> bool:
        """Whether it takes a container out or puts one in, and leaves the others."""
        return bool(self.add) != bool(self.drop)

    def as_operation(self) -> Operation:
        """For a step; ``change_of`` reads it back."""
        if self.group:
            return Operation(CONVERT if self.converts else USE_GROUP, {"space": self.space, "group": self.group})
        if self.add or self.drop:
            return Operation(CHANGE_CONTAINERS, {"space": self.space, "add": self.add, "drop": self.drop})
        return Operation(RESUME if self.resumes else REBALANCE, {"space": self.space})


@dataclass(frozen=True, slots=True)
class KeyChange:
    """A foreign key that is dropped, or added again."""

    schema: str  # of the child
    table: str
    key: str
    adds: bool

    def as_operation(self) -> Operation:
        """For a step; ``key_change_of`` reads it back."""
        return Operation(
            ADD_KEY if self.adds else DROP_KEY, {"schema": self.schema, "table": self.table, "key": self.key}
        )


def key_change_of(step: Step) -> KeyChange | None:
    """The change of a foreign key that the step is, None where it is something else."""
    found = step.operation
    if found is None or found.name not in (ADD_KEY, DROP_KEY):
        return None
    return KeyChange(found.text("schema"), found.text("table"), found.text("key"), adds=found.name == ADD_KEY)


def phase_of(step: Step) -> Phase | None:
    """The call of ADMIN_MOVE_TABLE that the step is, None where it is something else."""
    found = _operation_of(step)
    if found is None or found.name != MOVE_TABLE:
        return None
    homes = Homes(found.text("data"), found.text("index"), found.text("lob"))
    return Phase(found.text("schema"), found.text("table"), homes, found.text("phase"))


def first_phase(steps: Sequence[Step]) -> Phase | None:
    """The first call of ADMIN_MOVE_TABLE among these steps, None where there is none."""
    return next((phase for step in steps if (phase := phase_of(step)) is not None), None)


def change_of(step: Step) -> SpaceChange | None:
    """The ALTER TABLESPACE that the step is, None where it is something else."""
    found = _operation_of(step)
    if found is None or found.name not in _SPACE_CHANGES:
        return None
    return SpaceChange(
        found.text("space"),
        found.text("group"),
        converts=found.name == CONVERT,
        add=found.texts("add"),
        drop=found.texts("drop"),
        resumes=found.name == RESUME,
    )


def _operation_of(step: Step) -> Operation | None:
    return step.operation or stored_steps.recognise(step.sql)
