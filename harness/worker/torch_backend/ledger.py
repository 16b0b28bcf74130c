"""What ran where. Formulas and lists are those of harness/ledger, so that backends can be compared."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

# PyTorch returns views for these: outside the shares, counted by themselves.
METADATA_OPERATORS = frozenset(
    """
    _operator::getitem
    aten::_assert_scalar.default
    aten::_assert_tensor_metadata.default
    aten::_reshape_alias.default
    aten::_unsafe_view.default
    aten::alias.default
    aten::as_strided.default
    aten::detach.default
    aten::diagonal.default
    aten::expand.default
    aten::permute.default
    aten::reshape.default
    aten::select.int
    aten::slice.Tensor
    aten::split.Tensor
    aten::split_with_sizes.default
    aten::squeeze.default
    aten::squeeze.dim
    aten::squeeze.dims
    aten::t.default
    aten::transpose.int
    aten::unfold.default
    aten::unsqueeze.default
    aten::view.default
    aten::view.dtype
    aten::view_as_complex.default
    aten::view_as_real.default
    """.split()
)

# Operator -> place of the product's left operand among its tensors.
_PRODUCTS = {
    "aten::mm.default": 0,
    "aten::bmm.default": 0,
    "aten::mv.default": 0,
    "aten::dot.default": 0,
    "aten::addmm.default": 1,
    "aten::baddbmm.default": 1,
    "aten::addmv.default": 1,
}


@dataclass(frozen=True)
class Size:
    """Shape and bytes per element of a tensor."""

    shape: tuple[int, ...]
    item: int

    @property
    def elements(self) -> int:
        return math.prod(self.shape)


def node_cost(op: str, inputs: list[Size], outputs: list[Size]) -> tuple[float, float]:
    """FLOPs (2 m n k for products and convolutions, else one an element of the larger side), bytes read and written."""
    moved = float(sum(size.elements * size.item for size in (*inputs, *outputs)))
    results = sum(size.elements for size in outputs)
    left = _PRODUCTS.get(op, -1)
    if 0 <= left < len(inputs) and inputs[left].shape:
        return 2.0 * results * inputs[left].shape[-1], moved
    if op == "aten::convolution.default" and len(inputs) >= 2 and inputs[1].shape and inputs[1].shape[0] > 0:
        return 2.0 * results * inputs[1].elements / inputs[1].shape[0], moved
    return float(max([results, *(size.elements for size in inputs)])), moved


@dataclass
class _Fallback:
    count: int = 0
    bytes: int = 0
    seconds: float = 0.0


@dataclass
class Ledger:
    """One pass over a graph."""

    metadata: int = 0
    host_scalar: int = 0
    nodes: int = 0
    device_nodes: int = 0
    total: list[float] = field(default_factory=lambda: [0.0, 0.0])  # FLOPs, bytes
    device: list[float] = field(default_factory=lambda: [0.0, 0.0])
    _fallbacks: dict[tuple[str, str], _Fallback] = field(default_factory=dict)

    def device_node(self, cost: tuple[float, float]) -> None:
        self.nodes += 1
        self.device_nodes += 1
        for index in (0, 1):
            self.total[index] += cost[index]
            self.device[index] += cost[index]

    def fallback_node(self, op: str, cost: tuple[float, float]) -> None:
        if op in METADATA_OPERATORS:
            return
        self.nodes += 1
        for index in (0, 1):
            self.total[index] += cost[index]

    def fallback(self, op: str, reason: str, moved: int, seconds: float) -> None:
        entry = self._fallbacks.setdefault((op, reason), _Fallback())
        entry.count += 1
        entry.bytes += moved
        entry.seconds += seconds

    def fallback_count(self) -> int:
        return sum(entry.count for entry in self._fallbacks.values())

    def fallbacks(self) -> list[dict[str, Any]]:
        """By operator, then reason."""
        return [
            {"op": op, "reason": reason, "count": entry.count, "bytes": entry.bytes, "seconds": entry.seconds}
            for (op, reason), entry in sorted(self._fallbacks.items())
        ]

    def residency(self) -> dict[str, Any]:
        def share(part: float, whole: float) -> float:
            return part / whole if whole > 0 else 1.0

        return {
            "nodes": share(self.device_nodes, self.nodes),
            "flops": share(self.device[0], self.total[0]),
            "bytes": share(self.device[1], self.total[1]),
            "metadata": self.metadata,
            "host_scalar": self.host_scalar,
        }


def sizes_of(tensors: Iterable[Any]) -> list[Size]:
    """Sizes of PyTorch tensors."""
    return [Size(tuple(tensor.shape), tensor.element_size()) for tensor in tensors]
