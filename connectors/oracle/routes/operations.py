"""What a step of an Oracle move does, as ``Step.operation`` has it, and questions to it. Pure."""

from __future__ import annotations

from connectors.model import Step
from connectors.operations import Operation
from connectors.oracle.reading.facts import IndexPiece
from connectors.oracle.routes import stored_steps

MOVE_TABLE = "oracle.move_table"  # its parameter maintains: the statement keeps indexes usable; absent: not known
REBUILD_INDEX = "oracle.rebuild_index"  # its parameter space: "" where the index stays in its tablespace
SET_DEGREE = "oracle.set_degree"
MOVE_DATAFILE = "oracle.move_datafile"
ADD_PARTITION = "oracle.add_partition"


def moving_table(*, maintains: bool) -> Operation:
    """The move of a table or partition, and whether its indexes stay usable by the statement itself."""
    return Operation(MOVE_TABLE, {"maintains": maintains})


def rebuilding(piece: IndexPiece, space: str | None = None) -> Operation:
    """The rebuild of an index or of a partition of one, to a tablespace or where it is."""
    named = {"owner": piece.owner, "index": piece.name, "partition": piece.part or "", "space": space or ""}
    return Operation(REBUILD_INDEX, named)


def setting_degree(piece: IndexPiece, clause: str) -> Operation:
    """What gives an index its degree of parallelism back; the clause is ``NOPARALLEL`` or ``PARALLEL ...``."""
    return Operation(SET_DEGREE, {"owner": piece.owner, "index": piece.name, "degree": clause})


def moving_file(number: int) -> Operation:
    """The move of a data file."""
    return Operation(MOVE_DATAFILE, {"file": number})


def adding_partition(owner: str, table: str, partition: str) -> Operation:
    """The making of the partition behind the last one."""
    return Operation(ADD_PARTITION, {"owner": owner, "table": table, "partition": partition})


def operation_of(step: Step) -> Operation:
    """What the step does; of an empty name where nothing is known of it."""
    return step.operation or stored_steps.recognise(step.sql) or Operation("")


def file_number(step: Step) -> int:
    """The data file that the step moves.

    Raises:
        LookupError: it moves none.
    """
    number = operation_of(step).parameters.get("file")
    if isinstance(number, int):
        return number
    raise LookupError(f"no data file is moved by {step.sql}")
