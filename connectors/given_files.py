"""Files that a person names: read without waiting, up to a size, and JSON as JSON is defined.

A named pipe has its reader wait for a writer, a device may have no end, and opening some devices acts on them. So only
regular files are opened. What is wrong is an ``OSError`` or ``ValueError`` with a sentence, as of any unreadable file.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from connectors.formatting import format_bytes

MOST_VALUES = 20_000_000  # of a document or a table: a million units with all of their columns
_KINDS = {
    stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
}  # fmt: skip


def open_given(path: Path) -> BinaryIO:
    """A regular file, to be read.

    Raises:
        OSError: it cannot be opened, or is something else; ``strerror`` says what.
    """
    _insist_on_regular(path.stat().st_mode)  # before it is opened: that alone may act on a device
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        _insist_on_regular(os.fstat(handle).st_mode)  # another one may have come in its place
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_given(path: Path, most_bytes: int) -> bytes:
    """The bytes of a regular file.

    Raises:
        OSError: it cannot be read, is something else, or has more bytes; ``strerror`` says what.
    """
    with open_given(path) as file:
        found = file.read(most_bytes + 1)
    if len(found) > most_bytes:
        raise OSError(errno.EFBIG, f"it is larger than {format_bytes(most_bytes)}")
    return found


def parse_json(text: str) -> Any:  # noqa: ANN401  # whatever JSON holds
    """A document of a foreign file.

    Raises:
        ValueError: it is no JSON, holds what JSON does not know (NaN), is too deep, or has too many values; a
            ``JSONDecodeError`` where there is a line to name.
    """
    # Counted before it is parsed, those within texts too: what is parsed takes up to twenty times as much memory.
    if sum(map(text.count, ",[{")) > MOST_VALUES:
        raise ValueError(f"it has more than {MOST_VALUES:,} values")
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("its values are nested too deeply") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no value of JSON")


def _insist_on_regular(mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, f"it is {_KINDS.get(stat.S_IFMT(mode), 'something else')}, not a file")
