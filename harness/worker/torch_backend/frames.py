"""Frames of the worker protocol: u64 header size, MessagePack header, raw tensors.

Nothing here needs PyTorch, so that a worker without it can still say so.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any

from . import msgpack
from .msgpack import MalformedError

ITEM_SIZE = {
    "bool": 1,
    "u8": 1,
    "i8": 1,
    "i16": 2,
    "i32": 4,
    "i64": 8,
    "f8_e4m3fn": 1,
    "f8_e5m2": 1,
    "f8_e4m3": 1,
    "f16": 2,
    "bf16": 2,
    "f32": 4,
    "f64": 8,
    "c64": 8,
    "c128": 16,
}

MAX_HEADER = 256 << 20
MAX_RANK = 64
MAX_TENSOR_BYTES = 1 << 40  # all tensors of a frame together


@dataclass
class RawTensor:
    """Packed row-major little-endian bytes. `owner` keeps alive what `data` points into."""

    dtype: str
    shape: tuple[int, ...]
    data: Any  # anything with the buffer protocol
    owner: Any = None


@dataclass
class Frame:
    header: dict[str, Any]
    tensors: list[RawTensor]


def _read(fd: int, size: int) -> bytearray | None:
    """`size` bytes; None at an end of file before the first one."""
    buffer = bytearray(size)
    view = memoryview(buffer)
    filled = 0
    while filled < size:
        count = os.readv(fd, [view[filled:]])
        if count == 0:
            if filled == 0:
                return None
            raise MalformedError(f"end of file after {filled} of {size} bytes")
        filled += count
    return buffer


def _read_all(fd: int, size: int) -> bytearray:
    data = _read(fd, size)
    if data is None:
        raise MalformedError("end of file in the middle of a frame")
    return data


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _tensor_metas(header: dict[str, Any]) -> list[tuple[str, tuple[int, ...]]]:
    metas = header.pop("tensors", None)
    if not isinstance(metas, list):
        raise MalformedError("the header needs an array 'tensors'")
    result = []
    total = 0
    for index, meta in enumerate(metas):
        dtype = meta.get("dtype") if isinstance(meta, dict) else None
        shape = meta.get("shape") if isinstance(meta, dict) else None
        if not isinstance(dtype, str) or dtype not in ITEM_SIZE:
            raise MalformedError(f"tensor {index}: {dtype!r} is no dtype")
        if not isinstance(shape, list) or len(shape) > MAX_RANK or not all(map(_is_size, shape)):
            raise MalformedError(f"tensor {index}: {shape!r} is no shape")
        total += math.prod(shape) * ITEM_SIZE[dtype]
        if total > MAX_TENSOR_BYTES:
            raise MalformedError(f"the tensors are larger than {MAX_TENSOR_BYTES} bytes")
        result.append((dtype, tuple(shape)))
    return result


def read_frame(fd: int) -> Frame | None:
    """The next frame; None at a clean end of file. Raises MalformedError.

    After an error nobody knows where the next frame begins.
    """
    prefix = _read(fd, 8)
    if prefix is None:
        return None
    size = int.from_bytes(prefix, "little")
    if not 1 <= size <= MAX_HEADER:
        raise MalformedError(f"a header of {size} bytes")
    header = msgpack.decode(bytes(_read_all(fd, size)))
    if not isinstance(header, dict):
        raise MalformedError("the header is no map")
    tensors = []
    for dtype, shape in _tensor_metas(header):
        count = math.prod(shape) * ITEM_SIZE[dtype]
        tensors.append(RawTensor(dtype, shape, _read_all(fd, count) if count else bytearray()))
    return Frame(header, tensors)


def _write(fd: int, data: Any) -> None:
    view = memoryview(data).cast("B")
    while len(view):
        view = view[os.write(fd, view) :]


def write_frame(fd: int, frame: Frame) -> None:
    """Sends a frame. Raises MalformedError, before the first byte, if the header cannot be one."""
    metas = [{"dtype": tensor.dtype, "shape": list(tensor.shape)} for tensor in frame.tensors]
    header = msgpack.encode({**frame.header, "tensors": metas})
    if len(header) > MAX_HEADER:
        raise MalformedError(f"the answer's header would have {len(header)} bytes")
    _write(fd, len(header).to_bytes(8, "little") + header)
    for tensor in frame.tensors:
        if math.prod(tensor.shape):
            _write(fd, tensor.data)
