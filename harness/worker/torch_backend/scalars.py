"""Numbers of the host program: sizes, `_operator.*`, torch.sym_*. They run in Python, wherever the tensors are."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import torch

from .errors import Unsupported
from .graph import Node, Ref

Number = int | float | bool


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{
        f"_operator::{name}": getattr(operator, name)
        for name in (
            "add sub mul neg pos floordiv truediv mod pow lshift rshift and_ or_ eq ne lt le gt ge".split()
        )
    },
    "math::trunc": math.trunc,
    "torch::sym_int": int,
    "torch::sym_float": float,
    "torch::sym_not": operator.not_,
    "torch::sym_ite": lambda condition, yes, no: yes if condition else no,
    "torch::sym_max": max,
    "torch::sym_min": min,
    "torch::sym_sqrt": math.sqrt,
    "torch::_sym_sqrt": math.sqrt,
}

# Of a tensor's shape alone. Strides are those of a contiguous tensor, which all tensors of a graph are, logically.
_SHAPE_FUNCTIONS = {"aten::sym_size.int", "aten::sym_stride.int", "aten::sym_numel.default"}
_ITEM = {"aten::item.default", "aten::_local_scalar_dense.default"}


class DependsOnData(Exception):
    """The number is not known before the graph runs."""


def _of_shape(op: str, shape: tuple[int | None, ...], dim: int) -> int:
    if None in shape:
        raise DependsOnData
    if op == "aten::sym_numel.default":
        return math.prod(shape)
    if not -len(shape) <= dim < len(shape):
        raise IndexError(f"dim {dim} of a tensor of rank {len(shape)}")
    if op == "aten::sym_size.int":
        return shape[dim]
    return math.prod(max(size, 1) for size in shape[dim % len(shape) + 1 :])


def evaluate(node: Node, lookup: Callable[[str], Any]) -> Number:
    """The node's result. `lookup` gives numbers, tensors, or shapes of tensors that do not exist yet.

    Raises DependsOnData if a shape is not enough, Unsupported if there is no result.
    """
    try:
        return _evaluate(node, lookup)
    except (ArithmeticError, ValueError, TypeError, IndexError) as error:
        raise Unsupported("operator", f"cannot be computed: {error}") from error


def _evaluate(node: Node, lookup: Callable[[str], Any]) -> Number:
    arguments = [lookup(value.name) if isinstance(value, Ref) else value for _, value in node.arguments]
    if function := FUNCTIONS.get(node.op):
        return function(*arguments)
    source = arguments[0] if arguments else None
    if node.op in _SHAPE_FUNCTIONS:
        shape = tuple(source.shape) if isinstance(source, torch.Tensor) else source
        return _of_shape(node.op, shape, arguments[1] if len(arguments) > 1 else 0)
    if node.op == "aten::sym_storage_offset.default":
        return 0
    if node.op in _ITEM:
        if not isinstance(source, torch.Tensor):
            raise DependsOnData
        return source.item()
    raise Unsupported("operator", f"{node.op} gives a number and is not known to the worker")
