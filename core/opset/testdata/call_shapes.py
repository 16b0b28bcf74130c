"""What PyTorch answers to calls of operators: dtypes and shapes, for the *_shapes.py and shape_calls.py here.

Each call runs in PyTorch on the CPU with constant data; what is kept is the dtype and shape of every result, or the
fact that PyTorch refuses the call.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable

import torch

DTYPES = {
    "bool": torch.bool,
    "u8": torch.uint8,
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f64": torch.float64,
    "c64": torch.complex64,
    "c128": torch.complex128,
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}

calls: list[list] = []


class T:
    """A tensor of this dtype and shape, filled with `fill`."""

    fill = 0

    def __init__(self, dtype: str, *shape: int) -> None:
        self.dtype = dtype
        self.shape = list(shape)

    def make(self) -> torch.Tensor:
        return torch.full(self.shape, T.fill, dtype=DTYPES[self.dtype])


def overload(name: str):
    space, _, rest = name.partition("::")
    packet, _, which = rest.partition(".")
    return getattr(getattr(getattr(torch.ops, space), packet), which)


def materialise(value):
    if isinstance(value, T):
        return value.make()
    if isinstance(value, list):
        return [materialise(entry) for entry in value]
    return value


def meta(dtype: str, shape) -> str:
    return f"{dtype}[{','.join(map(str, shape))}]"


def results_of(value) -> list[str]:
    if isinstance(value, (tuple, list)):
        return [entry for part in value for entry in results_of(part)]
    if isinstance(value, torch.Tensor):
        return [meta(NAMES[value.dtype], value.shape)]
    raise AssertionError(value)


def encode(value):
    """Tensors as "@f32[2,3]", dtypes as "%f32", all else as it is."""
    if isinstance(value, T):
        return "@" + meta(value.dtype, value.shape)
    if isinstance(value, torch.dtype):
        return "%" + NAMES[value]
    if isinstance(value, list):
        return [encode(entry) for entry in value]
    return value


def call(name: str, *args, **kwargs) -> None:
    """Append [operator without aten::, arguments, results or null where PyTorch refuses]."""
    target = overload(name)
    given = dict(zip((argument.name for argument in target._schema.arguments), args), **kwargs)
    try:
        out = results_of(target(*materialise(list(args)), **{k: materialise(v) for k, v in kwargs.items()}))
    except (RuntimeError, IndexError, TypeError, ValueError, NotImplementedError):
        out = None
    calls.append([name.removeprefix("aten::"), {k: encode(v) for k, v in given.items()}, out and " ".join(out)])


def write(*families: Callable[[], None], fill: int = 0) -> None:
    """Run the families, each from data of `fill`, and write their calls, one a line and each once."""
    warnings.simplefilter("ignore")
    for family in families:
        T.fill = fill
        family()
    unique = list(dict.fromkeys(json.dumps(entry, separators=(",", ":")) for entry in calls))
    sys.stdout.write("[\n" + ",\n".join(unique) + "\n]\n")
