"""MessagePack, as far as the worker protocol uses it.

An own reader and writer, because PyTorch is the only package that a machine
with a PyTorch device is sure to have. Both refuse what the protocol refuses:
nesting beyond 64, extension types, keys that are no strings or come twice,
truncated bytes and bytes left over.
"""

from __future__ import annotations

import struct
from typing import Any

MAX_DEPTH = 64


class MalformedError(ValueError):
    """The bytes are not what the protocol allows; the message says where."""


# Lead byte -> (struct format, size) of numbers.
_NUMBERS = {
    0xCA: (">f", 4),
    0xCB: (">d", 8),
    0xCC: (">B", 1),
    0xCD: (">H", 2),
    0xCE: (">I", 4),
    0xCF: (">Q", 8),
    0xD0: (">b", 1),
    0xD1: (">h", 2),
    0xD2: (">i", 4),
    0xD3: (">q", 8),
}
_CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}
# Lead byte -> bytes that hold the length.
_STRINGS = {0xD9: 1, 0xDA: 2, 0xDB: 4}
_BINARIES = {0xC4: 1, 0xC5: 2, 0xC6: 4}
_ARRAYS = {0xDC: 2, 0xDD: 4}
_MAPS = {0xDE: 2, 0xDF: 4}


class _Reader:
    def __init__(self, data: bytes):
        self.data = data
        self.at = 0

    def fail(self, what: str) -> MalformedError:
        return MalformedError(f"MessagePack, byte {self.at}: {what}")

    def take(self, size: int) -> bytes:
        if size > len(self.data) - self.at:
            raise self.fail("truncated")
        self.at += size
        return self.data[self.at - size : self.at]

    def length(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def value(self, depth: int) -> Any:
        lead = self.take(1)[0]
        if lead < 0x80:
            return lead
        if lead >= 0xE0:
            return lead - 0x100
        if lead < 0x90:
            return self.map(lead & 0x0F, depth)
        if lead < 0xA0:
            return self.array(lead & 0x0F, depth)
        if lead < 0xC0:
            return self.text(lead & 0x1F)
        if lead in _CONSTANTS:
            return _CONSTANTS[lead]
        if lead in _NUMBERS:
            form, size = _NUMBERS[lead]
            return struct.unpack(form, self.take(size))[0]
        if lead in _STRINGS:
            return self.text(self.length(_STRINGS[lead]))
        if lead in _BINARIES:
            return self.take(self.length(_BINARIES[lead]))
        if lead in _ARRAYS:
            return self.array(self.length(_ARRAYS[lead]), depth)
        if lead in _MAPS:
            return self.map(self.length(_MAPS[lead]), depth)
        raise self.fail(f"lead byte 0x{lead:02x} is an extension or reserved")

    def text(self, size: int) -> str:
        # Names may come from files with any bytes; they must come back as they were.
        return self.take(size).decode("utf-8", "surrogateescape")

    def container(self, count: int, depth: int) -> None:
        if depth >= MAX_DEPTH:
            raise self.fail(f"nested deeper than {MAX_DEPTH}")
        if count > len(self.data) - self.at:  # an element takes one byte at least
            raise self.fail("truncated")

    def array(self, count: int, depth: int) -> list[Any]:
        self.container(count, depth)
        return [self.value(depth + 1) for _ in range(count)]

    def map(self, count: int, depth: int) -> dict[str, Any]:
        self.container(count, depth)
        result: dict[str, Any] = {}
        for _ in range(count):
            key = self.value(depth + 1)
            if not isinstance(key, str):
                raise self.fail("a key is no string")
            if key in result:
                raise self.fail(f"the key {key!r} comes twice")
            result[key] = self.value(depth + 1)
        return result


def decode(data: bytes) -> Any:
    """One value, which must take all of `data`. Raises MalformedError."""
    reader = _Reader(data)
    value = reader.value(0)
    if reader.at != len(data):
        raise reader.fail("bytes are left over")
    return value


def _lead(out: bytearray, count: int, small: int, small_limit: int, large: dict[int, int]) -> None:
    """Lead byte and length of a string, array or map."""
    if count < small_limit:
        out.append(small | count)
        return
    for lead, size in large.items():
        if count < 1 << (8 * size):
            out.append(lead)
            out += count.to_bytes(size, "big")
            return
    raise MalformedError(f"{count} elements are more than MessagePack can hold")


def _integer(out: bytearray, value: int) -> None:
    if -32 <= value < 128:
        out += struct.pack(">b", value)
    elif 0 <= value < 1 << 64:
        out += b"\xcf" + struct.pack(">Q", value)
    elif -(1 << 63) <= value < 0:
        out += b"\xd3" + struct.pack(">q", value)
    else:
        raise MalformedError(f"{value} does not fit 64 bits")


def _write(out: bytearray, value: Any) -> None:
    if value is None:
        out.append(0xC0)
    elif isinstance(value, bool):
        out.append(0xC3 if value else 0xC2)
    elif isinstance(value, int):
        _integer(out, value)
    elif isinstance(value, float):
        out += b"\xcb" + struct.pack(">d", value)
    elif isinstance(value, str):
        raw = value.encode("utf-8", "surrogateescape")
        _lead(out, len(raw), 0xA0, 32, _STRINGS)
        out += raw
    elif isinstance(value, (list, tuple)):
        _lead(out, len(value), 0x90, 16, _ARRAYS)
        for item in value:
            _write(out, item)
    elif isinstance(value, dict):
        _lead(out, len(value), 0x80, 16, _MAPS)
        for key, item in value.items():
            _write(out, key)
            _write(out, item)
    else:
        raise MalformedError(f"{type(value).__name__} has no MessagePack form")


def encode(value: Any) -> bytes:
    """`value` of None, bool, int, float, str, lists and maps of them."""
    out = bytearray()
    _write(out, value)
    return bytes(out)
