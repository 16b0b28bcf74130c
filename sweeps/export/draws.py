"""What a named tensor holds: a uniform draw, drawn integers, or shipped bytes.

`weights.md` is the specification; the C++ side follows it independently.
"""

from __future__ import annotations

import base64
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from .philox import words
from .tensor_file import raw_bytes

SIGNIFICANT_BITS = 12


def quantise(value: float) -> float:
    """The nearest number with 12 significant bits.

    Then scale * k (12 + 24 bits) is exact in fp64, and a value is rounded
    once, on the way to its dtype: no order of operations to agree on.
    """
    if value == 0:
        return 0.0
    mantissa, exponent = math.frexp(value)
    return math.ldexp(round(mantissa * 2**SIGNIFICANT_BITS), exponent - SIGNIFICANT_BITS)


@dataclass(frozen=True)
class Draw:
    """Uniform on [center - scale, center + scale)."""

    center: float
    scale: float

    @staticmethod
    def around(center: float, scale: float) -> Draw:
        return Draw(quantise(center), quantise(scale))

    def entry(self) -> dict[str, float]:
        return {"center": self.center, "scale": self.scale}


def uniform(name: str, shape: tuple[int, ...], draw: Draw, seed: int = 0) -> torch.Tensor:
    """fp64 values, not yet rounded to the tensor's dtype."""
    k = (words(name, math.prod(shape), seed) >> np.uint32(8)).astype(np.int64) - 2**23
    values = draw.center + draw.scale * (k.astype(np.float64) * 2.0**-23)
    return torch.from_numpy(values).reshape(shape)


def integers(name: str, shape: tuple[int, ...], low: int, high: int, seed: int = 0) -> torch.Tensor:
    """int64 values in [low, high); high - low is at most 2^32."""
    drawn = words(name, math.prod(shape), seed).astype(np.uint64)
    offsets = (drawn * np.uint64(high - low)) >> np.uint64(32)
    return torch.from_numpy(offsets.astype(np.int64) + low).reshape(shape)


def dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def data_entry(tensor: torch.Tensor) -> dict[str, Any]:
    """A constant, shipped as base64 of its little-endian bytes."""
    return {
        "dtype": dtype_name(tensor.dtype),
        "shape": list(tensor.shape),
        "data": base64.b64encode(raw_bytes(tensor)).decode("ascii"),
    }
