"""Large objects: rows carry locators, and what they stand for is read by calls of their own."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from tests.labs.tns.requests import Message, NotEmulatedError
from tests.labs.tns.wire import Reader, Writer

LOCATOR_BYTES = 40
CHUNK_BYTES = 8132
VARIABLE_WIDTH = 0x80  # of the third flag byte: characters travel in UTF-16, as of every multi-byte character set
BLOB_FLAG, INITIALIZED = 0x01, 0x08


class Operation(IntEnum):
    """What may be asked of a locator."""

    LENGTH = 0x0001
    READ = 0x0002
    CHUNK_SIZE = 0x4000
    OPEN = 0x8000
    CLOSE = 0x10000


@dataclass(slots=True)
class LobCall:
    """The body of function 96."""

    operation: int
    locator: bytes
    offset: int  # from 1; characters of a CLOB, bytes of a BLOB
    amount: int | None  # None: not sent, and none is wanted back


@dataclass(slots=True)
class Lobs:
    """What the locators of one connection stand for."""

    _values: list[str | bytes] = field(default_factory=list)

    def locator(self, value: str | bytes) -> bytes:
        """A new locator."""
        self._values.append(value)
        flags = (BLOB_FLAG if isinstance(value, bytes) else 0, INITIALIZED, VARIABLE_WIDTH, 0)
        head = (LOCATOR_BYTES - 2).to_bytes(2, "big") + b"\0\4" + bytes(flags)
        return (head + len(self._values).to_bytes(8, "big")).ljust(LOCATOR_BYTES, b"\0")

    def write(self, writer: Writer, value: str | bytes | None) -> None:
        """The column of a row."""
        if value is None:
            writer.number(0)
            return
        locator = self.locator(value)
        writer.number(len(locator), len(value), CHUNK_BYTES)
        writer.bytes(locator)

    def answer(self, writer: Writer, call: LobCall) -> None:
        """What an operation returns: data, the locator, an amount.

        Raises:
            NotEmulatedError: an operation that is not one of ``Operation``.
        """
        value = self._values[int.from_bytes(call.locator[8:16], "big") - 1]
        amount = call.amount or 0
        match call.operation:
            case Operation.READ:
                part = value[call.offset - 1 : call.offset - 1 + amount]
                amount = len(part)
                if part:
                    writer.ub1(Message.LOB_DATA)
                    writer.bytes(part if isinstance(part, bytes) else part.encode("utf-16-be"))
            case Operation.LENGTH:
                amount = len(value)
            case Operation.CHUNK_SIZE:
                amount = CHUNK_BYTES
            case Operation.OPEN | Operation.CLOSE:
                pass
            case _:
                raise NotEmulatedError(f"LOB operation {call.operation:#x} is not emulated")
        writer.ub1(Message.PARAMETER)
        writer.raw(call.locator)
        if call.amount is not None:
            writer.number(amount)


def read_lob_call(reader: Reader) -> LobCall:
    """The body of function 96."""
    reader.ub1()
    length = reader.number()
    reader.ub1()
    reader.numbers(3)  # length of the other locator, short offsets
    reader.skip(3)  # whether character set, short amount and NULL follow
    operation = reader.number()
    reader.skip(2)
    offset, _ = reader.numbers(2)
    counted = reader.ub1()
    reader.skip(6)
    locator = reader.raw(length)
    return LobCall(operation, locator, offset, reader.number() if counted else None)
