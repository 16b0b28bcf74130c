"""Run an exported graph with every float widened to fp64.

`model.double()` is another function: graphs hard-code casts to float32, and
constants such as torch.finfo(float32).min are already in the graph. So the
graph itself is interpreted, with float dtypes mapped to float64 in tensors
and in dtype arguments. Integers stay exact. What rounds to infinity in a
node's own dtype is infinity from there on (NUMERICS: only precision is
widened, not range).
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._pytree import tree_map

WIDER = {
    torch.float16: torch.float64,
    torch.bfloat16: torch.float64,
    torch.float32: torch.float64,
    torch.complex64: torch.complex128,
}


OWN_DTYPE = {torch.ops.aten.nextafter.default}
"""Operators about the bits of a dtype: computed in the graph's own, whatever the precision of the rest."""


def widen(value: Any) -> Any:
    """Tensors and dtypes in fp64; anything else unchanged."""
    if isinstance(value, torch.Tensor):
        return value.to(WIDER.get(value.dtype, value.dtype))
    if isinstance(value, torch.dtype):
        return WIDER.get(value, value)
    return value


def limit_range(value: Any, declared: Any) -> Any:
    """Infinity where `declared`'s dtype would have it."""
    if not (isinstance(value, torch.Tensor) and isinstance(declared, torch.Tensor)):
        return value
    if declared.dtype not in WIDER or declared.dtype.is_complex:
        return value
    rounded = value.to(declared.dtype)
    return torch.where(rounded.isinf(), rounded.to(value.dtype), value)


class Interpreter(torch.fx.Interpreter):
    """Node by node; `widened` chooses fp64 or the graph's own dtypes."""

    def __init__(self, program: torch.export.ExportedProgram, widened: bool):
        super().__init__(program.graph_module)
        self.widened = widened

    def run_node(self, n: torch.fx.Node) -> Any:
        if self.widened and n.target in OWN_DTYPE:
            own = n.meta["val"].dtype
            args = self.map_nodes_to_values(n.args, n)
            return widen(n.target(*(value.to(own) if isinstance(value, torch.Tensor) else value for value in args)))
        result = super().run_node(n)
        if not self.widened or n.op != "call_function":
            return result
        declared = n.meta.get("val")
        if isinstance(result, (tuple, list)):
            return type(result)(limit_range(*pair) for pair in zip(result, declared, strict=True))
        return limit_range(result, declared)

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if target is torch.ops.aten._assert_tensor_metadata.default:
            return None  # it states dtypes and strides of the original run
        if target is torch.ops.aten.view.default:
            target = torch.ops.aten.reshape.default  # tensors are logically contiguous
        if self.widened:
            args, kwargs = tree_map(widen, (args, kwargs))
        return super().call_function(target, args, kwargs)


def run(program: torch.export.ExportedProgram, inputs: dict[str, torch.Tensor], widened: bool) -> list[torch.Tensor]:
    """User outputs, in order. `inputs` is keyed by the graph's user-input names."""
    values = []
    for spec in program.graph_signature.input_specs:
        if spec.kind is torch.export.graph_signature.InputKind.USER_INPUT:
            value = inputs[spec.arg.name]
        elif spec.target in program.constants:
            value = program.constants[spec.target]
        else:
            value = program.state_dict[spec.target]
        values.append(widen(value) if widened else value)
    default = torch.get_default_dtype()
    # Factories without a dtype, and integer division, follow the default dtype.
    torch.set_default_dtype(torch.float64 if widened else torch.float32)
    try:
        with torch.no_grad():
            return list(Interpreter(program, widened).run(*values))
    finally:
        torch.set_default_dtype(default)
