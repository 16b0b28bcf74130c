"""What ran where."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

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
        """`cost`: FLOPs and bytes."""
        self.nodes += 1
        self.device_nodes += 1
        for index in (0, 1):
            self.total[index] += cost[index]
            self.device[index] += cost[index]

    def fallback_node(self, cost: tuple[float, float]) -> None:
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

