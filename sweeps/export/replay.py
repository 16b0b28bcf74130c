"""From a catalogue file back to a program that PyTorch runs, without `transformers`.

The exporter's own check of completeness: if the graph's JSON and the entries
of `assay` are enough for PyTorch, they are enough for any reader.
"""

from __future__ import annotations

import base64
from typing import Any

import torch
from torch._export.serde import schema
from torch._export.serde.serialize import ExportedProgramDeserializer, _dict_to_dataclass

from .draws import Draw, integers, uniform


def tensor_of(key: str, entry: dict[str, Any], seed: int = 0) -> torch.Tensor:
    """The tensor of one entry; `key` names its stream."""
    dtype, shape = getattr(torch, entry["dtype"]), tuple(entry["shape"])
    if "draw" in entry:
        return uniform(key, shape, Draw(**entry["draw"]), seed).to(dtype)
    if "integers" in entry:
        return integers(key, shape, entry["integers"]["low"], entry["integers"]["high"], seed).to(dtype)
    raw = bytearray(base64.b64decode(entry["data"]))
    return torch.frombuffer(raw, dtype=dtype).reshape(shape) if raw else torch.empty(shape, dtype=dtype)


def weights_of(entries: dict[str, Any]) -> dict[str, torch.Tensor]:
    """Tensors of `assay.weights`, by fully qualified name."""
    tensors = {name: tensor_of(name, entry) for name, entry in entries.items() if "same_as" not in entry}
    return {name: tensors[entry.get("same_as", name)] for name, entry in entries.items()}


def inputs_of(entries: dict[str, Any], seed: int = 0) -> dict[str, torch.Tensor]:
    """Tensors of `assay.inputs`, by the graph's user-input name."""
    return {name: tensor_of("input:" + name, entry, seed) for name, entry in entries.items()}


def load(model: dict[str, Any]) -> tuple[torch.export.ExportedProgram, dict[str, torch.Tensor]]:
    """The program of a catalogue file's object, and its inputs for seed 0."""
    about = model["assay"]
    document = {key: value for key, value in model.items() if key != "assay"}
    for node in document["graph_module"]["graph"]["nodes"]:
        node["metadata"] = {}  # shortened: not what PyTorch's reader parses
    weights, inputs = weights_of(about["weights"]), inputs_of(about["inputs"])
    state: dict[str, torch.Tensor] = {}
    constants: dict[str, torch.Tensor] = {}
    for spec in document["graph_module"]["signature"]["input_specs"]:
        if body := spec.get("tensor_constant"):
            constants[body["tensor_constant_name"]] = weights[body["tensor_constant_name"]]
        elif body := spec.get("buffer"):
            holder = state if body["persistent"] else constants
            holder[body["buffer_name"]] = weights[body["buffer_name"]]
        elif body := spec.get("parameter"):
            state[body["parameter_name"]] = torch.nn.Parameter(weights[body["parameter_name"]], requires_grad=False)
    program = ExportedProgramDeserializer().deserialize(
        _dict_to_dataclass(schema.ExportedProgram, document), state, constants, ((), inputs)
    )
    return program, inputs
