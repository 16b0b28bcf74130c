"""Calls of operators and PyTorch's answers as JSON text, for the *_calls.py here and reference/call_text_test.h.

A call is [operator, {argument: value}, [results]]; a tensor is {"t": dtype, "s": shape, "d": values},
complex values as real and imaginary part, a dtype "%f32".
"""

from __future__ import annotations

import json
import math

import torch

NAMES = {
    torch.float64: "f64",
    torch.float32: "f32",
    torch.bfloat16: "bf16",
    torch.int64: "i64",
    torch.int32: "i32",
    torch.uint8: "u8",
    torch.bool: "bool",
    torch.complex128: "c128",
}
INF, NAN = math.inf, math.nan

calls: list[list] = []


def number(value):
    return repr(value) if isinstance(value, float) and not math.isfinite(value) else value


def encode(value):
    if isinstance(value, torch.Tensor):
        flat = torch.view_as_real(value.resolve_conj()) if value.is_complex() else value
        data = [number(entry) for entry in flat.reshape(-1).tolist()]
        return {"t": NAMES[value.dtype], "s": list(value.shape), "d": data}
    if isinstance(value, torch.dtype):
        return "%" + NAMES[value]
    if isinstance(value, (list, tuple)):
        return [encode(entry) for entry in value]
    return number(value)


def encode_arguments(given: dict) -> dict:
    return {key: encode(value) for key, value in given.items()}


def named(arguments: dict) -> dict:
    """`self_` stands for self, which a Python keyword argument cannot be."""
    return {("self" if key == "self_" else key): value for key, value in arguments.items()}


def overload(op: str):
    packet, _, which = op.partition(".")
    return getattr(getattr(torch.ops.aten, packet), which)


def as_list(results) -> list:
    return list(results) if isinstance(results, (tuple, list)) else [results]


def call(op: str, keep: int | None = None, **arguments) -> None:
    """`keep`: only that many results are promised, the others are null."""
    given = named(arguments)
    results = as_list(overload(op)(**given))
    kept = [encode(result) if keep is None or i < keep else None for i, result in enumerate(results)]
    calls.append(["aten::" + op, encode_arguments(given), kept])


def f(*shape: int) -> torch.Tensor:
    return (torch.randn(*shape, dtype=torch.float64) * 16).round() / 8  # short in text


def chance(*shape: int) -> torch.Tensor:
    return torch.randint(1, 8, shape).double() / 8


def i(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int64)


def write() -> None:
    """All calls, one a line."""
    print("[\n" + ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in calls) + "\n]")
