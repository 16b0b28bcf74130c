"""FLOPs and bytes of a node, by the formulas of core/opset/classify.h, so that residency can be compared.

Weights of nodes in shares, not a performance model. Anything unknown weighs one operation an element.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .graph import Node, Ref, node_references


@dataclass(frozen=True)
class Size:
    """Shape of a tensor and bytes per element."""

    shape: tuple[int, ...]
    item: int

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        return self.elements * self.item

    def from_end(self, place: int) -> int:
        return self.shape[-place] if len(self.shape) >= place else 1


Lookup = Callable[[str], "Size | None"]  # of the value with this name; None for numbers and unknown sizes

# Only move or repeat elements.
_COPIES = frozenset(
    f"aten::{name}"
    for name in """
    cat.default clone.default constant_pad_nd.default copy.default copy_.default embedding.default
    empty.memory_format empty_like.default empty_permuted.default empty_strided.default fill.Scalar flip.default
    full.default full_like.default gather.default index.Tensor index_select.default lift_fresh_copy.default
    masked_fill.Scalar masked_fill.Tensor masked_fill_.Scalar masked_scatter.default new_full.default new_ones.default
    new_zeros.default ones.default ones_like.default pad.default reflection_pad1d.default reflection_pad2d.default
    reflection_pad3d.default repeat.default repeat_interleave.self_int replication_pad2d.default
    replication_pad3d.default resize_.default scatter.src scatter.value select_scatter.default slice_scatter.default
    stack.default tile.default tril.default triu.default where.Scalar where.ScalarOther where.ScalarSelf where.self
    zeros.default zeros_like.default
    """.split()
)

# Operator -> the argument of which only the gathered rows are read.
_TABLES = {
    "aten::embedding.default": "weight",
    "aten::gather.default": "self",
    "aten::index.Tensor": "self",
    "aten::index_select.default": "self",
}

# Operations an element where one is too few.
_WEIGHTS = {
    "aten::_softmax.default": 5,
    "aten::softmax.int": 5,
    "aten::_log_softmax.default": 5,
    "aten::log_softmax.int": 5,
    "aten::_softmax_backward_data.default": 4,
    "aten::_log_softmax_backward_data.default": 4,
    "aten::native_layer_norm.default": 8,
    "aten::layer_norm.default": 8,
    "aten::native_layer_norm_backward.default": 12,
    "aten::native_group_norm.default": 8,
    "aten::group_norm.default": 8,
    "aten::rms_norm.default": 4,
    "aten::_native_batch_norm_legit_no_training.default": 2,
    "aten::batch_norm.default": 2,
    "aten::var.correction": 3,
    "aten::linalg_vector_norm.default": 2,
    "aten::addcmul.default": 3,
    "aten::upsample_bilinear2d.vec": 7,
}

# Product -> the left operand, and the argument that is added to the result.
_PRODUCTS = {
    "aten::mm.default": ("self", None),
    "aten::bmm.default": ("self", None),
    "aten::matmul.default": ("self", None),
    "aten::addmm.default": ("mat1", "self"),
    "aten::baddbmm.default": ("batch1", "self"),
    "aten::linear.default": ("input", "bias"),
}
_CONVOLUTIONS = ("aten::convolution.default", "aten::conv1d.default", "aten::conv2d.default")


class _Arguments:
    def __init__(self, node: Node, lookup: Lookup):
        self.given: dict[str, Any] = dict(node.arguments)
        self.lookup = lookup

    def has(self, name: str) -> bool:
        return self.given.get(name) is not None

    def size(self, name: str) -> Size:
        value = self.given.get(name)
        found = self.lookup(value.name) if isinstance(value, Ref) else None
        return found or Size((), 0)


def _convolution(arguments: _Arguments, output: Size) -> float:
    """Products of each weight with each position that it visits: of the output, or of the input where transposed."""
    visited = arguments.size("input") if arguments.given.get("transposed") is True else output
    return 2.0 * math.prod(arguments.size("weight").shape[1:]) * visited.elements


def _attention(arguments: _Arguments, output: Size) -> float:
    keys = arguments.size("key").from_end(2)
    scores = output.elements / max(arguments.size("value").from_end(1), 1) * keys
    return 2.0 * scores * arguments.size("query").from_end(1) + 2.0 * output.elements * keys + 5 * scores


def _convolution_backward(arguments: _Arguments) -> float:
    gradient = arguments.size("grad_output")
    mask = arguments.given.get("output_mask") or []
    one = _convolution(arguments, gradient)
    parts = (one, one, float(gradient.elements))
    return sum(part for part, wanted in zip(parts, mask) if wanted)


def flops(node: Node, lookup: Lookup, outputs: list[Size]) -> float:
    op = node.op
    arguments = _Arguments(node, lookup)
    first = outputs[0] if outputs else Size((0,), 0)
    if op in _COPIES:
        return 0.0
    if op in _PRODUCTS:
        left, added = _PRODUCTS[op]
        bias = first.elements if added and arguments.has(added) else 0
        return 2.0 * first.elements * arguments.size(left).from_end(1) + bias
    if op in _CONVOLUTIONS:
        return _convolution(arguments, first) + (first.elements if arguments.has("bias") else 0)
    if op == "aten::convolution_backward.default":
        return _convolution_backward(arguments)
    if "scaled_dot_product" in op and not op.endswith("_backward.default"):
        return _attention(arguments, first)
    if op == "aten::_cdist_forward.default":
        return 3.0 * first.elements * arguments.size("x1").from_end(1)
    window = arguments.given.get("kernel_size")
    if isinstance(window, list) and op != "aten::col2im.default":
        return float(first.elements * math.prod(size for size in window if isinstance(size, int)))
    inputs = [lookup(name) for name in node_references(node)]
    largest = max((size.elements for size in (*outputs, *inputs) if size), default=0)
    return float(_WEIGHTS.get(op, 1) * largest)


def moved_bytes(node: Node, lookup: Lookup, outputs: list[Size]) -> float:
    """Each distinct input once; of tables only the rows read."""
    written = sum(size.bytes for size in outputs)
    table = dict(node.arguments).get(_TABLES.get(node.op, ""))
    read = 0
    for name in dict.fromkeys(node_references(node)):
        if (size := lookup(name)) is not None:
            is_table = isinstance(table, Ref) and table.name == name
            read += min(size.bytes, written) if is_table else size.bytes
    return float(read + written)
