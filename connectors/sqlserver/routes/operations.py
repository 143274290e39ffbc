"""What a step of a SQL Server move does, as ``Step.operation`` has it, and questions to it. Pure.

Parameters: ``index``, ``table``, ``scheme``, ``file``, ``filegroup`` and ``folder`` are plain names; ``resumable`` is a
build that can be paused; ``size_mb`` is a file's new size; ``new`` and ``old`` are the tables of a copy and of the rows
that it replaces, ``kept``: these stay for a time, ``counted``: not dropped before they are counted; ``builds`` is a
digest of what the statement makes, without how it is built and under which name of the move's own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from connectors.model import Route, Step
from connectors.operations import Operation
from connectors.sqlserver.routes import stored_steps

BUILD_INDEX, SWAP_INDEX, ABORT_BUILD = "sqlserver.build_index", "sqlserver.swap_index", "sqlserver.abort_build"
CLUSTER_HEAP, DROP_INDEX = "sqlserver.cluster_heap", "sqlserver.drop_index"
CREATE_SCHEME, DROP_SCHEME = "sqlserver.create_scheme", "sqlserver.drop_scheme"
CREATE_FUNCTION, DROP_FUNCTION = "sqlserver.create_function", "sqlserver.drop_function"
CREATE_TABLE, DROP_TABLE = "sqlserver.create_table", "sqlserver.drop_table"
COUNT_TABLE, SWITCH_BACK = "sqlserver.count_table", "sqlserver.switch_back"
SPLIT_RANGE = "sqlserver.split_range"  # makes a partition
EXCHANGE, MOVE_EMPTY = "sqlserver.exchange_partition", "sqlserver.move_empty_partition"
ADD_FILE, EMPTY_FILE = "sqlserver.add_file", "sqlserver.empty_file"
GROW_FILE, REMOVE_FILE = "sqlserver.grow_file", "sqlserver.remove_file"
_OF_FILES = {ADD_FILE: "add", EMPTY_FILE: "empty", GROW_FILE: "grow", REMOVE_FILE: "remove"}
_DIGEST_DIGITS = 16


@dataclass(frozen=True, slots=True)
class FileStep:
    """What a statement does to which file: add, empty, grow or remove."""

    action: str
    file: str
    filegroup: str = ""  # of an added file
    folder: str = ""  # of an added file, with its last separator
    size_mb: int = 0  # of a grown file


def operation_of(step: Step) -> Operation:
    """What the step does; of an empty name where nothing is known of it."""
    return step.operation or stored_steps.recognise(step) or Operation("")


def file_step_of(step: Step) -> FileStep | None:
    """What the step does to a file; None where it is not about one."""
    found = operation_of(step)
    action = _OF_FILES.get(found.name)
    if action is None:
        return None
    size = found.parameters.get("size_mb", 0)
    return FileStep(
        action, found.text("file"), found.text("filegroup"), found.text("folder"), size if isinstance(size, int) else 0
    )


def splitting_range(function: str, scheme: str, boundary: str) -> Operation:
    """The making of a partition at a new boundary of the function."""
    return Operation(SPLIT_RANGE, {"function": function, "scheme": scheme, "boundary": boundary})


def resumable_index(step: Step) -> str | None:
    """The index that the step builds so that the build can be paused; None where it builds none such."""
    found = operation_of(step)
    return found.text("index") if found.name == BUILD_INDEX and found.parameters.get("resumable") else None


def replaces_index(route: Route) -> bool:
    """Whether a second index takes the place of the one that moves: what hangs on that one goes with it."""
    return any(operation_of(step).name == SWAP_INDEX for step in route.steps)


def way_back(steps: Sequence[Step]) -> tuple[str, str] | None:
    """What steps that take an index back to its own partition scheme name: this one, and the one that they remove.

    None where they are no such steps, or of a version that did not store the names.
    """
    built = [operation_of(step).text("scheme") for step in steps if operation_of(step).name == BUILD_INDEX]
    dropped = [operation_of(step).text("scheme") for step in steps if operation_of(step).name == DROP_SCHEME]
    return (built[0], dropped[0]) if built and dropped and built[0] and dropped[0] else None


def dropped_table(step: Step) -> str | None:
    """The table, without its schema, that the step drops; None for another step."""
    found = operation_of(step)
    return found.text("table") if found.name == DROP_TABLE else None


@dataclass(frozen=True, slots=True)
class Exchanged:
    """The tables that the exchange of a partition makes, and whether the replaced rows are kept for a time."""

    new: str
    old: str
    kept: bool = False


def exchanged_by(route: Route) -> Exchanged | None:
    """The tables of a route that exchanges a partition, or takes that back; None for another route."""
    for step in route.steps:
        found = operation_of(step)
        if found.name in (EXCHANGE, SWITCH_BACK) and found.text("old"):
            return Exchanged(found.text("new"), found.text("old"), bool(found.parameters.get("kept")))
    return None


def digest_of(statement: str) -> str:
    """For the parameter ``builds``."""
    return hashlib.sha256(statement.encode()).hexdigest()[:_DIGEST_DIGITS]
