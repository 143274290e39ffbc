"""Steps of proposals stored before a step said what it does: recognised by their SQL, as it was then.

Only for those: whatever is planned now carries ``Step.operation``. The forms below are frozen; a statement that is
worded otherwise today is not recognised here, and need not be.
"""

from __future__ import annotations

import re

from connectors.operations import Operation

_NAME = r'"([^"]+)"'  # no name of Oracle's has a double quote in it
_REBUILD = re.compile(
    rf"ALTER INDEX {_NAME}\.{_NAME} REBUILD(?: (?:SUB)?PARTITION {_NAME})?(?: TABLESPACE {_NAME})?(?: ONLINE)?"
    r"(?: PARALLEL \d+)?"
)
_DEGREE = re.compile(rf"ALTER INDEX {_NAME}\.{_NAME} (NOPARALLEL|PARALLEL(?: \S+)?)")
_DATAFILE = re.compile(r"ALTER DATABASE MOVE DATAFILE (\d+) TO '.*'", re.DOTALL)


def recognise(sql: str) -> Operation | None:
    """What the statement does; None where nothing that decides about a move follows from it."""
    statement = sql.partition("*/ ")[2]
    rebuild, degree, file = (form.fullmatch(statement) for form in (_REBUILD, _DEGREE, _DATAFILE))
    if rebuild is not None:
        owner, index, partition, space = (text or "" for text in rebuild.groups())
        named = {"owner": owner, "index": index, "partition": partition, "space": space}
        return Operation("oracle.rebuild_index", named)
    if degree is not None:
        return Operation("oracle.set_degree", {"owner": degree[1], "index": degree[2], "degree": degree[3]})
    return None if file is None else Operation("oracle.move_datafile", {"file": int(file[1])})
