"""The requests `run` and `load`, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .errors import InvalidRequest, Unsupported
from .frames import Frame, RawTensor
from .graph import Graph, read_graph


@dataclass
class Request:
    """Members as in docs/worker_protocol.md, with tensors by name."""

    mode: str
    graph: Graph
    graph_text: str
    inputs: dict[str, RawTensor]
    chain: dict[str, RawTensor]
    outputs: list[str | None]
    free_nodes: frozenset[int]
    repeats: int
    fallback: bool
    fullgraph: bool
    negative: bool
    seed: int


def _member(header: dict[str, Any], name: str, kind: type | tuple[type, ...]) -> Any:
    value = header.get(name)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise InvalidRequest(f"member '{name}' is missing or of the wrong type")
    return value


def _items(header: dict[str, Any], name: str, kind: type | tuple[type, ...]) -> list[Any]:
    items = _member(header, name, list)
    if not all(isinstance(item, kind) and not isinstance(item, bool) for item in items):
        raise InvalidRequest(f"member '{name}' has an entry of the wrong type")
    return items


def read_request(frame: Frame) -> Request:
    """Raises InvalidRequest naming the member."""
    header = frame.header
    mode = _member(header, "mode", str)
    if mode not in ("eager", "compile"):
        raise InvalidRequest(f"mode '{mode}': expected eager or compile")
    if mutant := header.get("mutant"):
        raise Unsupported("not_implemented", f"the PyTorch worker cannot plant {mutant}")
    text = _member(header, "graph", str)
    graph = read_graph(text)
    inputs, chain = _items(header, "inputs", str), _items(header, "chain", str)
    if len(frame.tensors) != len(inputs) + len(chain):
        raise InvalidRequest(f"{len(frame.tensors)} tensors for {len(inputs)} inputs and {len(chain)} values")
    if inputs != [value.name for value in graph.inputs]:
        raise InvalidRequest("member 'inputs' does not name the graph's inputs in order")
    outputs = _items(header, "outputs", (str, type(None)))
    for name in (*chain, *filter(None, outputs)):
        if name not in graph.kinds:
            raise InvalidRequest(f"the graph has no value '{name}'")
    return Request(
        mode,
        graph,
        text,
        dict(zip(inputs, frame.tensors)),
        dict(zip(chain, frame.tensors[len(inputs) :])),
        outputs,
        frozenset(_items(header, "free_nodes", int)),
        _member(header, "repeats", int),
        _member(header, "fallback", bool),
        _member(header, "fullgraph", bool),
        _member(header, "negative", bool),
        _member(header, "seed", int) % (1 << 64),
    )
