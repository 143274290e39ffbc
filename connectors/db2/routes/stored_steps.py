"""Steps of proposals stored before a step said what it does: recognised by their SQL, as it was then.

Only for those: whatever is planned now carries ``Step.operation``. The forms below are frozen; a statement that is
worded otherwise today is not recognised here, and need not be.
"""

from __future__ import annotations

import re

from connectors.operations import Operation

_LITERAL = r"'((?:[^']|'')*)'"
_NAME = r'"((?:[^"]|"")+)"'
_CALL = re.compile(rf"CALL SYSPROC\.ADMIN_MOVE_TABLE\({','.join([_LITERAL] * 11)}\)", re.DOTALL)
_ALTER = re.compile(rf"ALTER TABLESPACE {_NAME} (.+?)(?: /\* hotplace |$)", re.DOTALL)
_GROUP = re.compile(rf"(MANAGED BY AUTOMATIC STORAGE )?USING STOGROUP {_NAME}")
_LISTED = r"(?:[^()']|'(?:[^']|'')*+')+"  # between parentheses, which stand within literals only
_SWAP = re.compile(rf"ADD \((?P<add>{_LISTED})\) DROP \((?P<drop>{_LISTED})\)")
_ADD = re.compile(rf"ADD \((?P<add>FILE {_LITERAL} \d+)\)")
_DROP = re.compile(rf"DROP \((?P<drop>FILE {_LITERAL})\)")
_FILE = re.compile(rf"FILE {_LITERAL}")
_REBALANCES = {"REBALANCE": "db2.rebalance", "REBALANCE RESUME": "db2.resume_rebalance"}


def recognise(sql: str) -> Operation | None:
    """What the statement does; None where it is none that a route of such a version had."""
    call = _CALL.match(sql)
    if call is not None:
        schema, table, data, index, lob, *_, phase = (_unquote(text, "'") for text in call.groups())
        homes = {"data": data, "index": index, "lob": lob}
        return Operation("db2.move_table", {"schema": schema, "table": table, "phase": phase, **homes})
    alter = _ALTER.match(sql)
    return None if alter is None else _space_change(_unquote(alter[1], '"'), alter[2].strip())


def _space_change(space: str, clause: str) -> Operation | None:
    if clause in _REBALANCES:
        return Operation(_REBALANCES[clause], {"space": space})
    group = _GROUP.fullmatch(clause)
    if group is not None:
        name = "db2.convert_to_automatic" if group[1] else "db2.use_storage_group"
        return Operation(name, {"space": space, "group": _unquote(group[2], '"')})
    match = _SWAP.fullmatch(clause) or _ADD.fullmatch(clause) or _DROP.fullmatch(clause)
    if match is None:
        return None
    files = {word: _files(match.groupdict().get(word) or "") for word in ("add", "drop")}
    return Operation("db2.change_containers", {"space": space, **files})


def _files(listed: str) -> tuple[str, ...]:
    """Paths of a list of containers."""
    return tuple(_unquote(path, "'") for path in _FILE.findall(listed))


def _unquote(text: str, quote: str) -> str:
    return text.replace(quote * 2, quote)
