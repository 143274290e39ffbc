"""Processor time of a server that runs on this machine, from /proc. Linux only.

Over a Unix socket the kernel tells which process listens: the postmaster (unix(7), SO_PEERCRED). Its own time, that of
its processes and that of those which have ended (proc(5), ``cutime`` and ``cstime``) are all that the server has taken.
A pooler listens on such sockets, too: only who has the session's own backend among its processes is the postmaster.

A quota of a control group is not looked at.
"""

from __future__ import annotations

import os
import socket
import struct
from contextlib import closing
from pathlib import Path

_CREDENTIALS = struct.Struct("3i")  # pid, uid, gid
_USER, _CHILDREN_SYSTEM = 11, 14  # of the fields after the name: utime, stime, cutime, cstime
_LOOKS = 3  # until no process has come or gone meanwhile; where they always do, one may be missed or counted twice


def server_processors(descriptor: int, backend: int) -> tuple[float | None, float | None]:
    """Seconds so far and how many processors may be used, None where the system does not tell.

    Args:
        descriptor: of the socket of a connection to the server.
        backend: process that the server says it has for it.
    """
    try:
        pid = _listener(descriptor)
        children = _children(pid) if pid else []
        if str(backend) not in children:
            return None, None
        for _ in range(_LOOKS):
            ticks = sum(_ticks(each) for each in [*children, str(pid)])
            looked_at, children = children, _children(pid)
            if children == looked_at:
                break
        return ticks / os.sysconf("SC_CLK_TCK"), float(len(os.sched_getaffinity(pid)))
    except (OSError, AttributeError, ValueError):  # hidden, gone, or another system
        return None, None


def _listener(descriptor: int) -> int:
    """Process that listens at the other end of a Unix socket; 0: none that is seen from here."""
    with closing(socket.socket(fileno=os.dup(descriptor))) as found:
        if found.family != socket.AF_UNIX:
            return 0
        credentials = found.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(credentials)[0])


def _children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()


def _ticks(pid: str) -> int:
    """Of a process and of those of its own that have ended; 0 where it is gone itself."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return 0
    fields = text.rpartition(")")[2].split()  # the name may hold anything
    return sum(int(each) for each in fields[_USER : _CHILDREN_SYSTEM + 1])
