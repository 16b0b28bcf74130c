"""The graph of a request: JSON of torch.export's schema 8, read without its (private) deserialiser.

PyTorch's own reader checks shapes and rebuilds symbols; a worker must also run
graphs that contradict themselves, and nodes one by one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from .errors import InvalidRequest

TENSOR = "tensor"
NUMBERS = {"as_sym_int": "int", "as_sym_float": "float", "as_sym_bool": "bool"}
FLOATS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


@dataclass(frozen=True)
class Ref:
    """A value that an input or an earlier node defines."""

    name: str


@dataclass(frozen=True)
class Keyword:
    """A dtype, layout, memory format or device by PyTorch's number; what it means is the device's matter."""

    kind: str  # scalar_type, layout, memory_format, device
    code: int


@dataclass(frozen=True)
class Value:
    name: str
    kind: str  # tensor, int, float, bool


@dataclass(frozen=True)
class Meta:
    """Declared dtype (number of c10::ScalarType) and sizes; a size is None where it depends on data."""

    dtype: int
    shape: tuple[int | None, ...]


@dataclass(frozen=True)
class Node:
    name: str
    op: str  # "aten::add.Tensor", "_operator::add"
    arguments: tuple[tuple[str, Any], ...]  # plain values, Ref, Keyword and lists of them
    outputs: tuple[Value | None, ...]  # a Tensor[] counts each; None: declared unused

    @property
    def is_assertion(self) -> bool:
        """No result at all: _assert_scalar, _assert_tensor_metadata, sym_constrain_range."""
        return all(output is None for output in self.outputs)

    @property
    def is_host_scalar(self) -> bool:
        """Numbers of the host program only: _operator.*, sym_size, item."""
        return bool(self.outputs) and all(output is not None and output.kind != TENSOR for output in self.outputs)


@dataclass(frozen=True)
class Graph:
    inputs: tuple[Value, ...]  # without constants
    nodes: tuple[Node, ...]
    metas: dict[str, Meta]  # of tensors
    kinds: dict[str, str]  # of all values


def references(argument: Any) -> list[str]:
    """Names that an argument reads, in order."""
    if isinstance(argument, Ref):
        return [argument.name]
    if isinstance(argument, list):
        return [name for item in argument for name in references(item)]
    return []


def node_references(node: Node) -> list[str]:
    return [name for _, argument in node.arguments for name in references(argument)]


def op_of_target(target: str) -> str:
    """"torch.ops.aten.add.Tensor" -> "aten::add.Tensor", "_operator.add" -> "_operator::add"."""
    text = target.removeprefix("torch.ops.")
    space, dot, rest = text.partition(".")
    return f"{space}::{rest}" if dot else text


def _alternative(union: Any) -> tuple[str, Any]:
    """The one member of a serialised union."""
    if not isinstance(union, dict) or len(union) != 1:
        raise InvalidRequest(f"graph: expected an object of one member, found {str(union)[:80]}")
    return next(iter(union.items()))


def _number(value: Any) -> Any:
    return FLOATS.get(value, value) if isinstance(value, str) else value


def _symbolic(union: Any) -> Any:
    kind, value = _alternative(union)
    return Ref(value) if kind == "as_name" else _number(value)


def _optional_tensor(union: Any) -> Ref | None:
    kind, value = _alternative(union)
    return Ref(value["name"]) if kind == "as_tensor" else None


def _argument(union: Any) -> Any:
    kind, value = _alternative(union)
    if kind == "as_tensor":
        return Ref(value["name"])
    if kind in ("as_none", "as_int", "as_bool", "as_string", "as_ints", "as_bools", "as_strings"):
        return None if kind == "as_none" else value
    if kind == "as_float":
        return float(_number(value))
    if kind == "as_floats":
        return [float(_number(item)) for item in value]
    if kind == "as_tensors":
        return [Ref(item["name"]) for item in value]
    if kind == "as_optional_tensor":
        return _optional_tensor(value)
    if kind == "as_optional_tensors":
        return [_optional_tensor(item) for item in value]
    if kind in NUMBERS:
        return _symbolic(value)
    if kind in ("as_sym_ints", "as_sym_floats", "as_sym_bools"):
        return [_symbolic(item) for item in value]
    if kind in ("as_scalar_type", "as_layout", "as_memory_format"):
        return Keyword(kind.removeprefix("as_"), int(value))
    if kind == "as_device":
        return Keyword("device", 0)
    if kind == "as_complex":
        return complex(_number(value["real"]), _number(value["imag"]))
    raise InvalidRequest(f"graph: arguments of kind {kind} are not known")


def _values(union: Any) -> list[Value | None]:
    """What a graph input or a node's output defines."""
    kind, value = _alternative(union)
    if kind == "as_tensor":
        return [Value(value["name"], TENSOR)]
    if kind == "as_tensors":
        return [Value(item["name"], TENSOR) for item in value]
    if kind == "as_optional_tensor":
        return _values(value)
    if kind == "as_optional_tensors":
        return [output for item in value for output in _values(item)]
    if kind in NUMBERS:
        # A plain number in place of a name is a result that nobody reads.
        return [Value(value["as_name"], NUMBERS[kind])] if "as_name" in value else [None]
    if kind == "as_none":
        return [None]
    raise InvalidRequest(f"graph: a value of kind {kind} is not known")


def _inputs(graph: dict[str, Any], specs: list[Any]) -> tuple[Value, ...]:
    values = []
    for union, spec in zip(graph["inputs"], specs, strict=True):
        if _alternative(spec)[0] != "constant_input":
            values += _values(union)
    return tuple(value for value in values if value is not None)


def _node(index: int, body: dict[str, Any]) -> Node:
    arguments = tuple((item["name"], _argument(item["arg"])) for item in body["inputs"])
    outputs = tuple(value for union in body["outputs"] for value in _values(union))
    name = body.get("name") or next((output.name for output in outputs if output), f"node_{index}")
    return Node(name, op_of_target(body["target"]), arguments, outputs)


def _meta(body: dict[str, Any]) -> Meta:
    sizes = []
    for union in body["sizes"]:
        kind, value = _alternative(union)
        sizes.append(value if kind == "as_int" and value >= 0 else None)
    return Meta(int(body["dtype"]), tuple(sizes))


def read_graph(text: str) -> Graph:
    """Raises InvalidRequest. Types, shapes and the order of definitions are not checked: PyTorch will."""
    try:
        module = json.loads(text)["graph_module"]
        graph = module["graph"]
        inputs = _inputs(graph, module["signature"]["input_specs"])
        nodes = tuple(_node(index, body) for index, body in enumerate(graph["nodes"]))
        metas = {name: _meta(body) for name, body in graph["tensor_values"].items()}
    except InvalidRequest:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidRequest(f"graph: not JSON of export schema 8: {type(error).__name__}: {error}") from error
    kinds = {value.name: value.kind for value in inputs}
    for node in nodes:
        kinds.update({output.name: output.kind for output in node.outputs if output})
    return Graph(inputs, nodes, metas, kinds)
